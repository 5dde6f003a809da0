"""Rewards after every round."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from pettingzoo.classic import rps_v2
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils import wrappers
from strategies import seeds, tables

from cuckoo_env import cuckoo_v0
from cuckoo_env.rules import Rules
from cuckoo_env.shaping import lives_potential
from cuckoo_env.wrappers import PerRoundRewards

pytestmark = pytest.mark.filterwarnings(
    "ignore:Action mask numpy array is all zeros:UserWarning:pettingzoo.test.api_test"
)


def choose(env: Any, luck: random.Random) -> int | None:
    agent = env.agent_selection
    if env.terminations[agent] or env.truncations[agent]:
        return None
    return luck.choice(np.flatnonzero(env.observe(agent)["action_mask"]).tolist())


@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=4", "one-round,seats=3"])
@pytest.mark.parametrize("make", [cuckoo_v0.env, cuckoo_v0.raw_env])
def test_pettingzoos_tests_pass(rules: str, make: Any) -> None:
    api_test(PerRoundRewards(make(rules)), num_cycles=100)
    seed_test(lambda: PerRoundRewards(make(rules)), num_cycles=100)


@given(rules=tables(), seed=seeds())
@settings(max_examples=60, deadline=None)
def test_rewards_are_zero_sum_and_add_up_to_the_return(rules: Rules, seed: int) -> None:
    rules = rules.replace(max_rounds=rules.max_rounds or 40) if rules.game == "match" else rules
    env, plain = PerRoundRewards(cuckoo_v0.env(rules)), cuckoo_v0.env(rules)
    luck = random.Random(seed)
    env.reset(seed)
    plain.reset(seed)
    got, taken = dict.fromkeys(env.agents, 0.0), dict.fromkeys(env.agents, 0.0)
    rounds, size = 0, max(1.0, rules.stake)
    while env.agents:
        agent, action = env.agent_selection, choose(env, luck)
        taken[agent] += env.last()[1]
        env.step(action)
        plain.step(action)
        assert sum(env.rewards.values()) == pytest.approx(0, abs=1e-9 * size)
        if action is None or env.unwrapped.rounds == rounds:
            assert not any(env.rewards.values())
        for each, reward in env.rewards.items():
            got[each] += reward
        if action is not None and any(plain.terminations.values()) | any(
            plain.truncations.values()
        ):
            returns = dict(plain.rewards)
            assert got == pytest.approx(returns, abs=1e-9 * size)
        rounds = env.unwrapped.rounds
    assert taken == pytest.approx(returns, abs=1e-9 * size)


def test_a_round_gives_what_the_share_of_lives_has_changed() -> None:
    env = PerRoundRewards(cuckoo_v0.env("practice-table,stake=2"))
    env.reset(seed=4)
    before = env.unwrapped.lives
    for _ in range(3):
        assert set(env.rewards.values()) == {0}
        env.step(0)
    after = env.unwrapped.lives
    assert before == (3, 3, 3)
    assert sorted(after) == [2, 3, 3]
    # 3 seats, stake 2: a seat with 2 of 8 lives is worth 2 * (3 * 2/8 - 1).
    expected = [2 * (3 * lives / 8 - 1) for lives in after]
    assert list(env.rewards.values()) == pytest.approx(expected)
    assert env.last()[1] == pytest.approx(expected[env.possible_agents.index(env.agent_selection)])


def test_an_agents_rewards_are_those_since_its_last_action() -> None:
    """PettingZoo's convention: `last()` sums up what came in since the agent acted."""
    env, luck = PerRoundRewards(cuckoo_v0.env("standard,seats=4")), random.Random(3)
    env.reset(seed=3)
    since = dict.fromkeys(env.agents, 0.0)
    while env.agents:
        agent = env.agent_selection
        assert env.last()[1] == pytest.approx(since[agent])
        action = choose(env, luck)
        since[agent] = 0.0
        env.step(action)
        for each, reward in env.rewards.items():
            since[each] += reward


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_round_goes_on_as_the_original_does(twin_of: Any) -> None:
    env, luck = PerRoundRewards(cuckoo_v0.env("onesies,seats=4")), random.Random(3)
    env.reset(seed=3)
    for _ in range(13):
        env.step(choose(env, luck))
    twin = twin_of(env)
    other = random.Random()
    other.setstate(luck.getstate())
    for _ in range(1000):
        if not env.agents:
            env.reset()
            twin.reset()
        env.step(choose(env, luck))
        twin.step(choose(twin, other))
        assert (env.rewards, env._cumulative_rewards) == (twin.rewards, twin._cumulative_rewards)


def test_an_illegal_action_still_adds_up_to_what_the_environment_gives() -> None:
    env = PerRoundRewards(cuckoo_v0.env("practice-table", n_actions=5))
    env.reset(seed=4)
    got = dict.fromkeys(env.agents, 0.0)
    for action in (0, 0, 0, 0, 4):
        offender = env.agent_selection
        env.step(action)
        for agent, reward in env.rewards.items():
            got[agent] += reward
    assert env.unwrapped.rounds == 1
    assert got == pytest.approx({agent: -float(agent == offender) for agent in got})
    while env.agents:
        env.step(None)


def test_other_wrappers_may_lie_between() -> None:
    inner = wrappers.OrderEnforcingWrapper(cuckoo_v0.raw_env("practice-table"))
    env, direct = PerRoundRewards(inner), PerRoundRewards(cuckoo_v0.env("practice-table"))
    luck = random.Random(3)
    env.reset(seed=3)
    direct.reset(seed=3)
    while env.agents:
        action = choose(env, luck)
        env.step(action)
        direct.step(action)
        assert env.rewards == direct.rewards


def test_another_environment_is_refused() -> None:
    with pytest.raises(ValueError, match=r"env: .*rps_v2.* is refused; accepted: cuckoo_v0"):
        PerRoundRewards(rps_v2.env())


def test_the_potential_is_zero_for_equal_lives_and_sums_to_zero() -> None:
    assert lives_potential(np.array([4, 4, 4])).tolist() == [0, 0, 0]
    lives = np.random.default_rng(1).integers(0, 5, (100, 6)) + np.eye(6, dtype=int)[0]
    assert lives_potential(lives).sum(axis=-1) == pytest.approx(0)
    assert lives_potential(np.array([0, 2])).tolist() == [-1, 1]
    assert lives_potential(np.ones((2, 3), np.float32)).dtype == np.float32
