"""Cuckoo for one learner in many games at once, as a Gymnasium vector environment.

``gymnasium.make_vec("cuckoo_env/Cuckoo-v0", num_envs=4096, rules=..., opponents=..., seat=...)`` makes a
:class:`CuckooVectorEnv`: a ``gymnasium.vector.VectorEnv`` over the batch engine, in one process. Spaces,
rewards, masks and ends are those of the single environment (:mod:`cuckoo_env.solo`): environment ``i``,
reset with seed ``s``, plays step by step as the single one reset with ``seeding.derive(s, i)``. The learner
can sit in one seat, or with ``seat="all"`` in seat ``i % seats`` of environment ``i``.

**Autoreset**, as Gymnasium defines it (``metadata["autoreset_mode"]``):

- ``NEXT_STEP``, the default: a step that ends an episode returns its last observation; the next step
  ignores the environment's action (its mask is all ones then), starts the next game, and returns a reward
  of 0.
- ``SAME_STEP``: a step that ends an episode returns the first observation and mask of the next game; the
  last ones are in ``infos["final_obs"]`` and ``infos["final_info"]``.
- ``DISABLED``: an environment whose episode has ended (its mask is all zeros) is started again by
  ``reset(options={"reset_mask": ...})``, and cannot be stepped before.

**Pictures.** With the ``render_mode`` ``ansi`` or ``rgb_array``, ``render()`` returns a text or a picture for
every environment, as the single one's does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from cuckoo_env import seeding
from cuckoo_env.batch import LEAVE, RESTART
from cuckoo_env.game import player_names
from cuckoo_env.learner import Learners, Opponent, seed_words
from cuckoo_env.render.display import RENDER_FPS, Display
from cuckoo_env.rules import Rules

Observations = npt.NDArray[np.float32]
Step = tuple[
    Observations,
    npt.NDArray[np.float64],
    npt.NDArray[np.bool_],
    npt.NDArray[np.bool_],
    dict[str, Any],
]


class CuckooVectorEnv(VectorEnv[Observations, npt.NDArray[Any], npt.NDArray[Any]]):
    """Many games with one learner each against agents, which are played inside the step.

    Attributes:
        rules: the rule set.
        layout: the layout of the observations.
        seats: (num_envs,) int16, the learner's seat in each environment.

    Example:
        >>> from cuckoo_env.agents import fill
        >>> opponents = fill("robin,alex", Rules.parse("practice-table"), 0)
        >>> envs = CuckooVectorEnv(1000, "practice-table", opponents)
        >>> observations, infos = envs.reset(seed=42)
        >>> observations.shape, infos["action_mask"].shape
        ((1000, 112), (1000, 2))
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        num_envs: int,
        rules: Rules | str,
        opponents: Sequence[Opponent],
        seat: int | str = 0,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        max_seats: int | None = None,
        with_rules: bool = False,
        n_actions: int | None = None,
        threads: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environments.

        Args:
            num_envs: how many.
            rules: the rule set.
            opponents: the agents in the other seats, in ascending order of seats.
            seat: the learner's; ``all`` for all seats in turn.
            autoreset_mode: as a member of Gymnasium's enumeration, or its value.
            copy: return observations that later steps leave alone; without, all steps return the
                same array, which the next one overwrites.
            max_seats: seats in the observation, if more than the table has.
            with_rules: whether the observation carries the rules.
            n_actions: size of the action space; by default 2, or 5 where the rules have responses.
            threads: threads to use; by default one a core.
            render_mode: ``ansi`` or ``rgb_array``, or None.

        Raises:
            ValueError: for a value that cannot be used, naming it.
            gymnasium.error.DependencyNotInstalled: for pictures without the extra ``render``.
        """
        mode = AutoresetMode(autoreset_mode)
        self._games = Learners(
            rules,
            opponents,
            num_envs,
            seat=seat,
            max_seats=max_seats,
            with_rules=with_rules,
            n_actions=n_actions,
            threads=threads,
        )
        self.rules, self.layout, self.seats = (
            self._games.rules[0],
            self._games.layout,
            self._games.learners,
        )
        self.num_envs = num_envs
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self.single_observation_space = spaces.Box(0.0, 1.0, (self.layout.size,), np.float32)
        self.single_action_space = spaces.Discrete(self.layout.n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._mode, self._copy, self._has_reset = mode, copy, False
        names, self.render_mode = player_names(self.rules.seats), render_mode
        self._display = Display(render_mode, names, modes=self.metadata["render_modes"])

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Start games and play them up to the learner's first decision.

        Args:
            seed: a whole number from 0, from which one is derived for every environment; or a sequence with
                one for each; None goes on with an environment's generator as it is.
            options: ``reset_mask``, (num_envs,) bool, names the environments to reset; by default all.
                Others are ignored.

        Returns:
            The observations, (num_envs, layout.size) float32, and the infos, with ``action_mask``
            (num_envs, layout.n_actions) int8, both of all environments.

        Raises:
            ValueError: for seeds or a mask that cannot be used.
        """
        chosen = self._chosen(options or {})
        self._reseed(seed, chosen)
        self._games.step(np.where(chosen, RESTART, LEAVE).astype(np.int8))
        self._has_reset = True
        return self._observations(), self._infos()

    def _chosen(self, options: dict[str, Any]) -> npt.NDArray[np.bool_]:
        mask = options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        chosen = np.asarray(mask)
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_ or not chosen.any():
            raise ValueError(
                f"reset_mask: {chosen.dtype} {chosen.shape} is refused; "
                f"accepted: ({self.num_envs},) bool, at least one of them True"
            )
        if not (self._has_reset or chosen.all()):
            raise ValueError("reset_mask: refused before the first reset, which is of all")
        return chosen

    def _reseed(
        self, seed: int | Sequence[int | None] | None, chosen: npt.NDArray[np.bool_]
    ) -> None:
        """Give the chosen environments their new generators."""
        if seed is None:
            return
        if isinstance(seed, list | tuple | np.ndarray):
            if len(seed) != self.num_envs:
                raise ValueError(
                    f"seed: {len(seed)} are refused; accepted: {self.num_envs}, or one for all"
                )
            given = np.array([chosen[i] and each is not None for i, each in enumerate(seed)])
            games = np.flatnonzero(given)
            self._games.reseed(games, seed_words([seed[i] for i in games]))
            return
        seed = seeding.check_seed(seed)
        super().reset(seed=seed)
        games = np.flatnonzero(chosen)
        self._games.reseed(games, seeding.derive_many(seed, self.num_envs)[games])

    def step(self, actions: npt.NDArray[Any]) -> Step:
        """The learners decide, and the others play on to their next decisions or the end.

        Args:
            actions: (num_envs,) whole numbers.

        Returns:
            (num_envs, layout.size) float32 observations; (num_envs,) float64 rewards; (num_envs,) bool, where
            episodes terminated, and where they were truncated; the infos, with ``action_mask``
            (num_envs, layout.n_actions) int8.

        Raises:
            ValueError: for an illegal action, naming the legal ones; no environment has moved then.
            gymnasium.error.ResetNeeded: before the first reset, and without autoreset where an episode
                has ended.
        """
        games = self._games
        games.step(self._moves(np.asarray(actions)))
        rewards, truncations = games.payouts(), games.cut_short
        terminations = games.over & ~truncations
        final: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP:
            final = self._renew(games.over)
        return self._observations(), rewards, terminations, truncations, {**final, **self._infos()}

    def _moves(self, actions: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """The actions, and in their place restarts where these are due."""
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions: {actions.dtype} {actions.shape} is refused; "
                f"accepted: ({self.num_envs},) integers"
            )
        over = self._games.over
        if not self._has_reset or (over.any() and self._mode is AutoresetMode.DISABLED):
            which = (
                f"environment {over.argmax()} has ended" if self._has_reset else "none is running"
            )
            raise gymnasium.error.ResetNeeded(f"step: {which}; call reset first")
        unknown = (actions < 0) | (actions >= self.layout.n_actions)
        if (unknown & ~over).any():
            i = int((unknown & ~over).argmax())
            legal = np.flatnonzero(self._games.masks[i]).tolist()
            raise ValueError(f"actions: {actions[i]} is illegal in game {i}; accepted: {legal}")
        moves = actions.astype(np.int8)
        moves[over] = RESTART
        return moves

    def _renew(self, over: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Start the next game where one has ended; returns the infos about those that ended."""
        if not over.any():
            return {}
        games, ended = self._games, np.flatnonzero(over)
        observations = np.full(self.num_envs, None, object)
        for i, observation in zip(ended, games.observations[ended], strict=True):
            observations[i] = observation
        masks = np.zeros_like(games.masks)
        games.step(np.where(over, RESTART, LEAVE).astype(np.int8))
        info = {"action_mask": masks, "_action_mask": over}
        return {
            "final_obs": observations,
            "_final_obs": over,
            "final_info": info,
            "_final_info": over,
        }

    def render(self) -> tuple[Any, ...] | None:
        """Every table as its learner sees it: texts or pictures; None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self._display.show(self._games.view(i)) for i in range(self.num_envs))

    def _observations(self) -> Observations:
        return self._games.observations.copy() if self._copy else self._games.observations

    def _infos(self) -> dict[str, Any]:
        masks = self._games.masks.copy()
        if self._mode is AutoresetMode.NEXT_STEP:
            masks[self._games.over] = 1  # the next action is ignored, so every one will do
        return {"action_mask": masks, "_action_mask": np.ones(self.num_envs, np.bool_)}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learners' legal actions, as in the infos: (num_envs, layout.n_actions)."""
        masks: npt.NDArray[np.bool_] = self._infos()["action_mask"].astype(np.bool_)
        return masks
