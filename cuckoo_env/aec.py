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
| render modes    | ``ansi``, ``rgb_array``, ``human``                                                    |

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
``render_mode``: None, or how :meth:`RawEnv.render` shows the game (below). ``viewer``: the seat
whose view it shows; by default the agent that is selected. ``expose_state``: whether
:meth:`RawEnv.state` may be asked for. ``max_seats``, ``with_rules`` and ``n_actions`` make room in the
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

**Rendering.** All modes show one seat's view, and nothing that this seat may not see; when the game
is over all cards lie open. ``ansi`` gives text, ``rgb_array`` a picture of the table as
(800, 1200, 3) uint8, and ``human`` shows this picture in a window, after every step by itself. Pictures
need the extra ``render``, but no display.

**State.** With ``expose_state=True``, :meth:`RawEnv.state` is the full state for centralised critics,
and it holds **all hidden cards**: every seat's card and the top of the stock, besides what is
public; seats are in absolute order. Its table of fields is that of
:class:`cuckoo_env.state.StateLayout`, its space ``state_space``. Without ``expose_state`` there is
neither, so that nothing can learn from hidden cards by mistake.

**Rewards on the way.** :class:`cuckoo_env.wrappers.PerRoundRewards` gives rewards after every
round; they still sum up to the return.

**Parallel.** There is no ``parallel_env``. Seats act one at a time, and an asked seat may have to
respond out of turn. PettingZoo's ``aec_to_parallel`` refuses such a game.
``turn_based_aec_to_parallel`` plays it, but its steps are not those of a parallel environment: all
agents hand in actions, one of them is taken, and the others are dropped without a word, whatever
they are. A learner that takes every agent's action and reward for experience then learns mostly
from actions that nobody took, and agents that are not to act have no legal action at all.

**Infos.** ``infos[agent]["events"]`` lists, oldest first, what has happened since that agent last
chose an action (or since the game began), the outcome of that action included. It is a sequence that
NumPy takes for a single object, for there are libraries that make arrays of all infos. An event is a dict
such as ``{"event": "asked", "seat": 0, "other": 1}``; see :data:`cuckoo_env.events.KINDS`. A dealt
or drawn card is in it for the seat that holds it, the cards of a swap for the two that swap, and
shown, revealed and cut cards for everybody.

**Seeds.** ``reset(seed=s)`` starts the same game everywhere; ``reset()`` goes on with the generator
as it is. Options are ignored. Copies and pickles in mid-game go on exactly as the original does.

**Where sources disagree.** What each of them says, and what is done here; a source that is not
named is silent. ``docs/environment.md`` has it as a table, ``cuckoo rules --sources`` prints it.

<!-- sources: written by docs/generate.py -->
- **How many play?** (``seats``, ``decks``) *Cuckoo card*: 3 to 10. *CatsAtCards*: any number, best
  from 5; two packs for large crowds. *Chase the Ace*: 3 to 26 in the version with four lives.
  *practice table*: 3. *Here*: any number from 2; presets keep to the range of their source; one
  pack more for every 26 seats.
- **How many lives?** (``lives``) *Cuckoo card*: 3. *CatsAtCards*: 3; 4 in Multiple Tokens, 5 in
  Onesies. *Chase the Ace*: usually 3; 4 in an American version. *practice table*: 3. *Here*: 3, or
  as many as are asked for.
- **Is there a stake?** (``stake``) *Cuckoo card*: no money. *Chase the Ace*: an equal stake from
  each; the winner takes the pot. *practice table*: no stakes or prizes. *Here*: an equal stake from
  each; without money it is only the unit of returns.
- **Where does the ace rank?** (``ace``) *Cuckoo card*: lowest. *CatsAtCards*: lowest; in Aces High
  above the king, but it does not block. *Chase the Ace*: lowest. *practice table*: lowest. *Here*:
  lowest, or highest and without power.
