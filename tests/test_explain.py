"""Rule sets in plain sentences: complete, distinct, and true where the engine can tell."""

import dataclasses
import doctest
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuckoo_env import explain
from cuckoo_env.agents import lineup
from cuckoo_env.evaluate import play
from cuckoo_env.explain import (
    CHOICES,
    NUMBERS,
    TOGETHER,
    exact_text,
    is_played_for,
    sentences,
    sentences_at_table,
    special,
    title,
    together,
)
from cuckoo_env.rules import AXES, FIELDS, PRESETS, FinalTie, FirstDealer, Rules, RulesError


@st.composite
def any_rules(draw: st.DrawFn) -> Rules:
    """Any rule set that is accepted."""
    fields = {name: draw(st.sampled_from(list(axis))) for name, axis in AXES.items()}
    fields["seats"] = draw(st.integers(2, 8))
    fields["lives"] = draw(st.integers(1, 5))
    fields["decks"] = draw(st.integers(0, 3))
    fields["stake"] = draw(st.sampled_from([0.5, 1, 2]))
    fields["first_dealer"] = draw(st.sampled_from(["lot", "cut", 0, 1]))
    fields["max_rounds"] = draw(st.sampled_from([None, 1, 20]))
    try:
        return Rules(**fields)
    except RulesError:
        return Rules(**fields | {"ties": "all", "max_rounds": None})


def test_every_value_of_every_axis_has_a_sentence_of_its_own() -> None:
    axes = {**AXES, "first_dealer": FirstDealer}
    assert {name: set(told) for name, told in CHOICES.items()} == {
        name: set(axis) for name, axis in axes.items()
    }
    assert set(CHOICES) | set(NUMBERS) == set(FIELDS)
    for told in CHOICES.values():
        assert len(set(told.values())) == len(told)


@given(any_rules())
def test_any_combination_can_be_explained(rules: Rules) -> None:
    told = sentences(rules)
    assert list(told) == list(FIELDS)
    for sentence in [*told.values(), *together(rules)]:
        assert sentence[0].isupper() or sentence[0].isdigit()
        assert sentence.endswith(".")
        assert "None" not in sentence


@given(any_rules(), any_rules())
def test_other_rules_are_explained_in_other_words(rules: Rules, other: Rules) -> None:
    differing = [name for name in FIELDS if getattr(rules, name) != getattr(other, name)]
    for name in differing:
        assert sentences(rules)[name] != sentences(other)[name]


def test_every_sentence_about_several_axes_is_told_of_some_rules() -> None:
    axes = ["king", "queen", "jack", "dealer", "swapped_turn", "refusal", "penalty", "pairs", "ties",
            "final_tie", "game"]  # fmt: skip
    told: set[str] = set()
    for one, two in itertools.combinations(axes, 2):
        for first, second in itertools.product(AXES[one], AXES[two]):
            for more in ({}, {"seats": 2, "ace": "high", "lives": 1}, {"max_rounds": 9}):
                try:
                    told.update(together(Rules(**{one: first, two: second, **more})))
                except RulesError:
                    continue
    assert told == {each.sentence for each in TOGETHER}
    assert together(Rules()) == []


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_special_about_a_preset_is_what_it_changes(name: str) -> None:
    preset = PRESETS[name]
    plain = {field.name: field.default for field in dataclasses.fields(Rules)}
    changes = [field for field, value in preset.changes.items() if value != plain[field]]
    assert special(preset.rules()) == [f for f in FIELDS if f in changes and f != "seats"]


@given(any_rules())
def test_where_no_stake_is_played_for_none_is_spoken_of(rules: Rules) -> None:
    told = sentences_at_table(rules)
    assert ("stake" in told) is is_played_for(rules)
    if not is_played_for(rules):
        said = " ".join([*told.values(), *together(rules)])
        assert not [word for word in ("stake", "pot ", "pot.", "paid") if word in said]


def test_seats_are_counted_from_one_and_called_by_name() -> None:
    rules = Rules.parse("practice-table")
    assert sentences(rules)["first_dealer"] == "Seat 3 of 3 deals first."
    names = ("Ann", "Robin", "Alex")
    assert sentences_at_table(rules, names, 0)["first_dealer"] == "Alex deals first."
    assert sentences_at_table(rules, names, 2)["first_dealer"] == "You deal first."
    cut = Rules.parse("standard")
    assert sentences_at_table(cut, names, 0)["first_dealer"] == sentences(cut)["first_dealer"]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_called_by_its_name(name: str) -> None:
    assert title(Rules.parse(name), name) == name.replace("-", " ")


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("cuckoo,seats=4", "cuckoo, 4 seats"),
        ("onesies,queen=redirects", "onesies, queen redirects"),
        ("onesies,seats=5", "onesies, 5 seats"),
        ("chase-the-ace,seats=4,lives=1", "chase the ace, 4 seats, 1 life"),
        ("cuckoo,lives=4", "cuckoo, 4 lives"),
        ("queen-rule,jack=may_block,stake=2.5", "queen rule, jack may block, stake 2.5"),
        ("aces-high,max_rounds=9,decks=2", "aces high, 2 packs, at most 9 rounds"),
        ("cuckoo,first_dealer=1,final_tie=carry", "cuckoo, final tie carry, seat 2 deals first"),
        ("standard,seats=4,queen=redirects", "standard, 4 seats, queen redirects"),
    ],
)
def test_rules_are_called_by_the_chosen_preset_and_what_differs(text: str, called: str) -> None:
    assert title(Rules.parse(text), text) == called


@given(any_rules())
def test_any_rules_have_a_title_which_tells_other_rules_apart(rules: Rules) -> None:
    assert title(rules) != title(rules.replace(lives=rules.lives + 1))


@given(any_rules(), st.sampled_from(["", "cuckoo", "chase-the-ace", "onesies"]))
def test_the_exact_text_keeps_the_preset_and_means_the_same(rules: Rules, preset: str) -> None:
    rules = rules.replace(seats=max(rules.seats, 3))
    text = exact_text(rules, preset)
    assert text.startswith(preset)
    assert Rules.parse(text) == rules
    assert title(rules, text) == title(rules, preset)


def test_the_examples_in_the_documentation_hold() -> None:
    done = doctest.testmod(explain)
    assert done.attempted > 3
    assert done.failed == 0


def outcome(text: str, seats: int) -> np.ndarray:
    rules = Rules.parse(text)
    specs = ["robin", "alex", "naive", "threshold:9"][:seats]
    return play(rules, lineup(specs, rules), 3000, seed=1).payoff


@pytest.mark.parametrize("axis", ["ties=first", "pairs=safe", "game=round"])
def test_the_rule_for_a_final_tie_never_matters_where_we_say_so(axis: str) -> None:
    text = f"chase-the-ace,{axis}"
    said = [
        line for line in together(Rules.parse(text)) if "go out at once" in line or "tie" in line
    ]
    assert said
    payoffs = [outcome(f"{text},final_tie={rule}", 3) for rule in FinalTie]
    assert all(np.array_equal(payoffs[0], other) for other in payoffs)
    others = [outcome(f"chase-the-ace,final_tie={rule}", 3) for rule in FinalTie]
    assert not np.array_equal(others[0], others[2])


def test_with_one_life_nobody_can_pay_to_refuse_as_we_say() -> None:
    text = "one-round,lives=1,refusal=fee,king=plain"
    assert "With one life each nobody can ever pay to refuse." in together(Rules.parse(text))
    with_fee, without = outcome(text, 3), outcome("one-round,lives=1,king=plain", 3)
    assert np.array_equal(with_fee, without)
