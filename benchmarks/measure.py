"""How speed is measured here: contenders take turns, each is timed several times, the median counts.

A machine's speed drifts, so ours and the peers are not measured one after the other but in rounds, one
repetition of each a round; a ratio is taken within each round, and its median is reported.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["decisions/s", "s", "ns", "bytes"]
Repeat = Callable[[float], float]
"""One repetition of about so many seconds: what it found, in the contender's unit."""

_LEAST_PIECE: Final = 0.005
"""Seconds between two looks at the clock, at least, once the piece of work has grown."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run is asked to do.

    Attributes:
        repetitions: of every measurement.
        seconds: for each of them.
        seed: starts the games and draws the choices.
        quick: whether to leave out what takes long to set up.
        cores: processor cores that this process may use.
    """

    repetitions: int
    seconds: float
    seed: int
    quick: bool
    cores: int


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Something to be measured.

    Attributes:
        key: its name in ratios and for ``--only``.
        group: contenders of a group take turns.
        family: what it is, for people; of a family the best setting is shown.
        setting: how it is set up, such as the number of games; may be empty.
        unit: of what is measured.
        prepare: makes it ready, with a stack for what must be closed afterwards; raises ``ImportError``
            for a library that is missing.
        is_peer: whether it belongs to somebody else, and may fail.
        repetitions: at most so many, for what takes long.
    """

    key: str
    group: str
    family: str
    prepare: Callable[[ExitStack], Repeat]
    setting: str = ""
    unit: Unit = "decisions/s"
    is_peer: bool = False
    repetitions: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was found.

    Attributes:
        contender: what was measured.
        values: one for each repetition, in the order of time.
        missing: why there are none, or None.
    """

    contender: Contender
    values: tuple[float, ...] = ()
    missing: str | None = None

    @property
    def median(self) -> float:
        """The median of the values."""
        return statistics.median(self.values)

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        one = self.contender
        about: dict[str, object] = {
            "key": one.key,
            "group": one.group,
            "family": one.family,
            "setting": one.setting,
            "unit": one.unit,
            "is_peer": one.is_peer,
        }
        if self.missing is not None:
            return {**about, "missing": self.missing}
        return {
            **about,
            "median": rounded(self.median),
            "low": rounded(min(self.values)),
            "high": rounded(max(self.values)),
            "values": [rounded(value) for value in self.values],
        }


def rounded(value: float) -> float:
    """Four digits: more are noise."""
    return float(f"{value:.4g}")


class Loop:
    """Repeats a piece of work for a while, and tells the pace.

    The piece grows until it takes so long that looking at the clock does not count; the first
    repetition, in which it grows, is the warm-up.
    """

    def __init__(
        self,
        work: Callable[[int], int],
        unit: Unit = "decisions/s",
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Make the loop.

        Args:
            work: does at least so many steps; returns the number of units done.
            unit: ``decisions/s`` for units a second, ``ns`` for nanoseconds a unit, ``s`` for seconds.
            around: entered before the clock starts and left after it stops.
        """
        self._work, self._unit, self._around = work, unit, around
        self._piece = 1

    def __call__(self, seconds: float) -> float:
        """Work for at least so long, and one piece at least."""
        done, took = 0, 0.0
        with self._around():
            began = time.perf_counter()
            while took < seconds or not done:
                before = took
                done += self._work(self._piece)
                took = time.perf_counter() - began
                if took - before < _LEAST_PIECE:
                    self._piece *= 2
        if self._unit == "decisions/s":
            return done / took
        return took / done * (1e9 if self._unit == "ns" else 1.0)


def race(
    contenders: Sequence[Contender], settings: Settings, told: Callable[[str], None]
) -> list[Measurement]:
    """Measure the contenders of a group in turn, round after round.

    Args:
        contenders: who takes part.
        settings: how often and how long.
        told: is told what happens.
    """
    with ExitStack() as stack:
        ready: dict[str, Repeat] = {}
        missing: dict[str, str] = {}
        values: dict[str, list[float]] = {one.key: [] for one in contenders}
        for one in contenders:
            told(f"{one.group}: preparing {one.key}")
            _prepare(one, settings, stack, ready, missing)
        for round_ in range(settings.repetitions):
            told(f"{one.group}: round {round_ + 1} of {settings.repetitions}")
            for one in contenders:
                if one.key in ready and round_ < (one.repetitions or settings.repetitions):
                    values[one.key].append(float(ready[one.key](settings.seconds)))
    return [
        Measurement(contender=one, values=tuple(values[one.key]), missing=missing.get(one.key))
        for one in contenders
    ]


def _prepare(
    one: Contender,
    settings: Settings,
    stack: ExitStack,
    ready: dict[str, Repeat],
    missing: dict[str, str],
) -> None:
    """Make a contender ready and warm it up; a peer that fails is noted, never left out in silence."""
    try:
        repeat = one.prepare(stack)
        repeat(min(settings.seconds, 0.3))
        ready[one.key] = repeat
    except ModuleNotFoundError as error:
        missing[one.key] = f"{error.name} is not installed"
    except Exception as error:
        if not one.is_peer:
            raise
        missing[one.key] = f"{type(error).__name__} when started"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A figure or a ratio, and what is required of it.

    Attributes:
        name: for people.
        of: keys or beginnings of keys; the best of these counts.
        over: the same for the denominator; None for a figure that stands alone.
        at_least: the least that is required, if anything is.
        at_most: the most that is allowed, if anything is.
    """

    name: str
    of: str
    over: str | None = None
    at_least: float | None = None
    at_most: float | None = None

    def plain(self, measurements: Sequence[Measurement]) -> dict[str, object] | None:
        """As JSON has it; None where nothing of it was to be measured."""
        top = _best(self.of, measurements)
        bottom = None if self.over is None else _best(self.over, measurements)
        if top is None or (self.over is not None and bottom is None):
            return None
        about: dict[str, object] = {
            "name": self.name,
            "at_least": self.at_least,
            "at_most": self.at_most,
        }
        absent = [each.missing for each in (top, bottom) if each is not None and each.missing]
        if absent:
            return {**about, "missing": "; ".join(absent)}
        found = _quotients(top, bottom)
        value = statistics.median(found)
        return {
            **about,
            "unit": top.contender.unit if bottom is None else "",
            "value": rounded(value),
            "low": rounded(min(found)),
            "high": rounded(max(found)),
            "of": top.contender.key,
            "over": None if bottom is None else bottom.contender.key,
            "met": self._is_met(value),
        }

    def _is_met(self, value: float) -> bool | None:
        """Whether it is as required; None where nothing is."""
        if self.at_least is not None:
            return value >= self.at_least
        return None if self.at_most is None else value <= self.at_most


def _quotients(top: Measurement, bottom: Measurement | None) -> list[float]:
    """Round by round, so that what slows the machine slows both."""
    if bottom is None:
        return list(top.values)
    return [a / b for a, b in zip(top.values, bottom.values, strict=False)]


def _best(start: str, measurements: Sequence[Measurement]) -> Measurement | None:
    """The fastest whose key is this or begins with it; a missing one only if there is no other."""
    found = [each for each in measurements if is_named(each.contender.key, start)]
    here = [each for each in found if each.missing is None]
    if here and here[0].contender.unit == "decisions/s":
        return max(here, key=lambda each: each.median)
    return min(here, key=lambda each: each.median) if here else next(iter(found), None)


def is_named(key: str, start: str) -> bool:
    """Whether a key is ``start`` or belongs to it: keys are words with slashes between."""
    return key == start or key.startswith(f"{start}/")
