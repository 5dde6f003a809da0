"""The PettingZoo environment: its interface, what an agent learns, and its checks."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger
from strategies import seeds, tables

import cuckoo_env
from cuckoo_env import aec, cuckoo_v0
from cuckoo_env.aec import Info
from cuckoo_env.events import KIND_OF, Event, Sees
from cuckoo_env.game import Game, IllegalActionError
from cuckoo_env.rules import PRESETS, Rules

# PettingZoo warns of masks without a legal action; so is the mask of a game that has ended.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Action mask numpy array is all zeros:UserWarning:pettingzoo.test.api_test"
)

TABLES = [
    f"{name},seats={seats}"
    for name, preset in PRESETS.items()
    for seats in (2, 3, 5, 6, 10, 26)
    if preset.admits(seats)
]
BOTH = [cuckoo_v0.raw_env, cuckoo_v0.env]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PettingZoo's logger keeps what it says in a list, and prints it."""
    EnvLogger.suppress_output()
    EnvLogger.flush()
    yield
    EnvLogger.unsuppress_output()


def choose(env: Any, luck: random.Random) -> int | None:
    """A legal action of the selected agent, or None when its game has ended."""
    observation, _, terminated, truncated, _ = env.last()
    if terminated or truncated:
        return None
    return luck.choice(np.flatnonzero(observation["action_mask"]).tolist())


def state_of(env: Any) -> dict[str, Any]:
    """Everything that an environment shows, as plain Python."""
    agents = env.agents
    return {
        "agents": list(agents),
        "selected": env.agent_selection,
        "rewards": dict(env.rewards),
        "sums": dict(env._cumulative_rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": env.infos,
        "seen": {
            agent: {name: part.tolist() for name, part in env.observe(agent).items()}
            for agent in agents
        },
        "last": env.last(observe=False) if agents else None,
    }


# ---- PettingZoo's own tests


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("rules", TABLES)
def test_pettingzoos_tests_pass(rules: str, make: Callable[..., Any]) -> None:
    api_test(make(rules), num_cycles=25)
    seed_test(lambda: make(rules), num_cycles=15)


@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=3", "one-round,seats=3"])
def test_pettingzoos_tests_pass_over_whole_games(rules: str) -> None:
    api_test(cuckoo_v0.env(rules), num_cycles=500)
    seed_test(lambda: cuckoo_v0.env(rules), num_cycles=500)


# ---- the checks are those of PettingZoo's wrappers


def official(rules: Rules | str) -> Any:
    """PettingZoo's stack of wrappers around the raw environment."""
    env = wrappers.TerminateIllegalWrapper(cuckoo_v0.raw_env(rules), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call returns or raises, and what PettingZoo's logger says."""
    EnvLogger.flush()
    try:
        result = call()
    except (AssertionError, AttributeError, ValueError, NotImplementedError, KeyError) as error:
        result = (type(error), str(error))
    return result, list(EnvLogger.mqueue)


def try_both(one: Any, other: Any, call: Callable[[Any], Any]) -> None:
    assert outcome(lambda: call(one)) == outcome(lambda: call(other))


@given(rules=tables(), seed=seeds())
@settings(max_examples=60)
def test_env_equals_the_official_wrappers_around_raw_env(rules: Rules, seed: int) -> None:
    one, other, luck = cuckoo_v0.env(rules), official(rules), random.Random(seed)
    for _ in range(2):
        one.reset(seed, {"what": "ever"})
        other.reset(seed, {"what": "ever"})
        for _ in range(40):
            action: Any = choose(one, luck) if one.agents else None
            if luck.random() < 0.05:
                action = luck.choice(
                    [0, 1, 2, 4, -1, 99, None, 0.5, "keep", np.int32(1), np.int8(4)]
                )
            try_both(one, other, lambda env, action=action: env.step(action))
            assert state_of(one) == state_of(other) if one.agents else not other.agents
    assert str(one) == str(other) == "cuckoo_v0"


@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.step(0),
        lambda env: env.observe("player_0"),
        lambda env: env.last(),
        lambda env: env.render(),
        lambda env: env.state(),
        lambda env: env.agent_iter(),
        *(
            lambda env, name=name: getattr(env, name)
            for name in ("agents", "num_agents", "rewards", "terminations", "truncations")
        ),
        *(lambda env, name=name: getattr(env, name) for name in ("infos", "agent_selection")),
        lambda env: env.possible_agents,
        lambda env: env.max_num_agents,
    ],
)
def test_before_reset_env_refuses_what_the_wrappers_refuse(call: Callable[[Any], Any]) -> None:
    try_both(cuckoo_v0.env(), official("practice-table"), call)


