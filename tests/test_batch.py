"""Many games at once: equal to the single games, and what `step` does at the ends."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import strategies
from differential import random_rules
from hypothesis import given, settings
from hypothesis import strategies as st

from cuckoo_env import engine, seeding
from cuckoo_env.autoplay import OUTSIDE, PLAYER, RANDOM, THRESHOLD, choose_many, roll
from cuckoo_env.batch import (
    CUT_SHORT,
    ENDED,
    LEAVE,
    PLAYING,
    RESTART,
    Batch,
    everyone_outside,
    return_settles,
)
from cuckoo_env.observation import observe, sections_of
from cuckoo_env.rules import PRESETS, Rules, RulesError

Actions = npt.NDArray[np.int8]


def picks(batch: Batch, rng: np.random.Generator) -> Actions:
    """A uniformly random legal action in every game, LEAVE where a game stands still."""
    luck = rng.random(batch.masks.shape) * batch.masks
    return np.where(batch.seats >= 0, luck.argmax(axis=1), LEAVE).astype(np.int8)


def outputs(batch: Batch) -> list[npt.NDArray[Any]]:
    """Copies of everything a caller can see."""
    seen = (batch.observations, batch.masks, batch.seats, batch.done, batch.returns, batch.winners)
    return [array.copy() for array in seen]


def assert_same(one: list[npt.NDArray[Any]], other: list[npt.NDArray[Any]]) -> None:
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(ours, theirs)


class Single:
    """One game, played by the engine's single-game functions and the seed that the batch derives."""

    def __init__(self, batch: Batch, rules: Rules, seed: int) -> None:
        self.layout, self.rules = batch.layout, rules
        self.games = engine.new_games(1, max(rules.seats, 10), recording=True)
        self.games["rng"][0] = seeding.generator_for(seed, seeding.CARDS)
        self.compiled = engine.compile_rules(rules)
        self.sections = sections_of(self.layout, (rules,))
        engine.start(self.games, self.compiled, 0)

    def look(self) -> tuple[int, list[float], list[int]]:
        """The seat to act, what it observes, and its mask."""
        seat = int(self.games["seat"][0])
        observation = np.zeros((1, self.layout.size), np.float32)
        mask = np.zeros((1, self.layout.n_actions), np.int8)
        offsets = self.layout.offsets
        observe(self.games, self.compiled, offsets, self.sections, 0, seat, observation, mask)
        return seat, observation[0].tolist(), mask[0].tolist()

    def step(self, action: int) -> bool:
        """Take an action; where the game ends, start the next. Gives back whether it ended."""
        engine.step(self.games, self.compiled, 0, action)
        ended = int(self.games["seat"][0]) == engine.NOBODY
        if ended:
            self.payoffs = self.games["payoff"][0, : self.rules.seats].tolist()
            engine.start(self.games, self.compiled, 0)
        return ended


@settings(max_examples=60)
@given(
    rules=st.lists(strategies.tables(most_lives=2), min_size=1, max_size=4),
    seed=strategies.seeds(),
    with_rules=st.booleans(),
)
def test_a_game_of_a_batch_is_the_single_game_with_the_derived_seed(
    rules: list[Rules], seed: int, with_rules: bool
) -> None:
    batch = Batch(rules, games=6, seed=seed, with_rules=with_rules)
    singles = [
        Single(batch, rules[i % len(rules)], seeding.derive(seed, i)) for i in range(len(batch))
    ]
    rng = np.random.default_rng(seed)
    for _ in range(30):
        for i, single in enumerate(singles):
            seen = (int(batch.seats[i]), batch.observations[i].tolist(), batch.masks[i].tolist())
            assert seen == single.look()
        actions = picks(batch, rng)
        batch.step(actions)
        for i, single in enumerate(singles):
            ended = single.step(int(actions[i]))
            assert bool(batch.done[i]) == ended
            if ended:
                assert batch.returns[i, : single.rules.seats].tolist() == single.payoffs


