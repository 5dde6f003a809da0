"""The one-learner environments: against a slow loop, against Gymnasium's own vector env, and each promise."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import strategies
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from cuckoo_env import seeding
from cuckoo_env.agents import parse, sample
from cuckoo_env.autoplay import roll
from cuckoo_env.batch import CUT_SHORT, LEAVE, RESTART, Batch, return_settles
from cuckoo_env.engine import NOBODY
from cuckoo_env.game import Game
from cuckoo_env.observation import observe, sections_of
from cuckoo_env.registration import make_solo, make_vector
from cuckoo_env.rules import PRESETS, Rules
from cuckoo_env.solo import CuckooEnv
from cuckoo_env.vector import CuckooVectorEnv

ENV = "cuckoo_env/Cuckoo-v0"
TABLES = (
    "practice-table",
    "onesies",
    "full-rotation,seats=4",
    # One life, and turns that are lost: games begin and end without a decision of the learner.
    "alternate-exchange,lives=1",
    # Returns that are not settled when the learner is out.
    "chase-the-ace,lives=1,final_tie=carry_stake,stake=2.5",
    "open-kings,lives=1,max_rounds=2,direction=right",
    "one-round,seats=2",
)
BOTS = ("random", "robin", "threshold:9", "alex", "naive")


class Outside:
    """A bot that is asked through the batch, not played in the compiled loop."""

    def __init__(self, bot):
        self.name, self.bot = bot.name, bot

    def probabilities(self, observations, masks, layout):
        return self.bot.probabilities(observations, masks, layout)

    def player(self):
        return None


def bots(rules, *, outside=False):
    made = [parse(BOTS[k % len(BOTS)], rules) for k in range(rules.seats - 1)]
    # One agent that is no data is enough for all to be asked outside.
    return [Outside(made[0]), *made[1:]] if outside else made


def pick(observations, masks):
    """A deterministic way to play that looks at everything; rows without a legal action get 0."""
    weights = np.sin(np.arange(1, observations.shape[-1] + 1))
    score = np.sin(37 * (observations @ weights)[..., None] + np.arange(masks.shape[-1]))
    return np.where(masks, score, -2).argmax(axis=-1)


class SlowGame:
    """Game ``i`` of a batch seeded with ``seed``, every seat asked in turn, one action at a time."""

    def __init__(self, rules, opponents, learner, seed, i):
        self.rules, self.learner, self.i = rules, learner, i
        self.players = [*opponents[:learner], None, *opponents[learner:]]
        self.batch = Batch(rules, i + 1, seed=seed, renew=False)
        self.dice = seeding.generator_words(seeding.derive_many(seed, i + 1), seeding.CHOICES)

    def move(self, action):
        actions = np.full(len(self.batch), LEAVE)
        actions[self.i] = action
        self.batch.step(actions)

    def is_out_for_good(self):
        lives = self.batch._games["lives"][self.i, self.learner]
        return lives == 0 and return_settles(self.rules)

    def play_on(self):
        """Until the learner is to decide, or the end: whether it is the end."""
        while not ((seat := self.batch.seats[self.i]) == NOBODY or self.is_out_for_good()):
            if seat == self.learner:
                return False
            luck, row = np.empty(1), slice(self.i, self.i + 1)
            roll(self.dice, np.array([self.i]), luck)
            seen = self.batch.observations[row], self.batch.masks[row]
            self.move(sample(self.players[seat].probabilities(*seen, self.batch.layout), luck)[0])
        return True

    def start(self):
        while self.play_on():
            self.move(RESTART)

    def seen(self):
        layout = self.batch.layout
        observation = np.empty((1, layout.size), np.float32)
        mask = np.zeros((1, layout.n_actions), np.int8)
        sections = sections_of(layout, (self.rules,))
        where = self.batch._games, self.batch._table, layout.offsets, sections
        observe(*where, self.i, self.learner, observation, mask)
        return observation[0], mask[0]

    def episodes(self) -> Iterator[tuple[Any, ...]]:
        """Observation, mask, reward, terminated and truncated of every step, resets included."""
        while True:
            self.start()
            yield *self.seen(), 0.0, False, False
            while True:
                self.move(pick(*self.seen()))
                if self.play_on():
                    break
                yield *self.seen(), 0.0, False, False
            i, stakes = self.i, self.rules.stake * self.batch._games["staked"][self.i, self.learner]
            ended = self.batch.seats[i] == NOBODY
            payout = self.batch.returns[i, self.learner] if ended else -stakes
            cut = bool(ended and self.batch.done[i] == CUT_SHORT)
            yield self.seen()[0], np.zeros_like(self.seen()[1]), payout, not cut, cut
            self.move(RESTART)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.tables(), st.integers(0, 9) | st.just("all"), st.booleans(), strategies.seeds())
@example(Rules.parse(TABLES[3]), 0, False, 1)
@example(Rules.parse(TABLES[4]), "all", True, 2)
@example(Rules.parse(TABLES[5]), "all", True, 3)
@example(Rules.parse(TABLES[1]), "all", False, 4)
def test_every_game_is_what_a_slow_loop_plays(rules, seat, outside, seed):
    seat = seat if seat == "all" else seat % rules.seats
    opponents, games = bots(rules, outside=outside), 3
    try:
        envs = CuckooVectorEnv(games, rules, opponents, seat)
        observations, infos = envs.reset(seed=seed)
    except ValueError as refusal:
        if "gets to decide" not in str(refusal):
            raise
        assume(False)
    rewards, terminations, truncations = np.zeros(games), np.zeros(games), np.zeros(games)
    slow = [
        SlowGame(rules, opponents, int(envs.seats[i]), seed, i).episodes() for i in range(games)
    ]
    for _ in range(15):
        assert envs.observation_space.contains(observations)
        for i in range(games):
            seen, mask, reward, terminated, truncated = next(slow[i])
            np.testing.assert_array_equal(observations[i], seen)
            np.testing.assert_array_equal(infos["action_mask"][i], mask | (terminated or truncated))
            assert (rewards[i], terminations[i], truncations[i]) == (reward, terminated, truncated)
        actions = pick(observations, infos["action_mask"])
        observations, rewards, terminations, truncations, infos = envs.step(actions)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("rules", TABLES)
def test_it_is_gymnasiums_own_vector_env_of_single_ones(rules, mode, outside):
    rules, games, seed = Rules.parse(rules), 4, 5
    opponents = bots(rules, outside=outside)
    ours = CuckooVectorEnv(games, rules, opponents, 1, autoreset_mode=mode)
    theirs = SyncVectorEnv(
        [lambda: CuckooEnv(rules, opponents, 1)] * games, autoreset_mode=mode, copy=True
    )
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is mode
    for name in ("observation", "action", "single_observation", "single_action"):
        assert getattr(ours, f"{name}_space") == getattr(theirs, f"{name}_space")
    derived = [seeding.derive(seed, i) for i in range(games)]
    here, there = ours.reset(seed=seed), theirs.reset(seed=derived)
    ended = 0
    for _ in range(60):
        masks = here[-1]["action_mask"]
        if mode is AutoresetMode.NEXT_STEP and len(here) > 2:
            over = here[2] | here[3]
            assert masks[over].all()
            masks[over] = 0  # Gymnasium knows nothing of masks
        assert data_equivalence(here, there, exact=True)
        assert [type(each) for each in here] == [type(each) for each in there]
        if len(here) > 2:
            assert [each.dtype for each in here[:4]] == [each.dtype for each in there[:4]]
            over = here[2] | here[3]
            ended += over.sum()
            if mode is AutoresetMode.DISABLED and over.any():
                here = ours.reset(options={"reset_mask": over})
                there = theirs.reset(options={"reset_mask": over})
                np.testing.assert_array_equal(here[0], there[0])
                np.testing.assert_array_equal(
                    here[1]["action_mask"][over], there[1]["action_mask"][over]
                )
        actions = pick(here[0], here[-1]["action_mask"])
        here, there = ours.step(actions), theirs.step(actions)
    assert ended > 0


@pytest.mark.parametrize("rules", TABLES)
def test_agents_asked_outside_play_as_in_the_compiled_loop(rules):
    rules = Rules.parse(rules)
    inside, outside = (
        CuckooVectorEnv(24, rules, bots(rules, outside=asked), "all", autoreset_mode="SameStep")
        for asked in (False, True)
    )
    here, there = inside.reset(seed=3), outside.reset(seed=3)
    for _ in range(60):
        assert data_equivalence(here, there, exact=True)
        actions = pick(here[0], here[-1]["action_mask"])
        here, there = inside.step(actions), outside.step(actions)


@pytest.mark.parametrize("rules", ["practice-table", "cuckoo,seats=7,ace=high"])
def test_the_checkers_have_nothing_to_say(rules):
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    env = gymnasium.make(ENV, rules=rules)
    check_env(env.unwrapped)
    sb3_check_env(env.unwrapped)


@pytest.mark.parametrize(
    "statements",
    [
        "import cuckoo_env; import gymnasium",
        "import gymnasium; import cuckoo_env",
        "import gymnasium.envs.registration; import cuckoo_env",
        "import cuckoo_env; assert 'gymnasium' not in sys.modules; import gymnasium",
        "import cuckoo_env.cli; assert 'gymnasium' not in sys.modules; import gymnasium",
        "import gymnasium, importlib, cuckoo_env; importlib.reload(cuckoo_env)",
    ],
)
def test_gymnasium_knows_it_once_both_are_imported_in_any_order(statements):
    check = (
        f"env = gymnasium.make({ENV!r}, rules='standard,seats=4', opponents='robin,alex', seat=3);"
        f"envs = gymnasium.make_vec({ENV!r}, num_envs=3, seat='all');"
        "print(type(env.unwrapped).__name__, type(envs).__name__, envs.seats.tolist())"
    )
    code = f"import sys; {statements}; {check}"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "CuckooEnv CuckooVectorEnv [0, 1, 2]", run.stderr
    # What is told here is at most that the game is compiled on this machine for the first time.
    assert "Warn" not in run.stderr


def test_gymnasium_imports_the_package_that_an_id_names():
    code = f"import gymnasium; print(gymnasium.make('cuckoo_env:{ENV}').spec.id)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ENV


def test_all_of_gymnasiums_vectorization_modes_play_the_same_games():
    games, seeds = 2, [3, 2**70]
    modes = {
        mode: gymnasium.make_vec(ENV, num_envs=games, vectorization_mode=mode, rules="onesies")
        for mode in ("sync", "vector_entry_point", None)
    }
    assert type(modes["sync"].unwrapped) is SyncVectorEnv
    assert type(modes[None].unwrapped) is CuckooVectorEnv
    seen = {mode: envs.reset(seed=seeds) for mode, envs in modes.items()}
    for _ in range(30):
        actions = pick(seen[None][0], seen[None][-1]["action_mask"])
        for mode in modes:
            np.testing.assert_array_equal(seen[mode][0], seen[None][0])
        seen = {mode: envs.step(actions) for mode, envs in modes.items()}


def test_the_spec_makes_the_same_environment_again():
    env = gymnasium.make(ENV, rules="onesies,seats=4", opponents=("naive",), seat=2)
    again = gymnasium.make(pickle.loads(pickle.dumps(env.spec)))
    assert (again.unwrapped.rules, again.unwrapped.seat) == (Rules.parse("onesies,seats=4"), 2)
    assert data_equivalence(env.reset(seed=4), again.reset(seed=4), exact=True)


def play(env, seen, steps):
    """Play so many steps, resets included, and return all there was to see."""
    story = []
    for _ in range(steps):
        seen = env.step(pick(seen[0], seen[-1]["action_mask"]))
        story.append(seen)
        if seen[2] or seen[3]:
            seen = env.reset()
            story.append(seen)
    return story


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("outside", [False, True])
def test_a_copy_in_mid_round_goes_on_as_the_original_does(twin_of, outside):
    rules = Rules.parse("onesies,swapped_turn=lost")
    env = gymnasium.make(ENV, rules=rules, opponents=bots(rules, outside=outside), seat=1)
    seen = env.reset(seed=8)
    for _ in range(5):
        seen = env.step(pick(seen[0], seen[-1]["action_mask"]))
    twin = twin_of(env)
    assert data_equivalence(play(env, seen, 1000), play(twin, seen, 1000), exact=True)


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_of_a_vector_env_goes_on_as_the_original_does(twin_of):
    envs = make_vector(5, "alternate-exchange,lives=1", seat="all")
    seen = envs.reset(seed=8)
    for _ in range(4):
        seen = envs.step(pick(seen[0], seen[-1]["action_mask"]))
    twin = twin_of(envs)
    other = seen
    for _ in range(200):
        seen = envs.step(pick(seen[0], seen[-1]["action_mask"]))
        other = twin.step(pick(other[0], other[-1]["action_mask"]))
        assert data_equivalence(seen, other, exact=True)


def test_a_seed_starts_the_game_that_a_single_game_has():
    """At the practice table the learner acts first: it sees what the single game shows it."""
    rules = Rules.parse("practice-table")
    env = make_solo(rules)
    for seed in (0, 1, 2**63, 2**64 + 3, np.int64(7)):
        game = Game(rules, seed=int(seed))
        observation, info = env.reset(seed=seed)
        assert game.seat == env.seat
        expected, mask = game.observe(env.seat)
        np.testing.assert_array_equal(observation, expected)
        np.testing.assert_array_equal(info["action_mask"], mask)


def test_a_reset_without_a_seed_goes_on_and_one_with_a_seed_begins_again():
    env, other = make_solo(), make_solo()
    first, second = env.reset(seed=0)[0], env.reset()[0]
    np.testing.assert_array_equal(other.reset(seed=0)[0], first)
    np.testing.assert_array_equal(other.reset()[0], second)
    assert not np.array_equal(first, second)
    hands = {make_solo().reset()[0].tobytes() for _ in range(12)}
    assert len(hands) > 1  # without any seed it is chance


def test_a_list_of_seeds_is_one_for_each_and_none_goes_on():
    envs, solo = make_vector(3), make_solo()
    envs.reset(seed=1)
    going_on = copy.deepcopy(envs).reset()[0]
    seen = envs.reset(seed=[5, None, 2**80])[0]
    np.testing.assert_array_equal(seen[0], solo.reset(seed=5)[0])
    np.testing.assert_array_equal(seen[1], going_on[1])
    np.testing.assert_array_equal(seen[2], solo.reset(seed=2**80)[0])


def test_a_masked_reset_touches_only_what_it_names():
    envs = make_vector(4, "standard,seats=5", autoreset_mode=AutoresetMode.DISABLED)
    seen = envs.reset(seed=1)
    kept, options = envs.step(np.zeros(4, int))[0], {"reset_mask": np.array([1, 0, 0, 1], bool)}
    observations, infos = envs.reset(seed=9, options=options)
    assert list(options) == ["reset_mask"]
    fresh = make_vector(4, "standard,seats=5").reset(seed=9)[0]
    np.testing.assert_array_equal(observations[1:3], kept[1:3])
    np.testing.assert_array_equal(observations[[0, 3]], fresh[[0, 3]])
    assert (
        infos["action_mask"].all() == infos["_action_mask"].all() == seen[1]["_action_mask"].all()
    )


def test_without_autoreset_an_ended_game_is_reset_before_it_is_stepped():
    envs = make_vector(2, "one-round", autoreset_mode="Disabled")
    envs.reset(seed=1)
    _, _, terminations, _, infos = envs.step([0, 0])
    assert terminations.all()
    assert not infos["action_mask"].any()
    assert not envs.action_masks().any()
    with pytest.raises(gymnasium.error.ResetNeeded, match="environment 0 has ended"):
        envs.step([0, 0])


def test_steps_before_the_first_reset_and_after_the_end_are_refused():
    env, envs = make_solo("one-round"), make_vector(2)
    for each in (env, envs):
        with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
            each.step(np.zeros(2, int) if each is envs else 0)
    env.reset(seed=1)
    assert env.step(0)[2]
    assert not env.action_masks().any()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("rules", ["pairs-safe,lives=9,max_rounds=1", "standard,max_rounds=3"])
def test_a_game_that_is_cut_short_is_truncated_and_no_other_is(rules):
    envs = make_vector(64, rules, seat="all", autoreset_mode="SameStep")
    seen, _ = envs.reset(seed=2)
    left = envs.layout.slices["rounds_left"]
    cut = ended = 0
    for _ in range(40):
        seen, rewards, terminations, truncations, infos = envs.step(pick(seen, envs.action_masks()))
        assert not (terminations & truncations).any()
        assert not rewards[~terminations].any()
        for i in np.flatnonzero(truncations):
            assert infos["final_obs"][i][left] == 0
        cut, ended = cut + truncations.sum(), ended + terminations.sum()
    assert cut > 0
    assert ended > 0 or envs.rules.lives == 9


@pytest.mark.parametrize("carry", ["carry", "carry_stake"])
def test_an_episode_is_not_over_while_its_learner_may_come_back(carry):
    """Out of a carried game, the learner waits; what it takes in the end is its whole return."""
    rules = Rules.parse(f"chase-the-ace,lives=1,final_tie={carry}")
    envs = make_vector(256, rules, ("random",), autoreset_mode="SameStep")
    seen, _ = envs.reset(seed=2)
    payouts = []
    for _ in range(60):
        seen, rewards, terminations, _, _ = envs.step(pick(seen, envs.action_masks()))
        payouts.extend(rewards[terminations])
    # One of three wins the pot; with new stakes for every carried game it may hold more.
    assert set(payouts) >= {-1.0, 2.0}
    assert (max(payouts) > 2) == (carry == "carry_stake")
    assert (min(payouts) < -1) == (carry == "carry_stake")


@pytest.mark.parametrize("name", PRESETS)
def test_the_spaces_hold_whatever_is_seen(name):
    envs = make_vector(32, name, ("random",), seat="all", max_seats=6, with_rules=True, n_actions=5)
    space, single = envs.observation_space, envs.single_observation_space
    assert (envs.layout.max_seats, envs.layout.n_actions) == (6, 5)
    seen = envs.reset(seed=1)
    for _ in range(40):
        assert space.contains(seen[0])
        assert single.contains(seen[0][0])
        assert seen[0].dtype == np.float32
        assert seen[-1]["action_mask"].dtype == np.int8
        assert seen[-1]["action_mask"].any(axis=1).all()
        seen = envs.step(pick(seen[0], seen[-1]["action_mask"]))
    assert envs.observation_space is space
    assert envs.action_space is envs.action_space


def test_the_global_generators_are_neither_read_nor_touched():
    def outcome():
        env, envs = make_solo("onesies"), make_vector(4, opponents="random", rules="onesies")
        env.reset(seed=3), envs.reset(seed=3)
        story = play(env, env.reset(), 50)
        seen = envs.reset()
        for _ in range(20):
            seen = envs.step(pick(seen[0], seen[-1]["action_mask"]))
        return story, seen

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the very generator that must stay as it is
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    first = outcome()
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == before  # noqa: NPY002
    random.seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert data_equivalence(first, outcome(), exact=True)


def test_interleaved_environments_do_not_disturb_each_other():
    alone = make_solo("onesies")
    expected = play(alone, alone.reset(seed=6), 100)
    env, other = make_solo("onesies"), make_solo("onesies", opponents="random")
    seen, story = env.reset(seed=6), []
    other_seen = other.reset(seed=1)
    while len(story) < len(expected):
        story.extend(play(env, seen, 1))
        seen = story[-1]
        other_seen = play(other, other_seen, 1)[-1]
    assert data_equivalence(story[: len(expected)], expected, exact=True)


@pytest.mark.parametrize("action", [0, np.int32(0), np.int64(0), np.array(0), True])
def test_whole_numbers_of_any_type_are_actions(action):
    env = make_solo()
    env.reset(seed=1)
    env.step(action)


@pytest.mark.parametrize("action", [2, -1, RESTART, 5, 1.0, "keep", None, np.array([0]), 256])
def test_an_illegal_action_is_refused_with_the_legal_ones_and_nothing_has_changed(action):
    env = make_solo()
    observation, _ = env.reset(seed=1)
    with pytest.raises(ValueError, match=r"seat 0 may not .*; legal: 0 \(keep\), 1 \(swap\)"):
        env.step(action)
    twin = make_solo()
    twin.reset(seed=1)
    assert data_equivalence(env.step(1), twin.step(1), exact=True)
    assert not np.array_equal(observation, env.reset()[0])


@pytest.mark.parametrize("action", [2, -1, RESTART, 256])
def test_an_illegal_action_in_many_games_is_refused_and_no_game_has_moved(action):
    envs, twin = make_vector(3), make_vector(3)
    envs.reset(seed=1), twin.reset(seed=1)
    with pytest.raises(ValueError, match=rf"{action} is illegal in game 2; accepted: \[0, 1\]"):
        envs.step(np.array([0, 1, action]))
    assert data_equivalence(envs.step(np.ones(3, int)), twin.step(np.ones(3, np.int8)), exact=True)
    for actions in (np.zeros(2, int), np.zeros(3), np.zeros((3, 1), int)):
        with pytest.raises(ValueError, match=r"actions: .* is refused; accepted: \(3,\) integers"):
            envs.step(actions)


def test_what_a_step_returns_is_overwritten_by_the_next_only_without_copies():
    for copied in (True, False):
        envs = make_vector(3, copy=copied)
        seen, infos = envs.reset(seed=1)
        kept, masks = seen.copy(), infos["action_mask"].copy()
        following = envs.step(np.ones(3, int))[0]
        assert np.shares_memory(seen, following) != copied
        assert np.array_equal(seen, kept) == copied
        np.testing.assert_array_equal(infos["action_mask"], masks)


def test_returns_add_up_in_gymnasiums_own_statistics():
    envs = RecordEpisodeStatistics(make_vector(16, "standard"))
    seen, infos = envs.reset(seed=1)
    total = games = 0
    for _ in range(200):
        seen, rewards, terminations, _, infos = envs.step(pick(seen, infos["action_mask"]))
        total, games = total + rewards.sum(), games + terminations.sum()
    assert envs.episode_count == games > 100
    assert set(envs.return_queue) == {-1.0, 2.0}
    assert total != 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"opponents": ("robin",) * 3}, "opponents: 3 are refused; accepted: 1 to 2"),
        ({"opponents": ()}, "opponents: 0 are refused; accepted: 1 to 2"),
        ({"opponents": "robyn"}, "agent: 'robyn' is refused; accepted: random"),
        ({"opponents": (7,)}, "opponents: 7 is refused; accepted: agents"),
        ({"seat": 3}, "seat: 3 is refused; accepted: 0 to 2"),
        ({"rules": "cukoo"}, "rules: cukoo is refused"),
        ({"max_seats": 2}, "max_seats: 2 is refused; accepted: 3 or more"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, message):
    for make in (make_solo, make_vector):
        with pytest.raises(ValueError, match=message):
            make(**arguments)


def test_what_else_cannot_be_used_is_refused():
    rules = Rules.parse("practice-table")
    with pytest.raises(ValueError, match="opponents: 1 are refused; accepted: 2 agents"):
        CuckooEnv(rules, bots(rules)[:1])
    with pytest.raises(ValueError, match="opponents: 'robin' is refused; accepted: agents"):
        CuckooVectorEnv(2, rules, ("robin", "alex"))
    with pytest.raises(ValueError, match="seat: all is refused; accepted: 0 to 2"):
        make_solo(seat="all")
    with pytest.raises(ValueError, match="'Never' is not a valid AutoresetMode"):
        make_vector(2, autoreset_mode="Never")
    with pytest.raises(ValueError, match="games: 0 is refused"):
        make_vector(0)
    env, envs = make_solo(), make_vector(2)
    for seed in (-1, 1.5, "1", True):
        for each in (env, envs):
            with pytest.raises(ValueError, match=r"seed: .* is refused; accepted: a whole number"):
                each.reset(seed=seed)
    with pytest.raises(ValueError, match="seed: 3 are refused; accepted: 2, or one for all"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="reset_mask: refused before the first reset"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    for mask in (np.zeros(2, bool), np.ones(3, bool), np.ones(2, int)):
        with pytest.raises(ValueError, match=r"reset_mask: .* is refused; accepted: .* bool"):
            envs.reset(options={"reset_mask": mask})


def test_a_seat_that_never_decides_is_refused_instead_of_waiting_forever():
    """The dealer of two is always made to swap before its turn, which it loses by that."""
    rules = (
        "alternate-exchange,seats=2,lives=1,king=plain,final_tie=joint,first_dealer=1,game=round"
    )
    with pytest.raises(
        ValueError, match="seat: 1 is refused; accepted: a seat that gets to decide"
    ):
        make_solo(rules, "threshold:13", seat=1)
    make_solo(rules, "threshold:12", seat=1).reset(seed=1)


@pytest.mark.parametrize("steps", [2_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_maskable_ppo_learns_without_an_illegal_action(steps):
    pytest.importorskip("sb3_contrib")
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env(ENV, 4, seed=1, env_kwargs={"rules": "onesies"})
    watch = MaskableEvalCallback(
        make_vec_env(ENV, 1, seed=2, env_kwargs={"rules": "onesies"}),
        eval_freq=steps // 8, n_eval_episodes=5, verbose=0,
    )  # fmt: skip
    model = MaskablePPO("MlpPolicy", envs, n_steps=128, n_epochs=2, seed=1, device="cpu")
    model.learn(steps, callback=watch)
    assert np.isfinite(watch.last_mean_reward)  # before the first evaluation it is not
    seen = envs.reset()
    masks = np.stack(envs.env_method("action_masks"))
    distribution = model.policy.get_distribution(torch.as_tensor(seen), action_masks=masks)
    logits = distribution.distribution.logits
    assert torch.isfinite(logits[torch.as_tensor(masks)]).all()
