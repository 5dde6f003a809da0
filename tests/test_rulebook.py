"""The rulebook, a test for each of its sentences.

A test's name says which rule or which value of which field it is about, then what is so: for instance
``test_queen_redirects__the_asker_must_ask_its_right_neighbour``. Unless a test says otherwise the last
seat deals, so that seat 0 has the first turn and asks seat 1.
"""

from __future__ import annotations

import doctest
import itertools
import re

import position
import pytest
from differential import Pair
from position import Position

from cuckoo_env.rules import AXES, FIELDS, Rules, RulesError

# --------------------------------------------------------------------------------------
# A round
# --------------------------------------------------------------------------------------


def test_rule_1__ranks_run_from_ace_to_king() -> None:
    order = "A23456789TJQK"
    for lower, higher in itertools.pairwise(order):
        table = Position("kings-traded", f"{higher}c {lower}d")
        table.play("keep keep")
        assert table.losers == [1]


def test_rule_1__suits_never_matter() -> None:
    table = Position("chase-the-ace", "5c 5s 9d")
    table.play("keep keep keep")
    assert table.losers == [0, 1]


def test_rule_1__every_seat_still_in_gets_one_private_card() -> None:
    table = Position("chase-the-ace", "2c -- Td Jh", dealer=0)
    assert table.told == ["round 0", "dealt 0 2c", "dealt 2 Td", "dealt 3 Jh"]
    assert [table.knows(seat) for seat in range(4)] == ["2...", "....", "..T.", "...J"]


def test_rule_2__turns_start_on_the_dealers_left_and_end_with_the_dealer() -> None:
    table = Position("chase-the-ace", "2c 3c 4c 5c", dealer=1)
    seats = []
    while table.rounds == 0:
        seats.append(table.seat)
        table.play("keep")
    assert seats == [2, 3, 0, 1]


def test_rule_2__seats_that_are_out_are_skipped_everywhere() -> None:
    table = Position("chase-the-ace", "2c -- -- 5d 6h --")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 3", "swapped 0 3 5d 2c"]
    assert table.seat == 3


def test_rule_2__the_left_neighbour_of_the_last_seat_is_the_first_seat_in() -> None:
    table = Position("chase-the-ace", "-- 4c 5d 6h", dealer=2)
    table.play("swap")
    assert table.told[-2:] == ["asked 3 1", "swapped 3 1 4c 6h"]


def test_rule_3__a_seat_keeps_or_asks_its_left_neighbour_to_swap() -> None:
    table = Position("chase-the-ace", "2c 9h Jd")
    assert table.legal == "keep swap"
    table.play("swap")
    assert table.hands == "9h 2c Jd"


def test_rule_3__a_king_is_shown_to_all_and_both_keep_their_cards() -> None:
    table = Position("chase-the-ace", "2c Kh Jd")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 1", "showed 1 Kh"]
    assert table.hands == "2c Kh Jd"
    assert [table.knows(seat) for seat in range(3)] == ["2K.", ".K.", ".KJ"]


def test_rule_3__the_turn_of_a_blocked_seat_is_used_up() -> None:
    table = Position("chase-the-ace", "2c Kh Jd")
    table.play("swap")
    assert table.seat == 1


def test_rule_3__a_shown_king_blocks_only_that_attempt() -> None:
    table = Position("chase-the-ace", "2c Kh 3d 4s")
    table.play("swap keep swap")
    assert table.told[-2:] == ["asked 2 3", "swapped 2 3 4s 3d"]


def test_rule_3__the_holder_of_a_king_may_ask_to_swap_it_away() -> None:
    table = Position("chase-the-ace", "Ks 4h 9d")
    assert table.legal == "keep swap"
    table.play("swap")
    assert table.hands == "4h Ks 9d"


def test_rule_3__everyone_can_follow_where_a_shown_king_goes() -> None:
    table = Position("chase-the-ace", "2c Kh 3d 4s")
    table.play("swap swap")
    assert table.hands == "2c 3d Kh 4s"
    assert [table.knows(seat)[2] for seat in range(4)] == list("KKKK")


def test_rule_4__being_made_to_swap_uses_up_nobodys_turn() -> None:
    table = Position("chase-the-ace", "2c 9h Jd")
    table.play("swap")
    assert (table.seat, table.legal) == (1, "keep swap")
    table.play("swap")
    assert table.hands == "9h Jd 2c"


def test_rule_4__keeping_is_no_shield() -> None:
    table = Position("full-rotation", "9c 2h 3d")
    table.play("keep keep swap")
    assert table.revealed == "3d 2h 9c"


def test_rule_5__the_dealer_keeps_or_takes_the_top_of_the_stock() -> None:
    table = Position("chase-the-ace", "5c 4h", stock="Jd")
    table.play("keep")
    assert (table.seat, table.legal) == (1, "keep swap")
    table.play("swap")
    assert "drew 1 Jd" in table.told
    assert table.revealed == "5c Jd"


def test_rule_5__a_king_on_the_stock_is_shown_and_the_dealer_keeps_the_old_card() -> None:
    table = Position("chase-the-ace", "5c 4h", stock="Kd")
    table.play("keep swap")
    assert table.told[4:6] == ["stock_showed 1 Kd", "revealed 0 5c"]
    assert table.revealed == "5c 4h"


def test_rule_5__there_is_no_second_try_at_the_stock() -> None:
    table = Position("chase-the-ace", "5c 4h", stock="Kd")
    table.play("keep swap")
    assert table.rounds == 1


