"""One learning seat in each of many games: what every one-learner environment stands on.

A learner's step is "my decision, then everybody else's, up to my next decision or the end". The
opponents are agents, asked only with what their seats see. If all of them are data
(:data:`cuckoo_env.autoplay.PLAYER`) they are played in the engine's compiled loop; otherwise all are asked
through the batch, the games of one agent together. Either way the same games come of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from cuckoo_env import seeding
from cuckoo_env.autoplay import OUTSIDE, PLAYER, roll, sample
from cuckoo_env.batch import (
    CUT_SHORT,
    LEAVE,
    RESTART,
    Batch,
    everyone_outside,
)
from cuckoo_env.engine import ACTION_NAMES, NOBODY
from cuckoo_env.game import View, view_of
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules, RulesError

ALL_SEATS: Final = "all"
"""The learner's seat that takes all seats in turn: seat ``i % seats`` in game ``i``."""

_MOST_PASSED: Final = 10_000
"""So many games in a row without a decision of the learner, and there is none to wait for."""


class Opponent(Protocol):
    """What can sit opposite a learner: whatever maps what a seat sees to the chances of its actions."""

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """The chance of every action, for many seats to act at once.

        Args:
            observations: (n, layout.size) float32, what each seat sees.
            masks: (n, layout.n_actions) int8, 1 for each legal action, one at least in a row.
            layout: the layout of the observations.

        Returns:
            (n, layout.n_actions) float64; rows sum to one, illegal actions have zero.
        """

    def player(self) -> np.void | None:
        """Its :data:`~cuckoo_env.autoplay.PLAYER` record if it is data, else None."""


def seed_words(seeds: Sequence[int]) -> npt.NDArray[np.uint64]:
    """Seeds of any size as the words that :meth:`Learners.reseed` takes: (len(seeds),) uint64.

    Raises:
        ValueError: for a seed that is none.
    """
    whole = [seeding.check_seed(seed) for seed in seeds]
    words = [seed if seed < 2**64 else int(seeding.fold(seed)[0]) for seed in whole]
    return np.array(words, np.uint64)


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


