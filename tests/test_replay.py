"""The commands that read and write records: ``cuckoo replay`` and ``cuckoo evaluate --records``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_records import EXAMPLE, finished, without_derived

from cuckoo_env import records
from cuckoo_env.cli import main
from cuckoo_env.records import Record

Told = Callable[[], str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """What was printed since the last time this was asked."""

    def read() -> str:
        out, err = capsys.readouterr()
        assert not err
        return str(out)

    return read


def file_of(path: Path, *games: Record) -> str:
    records.write(path, games)
    return str(path)


def spoilt(record: Record, **changes: Any) -> Record:
    """The record with other fields in its first round."""
    first, *rest = record["rounds"]
    return {**record, "rounds": [{**first, **changes}, *rest]}


WRONG = spoilt(EXAMPLE, lost=[0, 2, 0, 0])


# ---- checking


def test_a_right_record_is_right(tmp_path: Path, told: Told) -> None:
    assert main(["replay", file_of(tmp_path / "one.json", EXAMPLE)]) == 0
    assert told() == "1 record, 0 wrong\n"


def test_all_records_of_all_files_are_checked(tmp_path: Path, told: Told) -> None:
    one = file_of(tmp_path / "one.jsonl", EXAMPLE, WRONG, spoilt(EXAMPLE, dealer=2))
    other = tmp_path / "other.json"
    other.write_text(json.dumps(without_derived(EXAMPLE), indent=2))
    assert main(["replay", one, str(other)]) == 1
    assert told().splitlines() == [
        f"{one}:2: round 1, seat 1, lost: expected 1, found 2",
        f"{one}:3: round 1, seat 0, actions: expected keep or swap of seat 3, found swap of seat 0",
        "4 records, 2 wrong",
    ]


def test_what_is_no_record_is_counted_as_wrong(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(records.dumps(EXAMPLE).encode() + b"\n\n\xff\nnonsense\n3\n")
    assert main(["replay", str(path)]) == 1
    lines = told().splitlines()
    assert [line.split(": ", 2)[:2] for line in lines[:-1]] == [
        [f"{path}:{number}", "record"] for number in (3, 4, 5)
    ]
    assert lines[-1] == "4 records, 3 wrong"


def test_an_empty_file_has_no_right_record(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "games.jsonl"
    path.touch()
    assert main(["replay", str(path)]) == 1
    assert told().splitlines()[-1] == "1 record, 1 wrong"


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    right = file_of(tmp_path / "one.json", EXAMPLE)
    assert main(["replay", right, str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(tmp_path) in error


def test_errors_for_machines(tmp_path: Path, told: Told) -> None:
    path = file_of(tmp_path / "games.jsonl", EXAMPLE, WRONG)
    assert main(["replay", path, "--json"]) == 1
    assert json.loads(told()) == {
        "records": 2,
        "wrong": 1,
        "errors": [
            {
                "file": path,
                "line": 2,
                "round": 1,
                "seat": 1,
                "field": "lost",
                "reason": "expected 1, found 2",
                "message": "round 1, seat 1, lost: expected 1, found 2",
            }
        ],
    }


# ---- filling in


def test_what_is_left_out_is_filled_in(tmp_path: Path, told: Told) -> None:
    games = [records.record(finished("onesies", seed)) for seed in range(5)]
    path = file_of(tmp_path / "slim.jsonl", *map(without_derived, games))
    out = tmp_path / "full.jsonl"
    assert main(["replay", path, "--out", str(out)]) == 0
    assert [record for _, record in records.read(out)] == games
    assert told() == "5 records, 0 wrong\n"


def test_a_file_may_be_filled_in_in_place(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    file_of(path, without_derived(EXAMPLE))
    assert main(["replay", str(path), "--out", str(path)]) == 0
    assert [record for _, record in records.read(path)] == [records.check(EXAMPLE)]


def test_nothing_is_written_if_a_record_is_wrong(tmp_path: Path, told: Told) -> None:
    path = file_of(tmp_path / "games.jsonl", EXAMPLE, WRONG, EXAMPLE)
    out = tmp_path / "full.jsonl"
    out.write_text("precious")
    assert main(["replay", path, "--out", str(out)]) == 1
    assert out.read_text() == "precious"
    assert told().splitlines()[-1] == "3 records, 1 wrong; nothing written"
    assert {each.name for each in tmp_path.iterdir()} == {"games.jsonl", "full.jsonl"}


def test_a_file_that_cannot_be_written_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path / "games.jsonl", EXAMPLE)
    assert main(["replay", path, "--out", str(tmp_path / "no" / "full.jsonl")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# ---- telling


def test_a_game_is_told_in_words(tmp_path: Path, told: Told) -> None:
    path = file_of(tmp_path / "one.json", EXAMPLE)
    assert main(["replay", path, "--show"]) == 0
    assert (
        told()
        == f"""{path}:1: cuckoo,seats=4