def test_results_do_not_depend_on_the_number_of_games_or_of_threads() -> None:
    few, many = (Batch("queen-rule,seats=5", games=games, seed=3) for games in (10, 3000))
    for _ in range(40):
        actions = picks(many, np.random.default_rng(1))
        many.step(actions)
        few.step(actions[:10])
        assert_same(outputs(few), [array[:10] for array in outputs(many)])


def test_games_of_different_rules_and_sizes_share_a_batch() -> None:
    rules = ["le-her", "practice-table", "onesies,seats=6", "queen-rule,seats=10"]
    batch = Batch(rules, games=40, seed=5, with_rules=True)
    assert (batch.layout.max_seats, batch.layout.n_actions) == (10, 5)
    rng = np.random.default_rng(5)
    seats = np.array([batch.rules[i % 4].seats for i in range(40)])
    ended = np.zeros(40, bool)
    for _ in range(400):
        batch.step(picks(batch, rng))
        assert (batch.seats < seats).all()
        ended |= batch.done == ENDED
        beyond = np.arange(10) >= seats[:, None]
        assert not batch.returns[beyond].any()
        assert not batch.layout.view(batch.observations, "in_play")[..., 0][beyond].any()
    assert ended.all()


@pytest.mark.parametrize("name", PRESETS)
def test_returns_sum_to_zero_and_winners_take_the_most(name: str) -> None:
    batch = Batch(name, games=50, seed=1)
    rng = np.random.default_rng(1)
    ended = 0
    for _ in range(150):
        batch.step(picks(batch, rng))
        for i in np.flatnonzero(batch.done == ENDED):
            ended += 1
            returns, winners = batch.returns[i], batch.winners[i].astype(bool)
            assert returns.sum() == pytest.approx(0, abs=1e-9)
            if winners.any():
                assert returns[winners].min() > max(0, returns[~winners].max())
    assert ended > 20


def test_winners_of_a_single_round_are_the_seats_that_lost_nothing() -> None:
    batch = Batch("one-round", games=500, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(3):
        batch.step(picks(batch, rng))
    assert (batch.done == ENDED).all()
    np.testing.assert_array_equal(batch.winners == 1, batch.returns > 0)


# --------------------------------------------------------------------------------------
# What step accepts
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [2, 3, 4, -3, 100, -128])
def test_an_illegal_action_is_refused_and_nothing_moves(wrong: int) -> None:
    batch = Batch("practice-table", games=20, seed=2)
    before, record = outputs(batch), batch._games.tobytes()
    actions = np.zeros(20, np.int8)
    actions[7] = wrong
    message = rf"^actions: {wrong} is illegal in game 7; accepted: \[0, 1\]$"
    with pytest.raises(ValueError, match=message):
        batch.step(actions)
    assert_same(outputs(batch), before)
    assert batch._games.tobytes() == record


def test_a_legal_action_of_another_phase_is_refused() -> None:
    batch = Batch("onesies", games=5, seed=2)
    batch.step(np.full(5, engine.SWAP, np.int8))
    with pytest.raises(ValueError, match=r"^actions: 0 is illegal in game 0; accepted: \[2, "):
        batch.step(np.full(5, engine.KEEP, np.int8))


@pytest.mark.parametrize(
    "actions",
    [np.zeros(19, np.int8), np.zeros((20, 1), np.int8), np.zeros(20), np.zeros(20, bool), 0],
)
def test_actions_of_another_shape_or_type_are_refused(actions: Any) -> None:
    batch = Batch("practice-table", games=20, seed=2)
    with pytest.raises(ValueError, match=r"^actions: .* is refused; accepted: \(20,\) integers$"):
        batch.step(actions)


def test_any_integers_are_accepted() -> None:
    batches = [Batch("practice-table", games=20, seed=2) for _ in range(4)]
    for batch, kind in zip(batches, (np.int8, np.int32, np.int64, list), strict=True):
        zeros: Any = [0] * 20 if kind is list else np.zeros(20, kind)
        batch.step(zeros)
        assert_same(outputs(batch), outputs(batches[0]))


