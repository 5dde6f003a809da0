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
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cuckoo_env.rules import PRESETS, Preset, Rules

if TYPE_CHECKING:
    from cuckoo_env.evaluate import Comparison, Result

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
"""What shells report for a command stopped with Ctrl-C."""

_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]
"""click's error for a command line it cannot read; newer versions of typer have their own copy."""
_TRAINING: Final = frozenset(
    {"torch", "stable_baselines3", "sb3_contrib", "safetensors", "tensorboard", "matplotlib"}
)
"""Libraries of the extra ``train``."""

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
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = app(given or ["--help"], prog_name="cuckoo", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        return _refuse(error.format_message())  # type: ignore[attr-defined]
    except ModuleNotFoundError as missing:
        if missing.name not in _TRAINING:
            raise
        return _refuse(f"{missing.name} is missing; install: pip install 'cuckoo-env[train]'")
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing may be flushed there at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError) as error:
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
    as_json: JsonOption = False,
) -> None:
    """List the presets, or explain a rule set in plain sentences."""
    if name is None:
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
            help="One for every seat: random, naive, robin, alex, threshold:T or policy:PATH.",
        ),
    ],
    rules: RulesOption = "practice-table",
    games: Annotated[int, typer.Option("--games", help="How many games to play.")] = 100_000,
    seed: SeedOption = 0,
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
    as_json: JsonOption = False,
) -> None:
    """Let agents play many games, and tell how they did, with standard errors."""
    from cuckoo_env import evaluate as arena
    from cuckoo_env.agents import lineup

    table_rules = rules_for(rules, len(agents))
    ours = lineup(agents, table_rules)
    common = {"games": games, "seed": seed, "first_dealer": first_dealer}
    if baseline is None:
        with _progress("Playing", games, hidden=as_json) as tell:
            result = arena.play(table_rules, ours, **common, progress=tell)  # type: ignore[arg-type]
        _report(result, None, as_json=as_json)
        return
    theirs = lineup(baseline, table_rules)
    with _progress("Playing", 2 * games, hidden=as_json) as tell:
        both = arena.compare(table_rules, ours, theirs, **common, progress=tell)  # type: ignore[arg-type]
    _report(both.lineup, both, as_json=as_json)


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


# -- cuckoo train, cuckoo demo ------------------------------------------------------------------


@app.command(
    epilog="Example: cuckoo train --rules practice-table --seat 0 --against robin,alex --minutes 1"
    " --out runs/x"
)
def train(
    out: Annotated[str, typer.Option("--out", help="The folder for the policy and its report.")],
    rules: RulesOption = "practice-table",
    seat: Annotated[str, typer.Option("--seat", help="The learner's seat, or all.")] = "0",
    against: Annotated[
        str, typer.Option("--against", help="The agents in the other seats, with commas between.")
    ] = "robin,alex",
    minutes: Annotated[float | None, typer.Option("--minutes", help="How long to learn.")] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="How many decisions to learn from instead.")
    ] = None,
    seed: SeedOption = 0,
    games: Annotated[
        int | None, typer.Option("--games", help="Games that run side by side.")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="Sizes of the network's layers: 128,128.")
    ] = None,
    shaping: Annotated[
        str | None, typer.Option("--shaping", help="none, or lives: rewards on the way.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Let a policy learn to play one seat, or all of them."""
    from cuckoo_env.train import command

    return command.train(
        rules=rules,
        seat=seat,
        against=against,
        minutes=minutes,
        steps=steps,
        seed=seed,
        out=out,
        games=games,
        hidden=hidden,
        shaping=shaping,
        force=force,
        as_json=as_json,
    )


@app.command(epilog="Example: cuckoo demo --minutes 1 --out runs/short")
def demo(
    out: Annotated[str, typer.Option("--out", help="The folder for the report.")] = "runs/demo",
    minutes: Annotated[float | None, typer.Option("--minutes", help="How long to learn.")] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> int:
    """Learn the practice table, measure the policy against Robin's own play, write a report."""
    from cuckoo_env.train import command

    return command.demo(out=out, minutes=minutes, seed=seed, as_json=as_json)


# -- Output -------------------------------------------------------------------------------------


def _print(what: object) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    # Programs that read our output want a line as a line.
    console.print(what, soft_wrap=isinstance(what, str) and not console.is_terminal)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=False))


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: what could not be measured is null."""
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


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
def _progress(what: str, games: int, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while games are played, if a person is there to see it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    disabled = hidden or not console.is_terminal
    with Progress(console=console, transient=True, disable=disabled) as bar:
        task = bar.add_task(what, total=games)
        yield lambda over: bar.update(task, completed=over)


if __name__ == "__main__":
    sys.exit(main())
