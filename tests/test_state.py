"""The full hidden state for centralised critics."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from pettingzoo.test.state_test import test_state as check_state
from pettingzoo.test.state_test import test_state_space as check_space
from pettingzoo.utils import wrappers
from strategies import seeds, tables

from cuckoo_env import cuckoo_v0, state
from cuckoo_env.cards import RANK_NAMES, parse_card, rank_of
from cuckoo_env.engine import NO_CARD
from cuckoo_env.game import Game
from cuckoo_env.observation import FIELDS, Layout
from cuckoo_env.rules import Rules
from cuckoo_env.state import TOP, StateLayout

BOTH = [cuckoo_v0.raw_env, cuckoo_v0.env]


def wrapped(**options: Any) -> Any:
    """The environment in PettingZoo's wrappers."""
    env = wrappers.TerminateIllegalWrapper(cuckoo_v0.raw_env(**options), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def ranks(one_hot: np.ndarray) -> list[str | None]:
    """The name of the rank in each row."""
    return [RANK_NAMES[int(row.argmax())] if row.any() else None for row in one_hot]


def rank_name(card: Any) -> str | None:
    return None if card == NO_CARD else RANK_NAMES[rank_of(int(card)) - 1]


@pytest.mark.parametrize("make", [*BOTH, wrapped])
@pytest.mark.parametrize("rules", ["practice-table", "one-round,seats=5,direction=right"])
def test_pettingzoos_state_test_passes(make: Any, rules: str) -> None:
    env = make(rules=rules, expose_state=True, max_seats=6, with_rules=True)
    check_space(env)
    check_state(env, 40)


@pytest.mark.parametrize("make", [*BOTH, wrapped])
def test_there_is_no_state_unless_it_is_asked_for(make: Any) -> None:
    env = make(rules="practice-table")
    env.reset(seed=1)
    with pytest.raises(
        NotImplementedError, match="state: it holds all hidden cards; accepted: only"
    ):
        env.state()
    with pytest.raises(AttributeError, match="there is none without expose_state=True"):
        _ = env.state_space
    assert not hasattr(env, "state_space")


@pytest.mark.parametrize("value", ["yes", 2, None])
def test_whether_the_state_is_exposed_is_yes_or_no(value: Any) -> None:
    with pytest.raises(ValueError, match=r"expose_state: .* is refused; accepted: False, True"):
        cuckoo_v0.env(expose_state=value)


def test_env_refuses_the_state_before_reset() -> None:
    with pytest.raises(AssertionError, match="reset"):
        cuckoo_v0.env(expose_state=True).state()


@given(rules=tables(), seed=seeds())
@settings(max_examples=60, deadline=None)
def test_the_state_tells_all_cards_and_what_is_public(rules: Rules, seed: int) -> None:
    luck = random.Random(seed)
    game = Game(rules, seed)
    layout = Layout.of(rules, max_seats=rules.seats + luck.randrange(3), with_rules=True)
    full = StateLayout.of(rules, max_seats=layout.max_seats, with_rules=True)
    for _ in range(30):
        told = state.encode(game, layout)
        assert (told.shape, told.dtype) == ((full.size,), np.float32)
        g, seats = game._games[0], rules.seats
        beyond = [None] * (layout.max_seats - seats)
        known = full.view(told, "known")
        assert ranks(known) == [*map(rank_name, g["card"][:seats]), *beyond]
        over = game.seat is None
        assert ranks(full.view(told, "top")[None]) == [None if over else rank_name(g["top"])]
        lives = np.minimum(g["lives"][:seats] / rules.lives, 1)
        np.testing.assert_allclose(full.view(told, "lives")[:seats, 0], lives, rtol=1e-6)
        for name, seat in (("dealer", g["dealer"]), ("turn", g["turn"]), ("acts", g["seat"])):
            assert np.flatnonzero(full.view(told, name)).tolist() == ([seat] if seat >= 0 else [])
        public = {field.name for field in layout.fields() if not field.per_seat}
        seen, _ = game.observe(0, layout)
        for name in public:
            np.testing.assert_array_equal(full.view(told, name), layout.view(seen, name))
        if over:
            break
        game.act(luck.choice(game.legal_actions()))


def test_the_state_is_the_same_whoever_looks_and_changes_nothing() -> None:
    env, luck = cuckoo_v0.env("onesies,seats=4", expose_state=True), random.Random(3)
    env.reset(seed=3)
    while not any(env.terminations.values()):
        told = env.state()
        env.observe(luck.choice(env.agents))
        np.testing.assert_array_equal(told, env.state())
        told[:] = 7
        assert env.state().max() <= 1
        assert env.state_space.contains(env.state())
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(luck.choice(np.flatnonzero(mask).tolist()))


def test_a_scripted_deal_is_told_card_by_card() -> None:
    deal = ["2c", "9h", "Ks", "7d"]
    game = Game.from_position("cuckoo,seats=4", dealer=3, lives=[3] * 4, deal=deal, stock="Jd")
    full, told = StateLayout.of(game.rules), state.encode(game, Layout.of(game.rules))
    assert ranks(full.view(told, "known")) == ["two", "nine", "king", "seven"]
    assert ranks(full.view(told, "top")[None]) == [RANK_NAMES[rank_of(parse_card("Jd")) - 1]]


def test_the_layout_is_the_observations_and_the_top_of_the_stock() -> None:
    rules = Rules.parse("practice-table")
    full, seen = StateLayout.of(rules), Layout.of(rules)
    assert full.fields() == (*seen.fields(), TOP)
    assert TOP.name not in {field.name for field in FIELDS}
    assert full.slices == {**seen.slices, "top": slice(seen.size, seen.size + 13)}
    assert full.size == seen.size + 13
