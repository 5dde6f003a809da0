"""Game records: what is written replays, and what breaks a rule is refused with the place."""

from __future__ import annotations

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from strategies import seeds, tables

from cuckoo_env import cuckoo_v0, records
from cuckoo_env.game import Game
from cuckoo_env.records import Record, RecordError
from cuckoo_env.rules import Rules

EXAMPLE: Record = {
    "format": "cuckoo-record/1",
    "rules": "cuckoo,seats=4",
    "seats": ["A", "B", "C", "D"],
    "rounds": [
        {
            "dealer": 3,
            "lives": [3, 3, 3, 3],
            "deal": ["2c", "9h", "Ks", "7d"],
            "stock": [],
            "actions": [[0, "swap"], [1, "swap"], [2, "keep"], [3, "keep"]],
            "reveal": ["9h", "2c", "Ks", "7d"],
            "lost": [0, 1, 0, 0],
        }
    ],
    "winners": None,
    "payoffs": None,
}


def finished(rules: Rules | str, seed: int, misdeals: float = 0.0) -> Game:
    """A game played at random to its end."""
    game, luck = Game(rules, seed), random.Random(seed)
    fresh = True
    while game.seat is not None:
        if fresh and luck.random() < misdeals:
            game.redeal()
        happened = game.act(luck.choice(game.legal_actions()))
        fresh = any(event.event == "round" for event in happened)
    return game


def without_derived(record: Record) -> Record:
    """The record with only what it must have."""
    slim = {key: value for key, value in record.items() if key not in {"winners", "payoffs"}}
    slim["rounds"] = [
        {key: value for key, value in each.items() if key not in {"reveal", "lost"}}
        for each in record["rounds"]
    ]
    return slim


def test_the_worked_example_is_checked() -> None:
    checked = records.check(EXAMPLE)
    assert checked["rounds"][0]["lost"] == [0, 1, 0, 0]
    assert {**checked["rounds"][0], "stock": []} == EXAMPLE["rounds"][0]
    assert records.check(checked) == checked


def test_what_is_left_out_is_filled_in() -> None:
    assert records.check(without_derived(EXAMPLE)) == records.check(EXAMPLE)


@given(rules=tables(), seed=seeds())
@settings(max_examples=60)
def test_what_is_written_replays(rules: Rules, seed: int) -> None:
    rules = rules if rules.max_rounds or rules.game == "round" else rules.replace(max_rounds=40)
    written = records.record(finished(rules, seed, misdeals=0.1))
    assert records.check(written) == written
    assert records.check(without_derived(written)) == written
    assert records.loads(records.dumps(written)) == written
    until = random.Random(seed).randrange(len(written["rounds"]))
    part = {**written, "rounds": written["rounds"][:until], "winners": None, "payoffs": None}
    assert records.check(part) == part


def test_a_game_that_is_not_over_is_written_to_its_last_whole_round() -> None:
    game = Game("cuckoo,seats=4", seed=1)
    assert records.record(game)["rounds"] == []
    for _ in range(6):
        game.act("keep")
    written = records.record(game, ["A", "B", "C", "D"])
    assert len(written["rounds"]) == 1
    assert written["seats"] == ["A", "B", "C", "D"]
    assert written["winners"] is None
    assert records.check(written) == written


def test_a_game_from_a_position_keeps_its_stakes() -> None:
    game = Game.from_position("cuckoo", dealer=2, lives=[1, 0, 1], staked=[2, 1, 1], seed=4)
    game.act("keep")
    game.act("keep")
    written = records.record(game)
    assert written["staked"] == [2, 1, 1]
    assert written["rounds"][0]["lives"] == [1, 0, 1]
    assert records.check(written) == written


def test_the_environment_writes_its_record() -> None:
    env = cuckoo_v0.env("one-round")
    env.reset(seed=3)
    assert env.record()["rounds"] == []
    for _ in range(3):
        env.step(0)
    written = env.record()
    assert records.check(written) == written
    assert written["seats"] == env.possible_agents
    assert written["payoffs"] == list(env.rewards.values())


# ---- what is refused


def wrong(**changes: Any) -> Record:
    """The worked example with fields of the game changed, or of its round where it has such."""
    record = copy.deepcopy(EXAMPLE)
    for field, value in changes.items():
        (record["rounds"][0] if field in records._ROUND else record)[field] = value
    return record


