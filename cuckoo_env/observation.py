"""What a seat sees, as one table of fields.

:data:`FIELDS` is the layout: one row a field, in the order of the flat vector. Offsets, the space, encoding,
decoding and the documentation are derived from it. Seats are relative to the viewer: 0 is the viewer,
1 its left neighbour (the next seat in the direction of play), and so on, so one policy can play every seat.

Encoding reads the viewer's own column of ``known`` and public fields of the game, nothing else. ``known``
follows every card through public swaps, so within a round the vector tells everything the seat has
legally seen (perfect recall); across rounds play depends only on lives, dealer, pot and rounds left, which
are public and in it too.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import N_RANKS, RANK_NAMES
from cuckoo_env.compiled import entry, helper, inlined
from cuckoo_env.engine import (
    N_ACTIONS,
    NO_CARD,
    NOBODY,
    OUTCOME_NAMES,
    SWAP,
    legal_actions,
    rank_of_card,
    round_the_table,
)
from cuckoo_env.rules import AXES, Rules, RulesError

N_OUTCOMES: Final = len(OUTCOME_NAMES) - 1
"""Outcomes of a turn that are encoded one-hot; "waiting" is all zeros."""
_RANKS, _OUTCOMES = np.uint64(N_RANKS), np.uint64(N_OUTCOMES)
RULES_IN_VECTOR: Final = tuple(
    name for name in AXES if name != "direction"
)  # relative seats absorb the direction of play
N_RULE_CHOICES: Final = sum(len(AXES[name]) for name in RULES_IN_VECTOR)
N_RULE_NUMBERS: Final = 4


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of the observation.

    Attributes:
        name: what tests and documentation call it.
        per_seat: whether there is one block for every seat of the layout, in relative order.
        width: numbers in the field, or in one seat's block.
        encoding: ``one-hot``, ``flag`` or ``share`` (a number from 0 to 1).
        private: whether it differs between viewers beyond the order of the seats.
        meaning: one line for the documentation.
        only_with_rules: whether it is there only in layouts that carry the rules.
    """

    name: str
    per_seat: bool
    width: int
    encoding: str
    private: bool
    meaning: str
    only_with_rules: bool = False


FIELDS: Final = (
    Field(
        name="known",
        per_seat=True,
        width=N_RANKS,
        encoding="one-hot",
        private=True,
        meaning="the rank (ace to king) the viewer knows the seat to hold; seat 0 is its own card",
    ),
    Field(
        name="shown",
        per_seat=True,
        width=1,
        encoding="flag",
        private=False,
        meaning="the card the seat holds has been shown to all, and everybody could follow it",
    ),
    Field(
        name="outcome",
        per_seat=True,
        width=N_OUTCOMES,
        encoding="one-hot",
        private=False,
        meaning="what became of the seat's turn in this round; all zeros while it waits",
    ),
    Field(
        name="lives",
        per_seat=True,
        width=1,
        encoding="share",
        private=False,
        meaning="lives left, divided by the lives at the start; at most 1",
    ),
    Field(
        name="in_play",
        per_seat=True,
        width=1,
        encoding="flag",
        private=False,
        meaning="the seat has lives left; zero for seats beyond the table",
    ),
    Field(
        name="dealer",
        per_seat=True,
        width=1,
        encoding="one-hot",
        private=False,
        meaning="the seat that deals, and so plays last",
    ),
    Field(
        name="turn",
        per_seat=True,
        width=1,
        encoding="one-hot",
        private=False,
        meaning="the seat whose turn it is; all zeros when the game is over",
    ),
    Field(
        name="acts",
        per_seat=True,
        width=1,
        encoding="one-hot",
        private=False,
        meaning="the seat to act: the one above, or the one it asks; all zeros when the game is over",
    ),
    Field(
        name="stock",
        per_seat=False,
        width=N_RANKS,
        encoding="one-hot",
        private=False,
        meaning="the rank shown from the stock and not taken",
    ),
    Field(
        name="trading",
        per_seat=False,
        width=1,
        encoding="flag",
        private=False,
        meaning="trading is allowed: no king has stopped this deal",
    ),
    Field(
        name="rounds_left",
        per_seat=False,
        width=1,
        encoding="share",
        private=False,
        meaning="rounds left before truncation, divided by max_rounds; zero without a limit",
    ),
    Field(
        name="carried",
        per_seat=False,
        width=1,
        encoding="share",
        private=False,
        meaning="the part of the pot beyond one stake from each seat: carried over from undecided games",
    ),
    Field(
        name="rule_choices",
        per_seat=False,
        width=N_RULE_CHOICES,
        encoding="one-hot",
        private=False,
        meaning="the rules: one one-hot block an axis, in the order " + ", ".join(RULES_IN_VECTOR),
        only_with_rules=True,
    ),
    Field(
        name="rule_numbers",
        per_seat=False,
        width=N_RULE_NUMBERS,
        encoding="share",
        private=False,
        meaning="the rules: 1/seats, 1/lives, 1/decks, and 1/max_rounds (zero without a limit)",
        only_with_rules=True,
    ),
)
"""The observation, field by field, in the order of the vector."""

