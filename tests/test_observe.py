"""Observations in words: decoding, and the command ``cuckoo observe``."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import seeds, tables

from cuckoo_env import decode
from cuckoo_env.cards import RANK_NAMES
from cuckoo_env.cli import main
from cuckoo_env.decode import describe, layout_for, who
from cuckoo_env.engine import OUTCOME_NAMES
from cuckoo_env.game import Game
from cuckoo_env.observation import FIELDS, Layout
from cuckoo_env.rules import Rules


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit status, and what is printed on both streams."""
    status = main(["observe", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


# ---- decoding


def test_every_field_has_its_words() -> None:
    assert set(decode._CLAUSES) == {field.name for field in FIELDS}


@given(rules=tables(), seed=seeds())
@settings(max_examples=60, deadline=None)
def test_words_agree_with_what_the_seat_sees(rules: Rules, seed: int) -> None:
    luck = random.Random(seed)
    game = Game(rules, seed)
    layout = Layout.of(rules, max_seats=rules.seats + luck.randrange(3), with_rules=True)
    for _ in range(luck.randrange(30)):
        if game.seat is not None:
            game.act(luck.choice(game.legal_actions()))
    viewer = luck.randrange(rules.seats)
    vector, view = game.observe(viewer, layout)[0], game.view(viewer)
    numbers = decode.decode(layout, vector, rules)
    assert [each.index for each in numbers] == list(range(layout.size))
    assert [each.name for each in numbers] == layout.names()
    np.testing.assert_array_equal([each.value for each in numbers], vector)
    said = {each.words for each in numbers if each.value}
    step = -1 if rules.direction == "right" else 1
    for relative in range(rules.seats):
        each = view.seats[(viewer + step * relative) % rules.seats]
        name, verb = who(relative), "hold" if relative == 0 else "holds"
        held = {rank for rank in RANK_NAMES if f"{name} {verb} {_article(rank)}" in said}
        assert held == ({RANK_NAMES["A23456789TJQK".index(each.card[0])]} if each.card else set())
        whose = "your" if relative == 0 else f"{name}'s"
        assert (f"{whose} card lies open for all" in said) == each.shown
        turns = {words for words in OUTCOME_NAMES if f"{whose} turn: {words}" in said}
        assert turns == ({each.outcome} - {"waiting"})
        lives = min(each.lives, rules.lives)
        counted = f"{lives} {'life' if lives == 1 else 'lives'}"
        assert (f"{name} {'have' if relative == 0 else 'has'} {counted}" in said) == (lives > 0)
    assert ("trading is allowed" in said) == view.trading
    assert f"the rules say king={rules.king}" in said


def _article(rank: str) -> str:
    return f"{'an' if rank in {'ace', 'eight'} else 'a'} {rank}"


def test_what_is_not_so_is_told_of_zeros() -> None:
    game = Game("practice-table", seed=3)
    layout = Layout.of(game.rules)
    numbers = decode.decode(layout, game.observe(0)[0])
    king = next(each for each in numbers if each.name == "known[0,king]")
    assert (king.value, king.words) == (0, "not: you hold a king")
    lives = next(each for each in numbers if each.name == "lives[1]")
    assert lives.words == "your left neighbour has 100% of the lives at the start"


def test_a_seat_is_told_what_it_knows() -> None:
    deal = ["2c", "9h", "Ks", "7d"]
    game = Game.from_position("cuckoo,seats=4", dealer=3, lives=[3, 1, 3, 2], deal=deal)
    game.act("swap")
    game.act("swap")
    layout = Layout.of(game.rules)
    assert describe(layout, game.observe(1)[0], game.rules) == [
        "You hold a two.",
        "Your left neighbour holds a king.",
        "The 3rd on your left holds a nine.",
        "Your left neighbour's card lies open for all.",
        "Your turn: was blocked.",
        "The 3rd on your left's turn: swapped.",
        "You have 1 life.",
        "Your left neighbour has 3 lives.",
        "The 2nd on your left has 2 lives.",
        "The 3rd on your left has 3 lives.",
        "The 2nd on your left deals.",
        "It is your left neighbour's turn.",
        "Your left neighbour is to act.",
        "Trading is allowed.",
        "Not known: the cards of the 2nd on your left.",
    ]


def test_rounds_and_the_stock_are_told() -> None:
    rules = Rules.parse("queen-rule,seats=3,jack=may_block,max_rounds=4")
    deal = ["2c", "4h", "5d"]
    game = Game.from_position(rules, dealer=2, lives=[3] * 3, deal=deal, stock="Qd")
    for action in ("keep", "keep", "swap"):
        game.act(action)
    layout = Layout.of(rules)
    told = describe(layout, game.observe(0)[0], rules)
    assert "A queen was turned from the stock and not taken." in told
    assert "4 rounds left at most." in told
    assert "100% of the rounds are left." in describe(layout, game.observe(0)[0])


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ([0.0] * 111, r"vector: shape \(111,\) is refused; accepted: 112 numbers, for 3 seats"),
        ([[0.0] * 112], r"vector: shape \(1, 112\) is refused"),
        ([2.0] + [0.0] * 111, r"vector: 2 at index 0 \(known\[0,ace\]\) is refused; .* 0 to 1"),
        ([0.0] * 111 + [float("nan")], "vector: nan at index 111"),
        (["a"] * 112, "vector: refused; accepted: a list of numbers"),
    ],
)
def test_a_vector_that_is_none_is_refused(vector: Any, said: str) -> None:
    layout = Layout.of(Rules.parse("practice-table"))
    for function in (decode.decode, describe):
        with pytest.raises(ValueError, match=said):
            function(layout, vector)


