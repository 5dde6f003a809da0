"""Exact values against brute force in fractions, and against two million sampled games."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from bruteforce import Ending, Pack, Policy, Position, Response, Table, values
from referee import RANKS, Referee

from cuckoo_env.agents import Agent, lineup
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.evaluate import arena, tree
from cuckoo_env.evaluate.exact import best_response, evaluate, strategy_of
from cuckoo_env.evaluate.match import Match
from cuckoo_env.evaluate.match import Position as MatchPosition
from cuckoo_env.observation import Layout
from cuckoo_env.rules import AXES, Rules

PARTS: Final = 8
"""Chances are multiples of an eighth: exact as floats and short as fractions."""


class Mixed:
    """Mixes by its own card, its neighbour's if it knows that, whether it deals, and its lives.

    The mixture is drawn from the seed for every case. It is written twice: :meth:`probabilities`
    reads observations, :meth:`at` looks at the referee.
    """

    def __init__(self, seed: int, rules: Rules) -> None:
        self.name = f"mixed:{seed}"
        self._seed, self._lives = seed, rules.lives
        self._known: dict[tuple[int, ...], list[Fraction]] = {}

    def _chances(self, facts: tuple[int, ...], legal: Sequence[int]) -> list[Fraction]:
        """The chances of the legal actions."""
        key = (*facts, *legal)
        if key not in self._known:
            dice = random.Random(f"{self._seed} {key}")
            cuts = sorted(dice.randint(0, PARTS) for _ in legal[1:])
            self._known[key] = [
                Fraction(stop - start, PARTS)
                for start, stop in zip([0, *cuts], [*cuts, PARTS], strict=True)
            ]
        return self._known[key]

    def at(self, referee: Referee) -> dict[str, Fraction]:
        seat = referee.seat
        known, left = referee.known[seat], referee._left_of(seat)
        neighbour = RANKS.index(known[left]) + 1 if left in known else 0
        facts = (
            RANKS.index(known[seat]) + 1,
            neighbour,
            int(seat == referee.dealer),
            referee.lives[seat],
        )
        legal = referee.legal()
        numbers = [ACTION_NAMES.index(action) for action in legal]
        return dict(zip(legal, self._chances(facts, numbers), strict=True))

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        known = layout.view(observations, "known")
        ranks = np.where(known.any(axis=2), known.argmax(axis=2) + 1, 0)
        in_play = layout.view(observations, "in_play")[:, :, 0] > 0
        in_play[:, 0] = False
        facts = (
            ranks[:, 0],
            ranks[np.arange(len(ranks)), in_play.argmax(axis=1)],
            layout.view(observations, "dealer")[:, 0, 0],
            np.rint(layout.view(observations, "lives")[:, 0, 0] * self._lives),
            *masks.T,
        )
        # One number for each case: it is much faster to sort than the rows.
        sizes = (14, 14, 2, self._lives + 1, *[2] * layout.n_actions)
        numbers = np.ravel_multi_index([fact.astype(np.int64) for fact in facts], sizes)
        cases, back = np.unique(numbers, return_inverse=True)
        chances = np.zeros((len(cases), layout.n_actions))
        for row, case in enumerate(np.stack(np.unravel_index(cases, sizes), axis=1).tolist()):
            legal = [action for action, allowed in enumerate(case[4:]) if allowed]
            chances[row, legal] = self._chances(tuple(case[:4]), legal)
        return chances[back]

    def player(self) -> None:
        return None


def mixed(rules: Rules) -> tuple[list[Agent], list[Policy]]:
    """A mixed agent for each seat, once for observations and once for the referee."""
    agents = [Mixed(100 + seat, rules) for seat in range(rules.seats)]
    return list(agents), [agent.at for agent in agents]


def use(pack: Pack, patch: pytest.MonkeyPatch) -> None:
    """Let trees be grown from a pack that may be smaller."""
    kept = np.array([pack.counts.get(rank, 0) for rank in RANKS])
    all_deals = tree.deals

    def deals(places: int, decks: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float64]]:
        ranks, _ = all_deals(places, decks)
        chance = np.ones(len(ranks))
        for place in range(places):
            same = (ranks[:, :place] == ranks[:, place : place + 1]).sum(axis=1)
            chance *= np.maximum(kept[ranks[:, place] - 1] - same, 0) / (kept.sum() - place)
        return np.ascontiguousarray(ranks[chance > 0]), chance[chance > 0]

    def stock_counts(ranks: npt.NDArray[np.int8], decks: int) -> npt.NDArray[np.int64]:
        dealt = np.stack([(ranks == rank).sum(axis=1) for rank in range(1, 14)], axis=1)
        return kept - dealt

    patch.setattr(tree, "deals", deals)
    patch.setattr(tree, "stock_counts", stock_counts)


@pytest.fixture(autouse=True)
def no_kept_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of small packs are for one test only."""
    monkeypatch.setattr(tree, "_SHELF", tree._Shelf(most=20_000_000))


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def agree(rules: Rules, pack: Pack) -> None:
    """Exact values from every first dealer are those of brute force."""
    agents, policies = mixed(rules)
    table = Table(rules=rules.fields(), pack=pack)
    expected = values(table, policies)
    for dealer in range(rules.seats):
        exact = evaluate(rules, agents, first_dealer=dealer)
        numbers = [float(n) for n in expected[Position((rules.lives,) * rules.seats, dealer)]]
        assert exact.win_share == pytest.approx(numbers[: rules.seats], abs=1e-12)
        assert exact.truncated == pytest.approx(numbers[-1], abs=1e-12)
        assert exact.payoff is not None or not table.counts_stakes
        if exact.payoff is not None:
            assert exact.payoff == pytest.approx(numbers[rules.seats : -1], abs=1e-12)