LAYOUT_VERSION: Final = 1
"""Raised with every change to what a vector means; policy files carry it."""

_OFFSET_NAMES: Final = tuple(field.name for field in FIELDS)
OFFSETS: Final = np.dtype(
    (
        np.record,
        np.dtype(
            [("max_seats", "i4"), ("numbers", "i4"), *((name, "i4") for name in _OFFSET_NAMES)]
        ),
    )
)
"""A layout for compiled code: how many numbers it has (not "size", which is NumPy's own word for the items of
a record), and where each field starts (-1: not there)."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The shape of a vector: how many seats it has room for, and whether it carries the rules.

    Attributes:
        max_seats: seats there is room for; seats beyond the table are all zeros.
        with_rules: whether the rules are part of the vector, for a policy that plays several rule sets.
        n_actions: size of the action space, 2 or 5.
    """

    max_seats: int
    with_rules: bool = False
    n_actions: int = N_ACTIONS

    @classmethod
    def of(
        cls,
        rules: Rules,
        *,
        max_seats: int | None = None,
        with_rules: bool = False,
        n_actions: int | None = None,
    ) -> Layout:
        """The layout for one rule set: as small as it can be unless told otherwise.

        Raises:
            RulesError: if the layout has too few seats or actions for the rules.
        """
        least = N_ACTIONS if rules.has_responses else SWAP + 1
        if max_seats is not None and max_seats < rules.seats:
            raise RulesError(f"max_seats: {max_seats} is refused; accepted: {rules.seats} or more")
        if n_actions is not None and n_actions not in {least, N_ACTIONS}:
            accepted = " or ".join(str(each) for each in sorted({least, N_ACTIONS}))
            raise RulesError(f"n_actions: {n_actions} is refused; accepted: {accepted}")
        return cls(
            max_seats=max_seats or rules.seats, with_rules=with_rules, n_actions=n_actions or least
        )

    def fields(self) -> tuple[Field, ...]:
        """The fields of this layout."""
        return tuple(field for field in FIELDS if self.with_rules or not field.only_with_rules)

    def length(self, field: Field) -> int:
        """Numbers that a field takes up."""
        return field.width * (self.max_seats if field.per_seat else 1)

    @functools.cached_property
    def slices(self) -> dict[str, slice]:
        """Where each field lies in the vector."""
        at, slices = 0, {}
        for field in self.fields():
            slices[field.name] = slice(at, at + self.length(field))
            at += self.length(field)
        return slices

    @property
    def size(self) -> int:
        """Numbers in the vector."""
        return sum(self.length(field) for field in self.fields())

    def view(self, vector: npt.NDArray[np.float32], name: str) -> npt.NDArray[np.float32]:
        """A field of a vector or of a batch of them: (…, width), or (…, max_seats, width) per seat."""
        field = next(field for field in self.fields() if field.name == name)
        part = vector[..., self.slices[name]]
        return (
            part.reshape(*vector.shape[:-1], self.max_seats, field.width)
            if field.per_seat
            else part
        )

    @functools.cached_property
    def offsets(self) -> npt.NDArray[np.void]:
        """The layout as an array of one :data:`OFFSETS` record."""
        row = np.zeros(1, OFFSETS)
        row["max_seats"], row["numbers"] = self.max_seats, self.size
        for name in _OFFSET_NAMES:
            row[name] = self.slices[name].start if name in self.slices else -1
        return row

    def names(self) -> list[str]:
        """A name for every number of the vector, such as ``known[1,king]`` or ``trading``."""
        return [
            _number_name(field, k) for field in self.fields() for k in range(self.length(field))
        ]


