"""The learner's view of many games at once, as stable-baselines3 wants it.

A learner's step is "my decision, then everybody else's, up to my next decision or the end": the
opponents are played inside the step. Opponents that are data run in the engine's compiled loop;
others, such as trained networks, are asked through the batch, all games of a seat at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from cuckoo_env import seeding
from cuckoo_env.agents import Agent
from cuckoo_env.batch import LEAVE, RESTART
from cuckoo_env.engine import MAY_ONLY_KEEP, STOPS_DEAL, compile_rules
from cuckoo_env.learner import ALL_SEATS, Learners
from cuckoo_env.rules import Rules
from cuckoo_env.shaping import lives_potential
from cuckoo_env.train.checkpoint import State, games_state, restore_games

Shaping = Literal["none", "lives"]
SHAPINGS: Final[tuple[Shaping, ...]] = ("none", "lives")


def needs_masks(rules: Rules) -> bool:
    """Whether an action is ever illegal, so that a learner needs action masks."""
    row = compile_rules(rules)[0]
    forced = np.bitwise_or.reduce(row["power"]) & (STOPS_DEAL | MAY_ONLY_KEEP)
    return bool(row["responds"] or row["rotation"] or forced)


class CuckooVecEnv(VecEnv):
    """Many games with one learning seat each.

    Rewards are in stakes and come at the end of a game: what the seat takes from the pot less what
    it staked. An episode ends with the game, or as soon as the learner's return is settled because
    it is out. A game cut short by ``max_rounds`` is an end like any other: the observation counts
    the rounds down.

    Attributes:
        rules: the rule set.
        layout: the layout of the observations.
        learners: (games,) the learner's seat in each game.
        finished: games that ended so far.
        return_sum: what the learner took in them, in stakes, without shaping.

    Example:
        >>> from cuckoo_env.agents import fill
        >>> from cuckoo_env.rules import Rules
        >>> rules = Rules.parse("practice-table")
        >>> env = CuckooVecEnv(rules, fill("robin,alex", rules, 0), games=8, seat=0, seed=1)
        >>> env.reset().shape
        (8, 112)
    """

    def __init__(
        self,
        rules: Rules,
        opponents: Sequence[Agent],
        *,
        games: int,
        seat: int | None,
        seed: int | None = None,
        shaping: Shaping = "none",
        with_rules: bool = False,
        max_seats: int | None = None,
    ) -> None:
        """Make the games; the first reset starts them.

        Args:
            rules: the rule set.
            opponents: who plays the other seats, in ascending order of seats.
            games: how many games run side by side.
            seat: the learner's seat; None for all seats in turn: seat ``i % seats`` in game ``i``.
            seed: starts the games as :class:`~cuckoo_env.batch.Batch` does.
            shaping: ``lives`` adds the change of :meth:`potentials` to the rewards.
            with_rules: whether the observation carries the rules.
            max_seats: seats in the observation, if more than the table has.

        Raises:
            ValueError: if the opponents do not fill the table, or a value cannot be used.
        """
        if shaping not in SHAPINGS:
            raise ValueError(f"shaping: {shaping!r} is refused; accepted: {' or '.join(SHAPINGS)}")
        self.rules = rules
        self._games = Learners(
            rules,
            opponents,
            games,
            seat=ALL_SEATS if seat is None else seat,
            seed=0,  # the first reset starts the games
            max_seats=max_seats,
            with_rules=with_rules,
        )
        self.layout, self.learners = self._games.layout, self._games.learners
        self._shaped = shaping == "lives"
        self._seed: int | None = seeding.check_seed(seed)
        self._infos: list[dict[str, Any]] = [{}] * games
        self.finished, self.return_sum = 0, 0.0
        super().__init__(
            games,
            spaces.Box(0.0, 1.0, (self.layout.size,), np.float32),
            spaces.Discrete(self.layout.n_actions),
        )

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Start from this seed at the next reset; without one the games' generators run on."""
        self._seed = seed
        return [seed] * self.num_envs

    def reset(self) -> npt.NDArray[np.float32]:
        """Start all games afresh: (games, layout.size) float32."""
        if self._seed is None:
            self._games.step(np.full(self.num_envs, RESTART, np.int8))
        else:
            self._games.reset(self._seed)
        self._seed = None
        self._potential = self.potentials()
        return self._games.observations.copy()

    def step_async(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        """Take note of the learner's action in every game."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        list[dict[str, Any]],
    ]:
        """Play every game on to the learner's next decision.

        Returns:
            (games, layout.size) float32 observations, those of the new game where one ended;
            (games,) float32 rewards; (games,) bool, where a game ended; the infos, which are empty.
        """
        games = self._games
        games.step(self._actions)
        over = games.over
        rewards = (games.payouts() / self.rules.stake).astype(np.float32)
        self.finished += int(over.sum())
        self.return_sum += float(rewards.sum(dtype=np.float64))
        games.step(np.where(over, RESTART, LEAVE).astype(np.int8))
        if self._shaped:
            potential = self.potentials()
            rewards += np.where(over, 0.0, potential) - self._potential
            self._potential = potential
        return self._games.observations.copy(), rewards, over, self._infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learner's legal actions: (games, layout.n_actions)."""
        return self._games.masks.astype(np.bool_)

    def potentials(self) -> npt.NDArray[np.float32]:
        """The learner's :func:`~cuckoo_env.shaping.lives_potential`: (games,), in stakes."""
        lives = self.layout.view(self._games.observations, "lives")[:, : self.rules.seats, 0]
        return lives_potential(lives)[:, 0]

    def state(self) -> State:
        """The games as they stand, and what was counted, for a checkpoint."""
        counted = {"finished": self.finished, "return_sum": self.return_sum}
        return State.join({"games": games_state(self._games), "counted": State(values=counted)})

    def restore(self, state: State) -> npt.NDArray[np.float32]:
        """Go on from where games stood: their observations, (games, layout.size) float32.

        Raises:
            ValueError: if the state is not one of such games.
        """
        restore_games(self._games, state.part("games"))
        counted = state.part("counted").values
        self.finished, self.return_sum = counted["finished"], counted["return_sum"]
        self._seed = None
        self._potential = self.potentials()
        return self._games.observations.copy()

    # -- What else stable-baselines3 asks for -----------------------------------------------------

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute, once for each game: all games share it."""
        value = None if attr_name == "render_mode" else getattr(self, attr_name)
        return [value] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: the games share everything.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{attr_name}: the games of a batch have no attributes of their own")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> Any:
        """The result of a method for all games at once, one row a game."""
        return getattr(self, method_name)(*method_args, **method_kwargs)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No game is wrapped in anything."""
        return [False] * self.num_envs
