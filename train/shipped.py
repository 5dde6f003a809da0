"""Solve the tables that come with the package: ``python -m cuckoo_env.train.shipped``.

Every preset with two and three seats, where it allows them, at its own number of lives, and ``cuckoo`` with
four. Tables that are there and good enough are kept; the index says which file serves which rules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cuckoo_env.agents.table import TableError, load, same_for_a_table
from cuckoo_env.files import write_text
from cuckoo_env.rules import PRESETS, Rules
from cuckoo_env.train.solve import as_table, solve

FOLDER: Final = Path(__file__).resolve().parent.parent / "agents" / "tables"
INDEX: Final = "index.json"
TARGET: Final = 1e-6
FOUR_SEATS_TARGET: Final = 1e-5
SECONDS: Final = 900.0
"""At most so long for one table; what has been reached by then is in the table's header."""


def wanted() -> Iterator[Rules]:
    """The rule sets that tables are shipped for; those that a table cannot tell apart only once."""
    seen = set()
    for preset in PRESETS.values():
        sizes = [2, 3, 4] if preset.name == "cuckoo" else [2, 3]
        for seats in sizes:
            if not preset.admits(seats):
                continue
            rules = same_for_a_table(preset.rules(seats=seats, **_first(preset.changes)))
            if rules not in seen:
                seen.add(rules)
                yield rules


def _first(changes: object) -> dict[str, str]:
    """A fixed first dealer may not exist at a smaller table."""
    return {"first_dealer": "lot"} if "first_dealer" in dict(changes) else {}  # type: ignore[call-overload]


def file_name(rules: Rules) -> str:
    """The file of a rule set's table: its canonical text, with signs that file systems accept."""
    return str(rules).replace(",", "+") + ".npz"


def main() -> int:
    """Solve what is missing, and write the index."""
    FOLDER.mkdir(exist_ok=True)
    index = {}
    for rules in wanted():
        target = FOUR_SEATS_TARGET if rules.seats > 3 else TARGET
        index[str(rules)] = file_name(rules)
        if not _is_there(rules, target):
            _make(rules, target)
    write_text(FOLDER / INDEX, json.dumps(index, indent=1) + "\n")
    return 0


def _is_there(rules: Rules, target: float) -> bool:
    try:
        about = load(FOLDER / file_name(rules), rules).about
    except TableError:
        return False
    return bool(about["nash_conv"] <= target or about["seconds"] >= SECONDS)


def _make(rules: Rules, target: float) -> None:
    solution = solve(rules, target=target, seconds=SECONDS)
    about = {"command": "python -m cuckoo_env.train.shipped", "target": target}
    as_table(solution, "equilibrium", about).save(FOLDER / file_name(rules))
    sys.stdout.write(
        f"{rules}: NashConv {solution.nash_conv:.2e} after {solution.iterations} sweeps,"
        f" {solution.seconds:.0f} s\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
