"""The story of a game: what can happen, who may see the cards of it, and how it is told.

The engine notes everything that happens as a row of small numbers. :data:`KINDS` is the vocabulary:
one entry a kind of event, in the order of the engine's codes, with the meaning of the columns, who
may see the cards, and the sentences that tell it. Text, infos, records and logs are all told from
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from cuckoo_env.cards import PACK, card_symbol, card_text, parse_card

CARD_TEXTS: Final = tuple(card_text(card) for card in range(PACK))
"""Every card in record notation, by its number."""


class Sees(Enum):
    """Who may see the cards of an event."""

    ALL = "all"
    SEAT = "seat"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of event.

    Attributes:
        name: what it is called in infos and records.
        columns: what the engine's columns after the kind mean, in their order.
        cards: who may see the cards: everyone, the event's seat, or both of its seats.
        told: the sentence, for those who see the cards.
        told_hidden: the sentence for the others; empty where everyone sees the cards.
        told_undone: the sentence where what follows undoes it; empty where nothing can.
    """

    name: str
    columns: tuple[str, ...]
    cards: Sees = Sees.ALL
    told: str
    told_hidden: str = ""
    told_undone: str = ""


def _kind(
    name: str,
    columns: str,
    told: str,
    *,
    cards: Sees = Sees.ALL,
    hidden: str = "",
    undone: str = "",
) -> Kind:
    return Kind(
        name=name,
        columns=tuple(columns.split()),
        cards=cards,
        told=told,
        told_hidden=hidden,
        told_undone=undone,
    )


# In the sentences, [keep|keeps] is what is said of the viewer and of anybody else.
KINDS: Final = (
    _kind("dealer_cut", "seat - card", "{seat} [cut|cuts] {card} for the deal."),
    _kind("round", "seat", "A new round: {seat} [deal|deals]."),
    _kind(
        "dealt",
        "seat - card",
        "{seat} [get|gets] {card}.",
        cards=Sees.SEAT,
        hidden="{seat} [get|gets] a card.",
    ),
    _kind("turned_up", "seat - card", "{seat} [turn|turns] up {card}."),
    _kind("no_trading", "", "There is no more trading on this deal."),
    _kind("kept", "seat", "{seat} [keep|keeps]."),
    _kind("asked", "seat other", "{seat} [ask|asks] {other} to swap."),
    _kind("showed", "seat - card", "{seat} [show|shows] {card}."),
    _kind("paid", "seat", "{seat} [pay|pays] a life to refuse."),
    _kind(
        "swapped",
        "seat other card other_card",
        "{seat} [swap|swaps] with {other}, {other_card} for {card}.",
        cards=Sees.BOTH,
        hidden="{seat} [swap|swaps] with {other}.",
    ),
    _kind(
        "drew",
        "seat - card",
        "{seat} [draw|draws] {card} from the stock.",
        cards=Sees.SEAT,
        hidden="{seat} [draw|draws] a card from the stock.",
    ),
    _kind(
        "stock_showed",
        "seat - card",
        "{seat} [turn|turns] {card} from the stock and may not take it.",
    ),
    _kind("skipped", "seat", "{seat} [lose|loses] the turn, having been made to swap."),
    _kind("revealed", "seat - card", "{seat} [reveal|reveals] {card}."),
    _kind(
        "lost",
        "seat count",
        "{seat} [lose|loses] {count}.",
        undone="{seat} would lose {count}.",
    ),
    _kind("final_tie", "", "Everyone still in would go out at once."),
    _kind("final_cut", "seat - card", "{seat} [cut|cuts] {card} to decide who wins."),
    _kind("carried", "", "Nobody wins: all come back for a new game."),
    _kind("out", "seat", "{seat} [are|is] out."),
    _kind("won", "seat", "{seat} [win|wins]."),
    _kind("truncated", "", "The game is stopped: the limit of rounds is reached."),
    _kind("misdealt", "", "The deal was incorrect and is repeated."),
)
"""The vocabulary, in the order of the engine's event codes."""