# -- Small packs --------------------------------------------------------------------------------

SMALL: Final = {
    "chase-the-ace,seats=2,lives=2": ("A5JQK", 2),
    "chase-the-ace,seats=2,lives=2,pairs=safe,final_tie=carry,ace=high": ("A5QK", 2),
    "chase-the-ace,seats=2,lives=3,king=plain,max_rounds=4,final_tie=carry_stake": ("A29K", 2),
    "onesies,seats=2,lives=3": ("A9JK", 2),
    "full-rotation,seats=3,lives=2,queen=redirects": ("A5QK", 2),
    "standard,seats=3,lives=1,pairs=safe,swapped_turn=lost,king=stops_deal": ("A5QK", 2),
    "chase-the-ace,seats=3,lives=1,final_tie=cut,queen=redirects,jack=may_block": ("AJQK", 1),
    "standard,seats=3,lives=2,king=ends_trading,direction=right,max_rounds=2": ("A5K", 2),
    "onesies,seats=3,lives=2,queen=redirects,jack=blocks": ("AJQK", 1),
    "chase-the-ace,seats=3,lives=1,final_tie=carry,king=open,dealer=rotation": ("A5QK", 2),
    "one-round,seats=3,refusal=fee,lives=3,penalty=shared,stake=2": ("A5K", 2),
    "chase-the-ace,seats=2,lives=1,final_tie=carry_stake,queen=redirects": ("A5QK", 2),
}
"""Rule sets, and the small pack that each is played with: a few ranks, so many cards of each."""


@pytest.mark.parametrize(("text", "pack"), SMALL.items())
def test_small_packs(patch: pytest.MonkeyPatch, text: str, pack: tuple[str, int]) -> None:
    small = Pack.small(*pack)
    use(small, patch)
    agree(Rules.parse(text), small)


def drawn(seed: int) -> tuple[Rules, Pack]:
    """A rule set and a small pack, any that can be played."""
    dice = random.Random(seed)
    chosen: dict[str, Any] = {
        name: dice.choice([value.value for value in axis]) for name, axis in AXES.items()
    }
    chosen["seats"] = dice.choice([2, 2, 3])
    chosen["lives"] = dice.choice([1, 1, 2] if chosen["seats"] == 3 else [1, 2, 3])
    chosen["stake"] = dice.choice([1.0, 2.5])
    if chosen["penalty"] == "shared" or chosen["pairs"] == "safe":
        chosen["ties"] = "all"
    if chosen["game"] == "match" and dice.random() < 0.3:
        chosen["max_rounds"] = dice.randint(1, 3)
    ranks = "".join(sorted(dice.sample(RANKS[:10], 1) + dice.sample(RANKS[10:], 2)))
    return Rules(**chosen), Pack.small(ranks, 2)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 50))]
)
def test_small_packs_at_random(patch: pytest.MonkeyPatch, seed: int) -> None:
    rules, pack = drawn(seed)
    use(pack, patch)
    agree(rules, pack)


# -- Full packs ---------------------------------------------------------------------------------


FULL: Final = (
    "le-her",
    "standard,seats=2,lives=1,queen=redirects",
    "one-round,seats=2,decks=2,jack=may_block",
)


@pytest.mark.parametrize("text", FULL)
def test_full_packs(text: str) -> None:
    rules = Rules.parse(text)
    agree(rules, Pack.full(rules.decks))


def test_every_value_of_every_axis_is_compared() -> None:
    compared = [Rules.parse(text).fields() for text in (*SMALL, *FULL)]
    for name, axis in AXES.items():
        assert {fields[name] for fields in compared} == set(axis)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["one-round,seats=3", "chase-the-ace,seats=3,lives=1,king=open"])
def test_full_packs_at_three_seats(text: str) -> None:
    agree(Rules.parse(text), Pack.full())


