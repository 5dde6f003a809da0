"""What users of other environments complain of, one test each, where no other file has it."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from pettingzoo.utils.conversions import aec_to_parallel, turn_based_aec_to_parallel
from pettingzoo.utils.env_logger import EnvLogger

from cuckoo_env import cuckoo_v0
from cuckoo_env.agents import parse
from cuckoo_env.cards import RANKS, SUITS
from cuckoo_env.game import Game
from cuckoo_env.observation import Layout
from cuckoo_env.rules import PRESETS, Rules

ENV = "cuckoo_env/Cuckoo-v0"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PettingZoo's logger keeps what it says in a list, and prints it."""
    EnvLogger.suppress_output()
    yield
    EnvLogger.unsuppress_output()


def choose(mask: npt.NDArray[np.int8], luck: random.Random) -> int:
    return int(luck.choice(np.flatnonzero(mask).tolist()))


# ---- "Cards are dealt after the game has ended."


@pytest.mark.parametrize("name", list(PRESETS))
def test_after_the_last_reveal_nothing_is_dealt(name: str) -> None:
    env = cuckoo_v0.env(f"{name},max_rounds=30" if name != "one-round" else name)
    for seed in range(10):
        luck = random.Random(seed)
        env.reset(seed)
        while not (any(env.terminations.values()) or any(env.truncations.values())):
            env.step(choose(env.last()[0]["action_mask"], luck))
        story = [event["event"] for event in env.infos[env.agents[0]]["events"]]
        last = len(story) - story[::-1].index("revealed")
        assert not {"round", "dealt", "drew", "stock_showed"} & set(story[last:])
        dealt = {agent: env.observe(agent)["observation"].tolist() for agent in env.agents}
        while env.agents:
            assert {agent: dealt[agent] for agent in env.agents} == {
                agent: env.observe(agent)["observation"].tolist() for agent in env.agents
            }
            env.step(None)


# ---- "The bots remember cards of the last deal."


def rounds_without_loss(rules: Rules) -> Iterator[Game]:
    """Games that have played a first round, in many ways, in which nobody lost a life.

    All cards are of one rank: pairs are safe, so nobody loses, whatever is swapped or drawn.
    """
    for rank in RANKS:
        deal = [rank + suit for suit in SUITS]
        for seed in range(6):
            luck = random.Random(seed)
            start = {"dealer": 2, "lives": [3, 2, 3], "deal": deal[:3], "stock": deal[3]}
            game = Game.from_position(rules, **start, seed=seed)
            game.follow(NEXT)
            while game.dealer == 2:
                game.act(luck.choice(game.legal_actions()))
            assert game.lives == (3, 2, 3)
            yield game


NEXT = ["2c", "9h", "Kd", "5s"]


@pytest.mark.parametrize("text", ["practice-table,pairs=safe", "queen-rule,seats=3,pairs=safe"])
def test_the_same_deal_after_any_history_gets_the_same_actions(text: str) -> None:
    rules = Rules.parse(text)
    layout = Layout.of(rules)
    bots = [parse(spec, rules) for spec in ("robin", "alex", "naive", "random", "threshold:9")]
    fresh: dict[tuple[str, ...], Any] = {}

    def asked(game: Game, moves: tuple[str, ...]) -> Any:
        """What every seat sees after these moves, and what every bot would do."""
        twin = game.copy()
        for move in moves:
            twin.act(move)
        seen = [twin.observe(seat, layout) for seat in range(rules.seats)]
        mine, mask = seen[twin.seat or 0]
        chances = [bot.probabilities(mine[None], mask[None], layout).tolist() for bot in bots]
        return [observation.tobytes() for observation, _ in seen], chances

    position = {"dealer": 0, "lives": [3, 2, 3], "deal": NEXT[:3], "stock": NEXT[3]}
    first = Game.from_position(rules, **position, seed=1)
    for moves in [(), ("keep",), ("swap",), ("swap", "swap"), ("keep", "swap")]:
        fresh[moves] = asked(first, moves)
    histories = 0
    for game in rounds_without_loss(rules):
        histories += 1
        for moves, expected in fresh.items():
            assert asked(game, moves) == expected
    assert histories == 13 * 6


# ---- "A reset with a seed changes the rules, and zero is taken for no seed."


@pytest.mark.parametrize("seed", [0, 5])
def test_a_reset_changes_no_rules_and_zero_is_a_seed_for_gymnasium_too(seed: int) -> None:
    text = "standard,seats=4,lives=2,max_rounds=9"
    env, other = (gymnasium.make(ENV, rules=text) for _ in range(2))
    firsts = []
    for _ in range(3):
        one, _ = env.reset(seed=seed, options={"rules": "cuckoo"})
        two, _ = other.reset(seed=seed)
        firsts += [one.tolist(), two.tolist()]
        assert str(env.unwrapped.rules) == text
        env.reset()
    assert all(first == firsts[0] for first in firsts)


