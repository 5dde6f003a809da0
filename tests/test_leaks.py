"""No observation tells a seat what it has not seen, and none forgets what it has seen in the round."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
import strategies
from differential import Pair, case_of, play_case, random_rules
from hypothesis import given, settings
from rounds import Decision, Setting, View, referee_at, referee_view, walk

from cuckoo_env import engine
from cuckoo_env.cards import N_RANKS, N_SUITS, PACK
from cuckoo_env.observation import Layout, observe, sections_of
from cuckoo_env.rules import Rules

Games = npt.NDArray[np.void]

# --------------------------------------------------------------------------------------
# What a seat has not seen changes nothing
# --------------------------------------------------------------------------------------


def seen_by(pair: Pair, games: Games, viewer: int) -> tuple[bytes, bytes]:
    """The observation and the mask of a seat, byte by byte."""
    layout = Layout.of(pair.rules, with_rules=True)
    observation = np.full((1, layout.size), -1, np.float32)
    mask = np.full((1, layout.n_actions), -1, np.int8)
    sections = sections_of(layout, (pair.rules,))
    observe(games, pair.compiled, layout.offsets, sections, 0, viewer, observation, mask)
    return observation.tobytes(), mask.tobytes()


def dealt_again(pair: Pair, viewer: int, rng: random.Random) -> Games:
    """The same game with other cards wherever the viewer has not seen any, and other chance to come.

    Cards the viewer knows keep their rank, but may change their suit. What the other seats know changes
    with the cards, for they know the new ones; whom they know does not.
    """
    games = pair.games.copy()
    game, rules = games[0], pair.rules
    free = list(range(PACK)) * rules.decks
    holders = [seat for seat in range(rules.seats) if game["card"][seat] != engine.NO_CARD]
    known = {
        seat: int(game["known"][seat, viewer]) for seat in holders if game["known"][seat, viewer]
    }
    fixed = [int(game["stock"])] if game["stock"] != engine.NO_CARD else []
    for card in fixed:
        free.remove(card)
    rng.shuffle(free)
    for seat, rank in known.items():
        game["card"][seat] = take(free, rank)
    for seat in holders:
        if seat not in known:
            game["card"][seat] = free.pop()
        others = [other for other in range(rules.seats) if game["known"][seat, other]]
        for other in set(others) - {viewer}:
            game["known"][seat, other] = int(game["card"][seat]) // N_SUITS + 1
    if not fixed:
        game["top"] = free.pop()
    games["rng"] = rng.getrandbits(32)
    if games["script"].shape[1] > 1:
        games["script"] = rng.randrange(PACK)
    return games


def take(free: list[int], rank: int) -> int:
    """Some free card of a rank."""
    card = next(card for card in free if card // N_SUITS + 1 == rank)
    free.remove(card)
    return card


def assert_nothing_leaks(pair: Pair, rng: random.Random) -> int:
    """For every viewer; gives back how many hidden cards were exchanged."""
    exchanged = 0
    for viewer in range(pair.rules.seats):
        before = seen_by(pair, pair.games, viewer)
        for _ in range(3):
            other = dealt_again(pair, viewer, rng)
            exchanged += int((other["card"] != pair.games["card"]).sum())
            assert seen_by(pair, other, viewer) == before, (
                f"seat {viewer} sees a difference\n{pair}"
            )
    return exchanged


@settings(max_examples=200)
@given(rules=strategies.tables(), seed=strategies.seeds())
def test_no_hidden_card_changes_what_a_seat_observes(rules: Rules, seed: int) -> None:
    rng = random.Random(seed)
    pair = play_case(seed, rules)
    assert_nothing_leaks(pair, rng)


def test_no_hidden_card_changes_what_a_seat_observes_at_any_step() -> None:
    exchanged = 0
    for seed in range(400):
        rng = random.Random(seed)
        case = case_of(seed)
        if case.rules.seats > 10:
            continue
        pair = Pair(case.rules, generator=case.generator, start=case.start, script=case.script)
        for _ in range(rng.randrange(12)):
            if not pair.over:
                pair.step(rng.choice(pair.legal))
        exchanged += assert_nothing_leaks(pair, rng)
    assert exchanged > 10_000, "hidden cards must really have been exchanged"


def test_only_the_seat_to_act_has_a_mask() -> None:
    for seed in range(300):
        pair = play_case(seed)
        for viewer in range(pair.rules.seats):
            _, mask = seen_by(pair, pair.games, viewer)
            assert any(mask) == (viewer == int(pair.games["seat"][0]))


def test_a_leak_would_be_found() -> None:
    pair = Pair(Rules.parse("practice-table"))
    pair.games["known"][0, 1, 0] = pair.games["card"][0, 1] // N_SUITS + 1
    before = seen_by(pair, pair.games, 0)
    pair.games["known"][0, 1, 0] = pair.games["known"][0, 1, 0] % 13 + 1
    assert seen_by(pair, pair.games, 0) != before


# --------------------------------------------------------------------------------------
# What a seat has seen in this round is never forgotten
# --------------------------------------------------------------------------------------


def assert_perfect_recall(setting: Setting, walked: Iterable[Decision]) -> tuple[int, int]:
    """Two histories look different to the seat to act exactly if it has seen different things happen."""
    observed: defaultdict[View, set[bytes]] = defaultdict(set)
    views: defaultdict[tuple[int, bytes], set[View]] = defaultdict(set)
    decisions = 0
    for decision in walked:
        referee = referee_at(setting, decision.deal, decision.path)
        assert (referee.seat, tuple(referee.legal())) == (decision.seat, decision.legal)
        view = referee_view(referee, decision.seat)
        observed[view].add(decision.observation)
        views[decision.seat, decision.observation].add(view)
        decisions += 1
    leaks = [view for view, seen in observed.items() if len(seen) > 1]
    assert not leaks, f"{setting.rules}: seat {leaks[0][0]} sees what it cannot know: {leaks[0]}"
    forgotten = [seen for seen in views.values() if len(seen) > 1]
    assert not forgotten, f"{setting.rules}: these look alike: {sorted(forgotten[0])}"
    return decisions, len(observed)


RANKS_AT = {2: 5, 3: 3, 4: 2}
"""How many ranks are dealt, by seats in: so that a round has some thousand decisions."""


def random_setting(rng: random.Random) -> Setting:
    """A round at a small table: any rules, court cards among the ranks, perhaps with a seat that is out."""
    seats = rng.choice((2, 3, 3, 4, 4))
    first_dealer = rng.randrange(seats)
    rules = random_rules(rng).replace(
        seats=seats,
        game="round",
        max_rounds=None,
        first_dealer=first_dealer,
        decks=rng.choice((0, 2)),
    )
    lives = [rng.choice((0, 1, 2, 3, 3)) for _ in range(seats)]
    for seat in rng.sample(range(seats), 2):
        lives[seat] = max(lives[seat], 1)
    seats_in = [seat for seat in range(seats) if lives[seat]]
    ranks = rng.sample("JQK", min(len("JQK"), RANKS_AT[len(seats_in)] - 1))
    ranks += rng.sample("A29", RANKS_AT[len(seats_in)] - len(ranks))
    return Setting(
        rules=rules,
        ranks="".join(ranks),
        stock="".join(rng.sample("78TJQK", 2)),
        lives=tuple(lives),
        dealer=rng.choice(seats_in),
    )


@pytest.mark.parametrize("seed", range(60))
def test_perfect_recall_within_a_round(seed: int) -> None:
    rng = random.Random(seed)
    decisions, states = 0, 0
    for _ in range(3):
        setting = random_setting(rng)
        more = assert_perfect_recall(setting, walk(setting))
        decisions, states = decisions + more[0], states + more[1]
    assert decisions >= states > 5


def test_forgetting_would_be_found() -> None:
    setting = Setting(
        rules=Rules.parse("one-round,first_dealer=2"),
        ranks="A7K",
        stock="8",
        lives=(3, 3, 3),
        dealer=2,
    )
    assert_perfect_recall(setting, walk(setting))
    with pytest.raises(AssertionError, match="these look alike"):
        assert_perfect_recall(setting, _forgetting_others(setting))


def _forgetting_others(setting: Setting) -> Iterator[Decision]:
    """What a seat would observe that knew its own card only."""
    known = Layout.of(setting.rules).slices["known"]
    for decision in walk(setting):
        vector = np.frombuffer(decision.observation, np.float32).copy()
        vector[known.start + N_RANKS : known.stop] = 0
        yield dataclasses.replace(decision, observation=vector.tobytes())