ACTIONS = EXAMPLE["rounds"][0]["actions"]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            wrong(actions=[[1, "swap"], *ACTIONS[1:]]),
            "round 1, seat 1, actions: expected keep or swap of seat 0, found swap of seat 1",
        ),
        (
            wrong(actions=[[0, "pay"], *ACTIONS[1:]]),
            "round 1, seat 0, actions: expected keep or swap of seat 0, found pay of seat 0",
        ),
        (
            wrong(actions=ACTIONS[:3]),
            "round 1, seat 3, actions: expected keep or swap, found no more actions",
        ),
        (
            wrong(actions=[*ACTIONS, [0, "keep"]]),
            'round 1, seat 0, actions: expected no more actions, found "keep"',
        ),
        (
            wrong(deal=["2c", "2c", "Ks", "7d"]),
            "round 1, deal: expected 2c at most 1 times, found 2",
        ),
        (wrong(stock=["2c"]), "round 1, deal: expected 2c at most 1 times, found 2"),
        (wrong(stock=["3c"]), 'round 1, seat 3, stock: expected none, found ["3c"]'),
        (wrong(stock=["3c", "4c"]), "round 1, stock: expected a list of at most one card"),
        (
            wrong(actions=[*ACTIONS[:3], [3, "swap"]]),
            "round 1, seat 3, stock: expected a card that was turned, found []",
        ),
        (
            wrong(deal=["2c", None, "Ks", "7d"]),
            "round 1, seat 1, deal: expected a card, found null",
        ),
        (
            wrong(lives=[3, 0, 3, 3]),
            'round 1, seat 1, deal: expected null, for the seat is out, found "9h"',
        ),
        (wrong(lives=[3, 0, 0, 0], deal=["2c", None, None, None]), "round 1, lives: "),
        (wrong(dealer=4), "round 1, dealer: 4 is refused"),
        (wrong(dealer=True), "round 1, dealer: expected a whole number, found true"),
        (wrong(reveal=["9h", "2c", "Ks", "8d"]), 'seat 3, reveal: expected "7d", found "8d"'),
        (wrong(lost=[0, 2, 0, 0]), "round 1, seat 1, lost: expected 1, found 2"),
        (wrong(lost=[0, 1]), "round 1, lost: expected 4 whole numbers, found [0, 1]"),
        (wrong(carried=True), "round 1, carried: expected false, found true"),
        (wrong(cut=[[0, "2c"]]), 'round 1, cut: expected [], found [[0, "2c"]]'),
        (wrong(winners=[0]), "winners: expected null, found [0]"),
        (wrong(payoffs=[0, 0, 0, 0]), "payoffs: expected null, found [0, 0, 0, 0]"),
        (wrong(payoffs=[0]), "payoffs: expected 4 numbers, or null, found [0]"),
        (wrong(staked=[1, 1, 1, 0]), "staked: [1, 1, 1, 0] is refused"),
        (wrong(dealer_cut=[[0, "2c"]]), "dealer_cut: expected none with first_dealer=lot"),
        (wrong(format="cuckoo-record/2"), 'format: expected "cuckoo-record/1"'),
        (wrong(rules="cuckoo,seats=40"), "rules: seats: 40 is refused"),
        (wrong(rules=7), "rules: expected the text of a rule set, found 7"),
        (wrong(rules="cuckoo,seats=5"), "seats: expected 5 names"),
        (wrong(seats=["A", "B", "C", 4]), "seats: expected 4 names"),
        (wrong(comment="no"), "comment: unknown here; expected one of: format, rules,"),
        (wrong(rounds=[7]), "round 1, rounds: expected an object, found 7"),
        (wrong(rounds={}), "rounds: expected a list, found {}"),
        (wrong(rounds=[{"dealer": 3}]), "round 1, lives: expected, but missing"),
        (
            wrong(rounds=[{**EXAMPLE["rounds"][0], "weather": "fine"}]),
            "round 1, weather: unknown here",
        ),
        (
            wrong(rounds=EXAMPLE["rounds"] * 2),
            "round 2, dealer: expected 0, found 3",
        ),
        (
            wrong(rounds=[*EXAMPLE["rounds"], {**EXAMPLE["rounds"][0], "dealer": 0}]),
            "round 2, lives: expected [3, 2, 3, 3], found [3, 3, 3, 3]",
        ),
        ({}, "format: expected, but missing"),
    ],
)
def test_a_record_that_breaks_a_rule_is_refused_with_the_place(record: Record, said: str) -> None:
    with pytest.raises(RecordError) as error:
        records.check(record)
    assert said in str(error.value)
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.round, again.seat) == (
        str(error.value), error.value.round, error.value.seat,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("payoffs", [2.0, -1.0, -1.0 + 1e-6], "payoffs: expected [2.0, -1.0, -1.0]"),
        ("payoffs", None, "payoffs: expected [2.0, -1.0, -1.0], found null"),
        ("winners", [1], "winners: expected [0], found [1]"),
        ("winners", None, "winners: expected [0], found null"),
    ],
)
def test_a_wrong_result_is_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(RecordError) as error:
        records.check({**won_by_the_first(), field: value})
    assert str(error.value).startswith(said)


def won_by_the_first() -> Record:
    game = Game.from_position(
        "cuckoo", dealer=1, lives=[1, 1, 1], deal=["9c", "2c", "2d"], stock="3c"
    )
    for action in ("keep", "keep", "keep"):
        game.act(action)
    return records.record(game)


def test_payoffs_are_compared_within_rounding() -> None:
    record = won_by_the_first()
    assert records.check({**record, "payoffs": [2.0 + 1e-10, -1, -1]}) == record


def test_rounds_after_the_end_are_refused() -> None:
    record = won_by_the_first()
    with pytest.raises(RecordError, match="round 2, rounds: expected none, for the game is over"):
        records.check({**record, "rounds": record["rounds"] * 2})


