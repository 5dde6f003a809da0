"""A game as text: the table as one seat sees it, and what has happened since it last chose."""

from __future__ import annotations

from collections.abc import Sequence

from cuckoo_env.cards import card_symbol, parse_card
from cuckoo_env.events import sentence
from cuckoo_env.game import SeatView, View


def render(view: View, names: Sequence[str] = ()) -> str:
    """The view as lines of text.

    Args:
        view: what a seat may see; nothing else is shown.
        names: what to call each seat; by default ``seat 0``, ``seat 1`` ….
    """
    story = [sentence(event, view.viewer, names) for event in view.news]
    labels = names or [f"seat {seat}" for seat in range(len(view.seats))]
    told = ["", *story] if story else []
    return "\n".join([_headline(view), *_table(view, labels), *told, *_footer(view, labels)])


def _headline(view: View) -> str:
    parts = [str(view.rules), f"round {view.round}", f"pot {view.pot:g}"]
    if view.stock is not None:
        parts.append(f"{_symbol(view.stock)} turned from the stock")
    if not view.trading:
        parts.append("no trading")
    return " | ".join(parts)


def _table(view: View, names: Sequence[str]) -> list[str]:
    rows = [("seat", "card", "lives", "turn")]
    rows += [
        (_label(view, seat, names), _card(each), str(each.lives), _turn(view, seat))
        for seat, each in enumerate(view.seats)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _label(view: View, seat: int, names: Sequence[str]) -> str:
    return f"{names[seat]} (you)" if seat == view.viewer else names[seat]


def _card(each: SeatView) -> str:
    if each.card is not None:
        return _symbol(each.card) + ("!" if each.shown else "")
    return "?" if each.lives > 0 else "-"


def _turn(view: View, seat: int) -> str:
    each = view.seats[seat]
    if view.result is None and each.lives == 0:
        return "out"
    words = [each.outcome] if each.outcome != "waiting" else []
    if seat == view.acts:
        words.append("to act" if seat == view.turn else "to answer")
    if seat == view.dealer:
        words.append("dealer")
    return ", ".join(words)


def _footer(view: View, names: Sequence[str]) -> list[str]:
    """What the viewer may do, or how the game ended."""
    if view.legal:
        return ["", f"Legal: {', '.join(view.legal)}."]
    if view.result is None:
        return []
    returns = [
        f"{name} {payoff:+g}" for name, payoff in zip(names, view.result.payoffs, strict=True)
    ]
    return ["", f"Returns: {', '.join(returns)}."]


def _symbol(card: str) -> str:
    return card_symbol(parse_card(card))
