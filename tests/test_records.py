"""Game records: what is written replays, and what breaks a rule is refused with the place."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from record_referee import obeys
from strategies import seeds, tables

from cuckoo_env import cuckoo_v0, events, records
from cuckoo_env.game import Game
from cuckoo_env.records import Record, RecordError
from cuckoo_env.rules import AXES, PRESETS, Rules, RulesError

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
    assert obeys(written)


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


@pytest.mark.parametrize("name", PRESETS)
def test_the_environment_writes_its_record_at_every_step(name: str) -> None:
    env, luck = cuckoo_v0.env(name), random.Random(name)
    for seed in range(3):
        env.reset(seed=seed)
        rounds = 0
        while not any(env.terminations.values()):
            written = env.record()
            assert records.check(written) == written
            assert (written["winners"], written["payoffs"]) == (None, None)
            assert rounds <= len(written["rounds"]) <= rounds + 1
            rounds = len(written["rounds"])
            legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
            env.step(luck.choice(legal.tolist()))
        written = env.record()
        assert records.check(written) == written
        assert written["seats"] == env.possible_agents
        assert Rules.parse(written["rules"]) == env.rules
        assert written["payoffs"] == list(env.rewards.values())


def test_a_round_that_is_not_over_is_never_written() -> None:
    env = cuckoo_v0.env("practice-table")
    env.reset(seed=3)
    assert env.record()["rounds"] == []
    env.step(0)
    env.step(0)
    assert env.record()["rounds"] == []
    env.step(0)
    assert len(env.record()["rounds"]) == 1


def test_an_illegal_action_leaves_a_record_that_stops_between_rounds() -> None:
    env = cuckoo_v0.env("open-kings", n_actions=5)
    env.reset(seed=1)
    for _ in range(4):
        env.step(0)
    env.step(4)
    assert all(env.terminations.values())
    written = env.record()
    assert len(written["rounds"]) == 1
    assert records.check(written) == written
    assert written["winners"] is None


# ---- the format, sentence by sentence


@pytest.mark.parametrize(
    "card", ["10c", "c2", "2C", "1c", "kd", "", "2", "2cc", " 2c", 2, True, []]
)
def test_a_card_is_a_rank_and_then_a_suit(card: Any) -> None:
    with pytest.raises(RecordError, match="round 1, deal: expected a card or null for each"):
        records.check(wrong(deal=[card, "9h", "Ks", "7d"]))


def test_deal_and_reveal_have_one_entry_a_seat_and_null_where_it_is_out() -> None:
    game = Game.from_position("cuckoo,seats=4", dealer=2, lives=[3, 0, 1, 3], seed=3)
    for _ in range(3):
        game.act("keep")
    record = records.record(game)
    for field in ("deal", "reveal"):
        assert [card is None for card in record["rounds"][0][field]] == [False, True, False, False]
        bad = copy.deepcopy(record)
        bad["rounds"][0][field].pop()
        with pytest.raises(
            RecordError, match=f"round 1, {field}: expected a card or null for each"
        ):
            records.check(bad)
    record["rounds"][0]["reveal"][1] = "2c"
    with pytest.raises(RecordError, match='round 1, seat 1, reveal: expected null, found "2c"'):
        records.check(record)


@pytest.mark.parametrize(
    ("rules", "top", "actions"),
    [
        ("cuckoo", "Kd", [[0, "keep"], [1, "keep"], [2, "swap"]]),
        ("cuckoo", "4d", [[0, "keep"], [1, "keep"], [2, "swap"]]),
        ("queen-rule", "Qd", [[0, "keep"], [1, "keep"], [2, "swap"]]),
        ("kings-traded", "Kd", [[0, "keep"], [1, "keep"], [2, "swap"]]),
    ],
)
def test_the_stock_lists_the_card_that_was_turned_also_one_that_blocks(
    rules: str, top: str, actions: list[Any]
) -> None:
    deal = ["2c", "3c", "7c"]
    game = Game.from_position(rules, dealer=2, lives=[3] * 3, deal=deal, stock=top)
    for _, action in actions:
        game.act(action)
    record = records.record(game)
    assert record["rounds"][0]["stock"] == [top]
    assert records.check(record) == record
    with pytest.raises(RecordError, match="round 1, seat 2, stock: expected a card that was turn"):
        records.check(
            {**record, "rounds": [{k: v for k, v in record["rounds"][0].items() if k != "stock"}]}
        )


def test_an_absent_stock_and_an_empty_one_both_mean_none() -> None:
    absent = copy.deepcopy(EXAMPLE)
    del absent["rounds"][0]["stock"]
    assert records.check(absent) == records.check(EXAMPLE)


def test_deal_and_stock_hold_each_card_as_often_as_there_are_packs() -> None:
    def dealt(deal: list[str], stock: list[str]) -> Record:
        actions = [*ACTIONS[:3], [3, "swap" if stock else "keep"]]
        record = wrong(rules="cuckoo,seats=4,decks=2", deal=deal, stock=stock, actions=actions)
        return without_derived(record)

    records.check(dealt(["2c", "2c", "Ks", "7d"], []))
    records.check(dealt(["2c", "7d", "Ks", "3d"], ["2c"]))
    for deal, stock in ((["2c", "2c", "2c", "7d"], []), (["2c", "2c", "Ks", "7d"], ["2c"])):
        with pytest.raises(
            RecordError, match="round 1, deal: expected 2c at most 2 times, found 3"
        ):
            records.check(dealt(deal, stock))


@pytest.mark.parametrize("action", ["KEEP", "draw", "", 0, None, "fold"])
def test_actions_have_five_names(action: Any) -> None:
    with pytest.raises(RecordError, match=r"round 1, (seat 0, )?actions: expected"):
        records.check(wrong(actions=[[0, action], *ACTIONS[1:]]))


def test_lost_is_capped_at_the_lives_that_are_held() -> None:
    game = Game.from_position(
        "onesies", dealer=2, lives=[1, 5, 5], deal=["2c", "3c", "4c"], stock="5c"
    )
    for _ in range(3):
        game.act("keep")
    record = records.record(game)
    assert record["rounds"][0]["lost"] == [1, 0, 0]
    record["rounds"][0]["lost"] = [2, 0, 0]
    with pytest.raises(RecordError, match="round 1, seat 0, lost: expected 1, found 2"):
        records.check(record)


@pytest.mark.parametrize("tie", ["replay", "carry", "carry_stake"])
def test_lost_is_told_also_where_a_final_tie_gives_it_back(tie: str) -> None:
    rules = f"chase-the-ace,seats=2,lives=2,final_tie={tie}"
    game = Game.from_position(
        rules, dealer=1, lives=[1, 1], deal=["5c", "5d"], stock="Kd", cuts=["2c", "3c", "4c"]
    )
    for _ in range(4):
        game.act("keep")
    record = records.record(game)
    assert record["rounds"][0]["lost"] == [1, 1]
    assert record["rounds"][1]["lives"] == ([1, 1] if tie == "replay" else [2, 2])
    assert record["rounds"][0].get("carried", False) == (tie != "replay")
    assert records.check(record) == record


def test_fees_show_in_the_lives_of_the_next_round() -> None:
    game = Game.from_position(
        "onesies", dealer=2, lives=[5] * 3, deal=["2c", "3c", "4c"], stock="5c", seed=1
    )
    for action in ("swap", "pay", "keep", "keep", "keep", "keep", "keep"):
        if game.seat is not None and action in game.legal_actions():
            game.act(action)
    record = records.record(game)
    assert record["rounds"][0]["lost"] == [2, 0, 0]
    assert record["rounds"][1]["lives"] == [3, 4, 5]
    record["rounds"][1]["lives"] = [3, 5, 5]
    with pytest.raises(RecordError, match=r"round 2, lives: expected \[3, 4, 5\], found"):
        records.check(record)


def test_a_record_may_start_from_any_position() -> None:
    record = wrong(lives=[7, 1, 30_000, 2], staked=[3, 1, 2, 5])
    filled = records.check(record)
    assert filled["staked"] == [3, 1, 2, 5]
    assert filled["winners"] is None
    with pytest.raises(RecordError, match="round 1, lives: "):
        records.check(wrong(lives=[30_001, 1, 1, 1]))


def test_stakes_paid_before_are_in_the_payoffs() -> None:
    record = won_by_the_first()
    staked = records.check({**without_derived(record), "staked": [1, 3, 2]})
    assert staked["payoffs"] == [5.0, -3.0, -2.0]


def test_a_truncated_game_is_won_by_nobody_and_pays_nothing() -> None:
    record = wrong(rules="cuckoo,seats=4,max_rounds=1", winners=[], payoffs=[0, 0, 0, 0])
    assert records.check(record)["winners"] == []
    for winners, payoffs in ((None, None), ([0], [0, 0, 0, 0]), ([], [1, -1, 0, 0])):
        with pytest.raises(RecordError, match=r"(winners|payoffs): expected"):
            records.check({**record, "winners": winners, "payoffs": payoffs})


def test_winners_ascend() -> None:
    tie = {"dealer": 1, "lives": [1, 1], "deal": ["5c", "5d"], "stock": "Kd"}
    game = Game.from_position("chase-the-ace,seats=2", **tie)
    game.act("keep")
    game.act("keep")
    record = records.record(game)
    assert record["winners"] == [0, 1]
    with pytest.raises(RecordError, match=r"winners: expected \[0, 1\], found \[1, 0\]"):
        records.check({**record, "winners": [1, 0]})


def test_the_rules_text_need_not_be_canonical() -> None:
    text = "chase-the-ace, lives=3 ,seats=4"
    assert str(Rules.parse(text)) != text
    checked = records.check(wrong(rules=text))
    assert checked["rules"] == text
    assert checked["rounds"] == records.check(EXAMPLE)["rounds"]


def test_names_are_text_that_can_be_printed() -> None:
    names = ["Zoë", "A 'B' C", "座", ""]
    assert records.check(wrong(seats=names))["seats"] == names
    for name in ("a\nb", "\x1b[2J", "\ud800"):
        with pytest.raises(RecordError, match="seats: expected 4 names, found"):
            records.check(wrong(seats=[*names[:3], name]))


def test_an_empty_record_is_a_game_that_has_not_begun() -> None:
    record = wrong(rounds=[])
    assert records.check(record) == record
    cut = records.record(Game("standard,seats=4", seed=2))
    assert cut["rounds"] == []
    assert records.check(cut) == cut


# ---- the story


def test_the_story_tells_every_round_with_the_names() -> None:
    misdeal = {"misdeal": True, "dealer": 3, "lives": [3, 3, 3, 3], "deal": ["?"]}
    record = wrong(seats=["Ann", "bob", "Cy", "Di"], rounds=[misdeal, *EXAMPLE["rounds"]])
    assert records.story(record) == [
        ["A new round: Di deals.", "The deal was incorrect and is repeated."],
        [
            "A new round: Di deals.",
            "Ann gets 2♣.",
            "bob gets 9♥.",
            "Cy gets K♠.",
            "Di gets 7♦.",
            "Ann asks bob to swap.",
            "Ann swaps with bob, 2♣ for 9♥.",
            "bob asks Cy to swap.",
            "Cy shows K♠.",
            "Cy keeps.",
            "Di keeps.",
            "Ann reveals 9♥.",
            "bob reveals 2♣.",
            "Cy reveals K♠.",
            "Di reveals 7♦.",
            "bob loses a life.",
        ],
    ]


@given(rules=tables(), seed=seeds())
@settings(max_examples=30)
def test_the_story_is_that_of_the_game(rules: Rules, seed: int) -> None:
    rules = rules if rules.max_rounds or rules.game == "round" else rules.replace(max_rounds=40)
    game = finished(rules, seed)
    told = records.story(records.record(game, [f"seat {seat}" for seat in range(rules.seats)]))
    whole = [sentence for each in told for sentence in each]
    # The seats of a game are called so; at the start of a sentence it is a capital there.
    assert [line.lower() for line in whole] == [line.lower() for line in events.story(game.events)]


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


# ---- one thing changed


def places(found: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside."""
    inner = found.items() if isinstance(found, dict) else enumerate(found)
    below = [(*path, key) for key, _ in inner]
    for key in list(below):
        value = found[key[-1]]
        if isinstance(value, dict | list):
            below += places(value, key)
    return below