def test_a_seat_with_one_token_may_not_pay() -> None:
    game = Game.from_position("onesies", dealer=2, lives=[2, 1, 3], deal=["2c", "3c", "4c"], seed=1)
    for action in ("keep", "keep", "keep"):
        game.act(action)
    record = records.record(game)
    record["rounds"] = [{**record["rounds"][0], "actions": [[0, "swap"], [1, "pay"]]}]
    with pytest.raises(RecordError, match="expected accept of seat 1, found pay of seat 1"):
        records.check(record)


def test_a_misdeal_says_dealer_and_lives_and_any_cards() -> None:
    misdeal = {
        "misdeal": True,
        "dealer": 3,
        "lives": [3, 3, 3, 3],
        "deal": ["2c", "2c", "??", None],
    }
    record = wrong(
        rounds=[misdeal, *EXAMPLE["rounds"], {**misdeal, "dealer": 0, "lives": [3, 2, 3, 3]}]
    )
    assert records.check(record)["rounds"][0] == misdeal
    for number, changes, said in (
        (0, {"dealer": 2}, "round 2, dealer: expected 2, found 3"),
        (0, {"actions": []}, "round 1, actions: unknown here"),
        (0, {"misdeal": False}, "round 1, misdeal: expected true, found false"),
        (2, {"lives": [3, 3, 3, 3]}, "round 3, lives: expected [3, 2, 3, 3]"),
    ):
        bad = copy.deepcopy(record)
        bad["rounds"][number].update(changes)
        with pytest.raises(RecordError) as error:
            records.check(bad)
        assert str(error.value).startswith(said)


def test_a_final_cut_and_a_carried_tie_must_be_given() -> None:
    tie: dict[str, Any] = {"dealer": 1, "lives": [1, 1], "deal": ["5c", "5d"], "stock": "Kd"}
    cuts = ["Tc", "Td", "3c", "4d"]
    game = Game.from_position("chase-the-ace,seats=2,final_tie=cut", **tie, cuts=cuts)
    game.act("keep")
    game.act("keep")
    record = records.record(game)
    assert record["rounds"][0]["cut"] == [[0, "Tc"], [1, "Td"], [0, "3c"], [1, "4d"]]
    assert records.check(record) == record
    short = copy.deepcopy(record)
    del short["rounds"][0]["cut"][2:]
    with pytest.raises(RecordError, match=r"round 1, cut: expected .* more cards"):
        records.check(short)
    game = Game.from_position("chase-the-ace,seats=2,final_tie=carry", **tie)
    game.act("keep")
    game.act("keep")
    record = records.record(game)
    assert record["rounds"][0]["carried"] is True
    assert records.check(record) == record
    del record["rounds"][0]["carried"]
    with pytest.raises(RecordError, match="round 1, carried: expected true, found false"):
        records.check(record)


def test_a_dealer_cut_decides_who_deals() -> None:
    record = records.record(finished("standard,seats=4", seed=2))
    assert records.check(record) == record
    without = {key: value for key, value in record.items() if key != "dealer_cut"}
    assert records.check(without) == without
    seats = {seat for seat, _ in record["dealer_cut"]}
    assert seats == {0, 1, 2, 3}
    bad = copy.deepcopy(record)
    bad["rounds"][0]["dealer"] = (record["rounds"][0]["dealer"] + 1) % 4
    with pytest.raises(RecordError, match="round 1, dealer: expected"):
        records.check(bad)
    short = {**record, "dealer_cut": record["dealer_cut"][:2]}
    with pytest.raises(RecordError, match="dealer_cut: expected"):
        records.check(short)


# ---- files


def test_files_hold_one_object_or_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    games = [records.record(finished("one-round", seed)) for seed in range(3)]
    records.write(path, games)
    assert list(records.read(path)) == list(enumerate(games, 1))
    path.write_text(json.dumps(EXAMPLE, indent=1))
    assert list(records.read(path)) == [(1, EXAMPLE)]
    records.write(path, [EXAMPLE])
    assert list(records.read(path)) == [(1, EXAMPLE)]


def test_a_bad_line_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(f"nonsense\n\n{json.dumps(EXAMPLE)}\n[1]\n")
    (first, bad), (second, good), (third, other) = records.read(path)
    assert (first, second, third) == (1, 3, 4)
    assert isinstance(bad, RecordError)
    assert good == EXAMPLE
    assert "expected a JSON object, found [1]" in str(other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "record: not JSON"),
        ("{", "record: not JSON"),
        ("[" * 100_000, "record: not JSON"),
        ('{"format": 1, "format": 2}', "format: given 2 times"),
        ('{"payoffs": [NaN]}', "record: NaN is not a number"),
        ("3", "record: expected a JSON object, found 3"),
    ],
)
def test_a_text_that_is_no_record_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RecordError) as error:
        records.loads(text)
    assert str(error.value).startswith(said)
    path = tmp_path / "record.json"
    path.write_text(text)
    ((_, found),) = records.read(path)
    assert str(found).startswith(said)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(RecordError, match="record: not UTF-8 text"):
        list(records.read(path))