@pytest.mark.parametrize(("places", "decks"), [(2, 1), (3, 1), (3, 2), (4, 1)])
def test_deals_are_counted_right(places: int, decks: int) -> None:
    ranks, chances = tree.deals(places, decks)
    stock = tree.stock_counts(ranks, decks)
    for row in random.Random(places).sample(range(len(ranks)), 50):
        held = [ranks[row].tolist().count(rank) for rank in range(1, 14)]
        ways = math.prod(math.perm(4 * decks, count) for count in held)
        assert chances[row] == pytest.approx(ways / math.perm(52 * decks, places), rel=1e-14)
        assert stock[row].tolist() == [4 * decks - count for count in held]
    assert len(ranks) == 13**places  # four cards of a rank can all be dealt


# -- Sampled games ------------------------------------------------------------------------------

SAMPLED: Final = (
    "practice-table",
    "onesies,seats=3,lives=2",
    "pairs-safe,seats=3,lives=2",
    "chase-the-ace,seats=2,lives=2,final_tie=carry",
    "chase-the-ace,seats=2,lives=2,final_tie=carry_stake,max_rounds=6",
    "chase-the-ace,seats=3,lives=2,final_tie=cut,ace=high,max_rounds=5",
    "queen-rule,seats=3,lives=2,dealer=rotation",
    "jack-rule,seats=3,lives=2,swapped_turn=lost,direction=right",
    "one-round,seats=3,ties=first",
    "open-kings,seats=2,lives=3,decks=2",
)


def sampled(text: str, games: int) -> None:
    """Exact values are within error of sampled ones: win shares, payoffs, and games nobody wins."""
    rules = Rules.parse(text)
    agents = [*mixed(rules)[0][1:], *lineup(["robin"] * rules.seats, rules)[:1]]
    exact = evaluate(rules, agents, first_dealer="all")
    result = arena.play(rules, agents, games=games, seed=5, first_dealer="all")
    assert exact.payoff is not None
    nobody = result.truncated + result.undecided
    nobody_se = math.sqrt(max(exact.truncated * (1 - exact.truncated), 1e-12) / games)
    off = [
        *((result.win_share - exact.win_share) / result.win_share_se),
        *((result.payoff - exact.payoff) / result.payoff_se),
        (nobody - exact.truncated) / nobody_se,
    ]
    # Seven figures or fewer, of which the largest is off by more than four errors once in 2,000.
    assert np.abs(off).max() < 4


@pytest.mark.parametrize("text", SAMPLED)
def test_sampled_games(text: str) -> None:
    sampled(text, games=10_000)


@pytest.mark.slow
@pytest.mark.parametrize("text", SAMPLED)
def test_two_million_sampled_games(text: str) -> None:
    sampled(text, games=2_000_000)


# -- Best responses -----------------------------------------------------------------------------


def responds_best(rules: Rules, pack: Pack) -> None:
    """From every position brute force finds no better round, given what the rounds after are worth.

    If the value of a best response satisfies this in every position, it is the best there is.
    """
    match = Match(rules)
    agents, policies = mixed(rules)
    strategy = strategy_of(match, agents)
    table = Table(rules=rules.fields(), pack=pack)
    rounds = {position: table.round_from(Position(*position)) for position in match.positions}
    for seat in range(rules.seats):
        best = best_response(match, strategy, seat).win_share

        def worth(end: Position | Ending, seat: int = seat, best: Any = best) -> float:
            if isinstance(end, Ending):
                return float(end.shares[seat])
            return float(best[match.number[MatchPosition(*end)]])

        for number, position in enumerate(match.positions):
            found = Response(rounds[position], policies, seat, worth).value
            assert best[number] == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "pack"),
    [
        ("le-her", Pack.full()),
        ("chase-the-ace,seats=2,lives=1,jack=may_block", Pack.small("A59JQK", 2)),
        ("onesies,seats=2,lives=2", Pack.small("A9JK", 2)),
        ("standard,seats=2,lives=2,pairs=safe,queen=redirects", Pack.small("A59QK", 2)),
        ("chase-the-ace,seats=2,lives=2,final_tie=carry,ace=high", Pack.small("A59QK", 2)),
        ("chase-the-ace,seats=2,lives=2,final_tie=carry_stake,max_rounds=3", Pack.small("A5K", 4)),
        ("standard,seats=3,lives=1,swapped_turn=lost", Pack.small("A59K", 2)),
        ("full-rotation,seats=3,lives=1,queen=redirects", Pack.small("A5QK", 2)),
        ("one-round,seats=3", Pack.small("A59JK", 2)),
    ],
    ids=str,
)
def test_best_responses(patch: pytest.MonkeyPatch, text: str, pack: Pack) -> None:
    use(pack, patch)
    responds_best(Rules.parse(text), pack)