def rules_section(rules: Rules) -> npt.NDArray[np.float32]:
    """The numbers that tell a policy which rules it plays by: the last two fields of the layout."""
    choices = [
        float(getattr(rules, name) is value) for name in RULES_IN_VECTOR for value in AXES[name]
    ]
    numbers = [
        1 / rules.seats,
        1 / rules.lives,
        1 / rules.decks,
        1 / rules.max_rounds if rules.max_rounds else 0.0,
    ]
    return np.array(choices + numbers, np.float32)


def sections_of(layout: Layout, rules: tuple[Rules, ...]) -> npt.NDArray[np.float32]:
    """The rules sections for compiled code: (rule sets, numbers), no numbers where the layout has none."""
    if not layout.with_rules:
        return np.zeros((len(rules), 0), np.float32)
    return np.stack([rules_section(each) for each in rules])


def _number_name(field: Field, k: int) -> str:
    seat, number = divmod(k, field.width)
    inside = [str(seat)] if field.per_seat else []
    if field.width > 1:
        inside.append(_label(field, number))
    return f"{field.name}[{','.join(inside)}]" if inside else field.name


def _label(field: Field, number: int) -> str:
    labels: dict[str, list[str]] = {
        "known": list(RANK_NAMES),
        "stock": list(RANK_NAMES),
        "outcome": list(OUTCOME_NAMES[1:]),
        "rule_choices": [f"{name}={value}" for name in RULES_IN_VECTOR for value in AXES[name]],
        "rule_numbers": ["1/seats", "1/lives", "1/decks", "1/max_rounds"],
    }
    return labels[field.name][number]


# ---------------------------------------------------------------------------------------------------
# Encoding


@inlined
def encode(g: Any, r: Any, layout: Any, sections: Any, viewer: int, out: Any, row: int) -> None:
    """Write what ``viewer`` sees of the game into ``out[row]``, a float32 vector of the layout."""
    # A zero that the compiler does not see through: it would call memset, which takes longer than this.
    zero = float(int(int(layout.known) < 0))
    for k in range(np.uint64(layout.numbers)):
        out[np.uint64(row), k] = zero
    _encode_seats(g, r, layout, viewer, out, row)
    if int(g.stock) != NO_CARD:
        out[row, int(layout.stock) + rank_of_card(int(g.stock)) - 1] = 1.0
    if g.trading:
        out[np.uint64(row), np.uint64(layout.trading)] = 1.0
    if int(r.max_rounds) > 0:
        out[row, int(layout.rounds_left)] = (int(r.max_rounds) - int(g.rounds)) / int(r.max_rounds)
    pot = _pot(g, r)
    if pot > int(r.seats):
        out[row, int(layout.carried)] = 1.0 - int(r.seats) / pot
    for k in range(sections.shape[1]):
        out[row, int(layout.rule_choices) + k] = sections[int(g.rules), k]