def test_after_reset_state_is_refused_as_by_the_wrappers() -> None:
    one, other = cuckoo_v0.env(), official("practice-table")
    one.reset()
    other.reset()
    try_both(one, other, lambda env: env.state())


def test_a_loop_must_step_between_two_agents_as_the_wrappers_insist() -> None:
    def loop(env: Any) -> list[str]:
        env.reset(seed=1)
        return list(env.agent_iter())

    assert outcome(lambda: loop(cuckoo_v0.env()))[0][0] is AssertionError
    try_both(cuckoo_v0.env(), official("practice-table"), loop)


def test_a_step_after_the_end_is_a_warning() -> None:
    one, other = cuckoo_v0.env("one-round"), official("one-round")
    for env in (one, other):
        env.reset(seed=1)
        while env.agents:
            env.step(choose(env, random.Random(0)))
    try_both(one, other, lambda env: env.step(0))
    assert "step() called after all agents" in EnvLogger.mqueue[0]


def test_an_illegal_action_ends_the_game_with_minus_one_for_the_offender() -> None:
    env = cuckoo_v0.env("open-kings", n_actions=5)
    env.reset(seed=1)
    offender = env.agent_selection
    env.step(4)
    assert "Illegal move made" in EnvLogger.mqueue[0]
    assert env.rewards == {agent: -1 if agent == offender else 0 for agent in env.agents}
    assert all(env.terminations.values())
    while env.agents:
        env.step(None)


def test_raw_env_names_the_legal_actions_and_changes_nothing() -> None:
    env = cuckoo_v0.raw_env()
    env.reset(seed=1)
    before = state_of(env)
    for action in (2, 99, -1, None, 0.5, "0", "fly", np.array([0]), [0]):
        with pytest.raises(IllegalActionError, match=r"seat 0 may not .*; legal: keep, swap"):
            env.step(action)
    assert state_of(env) == before


# ---- the interface


@pytest.mark.parametrize("make", BOTH)
def test_a_game_is_played_to_its_end(make: Callable[..., Any]) -> None:
    env, luck = make("standard,seats=4"), random.Random(3)
    for seed in range(20):
        env.reset(seed)
        got, alive = dict.fromkeys(env.agents, 0.0), set(env.agents)
        while env.agents:
            agent = env.agent_selection
            got[agent] += env.last()[1]
            ended = any(env.terminations.values())
            if not ended:
                assert set(env.rewards.values()) == {0}
                assert env.agents == env.possible_agents
                assert env.observe(agent)["action_mask"].any()
            else:
                assert agent in alive
                alive.remove(agent)
                assert set(env.terminations.values()) == {True}
                with pytest.raises(ValueError, match="only valid action is None"):
                    env.step(0)
            env.step(choose(env, luck))
        assert not alive
        result = env._game.result
        assert list(got.values()) == list(result.payoffs)
        assert sum(got.values()) == pytest.approx(0)


@pytest.mark.parametrize("rules", ["standard,seats=4,max_rounds=2", "onesies,seats=3,max_rounds=1"])
def test_a_limit_of_rounds_truncates_all_agents_together(rules: str) -> None:
    env, luck = cuckoo_v0.env(rules), random.Random(3)
    env.reset(seed=3)
    while not any(env.truncations.values()):
        assert not any(env.terminations.values())
        env.step(choose(env, luck))
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    assert set(env.rewards.values()) == {0}
    while env.agents:
        assert env.last()[1:4] == (0, False, True)
        env.step(None)


