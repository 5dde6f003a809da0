"""How fast everything is on this machine, beside the environments of others.

Ours and the peers run in one process and in turn, all with the same cheap choice; see :mod:`measure`.
The full run takes about six minutes and writes ``results/speed.json``, from which
``benchmarks/render.py`` makes the tables in the documents. A quick or a partial run only prints.
Leave the machine alone meanwhile. Linux or macOS.

    python benchmarks/bench.py
    python benchmarks/bench.py --quick
    python benchmarks/bench.py --only single --only start/help
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

# Before numba, torch and JAX are imported: waiting threads must not spin beside a busy core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import kernels
import ours
import peers
from made import ROOT, made_with
from measure import Check, Contender, Measurement, Settings, is_named, race
from render import UNITS, number, spread, verdict
from rich.console import Console
from rich.table import Table

from cuckoo_env.compiled import available_cores
from cuckoo_env.files import write_text

OUTPUT: Final = ROOT / "results" / "speed.json"
_PEERS: Final = ("jax", "pgx", "rlcard", "open-spiel")
_BUSY: Final = 0.3
"""Load a core, before we start, at which figures are not to be trusted."""


def checks(settings: Settings) -> list[Check]:
    """The ratios that are told, and what is required of them."""
    fastest = f"batch/3/{settings.cores}"
    return [
        Check(name="batch engine, all cores", of=fastest, at_least=12e6),
        Check(name="learning, 128x128, 3 epochs: decisions", of="training", at_least=40e3),
        Check(
            name="batch engine over Pgx leduc_holdem",
            of=fastest,
            over="pgx/leduc_holdem",
            at_least=10,
        ),
        Check(name="batch engine over Pgx kuhn_poker", of=fastest, over="pgx/kuhn_poker"),
        Check(
            name="batch engine, 65,536 games: two threads over one",
            of="batch/3/2/65536",
            over="batch/3/1/65536",
            at_least=1.7,
        ),
        Check(
            name="batch engine beside a busy core, over alone",
            of="busy/beside",
            over="busy/alone",
            at_least=0.5,
        ),
        Check(
            name="batch engine, cost of a decision: 26 seats over 3, each at its best number of games",
            of="table/3",
            over="table/26",
            at_most=6,
        ),
        Check(
            name="raw_env(), cost of a decision: 26 seats over 3",
            of="raw_env/3",
            over="raw_env/26",
            at_most=6,
        ),
        Check(
            name="env(), cost of a decision: 26 seats over 3",
            of="env/3",
            over="env/26",
            at_most=6,
        ),
        Check(name="memory of a game at 10 seats", of="memory/batch", at_most=2048),
        Check(
            name="vector environment against Robin and Alex, the learner's decisions",
            of="vector/copy=True",
            at_least=3e6,
        ),
        Check(
            name="raw_env() over wrapped rps_v2",
            of="raw_env/3",
            over="pettingzoo/rps_v2",
            at_least=4,
        ),
        Check(name="env() over wrapped rps_v2", of="env/3", over="pettingzoo/rps_v2", at_least=4),
        Check(
            name="env() over wrapped leduc_holdem_v4",
            of="env/3",
            over="pettingzoo/leduc_holdem_v4",
            at_least=15,
        ),
        Check(name="env() over RLCard leduc-holdem", of="env/3", over="rlcard/leduc-holdem"),
        Check(name="env() over OpenSpiel leduc_poker", of="env/3", over="openspiel/leduc_poker"),
        Check(name="python -c 'import cuckoo_env'", of="start/import", at_most=1),
        Check(
            name="python -c 'from cuckoo_env import cuckoo_v0'", of="start/environment", at_most=1
        ),
        Check(name="cuckoo --help", of="start/help", at_most=0.5),
        Check(name="a small cuckoo evaluate", of="start/evaluate", at_most=3),
    ]


def chosen(settings: Settings, only: Sequence[str]) -> dict[str, list[Contender]]:
    """The contenders by groups; all, or those of the groups and keys that are named.

    Raises:
        SystemExit: for a name that nothing has.
    """
    everything = [
        *ours.contenders(settings),
        *peers.contenders(settings),
        *kernels.contenders(settings),
    ]
    known = {one.group for one in everything} | {one.key for one in everything}
    for name in only:
        if not any(is_named(key, name) for key in known):
            names = ", ".join(dict.fromkeys(one.group for one in everything))
            raise SystemExit(f"bench: --only {name} is refused; accepted: {names}, or a key")
    groups: dict[str, list[Contender]] = {}
    for one in everything:
        if not only or any(one.group == name or is_named(one.key, name) for name in only):
            groups.setdefault(one.group, []).append(one)
    return groups


def show(results: dict[str, Any], console: Console) -> None:
    """Print what was found."""
    measured = Table("group", "what", "setting", "median", "low – high", title="Speed")
    for row in results["measurements"]:
        found = (
            (row["missing"], "")
            if "missing" in row
            else (f"{number(row['median'])} {UNITS[row['unit']]}".strip(), spread(row))
        )
        measured.add_row(row["group"], row["family"], row["setting"], *found)
    console.print(measured)
    table = Table("ratio or limit", "value", "low – high", "required", "", title="Checks")
    for row in results["checks"]:
        table.add_row(row["name"], *verdict(row))
    console.print(table)


def main() -> None:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="about a minute, rough figures")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a group or key"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="where to write JSON")
    options = parser.parse_args()
    settings = Settings(
        repetitions=3 if options.quick else 7,
        seconds=0.1 if options.quick else 0.6,
        seed=options.seed,
        quick=options.quick,
        cores=available_cores(),
    )
    groups = chosen(settings, options.only)
    console, status = Console(width=max(140, Console().width)), Console(stderr=True)
    load = os.getloadavg()[0]
    if load > _BUSY * settings.cores:
        status.print(f"The machine is busy (load {load:.1f}): these figures will be too low.")
    began = time.monotonic()
    measurements: list[Measurement] = []
    with status.status("starting") as line:
        for contenders in groups.values():
            measurements += race(contenders, settings, line.update)
    found = [check.plain(measurements) for check in checks(settings)]
    if None in found and not options.only:
        raise RuntimeError("a check names something that nobody measures")
    command = ["--quick"] * options.quick + [f"--only {name}" for name in options.only]
    results = {
        "seed": settings.seed,
        "repetitions": settings.repetitions,
        "seconds_each": settings.seconds,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "load_before": round(load, 2),
        "measurements": [each.plain() for each in measurements],
        "checks": [each for each in found if each is not None],
        "made": made_with(" ".join(["python benchmarks/bench.py", *command]), libraries=_PEERS),
    }
    show(results, console)
    output = options.output or (None if options.quick or options.only else OUTPUT)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_text(output, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        status.print(f"written: {output.name}")


if __name__ == "__main__":
    main()