def test_the_layout_follows_from_the_length() -> None:
    rules = Rules.parse("practice-table")
    for options in (
        {},
        {"with_rules": True},
        {"max_seats": 5},
        {"max_seats": 5, "with_rules": True},
    ):
        layout = Layout.of(rules, **options)  # type: ignore[arg-type]
        assert layout_for(rules, layout.size, max_seats=options.get("max_seats")) == layout
    with pytest.raises(
        ValueError, match=r"vector: 7 numbers are refused; accepted: 112 or \d+ with"
    ):
        layout_for(rules, 7)
    with pytest.raises(ValueError, match=r"accepted: 112, for 3 seats"):
        layout_for(rules, 147, with_rules=False)


@pytest.mark.parametrize(
    ("seat", "name"), [(11, "the 11th"), (12, "the 12th"), (13, "the 13th"), (22, "the 22nd")]
)
def test_seats_are_counted_in_english(seat: int, name: str) -> None:
    assert who(seat) == f"{name} on your left"


# ---- the command


def test_the_seat_to_act_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--rules", "practice-table", "--seed", "3", "--moves", "keep,swap")
    game = Game("practice-table", seed=3)
    game.act("keep")
    game.act("swap")
    vector, _ = game.observe(2)
    assert (found["seat"], found["legal"], found["size"]) == (2, ["keep", "swap"], 112)
    assert found["sentences"] == describe(Layout.of(game.rules), vector, game.rules)
    shown = {each["index"]: each["value"] for each in found["numbers"]}
    assert shown == {int(k): 1.0 for k in np.flatnonzero(vector)}


def test_another_seat_may_look(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--seed", "3", "--seat", "1", "--all")
    vector, _ = Game("practice-table", seed=3).observe(1)
    assert (found["seat"], found["legal"]) == (1, [])
    assert [each["value"] for each in found["numbers"]] == vector.tolist()


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--seed", "3")
    lines = [line.strip() for line in out.splitlines()]
    assert status == 0
    assert lines[0] == "rules practice-table, seed 3, seat 0"
    assert lines[1].split() == ["index", "name", "value", "meaning"]
    assert lines[3].split() == ["1", "known[0,two]", "1", "you", "hold", "a", "two"]
    assert "The other 101 of 112 numbers are 0." in lines
    assert lines[-1] == "Legal: keep, swap."


@pytest.mark.parametrize(
    "options", [[], ["--with-rules"], ["--max-seats", "5"], ["--max-seats", "5", "--with-rules"]]
)
def test_a_vector_from_a_file_says_the_same(
    options: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = report(capsys, "--seed", "5", "--all", *options)
    file = tmp_path / "vector.json"
    file.write_text(json.dumps([each["value"] for each in found["numbers"]]), encoding="utf-8")
    again = report(capsys, str(file), "--all", *options)
    assert (again["numbers"], again["sentences"]) == (found["numbers"], found["sentences"])
    with file.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert report(capsys, "-", "--all", *options) == again


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[0, 1]", "vector: 2 numbers are refused; accepted: 112 or 147 with the rules in it"),
        ("nonsense", "this is no JSON list of numbers"),
        ('{"a": 1}', "this is no JSON list of numbers"),
        (json.dumps(["x"] * 112), "vector: refused; accepted: a list of numbers"),
        (json.dumps([5] * 112), "vector: 5 at index 0"),
    ],
)
def test_a_file_that_holds_no_vector_is_refused_in_one_line(
    text: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "vector.json"
    file.write_text(text, encoding="utf-8")
    status, out, err = run(capsys, str(file))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--moves", "pay"], "action: seat 0 may not pay; legal: keep, swap"),
        (["--seat", "3"], "seat: 3 is refused; accepted: 0 to 2"),
        (["--max-seats", "2"], "max_seats: 2 is refused; accepted: 3 or more"),
        (["nowhere.json"], "nowhere.json"),
        (["nowhere.json", "--seed", "1"], "refused together with --seed, --seat and --moves"),
        (["--rules", "nonsense"], "rules: nonsense is refused"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_the_end_of_a_game_can_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--rules", "one-round", "--seed", "3", "--moves", "keep,keep,keep")
    assert (found["seat"], found["legal"]) == (0, [])
    assert not any(each.startswith("Not known") for each in found["sentences"])
