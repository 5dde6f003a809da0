"""Measure the published figures again: ``make results``, or ``benchmarks/results.py practice self-play``.

Each table is a file in ``results/``: its columns and rows, and what they were made with. Pages that
show figures are rendered from these files. Learning takes hours on two cores; a table alone is
measured by its name, and with fewer seeds by ``--seeds 0``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import learning
from made import ROOT, made_with

from cuckoo_env.agents import lineup
from cuckoo_env.agents.table import shipped
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.files import write_text
from cuckoo_env.rules import Rules
from cuckoo_env.train.shipped import wanted

Table = dict[str, Any]


def practice(_: Sequence[int]) -> Table:
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


def equilibria(_: Sequence[int]) -> Table:
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


TABLES: Final[dict[str, Callable[[tuple[int, ...]], Table]]] = {
    "practice": practice,
    "equilibria": equilibria,
    "learning": learning.learning,
    "pieces": learning.pieces,
    "self-play": learning.self_play,
    "generalist": learning.generalist,
    "presets": learning.presets,
}


def main() -> int:
    """Measure the tables that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "tables", nargs="*", choices=[*TABLES, []], help="which; all if none is named"
    )
    parser.add_argument("--seeds", default="0,1,2", help="of what is trained, with commas between")
    arguments = parser.parse_args()
    seeds = tuple(int(seed) for seed in arguments.seeds.split(","))
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    (ROOT / "results").mkdir(exist_ok=True)
    for name in arguments.tables or TABLES:
        table = TABLES[name](seeds)
        table["made"] = made_with(f"python benchmarks/results.py {name} --seeds {arguments.seeds}")
        text = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
        write_text(ROOT / "results" / f"{name}.json", text)
        print(f"results/{name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
