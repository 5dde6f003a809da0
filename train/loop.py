"""The loop around any algorithm: clock, learning curve, logs, checkpoints, early stop, and resuming.

An algorithm is a :class:`Learner`: it can take one more step of learning, show the policy it has now, and
write down everything that it needs to go on. All else is done here, the same for every algorithm:

- :mod:`~cuckoo_env.train.task`: what a run is asked to do (`RunArguments`), and where (`Task`).
- :mod:`~cuckoo_env.train.curve`: how good a policy is, exactly where possible (`Point`).
- :mod:`~cuckoo_env.train.checkpoint`: a learner's `State`, and how it is kept in a file.
- :mod:`~cuckoo_env.train.runs`: the run's folder.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib.metadata
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

import torch
from torch.utils.tensorboard import SummaryWriter

from cuckoo_env.agents.policy import Policy, PolicyAgent
from cuckoo_env.compiled import available_cores
from cuckoo_env.files import write_text
from cuckoo_env.train import checkpoint
from cuckoo_env.train.checkpoint import CheckpointError, State
from cuckoo_env.train.curve import Point, TableScores, as_csv
from cuckoo_env.train.runs import RunFolder
from cuckoo_env.train.task import RunArguments, Task

CURVE_NAME: Final = "learning_curve.csv"
LOG_NAME: Final = "progress.csv"
TENSORBOARD_NAME: Final = "tensorboard"
_MOST_THREADS: Final = 8
"""Networks this small are no faster with more."""


class Learner(Protocol):
    """What an algorithm offers to the loop.

    Attributes:
        algorithm: its name, for the policy's card.
        task: the table at which its policy is measured for the learning curve; None where all that counts
            comes from :meth:`measure`.
        against: whom it learns against, by name, for the policy's card.
        steps: its decisions so far.
    """

    algorithm: str
    task: Task | None

    @property
    def against(self) -> Sequence[str]: ...

    @property
    def steps(self) -> int: ...

    def update(self, share: float) -> Mapping[str, float]:
        """Take one step of learning: play, and learn from it.

        Args:
            share: how much of the run is done, from 0 to 1, for what changes on the way.

        Returns:
            Numbers for the log, the same names every time: ``loss``, ``entropy``, ...
        """

    def policy(self) -> Policy:
        """The policy as it is now, on the CPU and independent of what is learned later.

        The card's ``training`` is filled in by the loop.
        """

    def measure(self) -> Mapping[str, float]:
        """Numbers of its own for the learning curve, the same names every time; often none."""

    def state(self) -> State:
        """Everything that decides how it goes on: networks, optimiser, generators, games, counters."""

    def restore(self, state: State) -> None:
        """Go on from a state, exactly.

        Raises:
            ValueError: if the state is not one of such a learner.
        """


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An algorithm by name: each file of one has such a constant, ``ALGORITHM``.

    Attributes:
        summary: what it is, in a few words.
        arguments: its arguments, a :class:`~cuckoo_env.train.task.RunArguments` with its own settings.
        make: a new learner for such arguments; refuses with ValueError what cannot be used.
    """

    summary: str
    arguments: type[RunArguments]
    make: Callable[[Any], Learner]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        share: done, from 0 to 1.
        steps: the learner's decisions so far.
        seconds: spent learning.
        rate: the learner's decisions a second.
        numbers: what the last update returned.
        point: the latest point of the learning curve.
    """

    share: float
    steps: int
    seconds: float
    rate: float
    numbers: Mapping[str, float]
    point: Point


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to.

    Attributes:
        policy: the policy it learned.
        curve: its learning curve.
        steps: the learner's decisions.
        seconds: spent learning, and so neither on the learning curve nor on checkpoints.
        measuring: seconds spent on the learning curve.
        rate: the learner's decisions a second.
        interrupted: whether it was stopped before its time.
        reached: whether it stopped early because it reached its target.
    """

    policy: Policy
    curve: tuple[Point, ...]
    steps: int
    seconds: float
    measuring: float
    rate: float
    interrupted: bool
    reached: bool


