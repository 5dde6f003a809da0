"""Many games at once: the engine's own loop, for training, evaluation and people who write their own.

A :class:`Batch` steps thousands of games with one call. Seats can be played from outside (the caller passes
actions) or by data agents (:mod:`cuckoo_env.autoplay`), which are stepped inside until the next outside
seat is to act. Games of several rule sets and table sizes can share a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from cuckoo_env import seeding
from cuckoo_env.autoplay import OUTSIDE, PLAYER, choose, uniform
from cuckoo_env.compiled import (
    SLICE,
    available_cores,
    entry,
    in_slices,
    inlined,
    routine,
    slice_done,
    take_slice,
)  # fmt: skip
from cuckoo_env.engine import (
    NOBODY,
    OVER,
    RULES,
    apply,
    begin_game,
    compile_rules,
    is_in,
    new_games,
)
from cuckoo_env.engine import TRUNCATED as GAME_TRUNCATED
from cuckoo_env.observation import Layout, encode, sections_of, write_mask
from cuckoo_env.rules import FinalTie, Rules, RulesError

LEAVE: Final = -1
"""The "action" that leaves a game as it is."""
RESTART: Final = -2
"""The "action" that gives a game up and starts the next one, from the game's own generator."""

# What `done` says of a game.
PLAYING: Final = 0
ENDED: Final = 1
CUT_SHORT: Final = 2
"""Truncated by ``max_rounds``."""


@inlined
def _is_settled(g: Any, settles: int, learner: int) -> bool:
    """Whether the game is over, or the seat it is played for can gain or lose no more."""
    if int(g.phase) == OVER:
        return True
    return settles != 0 and learner != NOBODY and not is_in(g, learner)


@routine
def _note_result(g: Any, r: Any, i: int, done: Any, returns: Any, winners: Any) -> None:
    """Keep what each seat takes from a game that ends here; a seat that is out has lost its stakes."""
    done[i] = CUT_SHORT if int(g.result) == GAME_TRUNCATED else ENDED
    for seat in range(int(r.seats)):
        winners[i, seat] = g.won[seat]
        if int(g.phase) == OVER:
            returns[i, seat] = g.payoff[seat]
        elif is_in(g, seat):
            returns[i, seat] = np.nan
        else:
            returns[i, seat] = -float(r.stake) * int(g.staked[seat])


@entry
def _find_illegal(mask: Any, actions: Any) -> int:
    """The first game whose action is not legal, or -1."""
    for i in range(actions.shape[0]):
        action = int(actions[i])
        if action == LEAVE or action == RESTART:
            continue
        if action < 0 or action >= mask.shape[1] or not mask[i, action]:
            return i
    return -1


@entry
def _run(
    shares: Any, games: Any, rules: Any, layout: Any, sections: Any, settles: Any, learners: Any, plan: Any,
    plan_of: Any, dice: Any, actions: Any, observation: Any, mask: Any, seats: Any, done: Any, returns: Any,
    winners: Any, renew: bool,
) -> None:  # fmt: skip
    """Take the actions in the games that this thread gets, and play on to an outside seat's turn."""
    start = take_slice(shares)
    while start < games.shape[0]:
        stop = min(start + SLICE, games.shape[0])
        # Unsigned, for every signed index is checked for counting from the end.
        for i in range(np.uint64(start), np.uint64(stop)):
            action = int(actions[i])
            if action == LEAVE:
                continue
            g = games[i]
            which = np.uint64(g.rules)
            r = rules[which]
            row, learner = np.uint64(plan_of[i]), int(learners[i])
            done[i] = PLAYING
            while True:
                if action == RESTART:
                    begin_game(g, r)
                else:
                    apply(g, r, action)
                is_settled = _is_settled(g, int(settles[which]), learner)
                if is_settled:
                    if done[i] == PLAYING:
                        _note_result(g, r, i, done, returns, winners)
                    if renew:
                        begin_game(g, r)
                stands = is_settled and not renew
                seat = learner if stands else int(g.seat)
                if seat != NOBODY:
                    encode(g, r, layout[0], sections, seat, observation, i)
                if stands:
                    _stand_still(mask, seats, i)
                    break
                write_mask(g, r, mask, i)
                player = plan[row, np.uint64(seat)]
                if int(player.kind) == OUTSIDE:
                    seats[i] = seat
                    break
                action = choose(player, layout[0], observation, mask, i, uniform(dice, i))
        slice_done(shares, stop - start)
        start = take_slice(shares)


@routine
def _stand_still(mask: Any, seats: Any, i: int) -> None:
    seats[i] = NOBODY
    for action in range(mask.shape[1]):
        mask[i, action] = 0


