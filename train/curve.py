"""The learning curve: how good a policy is along the way, exactly where the table is small enough."""

from __future__ import annotations

import csv
import functools
import io
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cuckoo_env.agents import Agent, parse
from cuckoo_env.evaluate import arena
from cuckoo_env.evaluate.exact import Headroom, Scale
from cuckoo_env.evaluate.match import Match, estimated_nodes
from cuckoo_env.files import replacing
from cuckoo_env.rules import Rules
from cuckoo_env.train.task import Task

COPIED: Final = "robin"
"""Whose own play in the learner's seat captured headroom counts from."""
LARGEST_WORK: Final = 1e9
"""Nodes of a round's tree times positions: above, exact values take too long to have them along the way."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A score by which a whole run can be told.

    Attributes:
        name: of the score.
        words: what it is, for people.
        rises: whether more is better.
        form: how it is written.
    """

    name: str
    words: str
    rises: bool
    form: str

    def reached(self, value: float, target: float) -> bool:
        """Whether a value is as good as the target."""
        return value >= target if self.rises else value <= target


HEADLINES: Final = (
    Headline(name="nash_conv", words="NashConv", rises=False, form=".4f"),
    Headline(name="captured_headroom", words="captured headroom", rises=True, form=".1%"),
    Headline(name="win_share", words="wins", rises=True, form=".1%"),
)
"""What tells a run, the most telling first."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of a learning curve.

    Attributes:
        steps: the learner's decisions so far.
        seconds: spent learning so far.
        scores: what was measured, by name: ``win_share`` and its standard error ``win_share_se`` (0 where
            it is exact), ``captured_headroom`` where it is exact, and the learner's own measures.
    """

    steps: int
    seconds: float
    scores: Mapping[str, float]

    @property
    def headline(self) -> Headline:
        """The most telling of the scores."""
        return next(each for each in HEADLINES if each.name in self.scores)

    def says(self) -> str:
        """The most telling score, in words."""
        headline = self.headline
        return f"{headline.words} {self.scores[headline.name]:{headline.form}}"

    def reached(self, target: float | None) -> bool:
        """Whether the most telling score is as good as the target."""
        headline = self.headline
        return target is not None and headline.reached(self.scores[headline.name], target)

    def as_json(self) -> dict[str, float]:
        """The point as plain values, without levels."""
        return {"steps": self.steps, "seconds": self.seconds, **self.scores}

    @classmethod
    def from_json(cls, values: Mapping[str, float]) -> Point:
        """The point that :meth:`as_json` wrote."""
        scores = {name: value for name, value in values.items() if name not in {"steps", "seconds"}}
        return cls(steps=int(values["steps"]), seconds=values["seconds"], scores=scores)


# -- Measuring ----------------------------------------------------------------------------------


class TableScores:
    """How good agents are in the learner's seats of a table, averaged over seats and first dealers.

    Attributes:
        scales: for each of the learner's seats what there is to gain, exactly; none where the table is too
            large.
    """

    def __init__(self, task: Task, *, games: int, seed: int) -> None:
        """Find what there is to gain.

        Args:
            task: the table.
            games: games to sample for each agent where the table is too large for exact values.
            seed: of those games, always the same.
        """
        self._task, self._games, self._seed = task, games, seed
        self.scales: list[Scale] = []
        if is_small(task.rules):
            match = _match(task.rules)
            copied = task.lineups(parse(COPIED, task.rules))
            self.scales = [
                Scale(match, lineup, seat, first_dealer=arena.EVERY_DEALER)
                for lineup, seat in zip(copied, task.seats, strict=True)
            ]

    def headroom(self, agent: Agent) -> Headroom | None:
        """What an agent wins, exactly, beside what there is to win; None where the table is too large."""
        if not self.scales:
            return None
        rooms = [
            scale.measure(lineup)
            for scale, lineup in zip(self.scales, self._task.lineups(agent), strict=True)
        ]
        return Headroom(
            learned=statistics.fmean(room.learned for room in rooms),
            copied=statistics.fmean(room.copied for room in rooms),
            best=statistics.fmean(room.best for room in rooms),
        )

    def measure(self, agent: Agent) -> dict[str, float]:
        """The scores of an agent, for a point of the curve."""
        room = self.headroom(agent)
        if room is None:
            share, error = self._sampled(agent)
            return {"win_share": share, "win_share_se": error}
        scores = {"win_share": room.learned, "win_share_se": 0.0}
        if not math.isnan(room.captured):
            scores["captured_headroom"] = room.captured
        return scores

    def _sampled(self, agent: Agent) -> tuple[float, float]:
        """The win share in sampled games, and its standard error."""
        task = self._task
        lineups = task.lineups(agent)
        games = math.ceil(self._games / len(lineups))
        results = [
            arena.play(task.rules, lineup, games, self._seed, first_dealer=arena.EVERY_DEALER)
            for lineup in lineups
        ]
        pairs = list(zip(results, task.seats, strict=True))
        share = statistics.fmean(float(result.win_share[seat]) for result, seat in pairs)
        errors = [float(result.win_share_se[seat]) for result, seat in pairs]
        return share, math.hypot(*errors) / len(errors)


def is_small(rules: Rules) -> bool:
    """Whether exact values of a table take seconds, not minutes."""
    positions: int = rules.seats * (rules.lives + 1) ** rules.seats * (rules.max_rounds or 1)
    return estimated_nodes(rules, rules.seats) * positions <= LARGEST_WORK


@functools.lru_cache(maxsize=1)
def _match(rules: Rules) -> Match:
    """The match, kept for the next run at the same table."""
    return Match(rules)


# -- Writing ------------------------------------------------------------------------------------


def as_csv(curve: Sequence[Point]) -> str:
    """A learning curve as comma-separated values."""
    rows = [point.as_json() for point in curve]
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def draw(path: Path, curves: Mapping[str, Sequence[Point]]) -> None:
    """Draw the learning curves of several runs into a PNG file.

    Args:
        path: the file; replaced if it is there.
        curves: each run's curve, by what it is called.

    Raises:
        ModuleNotFoundError: without matplotlib.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes half a second, and may be missing

    headline = next(iter(curves.values()))[-1].headline
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes: Any = figure.subplots()
    for name, curve in curves.items():
        seconds = [point.seconds for point in curve]
        axes.plot(seconds, [point.scores[headline.name] for point in curve], ".-", label=name)
    axes.set_xlabel("seconds of learning")
    axes.set_ylabel(headline.words)
    axes.grid(alpha=0.3)
    axes.legend()
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=120)