KIND_OF: Final = {kind.name: kind for kind in KINDS}
"""The vocabulary by name."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; fields that its kind has no use for are None.

    Attributes:
        event: the name of its kind, a key of :data:`KIND_OF`.
        seat: the seat that did it or that it happened to.
        other: the seat that was asked.
        count: the lives that were lost.
        card: the card, in record notation; of a swap, the one ``seat`` holds afterwards.
        other_card: of a swap, the card that ``other`` holds afterwards.

    Example:
        >>> swap = Event("swapped", seat=0, other=1, card="9h", other_card="2c")
        >>> swap.seen_by(2).plain()
        {'event': 'swapped', 'seat': 0, 'other': 1}
        >>> sentence(swap, viewer=1)
        'Seat 0 swaps with you, 2♣ for 9♥.'
    """

    event: str
    seat: int | None = None
    other: int | None = None
    count: int | None = None
    card: str | None = None
    other_card: str | None = None

    def seen_by(self, viewer: int) -> Event:
        """The event as a seat may see it: cards that are not its to see are None."""
        if self._shows_cards_to(viewer):
            return self
        return replace(self, card=None, other_card=None)

    def _shows_cards_to(self, viewer: int) -> bool:
        match KIND_OF[self.event].cards:
            case Sees.SEAT:
                return viewer == self.seat
            case Sees.BOTH:
                return viewer in {self.seat, self.other}
            case Sees.ALL:
                return True

    def plain(self) -> dict[str, Any]:
        """The event as a dict of text and whole numbers, without the fields that are None."""
        fields = {
            "event": self.event,
            "seat": self.seat,
            "other": self.other,
            "count": self.count,
            "card": self.card,
            "other_card": self.other_card,
        }
        return {name: value for name, value in fields.items() if value is not None}


def decode(row: Sequence[int]) -> Event:
    """The event that a row of the engine's log stands for."""
    kind = KINDS[row[0]]
    values: dict[str, Any] = {}
    for column, value in zip(kind.columns, row[1:], strict=False):
        if column in {"card", "other_card"}:
            values[column] = CARD_TEXTS[value]
        elif column != "-":
            values[column] = value
    return Event(kind.name, **values)


def listed(words: Sequence[str]) -> str:
    """Words in a row, at least one: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def losses_stand(happened: Iterable[Event]) -> bool:
    """Whether the lives that were lost in a round are really lost.

    They are not where everyone still in would have gone out, and nobody wins for that.

    Args:
        happened: what happened in the round.
    """
    kinds = {event.event for event in happened}
    return "final_tie" not in kinds or "won" in kinds


def sentence(
    event: Event, viewer: int | None = None, names: Sequence[str] = (), *, stands: bool = True
) -> str:
    """The event in words, told to one seat or, with no viewer, to anybody.

    Cards are told where the event has them: pass it through :meth:`Event.seen_by` first.

    Args:
        event: what happened.
        viewer: the seat that is told "you".
        names: what to call each seat; by default ``seat 0``, ``seat 1`` ….
        stands: whether it is not undone by what follows (:func:`losses_stand`).
    """
    kind = KIND_OF[event.event]
    needs_card = "card" in kind.columns
    template = kind.told_hidden if needs_card and event.card is None else kind.told
    if not stands and kind.told_undone:
        template = kind.told_undone
    template = _VERB.sub(r"\1" if event.seat == viewer else r"\2", template)
    told = template.format(
        seat=_name(event.seat, viewer, names),
        other=_name(event.other, viewer, names),
        card=_symbol(event.card),
        other_card=_symbol(event.other_card),
        count="a life" if event.count == 1 else f"{event.count} lives",
    )
    # A name is written as it was given.
    starts_with_name = bool(names) and event.seat != viewer and template.startswith("{seat}")
    return told if starts_with_name else told[0].upper() + told[1:]


_VERB: Final = re.compile(r"\[(\w+)\|(\w+)\]")


def _name(seat: int | None, viewer: int | None, names: Sequence[str]) -> str:
    if seat is None:
        return ""
    if seat == viewer:
        return "you"
    return names[seat] if names else f"seat {seat}"


def _symbol(card: str | None) -> str:
    return "" if card is None else card_symbol(parse_card(card))


def story(
    events: Iterable[Event], viewer: int | None = None, names: Sequence[str] = ()
) -> list[str]:
    """A sentence for each event, with only the cards that the viewer may see.

    Args:
        events: what happened, oldest first.
        viewer: the seat it is told to; None tells everything, hidden cards too.
        names: what to call each seat.
    """
    if viewer is None:
        return [sentence(event, None, names) for event in events]
    return [sentence(event.seen_by(viewer), viewer, names) for event in events]
