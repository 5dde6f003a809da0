"""The coach's figures are exact values, or honest samples of them."""

from __future__ import annotations

import doctest
import gc
import re
import threading
import time
import tracemalloc
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cuckoo_env.agents import fill, parse
from cuckoo_env.agents.table import observation_keys
from cuckoo_env.cards import RANKS, SUITS
from cuckoo_env.evaluate.exact import (
    Chain,
    Strategy,
    action_values,
    best_response,
    reveal_worth,
    strategy_of,
)
from cuckoo_env.evaluate.match import Match
from cuckoo_env.evaluate.tree import TOP
from cuckoo_env.game import Game, IllegalActionError
from cuckoo_env.observation import Layout
from cuckoo_env.play import coach as coaching
from cuckoo_env.play import solved as solving
from cuckoo_env.play.coach import PATIENCE, Advice, Coach, ImpossibleError, costliest
from cuckoo_env.play.prepared import MOST_BYTES, Prepared
from cuckoo_env.play.sampled import Sampled
from cuckoo_env.play.solved import Solved, is_quick, is_small
from cuckoo_env.play.table import MOST_LIVES
from cuckoo_env.rules import PRESETS, Rules

PRACTICE = Rules.parse("practice-table")
NAMES = ("You", "Robin", "Alex", "Kim", "Lee", "Max", "Pat", "Sam", "Uli")


def seated(against: str, rules: Rules, seat: int) -> dict[int, object]:
    others = [each for each in range(rules.seats) if each != seat]
    return dict(zip(others, fill(against, rules, seat), strict=True))


def in_line(against: str, rules: Rules, seat: int, own: str = "robin") -> list[object]:
    agents = seated(against, rules, seat)
    return [agents.get(each) or parse(own, rules, each) for each in range(rules.seats)]


def coach_for(text: str, against: str = "robin,alex", seat: int = 0) -> Coach:
    rules = Rules.parse(text)
    return Coach(rules, seated(against, rules, seat), seat, NAMES[: rules.seats])


class Line:
    """A line-up whose exact values are known from the exact trees alone."""

    def __init__(self, text: str, against: str, seat: int, own: str = "robin") -> None:
        self.rules, self.seat = Rules.parse(text), seat
        self.match = Match(self.rules)
        self.strategy = strategy_of(self.match, in_line(against, self.rules, seat, own))
        self.best = best_response(self.match, self.strategy, seat)

    def positions(self) -> Iterator[tuple[int, list[int]]]:
        """Every position in which the seat may decide, and the information states in which it does."""
        for number, order in enumerate(self.match.order):
            if self.seat in order:
                place = order.index(self.seat)
                yield number, np.flatnonzero(self.match.tree[number].state_place == place).tolist()

    def given(self, number: int, strategy: Strategy, leaf: np.ndarray) -> tuple:
        """For each edge what it is worth, given that its state is reached, and how likely that is."""
        tree = self.match.tree[number]
        own = tree.own_edges(self.match.order[number].index(self.seat))
        worth, _ = action_values(tree, strategy[number], own, leaf)
        reach, _ = action_values(tree, strategy[number], own, np.ones(len(tree.outcomes)))
        with np.errstate(invalid="ignore", divide="ignore"):
            return worth / reach, reach

    def action_values(self, number: int, strategy: Strategy, values: np.ndarray) -> tuple:
        leaf = self.match.tree[number].outcomes @ reveal_worth(
            self.match, number, self.seat, values
        )
        return self.given(number, strategy, leaf)

    def edges(self, number: int, state: int) -> slice:
        tree = self.match.tree[number]
        return slice(tree.state_edge[state], tree.state_edge[state + 1])

    def game_at(self, number: int, state: int) -> Game:
        """A game in which the state is decided: one of its deals."""
        tree, order = self.match.tree[number], self.match.order[number]
        ranks, moves = tree.path_to(int(tree.state_node[state]))
        cards = [f"{RANKS[rank - 1]}{SUITS[place]}" for place, rank in enumerate(ranks)]
        deal: list[str | None] = [None] * self.rules.seats
        for seat, card in zip(order, cards, strict=True):
            deal[seat] = card
        turned = [move - TOP for move in moves if move > TOP]
        suit = len(order) if len(order) < len(SUITS) else 0
        stock = f"{RANKS[turned[0] - 1]}{SUITS[suit]}" if turned else None
        position = self.match.positions[number]
        game = Game.from_position(
            self.rules, dealer=position.dealer, lives=position.lives, deal=deal, stock=stock
        )
        for move in moves:
            if move < TOP:
                game.play(move)
        return game


