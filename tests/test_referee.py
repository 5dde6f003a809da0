"""The referee against positions worked out by hand, and against random play."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from referee import CHOICES, RANKS, RandomLuck, Referee, Scripted, check_rules

Rules = dict[str, Any]
Event = tuple[Any, ...]

DEFAULTS: Rules = {
    "seats": 3,
    "lives": 3,
    "decks": 1,
    "ace": "low",
    "king": "blocks",
    "queen": "plain",
    "jack": "plain",
    "dealer": "stock",
    "swapped_turn": "kept",
    "refusal": "none",
    "penalty": "one",
    "pairs": "count",
    "ties": "all",
    "final_tie": "joint",
    "stake": 1,
    "first_dealer": "lot",
    "direction": "left",
    "game": "match",
    "max_rounds": None,
}


def rules(**changes: Any) -> Rules:
    """The default rules with some fields changed."""
    assert set(changes) <= set(DEFAULTS)
    return {**DEFAULTS, **changes}


def table(
    deals: str,
    *,
    dealer: int | None = None,
    lives: Sequence[int] | None = None,
    staked: Sequence[int] | None = None,
    stock: str = "",
    cuts: str = "",
    lots: Sequence[int] = (),
    **changes: Any,
) -> Referee:
    """A game from a script: deals and cuts are separated by bars.

    By default the last seat deals, and after the scripted deals a filler is dealt, so
    that a test need not spell out the round after the one it looks at.
    """
    hands = [deal.split() for deal in deals.split("|")]
    seats = len(lives) if lives is not None else changes.get("seats", len(hands[0]))
    luck = Filler(hands, stock.split(), [cut.split() for cut in cuts.split("|")], lots)
    if dealer is None and not lots and not changes.get("first_dealer"):
        dealer = seats - 1
    changes["seats"] = seats
    return Referee(rules(**changes), luck, dealer=dealer, lives=lives, staked=staked)


def rotation(deal: str, **changes: Any) -> Referee:
    """A game with dealer=rotation in which the last seat deals."""
    hand = deal.split()
    chosen = rules(seats=len(hand), **changes)
    chosen["dealer"] = "rotation"
    return Referee(chosen, Filler([hand]), dealer=len(hand) - 1)


class Filler(Scripted):
    """A script that goes on with low cards nobody looks at."""

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        if not self.deals:
            self.deals.append([rank + "c" for rank in "23456789T"[: len(seats_in)]])
        return super().deal(seats_in)


def play(game: Referee, actions: str) -> list[Event]:
    """Take these actions; give back what happened, up to the next deal."""
    start = len(game.events)
    for action in actions.split():
        game.act(action)
    happened = game.events[start:]
    rounds = [i for i, event in enumerate(happened) if event[0] == "round"]
    return happened[: rounds[0]] if rounds else happened


def of(events: list[Event], *kinds: str) -> list[Event]:
    """Only the events of these kinds."""
    return [event for event in events if event[0] in kinds]


# --- the round ------------------------------------------------------------------------


def test_worked_example() -> None:
    game = table("2c 9h Ks 7d")
    assert game.events == [
        ("round", 3),
        ("dealt", 0, "2c"),
        ("dealt", 1, "9h"),
        ("dealt", 2, "Ks"),
        ("dealt", 3, "7d"),
    ]
    assert (game.seat, game.legal()) == (0, ["keep", "swap"])
    assert play(game, "swap swap keep keep") == [
        ("asked", 0, 1),
        ("swapped", 0, 1, "9h", "2c"),
        ("asked", 1, 2),
        ("showed", 2, "Ks"),
        ("kept", 2),
        ("kept", 3),
        ("revealed", 0, "9h"),
        ("revealed", 1, "2c"),
        ("revealed", 2, "Ks"),
        ("revealed", 3, "7d"),
        ("lost", 1, 1),
    ]
    assert game.lives == [3, 2, 3, 3]
    assert game.lost == [0, 1, 0, 0]
    assert (game.rounds, game.dealer, game.seat, game.over) == (1, 0, 1, False)


def test_keeping_is_no_shield_and_a_swapped_king_can_be_followed() -> None:
    game = table("Kc 5h 3s 7d")
    play(game, "swap")  # seat 0 asks its own king away
    assert game.cards == {0: "5h", 1: "Kc", 2: "3s", 3: "7d"}
    assert game.known[0] == game.known[1] == {0: "5", 1: "K"}
    assert (game.known[2], game.known[3]) == ({2: "3"}, {3: "7"})
    play(game, "swap")  # seat 1 gives the king on to seat 2
    assert game.known[0] == {0: "5", 2: "K"}
    assert game.known[1] == {0: "5", 1: "3", 2: "K"}
    assert game.known[2] == {1: "3", 2: "K"}
    assert game.known[3] == {3: "7"}


def test_dealer_takes_the_stock_and_only_he_knows_his_card() -> None:
    game = table("4c 5h 6s 7d", stock="8h", max_rounds=1)
    play(game, "keep keep swap")
    assert game.known[2] == {2: "7", 3: "6"}
    events = play(game, "swap")
    assert events[0] == ("drew", 3, "8h")
    assert game.cards[3] == "8h"
    # The one round is over, so everybody knows everything.
    assert game.known[0] == {0: "4", 1: "5", 2: "7", 3: "8"}


def test_nobody_else_knows_the_dealers_new_card() -> None:
    game = table("4c 5h 6s", stock="8h")
    play(game, "keep swap")
    assert game.known[1] == {1: "6", 2: "5"}
    game._reveal = lambda: None  # type: ignore[method-assign]
    play(game, "swap")
    assert game.known == {0: {0: "4"}, 1: {1: "6"}, 2: {1: "6", 2: "8"}}


def test_stock_king_blocks_the_dealer() -> None:
    game = table("4c 5h 3s", stock="Kd")
    assert play(game, "keep keep swap")[2:4] == [
        ("stock_showed", 2, "Kd"),
        ("revealed", 0, "4c"),
    ]
    assert game.lives == [3, 3, 2]


def test_plain_king_is_swapped_and_taken_from_the_stock() -> None:
    game = table("4c Kh 3s", stock="Kd", king="plain")
    events = play(game, "swap keep swap")
    assert of(events, "swapped", "drew") == [
        ("swapped", 0, 1, "Kh", "4c"),
        ("drew", 2, "Kd"),
    ]
    assert game.lives == [3, 2, 3]


def test_out_seats_are_skipped_and_direction_right_goes_down() -> None:
    game = table("4c 5h 6s", lives=[1, 0, 2, 1], dealer=0, direction="right")
    assert game.seat == 3
    play(game, "swap")
    assert game.events[-1] == ("swapped", 3, 2, "5h", "6s")
    assert game.seat == 2
    play(game, "swap")
    assert game.events[-1] == ("swapped", 2, 0, "4c", "6s")
    events = play(game, "keep")
    assert of(events, "lost", "out") == [("lost", 2, 1)]
    assert game.dealer == 3  # one to the right of seat 0


def test_ace_high_makes_two_the_lowest_and_does_not_block() -> None:
    game = table("2c Ah 3s", ace="high")
    play(game, "swap keep keep")
    assert game.lost == [0, 1, 0]
    assert table("2c Ah 3s").legal() == ["keep", "swap"]


def test_two_seats_swap_and_dealer_uses_the_stock() -> None:
    game = table("4c 5h", stock="Jd", seats=2)
    events = play(game, "swap swap")
    assert of(events, "swapped", "drew", "lost") == [
        ("swapped", 0, 1, "5h", "4c"),
        ("drew", 1, "Jd"),
        ("lost", 0, 1),
    ]


def test_misdeal_only_before_the_first_action() -> None:
    game = table("4c 4h 4s | 5c 6h 7s")
    game.misdeal()
    assert game.events[4:6] == [("misdealt",), ("round", 2)]
    assert (game.rounds, game.cards) == (0, {0: "5c", 1: "6h", 2: "7s"})
    game.act("keep")
    with pytest.raises(ValueError, match="before the first action"):
        game.misdeal()


def test_illegal_actions_are_refused() -> None:
    game = table("4c 4h 4s")
    for action in ("accept", "show", "pay", "dance"):
        with pytest.raises(ValueError, match="may not"):
            game.act(action)


# --- kings ----------------------------------------------------------------------------


def test_ends_trading_goes_straight_to_the_reveal() -> None:
    game = table("4c Kh 3s 7d", king="ends_trading")
    assert play(game, "swap")[:4] == [
        ("asked", 0, 1),
        ("showed", 1, "Kh"),
        ("no_trading",),
        ("revealed", 0, "4c"),
    ]
    assert game.lives == [3, 3, 2, 3]


def test_ends_trading_leaves_the_stock_king_as_it_was() -> None:
    game = table("4c 5h 3s", stock="Kd", king="ends_trading")
    events = play(game, "keep keep swap")
    assert events[2] == ("stock_showed", 2, "Kd")
    assert of(events, "no_trading") == []


def test_ends_trading_through_a_queens_redirect() -> None:
    game = table("5c 4h Qs Kd", dealer=0, king="ends_trading", queen="redirects")
    play(game, "swap")  # seat 1 asks 2 (queen) and then 0: a plain swap
    assert game.events[-1] == ("swapped", 1, 0, "5c", "4h")
    game = table("Kc 4h Qs 2d", dealer=0, king="ends_trading", queen="redirects")
    assert play(game, "swap")[:6] == [
        ("asked", 1, 2),
        ("showed", 2, "Qs"),
        ("asked", 1, 0),
        ("showed", 0, "Kc"),
        ("no_trading",),
        ("revealed", 0, "Kc"),
    ]


def test_ends_trading_by_a_chosen_show_under_a_fee() -> None:
    game = table("4c Kh 3s", king="ends_trading", refusal="fee")
    play(game, "swap")
    assert (game.seat, game.legal()) == (1, ["accept", "show", "pay"])
    assert play(game, "show")[:3] == [
        ("showed", 1, "Kh"),
        ("no_trading",),
        ("revealed", 0, "4c"),
    ]


def test_stops_deal_gives_everybody_a_turn_to_keep() -> None:
    game = table("4c Kh 3s Kd", king="stops_deal")
    assert game.events[-3:] == [
        ("turned_up", 1, "Kh"),
        ("turned_up", 3, "Kd"),
        ("no_trading",),
    ]
    assert game.known[0] == {0: "4", 1: "K", 3: "K"}
    for seat in range(4):
        assert (game.seat, game.legal()) == (seat, ["keep"])
        game.act("keep")
    assert game.lives == [3, 3, 2, 3]


def test_stops_deal_without_a_king_is_normal_play() -> None:
    game = table("4c 5h 3s", stock="Kd", king="stops_deal")
    assert game.legal() == ["keep", "swap"]
    assert play(game, "keep keep swap")[2] == ("stock_showed", 2, "Kd")


def test_open_kings_only_keep_and_block_by_force_even_under_a_fee() -> None:
    game = table("4c Kh 3s Kd", king="open", refusal="fee")
    assert of(game.events, "no_trading") == []
    assert play(game, "swap") == [("asked", 0, 1), ("showed", 1, "Kh")]
    assert (game.seat, game.legal()) == (1, ["keep"])
    play(game, "keep")
    assert game.legal() == ["keep", "swap"]
    play(game, "swap")
    assert (game.seat, game.legal()) == (3, ["keep"])  # also as the dealer


# --- queens and jacks -----------------------------------------------------------------


def test_queen_redirects_to_the_right_and_its_holder_keeps_his_turn() -> None:
    game = table("5c 4h Qs 7d", queen="redirects")
    play(game, "keep")
    assert play(game, "swap") == [
        ("asked", 1, 2),
        ("showed", 2, "Qs"),
        ("asked", 1, 0),
        ("swapped", 1, 0, "5c", "4h"),
    ]
    assert game.seat == 2
    assert game.known[3] == {2: "Q", 3: "7"}


def test_two_queens_and_nobody_swaps_never_a_third_seat() -> None:
    game = table("Qc 4h Qs 7d", queen="redirects")
    play(game, "keep")
    assert play(game, "swap") == [
        ("asked", 1, 2),
        ("showed", 2, "Qs"),
        ("asked", 1, 0),
        ("showed", 0, "Qc"),
    ]
    assert game.seat == 2


def test_redirect_meets_a_king_or_a_jack() -> None:
    for card in ("Kc", "Jc"):
        game = table(f"{card} 4h Qs 7d", queen="redirects", jack="blocks")
        play(game, "keep")
        assert play(game, "swap")[2:] == [("asked", 1, 0), ("showed", 0, card)]


def test_queen_with_two_seats_in_means_no_swap() -> None:
    game = table("4c Qh", lives=[2, 0, 2], queen="redirects")
    assert play(game, "swap") == [("asked", 0, 2), ("showed", 2, "Qh")]
    assert game.seat == 2


def test_queen_on_the_stock_sends_the_dealer_to_his_right() -> None:
    game = table("4c 5h 3s", stock="Qd", queen="redirects")
    assert play(game, "keep keep swap")[2:5] == [
        ("stock_showed", 2, "Qd"),
        ("asked", 2, 1),
        ("swapped", 2, 1, "5h", "3s"),
    ]
    assert game.lost == [0, 1, 0]


def test_queen_on_the_stock_also_with_two_seats_and_by_the_same_rules() -> None:
    game = table("4c 3h", stock="Qd", queen="redirects", seats=2)
    assert play(game, "keep swap")[1:4] == [
        ("stock_showed", 1, "Qd"),
        ("asked", 1, 0),
        ("swapped", 1, 0, "4c", "3h"),
    ]
    game = table("4c Qh 3s", stock="Qd", queen="redirects")
    assert play(game, "keep keep swap")[2:6] == [
        ("stock_showed", 2, "Qd"),
        ("asked", 2, 1),
        ("showed", 1, "Qh"),
        ("revealed", 0, "4c"),
    ]


def test_first_seats_redirect_reaches_the_dealer_and_costs_his_turn() -> None:
    game = table("4c Qh 3s 5d", queen="redirects", swapped_turn="lost")
    assert play(game, "swap")[2:] == [("asked", 0, 3), ("swapped", 0, 3, "5d", "4c")]
    assert game.seat == 1  # the queen's holder was not swapped
    events = play(game, "keep keep")
    assert events[:3] == [("kept", 1), ("kept", 2), ("skipped", 3)]


def test_jack_blocks_besides_kings_but_not_on_the_stock() -> None:
    game = table("4c Jh Ks 5d", jack="blocks", stock="Jc")
    events = play(game, "swap swap keep swap")
    assert of(events, "asked", "showed", "drew") == [
        ("asked", 0, 1),
        ("showed", 1, "Jh"),
        ("asked", 1, 2),
        ("showed", 2, "Ks"),
        ("drew", 3, "Jc"),
    ]


def test_may_block_gives_every_asked_seat_an_answer_except_forced_kings() -> None:
    game = table("4c 5h Js Kd", jack="may_block")
    play(game, "swap")
    assert (game.seat, game.legal()) == (1, ["accept"])
    play(game, "accept swap")
    assert (game.seat, game.legal()) == (2, ["accept", "show"])
    assert play(game, "show") == [("showed", 2, "Js")]
    assert play(game, "swap") == [("asked", 2, 3), ("showed", 3, "Kd")]


def test_queen_redirects_before_anybody_answers() -> None:
    game = table("Jc 4h Qs 7d", queen="redirects", jack="may_block", refusal="fee")
    play(game, "keep")
    assert play(game, "swap") == [("asked", 1, 2), ("showed", 2, "Qs"), ("asked", 1, 0)]
    assert (game.seat, game.legal()) == (0, ["accept", "show", "pay"])
    play(game, "accept")
    assert game.cards[1] == "Jc"
    assert game.seat == 2


# --- the dealer, lost turns, fees -----------------------------------------------------


def test_rotation_dealer_asks_the_first_seat() -> None:
    game = rotation("9c 5h 3s")
    events = play(game, "keep keep swap")
    assert events[2:4] == [("asked", 2, 0), ("swapped", 2, 0, "9c", "3s")]
    assert game.lost == [1, 0, 0]


def test_rotation_dealer_made_to_swap_may_only_keep() -> None:
    game = rotation("9c 5h 3s")
    play(game, "keep swap")
    assert (game.seat, game.legal()) == (2, ["keep"])


def test_rotation_dealer_who_blocked_may_ask() -> None:
    game = rotation("9c 5h Ks")
    play(game, "keep swap")
    assert game.legal() == ["keep", "swap"]


def test_rotation_with_lost_turns_skips_the_dealer() -> None:
    game = rotation("9c 5h 3s", swapped_turn="lost")
    assert play(game, "keep swap")[3:5] == [("skipped", 2), ("revealed", 0, "9c")]


def test_rotation_redirect_with_two_seats() -> None:
    game = rotation("Qc 5h", queen="redirects")
    assert play(game, "keep swap")[1:4] == [
        ("asked", 1, 0),
        ("showed", 0, "Qc"),
        ("revealed", 0, "Qc"),
    ]


def test_lost_turn_is_skipped_but_a_block_keeps_it() -> None:
    game = table("4c 5h 9s 7d", swapped_turn="lost")
    play(game, "swap")
    assert game.events[-1] == ("skipped", 1)
    assert game.seat == 2
    assert play(game, "swap")[1:4] == [
        ("swapped", 2, 3, "7d", "9s"),
        ("skipped", 3),
        ("revealed", 0, "5h"),
    ]
    game = table("4c Kh 6s", swapped_turn="lost")
    play(game, "swap")
    assert game.seat == 1


def test_fee_needs_two_tokens_and_keeps_the_card_unseen() -> None:
    game = table("4c 5h Ks 7d", lives=[2, 2, 1, 1], refusal="fee")
    play(game, "swap")
    assert game.legal() == ["accept", "pay"]
    assert play(game, "pay") == [("paid", 1)]
    assert game.lives == [2, 1, 1, 1]
    assert game.known[0] == {0: "4"}
    play(game, "swap")
    assert (game.seat, game.legal()) == (2, ["accept", "show"])
    play(game, "accept")  # a king may be given away
    assert game.cards == {0: "4c", 1: "Ks", 2: "5h", 3: "7d"}


def test_jack_blocks_is_a_choice_under_a_fee() -> None:
    game = table("4c Jh 3s", jack="blocks", refusal="fee")
    play(game, "swap")
    assert game.legal() == ["accept", "show", "pay"]


# --- who pays -------------------------------------------------------------------------


def test_tied_lowest_all_lose_one() -> None:
    game = table("3c 9h 3s 7d")
    events = play(game, "keep keep keep keep")
    assert of(events, "lost") == [("lost", 0, 1), ("lost", 2, 1)]


@pytest.mark.parametrize(
    ("deal", "lost"),
    [
        ("3c 9h 8s 7d", [2, 0, 0, 0]),
        ("3c 9h 3s 7d", [2, 0, 2, 0]),
        ("3c 3h 3s 7d", [3, 3, 3, 0]),
    ],
)
def test_shared_penalty(deal: str, lost: list[int]) -> None:
    game = table(deal, penalty="shared", lives=[5, 5, 5, 5])
    play(game, "keep keep keep keep")
    assert game.lost == lost


def test_shared_penalty_is_capped_at_the_lives_held() -> None:
    game = table("3c 3h 3s 7d", penalty="shared", lives=[5, 1, 2, 4])
    events = play(game, "keep keep keep keep")
    assert of(events, "lost", "out") == [
        ("lost", 0, 3),
        ("lost", 1, 1),
        ("lost", 2, 2),
        ("out", 1),
        ("out", 2),
    ]


def test_pairs_are_safe() -> None:
    game = table("3c 3h 8s 7d", pairs="safe", penalty="shared")
    play(game, "keep keep keep keep")
    assert game.lost == [0, 0, 0, 2]
    game = table("3c 3h 8s 8d", pairs="safe")
    events = play(game, "keep keep keep keep")
    assert of(events, "lost", "out", "final_tie") == []
    assert game.rounds == 1


def test_ties_first_spares_the_two_seat_dealer() -> None:
    game = table("3c 3h", lives=[1, 1], ties="first")
    events = play(game, "keep keep")
    assert events[-3:] == [("lost", 0, 1), ("out", 0), ("won", 1)]
    assert game.payoffs == [-1.0, 1.0]


def test_ties_first_goes_by_turn_order_not_by_seat_number() -> None:
    game = table("3c 3h 3s 7d", dealer=1, ties="first")
    play(game, "keep keep keep keep")
    assert game.lost == [0, 0, 1, 0]


# --- the end --------------------------------------------------------------------------


def test_last_seat_with_a_life_takes_the_pot() -> None:
    game = table("3c 9h", lives=[1, 2, 0], dealer=1, stake=2)
    events = play(game, "keep keep")
    assert events[-3:] == [("lost", 0, 1), ("out", 0), ("won", 1)]
    assert (game.over, game.seat, game.legal()) == (True, -1, [])
    assert game.winners == [1]
    assert game.payoffs == [-2.0, 4.0, -2.0]
    assert game.known[2] == {0: "3", 1: "9"}


def test_final_tie_joint() -> None:
    game = table("3c 3h", lives=[1, 1, 0], dealer=1, staked=[2, 1, 1])
    events = play(game, "keep keep")
    assert events[-3:] == [("final_tie",), ("won", 0), ("won", 1)]
    assert of(events, "out") == []
    assert (game.lives, game.winners) == ([0, 0, 0], [0, 1])
    assert game.payoffs == [0.0, 1.0, -1.0]


def test_final_tie_with_more_than_one_life_each_when_the_penalty_is_shared() -> None:
    game = table("3c 3h", lives=[2, 1], penalty="shared")
    assert play(game, "keep keep")[-3:] == [("final_tie",), ("won", 0), ("won", 1)]
    assert game.lost == [2, 1]


def test_final_tie_replay_keeps_the_lives_but_fees_stay_paid() -> None:
    game = table("3c 3h", lives=[2, 0, 2], final_tie="replay", refusal="fee", penalty="shared")
    events = play(game, "swap pay keep")
    assert events[-3:] == [("lost", 0, 2), ("lost", 2, 1), ("final_tie",)]
    assert game.lives == [2, 0, 1]
    assert (game.over, game.dealer, game.lost) == (False, 0, [2, 0, 1])
    assert of(game.events, "dealt")[-2:] == [("dealt", 0, "2c"), ("dealt", 2, "3c")]


def test_final_tie_cut_again_among_the_equal_highest() -> None:
    game = table(
        "3c 3h 3s",
        lives=[1, 1, 1],
        final_tie="cut",
        ace="high",
        cuts="Ac Ks Ad | 5h 4c",
    )
    events = play(game, "keep keep keep")
    assert events[-7:] == [
        ("final_tie",),
        ("final_cut", 0, "Ac"),
        ("final_cut", 1, "Ks"),
        ("final_cut", 2, "Ad"),
        ("final_cut", 0, "5h"),
        ("final_cut", 2, "4c"),
        ("won", 0),
    ]
    assert (game.winners, game.payoffs) == ([0], [2.0, -1.0, -1.0])
    assert game.lives == [0, 0, 0]


def test_final_tie_carried_with_all_the_original_seats() -> None:
    game = table("3c 3h | 2c 3c 4c", lives=[1, 0, 1], dealer=0, final_tie="carry")
    events = play(game, "keep keep")
    assert events[-2:] == [("final_tie",), ("carried",)]
    assert game.lives == [3, 3, 3]
    assert game.dealer == 1  # out before, but one of the original seats
    assert (game.staked, game.rounds) == ([1, 1, 1], 1)


def test_final_tie_carried_with_a_new_stake() -> None:
    luck = Scripted([["3c", "3h"], ["9c", "3c"]])
    game = Referee(rules(seats=2, lives=1, final_tie="carry_stake"), luck, dealer=1)
    play(game, "keep keep")
    assert (game.staked, game.lives, game.dealer) == ([2, 2], [1, 1], 0)
    events = play(game, "keep keep")
    assert events[-1] == ("won", 0)
    assert (game.payoffs, game.rounds) == ([2.0, -2.0], 2)


def test_truncation_returns_the_stakes() -> None:
    game = table("3c 9h 8s", max_rounds=1)
    events = play(game, "keep keep keep")
    assert events[-2:] == [("lost", 0, 1), ("truncated",)]
    assert (game.over, game.truncated, game.winners) == (True, True, [])
    assert game.payoffs == [0.0, 0.0, 0.0]
    assert game.lives == [2, 3, 3]


def test_a_result_in_the_last_round_beats_truncation() -> None:
    game = table("3c 9h", lives=[1, 1], max_rounds=1)
    assert play(game, "keep keep")[-1] == ("won", 1)
    assert not game.truncated


@pytest.mark.parametrize("final_tie", ["replay", "carry"])
def test_an_undecided_final_tie_in_the_last_round_is_truncated(final_tie: str) -> None:
    game = table("3c 3h", lives=[1, 1], max_rounds=1, final_tie=final_tie)
    game_events = play(game, "keep keep")
    assert game_events[-1] == ("truncated",)
    assert game.payoffs == [0.0, 0.0]


def test_misdeals_do_not_count_as_rounds() -> None:
    game = table("3c 3h 3s | 3c 4h 5s", max_rounds=1)
    game.misdeal()
    assert not game.over
    play(game, "keep keep keep")
    assert (game.over, game.rounds) == (True, 1)


def test_single_round_pays_fees_too() -> None:
    game = table("4c 5h 3s 7d", game="round", refusal="fee", stake=0.5)
    events = play(game, "swap pay keep keep keep")
    assert events[-3:] == [("lost", 2, 1), ("won", 0), ("won", 3)]
    assert of(events, "out") == []
    assert game.payoffs == [0.5, -0.5, -0.5, 0.5]
    assert game.lives == [3, 2, 2, 3]


def test_single_round_without_result_and_seats_that_were_out() -> None:
    game = table("3c 3h", lives=[1, 0, 1], game="round")
    events = play(game, "keep keep")
    assert of(events, "won", "final_tie", "out") == []
    assert (game.over, game.winners, game.payoffs) == (True, [], [0.0, 0.0, 0.0])
    game = table("3c 9h", lives=[1, 0, 1], game="round")
    play(game, "keep keep")
    assert (game.winners, game.payoffs) == ([2], [-1.0, 0.0, 1.0])


def test_single_round_of_safe_pairs_pays_nothing() -> None:
    game = table("3c 3h 3s", game="round", pairs="safe")
    play(game, "keep keep keep")
    assert (game.over, game.winners, game.payoffs) == (True, [], [0.0, 0.0, 0.0])


# --- the first dealer, refused rules and positions ------------------------------------


def test_first_dealer() -> None:
    assert table("3c 4h 5s", lots=[1]).dealer == 1
    assert table("3c 4h 5s", first_dealer=2).dealer == 2
    game = table("3c 4h 5s", first_dealer="cut", cuts="Kc 4h Ks | 9c Ts")
    assert game.events[:6] == [
        ("dealer_cut", 0, "Kc"),
        ("dealer_cut", 1, "4h"),
        ("dealer_cut", 2, "Ks"),
        ("dealer_cut", 0, "9c"),
        ("dealer_cut", 2, "Ts"),
        ("round", 2),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"seats": 1},
        {"seats": 52},
        {"seats": 104, "decks": 2},
        {"lives": 0},
        {"lives": True},
        {"decks": 0},
        {"ace": "middle"},
        {"king": None},
        {"stake": 0},
        {"stake": float("nan")},
        {"first_dealer": 3},
        {"first_dealer": -1},
        {"first_dealer": "Alex"},
        {"max_rounds": 0},
        {"ties": "first", "penalty": "shared"},
        {"ties": "first", "pairs": "safe"},
        {"game": "round", "max_rounds": 5},
    ],
)
def test_refused_rules(changes: Rules) -> None:
    with pytest.raises(ValueError, match=next(iter(changes)) + "|max_rounds"):
        check_rules(rules(**changes))


@pytest.mark.parametrize(
    "changes", [{"seats": 51}, {"seats": 103, "decks": 2}, {"first_dealer": 0}]
)
def test_accepted_rules(changes: Rules) -> None:
    check_rules(rules(**changes))


@pytest.mark.parametrize(
    "position",
    [
        {"dealer": 0, "lives": [1, 0, 0]},
        {"dealer": 0, "lives": [0, 1, 1]},
        {"dealer": 3},
        {"dealer": 0, "lives": [1, 1]},
        {"dealer": 0, "lives": [1, 1, -1]},
        {"lives": [1, 1, 1]},
    ],
)
def test_refused_positions(position: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"lives|staked|dealer|stakes"):
        Referee(rules(), Scripted([["3c", "4c", "5c"]]), **position)


# --- random play ----------------------------------------------------------------------


def random_rules(rng: random.Random) -> Rules:
    """Any rules that are not refused."""
    while True:
        chosen: Rules = {field: rng.choice(values) for field, values in CHOICES.items()}
        chosen["seats"] = rng.choice([2, 2, 3, 3, 4, 5, 7])
        chosen["decks"] = rng.choice([1, 1, 2])
        chosen["lives"] = rng.randint(1, 4)
        chosen["stake"] = rng.choice([1, 2, 0.25])
        chosen["first_dealer"] = rng.choice(["lot", "cut", rng.randrange(chosen["seats"])])
        chosen["max_rounds"] = rng.choice([None, 1, 3, 12])
        try:
            check_rules(chosen)
        except ValueError:
            continue
        return chosen


class FewRanks(RandomLuck):
    """Shuffles of packs in which court cards and aces are common."""

    def _shuffled(self) -> list[str]:
        cards = super()._shuffled()
        return [card for card in cards if card[0] in "A2JQK"] + cards


def check_position(game: Referee) -> None:
    """What holds whenever a seat is to act."""
    seats_in = [seat for seat, lives in enumerate(game.lives) if lives > 0]
    assert min(game.lives) >= 0
    assert game.seat in seats_in
    assert sorted(game.cards) == seats_in
    legal = game.legal()
    assert legal in (
        ["keep"],
        ["keep", "swap"],
        ["accept"],
        ["accept", "show"],
        ["accept", "pay"],
        ["accept", "show", "pay"],
    )
    check_knowledge(game)


def check_knowledge(game: Referee) -> None:
    """What a seat knows is true, and it knows its own card."""
    for viewer, known in game.known.items():
        assert all(game.cards[seat][0] == rank for seat, rank in known.items())
        assert viewer not in game.cards or viewer in known


def check_end(game: Referee) -> None:
    """What holds when the game is over."""
    assert (game.seat, game.legal()) == (-1, [])
    assert sum(game.payoffs) == pytest.approx(0)
    assert min(game.lives) >= 0
    assert [event[1] for event in game.events if event[0] == "won"] == game.winners
    assert game.truncated == (game.events[-1] == ("truncated",))
    if game.truncated or not game.winners:
        assert game.payoffs == [0.0] * game.seats
    everything = {seat: card[0] for seat, card in game.cards.items()}
    assert all(known == everything for known in game.known.values())
    with pytest.raises(ValueError, match="before the first action"):
        game.misdeal()


def check_rounds(game: Referee) -> None:
    """Replay the card events alone: the cards revealed are those that were moved."""
    held: dict[int, str] = {}
    revealed = 0
    for event in game.events:
        if event[0] == "round":
            held = {}
        elif event[0] in ("dealt", "drew"):
            held[event[1]] = event[2]
        elif event[0] == "swapped":
            _, one, other, card, other_card = event
            assert (held[other], held[one]) == (card, other_card)
            held[one], held[other] = card, other_card
        elif event[0] in ("showed", "revealed", "turned_up"):
            assert held[event[1]] == event[2]
            revealed += event[0] == "revealed"
    assert revealed >= 2 * game.rounds


@pytest.mark.parametrize("seed", range(8))
def test_random_play(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        chosen = random_rules(rng)
        luck = rng.choice([RandomLuck, FewRanks])(rng, chosen["decks"])
        game = Referee(chosen, luck)
        keen = rng.random()
        for _ in range(400):
            if game.over:
                break
            check_position(game)
            legal = game.legal()
            game.act(rng.choice(legal) if rng.random() < keen else legal[-1])
        if game.over:
            check_end(game)
        check_rounds(game)


def test_base_rules_show_nothing_but_kings() -> None:
    """Random play of the plain game has no event of a variation."""
    rng = random.Random(99)
    for _ in range(300):
        game = Referee(rules(seats=5), RandomLuck(rng, 1))
        while not game.over:
            game.act(rng.choice(game.legal()))
        shown = of(game.events, "showed", "stock_showed")
        assert all(event[2][0] == "K" for event in shown)
        assert of(game.events, "turned_up", "no_trading", "skipped", "paid") == []
        assert set(RANKS) >= {event[2][0] for event in of(game.events, "dealt")}