# ---- "The parallel version of a turn-based game lies to its learners."


def test_pettingzoos_parallel_conversion_refuses_the_environment() -> None:
    with pytest.raises(AssertionError, match="not generally safe"):
        aec_to_parallel(cuckoo_v0.env())
    assert not hasattr(cuckoo_v0, "parallel_env")


def test_turns_are_in_no_fixed_cycle_so_no_parallel_step_can_be_a_cycle() -> None:
    """What that conversion asks of an environment; those who are asked act between two turns."""
    env, luck = cuckoo_v0.env("onesies,seats=3"), random.Random(3)
    env.reset(seed=3)
    order = []
    while not any(env.terminations.values()):
        order.append(env.possible_agents.index(env.agent_selection))
        env.step(choose(env.last()[0]["action_mask"], luck))
    ways = {(following - seat) % 3 for seat, following in itertools.pairwise(order)}
    assert ways == {0, 1, 2}


def test_in_the_turn_based_conversion_most_actions_are_dropped_without_a_word() -> None:
    """Why there is no `parallel_env`: of what all agents hand in, one action is taken."""
    one, other = (turn_based_aec_to_parallel(cuckoo_v0.env("onesies,seats=4")) for _ in range(2))
    luck = random.Random(3)
    seen, _ = one.reset(seed=3)
    other.reset(seed=3)
    handed_in = taken = without_choice = 0
    while one.agents:
        selected = one.aec_env.agent_selection
        sensible = {
            agent: choose(seen[agent]["action_mask"], luck) if agent == selected else 0
            for agent in one.agents
        }
        # The same action of the agent to act, and nonsense, far outside the space, of all others.
        nonsense = {agent: sensible[agent] if agent == selected else 10**6 for agent in one.agents}
        handed_in += len(one.agents)
        taken += 1
        without_choice += sum(not seen[agent]["action_mask"].any() for agent in one.agents)
        seen, rewards, *_ = one.step(sensible)
        seen_too, rewards_too, *_ = other.step(nonsense)
        assert rewards == rewards_too
        for agent in seen:
            assert seen[agent]["observation"].tolist() == seen_too[agent]["observation"].tolist()
    assert taken == handed_in / 4
    # Nor could the others have chosen anything: none of their actions is legal.
    assert without_choice == handed_in - taken


# ---- "Infos of different lengths cannot be stacked."


def test_what_has_happened_is_one_object_for_numpy_and_a_sequence_for_everybody_else() -> None:
    env = cuckoo_v0.env("standard,seats=4")
    env.reset(seed=3)
    told = [env.infos[agent]["events"] for agent in env.agents]
    env.step(0)
    told += [env.infos[agent]["events"] for agent in env.agents]
    assert len({len(each) for each in told}) > 1
    stacked = np.stack(told)
    assert (stacked.shape, stacked.dtype) == ((8,), np.dtype(object))
    for each, kept in zip(told, stacked.tolist(), strict=True):
        assert kept is each
        assert each == list(each) == [*each[:1], *each[1:]]
        assert each[-1] == list(each)[-1]
        assert repr(each) == repr(list(each))
        assert pickle.loads(pickle.dumps(each)) == each == copy.deepcopy(each)
        assert each != list(each)[:-1]


# ---- "Tianshou ends a game at the first agent that is out, and its buffers choke on the infos."


@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=4", "standard,seats=6"])
def test_tianshou_collects_whole_games(rules: str) -> None:
    pytest.importorskip("tianshou", reason="Tianshou is not installed")
    from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
    from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv, PettingZooEnv

    games = []

    class Watched(PettingZooEnv):
        """Notes how each of its games stands when it is left for the next."""

        def reset(self, *args: Any, **kwargs: Any) -> Any:
            core = self.env.unwrapped
            if hasattr(core, "rewards") and core.rounds:
                games.append((core._game.result, dict(core.rewards)))
            return super().reset(*args, **kwargs)

    envs = DummyVectorEnv([lambda: Watched(cuckoo_v0.env(rules)) for _ in range(4)])
    single = PettingZooEnv(cuckoo_v0.env(rules))
    bots = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(single.action_space) for _ in single.agents]
    buffer = VectorReplayBuffer(20_000, 4)
    collector = Collector(MultiAgentOffPolicyAlgorithm(algorithms=bots, env=single), envs, buffer)
    collector.reset()
    stats = collector.collect(n_episode=24)
    assert stats.n_collected_episodes == 24
    ended = [(result, rewards) for result, rewards in games if result is not None]
    assert len(ended) == 24
    for result, rewards in ended:
        assert list(rewards.values()) == list(result.payoffs)
    assert not buffer.rew[~buffer.done].any()
    collected = sorted(buffer.rew[buffer.done].tolist())
    assert collected == sorted(list(result.payoffs) for result, _ in ended)