def test_leave_leaves_a_game_as_it_is() -> None:
    batch = Batch("practice-table", games=20, seed=2)
    before = outputs(batch)
    actions = np.full(20, LEAVE, np.int8)
    actions[3] = engine.KEEP
    batch.step(actions)
    after = outputs(batch)
    assert after[2][3] != before[2][3]
    assert_same([np.delete(array, 3, 0) for array in after], [np.delete(a, 3, 0) for a in before])


def test_restart_starts_the_next_game_of_the_games_own_chance() -> None:
    batch, other = (Batch("practice-table", games=20, seed=2) for _ in range(2))
    first = batch.observations.copy()
    batch.step(np.full(20, RESTART, np.int8))
    assert not batch.done.any()
    assert (batch.observations != first).any(axis=1).sum() > 10
    assert (batch.layout.view(batch.observations, "outcome") == 0).all()
    other.step(np.full(20, RESTART, np.int8))
    assert_same(outputs(batch), outputs(other))


def test_reset_starts_all_games_afresh() -> None:
    batch = Batch("practice-table", games=20, seed=2)
    first = outputs(batch)
    for _ in range(10):
        batch.step(picks(batch, np.random.default_rng(1)))
    batch.reset(2)
    assert_same(outputs(batch)[:4], first[:4])
    batch.reset(0)
    assert (batch.observations != first[0]).any()
    batch.reset()
    once = batch.observations.copy()
    batch.reset()
    assert (batch.observations != once).any()


# --------------------------------------------------------------------------------------
# Ends
# --------------------------------------------------------------------------------------


def test_with_renew_the_observation_after_an_end_is_the_new_games() -> None:
    batch = Batch("le-her", games=200, seed=4)
    rng = np.random.default_rng(4)
    ended = 0
    for _ in range(10):
        batch.step(picks(batch, rng))
        assert batch.masks.any(axis=1).all()
        fresh = batch.layout.view(batch.observations, "outcome")[batch.done == ENDED]
        ended += len(fresh)
        assert not fresh.any()
    assert ended > 500


def test_without_renew_a_game_that_is_over_stands_still() -> None:
    batch = Batch("le-her", games=200, seed=4, renew=False)
    rng = np.random.default_rng(4)
    while (batch.seats >= 0).any():
        batch.step(picks(batch, rng))
    assert not batch.masks.any()
    before = outputs(batch)
    with pytest.raises(ValueError, match=r"^actions: 0 is illegal in game 0; accepted: \[\]$"):
        batch.step(np.zeros(200, np.int8))
    batch.step(np.full(200, LEAVE, np.int8))
    assert_same(outputs(batch), before)
    batch.step(np.full(200, RESTART, np.int8))
    assert (batch.seats >= 0).all()
    assert (batch.done == PLAYING).all()


def test_a_truncated_game_is_told_apart() -> None:
    batch = Batch("practice-table,max_rounds=1,lives=1", games=300, seed=4)
    rng = np.random.default_rng(4)
    for _ in range(3):
        batch.step(picks(batch, rng))
    short = batch.done == CUT_SHORT
    assert 0 < short.sum() < 300
    assert (batch.done[~short] == ENDED).all()
    assert not batch.returns[short].any()
    assert not batch.winners[short].any()


def plan_for(seats: int, outside: list[int], kind: int = RANDOM) -> npt.NDArray[np.void]:
    plan = np.zeros((1, seats), PLAYER)
    plan["kind"] = kind
    plan["swaps"] = 0b11111110
    plan["kind"][0, outside] = OUTSIDE
    return plan


def test_only_outside_seats_are_asked_for_an_action() -> None:
    batch = Batch("onesies,seats=4", games=100, seed=4, plan=plan_for(4, [1, 3]))
    rng = np.random.default_rng(4)
    for _ in range(50):
        assert set(batch.seats.tolist()) <= {1, 3}
        batch.step(picks(batch, rng))