def test_rule_6__every_seat_with_the_lowest_rank_loses_one_life() -> None:
    table = Position("chase-the-ace", "3c 9h 3d", lives=[3, 2, 1])
    table.play("keep keep keep")
    assert (table.lost, table.lives) == ([1, 0, 1], [2, 2, 0])


def test_rule_6__at_zero_lives_a_seat_is_out() -> None:
    table = Position("chase-the-ace", "3c 9h Jd", lives=[1, 3, 3])
    table.play("keep keep keep")
    assert table.told[-1] == "out 0"
    assert table.hands.startswith("-- ")


def test_rule_7__the_deal_passes_to_the_next_seat_still_in_on_the_left() -> None:
    table = Position("chase-the-ace", "3c 9h Jd", lives=[1, 3, 3])
    table.play("keep keep keep")
    assert table.dealer == 1


def test_rule_8__the_last_seat_with_a_life_wins() -> None:
    table = Position("chase-the-ace", "3c 9h", lives=[1, 2])
    table.play("keep keep")
    assert (table.over, table.winners, table.payoffs) == (True, [1], [-1.0, 1.0])


def test_rule_8__a_final_tie_can_happen_with_more_than_one_life() -> None:
    table = Position("chase-the-ace,penalty=shared", "9c 9h", lives=[2, 2])
    table.play("keep keep")
    assert "final_tie" in table.told
    assert table.winners == [0, 1]


def test_rule_9__an_incorrect_deal_is_repeated_without_loss_and_the_dealer_stays() -> None:
    table = Position("chase-the-ace", "3c 9h Jd", lives=[1, 2, 3], then="4c 5c 6c 7c")
    table.redeal()
    assert table.told[4:] == ["misdealt", "round 2", "dealt 0 4c", "dealt 1 5c", "dealt 2 6c"]
    assert (table.lives, table.rounds, table.seat) == ([1, 2, 3], 0, 0)


# --------------------------------------------------------------------------------------
# Who knows what
# --------------------------------------------------------------------------------------


def test_known__the_two_seats_in_a_swap_each_know_both_cards() -> None:
    table = Position("chase-the-ace", "2c 9h Jd")
    table.play("swap")
    assert [table.knows(seat) for seat in range(3)] == ["92.", "92.", "..J"]


def test_known__a_card_that_is_known_is_followed_through_public_swaps() -> None:
    table = Position("chase-the-ace", "2c 9h Jd 5s")
    table.play("swap swap")
    assert table.hands == "9h Jd 2c 5s"
    assert table.knows(0) == "9.2."
    assert table.knows(1) == "9J2."
    assert table.knows(2) == ".J2."
    assert table.knows(3) == "...5"


def test_known__nothing_carries_over_to_the_next_deal() -> None:
    table = Position("chase-the-ace", "2c Kh Jd", then="4c 5c 6c 7c")
    table.play("swap keep keep")
    assert [table.knows(seat) for seat in range(3)] == ["4..", ".5.", "..6"]


def test_known__everything_is_revealed_at_the_end() -> None:
    table = Position("one-round", "2c 9h Jd", stock="4s")
    table.play("keep keep swap")
    assert [table.knows(seat) for seat in range(3)] == ["294"] * 3


# --------------------------------------------------------------------------------------
# seats, lives, decks, stake, first_dealer, max_rounds
# --------------------------------------------------------------------------------------


def test_seats__two_seats_can_play() -> None:
    table = Position("chase-the-ace", "2c 9h")
    table.play("swap")
    assert (table.hands, table.seat) == ("9h 2c", 1)


def test_seats__one_pack_seats_fifty_one_and_no_more() -> None:
    assert Rules(seats=51, decks=1).seats == 51
    with pytest.raises(RulesError, match=r"^seats: 52 is refused; accepted: 2 to 51 with decks=1$"):
        Rules(seats=52, decks=1)


def test_lives__everybody_starts_with_so_many() -> None:
    table = Position("chase-the-ace,lives=7,first_dealer=cut", "2c 9h", dealer_cut="3c 9c")
    assert table.lives == [7, 7]


def test_decks__one_pack_up_to_26_seats_and_then_one_for_every_26() -> None:
    seats = (2, 26, 27, 52, 53, 78, 79)
    assert [Rules(seats=number).decks for number in seats] == [1, 1, 2, 2, 3, 3, 4]


def test_decks__the_same_card_can_be_dealt_from_two_packs() -> None:
    table = Position("chase-the-ace,decks=2", "5c 5c 9d")
    table.play("keep keep keep")
    assert table.losers == [0, 1]


def test_stake__the_winner_takes_every_seats_stake() -> None:
    table = Position("chase-the-ace,stake=2.5", "3c 9h --", lives=[1, 1, 0])
    table.play("keep keep")
    assert table.payoffs == [-2.5, 5.0, -2.5]


def test_first_dealer_lot__chance_names_the_first_dealer() -> None:
    rules = Rules.parse("chase-the-ace,first_dealer=lot,seats=4")
    dealers = [Pair(rules, generator=(chance, 1)).referee.dealer for chance in range(400)]
    assert all(dealers.count(seat) > 60 for seat in range(4))


def test_first_dealer_cut__the_highest_card_deals() -> None:
    table = Position("standard", "2c 3c 4c", dealer_cut="5c Kd 9h")
    assert table.told[:4] == ["dealer_cut 0 5c", "dealer_cut 1 Kd", "dealer_cut 2 9h", "round 1"]