Round 1, lives 3, 3, 3, 3
  A new round: D deals.
  A gets 2♣.
  B gets 9♥.
  C gets K♠.
  D gets 7♦.
  A asks B to swap.
  A swaps with B, 2♣ for 9♥.
  B asks C to swap.
  C shows K♠.
  C keeps.
  D keeps.
  A reveals 9♥.
  B reveals 2♣.
  C reveals K♠.
  D reveals 7♦.
  B loses a life.
Not over.
1 record, 0 wrong
"""
    )


def test_the_end_of_a_game_is_told(tmp_path: Path, told: Told) -> None:
    game = finished("one-round,stake=2.5", 4)
    path = file_of(tmp_path / "one.json", records.record(game, ["Ann", "Bob", "Cy"]))
    assert main(["replay", path, "--show"]) == 0
    last = told().splitlines()[-2]
    result = game.result
    assert result is not None
    names = ["Ann", "Bob", "Cy"]
    assert last.startswith(f"Won by {', '.join(names[seat] for seat in result.winners)}. Returns: ")
    for name, payoff in zip(names, result.payoffs, strict=True):
        assert f"{name} {payoff:+g}" in last


def test_a_wrong_record_is_not_told_but_the_others_are(tmp_path: Path, told: Told) -> None:
    path = file_of(tmp_path / "games.jsonl", WRONG, EXAMPLE)
    assert main(["replay", path, "--show"]) == 1
    lines = told().splitlines()
    assert lines[0] == f"{path}:1: round 1, seat 1, lost: expected 1, found 2"
    assert lines[1] == f"{path}:2: cuckoo,seats=4"
    assert lines[-1] == "2 records, 1 wrong"


def test_stories_for_machines(tmp_path: Path, told: Told) -> None:
    path = file_of(tmp_path / "games.jsonl", without_derived(EXAMPLE), WRONG)
    assert main(["replay", path, "--show", "--json"]) == 1
    found = json.loads(told())
    (shown,) = found["shown"]
    assert (shown["file"], shown["line"]) == (path, 1)
    assert shown["record"] == records.check(EXAMPLE)
    assert shown["story"] == records.story(EXAMPLE)


# ---- cuckoo evaluate --records


def test_evaluate_writes_its_games_and_they_replay(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "games.jsonl"
    given = ["evaluate", "robin", "random", "alex", "--games", "200", "--seed", "7"]
    assert main(given) == 0
    plain = told()
    assert main([*given, "--records", str(path)]) == 0
    assert told() == f"{plain}200 games written to {path}.\n"
    games = [record for _, record in records.read(path)]
    assert len(games) == 200
    assert games[0]["seats"] == ["robin", "random", "alex"]
    assert main(["replay", str(path)]) == 0
    assert told() == "200 records, 0 wrong\n"


def test_evaluate_for_machines_writes_its_games_too(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "games.jsonl"
    given = ["evaluate", "robin", "robin", "--rules", "le-her", "--games", "30", "--json"]
    assert main([*given, "--records", str(path), "--first-dealer", "all"]) == 0
    result = json.loads(told())
    games = [record for _, record in records.read(path)]
    wins = [sum(record["winners"] == [seat] for record in games) / 30 for seat in (0, 1)]
    assert wins == pytest.approx(result["win_share"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--exact"], "is refused; accepted: none with --exact"),
        (["--baseline", "alex,robin,robin"], "is refused; accepted: only without --baseline"),
        (["--games", "0"], "games: 0 is refused"),
    ],
)
def test_records_that_cannot_be_written_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("precious")
    assert main(["evaluate", "robin", "robin", "alex", "--records", str(path), *more]) == 2
    assert said in capsys.readouterr().err
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_refused_before_anything_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "no" / "games.jsonl"
    assert main(["evaluate", "robin", "robin", "alex", "--records", str(path)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
