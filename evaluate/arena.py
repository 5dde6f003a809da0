"""Sampled evaluation: agents play many games, and every figure comes with its standard error.

Every game is played to its own end and counted once, so short games do not weigh more than long
ones. Seeds come from the games' numbers: the result is the same however the work is cut up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env import records, seeding
from cuckoo_env.agents import Agent, AgentError, sample
from cuckoo_env.autoplay import OUTSIDE, PLAYER, choose, roll, uniform
from cuckoo_env.batch import CUT_SHORT, LEAVE, Batch
from cuckoo_env.compiled import SLICE, available_cores, entry, in_slices, slice_done, take_slice
from cuckoo_env.engine import NOBODY
from cuckoo_env.evaluate.statistics import Floats, Moments, verdict
from cuckoo_env.game import Game
from cuckoo_env.rules import Rules

MOST_GAMES: Final = 1_000_000_000
"""Days of play; more is a slip of the keyboard."""
EVERY_DEALER: Final = "all"
"""The ``first_dealer`` that takes all seats in turn, from game to game."""

CHOICES: Final = 2
"""The stream from which agents outside the compiled loop draw, beside the batch's own two."""

_FEWEST, _MOST = 16, 16_384
"""Games that are played side by side."""
_PAIRS: Final = 400 * _MOST
"""Pairs of seats side by side: at large tables what each knows of each takes up the memory."""