# --------------------------------------------------------------------------------------
# Exact
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_advice_in_every_state_of_a_round_is_the_best_responses_action_values(seat: int) -> None:
    line, coach = Line("practice-table", "robin,alex", seat), coach_for("practice-table", seat=seat)
    asked = impossible = 0
    for start in [(3, 3, 3), (1, 3, 2), (1, 1, 1), (2, 1, 0)]:
        if not start[seat]:
            continue
        number = next(n for n, each in enumerate(line.match.positions) if each.lives == start)
        worth, reach = line.action_values(number, line.best.strategy, line.best.win_share)
        for state in dict(line.positions())[number]:
            edges = line.edges(number, state)
            game = line.game_at(number, state)
            assert game.seat == seat
            if reach[edges][0] == 0:
                if impossible > 4:
                    continue
                with pytest.raises(ImpossibleError, match="against these agents"):
                    coach.advise(game, seat, "keep")
                impossible += 1
                continue
            for action in game.legal_actions():
                advice = coach.advise(game, seat, action)
                assert list(advice.worth.values()) == pytest.approx(worth[edges], abs=1e-11)
                assert advice.exact
                assert advice.error == 0
                assert advice.cost == pytest.approx(
                    worth[edges].max() - advice.worth[action], abs=1e-11
                )
                assert advice.cost >= 0
            asked += 1
    assert asked > 100
    assert impossible > 0


# Rule sets with response turns, cards drawn by a queen, deals that recur, and seats that come back.
SMALL = [
    ("practice-table", "robin,alex", 1),
    ("jack-rule,seats=3,lives=2", "robin,random", 1),
    ("onesies,seats=3,lives=2", "robin,random", 2),
    ("queens-redirect,seats=3,lives=2,direction=right", "random,alex", 0),
    ("full-rotation,seats=3,lives=2", "alex,robin", 2),
    ("pairs-safe,seats=2", "random", 1),
    ("chase-the-ace,seats=3,lives=1,final_tie=carry", "alex,random", 0),
    ("chase-the-ace,seats=2,lives=2,final_tie=carry_stake", "alex", 1),
    ("standard,seats=2,max_rounds=3", "robin", 0),
    ("one-round,seats=3", "alex,robin", 1),
    ("cuckoo,seats=3", "equilibrium", 0),
]


@pytest.mark.parametrize(("text", "against", "seat"), SMALL)
def test_every_action_is_worth_what_the_exact_trees_say_and_the_best_ones_win_it(
    text: str, against: str, seat: int
) -> None:
    line = Line(text, against, seat)
    solved = Solved(line.match, in_line(against, line.rules, seat), seat)
    np.testing.assert_allclose(solved.win_share, line.best.win_share, atol=1e-12)
    followed = [weights.copy() for weights in line.strategy]
    for number, states in line.positions():
        exact, reach = line.action_values(number, line.best.strategy, line.best.win_share)
        for row, state in enumerate(states):
            edges = line.edges(number, state)
            if reach[edges][0] == 0:
                continue
            shares = list(solved.worth(number, row).shares.values())
            followed[number][edges] = np.eye(len(shares))[np.argmax(shares)]
            # Policy iteration on the trees weighs gains by how often they come, and passes over tiny ones.
            if reach[edges][0] > 1e-6:
                assert shares == pytest.approx(exact[edges], abs=1e-7)
    won = Chain(line.match, followed).values()[:, seat]
    np.testing.assert_allclose(won, line.best.win_share, atol=1e-12)


@pytest.mark.parametrize(("own", "seat"), [("naive", 0), ("random", 1), ("threshold:9", 2)])
def test_costs_add_up_to_what_is_lost_against_a_best_response(own: str, seat: int) -> None:
    line = Line("practice-table", "robin,alex", seat, own)
    solved = Solved(line.match, in_line("robin,alex", line.rules, seat), seat)
    cost = np.zeros(len(line.match.positions))
    for number, states in line.positions():
        _, reach = line.action_values(number, line.strategy, line.best.win_share)
        for row, state in enumerate(states):
            edges = line.edges(number, state)
            # A seat decides once in a round here: the others alone bring it there.
            if reach[edges][0] > 0:
                shares = np.array(list(solved.worth(number, row).shares.values()))
                chosen = line.strategy[number][edges]
                cost[number] += reach[edges][0] * (chosen @ (shares.max() - shares))
    chain = Chain(line.match, line.strategy)
    # What is paid from each position on: a round's expected cost, and that of the rounds after it.
    paid = np.linalg.solve(np.eye(len(cost)) - chain.moves, cost)
    np.testing.assert_allclose(paid, line.best.win_share - chain.values()[:, seat], atol=1e-12)
    assert paid[line.match.starts()[0][1]] > 0.01


