"""What ``cuckoo train`` and ``cuckoo demo`` do."""

from __future__ import annotations

import dataclasses
import importlib
import math
import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table

from cuckoo_env.agents import parse
from cuckoo_env.agents.policy import Policy, PolicyAgent
from cuckoo_env.evaluate import arena, report
from cuckoo_env.files import json_text, write_text
from cuckoo_env.train import curve, loop, paired
from cuckoo_env.train.curve import COPIED, Point, TableScores
from cuckoo_env.train.generalist import ANY
from cuckoo_env.train.loop import Algorithm, Outcome, Progress
from cuckoo_env.train.runs import SUMMARY_NAME, RunError, RunFolder, is_run
from cuckoo_env.train.task import RunArguments, Task, read_arguments

ALGORITHMS: Final = {
    "paired": "cuckoo_env.train.paired",
    "ppo": "cuckoo_env.train.ppo",
    "self-play": "cuckoo_env.train.selfplay",
    "generalist": "cuckoo_env.train.generalist",
}
"""The algorithms by name, the usual one first, and the module of each, which has an ``ALGORITHM``."""

DEMO_MINUTES: Final = 1.5
DEMO_GAMES: Final = 500_000
"""Games that each way of playing is measured in."""
PICTURE_NAME: Final = "curve.png"
_MINUTES: Final = 1.0
"""How long a run takes that is told neither time nor steps."""
_SIMPLE: Final = ("naive", "random")
"""What else the demo measures in the learner's seat, to show the scale."""
_OPTIONS: Final = frozenset(
    {"rules", "seats", "seat", "against", "minutes", "steps", "seed", "target", "device",
     "checkpoint_minutes", "games", "hidden", "shaping"}
)  # fmt: skip
"""Arguments with an option of their own; the others are given with ``--set``."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be trained, and how.

    Attributes:
        name: of the algorithm.
        arguments: its arguments.
        seeds: the seeds of several runs; None for one run, with the arguments' own seed.
    """

    name: str
    arguments: RunArguments
    seeds: tuple[int, ...] | None = None

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm itself."""
        return algorithm(self.name)

    def with_seed(self, seed: int) -> Order:
        """The same for one of the seeds."""
        return Order(name=self.name, arguments=dataclasses.replace(self.arguments, seed=seed))

    def command(self, out: Path) -> str:
        """The command line that asks for it."""
        plain = {field.name: field.default for field in dataclasses.fields(self.arguments)}
        words = ["cuckoo", "train", "--out", str(out), "--algorithm", self.name]
        for name, value in dataclasses.asdict(self.arguments).items():
            if value == plain[name] or (name == "seed" and self.seeds is not None):
                continue
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += (
                [f"--{name.replace('_', '-')}", text]
                if name in _OPTIONS
                else ["--set", f"{name}={text}"]
            )
        if self.seeds is not None:
            words += ["--seeds", ",".join(map(str, self.seeds))]
        return shlex.join(words)

    def config(self, command: str) -> dict[str, Any]:
        """What a run folder says of it, with the command that asked for it."""
        return {
            "command": command,
            "algorithm": self.name,
            "arguments": dataclasses.asdict(self.arguments),
            **({} if self.seeds is None else {"seeds": self.seeds}),
        }

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self:
        """What a run folder says.

        Raises:
            ValueError: if it is not what :meth:`config` wrote.
        """
        name, values, seeds = (config.get(key) for key in ("algorithm", "arguments", "seeds"))
        if not (isinstance(name, str) and isinstance(values, dict)):
            raise ValueError("it does not say what was to be trained")
        if not (seeds is None or (isinstance(seeds, list) and all(type(s) is int for s in seeds))):
            raise ValueError(f"seeds: {seeds!r} is refused")
        return cls(
            name=name,
            arguments=read_arguments(algorithm(name).arguments, values),
            seeds=None if seeds is None else tuple(seeds),
        )


def algorithm(name: str) -> Algorithm:
    """The algorithm of a name.

    Raises:
        ValueError: if there is none.
    """
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm: {name} is refused; accepted: {', '.join(ALGORITHMS)}")
    found: Algorithm = importlib.import_module(ALGORITHMS[name]).ALGORITHM
    return found


def train(
    *,
    out: str,
    algorithm: str | None,
    given: Mapping[str, Any],
    settings: Sequence[str],
    seeds: str | None,
    force: bool,
    as_json: bool,
    self_play: bool = False,
) -> int:
    """Train a policy into a run folder, or one for each of several seeds, and say what came of it.

    Args:
        out: the run folder.
        algorithm: its name; None for the one that suits what else is asked for.
        given: arguments of the algorithm, by name; the others have their defaults.
        settings: more of them, as texts ``name=value``.
        seeds: several seeds, with commas between.
        force: whether an earlier run in that folder is replaced.
        as_json: print JSON, for machines.
        self_play: whether it learns from itself.

    Returns:
        The exit status.

    Raises:
        ValueError: for anything that cannot be used, before anything is written.
    """
    name = _named(algorithm, rules=given.get("rules"), self_play=self_play)
    order = _order(name, {**given, **_parsed(settings)}, seeds)
    folder = RunFolder(out, force=force)
    if order.seeds is not None:
        order.algorithm.make(order.arguments)  # refuses what cannot be used
        folder.begin(order.config(order.command(folder.path)))
        return _train_seeds(order, order.seeds, folder, as_json=as_json)
    outcome = _learn(order, folder, order.command(folder.path), quiet=as_json)
    folder.finish()
    _tell(outcome, folder, as_json=as_json)
    return 0


def resume(out: str, *, as_json: bool) -> int:
    """Go on with a run, or with several seeds' runs, that were stopped on their way.

    Args:
        out: the run folder.
        as_json: print JSON, for machines.

    Returns:
        The exit status.

    Raises:
        ValueError: for a folder that holds no such run.
    """
    folder = RunFolder.unfinished(out)
    try:
        order = Order.of_config(folder.config())
    except ValueError as error:
        raise RunError(f"resume: {out} is refused: {error}") from error
    if order.seeds is not None:
        return _train_seeds(order, order.seeds, folder, as_json=as_json)
    command = order.command(folder.path)
    outcome = _learn(order, folder, command, quiet=as_json, resume=True)
    folder.finish()
    _tell(outcome, folder, as_json=as_json)
    return 0


def _named(algorithm: str | None, *, rules: str | None, self_play: bool) -> str:
    """The algorithm that is asked for, by its name or by what else is said."""
    meant = {"self-play": self_play, "generalist": rules == ANY}
    asked = {name for name, is_meant in meant.items() if is_meant}
    asked |= {algorithm} if algorithm else set()
    if len(asked) > 1:
        raise ValueError(f"algorithm: {' and '.join(sorted(asked))} are refused; accepted: one")
    return asked.pop() if asked else next(iter(ALGORITHMS))


def _order(name: str, values: Mapping[str, Any], seeds: str | None) -> Order:
    chosen, several = dict(values), _parsed_seeds(seeds)
    if several is not None:
        if "seed" in chosen:
            raise ValueError("seed, seeds: both together are refused; accepted: one of them")
        chosen["seed"] = several[0]
    if chosen.get("minutes") is None and chosen.get("steps") is None:
        chosen["minutes"] = _MINUTES
    order = Order(
        name=name, arguments=read_arguments(algorithm(name).arguments, chosen), seeds=several
    )
    for seed in several or ():
        order.with_seed(seed)  # refuses what is none
    return order


def _parsed(settings: Sequence[str]) -> dict[str, str]:
    """Settings by name, from texts ``name=value``."""
    parsed = {}
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise ValueError(f"set: {text} is refused; accepted: NAME=VALUE")
        parsed[name.strip().replace("-", "_")] = value.strip()
    return parsed


def _parsed_seeds(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"seeds: {text} is refused; accepted: whole numbers such as 0,1,2")
    seeds = tuple(int(part) for part in parts)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds: {text} is refused; accepted: each seed once")
    return seeds


# -- Learning under a progress bar --------------------------------------------------------------


def _learn(
    order: Order,
    folder: RunFolder,
    command: str,
    *,
    quiet: bool,
    resume: bool = False,
    what: str = "learning",
) -> Outcome:
    """One run, from its beginning or from its checkpoint; the caller finishes the folder."""
    learner = order.algorithm.make(order.arguments)
    if not resume:
        folder.begin(order.config(command))
    with _bar(what, total=1.0, quiet=quiet) as bar:

        def watch(progress: Progress) -> None:
            bar.update(
                bar.task_ids[0],
                completed=progress.share,
                note=f"{progress.rate:,.0f} decisions/s, {progress.point.says()}",
            )

        return loop.run(
            learner, order.arguments, folder, command=command, watch=watch, resume=resume
        )


@contextmanager
def _bar(what: str, *, total: float, quiet: bool) -> Iterator[Bar]:
    """A bar on standard error, if a person is there to see it."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    hidden = quiet or not console.is_terminal
    with Bar(*columns, console=console, transient=True, disable=hidden) as bar:
        bar.add_task(what, total=total, note="getting ready")
        yield bar