Progress = Callable[[int], object]
"""Told now and then how many games are over."""
Keep = Callable[[records.Record], object]
"""Handed the record of every game, in order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What many games between the same agents came to.

    Attributes:
        rules: canonical text of the rules.
        agents: one spec a seat.
        games: games played.
        seed: the seed they were derived from.
        first_dealer: who dealt first: ``lot``, ``cut``, a seat, or ``all`` for the seats in turn.
        win_share: (seats,) games won, each of k joint winners counted 1/k.
        win_share_se: (seats,) its standard error; NaN after a single game, as all errors.
        payoff: (seats,) mean return, in units of the rules' stake.
        payoff_se: (seats,) its standard error.
        edge: (seats,) win share less that of the average seat.
        edge_se: (seats,) its standard error.
        truncated: share of the games cut short by ``max_rounds``; nobody won them.
        undecided: share of single rounds in which all lost or nobody did; nobody won them.
        rounds: mean number of rounds a game.
    """

    rules: str
    agents: tuple[str, ...]
    games: int
    seed: int
    first_dealer: str
    win_share: Floats
    win_share_se: Floats
    payoff: Floats
    payoff_se: Floats
    edge: Floats
    edge_se: Floats
    truncated: float
    undecided: float
    rounds: float

    @property
    def verdicts(self) -> tuple[str, ...]:
        """In words, for every seat: does it win more or less than the average seat?"""
        return tuple(
            f"seat {seat} ({agent}) against the average seat: "
            + verdict(self.edge[seat], self.edge_se[seat], self.games, unit="win share")
            for seat, agent in enumerate(self.agents)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two line-ups that were dealt the same cards, and the differences from game to game.

    Attributes:
        lineup: the result of the first.
        baseline: the result of the second.
        win_share: (seats,) how much more the first wins in each seat.
        win_share_se: (seats,) standard error of the paired difference.
        payoff: (seats,) how much more the first takes in each seat.
        payoff_se: (seats,) standard error of the paired difference.
    """

    lineup: Result
    baseline: Result
    win_share: Floats
    win_share_se: Floats
    payoff: Floats
    payoff_se: Floats

    @property
    def verdicts(self) -> tuple[str, ...]:
        """In words, for every seat: does the first line-up do better there than the second?"""
        return tuple(
            f"seat {seat} ({ours} here, {theirs} in the baseline): "
            + verdict(
                self.win_share[seat], self.win_share_se[seat], self.lineup.games, unit="win share"
            )
            for seat, (ours, theirs) in enumerate(
                zip(self.lineup.agents, self.baseline.agents, strict=True)
            )
        )


def play(
    rules: Rules | str,
    agents: Sequence[Agent],
    games: int,
    seed: int | None = None,
    *,
    first_dealer: str | int | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Result:
    """Let the agents play, and sum up.

    Args:
        rules: the rule set.
        agents: one a seat.
        games: how many games.
        seed: the result is a function of it; None for a random one.
        first_dealer: ``lot``, ``cut``, a seat, or ``all`` for every seat in turn; by default as the
            rules say.
        progress: told now and then how many games are over.
        keep: handed the record of every game (:mod:`cuckoo_env.records`), in order; the result is the
            same, but takes about a millisecond a game longer.

    Raises:
        ValueError: for a value that cannot be used, naming it.

    Example:
        >>> from cuckoo_env.agents import lineup
        >>> rules = Rules.parse("practice-table")
        >>> result = play(rules, lineup("robin,robin,naive", rules), games=1000, seed=1)
        >>> bool(result.win_share[2] < 0.25)
        True
    """
    series = _Series(rules, agents, games, seed, first_dealer, keep)
    tally = _Tally(series.seats)

    def tell() -> None:
        if progress:
            progress(series.over)

    for chunk in series.chunks(tell):
        tally.add(chunk)
    return tally.result(series)


def compare(
    rules: Rules | str,
    lineup: Sequence[Agent],
    baseline: Sequence[Agent],
    games: int,
    seed: int | None = None,
    *,
    first_dealer: str | int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Let two line-ups play with the same seeds, and compare them game by game.

    Each game begins with the same dealer and deal for both, which takes much of the luck out of the
    difference.

    Args:
        rules: the rule set.
        lineup: one agent a seat.
        baseline: one agent a seat, to compare with.
        games: how many games each line-up plays.
        seed: the result is a function of it; None for a random one.
        first_dealer: as in :func:`play`.
        progress: told now and then how many games are over, of twice ``games``.

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """
    seed = seeding.check_seed(seed)
    ours = _Series(rules, lineup, games, seed, first_dealer)
    theirs = _Series(rules, baseline, games, seed, first_dealer)
    tallies = _Tally(ours.seats), _Tally(ours.seats)
    win_share, payoff = Moments(ours.seats), Moments(ours.seats)

    def tell() -> None:
        if progress:
            progress(ours.over + theirs.over)

    for chunk, other in zip(ours.chunks(tell), theirs.chunks(tell), strict=True):
        tallies[0].add(chunk)
        tallies[1].add(other)
        win_share.add(chunk.win_shares - other.win_shares)
        payoff.add(chunk.payoffs - other.payoffs)
    return Comparison(
        lineup=tallies[0].result(ours),
        baseline=tallies[1].result(theirs),
        win_share=win_share.mean,
        win_share_se=win_share.error,
        payoff=payoff.mean,
        payoff_se=payoff.error,
    )


@dataclass(frozen=True, kw_only=True)
class _Chunk:
    """What some games came to, game by game."""

    win_shares: Floats  # (games, seats)
    payoffs: Floats  # (games, seats)
    truncated: npt.NDArray[np.bool_]  # (games,)
    won: npt.NDArray[np.bool_]  # (games,)
    rounds: npt.NDArray[np.integer[Any]]  # (games,)


class _Tally:
    """Chunks summed up."""

    def __init__(self, seats: int) -> None:
        self.win_share, self.payoff, self.edge = Moments(seats), Moments(seats), Moments(seats)
        self.truncated = self.undecided = self.rounds = 0

    def add(self, chunk: _Chunk) -> None:
        self.win_share.add(chunk.win_shares)
        self.payoff.add(chunk.payoffs)
        self.edge.add(chunk.win_shares - chunk.win_shares.mean(axis=1, keepdims=True))
        self.truncated += int(chunk.truncated.sum())
        self.undecided += int((~chunk.won & ~chunk.truncated).sum())
        self.rounds += int(chunk.rounds.sum())

    def result(self, series: _Series) -> Result:
        return Result(
            rules=str(series.rules),
            agents=tuple(agent.name for agent in series.agents),
            games=series.games,
            seed=series.seed,
            first_dealer=series.first_dealer,
            win_share=self.win_share.mean,
            win_share_se=self.win_share.error,
            payoff=self.payoff.mean,
            payoff_se=self.payoff.error,
            edge=self.edge.mean,
            edge_se=self.edge.error,
            truncated=self.truncated / series.games,
            undecided=self.undecided / series.games,
            rounds=self.rounds / series.games,
        )


class _Series:
    """A number of games between the same agents, played a chunk at a time.

    Game ``i`` is the game seeded with ``derive(seed, i)``, however the games are cut into chunks.
    """

    def __init__(
        self,
        rules: Rules | str,
        agents: Sequence[Agent],
        games: int,
        seed: int | None,
        first_dealer: str | int | None,
        keep: Keep | None = None,
    ) -> None:
        self.rules = Rules.parse(rules)
        self.agents, self.seats = tuple(agents), self.rules.seats
        if len(agents) != self.seats:
            raise AgentError(
                f"agents: {len(agents)} are refused; "
                f"accepted: {self.seats}, one a seat of {self.rules}"
            )
        if isinstance(games, bool) or not 1 <= games <= MOST_GAMES:
            raise ValueError(f"games: {games} is refused; accepted: 1 to {MOST_GAMES:,}")
        self.games, self.seed, self.over = games, seeding.check_seed(seed), 0
        tables = tables_for(self.rules, first_dealer)
        self.first_dealer = (
            EVERY_DEALER if first_dealer == EVERY_DEALER else str(tables[0].first_dealer)
        )
        players = _players(agents)
        plan = _plan(players)
        # The data agents that the batch plays, and those that are left to us.
        self._inside, self._outside = players.copy(), players.copy()
        self._inside["kind"][plan["kind"][0] == OUTSIDE] = OUTSIDE
        self._outside["kind"][plan["kind"][0] != OUTSIDE] = OUTSIDE
        # A multiple of the tables, so that in every chunk they take turns in the same way.
        side_by_side = _side_by_side(self.seats) // len(tables) * len(tables) or len(tables)
        self._batch = Batch(
            tables,
            min(games, side_by_side),
            seed=0,
            # The batch does not tell what its players do: to be written down, all are played by us.
            plan=None if keep else plan,
            renew=False,
        )
        self._actions = np.empty(len(self._batch), np.int8)
        self._log = _Log(tables, [agent.name for agent in agents], keep) if keep else None

    def chunks(self, tell: Callable[[], object]) -> Iterator[_Chunk]:
        """Play all games; ``self.over`` counts them, and ``tell`` is called after every step."""
        size = len(self._batch)
        for first in range(0, self.games, size):
            yield self._play(min(size, self.games - first), first, tell)

    def _play(self, games: int, first: int, tell: Callable[[], object]) -> _Chunk:
        """Play one chunk, from game ``first`` on, to the end of each of its games."""
        batch = self._batch
        batch.reset(self.seed, first=first)
        seeds = seeding.derive_many(self.seed, first + len(batch), first=first)
        dice = seeding.generator_words(seeds, CHOICES)
        # What the batch would roll for the players that it plays itself.
        inside_dice = seeding.generator_words(seeds, seeding.CHOICES) if self._log else None
        running = batch.seats[:games]  # a view: it follows the batch
        while (running != NOBODY).any():
            self._choose(dice, inside_dice)
            self._actions[games:] = LEAVE
            if self._log:
                self._log.note(self._actions)
            batch.step(self._actions)
            if not self._log:
                self.over = first + int((running == NOBODY).sum())
            tell()
        if self._log:
            for _ in self._log.write_down(seeds[:games]):
                self.over += 1
                tell()
        self.over = first + games
        winners = batch.winners[:games].astype(np.float64)
        count = winners.sum(axis=1, keepdims=True)
        return _Chunk(
            win_shares=winners / np.maximum(count, 1),
            payoffs=batch.returns[:games].copy(),
            truncated=batch.done[:games] == CUT_SHORT,
            won=count[:, 0] > 0,
            rounds=batch.rounds[:games],
        )

    def _choose(
        self, dice: npt.NDArray[np.uint32], inside_dice: npt.NDArray[np.uint32] | None
    ) -> None:
        """Fill in the actions: data agents are compiled, others are asked once for all rows."""
        batch = self._batch
        self._actions[:] = LEAVE
        self._choose_data(self._outside, dice)
        if inside_dice is not None:
            self._choose_data(self._inside, inside_dice)
        for agent in _asked(self.agents):
            its_seats = [seat for seat, other in enumerate(self.agents) if other is agent]
            rows = np.flatnonzero(np.isin(batch.seats, its_seats))
            if rows.size:
                chances = agent.probabilities(
                    batch.observations[rows], batch.masks[rows], batch.layout
                )
                luck = np.empty(rows.size)
                roll(dice, rows, luck)
                self._actions[rows] = sample(chances, luck)

    def _choose_data(self, players: npt.NDArray[np.void], dice: npt.NDArray[np.uint32]) -> None:
        batch = self._batch
        arguments = (
            players, batch.layout.offsets, batch.observations, batch.masks, batch.seats, dice,
            self._actions,
        )  # fmt: skip
        in_slices(lambda shares: _choose_data(shares, *arguments), len(batch), available_cores())


class _Log:
    """What was done in the games of a chunk, to be written down as records."""

    def __init__(self, tables: Sequence[Rules], names: Sequence[str], keep: Keep) -> None:
        self._tables, self._names, self._keep = tables, names, keep
        self._steps: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.int8]]] = []

    def note(self, actions: npt.NDArray[np.int8]) -> None:
        """Note one step of all games."""
        rows = np.flatnonzero(actions != LEAVE)
        self._steps.append((rows, actions[rows]))

    def write_down(self, seeds: npt.NDArray[np.uint64]) -> Iterator[None]:
        """Play the games with these seeds once more, one by one, and hand out their records."""
        rows = np.concatenate([rows for rows, _ in self._steps])
        actions = np.concatenate([actions for _, actions in self._steps])
        self._steps.clear()
        by_game = actions[rows.argsort(kind="stable")]
        ends = np.bincount(rows, minlength=len(seeds)).cumsum()
        for i, (seed, its_actions) in enumerate(
            zip(seeds.tolist(), np.split(by_game, ends[:-1]), strict=True)
        ):
            game = Game(self._tables[i % len(self._tables)], seed)
            for action in its_actions.tolist():
                game.play(action)
            self._keep(records.record(game, self._names))
            yield