@pytest.mark.parametrize("kind", [RANDOM, THRESHOLD])
def test_bots_inside_play_as_they_do_from_outside(kind: int) -> None:
    rules, games = "jack-rule,seats=4,queen=redirects,max_rounds=6", 40
    inside = Batch(rules, games, seed=8, plan=plan_for(4, [0], kind))
    outside = Batch(rules, games, seed=8)
    player, everyone = plan_for(1, [], kind)[0], np.arange(games)
    dice = seeding.generator_words(seeding.derive_many(8, games), seeding.CHOICES)
    rng, luck = np.random.default_rng(8), np.zeros(games)
    chosen = np.zeros(games, np.int8)
    for _ in range(60):
        while (bots := outside.seats != 0).any():
            roll(dice, np.flatnonzero(bots), luck[: bots.sum()])
            rows = luck.copy()
            rows[bots] = luck[: bots.sum()]
            arguments = (outside.layout.offsets, outside.observations, outside.masks, rows, chosen)
            choose_many(player, everyone * 0, *arguments)
            outside.step(np.where(bots, chosen, LEAVE).astype(np.int8))
        np.testing.assert_array_equal(inside.observations, outside.observations)
        actions = picks(inside, rng)
        inside.step(actions)
        outside.step(actions)


def test_a_game_ends_once_its_learner_can_gain_or_lose_no_more() -> None:
    rules, plan = "chase-the-ace,seats=4,lives=1", plan_for(4, [2])
    early, late = (
        Batch(rules, games=300, seed=6, plan=plan, learners=learners, renew=False)
        for learners in (np.full(300, 2), None)
    )
    for batch in (early, late):
        rng = np.random.default_rng(6)
        while (batch.seats >= 0).any():
            luck = rng.random((300, 2)) * batch.masks
            batch.step(np.where(batch.seats >= 0, luck.argmax(axis=1), LEAVE).astype(np.int8))
    np.testing.assert_array_equal(early.returns[:, 2], late.returns[:, 2])
    given_up = np.isnan(early.returns).any(axis=1)
    assert 0 < given_up.sum() < 300
    assert (early.returns[given_up, 2] == -1).all()
    assert not early.winners[given_up].any()
    np.testing.assert_array_equal(early.winners[~given_up], late.winners[~given_up])


@pytest.mark.parametrize("rules", ["final_tie=carry", "final_tie=carry_stake", "max_rounds=9"])
def test_a_game_never_ends_early_while_the_learners_return_is_open(rules: str) -> None:
    text = f"chase-the-ace,seats=4,lives=1,{rules}"
    assert not return_settles(Rules.parse(text))
    batch = Batch(text, games=200, seed=6, plan=plan_for(4, [2]), learners=np.full(200, 2))
    rng = np.random.default_rng(6)
    for _ in range(20):
        batch.step(picks(batch, rng))
        assert np.isfinite(batch.returns).all()


def test_a_finished_games_return_is_not_overwritten_by_one_that_passes_the_learner_by() -> None:
    # Seat 1 often loses its turn, so that whole games pass without a decision of its own.
    rules, plan = "alternate-exchange,lives=1", plan_for(3, [1])
    waits = Batch(rules, games=500, seed=1, plan=plan, renew=False)
    renews = Batch(rules, games=500, seed=1, plan=plan)
    both = waits.seats >= 0
    actions = np.where(both, picks(renews, np.random.default_rng(1)), LEAVE)
    waits.step(actions)
    renews.step(actions)
    assert (waits.done[both] == ENDED).sum() > 100
    np.testing.assert_array_equal(waits.done[both], renews.done[both])
    np.testing.assert_array_equal(waits.returns[both], renews.returns[both])


# --------------------------------------------------------------------------------------
# What can go wrong around it
# --------------------------------------------------------------------------------------


def test_the_table_of_rules_has_the_engines_own_record_type() -> None:
    # An equal type that is another object slows every compiled call of the process down.
    assert Batch(["le-her", "onesies"], games=2)._table.dtype is engine.RULES