CARDS = [rank + suit for rank in "A23456789TJQK" for suit in "cdhs"]


def another(value: Any, luck: random.Random) -> Any:
    """Another value of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + luck.choice([-2, -1, 1, 2])
    if isinstance(value, float):
        return value + luck.choice([-1.0, 0.5, 1e-6, 1e-10])
    if value in CARDS:
        return luck.choice([*CARDS, value[0] + luck.choice("cdhs"), None])
    if isinstance(value, str):
        return luck.choice(["keep", "swap", "accept", "show", "pay"])
    if value is None:
        return luck.choice([luck.choice(CARDS), [0], []])
    return value


def changed(record: Record, luck: random.Random) -> Record:
    """The record with one thing in it changed, left out, doubled, or exchanged with its neighbour."""
    new = copy.deepcopy(record)
    *way, last = luck.choice([path for path in places(new) if path[0] not in {"seats", "format"}])
    inside = new
    for key in way:
        inside = inside[key]
    if last == "rules":
        axis = luck.choice(list(AXES))
        try:
            rules = Rules.parse(inside[last]).replace(**{axis: luck.choice(list(AXES[axis]))})
        except RulesError:
            return new
        inside[last] = str(rules)
    elif luck.random() < 0.6:
        inside[last] = another(inside[last], luck)
    elif isinstance(inside, dict):
        del inside[last]
    else:
        how = luck.randrange(3)
        if how == 0:
            del inside[last]
        elif how == 1:
            inside.insert(last, copy.deepcopy(inside[last]))
        else:
            inside[last], inside[last - 1] = inside[last - 1], inside[last]
    return new


def accepted(record: Record) -> bool:
    try:
        records.check(record)
    except RecordError:
        return False
    return True


@given(rules=tables(), seed=seeds())
@settings(max_examples=150)
def test_a_changed_record_is_refused_unless_the_referee_finds_it_right(
    rules: Rules, seed: int
) -> None:
    rules = rules if rules.max_rounds or rules.game == "round" else rules.replace(max_rounds=10)
    luck = random.Random(seed)
    record = records.record(finished(rules, seed, misdeals=0.1))
    for _ in range(15):
        bad = changed(record, luck)
        assert accepted(bad) == obeys(bad), bad


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r["rounds"][0]["actions"].reverse(), "actions"),
        (lambda r: r["rounds"][0]["actions"].pop(), "actions"),
        (lambda r: r["rounds"][0]["actions"].append([0, "keep"]), "actions"),
        (lambda r: r["rounds"][0]["actions"].insert(0, [0, "keep"]), "actions"),
        (lambda r: r["rounds"][0]["actions"][0].__setitem__(1, "accept"), "actions"),
        (lambda r: r["rounds"][0]["deal"].__setitem__(0, r["rounds"][0]["deal"][1]), "deal"),
        (lambda r: r["rounds"][1]["lives"].__setitem__(0, 9), "lives"),
        (lambda r: r["rounds"][1].__setitem__("dealer", r["rounds"][0]["dealer"]), "dealer"),
        (lambda r: r["payoffs"].__setitem__(0, r["payoffs"][0] + 1), "payoffs"),
        (lambda r: r["winners"].append(0), "winners"),
        (lambda r: r["winners"].clear(), "winners"),
        (lambda r: r["rounds"].pop(), "winners"),
        (lambda r: r["rounds"][0]["lost"].reverse(), "lost"),
        (lambda r: r["rounds"][0]["lost"].__setitem__(0, 5), "lost"),
    ],
)
@pytest.mark.parametrize("name", PRESETS)
def test_a_game_of_every_preset_with_one_thing_wrong_is_refused(
    name: str, change: Any, said: str
) -> None:
    rules = Rules.parse(name)
    enough = 1 if rules.game == "round" or rules.lives == 1 else 2
    games = (records.record(finished(rules, seed)) for seed in range(100))
    record = next(
        game
        for game in games
        if len(game["rounds"]) >= enough
        and game["rounds"][0]["lost"] != game["rounds"][0]["lost"][::-1]
        and game["winners"] not in ([0], [])
    )
    bad = copy.deepcopy(record)
    try:
        change(bad)
    except IndexError:
        assert len(record["rounds"]) == 1, "only where a game is a single round"
        return
    with pytest.raises(RecordError) as error:
        records.check(bad)
    assert said in str(error.value)
    assert "expected" in str(error.value)
    assert not obeys(bad)


def test_a_seat_that_may_only_keep_may_not_swap() -> None:
    for rules, deal in (
        ("open-kings", ["Kc", "3c", "4c"]),
        ("kings-face-up", ["3c", "Kc", "4c"]),
    ):
        game = Game.from_position(rules, dealer=2, lives=[3] * 3, deal=deal, seed=1)
        for _ in range(3):
            game.act("keep")
        record = records.record(game)
        assert records.check(record) == record
        record["rounds"][0]["actions"][0][1] = "swap"
        with pytest.raises(
            RecordError, match="seat 0, actions: expected keep of seat 0, found swap"
        ):
            records.check(record)


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


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_has_no_record(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    ((_, found),) = records.read(path)
    assert str(found) == "record: expected one at least, found an empty file"


@pytest.mark.parametrize(
    ("text", "said"),
    [
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


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_line_that_is_no_text_does_not_hide_the_others(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(b"\xff\xfe{}")
    ((line, found),) = records.read(path)
    assert line == 1
    assert str(found).startswith("record: not UTF-8 text")
    example = records.dumps(EXAMPLE).encode()
    path.write_bytes(mark + example + b"\r\n\xff\n" + example)
    (_, first), (_, second), (_, third) = records.read(path)
    assert first == third == EXAMPLE
    assert str(second).startswith("record: not UTF-8 text")


def test_an_object_may_take_several_lines_of_which_some_look_like_records(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    head = json.dumps({key: EXAMPLE[key] for key in ("format", "rules", "seats")})[:-1]
    path.write_text(f'{head},\n"rounds": [\n{json.dumps(EXAMPLE["rounds"][0])}\n]}}\n')
    ((line, found),) = records.read(path)
    assert line == 1
    assert isinstance(found, dict)
    assert records.check(found) == records.check(EXAMPLE)


def test_a_damaged_object_over_several_lines_is_one_wrong_record(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(EXAMPLE, indent=1)[:-2])
    ((line, found),) = records.read(path)
    assert line == 1
    assert "not JSON" in str(found)


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    records.write(path, [EXAMPLE])
    before = path.read_bytes()

    def games() -> Iterator[Record]:
        yield EXAMPLE
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        records.write(path, games())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("payoffs", "[1e999, 0, 0, 0]", "payoffs: expected 4 numbers, or null"),
        ("payoffs", f"[{'9' * 400}, 0, 0, 0]", "payoffs: expected 4 numbers, or null"),
        ("payoffs", f"[{'9' * 5000}, 0, 0, 0]", "record: not JSON"),
        ("staked", f"[{'9' * 400}, 1, 1, 1]", "staked: "),
        ("winners", f"[{'9' * 400}]", "winners: expected null"),
        ("winners", '["\\ud800"]', "record: not JSON: half of a character"),
        ("\\n\\u001b", "1", '"\\n\\u001b": unknown here'),
    ],
)
def test_odd_numbers_and_texts_are_refused(field: str, text: str, said: str) -> None:
    line = json.dumps({key: value for key, value in EXAMPLE.items() if key != field})
    with pytest.raises(RecordError) as error:
        records.check(records.loads(f'{line[:-1]}, "{field}": {text}}}'))
    assert str(error.value).startswith(said)
    assert str(error.value).isprintable()