- **Who deals first?** (``first_dealer``) *Cuckoo card*: chosen by lot. *CatsAtCards*: in any
  manner, usually by cutting for high card; equal highest cut again. *practice table*: Alex. *Here*:
  by lot, by a cut, or a given seat.
- **Which way does play go?** (``direction``) *Cuckoo card*: clockwise. *CatsAtCards*: clockwise.
  *Chase the Ace*: clockwise, but that varies between countries; the dealer says. *practice table*:
  in the order that is displayed. *Here*: left or right, for turns, requests and the deal alike.
- **Who deals next?** *Cuckoo card*: the next player still in, on the left. *CatsAtCards*: the
  player on the left. *practice table*: the next seat still in. *Here*: the next seat still in, in
  the direction of play.
- **What does an asked king do?** (``king``) *Cuckoo card*: it is shown and blocks that request
  only. *CatsAtCards*: it is shown and blocks; no power in King Variation 1; in King Variation 2 the
  first one shown ends all trading. *Chase the Ace*: it is shown and blocks, or as agreed: traded
  like any card (5.2(a)); dealt kings turned up, and then no trading at all (5.2(b)); shown, and no
  further trading (5.2(c)). *practice table*: it is shown and blocks. *Here*: each of these, and
  dealt kings that lie open and only block, a common house rule.
- **What does a king on the stock do?** (``king``) *Cuckoo card*: it blocks the dealer, and is set
  aside. *CatsAtCards*: it blocks the dealer; in King Variation 1 the dealer takes it. *Chase the
  Ace*: it blocks the dealer. *practice table*: it blocks the dealer, and is set aside. *Here*: it
  blocks, unless kings have no power; in the Jack Rule they have none either (our choice).
- **Does anybody have a turn when dealt kings stop the trading?** (``king``) *Chase the Ace*: no
  trading on that deal (5.2(b)). *Here*: every seat has its turn, but may only keep (our choice).
- **What does an asked queen do?** (``queen``) *Cuckoo card*: no special power. *CatsAtCards*:
  nothing; in the Queen Rule the asker must trade with the player on its own right instead, unless
  that is a queen too. *Chase the Ace*: nothing; by 5.3(a) the asker must trade with the player on
  its own right instead, unless that is a queen too. *Here*: nothing, or it sends the asker on; a
  king or a jack there blocks as usual; where two are in, that is the same seat, and nobody swaps
  (our choice).
- **Is a queen that sends the asker on shown?** (``queen``) *Here*: yes (our choice: the sources
  only speak of holding one).
- **What does a queen on the stock do?** (``queen``) *Cuckoo card*: no special power. *CatsAtCards*:
  taken; in the Queen Rule not taken: the dealer must trade with the player on its right. *Here*:
  taken, or where queens send on, as the Queen Rule says.
- **Whose turn is it after two queens?** (``queen``) *CatsAtCards*: in the Queen Rule the turn
  passes to the right. *Here*: play goes on as always (our choice: nothing else in that rule turns
  play round).
- **What does an asked jack do?** (``jack``) *Cuckoo card*: no special power. *CatsAtCards*:
  nothing; in the Jack Rule its holder may show it and keep it, and kings have no power. *Chase the
  Ace*: nothing; by 5.3(b) it is shown and blocks, beside what kings do. *Here*: nothing, it blocks,
  or its holder may block; on the stock it has no power (our choice).
- **What is the dealer's exchange?** (``dealer``) *Cuckoo card*: with the stock, never with the
  first player. *CatsAtCards*: with the stock; in Full Rotation with the first player, if the dealer
  was not made to swap. *Chase the Ace*: with the stock. *practice table*: with the stock. *Here*:
  with the stock or with the first seat.
- **Does being made to swap use up one's own turn?** (``swapped_turn``) *Cuckoo card*: no.
  *CatsAtCards*: no; in Alternate Exchange yes. *practice table*: no. *Here*: no, or yes, the
  dealer's too; a seat that blocks keeps its turn, and after a queen it is the seat really swapped
  with that loses it (our choice).