class Learners(Batch):
    """Many games with one learning seat each; whoever else sits there is played inside.

    A game ends here when it is over, or as soon as the learner's return is settled because it is
    out for good: not where the rules carry games over or cut them short. It then stands still until
    it is restarted. A game in which the learner never gets to decide is no episode: restarting goes
    on to the first game with a decision.

    Attributes:
        observations: (games, layout.size) float32, what the learner sees: when it is to decide, or how its
            game ended.
        masks: (games, layout.n_actions) int8, its legal actions; all zeros where a game stands still.
        learners: (games,) int16, the learner's seat.

    The arrays are overwritten by every step; copy what you keep.

    Example:
        >>> from cuckoo_env.agents import fill
        >>> rules = Rules.parse("practice-table")
        >>> games = Learners(rules, fill("robin,alex", rules, 0), games=1000, seed=7)
        >>> games.step(np.zeros(1000, np.int8))  # the learner keeps
        >>> bool((games.observations[:, games.layout.slices["acts"]][:, 0] == ~games.over).all())
        True
    """

    def __init__(
        self,
        rules: Rules | str | Sequence[Rules | str],
        opponents: Sequence[Opponent] | Sequence[Sequence[Opponent]],
        games: int,
        *,
        seat: int | str = 0,
        seed: int | None = None,
        max_seats: int | None = None,
        with_rules: bool = False,
        n_actions: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Make the games and start them.

        Args:
            rules: the rule set; or several, which the games take in turn.
            opponents: who plays the other seats, in ascending order of seats; a sequence of them for each
                of several rule sets.
            games: how many games.
            seat: the learner's seat; ``all`` for all seats in turn: seat ``i % seats`` in game ``i``, and
                of several rule sets each in its own games.
            seed: game ``i`` is the single game seeded with ``seeding.derive(seed, i)``; None: random.
            max_seats: seats in the observation, if more than the table has.
            with_rules: whether the observation carries the rules.
            n_actions: size of the action space; by default 2, or 5 where the rules have responses.
            threads: threads to use; by default one a core.

        Raises:
            ValueError: for a value that cannot be used, naming it.
        """
        self._settings = {
            "rules": rules, "opponents": opponents, "games": games, "seat": seat,
            "max_seats": max_seats, "with_rules": with_rules, "n_actions": n_actions,
            "threads": threads,
        }  # fmt: skip
        several, lineups = _several(rules, opponents)
        by_rules = [
            _tables(each, lineup, parse_seat(seat, each))
            for each, lineup in zip(several, lineups, strict=True)
        ]
        tables = [table for those in by_rules for table in those]
        of_game = _table_of_game([len(those) for those in by_rules], games)
        self.learners = np.array([table.index(None) for table in tables], np.int16)[of_game]
        width = max(max_seats or 0, *(each.seats for each in several))
        everyone = {id(each): each for lineup in lineups for each in lineup}
        inside = all(agent.player() is not None for agent in everyone.values())
        # Opponents that are asked from outside, each once, and who of them sits where.
        self._asked = () if inside else tuple(everyone.values())
        self._sitting = _sitting(self._asked, tables, width)[of_game]
        super().__init__(
            several,
            games,
            seed=seed,
            plan=_plan(tables, width) if inside else everyone_outside(width),
            plan_of=of_game if inside else np.zeros(games, np.int32),
            max_seats=max_seats,
            with_rules=with_rules,
            n_actions=n_actions,
            # A game that is over waits for us, so that no result is lost where the next game
            # begins and ends without a decision of the learner.
            renew=False,
            learners=self.learners,
            threads=threads,
        )

    _PER_GAME = (*Batch._PER_GAME, "learners", "_sitting")

    def fork(self, rows: npt.NDArray[np.integer[Any]]) -> Self:
        """A batch of copies of some games: see :meth:`Batch.fork`."""
        twin = super().fork(rows)
        twin._settings = {**self._settings, "games": len(twin)}
        return twin

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Where a game has ended and stands still: (games,)."""
        over: npt.NDArray[np.bool_] = self.seats == NOBODY
        return over

    @property
    def cut_short(self) -> npt.NDArray[np.bool_]:
        """Where a game has ended because ``max_rounds`` truncated it: (games,)."""
        cut: npt.NDArray[np.bool_] = self.over & (self.done == CUT_SHORT)
        return cut

    @property
    def rules_of_game(self) -> npt.NDArray[np.int32]:
        """The number of each game's rule set in ``rules``: (games,)."""
        numbers: npt.NDArray[np.int32] = self._games["rules"].copy()
        return numbers

    def payouts(self) -> npt.NDArray[np.float64]:
        """The learner's whole return where its game has ended, 0 where it goes on: (games,)."""
        payouts = np.zeros(len(self))
        over = np.flatnonzero(self.over)
        payouts[over] = self.returns[over, self.learners[over]]
        return payouts

    def view(self, game: int) -> View:
        """What the learner of a game may see, for people; what has happened in it is not kept, so no news."""
        rules = self.rules[self.rules_of_game[game]]
        legal = tuple(ACTION_NAMES[action] for action in np.flatnonzero(self.masks[game]))
        return view_of(self._games[game], rules, int(self.learners[game]), legal=legal)

    def reset(self, seed: int | None = None, *, first: int = 0) -> None:
        """Start all games afresh, from a new seed: see :meth:`Batch.reset`."""
        super().reset(seed, first=first)
        self._follow(np.full(len(self), RESTART, np.int8))

    def reseed(self, games: npt.NDArray[np.intp], seeds: npt.NDArray[np.uint64]) -> None:
        """Give some games new generators, from which they go on: restart them to begin there.

        Args:
            games: their numbers.
            seeds: (len(games),) uint64; a game is then the single game with its seed.
        """
        self._games["rng"][games] = seeding.generator_words(seeds, seeding.CARDS)
        self._dice[games] = seeding.generator_words(seeds, seeding.CHOICES)

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        """Take one action in every game, and play on to the learner's next decision or the end.

        Args:
            actions: (games,) whole numbers: legal actions, ``LEAVE`` or ``RESTART``.

        Raises:
            ValueError: for an illegal action, naming the legal ones, no game has moved then; or if game
                after game passes without a decision of the learner.
        """
        super().step(actions)
        self._follow(actions)

    def _follow(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        """The others play on; a restarted game that has passed the learner by is restarted again."""
        self._play_others()
        again = (actions == RESTART) & self.over
        for _ in range(_MOST_PASSED):
            if not again.any():
                return
            actions = np.where(again, RESTART, LEAVE).astype(np.int8)
            super().step(actions)
            self._play_others()
            again &= self.over
        game = int(again.argmax())
        rules = self.rules[self.rules_of_game[game]]
        raise ValueError(
            f"seat: {self.learners[game]} is refused; "
            f"accepted: a seat that gets to decide against these opponents under {rules}"
        )

    def _play_others(self) -> None:
        """Ask the opponents until none of them is to act."""
        while self._asked:
            acting = np.flatnonzero((self.seats != NOBODY) & (self.seats != self.learners))
            if not acting.size:
                return
            super().step(self._replies(acting))

    def _replies(self, acting: npt.NDArray[np.intp]) -> npt.NDArray[np.int8]:
        """The actions of the opponents that are to act in these games; LEAVE in the others."""
        replies = np.full(len(self), LEAVE, np.int8)
        luck = np.empty(acting.size)
        roll(self._dice, acting, luck)
        asked = self._sitting[acting, self.seats[acting]]
        for k, agent in enumerate(self._asked):
            its = np.flatnonzero(asked == k)
            if its.size:
                games = acting[its]
                chances = agent.probabilities(
                    self.observations[games], self.masks[games], self.layout
                )
                replies[games] = sample(chances, luck[its])
        return replies

    # The games, and what was last seen of them, as bytes: compiled code wants the record types of
    # this process.

    def __getstate__(self) -> dict[str, Any]:
        return {
            "settings": self._settings,
            "games": self._games.tobytes(),
            "arrays": {name: getattr(self, name).copy() for name in self._PER_GAME[1:]},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Learners.__init__(self, **state["settings"], seed=0)
        self._games[:] = np.frombuffer(state["games"], self._games.dtype)
        for name in self._PER_GAME[1:]:
            getattr(self, name)[:] = state["arrays"][name]


def _several(
    rules: Rules | str | Sequence[Rules | str],
    opponents: Sequence[Opponent] | Sequence[Sequence[Opponent]],
) -> tuple[list[Rules], list[Sequence[Opponent]]]:
    """The rule sets, and for each of them who plays the other seats, checked."""
    if isinstance(rules, Rules | str):
        several, lineups = [Rules.parse(rules)], [cast(Sequence[Opponent], opponents)]
    else:
        several = [Rules.parse(each) for each in rules]
        lineups = list(cast(Sequence[Sequence[Opponent]], opponents))
    if not several or len(lineups) != len(several):
        raise ValueError(
            f"opponents: {len(lineups)} sequences are refused; "
            f"accepted: one for each of {len(several)} rule sets"
        )
    for each, lineup in zip(several, lineups, strict=True):
        _check_opponents(lineup, each)
    return several, lineups


def _check_opponents(opponents: Sequence[Opponent], rules: Rules) -> None:
    if not isinstance(opponents, Sequence):
        raise ValueError(
            f"opponents: {opponents!r} is refused; accepted: a sequence of agents for each rule set"
        )
    others = rules.seats - 1
    if len(opponents) != others:
        raise ValueError(
            f"opponents: {len(opponents)} are refused; "
            f"accepted: {others} agents, one for each other seat of {rules}"
        )
    for each in opponents:
        if not (hasattr(each, "probabilities") and hasattr(each, "player")):
            raise ValueError(f"opponents: {each!r} is refused; accepted: agents")


def _tables(
    rules: Rules, opponents: Sequence[Opponent], seat: int | None
) -> list[list[Opponent | None]]:
    """Who sits where, None for the learner: one table for every seat that a learner sits in."""
    tables = []
    for learner in range(rules.seats) if seat is None else [seat]:
        table: list[Opponent | None] = list(opponents)
        table.insert(learner, None)
        tables.append(table)
    return tables


def _table_of_game(counts: Sequence[int], games: int) -> npt.NDArray[np.intp]:
    """The table of each game: the rule sets take turns, and so do the tables of each, ``counts`` of them."""
    game = np.arange(games)
    which, turn = game % len(counts), game // len(counts)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    table: npt.NDArray[np.intp] = first[which] + turn % np.asarray(counts)[which]
    return table


def _sitting(
    asked: Sequence[Opponent], tables: Sequence[Sequence[Opponent | None]], width: int
) -> npt.NDArray[np.intp]:
    """Which of those that are asked sits where, by table: -1 for learners and where nobody is asked."""
    numbers = {id(each): number for number, each in enumerate(asked)}
    sitting = np.full((len(tables), width), -1)
    for row, table in enumerate(tables):
        sitting[row, : len(table)] = [numbers.get(id(each), -1) for each in table]
    return sitting


def _plan(tables: list[list[Opponent | None]], width: int) -> npt.NDArray[np.void]:
    """The seat plan of tables whose opponents are all data."""
    plan = np.zeros((len(tables), width), PLAYER)
    for row, table in enumerate(tables):
        for seat, agent in enumerate(table):
            player = None if agent is None else agent.player()
            if player is not None:
                plan[row, seat] = player
    return plan


assert OUTSIDE == 0, "a plan of zeros leaves all seats to the caller"