def run(
    learner: Learner,
    arguments: RunArguments,
    folder: RunFolder,
    *,
    command: str,
    watch: Callable[[Progress], object],
    resume: bool = False,
) -> Outcome:
    """Learn, and leave policy, card, logs and learning curve in the run folder.

    Args:
        learner: the algorithm, freshly made for the arguments.
        arguments: what to do.
        folder: where to; the caller has begun it and finishes it.
        command: what the user typed, for the card.
        watch: told after every update how far the run is.
        resume: whether to go on from the checkpoint in the folder.

    Raises:
        CheckpointError: if there is no checkpoint to go on from, or it does not fit.
        OSError: if the folder cannot be written.
    """
    torch.set_num_threads(min(available_cores(), _MOST_THREADS))
    diary = _Diary(learner, arguments, folder.work)
    if resume:
        _restore(learner, diary, folder.work)
    with _Log(folder.work, diary.log_bytes, learner.steps) as log:
        interrupted = _learn(learner, diary, log, watch)
        diary.add_point(log)
    policy = learner.policy()
    training = {
        "algorithm": learner.algorithm,
        "command": command,
        "seat": arguments.seat,
        "against": list(learner.against),
        "seed": arguments.seed,
        "steps": learner.steps,
        "seconds": round(diary.seconds, 1),
        "decisions_per_second": round(diary.rate),
        "seconds_measuring": round(diary.measuring, 1),
        "interrupted": interrupted,
        "reached_target": diary.reached,
        "device": arguments.device,
        "machine": machine_class(),
        "versions": versions(),
        **diary.scale(),
        "learning_curve": [point.as_json() for point in diary.curve],
    }
    policy = dataclasses.replace(policy, card=dataclasses.replace(policy.card, training=training))
    policy.save(folder.work)
    if not interrupted:
        checkpoint.remove(folder.work)
    return Outcome(
        policy=policy,
        curve=tuple(diary.curve),
        steps=learner.steps,
        seconds=diary.seconds,
        measuring=diary.measuring,
        rate=diary.rate,
        interrupted=interrupted,
        reached=diary.reached,
    )


def _learn(learner: Learner, diary: _Diary, log: _Log, watch: Callable[[Progress], object]) -> bool:
    """Learn until the run is done; whether it was interrupted, and keeps what it learned so far."""
    try:
        if not diary.curve:
            diary.add_point(log)
            diary.save(log)
        while diary.share() < 1 and not diary.reached:
            if diary.wants_point():
                diary.add_point(log)
                continue
            share, began = diary.share(), time.monotonic()
            numbers = learner.update(share)
            diary.seconds += time.monotonic() - began
            log.numbers(learner.steps, diary.seconds, numbers)
            watch(diary.progress(numbers))
            if diary.wants_checkpoint():
                diary.save(log)
    except KeyboardInterrupt:
        return True
    return False


def _restore(learner: Learner, diary: _Diary, folder: Path) -> None:
    """Take learner and diary to where they were when the checkpoint was written."""
    state = checkpoint.load(folder)
    try:
        learner.restore(state.part("learner"))
        diary.restore(state.part("diary"))
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(
            f"{folder / checkpoint.NAME}: it does not fit this run: {error}"
        ) from error