- **Can a seat without a blocking card refuse?** (``refusal``) *Cuckoo card*: no. *CatsAtCards*: no;
  in Onesies by paying one token, but not the last one. *Chase the Ace*: no. *practice table*: no.
  *Here*: no, or for a token; every seat that may have a choice is given a turn to answer, so that
  the order of turns betrays nothing (our choice).
- **What do the lowest lose?** (``penalty``, ``ties``) *Cuckoo card*: one life each. *CatsAtCards*:
  one token each; in Onesies two if alone, else as many as are tied. *Chase the Ace*: one life each.
  *practice table*: one life each. *Here*: one each, or as in Onesies, but never more than they
  have; only the first in turn order, to compare with Le Her.
- **Do equal ranks protect?** (``pairs``) *Cuckoo card*: no. *CatsAtCards*: no. *Chase the Ace*: no;
  in an American version yes: the lowest rank held by one player alone loses, and if there is none
  usually nobody does. *practice table*: no. *Here*: no, or yes, and then nobody loses where no rank
  is held alone.
- **Which card loses in Full Rotation?** (``dealer``) *CatsAtCards*: the last sentence has the
  highest card win the hand. *Here*: the lowest, as everywhere else (our choice).
- **What if all who are left would go out at once?** (``final_tie``) *Cuckoo card*: they win
  together. *CatsAtCards*: they keep their last tokens and play another deal. *Chase the Ace*: as
  agreed before: they share the pot (4.3(a)), play another deal (4.3(b)), cut for the pot (4.3(c)),
  or it is carried over to a new game with a new stake (4.3(d)) or without (4.3(e)). *practice
  table*: they keep their last lives and play another deal. *Here*: each of these; also where they
  would lose more than their last life (our choice).
- **Who deals after a pot is carried over?** (``final_tie``) *Here*: the next of all the original
  seats, which have full lives again (our choice).
- **What of an incorrect deal?** *Cuckoo card*: it is collected and repeated; no life is lost.
  *Here*: as the Cuckoo card says, and the dealer stays; a game can be told so, but deals none
  itself.
<!-- end of sources -->

Version history: v0, the first version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers.order_enforcing import AECOrderEnforcingIterator

from cuckoo_env import records, state
from cuckoo_env.game import Bookmark, Game, IllegalActionError, player_names, read
from cuckoo_env.observation import Layout
from cuckoo_env.render.display import RENDER_FPS, RENDER_MODES, Display
from cuckoo_env.rules import Rules

Observation = dict[str, npt.NDArray[Any]]