def test_first_dealer_cut__equal_highest_cut_again() -> None:
    table = Position("standard", "2c 3c 4c", dealer_cut="Qc 5d Qh 3c 8d")
    assert table.told[3:6] == ["dealer_cut 0 3c", "dealer_cut 2 8d", "round 2"]


def test_first_dealer_cut__an_ace_is_high_where_aces_are() -> None:
    assert Position("aces-high", "2c 3c", dealer_cut="Ac Kd").dealer == 0
    assert Position("standard", "2c 3c", dealer_cut="Ac Kd").dealer == 1


def test_first_dealer_seat__that_seat_deals_first() -> None:
    table = Position("chase-the-ace,first_dealer=1", "3c 4h 5d", dealer_cut="")
    assert (table.dealer, table.seat) == (1, 2)


def test_max_rounds_none__the_game_goes_on() -> None:
    table = Position("kings-traded,pairs=safe", "3c 3h")
    table.play("keep keep")
    assert (table.over, table.rounds) == (False, 1)


def test_max_rounds__the_game_is_truncated_and_the_stakes_go_back() -> None:
    table = Position("chase-the-ace,max_rounds=1", "3c 9h")
    table.play("keep keep")
    assert table.told[-1] == "truncated"
    assert (table.over, table.winners, table.payoffs) == (True, [], [0.0, 0.0])


def test_max_rounds__a_result_in_the_last_round_beats_truncation() -> None:
    table = Position("chase-the-ace,max_rounds=1", "3c 9h", lives=[1, 1])
    table.play("keep keep")
    assert (table.winners, table.told[-1]) == ([1], "won 1")


def test_max_rounds__misdeals_are_not_counted() -> None:
    table = Position("chase-the-ace,max_rounds=1", "3c 9h", then="4c 5c 6c")
    table.redeal()
    assert (table.over, table.rounds) == (False, 0)


def test_max_rounds__carried_games_count_on() -> None:
    rules = "chase-the-ace,lives=1,final_tie=carry,max_rounds=2"
    table = Position(rules, "3c 3h", then="4c 4d 5c")
    table.play("keep keep")
    assert (table.over, table.rounds) == (False, 1)
    table.play("keep keep")
    assert table.told[-2:] == ["carried", "truncated"]


# --------------------------------------------------------------------------------------
# ace
# --------------------------------------------------------------------------------------


def test_ace_low__the_ace_is_the_lowest() -> None:
    table = Position("chase-the-ace,ace=low", "Ac 2h Kd")
    table.play("keep keep keep")
    assert table.losers == [0]


def test_ace_high__the_two_is_the_lowest_and_the_ace_above_the_king() -> None:
    table = Position("aces-high", "Ac 2h Kd")
    table.play("keep keep keep")
    assert table.losers == [1]
    table = Position("aces-high", "Ac Kd")
    table.play("keep keep")
    assert table.losers == [1]


def test_ace_high__kings_still_block_and_aces_do_not() -> None:
    table = Position("aces-high", "2c Ah Kd")
    table.play("swap swap")
    assert table.told[-4:] == ["asked 0 1", "swapped 0 1 Ah 2c", "asked 1 2", "showed 2 Kd"]


# --------------------------------------------------------------------------------------
# king
# --------------------------------------------------------------------------------------


def test_king_blocks__an_asked_king_is_shown() -> None:
    table = Position("chase-the-ace,king=blocks", "2c Kh")
    table.play("swap")
    assert table.told[-1] == "showed 1 Kh"
    assert table.hands == "2c Kh"


def test_king_plain__a_king_is_swapped_like_any_card() -> None:
    table = Position("king-variation-1", "2c Kh")
    table.play("swap")
    assert table.hands == "Kh 2c"


def test_king_plain__the_dealer_may_take_a_king_from_the_stock() -> None:
    for rules in ("king-variation-1", "kings-traded", "jack-rule"):
        table = Position(rules, "5c 4h", stock="Kd")
        table.play("keep swap")
        assert table.revealed == "5c Kd"


def test_king_ends_trading__the_first_king_shown_leads_straight_to_the_reveal() -> None:
    table = Position("king-variation-2", "2c Kh 3d 4s")
    table.play("swap")
    assert table.told[5:8] == ["asked 0 1", "showed 1 Kh", "no_trading"]
    assert table.revealed == "2c Kh 3d 4s"


def test_king_ends_trading__also_when_reached_by_a_queens_redirect() -> None:
    table = Position("king-variation-2,queen=redirects", "2c Qh 5d Ks")
    table.play("swap")
    assert table.told[5:10] == [
        "asked 0 1",
        "showed 1 Qh",
        "asked 0 3",
        "showed 3 Ks",
        "no_trading",
    ]
    assert table.rounds == 1


def test_king_ends_trading__a_king_on_the_stock_still_blocks_the_dealer() -> None:
    table = Position("kings-stop-trading", "5c 4h", stock="Kd")
    table.play("keep swap")
    assert "stock_showed 1 Kd" in table.told
    assert "no_trading" not in table.told
    assert table.revealed == "5c 4h"


def test_king_stops_deal__dealt_kings_are_turned_up_and_nobody_trades() -> None:
    table = Position("kings-face-up", "2c Kh 3d")
    assert table.told[4:] == ["turned_up 1 Kh", "no_trading"]
    assert [table.knows(seat)[1] for seat in range(3)] == list("KKK")


