"""Rules as a value: canonical text, equality, what is refused and how."""

from __future__ import annotations

import dataclasses
import pickle
import re
from typing import Any

import pytest
import referee
import strategies
from hypothesis import given
from hypothesis import strategies as st

from cuckoo_env.rules import (
    AXES,
    FIELDS,
    MAX_DECKS,
    MAX_LIVES,
    MAX_ROUNDS,
    OPEN_PRESETS,
    PRESETS,
    FirstDealer,
    King,
    Queen,
    Rules,
    RulesError,
    default_decks,
)

# --------------------------------------------------------------------------------------
# Text
# --------------------------------------------------------------------------------------


@given(rules=strategies.rules(st.integers(2, 120)))
def test_the_text_of_any_rules_parses_back(rules: Rules) -> None:
    assert Rules.parse(str(rules)) == rules


@given(rules=strategies.rules())
def test_equal_rules_have_equal_text_and_hash(rules: Rules) -> None:
    same = Rules(**rules.fields())  # type: ignore[arg-type]
    assert (same, str(same), hash(same)) == (rules, str(rules), hash(rules))


@given(one=strategies.rules(), other=strategies.rules())
def test_different_rules_have_different_text(one: Rules, other: Rules) -> None:
    assert (one == other) == (str(one) == str(other))


@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_name_is_its_canonical_text(name: str) -> None:
    rules = Rules.parse(name)
    assert Rules.parse(str(rules)) == rules
    same = [other for other in PRESETS if PRESETS[other].rules() == rules]
    # Where sources describe the same game the first of them names it.
    assert str(rules) == same[0]


def test_the_text_of_changed_presets_is_short() -> None:
    for text in ("standard,seats=5,queen=redirects", "chase-the-ace,lives=1,stake=2.5"):
        assert str(Rules.parse(text)) == text


def test_text_may_have_spaces_and_any_order() -> None:
    spaced = Rules.parse(" standard , queen=redirects,  seats=5 ")
    assert spaced == Rules.parse("standard,seats=5,queen=redirects")


def test_rules_are_their_own_text() -> None:
    rules = Rules(king=King.OPEN)
    assert Rules.parse(rules) is rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "rules:  is refused; accepted: a preset of: cuckoo, "),
        ("poker", "rules: poker is refused; accepted: a preset of: cuckoo, "),
        ("lives=4", "rules: lives=4 is refused; accepted: a preset of: cuckoo, "),
        ("standard,", "rules:  is refused; accepted: field=value"),
        ("standard,lives", "rules: lives is refused; accepted: field=value"),
        ("standard,lives=", "rules: lives= is refused; accepted: field=value"),
        ("standard,hearts=4", "field: hearts is refused; accepted: one of: seats, lives, "),
        ("standard,lives=4,lives=5", "lives: 5 is refused; accepted: given once"),
        ("standard,lives=many", "lives: many is refused; accepted: a whole number from 1"),
        ("standard,lives=2.5", "lives: 2.5 is refused; accepted: a whole number from 1"),
        ("standard,king=queen", "king: queen is refused; accepted: one of: blocks, plain, "),
        ("standard,stake=free", "stake: free is refused; accepted: a number above 0"),
        ("standard,max_rounds=0", "max_rounds: 0 is refused; accepted: a whole number from 1"),
        ("le-her,seats=3", "seats: 3 is refused; accepted: 2 with rules le-her"),
        ("cuckoo,seats=11", "seats: 11 is refused; accepted: 3 to 10 with rules cuckoo"),
        ("cuckoo,seats=2", "seats: 2 is refused; accepted: 3 to 10 with rules cuckoo"),
        ("four-lives,seats=27", "seats: 27 is refused; accepted: 3 to 26 with rules four-lives"),
        ("practice-table,seats=4", "seats: 4 is refused; accepted: 3 with rules practice-table"),
    ],
)
def test_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(RulesError, match="^" + re.escape(message)):
        Rules.parse(text)


# --------------------------------------------------------------------------------------
# The value
# --------------------------------------------------------------------------------------


def test_the_defaults() -> None:
    rules = Rules()
    assert rules == Rules.parse("chase-the-ace")
    for name, axis in AXES.items():
        assert getattr(rules, name) is next(iter(axis)), "the first value is the default"


def test_rules_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rules().lives = 4  # type: ignore[misc]


def test_rules_take_names_only() -> None:
    with pytest.raises(TypeError):
        Rules(3)  # type: ignore[call-arg]


