"""A finished game told again, step by step, with all cards and what each seat knew of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuckoo_env import events
from cuckoo_env.events import Event
from cuckoo_env.game import Game
from cuckoo_env.play.frames import JsonObject, Scene, start_of, tell, view
from cuckoo_env.rules import Rules


def replay(game: Game, names: Sequence[str], told_to: int) -> list[JsonObject]:
    """A finished game as steps.

    Args:
        game: a game that is over; all its cards have been revealed.
        names: what to call each seat.
        told_to: the seat that is called "you".

    Returns:
        A step an event: a frame that names and shows every card, and ``knew``: for each seat the
        cards that it knew each seat to hold at that moment (None where it did not).

    Raises:
        ValueError: for a game that is not over, whose cards are still secret.
    """
    if game.seat is not None:
        raise ValueError("game: one that goes on is refused; accepted: a game that is over")
    return [step for told in _parts(game, names, told_to) for step in told]


def _parts(game: Game, names: Sequence[str], told_to: int) -> Iterator[list[JsonObject]]:
    """The steps of the first deal, then those of each action."""
    read = 0
    starts: list[JsonObject] = []
    for _, each in game.retold():
        log, _, stop = each.unread(0)
        happened = [events.decode(row) for row in log[read:stop].tolist()]
        read = stop
        ends = [view(each, seat) for seat in range(game.rules.seats)]
        starts = starts or [start_of(end) for end in ends]
        told = tell(_opened(starts), _opened(ends), happened, game.rules, None, names)
        knew = [
            _known(start, end, [event.seen_by(seat) for event in happened], game.rules)
            for seat, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]
        for frame, event, *cards in zip(told, happened, *knew, strict=True):
            text = events.sentence(event, told_to, names, stands=frame["stands"])
            frame.update(text=text, knew=cards, view=_told_to_nobody(frame["view"]))
        yield told
        starts = ends


def _opened(views: Sequence[JsonObject]) -> JsonObject:
    """The table with all cards: of each seat the one that it sees itself."""
    seats = [each["seats"][seat] for seat, each in enumerate(views)]
    return {**views[0], "seats": seats}


def _told_to_nobody(now: JsonObject) -> JsonObject:
    """The view without what its viewer has seen before: here nobody in particular looks."""
    return {**now, "seats": [{**seat, "known": False} for seat in now["seats"]]}


def _known(
    start: JsonObject, end: JsonObject, seen: Sequence[Event], rules: Rules
) -> list[list[str | None]]:
    """After each event the cards that a viewer knows."""
    scene, known = Scene(start, end, rules), []
    for event, then in zip(seen, [*seen[1:], None], strict=True):
        scene.take(event, then)
        known.append(_cards(scene.now))
    known[-1] = _cards(end)
    return known


def _cards(now: JsonObject) -> list[str | None]:
    return [seat["card"] for seat in now["seats"]]
