"""Cuckoo, also called Chase the Ace or Ranter Go Round: an environment for PettingZoo.

Everybody holds one card and tries not to end a round with the lowest. In turn, each seat keeps its
card or makes its left neighbour swap; a king blocks. The lowest lose a life; the last seat with a
life takes the pot. You see your own card and whatever passed through your hands: that is all.

| fact            | value                                                                                 |
|-----------------|---------------------------------------------------------------------------------------|
| import          | ``from cuckoo_env import cuckoo_v0``                                                  |
| actions         | discrete: 2, or 5 where asked seats respond                                           |
| agents          | ``player_0``, ``player_1`` …: 2 and more, as many as the rules seat                   |
| parallel        | no: one agent acts at a time                                                          |
| manual control  | no                                                                                    |
| observation     | ``{"observation": float32 vector from 0 to 1, "action_mask": int8 vector of 0 and 1}`` |
| rewards         | each agent's whole return at the end of the game, zero before; they sum to zero       |
| render modes    | ``ansi``                                                                              |

```python
from cuckoo_env import cuckoo_v0

env = cuckoo_v0.env(rules="standard,seats=5,queen=redirects")
env.reset(seed=42)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    if termination or truncation:
        action = None
    else:
        action = env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
env.close()
```

**Arguments.** ``rules``: a preset, a preset with changes, or a :class:`~cuckoo_env.rules.Rules`.
``render_mode``: ``"ansi"`` or None. ``viewer``: the seat whose view :meth:`RawEnv.render` shows; by
default the agent that is selected. ``max_seats``, ``with_rules`` and ``n_actions`` make room in the
vector for larger tables, for the rules themselves, and for all five actions, so that one policy can
play many rule sets.

**Observation.** The fields of the vector, their order and their meaning are the table
:data:`cuckoo_env.observation.FIELDS`; ``env.layout.names()`` names every number. Seats are counted
from the viewer in the direction of play, so one policy can play every seat. Within a round the
vector holds all that the seat has legally seen. Any agent can be observed at any time, and that
changes nothing. The mask is all zeros for an agent that is not to act.

**Actions.** 0 keep; 1 swap: ask the left neighbour, or as dealer draw from the stock. Where an
asked seat has a choice it responds, out of turn: 2 accept the swap, 3 show a card that blocks, 4
pay a life to refuse.

**Rewards.** What the agent takes from the pot less what it staked, all at once when the game ends.

**The end.** All agents terminate together, when the game is decided, or are truncated together
after ``max_rounds`` rounds, with rewards of zero. Until then an agent that has lost all its lives
stays in ``agents``, but is never selected: some rules bring it back.

**Illegal actions.** ``raw_env`` raises :class:`~cuckoo_env.game.IllegalActionError`, naming the
legal ones, and nothing has changed. ``env`` ends the game, as PettingZoo's
``TerminateIllegalWrapper`` does: -1 for the offender and 0 for the others. It also makes the checks
of PettingZoo's ``AssertOutOfBoundsWrapper`` and ``OrderEnforcingWrapper``.

**Infos.** ``infos[agent]["events"]`` lists, oldest first, what has happened since that agent last
chose an action (or since the game began), the outcome of that action included. An event is a dict
such as ``{"event": "asked", "seat": 0, "other": 1}``; see :data:`cuckoo_env.events.KINDS`. A dealt
or drawn card is in it for the seat that holds it, the cards of a swap for the two that swap, and
shown, revealed and cut cards for everybody.

**Seeds.** ``reset(seed=s)`` starts the same game everywhere; ``reset()`` goes on with the generator
as it is. Options are ignored. Copies and pickles in mid-game go on exactly as the original does.

Version history: v0, the first version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers.order_enforcing import AECOrderEnforcingIterator

from cuckoo_env import events, records
from cuckoo_env.game import Game, IllegalActionError
from cuckoo_env.observation import Layout
from cuckoo_env.render import text
from cuckoo_env.rules import Rules

Observation = dict[str, npt.NDArray[Any]]


class Info(dict[str, Any]):
    """An agent's info: a dict whose events are told when it is first looked into.

    Most never are, and telling them takes longer than a step. Copies and pickles of it are plain dicts.
    """

    __slots__ = ("_untold",)

    def __init__(self, log: npt.NDArray[np.int16], start: int, stop: int, viewer: int) -> None:
        # Never empty, not even for C code that asks for the size without calling a method.
        dict.__setitem__(self, "events", None)
        self._untold: tuple[Any, ...] | None = (log, start, stop, viewer)

    def _tell(self) -> None:
        if self._untold is not None:
            log, start, stop, viewer = self._untold
            self._untold = None
            told = [events.decode(row).seen_by(viewer).plain() for row in log[start:stop].tolist()]
            dict.__setitem__(self, "events", told)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self.items()),)


def _telling(name: str) -> Callable[..., Any]:
    """A method of dict that looks into an info."""
    inherited = getattr(dict, name)

    def method(self: Info, *args: Any, **kwargs: Any) -> Any:
        for info in (self, *args):
            if isinstance(info, Info):
                info._tell()
        return inherited(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    *("__getitem__", "__setitem__", "__delitem__", "__iter__", "__reversed__", "__eq__", "__ne__"),
    *("__or__", "__ror__", "__ior__", "__repr__", "get", "keys", "values", "items", "copy"),
    *("pop", "popitem", "setdefault", "update", "clear"),
):
    setattr(Info, _name, _telling(_name))


class RawEnv(AECEnv[str, Observation, int]):
    """The environment as the module's page describes it; an illegal action raises an error.

    Attributes:
        rules: the rule set.
        layout: the layout of the observation vectors.
        possible_agents: ``player_0``, ``player_1`` …, by seat.
        render_mode: ``"ansi"`` or None.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "name": "cuckoo_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
    }

    def __init__(
        self,
        rules: Rules | str = "practice-table",
        *,
        render_mode: str | None = None,
        viewer: int | None = None,
        max_seats: int | None = None,
        with_rules: bool = False,
        n_actions: int | None = None,
    ) -> None:
        """Make the environment.

        Args:
            rules: a rule set or its text.
            render_mode: ``"ansi"`` for text, or None.
            viewer: the seat whose view is rendered; None for the agent that is selected.
            max_seats: seats that the observation has room for; by default as many as the rules.
            with_rules: whether the observation carries the rules.
            n_actions: size of the action space; by default 2, or 5 where asked seats respond.

        Raises:
            ValueError: for a value that is refused, naming it and what is accepted.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self.rules = Rules.parse(rules)
        self.layout = Layout.of(
            self.rules, max_seats=max_seats, with_rules=with_rules, n_actions=n_actions
        )
        self.render_mode = _one_of("render_mode", render_mode, [None, "ansi"])
        self._viewer = _one_of("viewer", viewer, [None, *range(self.rules.seats)])
        self._game = Game(self.rules)
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.seats)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: self._observation_space() for agent in self._seats}
        self.action_spaces = {
            agent: spaces.Discrete(self.layout.n_actions) for agent in self._seats
        }

    def _observation_space(self) -> Any:
        return spaces.Dict(
            {
                "observation": spaces.Box(0, 1, (self.layout.size,), np.float32),
                "action_mask": spaces.Box(0, 1, (self.layout.n_actions,), np.int8),
            }
        )

    def observation_space(self, agent: str) -> spaces.Space[Observation]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[int]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; without a seed the generator goes on as it is. Options are ignored."""
        self._game.reset(seed)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None  # type: ignore[assignment]
        seat = self._game.seat
        if seat is None:
            raise RuntimeError("reset: no seat is to act")
        self.agent_selection = self.possible_agents[seat]

    def step(self, action: Any) -> None:
        """The selected agent takes an action: a whole number, or None once its game has ended.

        Raises:
            IllegalActionError: naming the seat, the action and the legal ones; nothing has changed
                then.
            ValueError: for anything but None once the agent's game has ended.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        seat = self._game.play(action)
        if seat >= 0:
            self.agent_selection = self.possible_agents[seat]
        else:
            self._finish()

    def _finish(self) -> None:
        """The game is over for all agents together, each with its whole return."""
        result = self._game.result
        assert result is not None
        over = dict.fromkeys(self.agents, True)
        if result.truncated:
            self.truncations = over
        else:
            self.terminations = over
        self.rewards = dict(zip(self.agents, result.payoffs, strict=True))
        self._accumulate_rewards()
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Observation:
        """What an agent sees: new arrays at every call."""
        observation, mask = self._game.observe(self._seats[agent], self.layout)
        return {"observation": observation, "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, Info]:
        """What the selected agent gets: observation, reward, termination, truncation, info."""
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self._info(agent),
        )

    def _info(self, agent: str) -> Info:
        seat = self._seats[agent]
        return Info(*self._game.unread(seat), seat)

    @property
    def infos(self) -> dict[str, dict[str, Any]]:  # type: ignore[override]
        """The info of every agent, made when asked for."""
        return {agent: self._info(agent) for agent in self.agents}

    def render(self) -> str | None:
        """The table as text, as one seat sees it; None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode.")
            return None
        seat = self._seats[self.agent_selection] if self._viewer is None else self._viewer
        return text.render(self._game.view(seat), self.possible_agents)

    def record(self) -> dict[str, Any]:
        """This game so far as a record, in the format of :mod:`cuckoo_env.records`.

        It holds every card of the rounds that are over, and nothing of a round that is not.
        """
        return records.record(self._game)

    def close(self) -> None:
        """There is nothing to close."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Afresh, for compiled code wants the record types of this process.
        self.layout = dataclasses.replace(self.layout)


class CheckedEnv(RawEnv):
    """The environment with the checks of PettingZoo's wrappers, at a fraction of their cost.

    It does what ``OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw_env,
    -1)))`` does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._has_reset = False
        self._has_updated = False
        self._n_actions = self.layout.n_actions

    def __getattr__(self, name: str) -> Any:
        if name in _ONLY_AFTER_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._has_reset = True
        self._has_updated = True
        super().reset(seed, options)

    def step(self, action: Any) -> None:
        """The selected agent takes an action; an illegal one ends the game, as PettingZoo's do.

        Raises:
            AssertionError: for an action outside the action space, and before ``reset``.
            ValueError: for anything but None once the agent's game has ended.
        """
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        if not (type(action) is int and 0 <= action < self._n_actions):
            self._assert_in_bounds(action)
        try:
            RawEnv.step(self, action)
        except IllegalActionError:
            self._end_by_illegal_move()

    def _assert_in_bounds(self, action: Any) -> None:
        agent = self.agent_selection
        if action is None and (self.terminations[agent] or self.truncations[agent]):
            return
        assert self.action_spaces[agent].contains(action), "action is not in action space"

    def _end_by_illegal_move(self) -> None:
        EnvLogger.warn_on_illegal_move()
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[self.agent_selection] = -1.0
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        if not self._has_reset:
            EnvLogger.error_observe_before_reset()
        return RawEnv.observe(self, agent)

    def render(self) -> str | None:
        if not self._has_reset:
            EnvLogger.error_render_before_reset()
        return super().render()

    def state(self) -> npt.NDArray[Any]:
        if not self._has_reset:
            EnvLogger.error_state_before_reset()
        return super().state()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        if not self._has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return _CheckedIterable(self, max_iter)  # type: ignore[no-untyped-call]


_ONLY_AFTER_RESET = frozenset(
    {"rewards", "terminations", "truncations", "infos", "agent_selection", "num_agents", "agents"}
)


class _CheckedIterable(AECIterable[str, Observation, int]):
    def __iter__(self) -> AECIterator[str, Observation, int]:
        return _CheckedIterator(self.env, self.max_iter)


class _CheckedIterator(AECOrderEnforcingIterator[str, Observation, int]):
    """PettingZoo's iterator over an env that is no wrapper: between two agents comes a step."""

    def __init__(self, env: CheckedEnv, max_iter: int) -> None:
        AECIterator.__init__(self, env, max_iter)


def _one_of(name: str, value: Any, accepted: list[Any]) -> Any:
    if value not in accepted:
        words = ", ".join(map(str, accepted))
        raise ValueError(f"{name}: {value!r} is refused; accepted: {words}")
    return value


raw_env = RawEnv
env = CheckedEnv