def test_king_stops_deal__each_seat_gets_a_turn_in_which_it_may_only_keep() -> None:
    table = Position("kings-face-up", "2c Kh 3d")
    for seat in (0, 1, 2):
        assert (table.seat, table.legal) == (seat, "keep")
        table.play("keep")
    assert table.losers == [0]


def test_king_stops_deal__with_no_king_dealt_play_is_normal_and_a_stock_king_blocks() -> None:
    table = Position("kings-face-up", "2c 5h", stock="Kd")
    table.play("swap swap")
    assert table.told[3:6] == ["asked 0 1", "swapped 0 1 5h 2c", "stock_showed 1 Kd"]
    assert table.losers == [1]


def test_king_open__dealt_kings_are_turned_up_and_all_others_play_on() -> None:
    table = Position("open-kings", "2c 5h Kd 4s")
    assert table.told[5:] == ["turned_up 2 Kd"]
    table.play("swap")
    assert table.hands == "5h 2c Kd 4s"


def test_king_open__its_holder_may_only_keep() -> None:
    table = Position("open-kings", "Kc 5h 4s")
    assert table.legal == "keep"


def test_king_open__the_dealer_with_a_king_may_only_keep() -> None:
    table = Position("open-kings", "4s 5h Kc")
    table.play("keep keep")
    assert (table.seat, table.legal) == (2, "keep")


def test_king_open__a_request_is_blocked_by_force_without_a_response_turn() -> None:
    table = Position("open-kings,refusal=fee", "2c Kh 4s")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 1", "showed 1 Kh"]
    assert (table.seat, table.legal) == (1, "keep")


def test_king_open__a_stock_king_blocks() -> None:
    table = Position("open-kings", "5c 4h", stock="Kd")
    table.play("keep swap")
    assert table.revealed == "5c 4h"


# --------------------------------------------------------------------------------------
# queen
# --------------------------------------------------------------------------------------


def test_queen_plain__a_queen_is_swapped_like_any_card() -> None:
    table = Position("chase-the-ace,queen=plain", "2c Qh 4d")
    table.play("swap")
    assert table.hands == "Qh 2c 4d"


def test_queen_redirects__an_asked_queen_is_shown_and_does_not_swap() -> None:
    table = Position("queen-rule", "2c Qh 4d")
    table.play("swap")
    assert table.told[4:6] == ["asked 0 1", "showed 1 Qh"]
    assert table.hands.split()[1] == "Qh"
    assert [table.knows(seat)[1] for seat in range(3)] == list("QQQ")


def test_queen_redirects__the_asker_must_ask_its_right_neighbour() -> None:
    table = Position("queen-rule", "2c Qh 4d 9s")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 3", "swapped 0 3 9s 2c"]


def test_queen_redirects__two_queens_are_shown_and_nobody_swaps() -> None:
    table = Position("queen-rule", "2c Qh 4d Qs")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 3", "showed 3 Qs"]
    assert (table.hands, table.seat) == ("2c Qh 4d Qs", 1)


def test_queen_redirects__a_king_on_the_right_blocks_as_usual() -> None:
    table = Position("queens-redirect", "2c Qh 4d Ks")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 3", "showed 3 Ks"]
    assert table.hands == "2c Qh 4d Ks"


def test_queen_redirects__a_jack_on_the_right_blocks_where_jacks_block() -> None:
    table = Position("queens-redirect,jack=blocks", "2c Qh 4d Js")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 3", "showed 3 Js"]
    assert table.hands == "2c Qh 4d Js"


def test_queen_redirects__never_to_a_third_seat() -> None:
    table = Position("queen-rule", "2c Qh 4d 5s Qd")
    table.play("swap")
    assert sum(line.startswith("asked") for line in table.told) == 2
    assert table.seat == 1


def test_queen_redirects__with_two_seats_in_there_is_no_swap() -> None:
    table = Position("queen-rule", "2c Qh", stock="7d")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 1", "showed 1 Qh"]
    assert (table.hands, table.seat) == ("2c Qh", 1)


def test_queen_redirects__with_two_of_four_seats_in_there_is_no_swap() -> None:
    table = Position("queen-rule", "-- 2c -- Qh")
    table.play("swap")
    assert table.told[-2:] == ["asked 1 3", "showed 3 Qh"]
    assert table.hands == "-- 2c -- Qh"


def test_queen_redirects__a_stock_queen_is_shown_and_the_dealer_asks_its_right() -> None:
    table = Position("queen-rule", "5c 9h 4d", stock="Qd")
    table.play("keep keep swap")
    assert table.told[6:9] == ["stock_showed 2 Qd", "asked 2 1", "swapped 2 1 9h 4d"]
    assert table.revealed == "5c 4d 9h"


def test_queen_redirects__a_stock_queen_with_two_seats_in_asks_the_other() -> None:
    table = Position("queen-rule", "9c 4h", stock="Qd")
    table.play("keep swap")
    assert table.told[4:7] == ["stock_showed 1 Qd", "asked 1 0", "swapped 1 0 9c 4h"]
    assert table.revealed == "4h 9c"


def test_queen_redirects__after_a_stock_queen_a_second_queen_ends_it() -> None:
    table = Position("queen-rule", "5c Qh 4d", stock="Qd")
    table.play("keep keep swap")
    assert table.told[6:9] == ["stock_showed 2 Qd", "asked 2 1", "showed 1 Qh"]
    assert table.revealed == "5c Qh 4d"


def test_queen_redirects__after_a_stock_queen_a_king_blocks() -> None:
    table = Position("queen-rule", "5c Kh 4d", stock="Qd")
    table.play("keep keep swap")
    assert table.told[7:9] == ["asked 2 1", "showed 1 Kh"]
    assert table.losers == [2]