class Events(Sequence[dict[str, Any]]):
    """What has happened, oldest first: a sequence that cannot be changed, equal to any with equal items.

    It is no list because some libraries stack the infos of many environments: of lists of different lengths
    they would make arrays that do not fit each other, and fail.
    """

    __slots__ = ("_events",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, told: Sequence[dict[str, Any]]) -> None:
        self._events = tuple(told)

    def __len__(self) -> int:
        return len(self._events)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Events:
        found = self._events[index]
        return Events(found) if isinstance(found, tuple) else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self._events))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A single object."""
        whole = np.empty((), object)
        whole[()] = self
        return whole


class Info(dict[str, Any]):
    """An agent's info: a dict whose events are told when it is first looked into.

    Most never are, and telling them takes longer than a step. Copies and pickles of it are plain dicts.
    """

    __slots__ = ("_untold",)
    _untold: Bookmark | None

    @classmethod
    def of(cls, game: Game, viewer: int) -> Info:
        """What a seat is told now, whenever it looks."""
        # Never empty, not even for C code that asks for the size without calling a method. An
        # `__init__` of our own would take longer.
        info = cls(events=None)
        info._untold = game.bookmark(viewer)
        return info

    def _tell(self) -> None:
        if self._untold is not None:
            told = [event.plain() for event in read(self._untold)]
            self._untold = None
            dict.__setitem__(self, "events", Events(told))

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
        render_mode: how it is rendered, or None.
    """

    _skip_agent_selection: str | None  # type: ignore[assignment]
    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "name": "cuckoo_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
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
        expose_state: bool = False,
    ) -> None:
        """Make the environment.

        Args:
            rules: a rule set or its text.
            render_mode: ``"ansi"`` for text, ``"rgb_array"`` for a picture, ``"human"`` for a window,
                or None.
            viewer: the seat whose view is rendered; None for the agent that is selected.
            max_seats: seats that the observation has room for; by default as many as the rules.
            with_rules: whether the observation carries the rules.
            n_actions: size of the action space; by default 2, or 5 where asked seats respond.
            expose_state: whether :meth:`state`, which holds all hidden cards, may be asked for.

        Raises:
            ValueError: for a value that is refused, naming it and what is accepted.
            gymnasium.error.DependencyNotInstalled: for pictures without the extra ``render``.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self.rules = Rules.parse(rules)
        self.layout = Layout.of(
            self.rules, max_seats=max_seats, with_rules=with_rules, n_actions=n_actions
        )
        self._viewer = _one_of("viewer", viewer, [None, *range(self.rules.seats)])
        self._game = Game(self.rules)
        self.possible_agents = player_names(self.rules.seats)
        self.render_mode, self._display = render_mode, Display(render_mode, self.possible_agents)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: self._observation_space() for agent in self._seats}
        self.action_spaces = {
            agent: spaces.Discrete(self.layout.n_actions) for agent in self._seats
        }
        self._exposes_state = _one_of("expose_state", expose_state, [False, True])
        if expose_state:
            size = state.StateLayout.of(
                self.rules, max_seats=max_seats, with_rules=with_rules, n_actions=n_actions
            ).size
            self._state_space = spaces.Box(0, 1, (size,), np.float32)

    def _observation_space(self) -> Any:
        return spaces.Dict(
            {
                "observation": spaces.Box(0, 1, (self.layout.size,), np.float32),
                "action_mask": spaces.Box(0, 1, (self.layout.n_actions,), np.int8),
            }
        )

    @property
    def state_space(self) -> spaces.Box:
        """The space of :meth:`state`: an AttributeError without ``expose_state=True``."""
        if not self._exposes_state:
            raise AttributeError("state_space: there is none without expose_state=True")
        return self._state_space

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
        self._skip_agent_selection = None
        seat = self._game.seat
        if seat is None:
            raise RuntimeError("reset: no seat is to act")
        self.agent_selection = self.possible_agents[seat]
        if self.render_mode == "human":
            self.render()

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
        if self.render_mode == "human":
            self.render()

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

    def _was_dead_step(self, action: Any) -> None:
        """The selected agent, whose game has ended, is gone; as all end together, so will the next.

        PettingZoo's own would make the infos of all agents, only to drop one.
        """
        if action is not None:
            raise ValueError("when an agent is dead, the only valid action is None")
        agent = self.agent_selection
        del self.terminations[agent], self.truncations[agent]
        del self.rewards[agent], self._cumulative_rewards[agent]
        self.agents.remove(agent)
        first_gone = self._skip_agent_selection or agent
        if self.agents:
            self._skip_agent_selection, self.agent_selection = first_gone, self.agents[0]
        else:
            self._skip_agent_selection, self.agent_selection = None, first_gone
        self._clear_rewards()

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
            Info.of(self._game, self._seats[agent]),
        )

    @property
    def infos(self) -> dict[str, dict[str, Any]]:  # type: ignore[override]
        """The info of every agent, made when asked for."""
        return {agent: Info.of(self._game, self._seats[agent]) for agent in self.agents}

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """The table as one seat sees it.

        Returns:
            Text in the mode ``ansi``, (height, width, 3) uint8 in ``rgb_array``, None in ``human``, which
            shows a window, and without a render mode.
        """
        seat = self._seats[self.agent_selection] if self._viewer is None else self._viewer
        return self._display.show(self._game.view(seat))

    def state(self) -> npt.NDArray[np.float32]:
        """The full state, **all hidden cards included**, for centralised critics.

        Returns:
            Numbers from 0 to 1 in the order of :class:`cuckoo_env.state.StateLayout`, in
            ``state_space``.

        Raises:
            NotImplementedError: unless the environment was made with ``expose_state=True``.
        """
        if not self._exposes_state:
            raise NotImplementedError(
                "state: it holds all hidden cards; accepted: only with expose_state=True"
            )
        return state.encode(self._game, self.layout)

    @property
    def lives(self) -> tuple[int, ...]:
        """The lives of every agent, by seat."""
        return self._game.lives

    @property
    def rounds(self) -> int:
        """How many rounds of this game are over."""
        return int(self._game._games["rounds"][0])

    def record(self) -> dict[str, Any]:
        """This game so far as a record, in the format of :mod:`cuckoo_env.records`.

        It holds every card of the rounds that are over, and nothing of a round that is not.
        """
        return records.record(self._game)

    def close(self) -> None:
        """Close the window, if there is one; the next rendering opens it again."""
        self._display.close()

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        # Afresh, for compiled code wants the record types of this process.
        self.layout = dataclasses.replace(self.layout)


def _too_early(name: str) -> AttributeError:
    return AttributeError(f"{name} cannot be accessed before reset")


class _OnlyAfterReset:
    """Stands for an attribute of an environment as long as it has none of this name.

    ``__getattr__`` would do as well, but it makes every access to any attribute slower.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, env: object, owner: type) -> Any:
        if env is None:
            return self
        raise _too_early(self._name)


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

    # What reset gives an environment hides these: until then, asking for it is an error.
    agents, agent_selection = _OnlyAfterReset(), _OnlyAfterReset()
    rewards, terminations, truncations = _OnlyAfterReset(), _OnlyAfterReset(), _OnlyAfterReset()

    @property
    def infos(self) -> dict[str, dict[str, Any]]:  # type: ignore[override]
        if not self._has_reset:
            raise _too_early("infos")
        return super().infos

    @property
    def num_agents(self) -> int:
        if not self._has_reset:
            raise _too_early("num_agents")
        return super().num_agents

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
        observation, mask = self._game.observe(self._seats[agent], self.layout)
        return {"observation": observation, "action_mask": mask}

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        if not self._has_reset:
            EnvLogger.error_render_before_reset()
        return super().render()

    def state(self) -> npt.NDArray[np.float32]:
        if not self._has_reset:
            EnvLogger.error_state_before_reset()
        return super().state()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        if not self._has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return _CheckedIterable(self, max_iter)  # type: ignore[no-untyped-call]


class _CheckedIterable(AECIterable[str, Observation, int]):
    def __iter__(self) -> AECIterator[str, Observation, int]:
        return _CheckedIterator(self.env, self.max_iter)


class _CheckedIterator(AECOrderEnforcingIterator[str, Observation, int]):
    """PettingZoo's iterator over an env that is no wrapper: between two agents comes a step."""

    env: CheckedEnv

    def __init__(self, env: CheckedEnv, max_iter: int) -> None:
        AECIterator.__init__(self, env, max_iter)

    def __next__(self) -> str:
        env = self.env
        if not env.agents or self.iters_til_term <= 0:
            raise StopIteration
        self.iters_til_term -= 1
        assert env._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
        env._has_updated = False
        selected: str = env.agent_selection
        return selected


def _one_of(name: str, value: Any, accepted: list[Any]) -> Any:
    if value not in accepted:
        words = ", ".join(map(str, accepted))
        raise ValueError(f"{name}: {value!r} is refused; accepted: {words}")
    return value


raw_env = RawEnv
env = CheckedEnv