def test_a_game_at_ten_seats_takes_at_most_two_kilobytes() -> None:
    batch = Batch("cuckoo,seats=10", games=100, seed=1)
    arrays = [batch._games, batch._plan_of, batch._learners, batch._dice, *outputs(batch)]
    assert sum(array.nbytes for array in arrays) / 100 <= 2048


def test_global_generators_are_neither_read_nor_touched() -> None:
    def play() -> list[npt.NDArray[Any]]:
        batch = Batch("onesies,seats=5", games=50, seed=9, plan=plan_for(5, [0]))
        for _ in range(20):
            batch.step(picks(batch, np.random.default_rng(1)))
        return outputs(batch)

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 – the very generator that must not be touched
    before = random.getstate(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    first = play()
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # type: ignore[index]  # noqa: NPY002
    random.seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert_same(play(), first)


def test_two_batches_do_not_disturb_each_other() -> None:
    def play(batch: Batch, steps: int) -> None:
        for step in range(steps):
            batch.step(picks(batch, np.random.default_rng(step)))

    alone = Batch("queen-rule,seats=4", games=30, seed=1)
    play(alone, 30)
    one, other = Batch("queen-rule,seats=4", games=30, seed=1), Batch("onesies", games=30, seed=2)
    for step in range(30):
        one.step(picks(one, np.random.default_rng(step)))
        other.step(picks(other, np.random.default_rng(step)))
    assert_same(outputs(one), outputs(alone))


def test_a_copy_goes_on_in_the_same_way() -> None:
    batch = Batch("onesies,seats=4", games=30, seed=1, plan=plan_for(4, [0, 2]))
    for step in range(7):
        batch.step(picks(batch, np.random.default_rng(step)))
    twin = copy.deepcopy(batch)
    for step in range(100):
        for each in (batch, twin):
            each.step(picks(each, np.random.default_rng(step)))
        assert_same(outputs(batch), outputs(twin))


@pytest.mark.parametrize("most_seats", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_random_rules_of_many_sizes_play_for_long(most_seats: int) -> None:
    rng = random.Random(1)
    rules = [each for _ in range(200) if (each := random_rules(rng)).seats <= most_seats][:120]
    batch = Batch(rules, games=480, seed=1, with_rules=True)
    picker = np.random.default_rng(1)
    for _ in range(300):
        batch.step(picks(batch, picker))
        assert batch.masks.any(axis=1).all()
        assert batch.observations.min() >= 0
        assert batch.observations.max() <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"games": 0}, "^games: 0 is refused; accepted: a whole number from 1$"),
        ({"games": -1}, "^games: -1 is refused"),
        ({"games": 2, "rules": []}, r"^rules: \[\] is refused; accepted: at least one rule set$"),
        ({"games": 2, "rules": "poker"}, "^rules: poker is refused"),
        (
            {"games": 2, "seed": -1},
            "^seed: -1 is refused; accepted: a whole number from 0, or None$",
        ),
        ({"games": 2, "seed": 1.5}, "^seed: 1.5 is refused"),
        ({"games": 2, "max_seats": 2}, "^max_seats: 2 is refused; accepted: 3 or more$"),
        ({"games": 2, "n_actions": 3}, "^n_actions: 3 is refused; accepted: 2 or 5$"),
        ({"games": 2, "plan": everyone_outside(2)}, "^plan: 1 rows of 2 seats do not fit"),
        ({"games": 2, "plan_of": np.array([0, 1])}, "^plan: 1 rows of 3 seats do not fit"),
        ({"games": 2, "plan_of": np.array([0])}, "^plan: 1 rows of 3 seats do not fit"),
        (
            {"games": 2, "plan": plan_for(3, [])},
            "^plan: every game needs a seat that is played from",
        ),
    ],
)
def test_a_batch_that_cannot_be_played_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        Batch(**{"rules": "practice-table", **arguments})
    assert isinstance(refused.value, RulesError | ValueError)
