"""The lessons show what they promise, from real events, and hide what the learner may not see."""

from __future__ import annotations

import doctest
import json
from typing import Any

import pytest

from cuckoo_env import events
from cuckoo_env.cards import card_symbol, parse_card
from cuckoo_env.play import lessons as told_here
from cuckoo_env.play.lessons import LEARNER, LESSONS, NAMES, RULES, Scene, lesson, lessons


def steps(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lesson(name)["steps"]
    return found


def kinds(name: str) -> list[str]:
    return [step["event"] for step in steps(name) if step["event"]]


def asked(name: str) -> list[dict[str, Any]]:
    return [step for step in steps(name) if "ask" in step]


def test_the_list_names_every_lesson_and_each_can_be_had() -> None:
    assert [each["id"] for each in lessons()] == list(LESSONS)
    for each in lessons():
        told = lesson(each["id"])
        assert (told["title"], told["intro"]) == (each["title"], each["intro"])
        assert json.loads(json.dumps(told)) == told
        assert lesson(each["id"]) == told


@pytest.mark.parametrize("name", LESSONS)
def test_every_step_says_something_and_shows_the_table(name: str) -> None:
    players = lesson(name)["players"]
    assert [player["name"] for player in players] == list(NAMES)
    assert [player["seat"] for player in players if player["you"]] == [LEARNER]
    for step in steps(name):
        assert step["text"].strip()
        assert "Seat " not in step["text"]
        assert len(step["view"]["seats"]) == RULES.seats
        assert step["event"] is None or step["event"] in events.KIND_OF


@pytest.mark.parametrize("name", LESSONS)
def test_a_question_has_an_answer_for_every_legal_action(name: str) -> None:
    for step in asked(name):
        assert list(step["answers"]) == step["legal"]
        assert step["view"]["acts"] == LEARNER
        assert len(set(step["answers"].values())) == len(step["legal"])
        assert all("Played out: You reveal" in answer for answer in step["answers"].values())


def scenes() -> list[Scene]:
    return [scene for each in LESSONS.values() for scene in each.scenes]


@pytest.mark.parametrize("name", LESSONS)
def test_cards_the_learner_has_not_seen_are_hidden_until_the_reveal(name: str) -> None:
    seen: set[str] = set()
    checked, is_revealed = 0, False
    for step in steps(name):
        if step["event"] == "dealt":
            seen, is_revealed = {step["view"]["seats"][LEARNER]["card"]}, False
        is_revealed |= step["event"] == "revealed"
        if step["event"] in {"swapped", "drew"}:
            assert (step["card"] is not None) is (LEARNER in {step["seat"], step["other"]})
        seen |= {card for card in (step["card"], step["other_card"]) if card}
        if not is_revealed:
            assert shown_cards(step) <= seen
            assert step["view"]["stock"] in seen | {None}
            checked += 1
    assert checked > 3


def shown_cards(step: dict[str, Any]) -> set[str]:
    return {seat["card"] for seat in step["view"]["seats"] if seat["card"]}


def test_no_step_before_a_reveal_holds_a_card_of_the_stock_or_of_a_stranger() -> None:
    for name, each in LESSONS.items():
        opening = next(step for step in steps(name) if step["event"] == "dealt")
        assert shown_cards(opening) == {each.scenes[0].deal[LEARNER]}
        assert each.scenes[0].stock not in json.dumps(opening)


def test_every_scene_deals_each_card_once() -> None:
    for scene in scenes():
        cards = [card for card in (*scene.deal, scene.stock) if card]
        assert len(set(cards)) == len(cards)


def test_the_answers_tell_what_would_have_come_of_it() -> None:
    ace, three = asked("swap")
    assert ace["answers"]["keep"].endswith("Played out: You reveal A♠. You lose a life.")
    assert ace["answers"]["swap"].endswith("Played out: You reveal 9♥. Alex loses a life.")
    assert three["answers"]["keep"].endswith("You reveal 3♦. You lose a life.")
    blocked, drawn = asked("dealer")
    assert blocked["answers"]["swap"].endswith("You reveal 3♥. You lose a life.")
    assert drawn["answers"]["swap"].endswith("You reveal J♠. Alex loses a life.")


def test_the_learner_s_turns_are_all_taken() -> None:
    for name, each in LESSONS.items():
        questions = sum(bool(turn.answers) for scene in each.scenes for turn in scene.turns)
        assert len(asked(name)) == questions


def test_a_swap_comes_back_and_the_low_card_travels_on() -> None:
    swaps = [step for step in steps("swap") if step["event"] == "swapped"]
    assert [(step["seat"], step["other"]) for step in swaps] == [(0, 1), (1, 2), (2, 0), (0, 1)]
    assert swaps[0]["card"] == "9h"
    assert swaps[1]["card"] is None  # the two others' cards are not the learner's to see
    # Having been made to swap, the learner is still asked.
    order = [step["event"] for step in steps("swap")]
    assert "ask" in steps("swap")[order.index("swapped", order.index("lost")) + 1]


def test_a_king_is_in_the_way_of_the_learner_and_then_of_alex() -> None:
    assert kinds("king").count("showed") == 2
    mine, theirs = (step for step in steps("king") if step["event"] == "showed")
    assert (mine["seat"], theirs["seat"]) == (1, 0)
    assert "swapped" not in kinds("king")
    assert all("king blocks" in step["why"] for step in (mine, theirs))


def test_the_stock_s_king_is_laid_aside_and_another_card_is_taken() -> None:
    told = [kind for kind in kinds("dealer") if kind in {"stock_showed", "drew", "lost"}]
    assert told == ["stock_showed", "lost", "drew", "lost"]
    king = next(step for step in steps("dealer") if step["event"] == "stock_showed")
    assert king["view"]["stock"] == "Kc"
    assert king["view"]["seats"][LEARNER]["card"] == "3h"


def test_a_seat_that_is_out_gets_no_card_and_no_turn() -> None:
    told = steps("next-deal")
    out = next(at for at, step in enumerate(told) if step["event"] == "out")
    again = told[out + 1]
    assert again["event"] == "dealt"
    assert again["view"]["dealer"] == LEARNER
    assert not again["view"]["seats"][1]["holds"]
    assert {step["seat"] for step in told[out + 2 :]} <= {0, 2, None}
    assert [step["event"] for step in told].count("dealt") == 2


@pytest.mark.parametrize(
    ("name", "losers"),
    [("tie", [["Alex"]]), ("tie-for-lowest", [["You", "Robin"]])],
)
def test_ties(name: str, losers: list[list[str]]) -> None:
    revealed = next(step for step in steps(name) if step["event"] == "revealed")
    ranks = [seat["card"][0] for seat in revealed["view"]["seats"]]
    assert len(set(ranks)) == 2
    lost = [NAMES[step["seat"]] for step in steps(name) if step["event"] == "lost"]
    assert lost == losers[0]


def test_a_tie_for_everybodys_last_life_is_replayed_and_one_that_leaves_somebody_is_not() -> None:
    told = steps("last-lives")
    tie = next(at for at, step in enumerate(told) if step["event"] == "final_tie")
    for step in told[:tie]:
        assert [seat["lives"] for seat in step["view"]["seats"]] == [1, 1, 1]
        assert step["stands"] is (step["event"] != "lost")
    assert told[tie - 1]["text"] == "Alex would lose a life."
    assert "next deal is played" in told[tie]["why"]
    after = told[tie + 1]
    assert after["event"] == "dealt"
    assert [seat["lives"] for seat in after["view"]["seats"]] == [1, 1, 1]
    assert after["view"]["dealer"] == 0
    assert kinds("last-lives")[-3:] == ["out", "out", "won"]
    assert [seat["lives"] for seat in told[-1]["view"]["seats"]] == [0, 0, 2]


def test_words_around_the_scenes_name_the_cards_that_are_dealt() -> None:
    names = {"A": "ace", "2": "two", "3": "three", "J": "jack", "Q": "queen", "K": "king"}
    for scene in scenes():
        held = scene.deal[LEARNER] or ""
        words = " ".join([scene.opening, *(turn.says for turn in scene.turns)])
        if scene.lives == (3, 3, 3) and held[0] in names:
            assert names[held[0]] in words or "same" in words, card_symbol(parse_card(held))


def test_an_unknown_lesson_is_refused() -> None:
    with pytest.raises(ValueError, match="lesson: bluff is refused; accepted: swap, king"):
        lesson("bluff")


def test_the_examples_in_the_documentation_hold() -> None:
    done = doctest.testmod(told_here)
    assert done.attempted > 1
    assert done.failed == 0