@entry
def _choose_data(
    shares: Any, players: Any, layout: Any, observation: Any, mask: Any, seats: Any, dice: Any, actions: Any,
) -> None:  # fmt: skip
    """Let a data agent choose where one is to act from outside; leave the other games."""
    games = actions.shape[0]
    start = take_slice(shares)
    while start < games:
        stop = min(start + SLICE, games)
        for i in range(start, stop):
            seat = int(seats[i])
            if seat != NOBODY and int(players[seat].kind) != OUTSIDE:
                luck = uniform(dice, i)
                actions[i] = choose(players[seat], layout[0], observation, mask, i, luck)
        slice_done(shares, stop - start)
        start = take_slice(shares)


def _side_by_side(seats: int) -> int:
    return max(_FEWEST, min(_MOST, _PAIRS // seats**2))


def tables_for(rules: Rules, first_dealer: str | int | None) -> list[Rules]:
    """The rules with another first dealer: one table, or one a seat for ``all``.

    Raises:
        RulesError: if there is no such dealer.
    """
    if first_dealer is None:
        return [rules]
    if first_dealer == EVERY_DEALER:
        return [rules.replace(first_dealer=seat) for seat in range(rules.seats)]
    number = isinstance(first_dealer, str) and first_dealer.isascii() and first_dealer.isdigit()
    return [rules.replace(first_dealer=int(first_dealer) if number else first_dealer)]


def _players(agents: Sequence[Agent]) -> npt.NDArray[np.void]:
    """(seats,) of ``PLAYER``: the agents that are data, and ``OUTSIDE`` for the others."""
    players = np.zeros(len(agents), PLAYER)
    for seat, agent in enumerate(agents):
        record = agent.player()
        if record is not None:
            players[seat] = record
    return players


def _plan(players: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The plan in which the engine plays the data agents; of data alone, seat 0 is left to us."""
    plan = players[None].copy()
    if not (plan["kind"] == OUTSIDE).any():
        plan["kind"][0, 0] = OUTSIDE
    return plan


def _asked(agents: Sequence[Agent]) -> list[Agent]:
    """The agents that are no data, each once."""
    return list({id(agent): agent for agent in agents if agent.player() is None}.values())
