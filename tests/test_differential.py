"""The compiled engine against the plain referee, over random rules, tables and play.

Every step compares legal actions, events, seat to act, dealer, rounds, lives, stakes, losses, cards and what
each seat knows; every end compares winners and payoffs. `make fuzz` plays on for as long as you like.
"""

from __future__ import annotations

import functools
from collections import Counter

import pytest
import strategies
from differential import EVENT_NAMES, DisagreementError, Pair, Tally, play_case, play_cases
from hypothesis import given, settings

from cuckoo_env import engine
from cuckoo_env.rules import AXES, PRESETS, FirstDealer, Rules

SHARDS = 10
CASES_A_SHARD = 5_000


@functools.cache
def tally_of(shard: int) -> Tally:
    return play_cases(range(shard * CASES_A_SHARD, (shard + 1) * CASES_A_SHARD))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_engine_and_referee_agree_on_random_cases(shard: int) -> None:
    tally = tally_of(shard)
    assert tally.steps > 5 * tally.cases
    assert tally.finished > tally.cases / 4


def test_the_random_cases_reach_everything() -> None:
    seen: Counter[str] = tally_of(0).seen
    wanted = {*EVENT_NAMES, *engine.OUTCOME_NAMES}
    wanted |= {f"{name}={value}" for name, axis in AXES.items() for value in axis}
    assert wanted <= set(seen)
    rare = {what: number for what, number in seen.items() if what in wanted and number < 10}
    assert not rare, "too rare to be tested"


@settings(max_examples=300)
@given(rules=strategies.tables(), seed=strategies.seeds())
def test_engine_and_referee_agree_on_any_rules(rules: Rules, seed: int) -> None:
    play_case(seed, rules)


@pytest.mark.parametrize("name", PRESETS)
def test_engine_and_referee_agree_on_every_preset(name: str) -> None:
    for seed in range(50):
        play_case(seed, PRESETS[name].rules())


@pytest.mark.parametrize("seats", [27, 51, 60, pytest.param(103, marks=pytest.mark.slow)])
def test_engine_and_referee_agree_at_large_tables(seats: int) -> None:
    for seed in range(5):
        play_case(
            seed,
            Rules(seats=seats, lives=1, decks=(seats + 52) // 52, first_dealer=FirstDealer.CUT),
        )


def test_a_disagreement_is_reported_with_seed_rules_and_both_opinions() -> None:
    pair = Pair(Rules.parse("practice-table"))
    pair.referee.rules["king"] = "plain"
    pair.referee.cards[1] = "Ks"
    with pytest.raises(
        DisagreementError, match=r"the engine says .*, the referee says .*\nrules: "
    ) as raised:
        pair.step("swap")
    assert "rules: practice-table" in str(raised.value)


def test_a_seed_is_always_the_same_case() -> None:
    assert [play_case(7).events for _ in range(2)] == 2 * [play_case(7).events]


def test_a_broken_invariant_is_reported() -> None:
    pair = Pair(Rules.parse("practice-table"))
    # The same extra card in both, so that only the invariant can notice.
    pair.games["card"][0, 0], pair.referee.cards[0] = 51, "Ks"
    pair.games["known"][0, 0, 0] = 13
    pair.referee.known[0][0] = "K"
    with pytest.raises(DisagreementError, match="the cards of a deal are conserved"):
        pair.step("keep")