def test_a_seat_that_is_out_stays_and_is_never_selected() -> None:
    env, luck = cuckoo_v0.env("standard,seats=6,lives=1"), random.Random(3)
    out_seen = 0
    for seed in range(20):
        env.reset(seed)
        while not any(env.terminations.values()):
            lives = [each.lives for each in env._game.view(0).seats]
            out = [agent for agent, left in zip(env.agents, lives, strict=True) if left == 0]
            out_seen += len(out)
            assert env.agents == env.possible_agents
            assert env.agent_selection not in out
            for agent in out:
                assert not env.observe(agent)["action_mask"].any()
            env.step(choose(env, luck))
    assert out_seen > 0


@pytest.mark.parametrize("name", list(PRESETS))
def test_observations_lie_in_their_space(name: str) -> None:
    env, luck = cuckoo_v0.env(name, max_seats=12, with_rules=True), random.Random(3)
    env.reset(seed=3)
    for _ in range(120):
        if not env.agents:
            env.reset()
        for agent in env.agents:
            space, seen = env.observation_space(agent), env.observe(agent)
            assert space is env.observation_space(agent)
            assert space.contains(seen)
            assert seen["observation"].dtype == np.float32
            assert seen["action_mask"].dtype == np.int8
            if agent != env.agent_selection or env.terminations[agent]:
                assert not seen["action_mask"].any()
        env.step(choose(env, luck))
    assert env.action_space("player_0") is env.action_space("player_0")


def random_story(seed: int) -> tuple[Event, ...]:
    """The story of the practice table as random play with that seed has it."""
    game, luck = Game("practice-table", seed), random.Random(seed)
    while game.seat is not None:
        game.act(luck.choice(game.legal_actions()))
    return game.events


def test_actions_may_be_any_whole_numbers() -> None:
    envs = [cuckoo_v0.env(), cuckoo_v0.raw_env()]
    for kind in (int, np.int8, np.int32, np.int64, np.uint8):
        for env in envs:
            env.reset(seed=3)
            luck = random.Random(3)
            while env.agents:
                action = choose(env, luck)
                env.step(None if action is None else kind(action))
        assert envs[0]._game.events == envs[1]._game.events == random_story(3)


def test_observing_anybody_at_any_time_changes_nothing() -> None:
    env, luck = cuckoo_v0.env("onesies,seats=5"), random.Random(3)
    env.reset(seed=3)
    for _ in range(100):
        if not env.agents:
            env.reset()
        before = pickle.dumps(env._game), state_of(env)
        for agent in env.agents:
            first = env.observe(agent)
            first["observation"][:] = 7
            first["action_mask"][:] = 7
            env.last()
        assert (pickle.dumps(env._game), state_of(env)) == before
        env.step(choose(env, luck))


# ---- seeds and copies


def run(env: Any, steps: int, seed: int = 0) -> list[Any]:
    """What an environment shows over so many steps; where a game ends, the next begins."""
    luck, shown = random.Random(seed), []
    for _ in range(steps):
        if not env.agents:
            env.reset()
        shown.append(state_of(env))
        env.step(choose(env, luck))
    return shown


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("seed", [0, 7, 2**70])
def test_a_seed_starts_the_same_game_and_no_seed_goes_on(make: Any, seed: int) -> None:
    one, other = make("standard,seats=5"), make("standard,seats=5")
    one.reset(seed)
    other.reset(seed)
    assert run(one, 150) == run(other, 150)
    one.reset(seed)
    one.reset()
    other.reset(seed)
    other.reset()
    second = state_of(one)
    assert second == state_of(other)
    other.reset(seed)
    assert second != state_of(other)


def test_a_reset_never_changes_the_rules() -> None:
    env = cuckoo_v0.env("standard,seats=5,max_rounds=30")
    for seed in (None, 0, 5):
        env.reset(seed, options={"rules": "cuckoo", "seats": 3})
        assert str(env.rules) == "standard,seats=5,max_rounds=30"
        assert len(env.agents) == 5


def test_a_reset_in_the_middle_of_the_end_leaves_nothing_behind() -> None:
    env, other = (cuckoo_v0.env("practice-table", n_actions=5) for _ in range(2))
    env.reset(seed=1)
    env.step(0)
    env.step(4)  # player_1, illegally
    env.step(None)
    env.reset(seed=4)
    other.reset(seed=4)
    for each in (env, other):
        luck = random.Random(0)
        while each.agents:
            each.step(choose(each, luck))
    assert env.agent_selection == other.agent_selection
    assert vars(env).keys() == vars(other).keys()
    assert run(env, 60) == run(other, 60)


