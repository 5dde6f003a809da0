"""A game as text, from one seat's view."""

from __future__ import annotations

from typing import Any

from cuckoo_env.game import Game
from cuckoo_env.render.text import render

NAMES = ["Ann", "Bob", "Cem", "Dot"]


def table(*actions: str, **changes: Any) -> Game:
    """A scripted deal at a table of four, some turns on."""
    deal = ["2c", "9h", "Ks", "7d"]
    position = {"dealer": 3, "lives": [3, 1, 3, 2], "deal": deal, "stock": "Kd", **changes}
    game = Game.from_position("cuckoo,seats=4", **position, seed=1)
    for action in actions:
        game.act(action)
    return game


def test_a_round_as_the_seat_to_act_sees_it() -> None:
    assert render(table("swap").view(1), NAMES).splitlines() == [
        "chase-the-ace,seats=4 | round 1 | pot 4",
        "seat       card  lives  turn",
        "Ann        9♥    3      swapped",
        "Bob (you)  2♣    1      to act",
        "Cem        ?     3",
        "Dot        ?     2      dealer",
        "",
        "A new round: Dot deals.",
        "Ann gets a card.",
        "You get 9♥.",
        "Cem gets a card.",
        "Dot gets a card.",
        "Ann asks you to swap.",
        "Ann swaps with you, 2♣ for 9♥.",
        "",
        "Legal: keep, swap.",
    ]


def test_the_same_round_as_another_seat_sees_it() -> None:
    assert render(table("swap", "swap").view(3), NAMES).splitlines()[2:6] == [
        "Ann        ?     3      swapped",
        "Bob        ?     1      was blocked",
        "Cem        K♠!   3      to act",
        "Dot (you)  7♦    2      dealer",
    ]


def test_the_end_of_a_round_is_told_before_the_next() -> None:
    told = render(table("swap", "swap", "keep", "swap").view(0), NAMES).splitlines()
    assert told[3] == "Bob        -     0      out"
    story = told[told.index("") + 1 :]
    assert story[5:13] == [
        "Dot turns K♦ from the stock and may not take it.",
        "You reveal 9♥.",
        "Bob reveals 2♣.",
        "Cem reveals K♠.",
        "Dot reveals 7♦.",
        "Bob loses a life.",
        "Bob is out.",
        "A new round: you deal.",
    ]


def test_the_end_of_the_game_shows_all_cards_and_the_returns() -> None:
    game = Game.from_position(
        "king-variation-2,seats=2", dealer=1, lives=[1, 1], deal=["2c", "Kh"], stock="3c"
    )
    game.act("swap")
    assert render(game.view(0)).splitlines() == [
        "standard,seats=2,king=ends_trading | round 1 | pot 2 | no trading",
        "seat          card  lives  turn",
        "seat 0 (you)  2♣!   0      was blocked",
        "seat 1        K♥!   1      dealer",
        "",
        "You ask seat 1 to swap.",
        "Seat 1 shows K♥.",
        "There is no more trading on this deal.",
        "You reveal 2♣.",
        "Seat 1 reveals K♥.",
        "You lose a life.",
        "You are out.",
        "Seat 1 wins.",
        "",
        "Returns: seat 0 -1, seat 1 +1.",
    ]


def test_a_response_turn_is_an_answer() -> None:
    game = Game.from_position("onesies", dealer=2, lives=[0, 2, 1], deal=[None, "2c", "Jh"])
    game.act("swap")
    told = render(game.view(2), ["Ann", "Bob", "Cem"]).splitlines()
    assert told[2:5] == [
        "Ann        -     0      out",
        "Bob        ?     2      asked",
        "Cem (you)  J♥    1      to answer, dealer",
    ]
    assert told[-1] == "Legal: accept."


def test_a_card_turned_from_the_stock_lies_open() -> None:
    game = Game.from_position(
        "queen-rule,seats=3", dealer=2, lives=[3] * 3, deal=["2c", "Qh", "5d"], stock="Qd"
    )
    game.act("swap")
    game.act("keep")
    assert "Q♦" not in render(game.view(0))
    game = Game.from_position(
        "queen-rule,seats=3,jack=may_block",
        dealer=2,
        lives=[3] * 3,
        deal=["2c", "4h", "5d"],
        stock="Qd",
    )
    for action in ["keep", "keep", "swap"]:
        game.act(action)
    assert render(game.view(0)).splitlines()[0].endswith("| Q♦ turned from the stock")
