"""Exact numbers of decisions and information states of a round, counted by engine and referee.

Each file of `counts/` has a line for every setting: rules, ranks that are dealt, ranks on the stock, lives,
and then deals, decision nodes and information states. `python tests/test_counts.py` writes them again.

An information state is, for the engine, an observation of the seat to act; for the referee, what that
seat has seen happen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from rounds import Setting, referee_decisions, referee_view, walk

from cuckoo_env.rules import Rules

FOLDER: Final = Path(__file__).parent / "counts"
EVERY_RANK: Final = "A23456789TJQK"

# file: (rules, ranks dealt, ranks on the stock, lives)
SETTINGS: Final = {
    "two-seats": [
        ("one-round,seats=2", EVERY_RANK, "8", "3 3"),
        ("le-her,game=round", EVERY_RANK, "8K", "1 1"),
        ("one-round,seats=2,queen=redirects", "A7JQK", "7QK", "3 3"),
        ("one-round,seats=2,queen=redirects,jack=may_block,king=plain", "A7JQK", "7QK", "3 3"),
        ("one-round,seats=2,swapped_turn=lost", "A27QK", "7", "3 3"),
        ("one-round,seats=2,dealer=rotation", "A27QK", "7", "3 3"),
        ("one-round,seats=2,refusal=fee,queen=redirects", "A7QK", "7Q", "3 1"),
    ],
    "three-seats": [
        ("one-round", EVERY_RANK, "8", "3 3 3"),
        ("one-round,ace=high,direction=right", "A27K", "8", "3 3 3"),
        ("one-round,king=plain", "A7JQK", "7K", "3 3 3"),
        ("one-round,king=ends_trading", "A7K", "7K", "3 3 3"),
        ("one-round,king=stops_deal", "A7K", "7K", "3 3 3"),
        ("one-round,king=open", "A7K", "7K", "3 3 3"),
        ("one-round,queen=redirects", "A7QK", "7QK", "3 3 3"),
        ("one-round,jack=blocks", "A7JK", "7J", "3 3 3"),
        ("one-round,jack=may_block", "A7JK", "7J", "3 3 3"),
        ("one-round,dealer=rotation", "A7QK", "7", "3 3 3"),
        ("one-round,dealer=rotation,queen=redirects", "A7QK", "7", "3 3 3"),
        ("one-round,swapped_turn=lost", "A7K", "7", "3 3 3"),
        ("one-round,refusal=fee", "A7K", "7", "3 2 1"),
        ("one-round,refusal=fee,king=ends_trading,queen=redirects", "A7QK", "7QK", "2 2 2"),
    ],
    "four-seats": [
        ("one-round,seats=4", "A27K", "8", "3 3 3 3"),
        ("one-round,seats=4", "A27QK", "8", "3 0 3 3"),
        ("one-round,seats=4,queen=redirects", "7QK", "7Q", "3 3 3 3"),
        ("one-round,seats=4,dealer=rotation,jack=may_block", "7J", "7", "3 3 3 3"),
        ("one-round,seats=4,queen=redirects,swapped_turn=lost", "7QK", "7Q", "3 3 3 3"),
    ],
}


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What is counted over all deals of a setting."""

    deals: int
    nodes: int
    states: int


def setting_of(row: tuple[str, str, str, str]) -> Setting:
    """The setting of a row; the last seat that is in deals."""
    text, ranks, stock, lives_text = row
    lives = tuple(int(number) for number in lives_text.split())
    dealer = max(seat for seat, number in enumerate(lives) if number)
    return Setting(rules=Rules.parse(text), ranks=ranks, stock=stock, lives=lives, dealer=dealer)


def count_by_engine(setting: Setting) -> Counts:
    decisions = [(each.seat, each.observation) for each in walk(setting)]
    deals = sum(1 for _ in setting.deals())
    return Counts(deals=deals, nodes=len(decisions), states=len(set(decisions)))


def count_by_referee(setting: Setting) -> Counts:
    deals, nodes, views = 0, 0, set()
    for deal in setting.deals():
        deals += 1
        for referee in referee_decisions(setting, deal):
            nodes += 1
            views.add(referee_view(referee, referee.seat))
    return Counts(deals=deals, nodes=nodes, states=len(views))


def line_of(row: tuple[str, str, str, str], counts: Counts) -> str:
    return " ; ".join([*row, str(counts.deals), str(counts.nodes), str(counts.states)])


def text_of(lines: Iterable[str]) -> str:
    heading = "# rules ; ranks dealt ; ranks on the stock ; lives ; deals ; decisions ; states"
    return "\n".join([heading, *lines]) + "\n"


def write_counts() -> None:
    """Count by the referee, the slow and plain one, and write all files."""
    FOLDER.mkdir(exist_ok=True)
    for name, rows in SETTINGS.items():
        lines = [line_of(row, count_by_referee(setting_of(row))) for row in rows]
        unfinished = FOLDER / f"{name}.tmp"
        unfinished.write_text(text_of(lines), encoding="utf-8")
        unfinished.replace(FOLDER / f"{name}.txt")


ROWS = [(name, row) for name, rows in SETTINGS.items() for row in rows]


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{row[0]}-{row[1]}" for _, row in ROWS])
def test_engine_and_referee_count_what_is_written_down(
    name: str, row: tuple[str, str, str, str]
) -> None:
    written = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    setting = setting_of(row)
    assert line_of(row, count_by_engine(setting)) in written
    assert line_of(row, count_by_referee(setting)) in written


def test_the_files_hold_these_settings_and_no_others() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*")}
    assert set(files) == set(SETTINGS)
    for name, text in files.items():
        rows = [tuple(line.split(" ; ")[:4]) for line in text.splitlines()[1:]]
        assert rows == SETTINGS[name]


if __name__ == "__main__":
    write_counts()