def test_interleaved_environments_do_not_disturb_each_other() -> None:
    alone = []
    for seed in (1, 2):
        env = cuckoo_v0.env("onesies,seats=4")
        env.reset(seed)
        alone.append(run(env, 200))
    both = [cuckoo_v0.env("onesies,seats=4"), cuckoo_v0.env("onesies,seats=4")]
    lucks, shown = [random.Random(0), random.Random(0)], [[], []]
    for env, seed in zip(both, (1, 2), strict=True):
        env.reset(seed)
    for _ in range(200):
        for env, luck, story in zip(both, lucks, shown, strict=True):
            if not env.agents:
                env.reset()
            story.append(state_of(env))
            env.step(choose(env, luck))
    assert shown == alone


def test_global_generators_are_neither_read_nor_touched() -> None:
    stories = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
        env = cuckoo_v0.env("standard,seats=4")
        env.reset(seed=5)
        stories.append(run(env, 200))
        assert before == (random.getstate(), pickle.dumps(np.random.get_state()))  # noqa: NPY002
    assert stories[0] == stories[1]


@pytest.mark.parametrize("make", [*BOTH, official])
@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_round_goes_on_as_the_original_does(make: Any, twin_of: Any) -> None:
    env = make("onesies,seats=4")
    env.reset(seed=3)
    run(env, 37)
    twin = twin_of(env)
    assert run(twin, 1000, seed=5) == run(env, 1000, seed=5)


# ---- infos and rendering


@pytest.mark.parametrize("name", list(PRESETS))
def test_infos_and_text_hold_no_card_before_its_agent_has_seen_it(name: str) -> None:
    env, luck = cuckoo_v0.env(name, render_mode="ansi"), random.Random(3)
    for seed in range(4):
        env.reset(seed)
        for _ in range(60):
            story = env._game.events
            for seat, agent in enumerate(env.agents):
                told = env.infos[agent]["events"]
                untold = story[len(story) - len(told) :]
                expected = [event if may_see(event, seat) else hidden(event) for event in untold]
                assert told == [event.plain() for event in expected]
            if any(env.terminations.values()):
                break
            seat = env.possible_agents.index(env.agent_selection)
            text = env.render()
            assert text is not None
            assert symbols(text) <= {
                symbol
                for event in story[last_round(story, seat, env) :]
                if may_see(event, seat)
                for symbol in symbols_of(event)
            }
            env.step(choose(env, luck))


def may_see(event: Event, seat: int) -> bool:
    """Your own dealt or drawn card, both cards of your swap, and what lies open."""
    seers = {Sees.SEAT: {event.seat}, Sees.BOTH: {event.seat, event.other}}
    return seat in seers.get(KIND_OF[event.event].cards, {seat})


def hidden(event: Event) -> Event:
    return Event(event.event, seat=event.seat, other=event.other, count=event.count)


def last_round(story: tuple[Event, ...], seat: int, env: Any) -> int:
    """Where this round begins, or what is news to the seat, whichever is earlier."""
    rounds = [at for at, event in enumerate(story) if event.event == "round"]
    return min(rounds[-1], len(story) - len(env._game.news(seat)))


def symbols_of(event: Event) -> set[str]:
    return {
        card[0].replace("T", "10") + dict(zip("cdhs", "♣♦♥♠", strict=True))[card[1]]
        for card in (event.card, event.other_card)
        if card
    }


def symbols(text: str) -> set[str]:
    return {word.strip(".,!") for word in text.split() if set(word) & set("♣♦♥♠")}


def test_the_example_of_the_page_runs() -> None:
    example = str(aec.__doc__).split("```python")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(example, "example", "exec"), names)
    assert not names["env"].agents


