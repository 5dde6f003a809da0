"""The vocabulary of events: complete, seen by whom it may be, told in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuckoo_env import engine
from cuckoo_env.events import KIND_OF, KINDS, Event, decode, sentence, story

ENGINE_CODES = {
    name.removeprefix("E_").lower(): value
    for name, value in vars(engine).items()
    if name.startswith("E_")
}
SWAP = Event("swapped", seat=0, other=2, card="9h", other_card="2c")


def full(name: str) -> Event:
    """An event of a kind with all the fields that the kind has."""
    values: dict[str, Any] = {
        "seat": 1, "other": 2, "count": 1, "card": "9h", "other_card": "2c",
    }  # fmt: skip
    return Event(
        name, **{column: values[column] for column in KIND_OF[name].columns if column != "-"}
    )


def test_the_vocabulary_is_the_engines() -> None:
    assert {kind.name: code for code, kind in enumerate(KINDS)} == ENGINE_CODES


def test_rows_are_decoded_by_the_columns_of_their_kind() -> None:
    assert decode([engine.E_SWAPPED, 0, 2, 34, 4]) == SWAP
    assert decode([engine.E_LOST, 3, 2, -1, -1]) == Event("lost", seat=3, count=2)
    assert decode([engine.E_SHOWED, 1, -1, 51, -1]) == Event("showed", seat=1, card="Ks")
    assert decode([engine.E_NO_TRADING, -1, -1, -1, -1]) == Event("no_trading")


@pytest.mark.parametrize("name", ["dealt", "drew"])
def test_a_dealt_or_drawn_card_is_seen_by_its_holder_alone(name: str) -> None:
    event = Event(name, seat=1, card="9h")
    assert event.seen_by(1) == event
    assert event.seen_by(0) == event.seen_by(2) == Event(name, seat=1)


def test_the_cards_of_a_swap_are_seen_by_both_its_seats() -> None:
    assert SWAP.seen_by(0) == SWAP.seen_by(2) == SWAP
    assert SWAP.seen_by(1) == Event("swapped", seat=0, other=2)


@pytest.mark.parametrize("name", sorted(set(KIND_OF) - {"dealt", "drew", "swapped"}))
def test_everything_else_is_seen_by_all(name: str) -> None:
    assert [full(name).seen_by(viewer) for viewer in range(4)] == [full(name)] * 4


def test_the_plain_form_has_only_the_fields_that_are_there() -> None:
    plain = SWAP.plain()
    assert plain == {"event": "swapped", "seat": 0, "other": 2, "card": "9h", "other_card": "2c"}
    assert json.loads(json.dumps(plain)) == plain
    assert Event("kept", seat=0).plain() == {"event": "kept", "seat": 0}
    assert SWAP.seen_by(1).plain() == {"event": "swapped", "seat": 0, "other": 2}


@pytest.mark.parametrize("name", list(KIND_OF))
def test_every_kind_has_a_sentence_for_every_viewer(name: str) -> None:
    for viewer in (None, 0, 1, 2):
        for event in (full(name), *([full(name).seen_by(viewer)] if viewer is not None else [])):
            told = sentence(event, viewer)
            assert told[0].isupper()
            assert told.endswith(".")
            assert not set("{}[]|") & set(told)
            assert "  " not in told
            assert "None" not in told


def test_sentences_say_you_to_the_viewer_and_names_to_the_others() -> None:
    names = ["Ann", "Bob", "player_2"]
    assert sentence(SWAP, 0, names) == "You swap with player_2, 2♣ for 9♥."
    assert sentence(SWAP, 2, names) == "Ann swaps with you, 2♣ for 9♥."
    assert sentence(SWAP.seen_by(1), 1, names) == "Ann swaps with player_2."
    assert sentence(Event("out", seat=2), 0, names) == "player_2 is out."
    assert sentence(Event("out", seat=2), 2, names) == "You are out."
    assert sentence(Event("lost", seat=1, count=1)) == "Seat 1 loses a life."
    assert sentence(Event("lost", seat=1, count=3)) == "Seat 1 loses 3 lives."


def test_a_story_hides_what_its_listener_may_not_see() -> None:
    dealt = [Event("dealt", seat=0, card="Td"), Event("dealt", seat=1, card="As")]
    assert story(dealt, viewer=0) == ["You get 10♦.", "Seat 1 gets a card."]
    assert story(dealt) == ["Seat 0 gets 10♦.", "Seat 1 gets A♠."]