def test_the_reason_tells_the_chance_of_losing_a_life() -> None:
    line, coach = Line("practice-table", "robin,alex", 0), coach_for("practice-table")
    ((_, number),) = line.match.starts()
    tree = line.match.tree[number]
    place = line.match.order[number].index(0)
    lost, reach = line.given(
        number, line.best.strategy, tree.outcomes @ (tree.reveal_losses[:, place] > 0)
    )
    told = 0
    for state in dict(line.positions())[number]:
        edges = line.edges(number, state)
        if reach[edges][0] == 0:
            continue
        advice = coach.advise(line.game_at(number, state), 0, "keep")
        match = re.fullmatch(
            r"Keeping an? \w+, you lose a life ([\d.]+) times in 100; swapping, ([\d.]+)\.",
            advice.why,
        )
        if match:
            assert [float(each) for each in match.groups()] == pytest.approx(
                100 * lost[edges], abs=0.5
            )
            told += 1
    assert told > 8


def lives_lost(line: Line, number: int, strategy: Strategy) -> np.ndarray:
    """(edges, seats) lives lost on average by the end of the round, straight from the tree's reveals."""
    tree, order = line.match.tree[number], line.match.order[number]
    lost = np.zeros((len(strategy[number]), line.rules.seats))
    for place, seat in enumerate(order):
        lives = line.match.positions[number].lives[seat]
        taken = np.minimum(tree.reveal_losses[:, place] + tree.reveal_fees[:, place], lives)
        lost[:, seat], _ = line.given(number, strategy, tree.outcomes @ taken)
    return lost


@pytest.mark.parametrize("text", ["cuckoo,seats=3", "onesies,seats=3,lives=2,final_tie=joint"])
def test_lives_lost_are_those_of_the_reveals(text: str) -> None:
    line = Line(text, "robin,random", 1)
    agents = in_line("robin,random", line.rules, 1)
    solved, sampled = Solved(line.match, agents, 1), Sampled(line.rules, agents, 1)
    for number, states in list(line.positions())[::9]:
        exact = lives_lost(line, number, line.best.strategy)
        _, reach = line.action_values(number, line.best.strategy, line.best.win_share)
        for row, state in enumerate(states):
            edges = line.edges(number, state)
            if reach[edges][0] > 1e-6:
                told = list(solved.worth(number, row).lives.values())
                np.testing.assert_allclose(told, exact[edges], atol=1e-9)
    robins = lives_lost(line, 0, line.strategy)
    for state in dict(line.positions())[0][::29]:
        game, edges = line.game_at(0, state), line.edges(0, state)
        if reach_of(line, 0, edges) > 0:
            told = list(sampled.worth(game, deals=1000).lives.values())
            # A seat loses at most two lives here, so five errors of a thousand deals are below 0.16.
            np.testing.assert_allclose(told, robins[edges], atol=0.16)


def test_a_token_that_is_paid_is_no_longer_at_stake() -> None:
    rules = Rules.parse("standard,seats=3,lives=2,refusal=fee,queen=redirects")
    coach = Coach(rules, seated("random", rules, 0), 0, NAMES[:3])
    # Alex asks you, you pay; then it is your turn, with one life left.
    game = Game.from_position(rules, dealer=1, lives=[2] * 3, deal=["Th", "9c", "2d"])
    for action in ("swap", "pay"):
        assert game.seat == (2 if action == "swap" else 0)
        game.act(action)
    assert game.lives == (1, 2, 2)
    solved = coach._promise().result()
    number, state = solved.find(game)
    at_the_deal, now = solved.worth(number, state), solved.worth(number, state, game.lives)
    for action in game.legal_actions():
        assert at_the_deal.lives[action][0] == pytest.approx(now.lives[action][0] + 1)
        assert at_the_deal.lives[action][1:] == now.lives[action][1:]
        assert 0 < now.lives[action][0] < 1
    assert coach.advise(game, 0, "keep").why.startswith("Keeping a 10, you lose 0.")


def reach_of(line: Line, number: int, edges: slice) -> float:
    _, reach = line.action_values(number, line.strategy, line.best.win_share)
    return float(reach[edges][0])


def test_the_reason_names_somebody_else_where_ones_own_risk_is_none() -> None:
    coach = coach_for("onesies,seats=3,lives=2")
    agents = in_line("robin,alex", coach.rules, 0)
    whys = {
        coach.advise(game, 0, game.legal_actions()[0]).why
        for game in decisions(coach.rules, agents, 0, 150)
    }
    assert any(re.search(r"What tells is (Robin|Alex), who loses", why) for why in whys)
    assert any("lives on average" in why for why in whys)
    assert all(why.endswith(".") and "nan" not in why for why in whys)


