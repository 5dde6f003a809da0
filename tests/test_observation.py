"""The layout table and what encoding writes, field by field, in positions made by hand."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import strategies
from differential import Pair, case_of, play_case, random_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from position import Position

from cuckoo_env import engine
from cuckoo_env.cards import RANK_NAMES, RANKS
from cuckoo_env.observation import FIELDS, Layout, observe, rules_section, sections_of
from cuckoo_env.rules import AXES, PRESETS, Rules, RulesError

Vector = npt.NDArray[np.float32]
LAYOUTS = st.builds(
    Layout,
    max_seats=st.integers(2, 60),
    with_rules=st.booleans(),
    n_actions=st.sampled_from([2, 5]),
)


def vector_of(pair: Pair, viewer: int, layout: Layout | None = None) -> Vector:
    """What a seat observes; whatever the buffer held before must not matter."""
    layout = layout or Layout.of(pair.rules)
    observation = np.full((1, layout.size), np.nan, np.float32)
    mask = np.full((1, layout.n_actions), 77, np.int8)
    sections = sections_of(layout, (pair.rules,))
    observe(pair.games, pair.compiled, layout.offsets, sections, 0, viewer, observation, mask)
    vector: Vector = observation[0]
    return vector


class Seen:
    """A vector read by the names of its fields."""

    def __init__(self, table: Position, viewer: int, **layout: Any) -> None:
        self._layout = Layout.of(table.rules, **layout)
        self._vector = vector_of(table.pair, viewer, self._layout)

    def field(self, name: str) -> Any:
        """The number of a field, or a list of its numbers, one a seat."""
        return self._layout.view(self._vector, name).squeeze(-1).tolist()

    def one_hot(self, name: str) -> list[int]:
        """For each seat the place of its one, counted from 1; 0 where there is none."""
        rows = self._layout.view(self._vector, name)
        return [int(row.argmax()) + 1 if row.any() else 0 for row in np.atleast_2d(rows)]

    @property
    def known(self) -> str:
        return "".join(RANKS[rank - 1] if rank else "." for rank in self.one_hot("known"))

    @property
    def outcome(self) -> list[str]:
        return [engine.OUTCOME_NAMES[outcome] for outcome in self.one_hot("outcome")]


# --------------------------------------------------------------------------------------
# The layout
# --------------------------------------------------------------------------------------


@given(layout=LAYOUTS)
def test_the_fields_fill_the_vector_without_gap_or_overlap(layout: Layout) -> None:
    at = 0
    for field in layout.fields():
        assert layout.slices[field.name] == slice(at, at + layout.length(field))
        assert int(layout.offsets[field.name][0]) == at
        at += layout.length(field)
    assert at == layout.size


@given(layout=LAYOUTS)
def test_every_number_has_a_name_of_its_own(layout: Layout) -> None:
    names = layout.names()
    assert len(names) == len(set(names)) == layout.size


@given(layout=LAYOUTS)
def test_compiled_code_is_told_which_fields_are_not_there(layout: Layout) -> None:
    absent = {field.name for field in FIELDS if field.only_with_rules and not layout.with_rules}
    assert {field.name for field in FIELDS if layout.offsets[field.name][0] < 0} == absent


def test_names_say_what_the_numbers_are() -> None:
    names = Layout(max_seats=3, with_rules=True).names()
    for name in (
        "known[0,king]",
        "known[2,ace]",
        "shown[1]",
        "outcome[0,kept]",
        "lives[2]",
        "trading",
    ):
        assert name in names
    assert "rule_choices[king=open]" in names
    assert names.index("known[1,king]") == 25


def test_fields_are_described() -> None:
    assert len({field.name for field in FIELDS}) == len(FIELDS)
    for field in FIELDS:
        assert field.encoding in {"one-hot", "flag", "share"}
        assert field.meaning
        assert field.width > 0
    assert [field.name for field in FIELDS if field.private] == ["known"]


def test_a_layout_is_as_small_as_its_rules_let_it_be() -> None:
    assert Layout.of(Rules()) == Layout(max_seats=3, n_actions=2)
    assert Layout.of(Rules.parse("jack-rule,seats=5")) == Layout(max_seats=5, n_actions=5)
    roomy = Layout.of(Rules(), max_seats=10, with_rules=True, n_actions=5)
    assert roomy == Layout(max_seats=10, with_rules=True, n_actions=5)


@pytest.mark.parametrize(
    ("rules", "arguments", "message"),
    [
        ("practice-table", {"max_seats": 2}, "^max_seats: 2 is refused; accepted: 3 or more$"),
        ("practice-table", {"n_actions": 3}, "^n_actions: 3 is refused; accepted: 2 or 5$"),
        ("onesies", {"n_actions": 2}, "^n_actions: 2 is refused; accepted: 5$"),
    ],
)
def test_a_layout_too_small_for_the_rules_is_refused(
    rules: str, arguments: dict[str, int], message: str
) -> None:
    with pytest.raises(RulesError, match=message):
        Layout.of(Rules.parse(rules), **arguments)  # type: ignore[arg-type]


def test_every_number_can_be_reached_and_lies_between_0_and_1() -> None:
    layout = Layout(max_seats=3, with_rules=True, n_actions=5)
    highest = np.zeros(layout.size, np.float32)
    lowest = np.ones(layout.size, np.float32)
    for seed in range(1500):
        rng = random.Random(seed)
        seats = rng.choice((2, 3, 3))
        rules = random_rules(rng).replace(
            seats=seats, lives=3, first_dealer=rng.randrange(seats), decks=0
        )
        if rules.max_rounds:
            rules = rules.replace(max_rounds=2)
        case = case_of(seed, rules)
        pair = Pair(rules, generator=case.generator, start=case.start, script=case.script)
        for _ in range(10):
            for viewer in range(seats):
                vector = vector_of(pair, viewer, layout)
                np.maximum(highest, vector, out=highest)
                np.minimum(lowest, vector, out=lowest)
            if not pair.over:
                pair.step(rng.choice(pair.legal))
    assert highest.max() <= 1
    assert lowest.min() >= 0
    names = layout.names()
    # Only a king or a queen on the stock can be shown and not taken.
    plain = {f"stock[{rank}]" for rank in RANK_NAMES} - {"stock[king]", "stock[queen]"}
    assert {names[k] for k in np.flatnonzero(highest == 0)} == plain
    never_zero = [names[k] for k in np.flatnonzero(lowest > 0)]
    assert never_zero == ["rule_numbers[1/seats]", "rule_numbers[1/lives]", "rule_numbers[1/decks]"]


# --------------------------------------------------------------------------------------
# Encoding
# --------------------------------------------------------------------------------------


def test_a_seat_sees_its_own_card_first_and_no_other() -> None:
    table = Position("chase-the-ace", "2c 9h Kd")
    assert [Seen(table, viewer).known for viewer in range(3)] == ["2..", "9..", "K.."]


def test_seats_are_counted_from_the_viewer_on_in_the_direction_of_play() -> None:
    table = Position("chase-the-ace", "2c 9h Kd", lives=[1, 2, 3])
    table.play("swap")
    assert Seen(table, 0).known == "92."
    assert Seen(table, 1).known == "2.9"
    assert Seen(table, 2).field("lives") == pytest.approx([1, 1 / 3, 2 / 3])
    assert Seen(table, 2).field("dealer") == [1, 0, 0]
    assert Seen(table, 0).field("dealer") == [0, 0, 1]


def test_with_direction_right_the_next_seat_has_the_number_before() -> None:
    table = Position("chase-the-ace,direction=right", "2c 9h Kd 5s", dealer=0, lives=[1, 2, 3, 3])
    table.play("swap")
    assert table.told[-1] == "asked 3 2" or table.told[-1] == "showed 2 Kd"
    assert Seen(table, 3).known == "5K.."
    assert Seen(table, 3).field("dealer") == [0, 0, 0, 1]
    assert Seen(table, 0).field("lives") == pytest.approx([1 / 3, 1, 1, 2 / 3])
    assert Seen(table, 0).outcome[1] == "was blocked"


def test_left_and_right_are_mirror_images() -> None:
    left = Position("queen-rule", "2c Qh 4d 9s", lives=[1, 2, 3, 3])
    right = Position("queen-rule,direction=right", "9s 4d Qh 2c", lives=[3, 3, 2, 1], dealer=0)
    for action in ("swap", "keep", "swap"):
        for viewer in range(4):
            np.testing.assert_array_equal(
                vector_of(left.pair, viewer), vector_of(right.pair, 3 - viewer)
            )
        left.play(action)
        right.play(action)


def test_turn_and_acts_differ_where_a_seat_responds() -> None:
    table = Position("onesies", "2c 9h 4d")
    assert (Seen(table, 0).field("turn"), Seen(table, 0).field("acts")) == ([1, 0, 0], [1, 0, 0])
    table.play("swap")
    assert (Seen(table, 0).field("turn"), Seen(table, 0).field("acts")) == ([1, 0, 0], [0, 1, 0])
    assert Seen(table, 1).outcome == ["waiting", "waiting", "asked"]


def test_outcomes_tell_what_became_of_each_turn() -> None:
    table = Position("onesies,queen=redirects", "2c Qh 4d 9s 8c")
    table.play("swap pay swap accept keep")
    assert Seen(table, 0).outcome == [
        "was sent on and refused for a token", "swapped", "kept", "waiting", "waiting",
    ]  # fmt: skip


def test_shown_cards_lie_open_for_all_and_are_followed() -> None:
    table = Position("chase-the-ace", "2c Kh 3d 4s")
    table.play("swap")
    assert Seen(table, 3).field("shown") == [0, 0, 1, 0]
    table.play("swap")
    assert Seen(table, 3).field("shown") == [0, 0, 0, 1]
    assert Seen(table, 3).known == "4..K"


def test_the_card_shown_from_the_stock_is_seen_by_all() -> None:
    table = Position("queen-rule,jack=may_block", "2c 9h 4d", stock="Qd")
    assert Seen(table, 0).one_hot("stock") == [0]
    table.play("keep keep swap")
    assert [Seen(table, viewer).one_hot("stock") for viewer in range(3)] == [[12]] * 3


def test_trading_is_off_where_a_king_stopped_the_deal() -> None:
    assert Seen(Position("kings-face-up", "2c 9h 4d"), 0).field("trading") == 1
    assert Seen(Position("kings-face-up", "2c Kh 4d"), 0).field("trading") == 0


def test_a_seat_that_is_out_is_all_zeros_and_still_sees_the_table() -> None:
    table = Position("open-kings", "2c -- Kd")
    seen = Seen(table, 1)
    assert (seen.known, seen.field("in_play"), seen.field("lives")) == (".K.", [0, 1, 1], [0, 1, 1])


def test_rounds_left_count_down_to_truncation() -> None:
    table = Position("chase-the-ace,max_rounds=4", "2c 9h")
    assert Seen(table, 0).field("rounds_left") == 1
    table.play("keep keep")
    assert Seen(table, 0).field("rounds_left") == 0.75
    assert Seen(Position("chase-the-ace", "2c 9h"), 0).field("rounds_left") == 0


def test_carried_is_the_part_of_the_pot_beyond_one_stake_each() -> None:
    rules = "chase-the-ace,final_tie=carry_stake"
    assert Seen(Position(rules, "2c 9h"), 0).field("carried") == 0
    assert Seen(Position(rules, "2c 9h", staked=[4, 4]), 0).field("carried") == 0.75


def test_when_the_game_is_over_nobody_acts_and_all_cards_are_known() -> None:
    table = Position("one-round", "2c 9h 4d")
    table.play("keep keep keep")
    for viewer, known in enumerate(("294", "942", "429")):
        seen = Seen(table, viewer)
        assert (seen.known, seen.field("turn"), seen.field("acts")) == (known, [0] * 3, [0] * 3)


@settings(max_examples=100)
@given(rules=strategies.tables(), seed=strategies.seeds(), more=st.integers(0, 4))
def test_padding_adds_zeros_and_changes_nothing(rules: Rules, seed: int, more: int) -> None:
    pair = play_case(seed, rules)
    small, large = Layout.of(rules), Layout.of(rules, max_seats=rules.seats + more, with_rules=True)
    for viewer in range(rules.seats):
        vector, padded = vector_of(pair, viewer, small), vector_of(pair, viewer, large)
        for field in small.fields():
            ours, theirs = small.view(vector, field.name), large.view(padded, field.name)
            if field.per_seat:
                assert not theirs[rules.seats :].any()
                theirs = theirs[: rules.seats]
            np.testing.assert_array_equal(ours, theirs)


@given(rules=strategies.rules())
def test_the_rules_section_tells_the_rules(rules: Rules) -> None:
    section = dict(zip(Layout(max_seats=2, with_rules=True).names()[-len(rules_section(rules)) :],
                       rules_section(rules).tolist(), strict=True))  # fmt: skip
    for name in AXES.keys() - {"direction"}:
        chosen = [value for value in AXES[name] if section[f"rule_choices[{name}={value}]"]]
        assert chosen == [getattr(rules, name)]
    assert section["rule_numbers[1/seats]"] == pytest.approx(1 / rules.seats)
    assert section["rule_numbers[1/lives]"] == pytest.approx(1 / rules.lives)
    assert section["rule_numbers[1/decks]"] == pytest.approx(1 / rules.decks)
    rounds = rules.max_rounds
    assert section["rule_numbers[1/max_rounds]"] == pytest.approx(1 / rounds if rounds else 0)


@pytest.mark.parametrize("name", PRESETS)
def test_the_rules_section_is_at_the_end_of_the_vector(name: str) -> None:
    rules = PRESETS[name].rules()
    pair = Pair(rules)
    layout = Layout.of(rules, with_rules=True)
    section = rules_section(rules)
    np.testing.assert_array_equal(vector_of(pair, 0, layout)[-len(section) :], section)


@settings(max_examples=100)
@given(rules=strategies.tables(), seed=strategies.seeds())
def test_one_hot_fields_have_at_most_one_one(rules: Rules, seed: int) -> None:
    pair = play_case(seed, rules)
    layout = Layout.of(rules)
    for viewer in range(rules.seats):
        vector = vector_of(pair, viewer, layout)
        for field in layout.fields():
            numbers = layout.view(vector, field.name)
            if field.encoding != "share":
                assert set(np.unique(numbers)) <= {0, 1}
            if field.encoding == "one-hot":
                ones = numbers.sum(axis=-1) if field.width > 1 else numbers.sum()
                assert np.max(ones) <= 1


def test_ranks_are_labelled_in_the_order_of_the_cards() -> None:
    table = Position("chase-the-ace", "Ac Kh Td")
    names = Layout.of(table.rules).names()
    for viewer, rank in enumerate(("ace", "king", "ten")):
        vector = vector_of(table.pair, viewer)
        assert vector[names.index(f"known[0,{rank}]")] == 1
    assert len(RANK_NAMES) == len(RANKS)
