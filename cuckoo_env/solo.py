"""Cuckoo for one learner, as a Gymnasium environment: ``gymnasium.make("cuckoo_env/Cuckoo-v0")``.

| fact         | value                                                                        |
|--------------|------------------------------------------------------------------------------|
| action space | ``Discrete(2)``, or ``Discrete(5)`` where asked seats respond                |
| observation  | ``Box(0, 1, (size,), float32)``: what the learner's seat sees                |
| reward       | the learner's whole return when its episode ends, zero before                |
| info         | ``{"action_mask": int8 vector of 0 and 1}``                                  |
| render modes | ``ansi``, ``rgb_array``, ``human``                                           |

```python
import cuckoo_env
import gymnasium

env = gymnasium.make("cuckoo_env/Cuckoo-v0", rules="onesies", opponents=("robin", "alex"), seat=0)
observation, info = env.reset(seed=42)
over = False
while not over:
    action = env.action_space.sample(info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
    over = terminated or truncated
```

**Arguments.** ``rules``: a preset, a preset with changes, or a :class:`~cuckoo_env.rules.Rules`.
``opponents``: who plays the other seats, in ascending order of seats: agents, or specs of agents such as
``robin`` or ``threshold:5``; fewer than seats are taken again from the first. ``seat``: the learner's.
``max_seats``, ``with_rules`` and ``n_actions`` make room in the vector for larger tables, for the rules
themselves, and for all five actions.

**Observation.** The fields of the vector and their meaning are the table
:data:`cuckoo_env.observation.FIELDS`; ``env.unwrapped.layout.names()`` names every number. At the end of an
episode it is what the learner sees then.

**Actions.** 0 keep; 1 swap; asked by another seat: 2 accept, 3 show, 4 pay. A step is the learner's decision
and everybody else's up to its next one, or to the end. The mask in the info, and
:meth:`CuckooEnv.action_masks` for sb3-contrib's ``MaskablePPO``, tell the legal actions: all zeros at
the end. An illegal action raises :class:`~cuckoo_env.game.IllegalActionError` (a ``ValueError``), which names
the legal ones, and nothing has changed then. Algorithms and checkers that ignore the mask can therefore be
used only where keep and swap are always legal, as they are under most rules without responses.

**The end.** ``terminated`` when the game is over, or as soon as the learner's return is settled because it
is out: not under rules that carry games over or limit the rounds, where the game is played to its end.
``truncated`` when ``max_rounds`` cut the game short. A game in which the learner has no decision at all (it
can lose its turn) is no episode: ``reset`` goes on to the first game in which it has one.

**Pictures.** ``render_mode`` as in :mod:`cuckoo_env.aec`: text, a picture or a window with the table as the
learner's seat sees it at its decisions and at the end. What each seat did in this round is in it; the story
in words is not, for the games in here are not recorded; and where the learner goes out before the others, its
last picture is of the deal that they go on with.

**Seeds.** ``reset(seed=s)`` starts the game of seed ``s``, the same everywhere; ``reset()`` goes on with the
generator as it is. Options are ignored. Copies and pickles in mid-game go on exactly as the original does.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from cuckoo_env import seeding
from cuckoo_env.batch import RESTART
from cuckoo_env.engine import ACTION_NAMES, N_ACTIONS
from cuckoo_env.game import IllegalActionError, player_names
from cuckoo_env.learner import Learners, Opponent, parse_seat, seed_words
from cuckoo_env.render.display import RENDER_FPS, RENDER_MODES, Display
from cuckoo_env.rules import Rules, RulesError


class CuckooEnv(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """One learner against agents, which are played inside the step.

    Attributes:
        rules: the rule set.
        layout: the layout of the observation.
        seat: the learner's seat.

    Example:
        >>> from cuckoo_env.agents import fill
        >>> env = CuckooEnv("practice-table", fill("robin,alex", Rules.parse("practice-table"), 0))
        >>> observation, info = env.reset(seed=42)
        >>> observation.shape, info["action_mask"].tolist()
        ((112,), [1, 1])
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        rules: Rules | str,
        opponents: Sequence[Opponent],
        seat: int = 0,
        *,
        max_seats: int | None = None,
        with_rules: bool = False,
        n_actions: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment: see the module for the arguments; opponents are agents here.

        Raises:
            ValueError: for a value that cannot be used, naming it.
            gymnasium.error.DependencyNotInstalled: for pictures without the extra ``render``.
        """
        self.rules = Rules.parse(rules)
        if parse_seat(seat, self.rules) is None:
            raise RulesError(f"seat: {seat} is refused; accepted: 0 to {self.rules.seats - 1}")
        self._game = Learners(
            self.rules,
            opponents,
            games=1,
            seat=seat,
            max_seats=max_seats,
            with_rules=with_rules,
            n_actions=n_actions,
        )
        self.layout = self._game.layout
        self.seat = int(self._game.learners[0])
        self.observation_space = spaces.Box(0.0, 1.0, (self.layout.size,), np.float32)
        self.action_space = spaces.Discrete(self.layout.n_actions)
        self._display = Display(render_mode, player_names(self.rules.seats))
        self._is_running = self._has_begun = False

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]
        """How the game is shown, or None."""
        return self._display.mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Start a game and play it up to the learner's first decision.

        Args:
            seed: a whole number from 0; None goes on with the generator as it is.
            options: ignored.

        Raises:
            ValueError: for a seed that is none.
        """
        if seed is not None:
            seed = seeding.check_seed(seed)
            self._game.reseed(np.zeros(1, np.intp), seed_words([seed]))
        super().reset(seed=seed)
        self._game.step(np.full(1, RESTART, np.int8))
        self._is_running = self._has_begun = True
        self._show()
        return self._game.observations[0].copy(), self._info()

    def step(
        self, action: Any
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """The learner decides, and the others play on to its next decision or the end.

        Raises:
            IllegalActionError: naming the seat, the action and the legal ones; nothing has changed then.
            gymnasium.error.ResetNeeded: before the first reset, and after the end of an episode.
        """
        if not self._is_running:
            raise gymnasium.error.ResetNeeded("step: no game is running; call reset first")
        game = self._game
        game.step(np.array([self._legal(action)], np.int8))
        self._show()
        observation = game.observations[0].copy()
        if not game.over[0]:
            return observation, 0.0, False, False, self._info()
        self._is_running, is_cut = False, bool(game.cut_short[0])
        return observation, float(game.payouts()[0]), not is_cut, is_cut, self._info()

    def render(self) -> Any:
        """The table as the learner sees it: see :meth:`cuckoo_env.render.display.Display.show`.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
        """
        if not self._has_begun:
            raise gymnasium.error.ResetNeeded("render: no game has begun; call reset first")
        return self._display.show(self._game.view(0))

    def _show(self) -> None:
        """A window shows every step by itself."""
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Close the window, if there is one; the next rendering opens it again."""
        self._display.close()

    def _legal(self, action: Any) -> int:
        legal = np.flatnonzero(self._game.masks[0]).tolist()
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if number not in legal:
            what = f"do {action!r}" if number not in range(N_ACTIONS) else ACTION_NAMES[number]
            names = ", ".join(f"{each} ({ACTION_NAMES[each]})" for each in legal)
            raise IllegalActionError(f"action: seat {self.seat} may not {what}; legal: {names}")
        return number

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._game.masks[0].copy()}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learner's legal actions: (layout.n_actions,) bool, all False at the end of an episode."""
        masks: npt.NDArray[np.bool_] = self._game.masks[0].astype(np.bool_)
        return masks
