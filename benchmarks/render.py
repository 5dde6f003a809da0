"""Puts measured figures into the documents: every published number comes from a file in ``results/``.

A document says where with two marks, ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``; what stands between
them is made from ``results/NAME.json``: a title, ``columns``, ``rows`` and a ``note``. Files of another form
are shown by the functions in :data:`VIEWS`.

    python benchmarks/render.py
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from cuckoo_env.files import write_text

ROOT: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = ROOT / "results"
UNITS: Final = {"decisions/s": "a second", "s": "seconds", "ns": "ns", "bytes": "bytes", "": ""}
_BLOCK: Final = re.compile(
    r"(?P<start><!-- (?P<name>[\w-]+):start -->\n)(?P<body>.*?)(?P<end><!-- (?P=name):end -->)",
    re.DOTALL,
)
_GROUPS: Final = {
    "batch": "Many games at once, all seats played from outside",
    "tables": "Larger tables",
    "vector": "One learner, many games at once",
    "single": "One game, in a Python loop",
    "training": "Learning",
    "busy": "Beside a busy core",
    "start": "Starting",
    "memory": "Memory",
}


# -- Numbers for people -----------------------------------------------------------------------------


def number(value: float) -> str:
    """Three digits, with a word for thousands and millions: ``27.1 million``, ``196 thousand``, ``0.42``."""
    if value == 0:
        return "0"
    for size, word in ((1e6, " million"), (1e4, " thousand")):
        if abs(value) >= size:
            return _digits(value / (1e3 if size == 1e4 else size)) + word
    return _digits(value)


def _digits(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, 3)}f}"


def spread(row: dict[str, Any]) -> str:
    """The lowest and the highest value."""
    low, high = number(row["low"]), number(row["high"])
    return low if low == high else f"{low} – {high}"


def verdict(row: dict[str, Any]) -> tuple[str, str, str, str]:
    """Value, spread, requirement, and whether it is met, of a check."""
    required = ""
    if row["at_least"] is not None:
        required = f"at least {number(row['at_least'])}"
    elif row["at_most"] is not None:
        required = f"at most {number(row['at_most'])}"
    if "missing" in row:
        return row["missing"], "", required, ""
    met = {True: "met", False: "NOT MET", None: ""}[row["met"]]
    unit = UNITS[row["unit"]] if row["unit"] else "×"
    return f"{number(row['value'])} {unit}", spread(row), required, met


# -- Markdown ---------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; nothing without rows."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    if not lines:
        return ""
    head = list(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *lines))


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _made(made: dict[str, Any]) -> str:
    """Where figures come from."""
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    changed = " (changed)" if made.get("changed") else ""
    return (
        f"*From `{made['command']}` at commit {made['commit']}{changed}: {made['machine']}, "
        f"Python {made['python']}, {versions}.*"
    )


def table(results: dict[str, Any]) -> str:
    """Results that are a table already."""
    title, note = f"**{results['title']}**", results.get("note", "")
    return _joined(title, _table(results["columns"], results["rows"]), note, _made(results["made"]))


# -- Speed ------------------------------------------------------------------------------------------


def speed(results: dict[str, Any]) -> str:
    """What matters of the speed: each ratio, with the two figures that it is made of."""
    found = {row["key"]: row for row in results["measurements"]}
    rows = [
        (row["name"], *(_median(found.get(row.get(which))) for which in ("of", "over")), *told)
        for row in results["checks"]
        for told in [_ratio(row)]
    ]
    head = ("", "measured", "beside", "ratio (lowest – highest)", "required", "")
    return _joined(_table(head, rows), _how(results))


def _median(row: dict[str, Any] | None) -> str:
    return "" if row is None else f"{number(row['median'])} {UNITS[row['unit']]}"


def _ratio(row: dict[str, Any]) -> tuple[str, str, str]:
    value, between, required, met = verdict(row)
    if "missing" in row:
        return f"not measured: {value}", required, met
    if row["over"] is None:
        return "", required, met
    return f"{value} ({between})", required, met


def speed_details(results: dict[str, Any]) -> str:
    """Everything that was measured, in its best setting, and where a decision's time goes."""
    head = ("what", "setting", "median", "lowest – highest")
    return _joined(
        _table(head, _speed_rows(results)),
        _table(
            ("where the time of a decision goes: batch engine, one thread", "ns"), _parts(results)
        ),
        _how(results),
    )


def _speed_rows(results: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for group, title in _GROUPS.items():
        rows = [row for row in results["measurements"] if row["group"] == group]
        if rows:
            yield (f"**{title}**", "", "", "")
        for family in dict.fromkeys(row["family"] for row in rows):
            yield _family_row([row for row in rows if row["family"] == family])


def _family_row(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """The best setting of a family; the reason where there is none."""
    here = [row for row in rows if "missing" not in row]
    if not here:
        return (rows[0]["family"], "", f"not measured: {rows[0]['missing']}", "")
    choose = max if here[0]["unit"] == "decisions/s" else min
    best = choose(here, key=lambda row: float(row["median"]))
    return (best["family"], best["setting"], _median(best), spread(best))


def _parts(results: dict[str, Any]) -> list[tuple[str, ...]]:
    """The parts of a decision, and what they leave of the whole."""
    found = {row["key"]: row for row in results["measurements"] if row["group"] == "profile"}
    if not found:
        return []
    of_whole = (f"profile/{part}" for part in ("rules", "observation", "mask", "choice"))
    rest = found["profile/whole"]["median"] - sum(found[key]["median"] for key in of_whole)
    rows = [(row["family"], _digits(row["median"])) for row in found.values()]
    return [*rows, ("the rest: checking the actions, loops, memory", f"{rest:.1f}")]


def _how(results: dict[str, Any]) -> str:
    return (
        f"All play at random with the same cheap choice, in turns in one run: medians of up to "
        f"{results['repetitions']} repetitions, of several batch sizes the best. "
        + _made(results["made"])
    )


# -- Documents --------------------------------------------------------------------------------------

VIEWS: Final[dict[str, tuple[str, Callable[[dict[str, Any]], str]]]] = {
    "speed": ("speed", speed),
    "speed-details": ("speed", speed_details),
}
"""Blocks that are not simply the table in the file of their name: the file, and what shows it."""


def source(name: str) -> str:
    """The name of the results that a block shows."""
    return VIEWS[name][0] if name in VIEWS else name


def render(name: str, folder: Path = RESULTS) -> str:
    """What belongs between the marks of a block.

    Args:
        name: of the block.
        folder: where the results are.

    Raises:
        FileNotFoundError: if there are no such results.
    """
    show = VIEWS[name][1] if name in VIEWS else table
    return show(json.loads((folder / f"{source(name)}.json").read_text(encoding="utf-8")))


def blocks(text: str) -> dict[str, str]:
    """What stands between the marks in a document, by names of blocks."""
    return {match["name"]: match["body"] for match in _BLOCK.finditer(text)}


def filled(text: str, folder: Path = RESULTS) -> str:
    """The document with its blocks made afresh; those without results stay as they are."""

    def fill(match: re.Match[str]) -> str:
        if not (folder / f"{source(match['name'])}.json").exists():
            return match[0]
        return match["start"] + render(match["name"], folder) + match["end"]

    return _BLOCK.sub(fill, text)


def documents(root: Path = ROOT) -> list[Path]:
    """Where figures may be shown: the documents at the top and in ``docs/``."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def main() -> None:
    """Bring all documents up to date."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        fresh = filled(text)
        if fresh != text:
            write_text(path, fresh)
            print(f"updated: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