# -- Several seeds ------------------------------------------------------------------------------


def _train_seeds(order: Order, seeds: Sequence[int], folder: RunFolder, *, as_json: bool) -> int:
    """A run for each seed, those that are done left as they are; then what they came to."""
    cards: dict[int, Mapping[str, Any]] = {}
    for seed in seeds:
        cards[seed] = _train_seed(order.with_seed(seed), folder, quiet=as_json)
        if cards[seed]["interrupted"]:
            break
    summary = _summary_of_seeds(order.command(folder.path), cards)
    if not any(card["interrupted"] for card in cards.values()):
        _write_seeds(folder, summary, cards)
    if as_json:
        _print_json({"out": str(folder.path), **summary})
    else:
        _tell_seeds(folder, summary)
    return 0


def _train_seed(order: Order, group: RunFolder, *, quiet: bool) -> Mapping[str, Any]:
    """One seed's training, as its policy's card tells it."""
    name = f"seed-{order.arguments.seed}"
    path, resume = group.work / name, True
    try:
        folder = RunFolder.unfinished(path)
    except RunError:  # it is finished, or was not begun
        if is_run(path):
            with suppress(ValueError):
                return Policy.load(path).card.training
        folder, resume = RunFolder(path, force=True), False
    command = order.command(group.path / name)
    outcome = _learn(order, folder, command, quiet=quiet, resume=resume, what=f"learning, {name}")
    folder.finish()
    return outcome.policy.card.training


