"""Measure the published figures again: ``make results``, or ``benchmarks/results.py practice learning``.

Each table is a file in ``results/``: its columns and rows, and what they were made with. Pages that
show figures are rendered from these files. Takes about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from made import ROOT, made_with

from cuckoo_env.agents import lineup
from cuckoo_env.agents.table import shipped
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.files import write_text
from cuckoo_env.rules import Rules
from cuckoo_env.train.shipped import wanted

SEEDS: Final = (0, 1, 2)

Table = dict[str, Any]


def practice(_: argparse.Namespace) -> Table:
    """Line-ups at the practice table, exactly, averaged over first dealers."""
    rules = Rules.parse("practice-table")
    rows = []
    for specs in (
        "random,random,random",
        "naive,naive,naive",
        "robin,robin,robin",
        "alex,alex,alex",
        "robin,robin,alex",
        "threshold:8,robin,alex",
        "equilibrium,robin,alex",
        "equilibrium,equilibrium,equilibrium",
    ):
        exact = evaluate(rules, lineup(specs, rules), first_dealer="all", best_responses=True)
        assert exact.best_response is not None
        rows.append(
            [
                specs.replace(",", ", "),
                _percents(exact.win_share),
                _percents(exact.best_response),
                f"{exact.nash_conv:.2g}" if exact.nash_conv > 1e-9 else "0",
            ]
        )
    return {
        "title": "Line-ups at the practice table, exactly, averaged over first dealers",
        "columns": [
            "agents in seats 0, 1, 2",
            "win share, %",
            "if that seat alone played best, %",
            "NashConv",
        ],
        "rows": rows,
        "seeds": [],
    }


def learning(arguments: argparse.Namespace) -> Table:
    """PPO in seat 0 of the practice table: what it learned, exactly, for several seeds."""
    runs = [_demo(seed, arguments.minutes) for seed in SEEDS]
    rows = [
        [
            str(seed),
            f"{100 * run['exact']['learned']:.2f}",
            f"{100 * run['exact']['copied']:.2f}",
            f"{100 * run['exact']['best_response']:.2f}",
            f"{100 * run['exact']['captured_headroom']:.0f}",
            f"{100 * run['difference']:+.2f} ± {100 * run['difference_se']:.2f}",
            f"{run['decisions_per_second']:,}",
        ]
        for seed, run in zip(SEEDS, runs, strict=True)
    ]
    captured = np.array([run["exact"]["captured_headroom"] for run in runs])
    return {
        "title": f"PPO for {arguments.minutes:g} minutes, seat 0 against robin, alex",
        "columns": [
            "seed",
            "learned, %",
            "Robin's own play, %",
            "best response, %",
            "captured headroom, %",
            "sampled difference, points",
            "decisions a second",
        ],
        "rows": rows,
        "note": f"Captured headroom {100 * captured.mean():.0f} ± {100 * captured.std(ddof=1):.0f} per cent"
        " (mean and standard deviation over seeds). Win shares are exact, from the rules' first dealer; the"
        " difference is also measured in 500,000 sampled games each, dealt the same cards.",
        "seeds": list(SEEDS),
    }


def _demo(seed: int, minutes: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "cuckoo_env.cli", "demo", "--json", "--seed", str(seed)),
            *("--minutes", str(minutes), "--out", f"{folder}/run"),
        ]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def equilibria(_: argparse.Namespace) -> Table:
    """The tables that come with the package, with what they could still lose, measured again."""
    rows = []
    for rules in wanted():
        agent = shipped(rules)
        exact = evaluate(
            rules, [agent] * rules.seats, first_dealer=rules.seats - 1, best_responses=True
        )
        assert exact.nash_conv is not None
        rows.append(
            [
                f"`{rules}`",
                f"{len(agent.keys):,}",
                f"{exact.nash_conv:.1e}",
                _percents(exact.win_share),
            ]
        )
    return {
        "title": "Equilibria that come with the package",
        "columns": [
            "rules",
            "observations in the table",
            "NashConv",
            "win share when the last seat deals first, %",
        ],
        "rows": rows,
        "note": "NashConv is what all seats together could gain in win share, exactly. With two seats the"
        " game is zero-sum and this bounds how far the value is from the true one; with three and more a"
        " small NashConv is all that is claimed.",
        "seeds": [],
    }


def _percents(shares: Any) -> str:
    return " · ".join(f"{100 * share:.2f}" for share in shares)


TABLES: Final[dict[str, Callable[[argparse.Namespace], Table]]] = {
    "practice": practice,
    "learning": learning,
    "equilibria": equilibria,
}


def main() -> int:
    """Measure the tables that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "tables", nargs="*", choices=[*TABLES, []], help="which; all if none is named"
    )
    parser.add_argument("--minutes", type=float, default=1.5, help="of training for each seed")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    (ROOT / "results").mkdir(exist_ok=True)
    for name in arguments.tables or TABLES:
        table = TABLES[name](arguments)
        table["made"] = made_with(f"python benchmarks/results.py {name}")
        text = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
        write_text(ROOT / "results" / f"{name}.json", text)
        print(f"results/{name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
