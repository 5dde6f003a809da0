"""The command ``cuckoo``: rule sets explained, agents measured, policies trained.

Heavy libraries are imported in the commands that need them, so that help and errors come at once.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cuckoo_env.files import json_text
from cuckoo_env.rules import PRESETS, Length, Preset, Rules

if TYPE_CHECKING:
    from cuckoo_env.agents import Agent
    from cuckoo_env.evaluate import Comparison, Result
    from cuckoo_env.evaluate.card import Card
    from cuckoo_env.evaluate.exact import Exact
    from cuckoo_env.records import Record, RecordError

WRONG: Final = 1
"""The exit status after a check that found something wrong."""
BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
"""What shells report for a command stopped with Ctrl-C."""
GAMES: Final = 100_000
"""Games that ``cuckoo evaluate`` plays unless told otherwise."""

_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]
"""click's error for a command line it cannot read; newer versions of typer have their own copy."""
_EXTRAS: Final = {
    **dict.fromkeys(
        ("torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib"), "train"
    ),
    **dict.fromkeys(("anyio", "starlette", "uvicorn"), "table"),
    "onnx": "onnx",
}
"""Libraries that come with an extra of the package, and which."""

app = typer.Typer(
    name="cuckoo",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Example: cuckoo evaluate robin robin alex --rules practice-table",
)

