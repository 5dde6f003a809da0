"""Observation vectors in words: what each number says, and what the seat that sees it knows.

The words follow the fields of :data:`cuckoo_env.observation.FIELDS`, number by number; offsets and names come
from the layout alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import RANK_NAMES
from cuckoo_env.events import listed
from cuckoo_env.observation import Field, Layout
from cuckoo_env.rules import Rules


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """One number of an observation.

    Attributes:
        index: its place in the vector.
        name: its name, as in :meth:`~cuckoo_env.observation.Layout.names`.
        value: from 0 to 1.
        words: what it says, as a clause: of a number that is 0, what is not so.
    """

    index: int
    name: str
    value: float
    words: str


def layout_for(
    rules: Rules, numbers: int, *, max_seats: int | None = None, with_rules: bool | None = None
) -> Layout:
    """The layout of vectors of so many numbers.

    Args:
        rules: the rules of the table.
        numbers: how many numbers a vector has.
        max_seats: seats the vector has room for; by default as many as the rules.
        with_rules: whether it carries the rules; None: whichever fits.

    Raises:
        ValueError: if there is none.
    """
    tried = [False, True] if with_rules is None else [with_rules]
    layouts = [Layout.of(rules, max_seats=max_seats, with_rules=each) for each in tried]
    for layout in layouts:
        if layout.size == numbers:
            return layout
    accepted = " or ".join(
        f"{each.size}{' with the rules in it' if each.with_rules else ''}" for each in layouts
    )
    raise ValueError(
        f"vector: {numbers} numbers are refused; "
        f"accepted: {accepted}, for {layouts[0].max_seats} seats"
    )


def decode(
    layout: Layout, vector: Sequence[float] | npt.NDArray[Any], rules: Rules | None = None
) -> list[Number]:
    """What every number of an observation says.

    Args:
        layout: its layout.
        vector: the observation, (layout.size,) numbers from 0 to 1.
        rules: the rules of the table, to count lives and rounds, which the vector has as shares.

    Raises:
        ValueError: for a vector of another size, or with a number out of range.

    Example:
        >>> from cuckoo_env.game import Game
        >>> game = Game("practice-table", seed=3)
        >>> layout = Layout.of(game.rules)
        >>> numbers = decode(layout, game.observe(0)[0], game.rules)
        >>> [each.words for each in numbers if each.value][:2]
        ['you hold a two', 'you have 3 lives']
    """
    values = _checked(layout, vector)
    names, numbers = layout.names(), []
    for field in layout.fields():
        start = layout.slices[field.name].start
        for k in range(layout.length(field)):
            value = float(values[start + k])
            words = _clause(field, k, names[start + k], value, rules)
            numbers.append(
                Number(
                    index=start + k,
                    name=names[start + k],
                    value=value,
                    words=words if value or field.encoding == "share" else f"not: {words}",
                )
            )
    return numbers


def describe(
    layout: Layout, vector: Sequence[float] | npt.NDArray[Any], rules: Rules | None = None
) -> list[str]:
    """What the seat that sees an observation knows, in sentences.

    Args:
        layout: its layout.
        vector: the observation, (layout.size,) numbers from 0 to 1.
        rules: the rules of the table, to count lives and rounds, which the vector has as shares.

    Raises:
        ValueError: for a vector of another size, or with a number out of range.
    """
    values = _checked(layout, vector)
    told = [
        each.words
        for each in decode(layout, values, rules)
        if each.value and not each.name.startswith("in_play")
    ]
    known = layout.view(values, "known").any(axis=-1)
    plays = layout.view(values, "in_play")[:, 0] > 0
    hidden = [who(seat) for seat in np.flatnonzero(plays & ~known).tolist()]
    if hidden:
        told.append(f"not known: the cards of {listed(hidden)}")
    return [f"{each[0].upper()}{each[1:]}." for each in told]


def who(seat: int) -> str:
    """A seat, as its viewer speaks of it.

    >>> who(0), who(1), who(2), who(3), who(21)
    ('you', 'your left neighbour', 'the 2nd on your left', 'the 3rd on your left', 'the 21st on your left')
    """
    if seat < 2:
        return ("you", "your left neighbour")[seat]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(seat % 10 if seat // 10 % 10 != 1 else 0, "th")
    return f"the {seat}{ending} on your left"


def _checked(layout: Layout, vector: Sequence[float] | npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    try:
        values = np.asarray(vector, np.float32)
    except (TypeError, ValueError):
        raise ValueError("vector: refused; accepted: a list of numbers") from None
    if values.shape != (layout.size,):
        raise ValueError(
            f"vector: shape {values.shape} is refused; accepted: {layout.size} numbers,"
            f" for {layout.max_seats} seats"
        )
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        at = int(wrong[0])
        raise ValueError(
            f"vector: {values[at]:g} at index {at} ({layout.names()[at]}) is refused;"
            " accepted: numbers from 0 to 1"
        )
    return values


def _says(seat: int, you: str, others: str) -> str:
    return f"{who(seat)} {you if seat == 0 else others}"


def _whose(seat: int) -> str:
    return "your" if seat == 0 else f"{who(seat)}'s"


def _card(number: int) -> str:
    name = RANK_NAMES[number]
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


# One clause a field: from the seat, the number inside its block, its label, and the value.
_Clause = Callable[[int, int, str, float], str]
_CLAUSES: Final[Mapping[str, _Clause]] = {
    "known": lambda seat, number, _, __: _says(seat, "hold", "holds") + " " + _card(number),
    "shown": lambda seat, _, __, ___: f"{_whose(seat)} card lies open for all",
    "outcome": lambda seat, _, label, __: f"{_whose(seat)} turn: {label}",
    "lives": lambda seat, _, __, value: (
        f"{_says(seat, 'have', 'has')} {value:.0%} of the lives at the start"
    ),
    "in_play": lambda seat, _, __, ___: _says(seat, "are", "is") + " still in",
    "dealer": lambda seat, _, __, ___: _says(seat, "deal", "deals"),
    "turn": lambda seat, _, __, ___: f"it is {_whose(seat)} turn",
    "acts": lambda seat, _, __, ___: _says(seat, "are", "is") + " to act",
    "stock": lambda _, number, __, ___: f"{_card(number)} was turned from the stock and not taken",
    "trading": lambda _, __, ___, ____: "trading is allowed",
    "rounds_left": lambda _, __, ___, value: f"{value:.0%} of the rounds are left",
    "carried": lambda _, __, ___, value: f"{value:.0%} of the pot is carried over",
    "rule_choices": lambda _, __, label, ___: f"the rules say {label}",
    "rule_numbers": lambda _, __, label, value: f"the rules say {label} = {value:.4g}",
}


def _clause(field: Field, k: int, name: str, value: float, rules: Rules | None) -> str:
    """What a number says if it is not zero."""
    seat, number = divmod(k, field.width)
    if rules is not None and field.name == "lives":
        return f"{_says(seat, 'have', 'has')} {_counted(value * rules.lives, 'life', 'lives')}"
    if rules is not None and field.name == "rounds_left" and rules.max_rounds:
        return f"{_counted(value * rules.max_rounds, 'round', 'rounds')} left at most"
    label = name.rpartition("[")[2].rstrip("]").rpartition(",")[2]
    return _CLAUSES[field.name](seat, number, label, value)


def _counted(number: float, one: str, many: str) -> str:
    return f"{round(number)} {one if round(number) == 1 else many}"
