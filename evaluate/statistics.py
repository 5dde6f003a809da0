"""Means with their standard errors, and what may be said about a difference."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHOWN_AT: Final = 3.0
"""Standard errors that a difference must exceed before we call it real."""
FEWEST_GAMES: Final = 100
"""With fewer games a standard error is itself too uncertain to judge by."""


class Moments:
    """Mean and standard error of one quantity a seat, game by game, without keeping the games.

    Attributes:
        count: games added so far.
    """

    def __init__(self, seats: int) -> None:
        self.count = 0
        self._mean = np.zeros(seats)
        self._squares = np.zeros(seats)  # squared deviations from the mean, summed up

    def add(self, values: Floats) -> None:
        """Add games: (games, seats).

        Chunks are joined by the formula of Chan, Golub and LeVeque, "Updating formulae and a
        pairwise algorithm for computing sample variances", 1979, which subtracts no large numbers.
        """
        games, mean = len(values), values.mean(axis=0)
        total, step = self.count + games, mean - self._mean
        self._squares += ((values - mean) ** 2).sum(axis=0) + step**2 * self.count * games / total
        self._mean = self._mean + step * games / total
        self.count = total

    @property
    def mean(self) -> Floats:
        """(seats,) the means."""
        return self._mean.copy()

    @property
    def error(self) -> Floats:
        """(seats,) the standard errors of the means; NaN after a single game."""
        if self.count < 2:
            return np.full_like(self._mean, np.nan)
        return np.sqrt(self._squares / (self.count - 1) / self.count)


def is_shown(difference: float, error: float, games: int) -> bool:
    """Whether a difference is so much larger than its standard error that we call it real."""
    return games >= FEWEST_GAMES and abs(difference) > SHOWN_AT * error


def games_needed(difference: float, error: float, games: int) -> int:
    """About how many games would show a difference of this size, if it is real."""
    return math.ceil(games * (SHOWN_AT * error / difference) ** 2)


def verdict(difference: float, error: float, games: int, *, unit: str) -> str:
    """What may honestly be said about a measured difference.

    Args:
        difference: how much more the first has than the second.
        error: the difference's standard error.
        games: the games it was measured in.
        unit: what is compared, such as ``win share``.

    Example:
        >>> verdict(0.02, 0.001, 100_000, unit="win share")
        'higher win share: +0.0200 ± 0.0010'
        >>> verdict(0.001, 0.001, 100_000, unit="win share")
        'no difference in win share shown: +0.0010 ± 0.0010; it would take about 900,000 games'
    """
    if games < FEWEST_GAMES:
        return f"no difference in {unit} shown: {games} games are fewer than {FEWEST_GAMES}"
    figures = f"{difference:+.4f} ± {error:.4f}"
    if is_shown(difference, error, games):
        return f"{'higher' if difference > 0 else 'lower'} {unit}: {figures}"
    if difference == 0:
        return f"no difference in {unit} shown: {figures}"
    needed = _rounded_up(games_needed(difference, error, games))
    return f"no difference in {unit} shown: {figures}; it would take about {needed:,} games"


def _rounded_up(number: int) -> int:
    """The number to two digits, rounded up: more would promise too much."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
