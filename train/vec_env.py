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
from cuckoo_env.agents import Agent, sample
from cuckoo_env.autoplay import PLAYER, roll
from cuckoo_env.batch import LEAVE, RESTART, Batch, return_settles
from cuckoo_env.engine import MAY_ONLY_KEEP, NOBODY, STOPS_DEAL, compile_rules
from cuckoo_env.evaluate.arena import CHOICES
from cuckoo_env.rules import Rules, RulesError

Shaping = Literal["none", "lives"]
SHAPINGS: Final[tuple[Shaping, ...]] = ("none", "lives")
ALL_SEATS: Final = "all"


def needs_masks(rules: Rules) -> bool:
    """Whether an action is ever illegal, so that a learner needs action masks."""
    row = compile_rules(rules)[0]
    forced = np.bitwise_or.reduce(row["power"]) & (STOPS_DEAL | MAY_ONLY_KEEP)
    return bool(row["responds"] or row["rotation"] or forced)


def parse_seat(text: str | int, rules: Rules) -> int | None:
    """The learner's seat that ``text`` names, or None for ``all``.

    Raises:
        RulesError: if there is no such seat.
    """
    if str(text) == ALL_SEATS:
        return None
    number = int(text) if str(text).isascii() and str(text).isdigit() else -1
    if not 0 <= number < rules.seats:
        raise RulesError(
            f"seat: {text} is refused; accepted: 0 to {rules.seats - 1}, or {ALL_SEATS}"
        )
    return number


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
        if len(opponents) != rules.seats - 1:
            raise ValueError(
                f"opponents: {len(opponents)} are refused; accepted: {rules.seats - 1}"
            )
        if shaping not in SHAPINGS:
            raise ValueError(f"shaping: {shaping!r} is refused; accepted: {' or '.join(SHAPINGS)}")
        self.rules = rules
        self._tables = _tables(rules, opponents, seat)  # one row for every seat a learner sits in
        rows = np.arange(games) % len(self._tables)
        self.learners = np.array([table.index(None) for table in self._tables])[rows]
        self._table_of = rows
        self._batch = Batch(
            rules,
            games,
            seed=0,  # the first reset starts the games
            plan=_plan(self._tables),
            plan_of=rows,
            max_seats=max_seats,
            with_rules=with_rules,
            # A game that is over waits for us, so that no result is missed where a game can
            # begin and end without a decision of the learner.
            renew=False,
            settle_early=True,
        )
        self.layout = self._batch.layout
        self._asked_outside = [
            (row, seat, agent)
            for row, table in enumerate(self._tables)
            for seat, agent in enumerate(table)
            if agent is not None and agent.player() is None
        ]
        self._settles = return_settles(rules)
        self._shaped = shaping == "lives"
        self._given_up = np.zeros(games, np.bool_)
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
        self._given_up[:] = False
        if self._seed is None:
            self._batch.step(np.full(self.num_envs, RESTART, np.int8))
        else:
            self._batch.reset(self._seed)
            self._start_dice(self._seed)
        self._seed = None
        self._let_opponents_play()
        self._play_to_learner()
        self._potential = self.potentials()
        return self._batch.observations.copy()

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
        self._step(self._actions)
        over = self._over()
        rewards = np.zeros(self.num_envs, np.float32)
        rewards[over] = self._returns(over)
        self.finished += int(over.sum())
        self.return_sum += float(rewards.sum(dtype=np.float64))
        self._play_to_learner()
        if self._shaped:
            potential = self.potentials()
            rewards += np.where(over, 0.0, potential) - self._potential
            self._potential = potential
        return self._batch.observations.copy(), rewards, over, self._infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learner's legal actions: (games, layout.n_actions)."""
        return self._batch.masks.astype(np.bool_)

    def potentials(self) -> npt.NDArray[np.float32]:
        """What the learner would take, in stakes, if it won by its share of all lives: (games,).

        Zero at the start of a game, where all have the same lives, and by definition at its end; so
        rewards shaped by it sum up to the return.
        """
        lives = self.layout.view(self._batch.observations, "lives")[..., 0]
        return self.rules.seats * lives[:, 0] / lives.sum(axis=1) - 1  # type: ignore[no-any-return]

    def _start_dice(self, seed: int) -> None:
        """Opponents that are asked outside draw from a stream of their own for each game."""
        seeds = seeding.derive_many(seed, len(self._batch))
        self._dice = seeding.generator_words(seeds, CHOICES)

    # -- Playing on -------------------------------------------------------------------------------

    def _step(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        """Take the actions, and let the others play until the learner is to decide or all is over."""
        self._batch.step(actions)
        self._let_opponents_play()

    def _let_opponents_play(self) -> None:
        """Ask the opponents that are no data until none of them is to act."""
        while self._asked_outside:
            replies = self._replies()
            if (replies == LEAVE).all():
                return
            self._batch.step(replies)

    def _play_to_learner(self) -> None:
        """Start the next game where one is over, until the learner is to decide in all of them."""
        while (over := self._over()).any():
            self._given_up[over] = False
            self._step(np.where(over, RESTART, LEAVE).astype(np.int8))

    def _over(self) -> npt.NDArray[np.bool_]:
        over: npt.NDArray[np.bool_] = (self._batch.seats == NOBODY) | self._given_up
        return over

    def _returns(self, over: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """What the learner took in the games that are over, in stakes."""
        returns = self._batch.returns[over, self.learners[over]] / self.rules.stake
        # Who is out where nothing is carried over has lost its one stake.
        return np.where(self._given_up[over], -1.0, returns)

    def _replies(self) -> npt.NDArray[np.int8]:
        """The actions of the opponents that are asked outside; LEAVE where none is to act."""
        replies = np.full(self.num_envs, LEAVE, np.int8)
        for row, seat, agent in self._asked_outside:
            games = np.flatnonzero(
                (self._batch.seats == seat) & (self._table_of == row) & ~self._given_up
            )
            games = self._without_settled(games, seat)
            if games.size:
                observations, masks = self._batch.observations[games], self._batch.masks[games]
                chances = agent.probabilities(observations, masks, self.layout)
                luck = np.empty(games.size)
                roll(self._dice, games, luck)
                replies[games] = sample(chances, luck)
        return replies

    def _without_settled(self, games: npt.NDArray[np.intp], seat: int) -> npt.NDArray[np.intp]:
        """Give up the games whose learner is out for good; the others are left to play."""
        if not self._settles or not games.size:
            return games
        step = 1 if self.rules.direction == "left" else -1
        relative = (self.learners[games] - seat) * step % self.rules.seats
        in_play = self.layout.view(self._batch.observations[games], "in_play")[..., 0]
        out = in_play[np.arange(games.size), relative] == 0
        self._given_up[games[out]] = True
        left: npt.NDArray[np.intp] = games[~out]
        return left

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


def _tables(rules: Rules, opponents: Sequence[Agent], seat: int | None) -> list[list[Agent | None]]:
    """Who sits where, None for the learner: one table for every seat that a learner sits in."""
    tables = []
    for learner in range(rules.seats) if seat is None else [seat]:
        table: list[Agent | None] = list(opponents)
        table.insert(learner, None)
        tables.append(table)
    return tables


def _plan(tables: list[list[Agent | None]]) -> npt.NDArray[np.void]:
    """The seat plan of the tables: data agents are stepped inside the engine's loop."""
    plan = np.zeros((len(tables), len(tables[0])), PLAYER)
    for row, table in enumerate(tables):
        for seat, agent in enumerate(table):
            player = None if agent is None else agent.player()
            if player is not None:
                plan[row, seat] = player
    return plan