def test_queen_redirects__the_turn_does_not_change_direction() -> None:
    table = Position("queen-rule", "2c Qh 4d 9s")
    table.play("swap keep")
    assert table.seat == 2


# --------------------------------------------------------------------------------------
# jack
# --------------------------------------------------------------------------------------


def test_jack_plain__a_jack_is_swapped_like_any_card() -> None:
    table = Position("chase-the-ace,jack=plain", "2c Jh")
    table.play("swap")
    assert table.hands == "Jh 2c"


def test_jack_blocks__an_asked_jack_is_shown_and_blocks() -> None:
    table = Position("jacks-block", "2c Jh 4d")
    table.play("swap")
    assert table.told[-2:] == ["asked 0 1", "showed 1 Jh"]
    assert table.hands == "2c Jh 4d"


def test_jack_blocks__besides_whatever_kings_do() -> None:
    table = Position("jacks-block", "2c Kh 4d")
    table.play("swap")
    assert table.told[-1] == "showed 1 Kh"
    table = Position("jacks-block,king=plain", "2c Kh Jd")
    table.play("swap swap")
    assert table.hands == "Kh 2c Jd"


def test_jack_blocks__a_jack_on_the_stock_has_no_power() -> None:
    table = Position("jacks-block", "5c 4h", stock="Jd")
    table.play("keep swap")
    assert table.revealed == "5c Jd"


def test_jack_blocks__a_shown_jack_never_ends_trading() -> None:
    table = Position("jacks-block,king=ends_trading", "2c Jh 4d")
    table.play("swap")
    assert (table.seat, table.legal) == (1, "keep swap")


def test_jack_may_block__showing_is_the_holders_choice() -> None:
    table = Position("jack-rule", "2c Jh 4d")
    table.play("swap")
    assert (table.seat, table.legal) == (1, "accept show")
    table.play("show")
    assert (table.hands, table.told[-1]) == ("2c Jh 4d", "showed 1 Jh")


def test_jack_may_block__or_the_jack_is_given_away() -> None:
    table = Position("jack-rule", "2c Jh 4d")
    table.play("swap accept")
    assert table.hands == "Jh 2c 4d"


def test_jack_may_block__every_asked_seat_gets_a_response_turn() -> None:
    table = Position("jack-rule", "2c 9h 4d")
    table.play("swap")
    assert (table.seat, table.legal) == (1, "accept")


def test_jack_may_block__kings_lose_their_power_in_the_jack_rule() -> None:
    table = Position("jack-rule", "2c Kh 4d")
    table.play("swap")
    assert table.legal == "accept"


def test_jack_may_block__kings_that_block_do_so_by_force() -> None:
    table = Position("jack-rule,king=blocks", "2c Kh 4d")
    table.play("swap")
    assert table.told[-1] == "showed 1 Kh"
    assert (table.seat, table.legal) == (1, "keep swap")


def test_jack_may_block__a_queen_redirects_before_anybody_responds() -> None:
    table = Position("jack-rule,queen=redirects", "2c Qh 4d Js")
    table.play("swap")
    assert table.told[-3:] == ["asked 0 1", "showed 1 Qh", "asked 0 3"]
    assert (table.seat, table.legal) == (3, "accept show")


def test_jack_may_block__after_a_stock_queen_the_asked_seat_responds() -> None:
    table = Position("jack-rule,queen=redirects", "5c Jh", stock="Qd", dealer=0)
    table.play("keep swap")
    assert (table.seat, table.legal) == (1, "accept show")


# --------------------------------------------------------------------------------------
# dealer
# --------------------------------------------------------------------------------------


def test_dealer_stock__the_dealer_asks_nobody() -> None:
    table = Position("chase-the-ace,dealer=stock", "5c 9h 4d", stock="8s")
    table.play("keep keep swap")
    assert table.revealed == "5c 9h 8s"


def test_dealer_rotation__the_dealer_asks_the_first_seat() -> None:
    table = Position("full-rotation", "9c 5h 4d", stock="8s")
    table.play("keep keep swap")
    assert table.told[6:8] == ["asked 2 0", "swapped 2 0 9c 4d"]
    assert table.revealed == "4d 5h 9c"


def test_dealer_rotation__under_the_same_blocking_rules() -> None:
    table = Position("full-rotation", "Kc 5h 4d")
    table.play("keep keep swap")
    assert table.told[6:8] == ["asked 2 0", "showed 0 Kc"]


def test_dealer_rotation__a_dealer_who_was_made_to_swap_may_only_keep() -> None:
    table = Position("full-rotation", "9c 5h 6d")
    table.play("keep swap")
    assert (table.seat, table.legal) == (2, "keep")


def test_dealer_rotation__where_swapped_turns_are_lost_it_has_no_turn_at_all() -> None:
    table = Position("full-rotation,swapped_turn=lost", "9c 5h 6d")
    table.play("keep swap")
    assert "skipped 2" in table.told
    assert table.rounds == 1


def test_dealer_rotation__a_dealer_who_blocked_may_still_ask() -> None:
    table = Position("full-rotation", "9c 5h Kd")
    table.play("keep swap")
    assert (table.seat, table.legal) == (2, "keep swap")


def test_dealer_rotation__with_two_seats_the_dealer_asks_the_other() -> None:
    table = Position("full-rotation", "9c 5h")
    table.play("keep swap")
    assert table.told[4:6] == ["asked 1 0", "swapped 1 0 9c 5h"]
    assert table.revealed == "5h 9c"