@given(rules=strategies.rules())
def test_texts_and_members_are_the_same(rules: Rules) -> None:
    for name, axis in AXES.items():
        assert isinstance(getattr(rules, name), axis)
        assert rules.replace(**{name: str(getattr(rules, name))}) == rules


@given(rules=strategies.rules())
def test_rules_survive_pickling(rules: Rules) -> None:
    assert pickle.loads(pickle.dumps(rules)) == rules


@given(rules=strategies.rules())
def test_fields_are_plain_values_that_make_the_same_rules(rules: Rules) -> None:
    fields = rules.fields()
    assert tuple(fields) == FIELDS
    assert {type(value) for value in fields.values()} <= {str, int, float, type(None)}


@given(rules=strategies.rules(), seats=strategies.TABLES)
def test_replace_changes_only_what_it_names(rules: Rules, seats: int) -> None:
    seats = max(seats, rules.first_dealer + 1 if isinstance(rules.first_dealer, int) else 2)
    changed = rules.replace(seats=seats, ace="high")
    expected = {**rules.fields(), "seats": seats, "ace": "high"}
    assert changed.fields() == expected


def test_replace_lets_the_packs_follow_the_seats_unless_they_were_set_apart() -> None:
    assert Rules(seats=10).replace(seats=30).decks == 2
    assert Rules(seats=30).replace(seats=10).decks == 1
    assert Rules(seats=10, decks=3).replace(seats=30).decks == 3
    assert Rules(seats=10).replace(seats=30, decks=4).decks == 4


def test_replace_refuses_what_the_constructor_refuses() -> None:
    with pytest.raises(RulesError, match=r"^field: hearts is refused; accepted: one of: seats, "):
        Rules().replace(hearts=4)
    with pytest.raises(RulesError, match=r"^lives: 0 is refused; accepted: a whole number from 1"):
        Rules().replace(lives=0)


def test_responses_are_there_exactly_where_an_asked_seat_may_have_a_choice() -> None:
    assert not Rules(jack="blocks").has_responses  # type: ignore[arg-type]
    assert Rules(jack="may_block").has_responses  # type: ignore[arg-type]
    assert Rules(refusal="fee").has_responses  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_says_where_it_comes_from(name: str) -> None:
    preset = PRESETS[name]
    assert preset.name == name
    assert preset.source
    assert preset.summary
    assert preset.admits(preset.rules().seats)


def test_the_open_presets_seat_any_number() -> None:
    for name in OPEN_PRESETS:
        assert PRESETS[name].rules(seats=2).seats == 2
        assert PRESETS[name].rules(seats=200).seats == 200


# --------------------------------------------------------------------------------------
# What is refused
# --------------------------------------------------------------------------------------