def _write_seeds(
    folder: RunFolder, summary: Mapping[str, Any], cards: Mapping[int, Mapping[str, Any]]
) -> None:
    curves = {
        f"seed {seed}": [Point.from_json(point) for point in card["learning_curve"]]
        for seed, card in cards.items()
    }
    with suppress(ModuleNotFoundError):
        curve.draw(folder.work / PICTURE_NAME, curves)
    write_text(folder.work / SUMMARY_NAME, json_text(summary) + "\n")
    folder.finish()


def _summary_of_seeds(command: str, cards: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """What each seed came to, the mean, and the spread: the standard deviation over seeds."""
    figures = [_summary(card) for card in cards.values()]
    columns = {
        name: [each[name] for each in figures]
        for name, value in figures[0].items()
        if not isinstance(value, bool)
    }
    return {
        "command": command,
        "mean": {name: statistics.fmean(values) for name, values in columns.items()},
        "spread": {
            name: statistics.stdev(values) if len(values) > 1 else math.nan
            for name, values in columns.items()
        },
        "runs": [
            {"seed": seed, **each, "learning_curve": card["learning_curve"]}
            for (seed, card), each in zip(cards.items(), figures, strict=True)
        ],
    }


def _tell_seeds(folder: RunFolder, summary: Mapping[str, Any]) -> None:
    shown = [each for each in curve.HEADLINES if each.name in summary["mean"]]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("seed", "decisions", "seconds", *(each.words for each in shown)):
        table.add_column(name, justify="left" if name == "seed" else "right")
    rows = {str(run["seed"]): run for run in summary["runs"]}
    if len(rows) > 1:
        rows |= {"mean": summary["mean"], "spread": summary["spread"]}
    for name, row in rows.items():
        scores = [f"{row[each.name]:{each.form}}" for each in shown]
        table.add_row(name, f"{row['steps']:,.0f}", f"{row['seconds']:.1f}", *scores)
    Console(highlight=False).print(table)
    if any(run["interrupted"] for run in summary["runs"]):
        _say(f"Stopped before its time. Go on with: cuckoo train --resume {folder.path}")
    else:
        _say(f"Spread is the standard deviation over seeds. The policies are in {folder.path}")


# -- The demo -----------------------------------------------------------------------------------


def demo(*, out: str, minutes: float | None, seed: int, as_json: bool) -> int:
    """Learn the practice table, measure what was learned, and write a report.

    An earlier demo in the folder is replaced when this one is done.

    Args:
        out: the run folder.
        minutes: how long to train; None for as long as a demo should take.
        seed: the seed.
        as_json: print JSON, for machines.

    Returns:
        The exit status.

    Raises:
        ValueError: for anything that cannot be used, before anything is written.
    """
    arguments = paired.Arguments(minutes=DEMO_MINUTES if minutes is None else minutes, seed=seed)
    task = Task.of(arguments)
    folder = RunFolder(out, force=True)
    if not as_json:
        _say(
            f"A policy learns {task.rules} in seat {task.seat} against {arguments.against}, "
            f"for {arguments.minutes:g} minutes."
        )
    command = shlex.join(
        ["cuckoo", "demo", "--out", out, "--minutes", f"{arguments.minutes:g}", "--seed", str(seed)]
    )
    outcome = _learn(Order(name="paired", arguments=arguments), folder, command, quiet=as_json)
    agent = PolicyAgent.of(outcome.policy, f"policy:{folder.path}")
    if not as_json:
        _say(f"Now {DEMO_GAMES:,} games for each way to play that seat, the same cards for all.")
    content = measure(task, agent, seed, games=DEMO_GAMES, quiet=as_json)
    write_text(folder.work / "evaluation.json", json_text(content.as_json()) + "\n")
    report.write(folder.work / "report.html", content)
    folder.finish()
    if as_json:
        training = outcome.policy.card.training
        _print_json({"out": str(folder.path), **_summary(training), **content.as_json()})
    else:
        _tell_measured(content, folder)
    return 0


def measure(
    task: Task, agent: PolicyAgent, seed: int, *, games: int, quiet: bool = True
) -> report.Content:
    """Measure a policy beside other ways to play its seat, all with the same deals.

    Args:
        task: what it was trained for, with one seat.
        agent: the policy.
        seed: the seed it was trained with; the games here are others.
        games: games for each way of playing the seat.
        quiet: whether to do without a progress bar.
    """
    seat = int(task.seat or 0)
    others = [parse(spec, task.rules) for spec in _SIMPLE]
    # Training seeds are below 2**32, so none of these games was trained on.
    evaluation_seed = 2**32 + seed
    with _bar("measuring", total=(2 + len(others)) * games, quiet=quiet) as bar:
        comparison = arena.compare(
            task.rules,
            task.lineups(agent)[0],
            task.lineups(parse(COPIED, task.rules))[0],
            games,
            evaluation_seed,
            progress=lambda over: bar.update(bar.task_ids[0], completed=over),
        )
        results = []
        for k, other in enumerate(others):
            before = (2 + k) * games
            results.append(
                arena.play(
                    task.rules,
                    task.lineups(other)[0],
                    games,
                    evaluation_seed,
                    progress=lambda over, before=before: bar.update(  # type: ignore[misc]
                        bar.task_ids[0], completed=before + over
                    ),
                )
            )
        habits = [
            report.observe(task.rules, task.lineups(each)[0], seat, seed=evaluation_seed)
            for each in (agent, parse(COPIED, task.rules))
        ]
    return report.Content(
        headroom=TableScores(task, games=games, seed=evaluation_seed).headroom(agent),
        card=agent.policy.card,
        seat=seat,
        comparison=comparison,
        others=results,
        habits=habits[0],
        compared_habits=habits[1],
    )


# -- Saying what came of it ---------------------------------------------------------------------


def _summary(training: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a run, from the training of its policy's card."""
    names = ("steps", "seconds", "decisions_per_second", "interrupted", "reached_target")
    last = Point.from_json(training["learning_curve"][-1])
    return {**{name: training[name] for name in names}, **last.scores}


def _tell(outcome: Outcome, folder: RunFolder, *, as_json: bool) -> None:
    if as_json:
        _print_json({"out": str(folder.path), **_summary(outcome.policy.card.training)})
        return
    end = ", its target reached." if outcome.reached else "."
    _say(
        f"Learned from {outcome.steps:,} decisions in {outcome.seconds:.0f} s "
        f"({outcome.rate:,.0f} decisions a second)"
        + (", stopped before its time." if outcome.interrupted else end)
    )
    scores = outcome.curve[-1].scores
    if "win_share" in scores:
        error = scores["win_share_se"]
        sampled = f" ± {error:.1%} of sampled games" if error else ", exactly"
        _say(f"It wins {scores['win_share']:.1%}{sampled}.")
    for headline in curve.HEADLINES:
        if headline.name in scores and headline.name != "win_share":
            value = f"{scores[headline.name]:{headline.form}}"
            _say(f"{headline.words[0].upper()}{headline.words[1:]}: {value}.")
    _say(f"The policy is in {folder.path}; it plays as policy:{folder.path}")
    if outcome.interrupted:
        _say(f"Go on with: cuckoo train --resume {folder.path}")


def _tell_measured(content: report.Content, folder: RunFolder) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("who plays the seat", "wins", "± standard error", "mean return"):
        table.add_column(column, justify="left" if column.startswith("who") else "right")
    for row in content.rows():
        figures = f"{row.win_share:.2%}", f"{row.win_share_se:.2%}", f"{row.payoff:+.4f}"
        table.add_row(row.label, *figures)
    Console(highlight=False).print(table)
    _say(content.verdict())
    if content.headroom:
        _say(content.exact_verdict())
    _say(f"The report: {folder.path / 'report.html'}")


def _say(text: str) -> None:
    console = Console(markup=False, highlight=False, emoji=False)
    console.print(text, soft_wrap=not console.is_terminal)


def _print_json(value: object) -> None:
    print(json_text(value))  # noqa: T201 - what the user asked for