def test_dealer_rotation__with_two_seats_a_dealer_made_to_swap_may_only_keep() -> None:
    table = Position("full-rotation", "2c 5h")
    table.play("swap")
    assert (table.seat, table.legal) == (1, "keep")


def test_dealer_rotation__the_lowest_loses_as_everywhere_else() -> None:
    table = Position("full-rotation", "9c 5h 4d")
    table.play("keep keep keep")
    assert table.losers == [2]


# --------------------------------------------------------------------------------------
# swapped_turn
# --------------------------------------------------------------------------------------


def test_swapped_turn_kept__a_seat_made_to_swap_has_its_turn() -> None:
    table = Position("chase-the-ace,swapped_turn=kept", "2c 9h 4d")
    table.play("swap")
    assert (table.seat, table.legal) == (1, "keep swap")


def test_swapped_turn_lost__a_seat_made_to_swap_loses_its_turn() -> None:
    table = Position("alternate-exchange", "2c 9h 4d")
    table.play("swap")
    assert (table.told[-1], table.seat) == ("skipped 1", 2)


def test_swapped_turn_lost__the_dealer_included() -> None:
    table = Position("alternate-exchange", "5c 2h 4d")
    table.play("keep swap")
    assert table.told[7] == "skipped 2"
    assert table.rounds == 1


def test_swapped_turn_lost__a_seat_that_blocked_does_not_lose_it() -> None:
    table = Position("alternate-exchange", "2c Kh 4d")
    table.play("swap")
    assert table.seat == 1


def test_swapped_turn_lost__after_a_redirect_it_is_the_seat_actually_swapped() -> None:
    table = Position("alternate-exchange,queen=redirects", "2c Qh 4d 9s")
    table.play("swap keep keep")
    assert table.told[5:9] == ["asked 0 1", "showed 1 Qh", "asked 0 3", "swapped 0 3 9s 2c"]
    assert table.told[9:12] == ["kept 1", "kept 2", "skipped 3"]


def test_swapped_turn_lost__a_turn_already_taken_is_not_missed() -> None:
    table = Position("alternate-exchange,queen=redirects", "2c 9h Qd 4s")
    table.play("keep swap keep keep")
    assert "swapped 1 0 2c 9h" in table.told
    assert not any(line.startswith("skipped") for line in table.told)


def test_swapped_turn_lost__with_two_seats_the_dealer_made_to_swap_has_no_turn() -> None:
    table = Position("alternate-exchange", "2c 9h")
    table.play("swap")
    assert table.told[3:6] == ["asked 0 1", "swapped 0 1 9h 2c", "skipped 1"]
    assert table.losers == [1]


def test_swapped_turn_lost__a_seat_that_paid_keeps_its_turn() -> None:
    table = Position("onesies,swapped_turn=lost", "2c 9h 4d")
    table.play("swap pay")
    assert (table.seat, table.legal) == (1, "keep swap")


# --------------------------------------------------------------------------------------
# refusal
# --------------------------------------------------------------------------------------


def test_refusal_none__an_asked_seat_must_swap() -> None:
    table = Position("chase-the-ace,refusal=none", "2c 9h 4d")
    table.play("swap")
    assert table.hands == "9h 2c 4d"


def test_refusal_fee__an_asked_seat_may_pay_one_token_and_keep_its_card_unseen() -> None:
    table = Position("onesies", "2c 9h 4d", lives=[5, 4, 3])
    table.play("swap")
    assert (table.seat, table.legal) == (1, "accept pay")
    table.play("pay")
    assert (table.lives, table.hands, table.told[-1]) == ([5, 3, 3], "2c 9h 4d", "paid 1")
    assert table.knows(0) == "2.."


def test_refusal_fee__it_needs_at_least_two_tokens() -> None:
    table = Position("onesies", "2c 9h 4d", lives=[5, 1, 3])
    table.play("swap")
    assert table.legal == "accept"


def test_refusal_fee__it_may_show_a_king_and_pay_nothing() -> None:
    table = Position("onesies", "2c Kh 4d")
    table.play("swap")
    assert table.legal == "accept show pay"
    table.play("show")
    assert (table.lives, table.told[-1]) == ([5, 5, 5], "showed 1 Kh")


def test_refusal_fee__a_king_can_be_given_away() -> None:
    table = Position("onesies", "2c Kh 4d")
    table.play("swap accept")
    assert table.hands == "Kh 2c 4d"


@pytest.mark.parametrize("jack", ["blocks", "may_block"])
def test_refusal_fee__a_jack_can_be_shown_where_jacks_block(jack: str) -> None:
    table = Position(f"onesies,jack={jack}", "2c Jh 4d")
    table.play("swap")
    assert table.legal == "accept show pay"


def test_refusal_fee__a_king_shown_by_choice_ends_trading_too() -> None:
    table = Position("onesies,king=ends_trading", "2c Kh 4d")
    table.play("swap show")
    assert table.told[4:7] == ["asked 0 1", "showed 1 Kh", "no_trading"]
    assert table.rounds == 1


def test_refusal_fee__after_a_redirect_the_newly_asked_seat_responds() -> None:
    table = Position("onesies,queen=redirects", "2c Qh 4d 9s")
    table.play("swap")
    assert (table.seat, table.legal) == (3, "accept pay")
    table.play("pay")
    assert table.lives == [5, 5, 5, 4]