def test_one_legal_action_is_no_choice_and_costs_nothing() -> None:
    coach = coach_for("open-kings,seats=3")
    game = Game.from_position(coach.rules, dealer=2, lives=[3] * 3, deal=["Kc", "9h", "2s"])
    advice = coach.advise(game, 0, "keep")
    assert (advice.best, advice.cost, list(advice.worth)) == ("keep", 0, ["keep"])
    assert advice.why.startswith("There was no choice.")


def test_of_actions_that_are_worth_the_same_the_chosen_one_is_the_best() -> None:
    coach = coach_for("practice-table")
    # Alex, on the last life, has taken your ace for a five: nothing can save Alex, whatever you draw.
    game = Game.from_position(PRACTICE, dealer=0, lives=[3, 0, 1], deal=["Ad", None, "5c"])
    game.act("swap")
    for action in ("keep", "swap"):
        advice = coach.advise(game, 0, action)
        assert (advice.best, advice.cost) == (action, 0)
        assert list(advice.worth.values()) == pytest.approx([1, 1], abs=1e-12)
        assert advice.why.startswith("It makes next to no difference. Keeping a 5, you never lose")


def test_the_decision_is_told_by_round_and_card() -> None:
    coach = coach_for("practice-table")
    game = Game.from_position(PRACTICE, dealer=2, lives=[3] * 3, deal=["8c", "9h", "2s"])
    assert coach.advise(game, 0, "keep").when == "Round 1, with an 8"