@inlined
def _encode_seats(g: Any, r: Any, layout: Any, viewer: int, out: Any, row: int) -> None:
    """The blocks of the seats, from the viewer on in the direction of play."""
    # Local copies: the compiler cannot know that writing to `out` leaves the records alone.
    seats, step, a_life = int(r.seats), int(r.step), float(r.a_life)
    known, outcome = np.uint64(layout.known), np.uint64(layout.outcome)
    shown, lives, in_play = (
        np.uint64(layout.shown), np.uint64(layout.lives), np.uint64(layout.in_play)
    )  # fmt: skip
    # Unsigned, for every signed index is checked for counting from the end.
    line, me = np.uint64(row), np.uint64(viewer)
    at = viewer
    for relative in range(np.uint64(seats)):
        seat = np.uint64(at)
        rank, result, left = int(g.known[seat, me]), int(g.outcome[seat]), int(g.lives[seat])
        # Without branches, which would be guessed wrong half of the time.
        is_known, has_result = int(rank > 0), int(result > 0)
        out[line, known + relative * _RANKS + np.uint64(rank - is_known)] = float(is_known)
        out[line, outcome + relative * _OUTCOMES + np.uint64(result - has_result)] = float(
            has_result
        )
        out[line, shown + relative] = float(g.shown[seat])
        # A position may give a seat more lives than a game starts with; the vector stays within 1.
        out[line, lives + relative] = min(left * a_life, 1.0)
        out[line, in_play + relative] = float(int(left > 0))
        at = round_the_table(at + step, seats)
    out[line, np.uint64(int(layout.dealer) + _relative(r, viewer, int(g.dealer)))] = 1.0
    if int(g.seat) != NOBODY:
        out[line, np.uint64(int(layout.turn) + _relative(r, viewer, int(g.turn)))] = 1.0
        out[line, np.uint64(int(layout.acts) + _relative(r, viewer, int(g.seat)))] = 1.0


@helper
def _relative(r: Any, viewer: int, seat: int) -> int:
    """How many seats further on, in the direction of play, a seat sits from the viewer."""
    return round_the_table((seat - viewer) * int(r.step), int(r.seats))


@helper
def _pot(g: Any, r: Any) -> int:
    """The stakes in the pot."""
    pot = 0
    for seat in range(int(r.seats)):
        pot += int(g.staked[seat])
    return pot


@inlined
def write_mask(g: Any, r: Any, out: Any, row: int) -> None:
    """Write the legal actions of the seat to act into ``out[row]``, as 0 and 1."""
    legal = legal_actions(g, r)
    for action in range(np.uint64(out.shape[1])):
        out[np.uint64(row), action] = np.uint64(legal) >> action & np.uint64(1)


@inlined
def observation_key(observation: Any, row: int) -> Any:
    """A key of an observation: 64 bits mixed from the places and values of the numbers that are not zero.

    The mixing is SplitMix64's finaliser. Among a million observations, two share a key with odds of one
    in forty million.
    """
    key = np.uint64(0)
    for k in range(observation.shape[1]):
        if observation[row, k] != 0.0:
            z = key + np.uint64(k + 1) * np.uint64(0x9E3779B97F4A7C15)
            z += np.uint64(observation[row, k] * 1048576.0)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            key = z ^ (z >> np.uint64(31))
    return key


@entry
def observe(
    games: Any,
    rules: Any,
    layout: Any,
    sections: Any,
    i: int,
    viewer: int,
    observation: Any,
    mask: Any,
) -> None:
    """Write what ``viewer`` sees of game ``i`` into row 0 of ``observation``, and its mask.

    The mask is all zeros for a seat that is not to act.
    """
    g = games[i]
    r = rules[g.rules]
    encode(g, r, layout[0], sections, viewer, observation, 0)
    if int(g.seat) == viewer:
        write_mask(g, r, mask, 0)
    else:
        for action in range(mask.shape[1]):
            mask[0, action] = 0