def test_infos_are_plain_and_told_only_when_looked_into() -> None:
    env = cuckoo_v0.env()
    env.reset(seed=3)
    expected = {"events": [event.plain() for event in env._game.news(0)]}

    def fresh() -> Info:
        return env.last()[4]

    assert isinstance(fresh(), dict)
    assert fresh() == expected == fresh()
    assert expected == fresh()
    assert fresh() == fresh() == env.infos["player_0"]
    assert (fresh() != expected) is False
    assert fresh()["events"] == fresh().get("events") == expected["events"]
    assert json.loads(json.dumps(fresh(), default=list)) == expected
    assert repr(fresh()) == repr(expected)
    assert list(fresh()) == list(fresh().keys()) == ["events"]
    assert list(fresh().values()) == [expected["events"]]
    assert dict(fresh().items()) == dict(fresh()) == {**fresh()} == fresh() | {} == {} | fresh()
    assert len(fresh()) == 1
    assert fresh()
    assert "events" in fresh()
    assert fresh().pop("events") == expected["events"]
    for copied in (copy.copy(fresh()), copy.deepcopy(fresh()), pickle.loads(pickle.dumps(fresh()))):
        assert type(copied) is dict
        assert copied == expected


def test_an_info_told_late_tells_of_its_own_time() -> None:
    env, luck = cuckoo_v0.env(), random.Random(3)
    env.reset(seed=3)
    kept: list[Info] = []
    told: list[Any] = []
    for _ in range(300):
        if not env.agents:
            env.reset()
        kept.append(env.last()[4])
        told.append(copy.deepcopy(env.last()[4]))
        env.step(choose(env, luck))
    assert kept == told


def test_an_info_tells_what_has_happened_since_the_agent_last_chose() -> None:
    env = cuckoo_v0.env()
    env.reset(seed=3)
    names = [[event["event"] for event in env.infos[agent]["events"]] for agent in env.agents]
    assert names == [["round", "dealt", "dealt", "dealt"]] * 3
    env.step(0)
    assert env.infos["player_0"]["events"] == [{"event": "kept", "seat": 0}]
    assert env.infos["player_1"]["events"][-1] == {"event": "kept", "seat": 0}
    assert len(env.infos["player_1"]["events"]) == 5


def test_rendering_shows_the_selected_agent_or_a_seat_chosen_beforehand() -> None:
    env = cuckoo_v0.env(render_mode="ansi")
    env.reset(seed=3)
    assert "player_0 (you)" in str(env.render())
    env.step(0)
    assert "player_1 (you)" in str(env.render())
    env = cuckoo_v0.env(render_mode="ansi", viewer=2)
    env.reset(seed=3)
    assert "player_2 (you)" in str(env.render())
    assert "Legal" not in str(env.render())


def test_the_end_is_rendered_with_all_cards_open() -> None:
    env = cuckoo_v0.env("one-round", render_mode="ansi")
    env.reset(seed=3)
    while not any(env.terminations.values()):
        env.step(0)
    text = str(env.render())
    assert "?" not in text
    assert text.splitlines()[-1].startswith("Returns: player_0 ")
    while env.agents:
        env.step(None)
    assert "?" not in str(env.render())


def test_rendering_without_a_mode_is_a_warning() -> None:
    env = cuckoo_v0.env()
    env.reset(seed=3)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rules": "nonsense"}, "rules: nonsense is refused"),
        ({"rules": "cuckoo,seats=2"}, "seats: 2 is refused"),
        ({"render_mode": "rgb"}, "render_mode: 'rgb' is refused; accepted: None, ansi"),
        ({"viewer": 3}, "viewer: 3 is refused; accepted: None, 0, 1, 2"),
        ({"max_seats": 2}, "max_seats: 2 is refused"),
        ({"n_actions": 3}, "n_actions: 3 is refused"),
    ],
)
def test_an_argument_that_cannot_be_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        cuckoo_v0.env(**arguments)


# ---- the package


def test_the_package_hands_out_its_names_lazily() -> None:
    assert cuckoo_env.Game is Game
    assert cuckoo_env.Rules is Rules
    assert cuckoo_env.cuckoo_v0 is cuckoo_v0
    assert set(cuckoo_env.__all__) <= set(dir(cuckoo_env))
    assert cuckoo_env.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        cuckoo_env.nonsense  # noqa: B018
