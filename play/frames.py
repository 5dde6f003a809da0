"""What happened, frame by frame: each event with the table as it then looks to one seat.

Everything that shows a game to a person (the page, lessons, the replay) is shown frames. A frame is one
event, told, and the *view* after it; both are plain data, ready for JSON. Between two decisions the
view is folded from the events, which say what a seat may see; at every decision it is read off
:meth:`Game.view <cuckoo_env.game.Game.view>`, so no rule of the game is written here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from cuckoo_env import events, explain
from cuckoo_env.cards import JACK, KING, QUEEN, card_symbol, parse_card, rank_of
from cuckoo_env.engine import (
    ASKED,
    BLOCKED,
    DREW,
    KEPT,
    LOST_TURN,
    NOBODY,
    OUTCOME_NAMES,
    RE_ASKED,
    REDIRECTS,
    REFUSED,
    STOCK_BLOCKED,
    SWAPPED,
    TWO_QUEENS,
    WAITING,
    compile_rules,
)
from cuckoo_env.evaluate.match import turn_order
from cuckoo_env.events import Event
from cuckoo_env.game import Game
from cuckoo_env.rules import Pairs, Rules

JsonObject = dict[str, Any]

_AXIS_OF_RANK: Final = {KING: "king", QUEEN: "queen", JACK: "jack"}
_OF_THE_TURN: Final = ("kept", "asked", "swapped", "drew", "stock_showed", "skipped")
"""The events whose seat is the one whose turn it is."""
_DIGITS: Final = 12
"""Digits of an amount: all that it can have at a table, and none that only stand for rounding."""
_AT_THE_REVEAL: Final = ("revealed", "lost", "final_tie", "final_cut", "carried", "out", "won")


def view(game: Game, viewer: int | None) -> JsonObject:
    """The table as a seat may see it now.

    Args:
        game: the game.
        viewer: the seat that looks; None sees every card, for games that are over and for lessons.

    Returns:
        ``round``, ``dealer``, ``turn`` and ``acts`` (seats, or None), ``trading``, ``stock`` (the
        card shown from the stock, or None), ``pot`` (None where none is played for), and ``seats``:
        for each ``card`` (None where
        the viewer does not know it), ``holds`` (whether it holds a card), ``shown`` (it lies open
        for all), ``known`` (it lies face down, but the viewer has seen it), ``lives``,
        ``max_lives``, ``in`` and ``outcome`` (of its turn in this round, as in
        ``engine.OUTCOME_NAMES``); and ``order``, the seats in the order of their turns in this round.
    """
    seen = game.view(0 if viewer is None else viewer)
    if viewer is None:
        cards = [game.view(seat).seats[seat].card for seat in range(game.rules.seats)]
    else:
        cards = [each.card for each in seen.seats]
    return {
        "round": seen.round,
        "dealer": seen.dealer,
        "order": _order_of_play(game),
        "turn": seen.turn,
        "acts": seen.acts,
        "trading": seen.trading,
        "stock": seen.stock,
        "pot": money(seen.pot) if explain.has_pot(game.rules) else None,
        "seats": [
            {
                "card": card,
                "holds": card is not None or each.lives > 0,
                "shown": each.shown,
                "known": card is not None and not each.shown,
                "lives": each.lives,
                "max_lives": max(each.lives, game.rules.lives),
                "in": each.lives > 0,
                "outcome": each.outcome,
            }
            for card, each in zip(cards, seen.seats, strict=True)
        ],
    }


def money(amount: float) -> float:
    """An amount as it was meant: three stakes of 0.1 are 0.3, and not 0.30000000000000004."""
    return float(f"{amount:.{_DIGITS}g}")


def _order_of_play(game: Game) -> list[int]:
    """The seats still in, in the order of their turns; nobody when the game is over."""
    if game.seat is None:
        return []
    order = np.full(game.rules.seats, NOBODY, np.int64)
    turn_order(game._games, game._table, order)
    return [int(seat) for seat in order if seat != NOBODY]


def hints(game: Game, names: Sequence[str]) -> dict[str, str]:
    """What the seat to act is told of its choices: with whom it would swap, or from where.

    The engine says so when it is tried: what a swap begins with is known to all.

    Args:
        game: the game; it is not changed.
        names: what to call each seat.

    Returns:
        By action a few words, such as ``with Robin``; actions that need none are left out.
    """
    if "swap" not in game.legal_actions():
        return {}
    first, *_ = game.copy().act("swap")
    return {"swap": "from the stock" if first.other is None else f"with {names[first.other]}"}


def frames(
    before: Game | None,
    after: Game,
    happened: Sequence[Event],
    viewer: int | None,
    names: Sequence[str],
) -> list[JsonObject]:
    """What happened between two decisions, told to one seat.

    Args:
        before: the game before it; None where the game has only begun.
        after: the game after it.
        happened: what :meth:`Game.act <cuckoo_env.game.Game.act>` returned, with all cards; or all
            of a new game's ``events``. Cards that are not for the viewer are left out here.
        viewer: the seat that is told; None is told everything.
        names: what to call each seat.

    Returns:
        A frame an event: ``event`` (its kind, a key of ``events.KIND_OF``), ``seat``, ``other``,
        ``count``, ``card`` and ``other_card`` (None where there is none, or the viewer may not see
        it), ``text``, ``why`` (one or two sentences of the rules that explain it, or None) and
        ``view`` (see :func:`view`), the table after it; and ``stands``: whether it is not undone by what
        follows, as lives are that everybody would lose at once.
    """
    shows = view(after, viewer)
    start = start_of(shows) if before is None else view(before, viewer)
    return tell(start, shows, happened, after.rules, viewer, names)


def start_of(first: JsonObject) -> JsonObject:
    """The table before the first deal, from the view after it: nobody holds a card."""
    now = _copy(first)
    _clear(now)
    return now


def tell(
    start: JsonObject,
    end: JsonObject,
    happened: Sequence[Event],
    rules: Rules,
    viewer: int | None,
    names: Sequence[str],
) -> list[JsonObject]:
    """As :func:`frames`, from the views before and after.

    Args:
        start: the view before, of the same viewer.
        end: the view after.
        happened: the events between the two, with all cards.
        rules: the rules of the table.
        viewer: the seat that is told; None is told everything.
        names: what to call each seat.
    """
    seen = [each if viewer is None else each.seen_by(viewer) for each in happened]
    scene = Scene(start, end, rules)
    all_stand = events.losses_stand(happened)
    losses = _Losses(seen, rules, viewer, names)
    told = []
    for at, event in enumerate(seen):
        stands = all_stand or event.event != "lost"
        scene.take(event, then=seen[at + 1] if at + 1 < len(seen) else None, stands=stands)
        told.append(
            {
                "event": event.event,
                "seat": event.seat,
                "other": event.other,
                "count": event.count,
                "card": event.card,
                "other_card": event.other_card,
                "text": events.sentence(event, viewer, names, stands=stands),
                "why": losses.why(event) if event.event == "lost" else _why(event, rules),
                "stands": stands,
                "view": _copy(scene.now),
            }
        )
    if told:
        told[-1]["view"] = end
    return told


def _copy(now: JsonObject) -> JsonObject:
    return {**now, "seats": [dict(each) for each in now["seats"]]}


def _clear(now: JsonObject) -> None:
    now.update(turn=None, acts=None, trading=True, stock=None)
    for each in now["seats"]:
        each.update(card=None, holds=False, shown=False, known=False)
        each["outcome"] = OUTCOME_NAMES[WAITING]


class Scene:
    """A view that follows the events from one decision to the next.

    Attributes:
        now: the view.
    """

    def __init__(self, start: JsonObject, end: JsonObject, rules: Rules) -> None:
        """Set the scene.

        Args:
            start: the view before, of one viewer.
            end: the view after, of the same viewer.
            rules: the rules of the table.
        """
        self.now = _copy(start)
        self._end = end
        self._sends_on = _sends_on(rules)

    def take(self, event: Event, then: Event | None, *, stands: bool = True) -> None:
        """Let one more thing happen.

        Args:
            event: what happens, as the viewer may see it.
            then: what happens next, or None.
            stands: whether it is not undone by what follows.
        """
        now, kind = self.now, event.event
        if kind in _OF_THE_TURN:
            now["turn"] = now["acts"] = event.seat
        elif kind in _AT_THE_REVEAL:
            now["turn"] = now["acts"] = None
        match kind:
            case "round":
                _clear(now)
                now.update(dealer=event.seat, round=self._end["round"], order=self._end["order"])
                self._settle()
            case "dealt" | "drew":
                self._hold(event.seat, event.card, shown=False)
            case "turned_up" | "revealed":
                self._hold(event.seat, event.card, shown=True)
            case "no_trading":
                now["trading"] = False
            case "asked":
                now["acts"] = event.other
            case "showed":
                self._hold(event.seat, event.card, shown=True)
            case "stock_showed":
                now["stock"] = event.card
            case "swapped":
                self._swap(event)
            case "paid":
                self._lose(event.seat, 1)
            case "lost" if stands:
                self._lose(event.seat, event.count or 0)
            case "final_tie" | "carried" | "out" | "won" | "truncated":
                self._settle()
        self._note_outcome(event, then)

    def _hold(self, seat: int | None, card: str | None, *, shown: bool) -> None:
        self.now["seats"][seat].update(
            card=card, holds=True, shown=shown, known=card is not None and not shown
        )

    def _swap(self, event: Event) -> None:
        """Cards change hands, and with them whether they lie open and what the viewer knew of them."""
        one, two = self.now["seats"][event.seat], self.now["seats"][event.other]
        for field in ("card", "shown", "known"):
            one[field], two[field] = two[field], one[field]
        for each, card in ((one, event.card), (two, event.other_card)):
            if card is not None:
                each.update(card=card, known=not each["shown"])

    def _lose(self, seat: int | None, count: int) -> None:
        each = self.now["seats"][seat]
        each["lives"] -= count
        each["in"] = each["lives"] > 0

    def _settle(self) -> None:
        """Lives and pot as the reveal has left them: it is over, so they are those at the end."""
        self.now["pot"] = self._end["pot"]
        for each, after in zip(self.now["seats"], self._end["seats"], strict=True):
            each.update(lives=after["lives"], max_lives=after["max_lives"])
            each["in"] = after["in"]

    def _note_outcome(self, event: Event, then: Event | None) -> None:
        """Say what became of the turn."""
        match event.event:
            case "kept":
                self._outcome(KEPT)
            case "skipped":
                self._outcome(LOST_TURN)
            case "drew":
                self._outcome(DREW)
            case "asked":
                self._answer(ASKED)
            case "swapped":
                self._answer(SWAPPED)
            case "paid":
                self._answer(REFUSED)
            case "showed" if _rank(event) not in self._sends_on:
                self._answer(BLOCKED)
            case "stock_showed" if _rank(event) not in self._sends_on:
                self._outcome(STOCK_BLOCKED)
            case "showed" | "stock_showed" if then is not None and then.event == "asked":
                self._outcome(RE_ASKED)
            case "showed":
                self._outcome(TWO_QUEENS)

    def _outcome(self, code: int) -> None:
        turn = self.now["turn"]
        self.now["seats"][turn]["outcome"] = OUTCOME_NAMES[code]

    def _answer(self, code: int) -> None:
        """Outcomes of a request come twice: once more for those made after being sent on."""
        known = OUTCOME_NAMES.index(self.now["seats"][self.now["turn"]]["outcome"])
        sent_on = RE_ASKED <= known < TWO_QUEENS
        self._outcome(code + RE_ASKED - ASKED if sent_on else code)


@functools.lru_cache(maxsize=256)
def _sends_on(rules: Rules) -> frozenset[int]:
    """The ranks that send an asker on."""
    powers = compile_rules(rules)["power"][0].tolist()
    return frozenset(rank for rank, power in enumerate(powers) if power & REDIRECTS)


def _rank(event: Event) -> int:
    """The rank of a card that is shown to all."""
    return rank_of(parse_card(event.card or ""))


# Why


def _why(event: Event, rules: Rules) -> str | None:
    """The sentences of the rules that explain an event; None for what needs no explanation."""
    match event.event:
        case "showed" | "stock_showed" | "turned_up":
            return _says(rules, _AXIS_OF_RANK[_rank(event)])
        case "no_trading":
            return _says(rules, "king")
        case "skipped":
            return _says(rules, "swapped_turn")
        case "paid":
            return _says(rules, "refusal")
        case "final_tie":
            return _says(rules, "final_tie")
        case "truncated":
            return explain.sentences(rules)["max_rounds"]
    return None


def _says(rules: Rules, axis: str) -> str:
    return explain.CHOICES[axis][getattr(rules, axis)]


_NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)


class _Losses:
    """Says of a reveal who lost, with which cards: what happened, not what the rules say of it."""

    def __init__(
        self, seen: Sequence[Event], rules: Rules, viewer: int | None, names: Sequence[str]
    ) -> None:
        self._cards = {each.seat: each.card or "" for each in seen if each.event == "revealed"}
        self._lost = {each.seat: each.count or 0 for each in seen if each.event == "lost"}
        self._pairs_are_safe = rules.pairs is Pairs.SAFE
        self._viewer, self._names = viewer, names

    def why(self, event: Event) -> str:
        """Why somebody lost."""
        most = max(self._lost.values())
        toll = "" if most == 1 else f": {_lives(most)}{' each' if len(self._lost) > 1 else ''}"
        told = f"{self._who_held_it(event.seat)}{toll}."
        had = self._lost[event.seat]
        return told if had == most else f"{told} {self._called(event.seat)} had only {_lives(had)}."

    def _who_held_it(self, loser: int | None) -> str:
        """Who held the card that lost; of several who held it perhaps only one pays."""
        rank = rank_of(parse_card(self._cards[loser]))
        holders = [seat for seat, card in self._cards.items() if rank_of(parse_card(card)) == rank]
        cards = events.listed([card_symbol(parse_card(self._cards[seat])) for seat in holders])
        if self._pairs_are_safe:
            return f"{self._called(loser)} held the lowest that nobody shares, {cards}"
        if len(holders) == 1:
            return f"{self._called(loser)} alone held the lowest, {cards}"
        held = f"{_number(len(holders)).capitalize()} held the lowest, {cards}"
        if len(self._lost) > 1:
            return held
        return f"{held}; the first in turn was {'you' if loser == self._viewer else self._called(loser)}"

    def _called(self, seat: int | None) -> str:
        return "You" if seat == self._viewer else self._names[seat or 0]


def _lives(count: int) -> str:
    return f"{_number(count)} {'life' if count == 1 else 'lives'}"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)
