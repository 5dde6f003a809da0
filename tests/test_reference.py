"""The quick reference tells every rule that is in use, and nothing that is not."""

from __future__ import annotations

import doctest
import re
from typing import Any

import pytest
import strategies
from hypothesis import given, settings

from cuckoo_env import explain
from cuckoo_env.play import reference as told_here
from cuckoo_env.play.reference import reference as titled
from cuckoo_env.rules import FIELDS, PRESETS, Rules


def reference(rules: Rules) -> dict[str, Any]:
    return titled(rules, explain.title(rules))


def lines(rules: Rules) -> list[str]:
    return [line for section in reference(rules)["sections"] for line in section["lines"]]


@settings(max_examples=100)
@given(strategies.rules())
def test_whatever_differs_from_the_defaults_is_told(rules: Rules) -> None:
    told = lines(rules)
    said = explain.sentences(rules)
    # The ladder tells where the ace ranks.
    moot = {"ace", *(["final_tie"] if rules.game == "round" else [])}
    for field in {*explain.special(rules), "king", "dealer", "lives"} - moot:
        assert said[field] in told, field
    for together in explain.together(rules):
        assert together in told


@settings(max_examples=100)
@given(strategies.rules())
def test_it_is_plain_text_without_repetition(rules: Rules) -> None:
    sheet = reference(rules)
    assert set(sheet) == {"title", "sections"}
    told = lines(rules)
    assert len(set(told)) == len(told)
    assert all(line.endswith(".") and line[0] == line[0].upper() for line in told)
    assert all(section["lines"] for section in sheet["sections"])
    everything = {*explain.sentences(rules).values(), *explain.together(rules)}
    # What is not generated holds under all rules: it is the same on every sheet.
    own = [line for line in told if line not in everything and not line.startswith("From low")]
    plain = {*explain.sentences(Rules()).values()}
    assert own == [
        line for line in lines(Rules()) if line not in plain and not line.startswith("From low")
    ]


def test_the_ladder_follows_the_ace() -> None:
    assert "From low to high: A 2 3 4 5 6 7 8 9 10 J Q K." in lines(Rules())
    assert "From low to high: 2 3 4 5 6 7 8 9 10 J Q K A." in lines(Rules(ace="high"))


def test_the_practice_table_shows_no_stake() -> None:
    assert not re.search(r"\bstakes?\b", " ".join(lines(Rules.parse("practice-table"))))
    assert not re.search(r"\bpot\b", " ".join(lines(Rules.parse("cuckoo,final_tie=carry"))))
    for text in ("one-round", "chase-the-ace,final_tie=carry_stake", "standard,stake=5"):
        rules = Rules.parse(text)
        assert explain.sentences(rules)["stake"] in lines(rules)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_fits_on_a_page(name: str) -> None:
    told = lines(PRESETS[name].rules())
    assert len(told) <= len(FIELDS) + 8
    assert sum(map(len, told)) < 3000
    assert reference(PRESETS[name].rules())["title"].startswith("Cuckoo: ")


def test_nothing_is_said_that_the_ladder_or_the_title_says() -> None:
    told = " ".join(lines(Rules.parse("aces-high,seats=4")))
    assert "4 seats" not in told
    assert "ranks above" not in told
    assert reference(Rules.parse("onesies,seats=4"))["title"] == "Cuckoo: onesies, 4 seats"


def test_the_examples_in_the_documentation_hold() -> None:
    done = doctest.testmod(told_here)
    assert done.attempted > 1
    assert done.failed == 0