A_WHOLE_LIFE = f"a whole number from 1 to {MAX_LIVES}"
WRONG = [
    *(({axis: "wild"}, f"{axis}: wild is refused; accepted: one of: ") for axis in AXES),
    *(({axis: None}, f"{axis}: None is refused; accepted: one of: ") for axis in AXES),
    ({"seats": 1}, "seats: 1 is refused; accepted: a whole number from 2"),
    ({"seats": -3}, "seats: -3 is refused; accepted: a whole number from 2"),
    ({"seats": 3.0}, "seats: 3.0 is refused; accepted: a whole number from 2"),
    ({"seats": True}, "seats: True is refused; accepted: a whole number from 2"),
    ({"seats": "3"}, "seats: 3 is refused; accepted: a whole number from 2"),
    ({"seats": 52, "decks": 1}, "seats: 52 is refused; accepted: 2 to 51 with decks=1"),
    ({"seats": 104, "decks": 2}, "seats: 104 is refused; accepted: 2 to 103 with decks=2"),
    ({"seats": 26 * MAX_DECKS + 1}, f"seats: {26 * MAX_DECKS + 1} is refused; accepted: 2 to "),
    ({"lives": 0}, f"lives: 0 is refused; accepted: {A_WHOLE_LIFE}"),
    ({"lives": 1.5}, f"lives: 1.5 is refused; accepted: {A_WHOLE_LIFE}"),
    ({"lives": MAX_LIVES + 1}, f"lives: {MAX_LIVES + 1} is refused; accepted: {A_WHOLE_LIFE}"),
    ({"decks": -1}, f"decks: -1 is refused; accepted: a whole number from 0 to {MAX_DECKS}"),
    (
        {"decks": MAX_DECKS + 1},
        f"decks: {MAX_DECKS + 1} is refused; accepted: a whole number from ",
    ),
    ({"stake": 0}, "stake: 0 is refused; accepted: a number above 0"),
    ({"stake": -1}, "stake: -1 is refused; accepted: a number above 0"),
    ({"stake": float("nan")}, "stake: nan is refused; accepted: a number above 0"),
    ({"stake": float("inf")}, "stake: inf is refused; accepted: a number above 0"),
    ({"stake": True}, "stake: True is refused; accepted: a number above 0"),
    ({"stake": "1"}, "stake: 1 is refused; accepted: a number above 0"),
    ({"stake": None}, "stake: None is refused; accepted: a number above 0"),
    ({"max_rounds": 0}, "max_rounds: 0 is refused; accepted: a whole number from 1"),
    ({"max_rounds": 1.5}, "max_rounds: 1.5 is refused; accepted: a whole number from 1"),
    (
        {"max_rounds": MAX_ROUNDS + 1},
        f"max_rounds: {MAX_ROUNDS + 1} is refused; accepted: a whole ",
    ),
    ({"first_dealer": 3}, "first_dealer: 3 is refused; accepted: lot, cut or a seat from 0 to 2"),
    ({"first_dealer": -1}, "first_dealer: -1 is refused; accepted: lot, cut or a seat from 0 to 2"),
    (
        {"first_dealer": "me"},
        "first_dealer: me is refused; accepted: lot, cut or a seat from 0 to 2",
    ),
    ({"first_dealer": True}, "first_dealer: True is refused; accepted: lot, cut or a seat from "),
    ({"first_dealer": None}, "first_dealer: None is refused; accepted: lot, cut or a seat from "),
    (
        {"ties": "first", "penalty": "shared"},
        "ties: first is refused; accepted: all with penalty=s",
    ),
    ({"ties": "first", "pairs": "safe"}, "ties: first is refused; accepted: all with pairs=safe"),
    (
        {"game": "round", "max_rounds": 5},
        "max_rounds: 5 is refused; accepted: none with game=round",
    ),
]


@pytest.mark.parametrize(("fields", "message"), WRONG, ids=[str(fields) for fields, _ in WRONG])
def test_wrong_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RulesError, match="^" + re.escape(message)):
        Rules(**fields)


def test_everything_else_combines_also_where_an_axis_then_never_matters() -> None:
    Rules.parse("le-her,final_tie=carry")
    Rules.parse("onesies,lives=1")
    Rules.parse("chase-the-ace,king=plain,dealer=rotation,jack=blocks,queen=redirects")


ODD_NUMBERS = st.sampled_from([0, 1, 2, 3, 10, 51, 52, 103, 104, -1, 1.5, True, "3", None])


@st.composite
def perhaps_wrong_fields(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of playable rules with a few of them replaced by anything."""
    fields: dict[str, Any] = {**Rules().fields(), **draw(strategies.fields())}
    fields["decks"] = fields["decks"] or default_decks(fields["seats"])
    for name in draw(st.lists(st.sampled_from(FIELDS), max_size=3)):
        values = list(AXES[name]) if name in AXES else []
        fields[name] = draw(ODD_NUMBERS | st.sampled_from([*map(str, values), "lot", "wild"]))
    return fields


@given(fields=perhaps_wrong_fields())
def test_rules_and_referee_refuse_the_same(fields: dict[str, Any]) -> None:
    assert _is_refused_by_rules(fields) == _is_refused_by_referee(fields)


def _is_refused_by_rules(fields: dict[str, Any]) -> bool:
    try:
        Rules(**fields)
    except RulesError as error:
        # A refusal that does not name the field and what is accepted counts as none.
        return bool(re.match(rf"({'|'.join(FIELDS)}): .* is refused; accepted: .", str(error)))
    return False


def _is_refused_by_referee(fields: dict[str, Any]) -> bool:
    try:
        # For the referee the packs are always counted, never "as many as the seats need".
        decks = fields["decks"]
        if type(decks) is int and decks == 0 and type(fields["seats"]) is int:
            fields = {**fields, "decks": max(1, default_decks(fields["seats"]))}
        referee.check_rules(fields)
    except ValueError:
        return True
    return False


def test_the_referee_knows_the_same_axes_and_values() -> None:
    ours = {name: tuple(value.value for value in axis) for name, axis in AXES.items()}
    assert {name: set(values) for name, values in ours.items()} == {
        name: set(values) for name, values in referee.CHOICES.items()
    }
    assert set(FirstDealer) == {"lot", "cut"}
    assert Queen.REDIRECTS in ours["queen"]
