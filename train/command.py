"""What ``cuckoo train`` and ``cuckoo demo`` do."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

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
from cuckoo_env.agents.policy import PolicyAgent
from cuckoo_env.evaluate import arena, report
from cuckoo_env.evaluate.exact import Headroom, headroom
from cuckoo_env.evaluate.match import TooLargeError
from cuckoo_env.files import write_text
from cuckoo_env.train.ppo import Arguments, Outcome, Progress, Task
from cuckoo_env.train.ppo import train as learn
from cuckoo_env.train.runs import RunFolder

DEMO_MINUTES: Final = 1.5
DEMO_GAMES: Final = 500_000
"""Games that each way of playing is measured in."""
_MINUTES: Final = 1.0
"""How long a run takes that is told neither time nor steps."""
_COPIED: Final = "robin"
"""Whose own play in the learner's seat the demo compares with."""
_SIMPLE: Final = ("naive", "random")
"""What else is measured in the learner's seat, to show the scale."""


def train(
    *,
    out: str,
    rules: str,
    seat: str,
    against: str,
    minutes: float | None,
    steps: int | None,
    seed: int,
    games: int | None,
    hidden: str | None,
    shaping: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Train a policy into a run folder, and say what came of it.

    Args:
        out: the run folder.
        rules: as in :class:`~cuckoo_env.train.ppo.Arguments`, like the others.
        seat: the learner's seat, or ``all``.
        against: the opponents.
        minutes: how long to train; one minute if ``steps`` does not say.
        steps: how many of the learner's decisions to train for.
        seed: the seed.
        games: games side by side; None for the default.
        hidden: sizes of the hidden layers, with commas between; None for the default.
        shaping: ``lives`` or ``none``; None for the default.
        force: whether an earlier run in that folder is replaced.
        as_json: print JSON, for machines.

    Returns:
        The exit status.

    Raises:
        ValueError: for anything that cannot be used, before anything is written.
    """
    chosen: dict[str, Any] = {
        "games": games,
        "hidden": None if hidden is None else parse_hidden(hidden),
        "shaping": shaping,
    }
    arguments = Arguments(
        rules=rules,
        seat=seat,
        against=against,
        minutes=_MINUTES if minutes is None and steps is None else minutes,
        steps=steps,
        seed=seed,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    task = Task.of(arguments)
    folder = RunFolder(out, force=force)
    command = _command("train", out=out, **_given(arguments))
    outcome = _learn(arguments, task, folder, command, quiet=as_json)
    folder.finish()
    if as_json:
        _print_json({"out": str(folder.path), **_summary(outcome)})
    else:
        _tell_outcome(task, outcome, folder)
    return 0


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
    arguments = Arguments(minutes=DEMO_MINUTES if minutes is None else minutes, seed=seed)
    task = Task.of(arguments)
    folder = RunFolder(out, force=True)
    command = _command("demo", out=out, minutes=arguments.minutes, seed=seed)
    if not as_json:
        _say(
            f"A policy learns {task.rules} in seat {task.seat} against {arguments.against}, "
            f"for {arguments.minutes:g} minutes."
        )
    outcome = _learn(arguments, task, folder, command, quiet=as_json)
    agent = PolicyAgent.of(outcome.policy, f"policy:{folder.path}")
    if not as_json:
        _say(f"Now {DEMO_GAMES:,} games for each way to play that seat, the same cards for all.")
    content = measure(task, agent, seed, games=DEMO_GAMES, quiet=as_json)
    write_text(folder.work / "evaluation.json", json.dumps(content.as_json(), indent=2) + "\n")
    report.write(folder.work / "report.html", content)
    folder.finish()
    if as_json:
        _print_json({"out": str(folder.path), **_summary(outcome), **content.as_json()})
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
    with _bar("measuring", total=(2 + len(others)) * games, quiet=quiet) as bar:
        # Training seeds are below 2**32, so none of these games was trained on.
        evaluation_seed = 2**32 + seed
        comparison = arena.compare(
            task.rules,
            task.lineups(agent)[0],
            task.lineups(parse(_COPIED, task.rules))[0],
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
            for each in (agent, parse(_COPIED, task.rules))
        ]
    return report.Content(
        headroom=_headroom(task, agent, seat),
        card=agent.policy.card,
        seat=seat,
        comparison=comparison,
        others=results,
        habits=habits[0],
        compared_habits=habits[1],
    )


def _headroom(task: Task, agent: PolicyAgent, seat: int) -> Headroom | None:
    """Exact win shares, where the table is small enough to be solved."""
    try:
        return headroom(
            task.rules, task.lineups(agent)[0], task.lineups(parse(_COPIED, task.rules))[0], seat
        )
    except TooLargeError:
        return None


def parse_hidden(text: str) -> tuple[int, ...]:
    """The sizes of hidden layers that ``text`` names, such as ``128,128``.

    Raises:
        ValueError: if it does not name any.
    """
    sizes = [part.strip() for part in text.split(",")]
    if not all(size.isascii() and size.isdigit() for size in sizes):
        raise ValueError(f"hidden: {text} is refused; accepted: sizes such as 128,128")
    return tuple(int(size) for size in sizes)


# -- Learning under a progress bar --------------------------------------------------------------


def _learn(
    arguments: Arguments, task: Task, folder: RunFolder, command: str, *, quiet: bool
) -> Outcome:
    with _bar("learning", total=1.0, quiet=quiet) as bar:

        def watch(progress: Progress) -> None:
            bar.update(
                bar.task_ids[0],
                completed=progress.share,
                note=f"{progress.rate:,.0f} decisions/s, return {progress.recent_return:+.3f}, "
                f"wins {progress.point.win_share:.1%}",
            )

        return learn(arguments, task, folder, command=command, watch=watch)


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
        bar.add_task(what, total=total, note="")
        yield bar


# -- Saying what came of it ---------------------------------------------------------------------


def _given(arguments: Arguments) -> dict[str, Any]:
    """The arguments that are not the defaults."""
    plain = {field.name: field.default for field in dataclasses.fields(Arguments)}
    values = dataclasses.asdict(arguments)
    return {name: value for name, value in values.items() if value != plain[name]}


def _command(verb: str, **options: Any) -> str:
    """The command line that asks for the same again."""
    words = ["cuckoo", verb]
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words += [f"--{name}", text]
    return shlex.join(words)


def _summary(outcome: Outcome) -> dict[str, Any]:
    last = outcome.curve[-1]
    return {
        "steps": outcome.steps,
        "seconds": round(outcome.seconds, 1),
        "decisions_per_second": round(outcome.rate),
        "interrupted": outcome.interrupted,
        "win_share": last.win_share,
        "win_share_se": last.win_share_se,
    }


def _tell_outcome(task: Task, outcome: Outcome, folder: RunFolder) -> None:
    last = outcome.curve[-1]
    where = "all seats in turn" if task.seat is None else f"seat {task.seat}"
    _say(
        f"Learned from {outcome.steps:,} decisions in {outcome.seconds:.0f} s "
        f"({outcome.rate:,.0f} decisions a second)"
        + (", stopped before its time." if outcome.interrupted else ".")
    )
    _say(
        f"It wins {last.win_share:.1%} ± {last.win_share_se:.1%} of sampled games in {where}. "
        f"The policy is in {folder.path}; it plays as policy:{folder.path}"
    )


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
    print(json.dumps(value, indent=2))  # noqa: T201 - what the user asked for