class _Diary:
    """What the loop itself remembers of a run: the clock, the learning curve, the checkpoints.

    Attributes:
        curve: the learning curve so far.
        seconds: spent learning.
        measuring: seconds spent on the learning curve.
        log_bytes: how much of the log was written when the checkpoint was.
    """

    def __init__(self, learner: Learner, arguments: RunArguments, folder: Path) -> None:
        self._learner, self._arguments, self._folder = learner, arguments, folder
        self._scores: TableScores | None = None
        self.curve: list[Point] = []
        self.seconds, self.measuring, self.log_bytes = 0.0, 0.0, 0
        self._saved = time.monotonic()

    @property
    def rate(self) -> float:
        """The learner's decisions a second."""
        return self._learner.steps / max(self.seconds, 1e-9)

    @property
    def reached(self) -> bool:
        """Whether the last point of the curve is as good as the run's target."""
        return self.curve[-1].reached(self._arguments.target)

    def share(self) -> float:
        """How much of the run is done, from 0 to 1."""
        if self._arguments.steps is not None:
            return min(1.0, self._learner.steps / self._arguments.steps)
        return min(1.0, self.seconds / (60 * float(self._arguments.minutes or 0)))

    def progress(self, numbers: Mapping[str, float]) -> Progress:
        """How far the run is, after an update that returned these numbers."""
        return Progress(
            share=self.share(),
            steps=self._learner.steps,
            seconds=self.seconds,
            rate=self.rate,
            numbers=numbers,
            point=self.curve[-1],
        )

    def wants_point(self) -> bool:
        """Whether it is time for a point of the curve, other than the last."""
        # They lie at shares 0, (1/n)², (2/n)², …, 1: most is learned at the start. The last one is
        # of the policy that is kept.
        last = self._arguments.curve_points - 1
        due = len(self.curve) < last and self.share() >= (len(self.curve) / last) ** 2
        return due and not self._is_measured

    def add_point(self, log: _Log) -> None:
        """Measure the policy of now, unless that is done."""
        if self._is_measured:
            return
        began = time.monotonic()
        scores = dict(self._learner.measure())
        task, table = self._learner.task, self._table
        if task is not None and table is not None:
            policy = self._learner.policy()
            scores |= table.measure(PolicyAgent.of(policy, "policy:learning", task.rules))
        self.measuring += time.monotonic() - began
        self.curve.append(
            Point(steps=self._learner.steps, seconds=round(self.seconds, 2), scores=scores)
        )
        write_text(self._folder / CURVE_NAME, as_csv(self.curve))
        log.scores(self.curve[-1])

    @property
    def _is_measured(self) -> bool:
        return bool(self.curve) and self.curve[-1].steps == self._learner.steps

    @property
    def _table(self) -> TableScores | None:
        """What measures policies at the learner's table; what there is to gain is found once."""
        task = self._learner.task
        if self._scores is None and task is not None:
            arguments = self._arguments
            # Seeds of runs are below 2**32, so none of these games is learned from.
            self._scores = TableScores(
                task, games=arguments.curve_games, seed=2**32 + arguments.seed
            )
        return self._scores

    def scale(self) -> dict[str, float]:
        """What there was to gain, for the card; nothing where that is not known."""
        scales = self._scores.scales if self._scores else []
        if not scales:
            return {}
        return {
            "copied": sum(scale.copied for scale in scales) / len(scales),
            "best_response": sum(scale.best for scale in scales) / len(scales),
        }

    def wants_checkpoint(self) -> bool:
        """Whether the last checkpoint is older than it should be."""
        return time.monotonic() - self._saved >= 60 * self._arguments.checkpoint_minutes

    def save(self, log: _Log) -> None:
        """Write a checkpoint of everything."""
        values = {
            "seconds": self.seconds,
            "measuring": self.measuring,
            "log_bytes": log.flush(),
            "curve": [point.as_json() for point in self.curve],
        }
        parts = {"learner": self._learner.state(), "diary": State(values=values)}
        checkpoint.save(self._folder, State.join(parts))
        self._saved = time.monotonic()

    def restore(self, state: State) -> None:
        """Go on from a checkpoint's part that :meth:`save` wrote."""
        self.seconds, self.measuring = state.values["seconds"], state.values["measuring"]
        self.log_bytes = state.values["log_bytes"]
        self.curve = [Point.from_json(point) for point in state.values["curve"]]


class _Log:
    """The numbers of every update, as comma-separated values and for TensorBoard."""

    def __init__(self, folder: Path, kept_bytes: int, steps: int) -> None:
        """Open the log.

        Args:
            folder: the run's.
            kept_bytes: of an earlier log, how much is still true; the rest is forgotten.
            steps: the learner's decisions by then.
        """
        self._path, self._kept, self._steps = folder / LOG_NAME, kept_bytes, steps
        self._board_path = folder / TENSORBOARD_NAME

    def __enter__(self) -> _Log:
        self._file: TextIO = self._path.open("a+", newline="", encoding="utf-8")
        if self._path.stat().st_size < self._kept:
            self._file.close()
            raise CheckpointError(f"{self._path}: it is shorter than it was at the checkpoint")
        self._file.truncate(self._kept)
        self._file.seek(0)
        self._names = next(csv.reader(self._file), [])
        self._file.seek(self._kept)
        purge = {"purge_step": self._steps + 1} if self._kept else {}
        self._board = SummaryWriter(str(self._board_path), **purge)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._board.close()

    def numbers(self, steps: int, seconds: float, numbers: Mapping[str, float]) -> None:
        """Write down what an update returned."""
        row = {"steps": steps, "seconds": round(seconds, 3), **numbers}
        if not self._names:
            self._names = list(row)
            csv.writer(self._file, lineterminator="\n").writerow(self._names)
        csv.DictWriter(self._file, self._names, lineterminator="\n").writerow(row)
        self._file.flush()
        for name, value in numbers.items():
            self._board.add_scalar(f"update/{name}", value, steps)

    def scores(self, point: Point) -> None:
        """Write down a point of the learning curve."""
        for name, value in point.scores.items():
            self._board.add_scalar(f"curve/{name}", value, point.steps)

    def flush(self) -> int:
        """Leave nothing in memory; how many bytes the file of values has."""
        self._file.flush()
        self._board.flush()
        return self._path.stat().st_size


def versions() -> dict[str, str]:
    """What a run depends on, and in which version."""
    packages = ("cuckoo-env", "numba", "numpy", "sb3-contrib", "stable-baselines3", "torch")
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def machine_class() -> str:
    """The kind of machine, without its name."""
    count = available_cores()
    return f"{platform.system()} {platform.machine()}, {count} core{'s' if count > 1 else ''}"