RulesOption = Annotated[
    str, typer.Option("--rules", help="A preset, and what differs: standard,lives=4.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="The same seed, the same result.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: what stands behind ``cuckoo``; None for this process's own.

    Returns:
        The exit status: 0, or 2 after bad input, which is told in one line on standard error.
    """
    # Without this, threads of numerical libraries fight over a core that others use.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # NumPy's products of small matrices are ten times as slow on many threads beside a busy core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = app(given or ["--help"], prog_name="cuckoo", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        return _refuse(error.format_message())  # type: ignore[attr-defined]
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get(str(missing.name))
        if extra is None:
            raise
        return _refuse(f"{missing.name} is missing; install: pip install 'cuckoo-env[{extra}]'")
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing may be flushed there at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        told = error.filename is not None and error.strerror is not None
        return _refuse(f"{error.filename}: {error.strerror}" if told else str(error))
    except ValueError as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    if status == INTERRUPTED:  # newer versions of typer catch Ctrl-C themselves
        _refuse("interrupted")
    return status if isinstance(status, int) else 0


def _refuse(message: str) -> int:
    typer.echo(f"cuckoo: {' '.join(message.split())}", err=True)
    return BAD_INPUT


@app.callback(invoke_without_command=True)
def _about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """The card game Cuckoo (Chase the Ace): rules, agents, training and evaluation."""
    if version:
        _print(importlib.metadata.version("cuckoo-env"))
        raise typer.Exit


# -- cuckoo rules -------------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo rules queen-rule,seats=5,ace=high")
def rules(
    name: Annotated[
        str | None, typer.Argument(help="A preset, and what differs: standard,lives=4.")
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Where sources differ, and what is done here.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the presets, or explain a rule set in plain sentences."""
    if sources:
        _list_sources(as_json=as_json)
    elif name is None:
        _list_presets(as_json=as_json)
    else:
        _explain(Rules.parse(name), as_json=as_json)


def _list_presets(*, as_json: bool) -> None:
    if as_json:
        _print_json([_preset_fields(preset) for preset in PRESETS.values()])
        return
    table = _table("preset", "seats", "from", "what it is")
    for preset in PRESETS.values():
        table.add_row(preset.name, _seats_text(preset), preset.source, preset.summary)
    _print(table)
    _print("Explain one, also with changes: cuckoo rules standard,lives=4,queen=redirects")


def _list_sources(*, as_json: bool) -> None:
    from cuckoo_env.explain import SOURCES, SOURCES_DISAGREE

    if as_json:
        _print_json([vars(each) | {"says": dict(each.says)} for each in SOURCES_DISAGREE])
        return
    for each in SOURCES_DISAGREE:
        _print(f"{each.question} [{each.fields}]" if each.fields else each.question)
        for source in SOURCES:
            _print(f"  {source}: {each.says.get(source, 'silent')}")
        _print(f"  here: {each.here}")


def _preset_fields(preset: Preset) -> dict[str, Any]:
    return {
        "name": preset.name,
        "from": preset.source,
        "summary": preset.summary,
        "fewest_seats": preset.fewest,
        "most_seats": preset.most,
        "fields": preset.rules().fields(),
    }


def _seats_text(preset: Preset) -> str:
    if preset.most is None:
        return f"{preset.fewest} or more"
    return str(preset.most) if preset.fewest == preset.most else f"{preset.fewest} to {preset.most}"


def _explain(rules: Rules, *, as_json: bool) -> None:
    from cuckoo_env import explain

    told, both = explain.sentences(rules), explain.together(rules)
    differing = explain.special(rules)
    if as_json:
        _print_json(
            {
                "rules": str(rules),
                "fields": rules.fields(),
                "special": differing,
                "sentences": told,
                "together": both,
            }
        )
        return
    _print(f"Rules: {rules}")
    table = _table("", "field", "value", "meaning")
    for field, sentence in told.items():
        mark = "*" if field in differing else ""
        table.add_row(mark, field, _value_text(rules.fields()[field]), sentence)
    _print(table)
    if differing:
        _print("* differs from the defaults")
    for sentence in both:
        _print(f"- {sentence}")


def _value_text(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


# -- cuckoo evaluate ----------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo evaluate robin robin alex --rules practice-table")
def evaluate(
    agents: Annotated[
        list[str],
        typer.Argument(
            metavar="AGENT...",
            help="One for every seat: random, naive, robin, alex, threshold:T, equilibrium, generalist,"
            " ppo-practice, table:FILE, best-response:AGENT,... or policy:PATH.",
        ),
    ],
    rules: RulesOption = "practice-table",
    exact: Annotated[
        bool, typer.Option("--exact", help="Calculate instead of playing: no errors, no luck.")
    ] = False,
    best_response: Annotated[
        bool,
        typer.Option("--best-response", help="With --exact: what each seat could win alone."),
    ] = False,
    games: Annotated[
        int | None,
        typer.Option("--games", help="How many games to play.", show_default=f"{GAMES:,}"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="The same seed, the same result.", show_default="0"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", help="Agents with commas between: another line-up, dealt the same cards."
        ),
    ] = None,
    first_dealer: Annotated[
        str | None,
        typer.Option(
            "--first-dealer",
            help="lot, cut, a seat, or all (every seat in turn); otherwise as the rules say.",
        ),
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="Write every game down, one a line, for cuckoo replay; replaces an earlier file. This"
            " takes longer.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let agents play many games, or calculate what they win, and tell how they do."""
    from cuckoo_env.agents import lineup

    table_rules = rules_for(rules, len(agents))
    ours = lineup(agents, table_rules)
    theirs = None if baseline is None else lineup(baseline, table_rules)
    if exact:
        _refuse_sampling(games=games, seed=seed, records=records)
        _calculate(
            table_rules,
            ours,
            theirs,
            first_dealer=first_dealer,
            best_responses=best_response,
            as_json=as_json,
        )
        return
    if best_response:
        raise ValueError("--best-response is refused; accepted: only together with --exact")
    _sample(
        table_rules,
        ours,
        theirs,
        games=GAMES if games is None else games,
        seed=seed or 0,
        first_dealer=first_dealer,
        records=records,
        as_json=as_json,
    )


def _refuse_sampling(**options: int | str | None) -> None:
    """Exact values know no number of games and no seed."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"{name}: {value} is refused; accepted: none with --exact, which plays no games"
            )


def _sample(
    rules: Rules,
    ours: Sequence[Agent],
    theirs: Sequence[Agent] | None,
    *,
    games: int,
    seed: int,
    first_dealer: str | None,
    records: str | None,
    as_json: bool,
) -> None:
    """Play, and print what came of it."""
    from cuckoo_env import evaluate as arena

    common = {"games": games, "seed": seed, "first_dealer": first_dealer}
    if theirs is None:
        with (
            _keeping(records) as keep,
            _progress("Playing", games, hidden=as_json) as tell,
        ):
            result = arena.play(rules, ours, **common, progress=tell, keep=keep)  # type: ignore[arg-type]
        _report(result, None, as_json=as_json)
        if records and not as_json:
            _print(f"{games:,} games written to {records}.")
        return
    if records:
        raise ValueError(f"records: {records} is refused; accepted: only without --baseline")
    with _progress("Playing", 2 * games, hidden=as_json) as tell:
        both = arena.compare(rules, ours, theirs, **common, progress=tell)  # type: ignore[arg-type]
    _report(both.lineup, both, as_json=as_json)


def _keeping(path: str | None) -> AbstractContextManager[Callable[[Record], None] | None]:
    """What takes records and writes them to a file as a whole; nothing without a path."""
    from cuckoo_env.records import writing

    return nullcontext() if path is None else writing(Path(path))


def rules_for(text: str, seats: int) -> Rules:
    """The rule set that a text names, with so many seats if it leaves their number open.

    Raises:
        RulesError: as :meth:`Rules.parse`.
    """
    preset, *settings = text.split(",")
    named = any(setting.partition("=")[0].strip() == "seats" for setting in settings)
    known = PRESETS.get(preset.strip())
    if known is not None and not named and known.admits(seats):
        return Rules.parse(f"{text},seats={seats}")
    return Rules.parse(text)


def _report(result: Result, both: Comparison | None, *, as_json: bool) -> None:
    verdicts = [*result.verdicts, *(both.verdicts if both else [])]
    if as_json:
        _print_json(_as_fields(result, both) | {"verdicts": verdicts})
        return
    table = _table("seat", "agent", "win share", "payoff")
    if both:
        table.add_column("win share less baseline's")
    for seat, agent in enumerate(result.agents):
        row = [
            str(seat),
            agent,
            f"{result.win_share[seat]:.4f} ± {result.win_share_se[seat]:.4f}",
            f"{result.payoff[seat]:+.4f} ± {result.payoff_se[seat]:.4f}",
        ]
        if both:
            row.append(f"{both.win_share[seat]:+.4f} ± {both.win_share_se[seat]:.4f}")
        table.add_row(*row)
    _print(table)
    _print(_conditions(result))
    if both:
        _print(f"Baseline: {', '.join(both.baseline.agents)}, dealt the same cards.")
    for line in verdicts:
        _print(line)


def _conditions(result: Result) -> str:
    """What was played, in a line."""
    parts = [
        f"{result.games:,} games of {result.rules}, seed {result.seed}",
        f"first dealer: {result.first_dealer}",
        f"{result.rounds:.2f} rounds a game",
    ]
    shares = {"truncated": result.truncated, "undecided": result.undecided}
    parts += [f"{share:.2%} {name}" for name, share in shares.items() if share]
    return "; ".join(parts) + "; ± one standard error."


def _as_fields(result: Result, both: Comparison | None) -> dict[str, Any]:
    fields = {"method": "sampled", **_plain(result)}
    if both:
        fields["baseline"] = _plain(both.baseline)
        fields["difference"] = {
            name: getattr(both, name).tolist()
            for name in ("win_share", "win_share_se", "payoff", "payoff_se")
        }
    return fields


def _plain(result: Result) -> dict[str, Any]:
    """The result as JSON knows it."""
    values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return {k: v.tolist() if hasattr(v, "tolist") else v for k, v in values.items()}


# -- cuckoo evaluate --exact --------------------------------------------------------------------


def _calculate(
    rules: Rules,
    ours: Sequence[Agent],
    theirs: Sequence[Agent] | None,
    *,
    first_dealer: str | None,
    best_responses: bool,
    as_json: bool,
) -> None:
    """Print exact values, of one line-up or of two."""
    from cuckoo_env.evaluate.arena import EVERY_DEALER, tables_for
    from cuckoo_env.evaluate.exact import evaluate

    table = tables_for(rules, first_dealer)[0]
    lineups = [ours] if theirs is None else [ours, theirs]
    values: list[Exact] = []
    with _progress("Calculating", len(lineups), hidden=as_json) as tell:
        for agents in lineups:
            values.append(
                evaluate(
                    table,
                    agents,
                    first_dealer=EVERY_DEALER if first_dealer == EVERY_DEALER else None,
                    best_responses=best_responses,
                    progress=lambda share: tell(len(values) + share),
                )
            )
    if as_json:
        _print_json(_exact_fields(rules, values))
    else:
        _print_exact(rules, values)


_NO_PAYOFF: Final = (
    "final_tie=carry_stake without max_rounds: the pot can grow without bound; give max_rounds"
)


def _exact_fields(rules: Rules, values: list[Exact]) -> dict[str, Any]:
    ours, *baseline = values
    fields = {"method": "exact", "rules": str(rules), **_exact_plain(rules, ours)}
    for theirs in baseline:
        fields["baseline"] = _exact_plain(rules, theirs)
        fields["difference"] = {
            name: None
            if fields[name] is None
            else (getattr(ours, name) - getattr(theirs, name)).tolist()
            for name in ("win_share", "payoff")
        }
    return fields


def _exact_plain(rules: Rules, values: Exact) -> dict[str, Any]:
    """The values as JSON knows them."""
    nobody = _nobody(rules, values)
    plain: dict[str, Any] = {
        "agents": list(values.agents),
        "first_dealer": values.first_dealer,
        "win_share": values.win_share.tolist(),
        "payoff": None if values.payoff is None else values.payoff.tolist(),
        "truncated": nobody.get("truncated", 0.0),
        "undecided": nobody.get("undecided", 0.0),
    }
    if values.payoff is None:
        plain["payoff_reason"] = _NO_PAYOFF
    if values.best_response is not None and values.gain is not None:
        plain["best_response"] = values.best_response.tolist()
        plain["gain"] = values.gain.tolist()
        plain["nash_conv"] = values.nash_conv
    return plain


def _nobody(rules: Rules, values: Exact) -> dict[str, float]:
    """How likely nobody wins, by the one reason that these rules have for it."""
    return {"undecided" if rules.game is Length.ROUND else "truncated": values.truncated}


def _print_exact(rules: Rules, values: list[Exact]) -> None:
    ours, *baseline = values
    columns = ["win share", "payoff"]
    if ours.best_response is not None:
        columns += ["best response", "gain"]
    if baseline:
        columns.append("win share less baseline's")
    table = _table("seat", "agent", *columns)
    for seat, agent in enumerate(ours.agents):
        row = [str(seat), agent, f"{ours.win_share[seat]:.6f}"]
        row.append("-" if ours.payoff is None else f"{ours.payoff[seat]:+.6f}")
        if ours.best_response is not None and ours.gain is not None:
            row += [f"{ours.best_response[seat]:.6f}", f"{ours.gain[seat]:.6f}"]
        row += [f"{ours.win_share[seat] - theirs.win_share[seat]:+.6f}" for theirs in baseline]
        table.add_row(*row)
    _print(table)
    nobody = [f"{share:.2%} {name}" for name, share in _nobody(rules, ours).items() if share]
    dealer = f"first dealer: {ours.first_dealer}"
    _print("; ".join([f"Exact values of {rules}", dealer, *nobody]) + ".")
    if ours.payoff is None:
        _print(f"No payoffs: {_NO_PAYOFF}.")
    if ours.nash_conv is not None:
        _print(f"NashConv {ours.nash_conv:.6f}: all that the seats could gain, each alone.")
    for theirs in baseline:
        _print(f"Baseline: {', '.join(theirs.agents)}.")


# -- cuckoo replay ------------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo replay games.jsonl --show")
def replay(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Records: one JSON object, or one on every line."),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the records, filled in, if none is wrong; replaces an earlier file.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Tell every game in words.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Play records of games again, checking all they say and filling in what they leave out.

    The exit status is 1 if any record is wrong.
    """
    with _keeping(out) as keep:
        replayed = _Replayed(keep, show=show, as_json=as_json)
        # Told at once, the stories and the bar would be in each other's way.
        with _progress("Replaying", sum(map(_lines, files)), hidden=show or as_json) as tell:
            replayed.read(files, tell)
        replayed.sum_up(out)
        if replayed.errors:
            raise typer.Exit(WRONG)  # an error in this block leaves --out as it was
    return 0


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


class _Replayed:
    """What came of replaying files of records."""

    def __init__(self, keep: Callable[[Record], None] | None, *, show: bool, as_json: bool) -> None:
        self._keep, self._show, self._as_json = keep, show, as_json
        self._records = 0
        self.errors: list[dict[str, Any]] = []
        self._shown: list[dict[str, Any]] = []

    def read(self, files: Sequence[Path], tell: Callable[[float], None]) -> None:
        """Replay all records of all files."""
        from cuckoo_env import records

        before = 0
        for path in files:
            for line, found in records.read(path):
                self._records += 1
                place = {"file": str(path), "line": line}
                try:
                    if isinstance(found, records.RecordError):
                        raise found
                    self._accept(place, records.check(found))
                except records.RecordError as error:
                    self._refuse(place, error)
                tell(before + line)
            before += _lines(path)

    def _accept(self, place: dict[str, Any], record: Record) -> None:
        from cuckoo_env import records

        if self._keep:
            self._keep(record)
        if not self._show:
            return
        story = records.story(record)
        if self._as_json:
            self._shown.append({**place, "record": record, "story": story})
            return
        _print(f"{place['file']}:{place['line']}: {record['rules']}")
        for number, (each, sentences) in enumerate(zip(record["rounds"], story, strict=True), 1):
            _print(f"Round {number}, lives {', '.join(map(str, each['lives']))}")
            for sentence in sentences:
                _print(f"  {sentence}")
        _print(_ending(record))

    def _refuse(self, place: dict[str, Any], error: RecordError) -> None:
        fields = {"round": error.round, "seat": error.seat, "field": error.field}
        self.errors.append({**place, **fields, "reason": error.reason, "message": str(error)})
        if self._show and not self._as_json:
            self._print_error(self.errors[-1])

    def _print_error(self, error: dict[str, Any]) -> None:
        _print("{file}:{line}: {message}".format(**error))

    def sum_up(self, out: str | None) -> None:
        """Print what was wrong, and how much."""
        if self._as_json:
            shown = {"shown": self._shown} if self._show else {}
            _print_json(
                {
                    "records": self._records,
                    "wrong": len(self.errors),
                    "errors": self.errors,
                    **shown,
                }
            )
            return
        if not self._show:
            for error in self.errors:
                self._print_error(error)
        noun = "record" if self._records == 1 else "records"
        nothing = "; nothing written" if out and self.errors else ""
        _print(f"{self._records:,} {noun}, {len(self.errors):,} wrong{nothing}")


def _ending(record: Record) -> str:
    """How a recorded game ended, in a line."""
    if record["winners"] is None:
        return "Not over."
    names = record["seats"]
    winners = ", ".join(names[seat] for seat in record["winners"]) or "nobody"
    returns = [f"{name} {each:+g}" for name, each in zip(names, record["payoffs"], strict=True)]
    return f"Won by {winners}. Returns: {', '.join(returns)}."


# -- cuckoo solve -------------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo solve --rules le-her --out le-her.npz")
def solve(
    out: Annotated[str, typer.Option("--out", help="The file for the solved table.")],
    rules: RulesOption = "practice-table",
    target: Annotated[
        float, typer.Option("--target", help="Stop when NashConv, in win share, is at most this.")
    ] = 1e-5,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Stop after about so long, whatever is reached.")
    ] = 600.0,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn an equilibrium, and say exactly how much anybody could still gain against it."""
    from cuckoo_env.train import solve as solver

    path, wanted = Path(out), Rules.parse(rules)
    for name, value in (("target", target), ("seconds", seconds)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}: {value:g} is refused; accepted: a number above 0")
    if path.exists() and not force:
        raise ValueError(f"out: {out} is refused: it exists; accepted: a new file, or --force")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"out: {out} is refused: there is no folder {path.absolute().parent}")
    with _solving(target, hidden=as_json) as tell:
        solution = solver.solve(wanted, target=target, seconds=seconds, progress=tell)
    solver.as_table(solution, f"table:{out}", {"target": target}).save(path)
    figures = {
        "rules": str(wanted),
        "out": out,
        "nash_conv": solution.nash_conv,
        "win_share": solution.win_share.tolist(),
        "seconds": round(solution.seconds, 1),
        "iterations": solution.iterations,
    }
    if as_json:
        _print_json(figures)
        return
    shares = ", ".join(f"{share:.4f}" for share in solution.win_share)
    _print(f"{wanted}: win shares {shares}")
    _print(
        f"NashConv {solution.nash_conv:.2e} after {solution.iterations:,} sweeps,"
        f" {solution.seconds:.0f} s: what all seats together could gain, exactly."
    )
    if wanted.seats > 2:
        _print("With three seats and more, a small NashConv is all that is claimed.")
    else:
        _print("Two seats are zero-sum: no seat's value is further off than that.")
    _print(f"It plays as table:{out}")


@contextmanager
def _solving(target: float, *, hidden: bool) -> Iterator[Callable[[float], None]]:
    """A bar that fills as NashConv falls, from a tenth to the target, decade by decade."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("Solving"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    decades = max(math.log10(0.1 / target), 1.0)
    with Progress(
        *columns, console=console, transient=True, disable=hidden or not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=decades, note="growing the trees")

        def tell(nash_conv: float) -> None:
            done = min(max(math.log10(0.1 / max(nash_conv, 1e-300)), 0.0), decades)
            bar.update(task, completed=done, note=f"NashConv {nash_conv:.1e}")

        yield tell


# -- cuckoo card --------------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo card --rules practice-table --out card.svg")
def card(
    rules: RulesOption = "practice-table",
    agent: Annotated[
        str, typer.Option("--agent", help="Whose strategy: equilibrium, table:FILE, robin, …")
    ] = "equilibrium",
    out: Annotated[
        str | None,
        typer.Option("--out", help="Write a page to print, a .svg or a .png; replaces it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a strategy card: what to swap, and what it costs not to."""
    from cuckoo_env.agents import parse
    from cuckoo_env.evaluate import card as cards

    kind = None if out is None else Path(out).suffix.lower()
    if kind not in {None, ".svg", ".png"}:
        raise ValueError(f"out: {out} is refused; accepted: a file that ends in .svg or .png")
    table_rules = Rules.parse(rules)
    made = cards.card(table_rules, parse(agent, table_rules))
    if out is not None:
        _write_card(made, Path(out))
    if as_json:
        _print_json(_card_fields(made))
    elif out is None:
        typer.echo(cards.as_text(made), nl=False)
    else:
        _print(f"Wrote {out}.")


def _write_card(made: Card, path: Path) -> None:
    from cuckoo_env.evaluate.card_picture import as_svg, write_png
    from cuckoo_env.files import write_text

    if path.suffix.lower() == ".png":
        write_png(made, path)
    else:
        write_text(path, as_svg(made))


def _card_fields(made: Card) -> dict[str, Any]:
    return {
        "rules": str(made.rules),
        "agent": made.agent,
        "win_share": made.win_share,
        "loss": made.loss,
        "rows": [dataclasses.asdict(row) for row in made.rows],
    }


# -- cuckoo observe -----------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo observe --rules practice-table --seed 3 --moves keep,swap")
def observe(
    file: Annotated[
        str | None,
        typer.Argument(help="A file with a vector as a JSON list; - reads it from standard input."),
    ] = None,
    rules: RulesOption = "practice-table",
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="The seed of the game.", show_default="0"),
    ] = None,
    seat: Annotated[
        int | None,
        typer.Option("--seat", help="Who looks.", show_default="the seat to act"),
    ] = None,
    moves: Annotated[
        str | None, typer.Option("--moves", help="Actions taken before, with commas between.")
    ] = None,
    max_seats: Annotated[
        int | None,
        typer.Option("--max-seats", min=2, max=10_000, help="Seats that the vector has room for."),
    ] = None,
    with_rules: Annotated[
        bool, typer.Option("--with-rules", help="The vector carries the rules.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show the zeros too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Decode an observation into words: of a game, or of a vector from a file."""
    table = Rules.parse(rules)
    shape = {"max_seats": max_seats, "with_rules": with_rules}
    if file is None:
        told = _observed(table, seed or 0, seat, moves, shape)
    elif (seed, seat, moves) == (None, None, None):
        told = _read_vector(table, file, shape)
    else:
        raise ValueError("FILE: refused together with --seed, --seat and --moves: it is no game")
    _print_observation(table, *told, everything=everything, as_json=as_json)


def _observed(
    rules: Rules, seed: int, seat: int | None, moves: str | None, shape: dict[str, Any]
) -> tuple[dict[str, Any], Any, Any]:
    """What is looked at, the layout and the vector, of a game."""
    from cuckoo_env.game import Game
    from cuckoo_env.observation import Layout

    layout = Layout.of(rules, **shape)
    game = Game(rules, seed)
    for move in filter(None, (moves or "").split(",")):
        game.act(move.strip())
    viewer = (game.seat or 0) if seat is None else seat
    vector, _ = game.observe(viewer, layout)
    legal = list(game.legal_actions()) if viewer == game.seat else []
    facts = {"rules": str(rules), "seed": seed, "seat": viewer, "legal": legal}
    return facts, layout, vector


def _read_vector(rules: Rules, file: str, shape: dict[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """What is looked at, the layout and the vector, of a file."""
    from pathlib import Path

    from cuckoo_env import decode

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        vector = json.loads(text)
    except ValueError:
        raise ValueError(f"{file}: this is no JSON list of numbers") from None
    if not isinstance(vector, list):
        raise ValueError(f"{file}: this is no JSON list of numbers")
    layout = decode.layout_for(
        rules,
        len(vector),
        max_seats=shape["max_seats"],
        with_rules=shape["with_rules"] or None,
    )
    return {"rules": str(rules)}, layout, vector


def _print_observation(
    rules: Rules,
    facts: dict[str, Any],
    layout: Any,
    vector: Any,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    from cuckoo_env import decode

    numbers = decode.decode(layout, vector, rules)
    sentences = decode.describe(layout, vector, rules)
    shown = [each for each in numbers if everything or each.value]
    if as_json:
        fields = [dataclasses.asdict(each) for each in shown]
        _print_json({**facts, "size": layout.size, "numbers": fields, "sentences": sentences})
        return
    table = _table("index", "name", "value", "meaning")
    for each in shown:
        table.add_row(str(each.index), each.name, f"{each.value:g}", each.words)
    _print(", ".join(f"{name} {value}" for name, value in facts.items() if name != "legal"))
    _print(table)
    if len(shown) < len(numbers):
        _print(f"The other {len(numbers) - len(shown)} of {len(numbers)} numbers are 0.")
    _print(" ".join(sentences))
    if facts.get("legal"):
        _print(f"Legal: {', '.join(facts['legal'])}.")


# -- cuckoo train, cuckoo demo ------------------------------------------------------------------


@app.command(
    epilog="Example: cuckoo train --rules practice-table --seat 0 --against robin,alex --minutes 1"
    " --out runs/x. A run that was stopped goes on with: cuckoo train --resume runs/x"
)
def train(
    out: Annotated[
        str | None, typer.Option("--out", help="The folder for the policy and its curve.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="FOLDER", help="Go on with a run that was stopped."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            help="How it learns: paired (rollouts of both actions), ppo, self-play, generalist.",
            show_default="paired",
        ),
    ] = None,
    self_play: Annotated[
        bool, typer.Option("--self-play", help="Learn from itself: --algorithm self-play.")
    ] = False,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules",
            help="A preset, and what differs: standard,lives=4; any: all presets, one generalist.",
            show_default="practice-table",
        ),
    ] = None,
    seats: Annotated[
        str | None,
        typer.Option("--seats", help="A generalist's tables.", show_default="2-10"),
    ] = None,
    seat: Annotated[
        str | None, typer.Option("--seat", help="The learner's seat, or all.", show_default="0")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="The agents in the other seats, with commas between; fewer are taken again in turn.",
            show_default="robin,alex",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            help="How long to learn, measuring not counted.",
            show_default="1.0 without --steps",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="How many decisions to learn from instead.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="The same seed and --steps, the same policy.", show_default="0"
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", help="Several, such as 0,1,2: one run each, mean and spread."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target", help="Stop at this captured headroom (0.97), NashConv, or win share."
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", help="Where networks are: cpu, cuda, auto.", show_default="cpu"),
    ] = None,
    checkpoint_minutes: Annotated[
        float | None,
        typer.Option(
            "--checkpoint-minutes",
            help="What is lost at most if the run is killed.",
            show_default="1.0",
        ),
    ] = None,
    games: Annotated[
        int | None, typer.Option("--games", help="Games that run side by side.")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="Sizes of the network's layers: 128,128.")
    ] = None,
    shaping: Annotated[
        str | None, typer.Option("--shaping", help="none, or lives: rewards on the way.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Any other setting of the algorithm; repeatable."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Let a policy learn to play one seat, or all of them."""
    from cuckoo_env.train import command

    options = {
        "rules": rules, "seats": seats, "seat": seat, "against": against, "minutes": minutes,
        "steps": steps, "seed": seed, "target": target, "device": device,
        "checkpoint_minutes": checkpoint_minutes, "games": games, "hidden": hidden,
        "shaping": shaping,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    if resume is not None:
        also = {
            "out": out, "algorithm": algorithm, "self-play": self_play, "seeds": seeds, "set": settings,
        }  # fmt: skip
        named = [name for name, value in also.items() if value] + list(given)
        if named or force:
            first = "force" if force else named[0].replace("_", "-")
            raise ValueError(
                f"resume: refused together with --{first}; accepted: alone, the run goes on as it began"
            )
        return command.resume(resume, as_json=as_json)
    if out is None:
        raise ValueError("out: a folder is needed; accepted: --out FOLDER, or --resume FOLDER")
    return command.train(
        out=out,
        algorithm=algorithm,
        self_play=self_play,
        given=given,
        settings=settings or (),
        seeds=seeds,
        force=force,
        as_json=as_json,
    )


@app.command(epilog="Example: cuckoo demo --minutes 1 --out runs/short")
def demo(
    out: Annotated[str, typer.Option("--out", help="The folder for the report.")] = "runs/demo",
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", help="How long to learn; 1.5 if not told otherwise."),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> int:
    """Learn the practice table, measure the policy against Robin's own play, write a report."""
    from cuckoo_env.train import command

    return command.demo(out=out, minutes=minutes, seed=seed, as_json=as_json)


# -- cuckoo export ------------------------------------------------------------------------------


@app.command(epilog="Example: cuckoo export runs/x --onnx policy.onnx")
def export(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="A run folder, one of a policy's two files, or a policy that comes with the package.",
        ),
    ],
    onnx: Annotated[str, typer.Option("--onnx", metavar="FILE", help="The .onnx file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a trained policy as an ONNX model, for programs that play without this package."""
    from cuckoo_env.agents.export import export as write
    from cuckoo_env.agents.policy import SHIPPED, Policy, shipped

    path = Path(onnx)
    if path.suffix.lower() != ".onnx":
        raise ValueError(f"onnx: {onnx} is refused; accepted: a file that ends in .onnx")
    if path.exists() and not force:
        raise ValueError(f"onnx: {onnx} is refused: it exists; accepted: a new file, or --force")
    loaded = Policy.load(SHIPPED / policy if policy in shipped(SHIPPED) else policy)
    write(loaded, path)
    layout = loaded.card.layout
    if as_json:
        inputs = {"observation": layout.size, "mask": layout.n_actions}
        _print_json({"onnx": onnx, "rules": str(loaded.card.rules), **inputs})
        return
    _print(f"Wrote {onnx}, trained for {loaded.card.rules}.")
    _print(
        f"It takes observation (n, {layout.size}) float32 and mask (n, {layout.n_actions}) int8, "
        f"and gives probabilities (n, {layout.n_actions}) float32."
    )


# -- cuckoo table, cuckoo play ------------------------------------------------------------------

OpponentsOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        "--opponents",
        help="The agents in the other seats, with commas between; fewer are taken again in turn.",
        show_default="robin,alex",
    ),
]


@app.command(
    epilog="Example: cuckoo table --against equilibrium. Everything can also be chosen on the page."
)
def table(
    rules: RulesOption = "practice-table",
    against: OpponentsOption = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="PATH",
            help="A trained policy to offer as an opponent: its run folder or file; repeatable.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", help="Where to listen; others can reach it only if you say so."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")
    ] = 8642,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Show the page in a browser.")
    ] = True,
) -> int:
    """Serve the practice table: learn the game and play it in a browser, with a coach."""
    from cuckoo_env.play import command

    return command.table(
        rules=rules,
        against=against,
        policies=policy or [],
        host=host,
        port=port,
        open_browser=open_browser,
        tell=typer.echo,
    )


@app.command(epilog="Example: cuckoo play --rules queen-rule,seats=4 --against equilibrium")
def play(
    rules: RulesOption = "practice-table",
    against: OpponentsOption = None,
    name: Annotated[str, typer.Option("--name", help="What you are called.")] = "You",
    coach: Annotated[
        bool,
        typer.Option("--coach/--no-coach", help="Hear what each decision was worth, and why."),
    ] = True,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="The same seed, the same cards.", show_default="a new one"
        ),
    ] = None,
) -> int:
    """Play in the terminal, with a coach. Keep your card or swap it; the lowest loses a life."""
    from rich.console import Console

    from cuckoo_env.play import command

    console = Console(markup=False, highlight=False, emoji=False)
    return command.play(
        rules=rules, against=against, name=name, coach=coach, seed=seed, console=console
    )


# -- Output -------------------------------------------------------------------------------------


def _print(what: object) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    # Programs that read our output want a line as a line.
    console.print(what, soft_wrap=isinstance(what, str) and not console.is_terminal)


def _print_json(value: object) -> None:
    typer.echo(json_text(value))


def _table(first: str, *columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True)
    table.add_column(columns[-1])
    return table


@contextmanager
def _progress(what: str, total: int, *, hidden: bool) -> Iterator[Callable[[float], None]]:
    """A bar on standard error while something takes its time, if a person is there to see it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    disabled = hidden or not console.is_terminal
    with Progress(console=console, transient=True, disable=disabled) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


if __name__ == "__main__":
    sys.exit(main())