def test_refusal_fee__the_last_fee_can_be_followed_by_the_loss_of_the_rest() -> None:
    table = Position("onesies", "9c 3h", lives=[3, 2])
    table.play("swap pay keep")
    assert (table.lost, table.lives, table.winners) == ([0, 1], [3, 0], [0])


# --------------------------------------------------------------------------------------
# penalty
# --------------------------------------------------------------------------------------


def test_penalty_one__the_lowest_pays_one() -> None:
    table = Position("chase-the-ace,penalty=one", "2c 9h 4d")
    table.play("keep keep keep")
    assert table.lost == [1, 0, 0]


def test_penalty_shared__a_sole_lowest_pays_two() -> None:
    table = Position("onesies", "2c 9h 4d")
    table.play("keep keep keep")
    assert (table.lost, table.lives) == ([2, 0, 0], [3, 5, 5])


@pytest.mark.parametrize(("deal", "lost"), [("2c 2h 4d", [2, 2, 0]), ("2c 2h 2d", [3, 3, 3])])
def test_penalty_shared__k_tied_lowest_pay_k_each(deal: str, lost: list[int]) -> None:
    table = Position("onesies", deal)
    table.play("keep keep keep")
    assert table.lost == lost


def test_penalty_shared__never_below_zero() -> None:
    table = Position("onesies", "2c 2h 4d 2s", lives=[1, 2, 3, 4])
    table.play("keep keep keep keep")
    assert (table.lost, table.lives) == ([1, 2, 0, 3], [0, 0, 3, 1])


# --------------------------------------------------------------------------------------
# pairs
# --------------------------------------------------------------------------------------


def test_pairs_count__a_pair_of_the_lowest_loses() -> None:
    table = Position("chase-the-ace,pairs=count", "2c 2h 4d")
    table.play("keep keep keep")
    assert table.losers == [0, 1]


def test_pairs_safe__the_lowest_rank_held_by_exactly_one_seat_loses() -> None:
    table = Position("pairs-safe", "2c 2h 9d 4s")
    table.play("keep keep keep keep")
    assert table.losers == [3]


def test_pairs_safe__three_of_a_rank_are_safe_too() -> None:
    table = Position("pairs-safe", "2c 2h 2d 4s")
    table.play("keep keep keep keep")
    assert table.losers == [3]


def test_pairs_safe__if_there_is_none_nobody_loses() -> None:
    table = Position("pairs-safe", "2c 2h 9d 9s")
    table.play("keep keep keep keep")
    assert (table.losers, table.rounds, table.over) == ([], 1, False)


def test_pairs_safe__with_a_shared_penalty_the_sole_loser_pays_two() -> None:
    table = Position("pairs-safe,penalty=shared", "2c 2h 9d 4s")
    table.play("keep keep keep keep")
    assert table.lost == [0, 0, 0, 2]


# --------------------------------------------------------------------------------------
# ties
# --------------------------------------------------------------------------------------


def test_ties_all__every_tied_lowest_pays() -> None:
    table = Position("chase-the-ace,ties=all", "2c 2h 4d")
    table.play("keep keep keep")
    assert table.losers == [0, 1]


def test_ties_first__only_the_earliest_in_turn_order_pays() -> None:
    table = Position("chase-the-ace,ties=first", "2c 4h 2d", dealer=1)
    table.play("keep keep keep")
    assert table.losers == [2]


def test_ties_first__a_two_seat_dealer_wins_ties() -> None:
    table = Position("le-her", "7c 7h")
    table.play("keep keep")
    assert (table.losers, table.winners) == ([0], [1])


# --------------------------------------------------------------------------------------
# final_tie
# --------------------------------------------------------------------------------------


def test_final_tie_joint__all_still_in_share_the_pot_equally() -> None:
    table = Position("chase-the-ace", "3c 3h --", lives=[1, 1, 0])
    table.play("keep keep")
    assert (table.winners, table.payoffs) == ([0, 1], [0.5, 0.5, -1.0])


def test_final_tie_replay__they_keep_the_lives_they_had_and_the_deal_moves_on() -> None:
    table = Position("standard", "3c 3h --", lives=[1, 1, 0])
    table.play("keep keep")
    assert (table.lost, table.lives, table.dealer) == ([1, 1, 0], [1, 1, 0], 0)
    assert not table.over


def test_final_tie_replay__fees_paid_stay_paid() -> None:
    table = Position("standard,refusal=fee", "3c 3h", lives=[1, 2])
    table.play("swap pay keep")
    assert "final_tie" in table.told
    assert table.lives == [1, 1]


def test_final_tie_cut__each_draws_a_card_and_the_highest_takes_the_pot() -> None:
    table = Position("chase-the-ace,final_tie=cut", "3c 3h --", lives=[1, 1, 0], then="5d 9d")
    table.play("keep keep")
    assert table.told[-3:] == ["final_cut 0 5d", "final_cut 1 9d", "won 1"]
    assert table.payoffs == [-1.0, 2.0, -1.0]


def test_final_tie_cut__ranks_are_by_ace() -> None:
    for ace, winner in (("low", 1), ("high", 0)):
        rules = f"chase-the-ace,final_tie=cut,ace={ace}"
        table = Position(rules, "3c 3h", lives=[1, 1], then="Ad 9d")
        table.play("keep keep")
        assert table.winners == [winner]