@pytest.mark.parametrize("module", [coaching, solving])
def test_the_examples_in_the_documentation_hold(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.attempted > 2
    assert done.failed == 0


def test_the_game_is_left_as_it_is() -> None:
    coach = coach_for("practice-table")
    game = Game(PRACTICE, seed=3)
    before = (game._games.tobytes(), game.events)
    coach.advise(game, 0, "swap")
    assert (game._games.tobytes(), game.events) == before


def test_bad_questions_are_refused() -> None:
    coach = coach_for("practice-table")
    game = Game(PRACTICE, seed=3)
    with pytest.raises(ValueError, match="seat: 1 is refused; accepted: 0"):
        coach.advise(game, 1, "keep")
    with pytest.raises(IllegalActionError, match="pay"):
        coach.advise(game, 0, "pay")
    game.act("keep")
    with pytest.raises(IllegalActionError):
        coach.advise(game, 0, "keep")
    with pytest.raises(ValueError, match="seat: 3 is refused; accepted: 0 to 2"):
        Coach(PRACTICE, seated("robin", PRACTICE, 0), 3)
    with pytest.raises(ValueError, match=r"agents: seats \[1\] are refused; accepted: \[1, 2\]"):
        Coach(PRACTICE, {1: parse("robin", PRACTICE)}, 0)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_with_their_fewest_seats_are_exact(name: str) -> None:
    assert is_small(PRESETS[name].rules(seats=max(PRESETS[name].fewest, 2)))


@pytest.mark.parametrize(
    ("text", "small"),
    [
        ("chase-the-ace,seats=4", True),
        ("chase-the-ace,seats=5", False),
        ("standard,seats=4,refusal=fee", False),
        ("standard,seats=3,lives=5,refusal=fee", True),
        ("standard,seats=3,lives=5,refusal=fee,queen=redirects", False),
        ("standard,seats=2,lives=30000", False),
        ("standard,seats=3,max_rounds=1000000", False),
        ("chase-the-ace,seats=52,decks=2", False),
    ],
)
def test_what_is_small(text: str, small: bool) -> None:
    assert is_small(Rules.parse(text)) is small


def test_what_is_quick() -> None:
    quick = ("practice-table", "chase-the-ace,seats=4", "jack-rule,seats=4", "onesies,seats=2")
    assert all(is_quick(Rules.parse(text)) for text in quick)
    slow = ("onesies,seats=3", "chase-the-ace,seats=5", "standard,seats=2,lives=30000")
    assert not any(is_quick(Rules.parse(text)) for text in slow)


# --------------------------------------------------------------------------------------
# Sampled
# --------------------------------------------------------------------------------------


def decisions(rules: Rules, agents: list, advised: int, most: int) -> Iterator[Game]:
    """Decisions of a seat in games against these agents, its own choices at random."""
    rng, layout, met = np.random.default_rng(5), Layout.of(rules), 0
    for seed in range(10_000):
        game = Game(rules, seed=seed)
        while game.seat is not None:
            observation, mask = game.observe(game.seat)
            chances = agents[game.seat].probabilities(observation[None], mask[None], layout)[0]
            if game.seat == advised:
                yield game
                met += 1
                chances = mask / mask.sum()
                if met == most:
                    return
            game.play(int(rng.choice(len(chances), p=chances / chances.sum())))


@pytest.mark.parametrize(
    ("text", "against", "seat"),
    [
        ("practice-table", "robin,alex", 2),
        ("open-kings,seats=3", "random,alex", 2),
        ("kings-face-up,seats=3", "robin,random", 0),
        ("jack-rule,seats=3,direction=right", "alex,random", 1),
        ("onesies,seats=3,lives=2", "random,robin", 2),
        ("full-rotation,seats=3,decks=2,final_tie=cut", "random,alex", 1),
        ("kings-stop-trading,seats=3,queen=redirects,jack=may_block", "random", 2),
        ("cuckoo,seats=3", "equilibrium", 0),
    ],
)
def test_samples_agree_with_exact_values_within_their_stated_errors(
    text: str, against: str, seat: int
) -> None:
    """With the seat going on as a bot the exact value is that of the bot's own strategy."""
    line = Line(text, against, seat)
    agents = in_line(against, line.rules, seat)
    values = Chain(line.match, line.strategy).values()[:, seat]
    where = {}
    for number, states in line.positions():
        observations, _ = line.match.observations(number)
        keys = observation_keys(line.rules, observations, line.match.layout).tolist()
        where.update({keys[state]: (number, state) for state in states})
    sampled = Sampled(line.rules, agents, seat)
    off, gaps = [], []
    for at, game in enumerate(decisions(line.rules, agents, seat, 40)):
        observation, _ = game.observe(seat, line.match.layout)
        (key,) = observation_keys(line.rules, observation[None], line.match.layout).tolist()
        number, state = where[key]
        exact, _ = line.action_values(number, line.strategy, values)
        worth = sampled.worth(game, deals=500, seed=at)
        shares = np.array(list(worth.shares.values()))
        errors = np.array(list(worth.errors.values()))
        true = exact[line.edges(number, state)]
        off += ((shares - true) / errors).tolist()
        best = shares.argmax()
        gap_errors = np.array(list(worth.gap_errors.values()))
        if len(shares) > 1:
            away = (shares[best] - shares) - (true[best] - true)
            gaps += np.delete(away / gap_errors, best).tolist()
    assert np.abs(off).max() < 4.5
    assert abs(np.mean(off)) < 4 / np.sqrt(len(off))
    assert 0.6 < np.std(off) < 1.35
    assert np.abs(gaps).max() < 4.5


LARGE = "chase-the-ace,seats=6"


def games_in_progress(rules: Rules, seat: int, most: int) -> Iterator[tuple[Game, list[str]]]:
    """Games in which the seat is to act, with the actions of the round so far."""
    agents = in_line("robin,alex", rules, seat)
    layout, found = Layout.of(rules), 0
    for seed in range(1000):
        game = Game(rules, seed=seed)
        done: list[str] = []
        while game.seat != seat and game.seat is not None:
            observation, mask = game.observe(game.seat)
            chances = agents[game.seat].probabilities(observation[None], mask[None], layout)[0]
            done.append(("keep", "swap", "accept", "show", "pay")[int(chances.argmax())])
            game.act(done[-1])
        if game.seat == seat and game.view(seat).round == 1 and len(done) > 2:
            yield game, done
            found += 1
            if found == most:
                return


def test_what_the_seat_has_not_seen_changes_nothing() -> None:
    rules, seat = Rules.parse(LARGE), 3
    sampled = Sampled(rules, in_line("robin,alex", rules, seat), seat)
    rng, exchanged = np.random.default_rng(1), 0
    pack = [rank + suit for rank in RANKS for suit in SUITS]
    for game, done in games_in_progress(rules, seat, 4):
        worth = sampled.worth(game, deals=100)
        seen = game.observe(seat)[0].tobytes()
        for _ in range(3000):
            cards = rng.permutation(pack).tolist()
            other = Game.from_position(
                rules, dealer=game.dealer, lives=game.lives, deal=cards[:6], stock=cards[6], seed=9
            )
            try:
                for action in done:
                    other.act(action)
            except IllegalActionError:
                continue
            if other.seat == seat and other.observe(seat)[0].tobytes() == seen:
                exchanged += other._games["card"].tobytes() != game._games["card"].tobytes()
                assert sampled.worth(other, deals=100) == worth
    assert exchanged >= 8


def test_advice_at_a_large_table_is_sampled_and_says_so() -> None:
    coach = coach_for(LARGE)
    assert coach.ready
    assert not coach.exact
    game = Game.from_position(
        coach.rules, dealer=5, lives=[3] * 6, deal=["Ac", "9h", "8s", "7s", "6d", "5h"]
    )
    advice = coach.advise(game, 0, "keep")
    assert not advice.exact
    assert 0 < advice.error < 0.02
    assert set(advice.errors) == {"keep", "swap"}
    assert all(0 < error < 0.02 for error in advice.errors.values())
    assert advice.afterwards == "robin"
    # An ace may only be saved by a tie: keeping it costs many standard errors.
    assert advice.best == "swap"
    assert advice.clear
    assert re.match(r"Keeping an ace, you (lose a life|nearly always)", advice.why)
    assert coach.advise(game, 0, "keep") == advice
    assert coach.advise(game, 0, "keep", seed=1) != advice


def test_where_the_samples_cannot_tell_the_coach_says_so() -> None:
    coach = coach_for(LARGE)
    told = set()
    for rank in "567":
        game = Game.from_position(
            coach.rules, dealer=5, lives=[3] * 6, deal=[f"{rank}c", "9h", "8s", "Ts", "Jd", "Kh"]
        )
        advice = coach.advise(game, 0, "keep")
        lead = abs(advice.worth["keep"] - advice.worth["swap"])
        assert advice.why.startswith("Too close to tell") is (lead < 2 * advice.error)
        told.add(advice.why.startswith("Too close to tell"))
    assert True in told


def test_the_documentation_says_at_which_tables_figures_are_exact() -> None:
    page = (Path(__file__).parents[1] / "docs" / "table.md").read_text(encoding="utf-8")
    said = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    found = [[seats, *(most_lives(seats, **axes) for axes in AXES_TOLD)] for seats in range(2, 11)]
    assert [[*map(int, row)] for row in said] == [row for row in found if any(row[1:])]
    assert f"at most {PATIENCE:g} seconds" in page
    assert "prepared takes about a quarter of a gigabyte" in page
    assert MOST_BYTES == 2**30 // 4


AXES_TOLD = ({}, {"jack": "may_block"}, {"refusal": "fee"})


def most_lives(seats: int, **axes: str) -> int:
    """The most lives with which a table is small enough."""
    lives = [each for each in range(1, MOST_LIVES + 1)
             if is_small(Rules(seats=seats, lives=each, **axes))]  # fmt: skip
    return max(lives, default=0)


def test_a_position_beyond_the_rules_is_sampled_also_at_a_small_table() -> None:
    coach = coach_for("practice-table")
    game = Game.from_position(PRACTICE, dealer=2, lives=[5, 3, 3], deal=["2c", "9h", "Ks"])
    advice = coach.advise(game, 0, "swap")
    assert not advice.exact
    assert advice.error > 0


def test_nobody_waits_for_a_long_preparation(
    monkeypatch: pytest.MonkeyPatch, may_go_on: threading.Event
) -> None:
    monkeypatch.setattr(coaching, "is_quick", lambda _: False)
    coach = coach_for("one-round,seats=2", "threshold:13")
    game = Game.from_position(coach.rules, dealer=1, lives=[3, 3], deal=["7c", "9h"])
    assert not coach.ready
    first = coach.advise(game, 0, "keep")
    assert not first.exact
    may_go_on.set()
    coach._promise().result()
    assert coach.ready
    then = coach.advise(game, 0, "keep")
    assert then.exact
    assert abs(first.worth["keep"] - then.worth["keep"]) < 4.5 * first.errors["keep"]


# --------------------------------------------------------------------------------------
# The costliest, and what is shared
# --------------------------------------------------------------------------------------


def advice(cost: float, error: float = 0.0, round_: int = 1) -> Advice:
    return Advice(
        seat=0, round=round_, card="5c", when="", action="keep", worth={}, errors={}, best="swap",
        cost=cost, error=error, exact=error == 0, afterwards="", why="",
    )  # fmt: skip


def test_the_costliest_are_those_that_clearly_cost_most() -> None:
    given = [
        advice(0.01),
        advice(0.3, 0.2),
        advice(0),
        advice(0.2),
        advice(0.05, 0.01),
        advice(0.1),
    ]
    assert [each.cost for each in costliest(given)] == [0.2, 0.1, 0.05]
    assert costliest([advice(0), advice(1e-9)]) == []
    assert [each.round for each in costliest([advice(0.1, round_=k) for k in range(5)])] == [
        0,
        1,
        2,
    ]


def test_tables_with_the_same_opponents_share_what_is_prepared() -> None:
    first = coach_for("practice-table", "threshold:4,alex")
    again = coach_for("practice-table", "threshold:4,alex")
    other = coach_for("practice-table", "alex,threshold:4")
    elsewhere = coach_for("chase-the-ace,seats=3,final_tie=replay,stake=2", "threshold:4,alex")
    assert first._promise() is again._promise()
    assert first._promise() is not other._promise()
    assert elsewhere._promise() is first._promise()  # only stake and first dealer differ
    assert coach_for("cuckoo,seats=3", "equilibrium")._promise() is (
        coach_for("cuckoo,seats=3", "equilibrium")._promise()
    )


class Stranger:
    """An agent like no other."""

    name = "stranger"

    def probabilities(self, observations, masks, layout):
        return masks / masks.sum(axis=1, keepdims=True)

    def player(self):
        return None


def test_unknown_agents_are_told_apart_by_who_they_are() -> None:
    rules = Rules.parse("one-round,seats=2")
    one, two = Stranger(), Stranger()
    coaches = [Coach(rules, {1: agent}, 0) for agent in (one, one, two)]
    assert coaches[0]._promise() is coaches[1]._promise()
    assert coaches[0]._promise() is not coaches[2]._promise()


@pytest.mark.parametrize("error", [RuntimeError("no thoughts"), TimeoutError("no thoughts")])
def test_a_failed_preparation_is_told_once_and_advice_is_sampled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    rules, agent = Rules.parse("one-round,seats=2"), Stranger()
    tried = []

    def failing(match: Match, agents: list[object], seat: int) -> Solved:
        # What other tests have asked for may still be prepared.
        if agent not in agents:
            return Solved(match, agents, seat)
        tried.append(agents)
        raise error

    monkeypatch.setattr(coaching, "Solved", failing)
    monkeypatch.setattr(coaching, "_prepared", Prepared())
    monkeypatch.setattr(coaching, "PATIENCE", 300)
    game = Game(rules.replace(first_dealer=1), seed=1)
    for coach in (Coach(rules, {1: agent}, 0), Coach(rules, {1: agent}, 0)):
        for _ in range(2):
            assert not coach.advise(game, 0, "keep").exact
        assert coach.ready
        assert not coach.waits
        # Nobody was impatient: what took no time failed.
        assert coach._waits
    assert len(tried) == 1
    assert [record.name for record in caplog.records] == ["cuckoo_env.play.prepared"]
    assert "no thoughts" in caplog.text


def test_what_is_prepared_is_bounded_however_many_tables_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules, alive = Rules.parse("one-round,seats=2"), weakref.WeakSet()

    class Watched(Solved):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            alive.add(self)

    finish(coaching._prepared)  # what other tests have asked for is not to be counted
    monkeypatch.setattr(coaching, "Solved", Watched)
    monkeypatch.setattr(coaching, "_prepared", Prepared(most=3))
    game = Game(rules.replace(first_dealer=1), seed=1)
    coaches = [Coach(rules, {1: Stranger()}, 0) for _ in range(14)]
    first, *_ = advices = [coach.advise(game, 0, "keep") for coach in coaches]
    gc.collect()
    assert 1 <= len(alive) <= 3
    # Who comes back later has it prepared again.
    assert all(advice.exact for advice in advices)
    assert coaches[0].advise(game, 0, "keep") == first


class Weighed:
    """Stands for something that is prepared, and takes so many bytes."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_preparations_are_bounded_by_what_they_take() -> None:
    kept, alive = Prepared(most_bytes=100), weakref.WeakSet()

    def make(nbytes: int) -> Weighed:
        alive.add(made := Weighed(nbytes))
        return made

    for key, nbytes in enumerate([60, 30, 30]):
        kept.get(key, lambda n=nbytes: make(n)).result()
    finish(kept)
    # The oldest gave way.
    assert sorted(each.nbytes for each in alive) == [30, 30]
    kept.get(1, never)
    kept.get("large", lambda: make(1000)).result()
    finish(kept)
    assert [each.nbytes for each in alive] == [1000]


@pytest.mark.parametrize("text", ["chase-the-ace,seats=3,lives=6", "standard,seats=3,max_rounds=4"])
def test_what_is_prepared_knows_about_how_much_memory_it_keeps(text: str) -> None:
    rules = Rules.parse(text)
    agents = in_line("robin,alex", rules, 0)
    Solved(Match(rules), agents, 0)  # trees, which matches share, are grown before it is measured
    gc.collect()
    tracemalloc.start()
    solved = Solved(Match(rules), agents, 0)
    gc.collect()
    measured, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    trees = {id(tree): tree for tree in solved.match.tree}.values()
    shared = sum(each.nbytes for tree in trees for each in vars(tree).values()
                 if isinstance(each, np.ndarray))  # fmt: skip
    assert 0.9 * measured < solved.nbytes - shared < 1.5 * measured


class Gate:
    """A preparation that goes on when it is told to."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.began, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self) -> Weighed:
        self.began.set()
        self.may_go_on.wait(60)
        return Weighed(self.nbytes)


def test_what_takes_too_much_costs_nobody_who_waits_the_place() -> None:
    kept, gate = Prepared(most_bytes=100), Gate(150)
    promises = [kept.get("running", gate)]
    gate.began.wait(60)
    promises += [kept.get(key, lambda: Weighed(1)) for key in range(3)]
    kept.get("running", never)
    gate.may_go_on.set()
    assert [promise.result(60).nbytes for promise in promises] == [150, 1, 1, 1]
    finish(kept)
    assert [kept.is_done(key) for key in ("running", 0, 1, 2)] == [False, True, True, True]


def test_what_takes_too_much_is_kept_until_something_else_is_done() -> None:
    kept, gate = Prepared(most_bytes=100), Gate(150)
    kept.get("before", lambda: Weighed(1)).result(60)
    promise = kept.get("large", gate)
    gate.began.wait(60)
    # Somebody asks for another meanwhile, so that the large one is no longer what was asked for last.
    kept.get("before", never)
    gate.may_go_on.set()
    assert promise.result(60).nbytes == 150
    finish(kept)
    assert kept.get("large", never) is promise
    assert not kept.is_done("before")


def test_to_ask_whether_all_is_ready_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Prepared(most=1)
    monkeypatch.setattr(coaching, "_prepared", kept)
    coach = Coach(Rules.parse("one-round,seats=2"), {1: Stranger()}, 0)
    coach._promise().result(60)
    assert coach.ready
    assert not coach.waits
    other = kept.get("other", lambda: Weighed(1))
    other.result(60)
    assert not coach.ready
    assert coach.waits
    # It was not asked for, nor did it drop what is kept.
    assert kept.get("other", never) is other


def finish(kept: Prepared) -> None:
    """Wait until nothing more is to be prepared."""
    while kept._is_at_work:
        time.sleep(0.001)


def never() -> Weighed:
    raise AssertionError("it is prepared already")


def test_one_thread_prepares_and_skips_what_nobody_wants_any_more() -> None:
    kept, prepared = Prepared(most=2), []
    began, may_go_on = threading.Event(), threading.Event()

    def make(key: int) -> Weighed:
        prepared.append((key, threading.current_thread()))
        began.set()
        may_go_on.wait(60)
        return Weighed(key)

    promises = [kept.get(0, lambda: make(0))]
    began.wait(60)
    promises += [kept.get(key, lambda key=key: make(key)) for key in range(1, 5)]
    assert len(kept) == 2
    may_go_on.set()
    assert promises[4].result().nbytes == 4
    assert promises[0].result().nbytes == 0  # it had begun before it was dropped
    assert [key for key, _ in prepared] == [0, 3, 4]
    assert len({thread for _, thread in prepared}) == 1
    for promise in promises[1:3]:
        with pytest.raises(CancelledError):
            promise.result()


def test_who_has_waited_long_enough_gets_sampled_advice(
    monkeypatch: pytest.MonkeyPatch, may_go_on: threading.Event
) -> None:
    monkeypatch.setattr(coaching, "PATIENCE", 0.001)
    coach = Coach(Rules.parse("one-round,seats=2"), {1: Stranger()}, 0)
    game = Game.from_position(coach.rules, dealer=1, lives=[3, 3], deal=["7c", "9h"])
    assert coach.waits
    assert not coach.advise(game, 0, "keep").exact
    assert not coach.waits  # not a second time
    may_go_on.set()
    coach._promise().result()
    assert coach.advise(game, 0, "keep").exact


def test_who_waits_for_what_is_dropped_gets_sampled_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, began, may_go_on = Prepared(most=1), threading.Event(), threading.Event()
    monkeypatch.setattr(coaching, "_prepared", kept)

    def keep_busy() -> Weighed:
        began.set()
        may_go_on.wait(60)
        return Weighed(1)

    kept.get("busy", keep_busy)
    began.wait(60)
    coach = Coach(Rules.parse("one-round,seats=2"), {1: Stranger()}, 0)
    game = Game.from_position(coach.rules, dealer=1, lives=[3, 3], deal=["7c", "9h"])
    promise = coach._promise()
    kept.get("another", lambda: Weighed(1))
    assert promise.cancelled()
    monkeypatch.setattr(coach, "_promise", lambda: promise)
    assert not coach.advise(game, 0, "keep").exact
    may_go_on.set()


def test_many_threads_get_the_same_advice() -> None:
    game = Game(PRACTICE, seed=3)
    found = []

    def ask() -> None:
        coach = coach_for("practice-table", "threshold:5,robin")
        found.append(coach.advise(game.copy(), 0, "keep"))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert all(each == found[0] for each in found)