def everyone_outside(max_seats: int) -> npt.NDArray[np.void]:
    """The seat plan in which the caller plays every seat: (1, max_seats) of ``PLAYER``."""
    return np.zeros((1, max_seats), PLAYER)


def return_settles(rules: Rules) -> bool:
    """Whether a seat that is out can no longer gain or lose: not where games are carried or truncated."""
    return (
        rules.final_tie not in (FinalTie.CARRY, FinalTie.CARRY_STAKE) and rules.max_rounds is None
    )


class Batch:
    """Many games, stepped together.

    Attributes:
        observations: (games, layout.size) float32, what the seat to act sees.
        masks: (games, layout.n_actions) int8, its legal actions; all zeros where a game stands still.
        seats: (games,) int16, the seat to act; -1 where a game is over and was not renewed.
        done: (games,) int8, whether a game ended in the last step that was not ``LEAVE``: 0, ``ENDED`` or
            ``CUT_SHORT``.
        returns: (games, max_seats) float64, what each seat takes from the game that ended last: what it took
            from the pot less its stakes; NaN for seats whose return was not settled yet.
        layout: the layout of the observations.

        winners: (games, max_seats) int8, 1 for each winner of the game that ended last: none where
            nobody won, or where the game ended early because the outside seats' returns were settled.

    The arrays are overwritten by every step; copy what you keep.

    Example:
        >>> import numpy as np
        >>> batch = Batch("practice-table", games=1000, seed=7)
        >>> batch.step(np.zeros(1000, np.int8))  # everyone keeps
        >>> batch.seats[:3].tolist()
        [1, 1, 1]
    """

    def __init__(
        self,
        rules: Rules | str | Sequence[Rules | str],
        games: int,
        *,
        seed: int | None = None,
        plan: npt.NDArray[np.void] | None = None,
        plan_of: npt.NDArray[np.integer[Any]] | None = None,
        max_seats: int | None = None,
        with_rules: bool = False,
        n_actions: int | None = None,
        renew: bool = True,
        learners: npt.NDArray[np.integer[Any]] | None = None,
        threads: int | None = None,
    ) -> None:
        """Make the batch and start all games.

        Args:
            rules: one rule set, or several that the games take in turn.
            games: how many games.
            seed: game ``i`` is the single game seeded with ``seeding.derive(seed, i)``; None: random.
            plan: who plays: (rows, max_seats) of ``PLAYER``; by default the caller plays every seat.
            plan_of: the row of the plan for each game; by default ``i`` modulo the number of rows.
            max_seats: seats in the observation and the results; by default as many as the largest table.
            with_rules: whether the observation carries the rules.
            n_actions: size of the action space; by default 2, or 5 where any rule set has responses.
            renew: start the next game where one ends; a game without a decision from outside is passed over.
            learners: the seat that each game is played for, (games,): the game ends as soon as this seat can
                gain or lose no more, and where games are not renewed, the observation is then this seat's.
            threads: threads to use; by default one a core.

        Raises:
            ValueError: for a value that cannot be used, naming it.
        """
        several = [rules] if isinstance(rules, Rules | str) else list(rules)
        self.rules = tuple(Rules.parse(each) for each in several)
        games = _count("games", games)
        self.layout = _common_layout(self.rules, max_seats, with_rules, n_actions)
        seats = self.layout.max_seats
        self._threads = available_cores() if threads is None else _count("threads", threads)
        self._renew = renew
        # The very record type of the engine: Numba takes longer over one that is merely equal.
        self._table = np.concatenate([compile_rules(each) for each in self.rules], dtype=RULES)
        self._sections = sections_of(self.layout, self.rules)
        self._settles = np.array([return_settles(r) for r in self.rules], np.int8)
        self._learners = np.full(games, NOBODY, np.int16)
        if learners is not None:
            self._learners[:] = learners
        self._games = new_games(games, seats, recording=False)
        self._games["rules"] = np.arange(games) % len(self.rules)
        self._plan = everyone_outside(seats) if plan is None else plan
        self._plan_of = np.asarray(
            np.arange(games) % len(self._plan) if plan_of is None else plan_of, np.int32
        )
        self._check_plan()
        self.observations = np.zeros((games, self.layout.size), np.float32)
        self.masks = np.zeros((games, self.layout.n_actions), np.int8)
        self.seats = np.full(games, NOBODY, np.int16)
        self.done = np.zeros(games, np.int8)
        self.returns = np.zeros((games, seats), np.float64)
        self.winners = np.zeros((games, seats), np.int8)
        self.reset(seed)

    def __len__(self) -> int:
        """The number of games."""
        return len(self._games)

    def _check_plan(self) -> None:
        games, (rows, seats) = len(self._games), self._plan.shape
        fits = (
            len(self._plan_of) == games
            and (self._plan_of >= 0).all()
            and (self._plan_of < rows).all()
        )
        if seats < self.layout.max_seats or not fits:
            raise ValueError(
                f"plan: {rows} rows of {seats} seats do not fit {games} games of {self.layout.max_seats}"
            )
        outside = self._plan["kind"] == OUTSIDE
        pairs = np.stack([self._plan_of, self._games["rules"]], axis=1)
        for row, which in np.unique(pairs, axis=0):
            if not outside[row, : self.rules[which].seats].any():
                raise ValueError("plan: every game needs a seat that is played from outside")

    @property
    def rounds(self) -> npt.NDArray[np.int32]:
        """(games,) int32, completed rounds of each game: of the one that ended, where none was renewed."""
        rounds: npt.NDArray[np.int32] = self._games["rounds"].copy()
        return rounds

    _PER_GAME: ClassVar[tuple[str, ...]] = (
        "_games", "_dice", "_learners", "_plan_of",
        "observations", "masks", "seats", "done", "returns", "winners",
    )  # fmt: skip
    """The arrays with one row a game."""

    def fork(self, rows: npt.NDArray[np.integer[Any]]) -> Self:
        """A batch of copies of some games, which go on independently.

        A copy has its game's hidden cards and generators: copies that are played alike stay alike, and
        copies that are played differently meet the same luck, as far as they draw on it in the same order.

        Args:
            rows: (n,) the numbers of the games, in the order of the new batch; a game may come often.
        """
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for name in self._PER_GAME[1:]:
            setattr(twin, name, getattr(self, name).take(rows, axis=0))
        # As bytes, which are copied ten times as fast as records.
        as_bytes = self._games.view(np.uint8).reshape(len(self), -1)
        twin._games = as_bytes.take(rows, axis=0).reshape(-1).view(self._games.dtype)
        return twin

    def reset(self, seed: int | None = None, *, first: int = 0) -> None:
        """Start all games afresh, from a new seed.

        Args:
            seed: a whole number from 0; None for a random one.
            first: game ``i`` is seeded with ``seeding.derive(seed, first + i)``, so that many batches can be
                parts of one long row of games.
        """
        stop = first + len(self)
        seeds = seeding.derive_many(seeding.check_seed(seed), stop, first=first)
        self._games["rng"][:, :2] = seeding.generator_words(seeds, seeding.CARDS)
        self._dice = seeding.generator_words(seeds, seeding.CHOICES)
        self._step(np.full(len(self), RESTART, np.int8))

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        """Take one action in every game, and play on to the next turn of a seat played from outside.

        Args:
            actions: (games,) whole numbers: legal actions, ``LEAVE`` or ``RESTART``.

        Raises:
            ValueError: for an illegal action, naming the legal ones; no game has moved then.
        """
        given = actions = np.asarray(actions)
        if actions.shape != (len(self),) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions: {actions.dtype} {actions.shape} is refused; accepted: ({len(self)},) integers"
            )
        if not (actions.dtype == np.int8 and actions.flags.carray):
            # One type for compiled code; what is out of its range stays illegal.
            actions = np.clip(actions, RESTART - 1, 127).astype(np.int8)
        bad = _find_illegal(self.masks, actions)
        if bad >= 0:
            legal = np.flatnonzero(self.masks[bad]).tolist()
            raise ValueError(f"actions: {given[bad]} is illegal in game {bad}; accepted: {legal}")
        self._step(actions)

    def _step(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        arguments = (
            self._games, self._table, self.layout.offsets, self._sections, self._settles,
            self._learners, self._plan, self._plan_of, self._dice, actions, self.observations,
            self.masks, self.seats, self.done, self.returns, self.winners, self._renew,
        )  # fmt: skip
        in_slices(lambda shares: _run(shares, *arguments), len(self), self._threads)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:
        raise ValueError(f"{name}: {value} is refused; accepted: a whole number from 1")
    return int(value)


def _common_layout(
    rules: tuple[Rules, ...], max_seats: int | None, with_rules: bool, n_actions: int | None
) -> Layout:
    """One layout that every rule set of the batch fits."""
    if not rules:
        raise RulesError("rules: [] is refused; accepted: at least one rule set")
    own = [
        Layout.of(each, max_seats=max_seats, with_rules=with_rules, n_actions=n_actions)
        for each in rules
    ]
    return Layout(
        max_seats=max(layout.max_seats for layout in own),
        with_rules=with_rules,
        n_actions=max(layout.n_actions for layout in own),
    )