def test_final_tie_cut__those_equal_highest_cut_again_from_a_fresh_set() -> None:
    rules = "chase-the-ace,final_tie=cut"
    table = Position(rules, "3c 3h 3d", lives=[1, 1, 1], then="5d 9d 9c 9d 2c")
    table.play("keep keep keep")
    cuts = ["0 5d", "1 9d", "2 9c", "1 9d", "2 2c"]
    assert table.told[-6:] == [*(f"final_cut {cut}" for cut in cuts), "won 1"]


def test_final_tie_carry_stake__a_new_game_with_a_new_stake_from_each() -> None:
    rules = "chase-the-ace,final_tie=carry_stake"
    table = Position(rules, "3c 3h --", lives=[1, 1, 0])
    table.play("keep keep")
    assert table.told[-2:] == ["final_tie", "carried"]
    assert (table.lives, table.staked) == ([3, 3, 3], [2, 2, 2])


def test_final_tie_carry__a_new_game_without_a_new_stake() -> None:
    table = Position("chase-the-ace,final_tie=carry", "3c 3h --", lives=[1, 1, 0])
    table.play("keep keep")
    assert (table.lives, table.staked) == ([3, 3, 3], [1, 1, 1])


def test_final_tie_carry__the_deal_moves_on_to_the_next_of_all_the_original_seats() -> None:
    table = Position("chase-the-ace,final_tie=carry", "3c 3h --", lives=[1, 1, 0])
    table.play("keep keep")
    assert table.dealer == 2


def test_final_tie_carry__the_pot_is_carried_over() -> None:
    table = Position("chase-the-ace,final_tie=carry_stake", "3c 9h", lives=[1, 1], staked=[3, 3])
    table.play("keep keep")
    assert table.payoffs == [-3.0, 3.0]


# --------------------------------------------------------------------------------------
# direction
# --------------------------------------------------------------------------------------


def test_direction_left__the_left_neighbour_has_the_next_number() -> None:
    table = Position("chase-the-ace,direction=left", "2c 9h 4d")
    table.play("swap")
    assert (table.told[-1], table.seat) == ("swapped 0 1 9h 2c", 1)


def test_direction_right__turns_and_requests_go_to_the_seat_before() -> None:
    table = Position("chase-the-ace,direction=right", "2c 9h 4d", dealer=0)
    assert table.seat == 2
    table.play("swap")
    assert (table.told[-1], table.seat) == ("swapped 2 1 9h 4d", 1)


def test_direction_right__the_deal_passes_that_way_too() -> None:
    table = Position("chase-the-ace,direction=right", "2c 9h 4d", dealer=0)
    table.play("keep keep keep")
    assert table.dealer == 2


def test_direction_right__a_queen_redirects_to_the_other_side() -> None:
    table = Position("queens-redirect,direction=right", "9c 4d Qh 2s", dealer=0)
    table.play("swap")
    assert table.told[-2:] == ["asked 3 0", "swapped 3 0 9c 2s"]


def test_direction_right__the_first_of_the_tied_is_first_in_turn_order() -> None:
    table = Position("chase-the-ace,direction=right,ties=first", "9c 2d 2h", dealer=0)
    table.play("keep keep keep")
    assert table.losers == [2]


# --------------------------------------------------------------------------------------
# game
# --------------------------------------------------------------------------------------


def test_game_match__the_game_goes_on_until_one_seat_is_left() -> None:
    table = Position("chase-the-ace,game=match", "2c 9h")
    table.play("keep keep")
    assert not table.over


def test_game_round__each_seat_pays_a_stake_for_every_life_it_loses() -> None:
    table = Position("one-round,stake=2", "2c 9h 4d")
    table.play("keep keep keep")
    assert (table.over, table.winners, table.payoffs) == (True, [1, 2], [-2.0, 1.0, 1.0])


def test_game_round__fees_included() -> None:
    table = Position("one-round,refusal=fee,penalty=shared", "9c 4h Jd")
    table.play("swap pay keep keep")
    assert (table.lives, table.payoffs) == ([3, 0, 3], [1.5, -3.0, 1.5])


def test_game_round__a_seat_that_only_paid_a_fee_does_not_win() -> None:
    table = Position("one-round,refusal=fee", "4c 9h Jd")
    table.play("swap pay keep keep")
    assert (table.winners, table.payoffs) == ([2], [-1.0, -1.0, 2.0])


def test_game_round__if_all_lose_some_nobody_pays_and_nobody_wins() -> None:
    table = Position("one-round", "4c 4h")
    table.play("keep keep")
    assert (table.over, table.winners, table.payoffs) == (True, [], [0.0, 0.0])


def test_game_round__if_all_lose_none_nobody_pays_and_nobody_wins() -> None:
    table = Position("one-round,pairs=safe", "4c 4h")
    table.play("keep keep")
    assert (table.over, table.winners, table.payoffs) == (True, [], [0.0, 0.0])


# --------------------------------------------------------------------------------------
# Is everything here?
# --------------------------------------------------------------------------------------

CELLS = [f"{axis}_{value}" for axis, values in AXES.items() for value in values] + [
    *(name for name in FIELDS if name not in {*AXES, "first_dealer"}),
    *(f"first_dealer_{way}" for way in ("lot", "cut", "seat")),
    *(f"rule_{number}" for number in range(1, 10)),
]


@pytest.mark.parametrize("cell", CELLS)
def test_every_rule_and_every_value_of_every_field_has_a_test(cell: str) -> None:
    assert any(re.match(f"test_{cell}__", name) for name in globals())


def test_the_example_of_a_hand_made_position_is_true() -> None:
    results = doctest.testmod(position)
    assert (results.failed, results.attempted > 0) == (0, True)
