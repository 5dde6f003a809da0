"""A game as a picture: the table as one seat sees it, drawn with pygame.

Everything comes from one seat's :class:`~cuckoo_env.game.View`, so no picture can show what that seat may
not see. The viewer sits at the bottom and play goes round the table clockwise, or the other way where the
rules say so. Importing this module needs the extra ``render``; drawing needs no display.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import gymnasium
import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import card_symbol, parse_card, rank_of, rank_text
from cuckoo_env.events import Event, sentence
from cuckoo_env.game import SeatView, View
from cuckoo_env.rules import Direction

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it prints an advertisement
try:
    import pygame
except ModuleNotFoundError as missing:
    raise gymnasium.error.DependencyNotInstalled(
        "pictures need pygame; install: pip install 'cuckoo-env[render]'"
    ) from missing

WIDTH: Final = 1200
HEIGHT: Final = 800
_OVERSIZE: Final = 2
"""Drawn so many times as large and then made smaller, for pygame draws edges without smoothing."""

Color = tuple[int, int, int]
Point = tuple[float, float]

_BACKGROUND: Final = (24, 28, 36)
_RIM: Final = (64, 46, 36)
_RIM_EDGE: Final = (96, 70, 52)
_FELT: Final = (28, 98, 72)
_FELT_LINE: Final = (46, 122, 92)
_PLATE: Final = (30, 36, 46)
_PLATE_OUT: Final = (38, 62, 56)
_YOU: Final = (38, 84, 140)
_INK: Final = (238, 240, 236)
_FADED: Final = (164, 190, 176)
_GOLD: Final = (244, 190, 70)
_ASKED: Final = (240, 138, 84)
_OPEN: Final = (86, 206, 226)
_PAPER: Final = (250, 249, 244)
_PAPER_EDGE: Final = (176, 176, 168)
_BACK: Final = (62, 78, 138)
_BACK_LINE: Final = (98, 116, 178)
_BLACK: Final = (28, 30, 36)
_RED: Final = (200, 42, 48)
_TOKEN: Final = (226, 92, 86)
_TOKEN_EDGE: Final = (150, 46, 48)
_SUITS: Final = "♣♦♥♠"


def render(view: View, names: Sequence[str] = ()) -> npt.NDArray[np.uint8]:
    """The view as a picture.

    Args:
        view: what a seat may see; nothing else is drawn.
        names: what to call each seat; by default ``seat 0``, ``seat 1`` ….

    Returns:
        (HEIGHT, WIDTH, 3) uint8: red, green and blue of every pixel.
    """
    across = pygame.surfarray.array3d(_draw(view, names))
    return np.ascontiguousarray(across.transpose(1, 0, 2))


class Window:
    """A window on the screen that shows one picture after another.

    It opens with the first picture. Once the person in front of it has closed it, it stays closed. There is
    one window in a process: pygame has no more.
    """

    def __init__(self, fps: float) -> None:
        """Make a window that shows so many pictures a second at most."""
        self._fps = fps
        self._is_open = False
        self._is_dismissed = False

    def show(self, view: View, names: Sequence[str] = ()) -> None:
        """Show the view, and answer the desktop, which takes a silent window for a frozen one."""
        if self._is_dismissed:
            return
        self._screen().blit(_draw(view, names), (0, 0))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            self._is_dismissed = True
            return
        self._clock.tick(self._fps)

    def _screen(self) -> pygame.Surface:
        if not self._is_open:
            pygame.display.init()
            self._clock = pygame.time.Clock()
            self._is_open = True
        # Another environment's window may have taken the place of this one, or closed it.
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != (WIDTH, HEIGHT):
            pygame.display.init()
            pygame.display.set_caption("Cuckoo")
            screen = pygame.display.set_mode((WIDTH, HEIGHT))
        return screen

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._is_open:
            self._is_open = False
            pygame.display.quit()


def _draw(view: View, names: Sequence[str]) -> pygame.Surface:
    pen = _Pen()
    table = _Table.of(view)
    labels = names or [f"seat {seat}" for seat in range(len(view.seats))]
    _draw_cloth(pen, table)
    _draw_middle(pen, table, view, names)
    for seat in range(len(view.seats)):
        _draw_seat(pen, table, view, seat, labels[seat])
    _draw_request(pen, table, view)
    _draw_corners(pen, view, labels)
    return pen.finished()


# Where things are


_MIDDLE: Final = (WIDTH / 2, HEIGHT / 2)
_LARGEST: Final = 1.3
_SEAT_WIDTH: Final = 100
_SEAT_HEIGHT: Final = 134
_TURNS: Final = np.linspace(0, 1, 721)
"""Small turns round the oval: 0 is the bottom, and a quarter turn is the left."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    """The places of the seats: middles on an oval, and how large everything at a seat is.

    Attributes:
        places: the middle of each seat.
        unit: the size of a seat, which is 100 units wide and 134 high.
        across: how far from the middle of the picture the oval goes to each side.
        down: and how far up and down.
    """

    places: tuple[Point, ...]
    unit: float
    across: float
    down: float

    @classmethod
    def of(cls, view: View) -> _Table:
        seats = len(view.seats)
        unit, ring = _ring_of(seats)
        across, down = _oval(unit)
        step = 1 if view.rules.direction is Direction.LEFT else -1
        places = tuple(ring[(seat - view.viewer) * step % seats] for seat in range(seats))
        return cls(places=places, unit=unit, across=across, down=down)


@functools.cache
def _ring_of(seats: int) -> tuple[float, list[Point]]:
    """The largest size at which so many seats find room, and their places."""
    unit = _LARGEST
    while True:
        ring = _places(*_oval(unit), seats)
        if all(_are_apart(*pair, unit) for pair in itertools.pairwise([*ring, ring[0]])):
            return unit, ring
        unit *= 0.98


def _are_apart(one: Point, other: Point, unit: float) -> bool:
    aside, below = abs(one[0] - other[0]), abs(one[1] - other[1])
    return aside >= _SEAT_WIDTH * unit or below >= _SEAT_HEIGHT * unit


def _oval(unit: float) -> tuple[float, float]:
    """How far from the middle the seats are, across and down, at a size."""
    return WIDTH / 2 - 34 - 52 * unit, HEIGHT / 2 - 34 - 70 * unit


def _places(across: float, down: float, seats: int) -> list[Point]:
    """Places on an oval, from the bottom on clockwise, with the same room between all of them."""
    x = _MIDDLE[0] - across * np.sin(math.tau * _TURNS)
    y = _MIDDLE[1] + down * np.cos(math.tau * _TURNS)
    # Seats side by side need their width, and seats one above the other their height.
    room = np.maximum(abs(np.diff(x)), abs(np.diff(y)) * _SEAT_WIDTH / _SEAT_HEIGHT)
    way = np.concatenate([[0.0], np.cumsum(room)])
    ends = np.arange(seats) / seats * way[-1]
    return list(
        zip(np.interp(ends, way, x).tolist(), np.interp(ends, way, y).tolist(), strict=True)
    )


# The table


def _draw_cloth(pen: _Pen, table: _Table) -> None:
    pen.fill(_BACKGROUND)
    across, down = table.across + 22 * table.unit, table.down + 40 * table.unit
    pen.oval(_MIDDLE, across + 20, down + 20, _RIM_EDGE)
    pen.oval(_MIDDLE, across + 17, down + 17, _RIM)
    pen.oval(_MIDDLE, across, down, _FELT)
    pen.oval(_MIDDLE, table.across - 66 * table.unit, table.down - 72 * table.unit, _FELT_LINE, 2)


def _draw_request(pen: _Pen, table: _Table, view: View) -> None:
    """While a seat has to answer: an arrow from the one that asks."""
    if view.turn is None or view.acts is None or view.turn == view.acts:
        return
    start, stop = table.places[view.turn], table.places[view.acts]
    gap = min(76 * table.unit / math.dist(start, stop), 0.3)
    pen.arrow(_between(start, stop, gap), _between(start, stop, 1 - gap), 5 * table.unit, _ASKED)


def _between(start: Point, stop: Point, share: float) -> Point:
    return start[0] + (stop[0] - start[0]) * share, start[1] + (stop[1] - start[1]) * share


_ROW: Final = 25
"""From one line of the story to the next."""


def _draw_middle(pen: _Pen, table: _Table, view: View, names: Sequence[str]) -> None:
    """The stock, the round and the pot, and below them what has happened."""
    half = min(table.across - 84 * table.unit, 330)
    rows = int(2 * min(table.down - 96 * table.unit, 190) - 90) // _ROW
    lines = _told(view, names, 21, 2 * half, rows)
    x, y = _MIDDLE
    top = y - (90 + _ROW * len(lines)) / 2
    # The stock and the words beside it, together in the middle.
    words = _words_of_table(view)
    cards = 62 if view.stock is None else 128
    left = x - (cards + 12 + max(_width(text, size) for text, size, _ in words)) / 2
    for offset in (0, 3, 6):
        pen.back((left + 25 + offset, top + 40 - offset), 50, 70)
    if view.stock is not None:
        pen.face((left + 97, top + 37), 50, 70, view.stock, _OPEN)
    for row, (text, size, color) in enumerate(words):
        place = left + cards + 12, top + 37 + 25 * (row - (len(words) - 1) / 2)
        pen.text(text, place, size, color, align=0)
    for row, line in enumerate(lines):
        color = _INK if row == len(lines) - 1 else _FADED
        pen.text(line, (x, top + 102 + _ROW * row), 21, color)


def _words_of_table(view: View) -> list[tuple[str, float, Color]]:
    words: list[tuple[str, float, Color]] = [
        (f"Round {view.round}", 29, _INK),
        (f"pot {view.pot:g}", 21, _FADED),
    ]
    if not view.trading:
        words.append(("no trading", 21, _GOLD))
    return words


def _told(view: View, names: Sequence[str], size: float, width: float, rows: int) -> list[str]:
    """The last that has happened, in lines that fit."""
    told = [line for each in _folded(view, names) for line in _wrapped(each, size, width)]
    return told[max(len(told) - max(rows, 1), 0) :]


_FOLDED: Final = {
    "revealed": "Revealed",
    "dealer_cut": "Cut for the deal",
    "final_cut": "Cut for the pot",
}
"""What all seats do alike is told in one sentence."""


def _folded(view: View, names: Sequence[str]) -> Iterator[str]:
    """Sentences; that others get a card that is not seen is none."""
    seen = [event for event in view.news if event.event != "dealt" or event.card]
    for kind, group in itertools.groupby(seen, key=lambda event: event.event):
        if kind in _FOLDED:
            yield f"{_FOLDED[kind]}: {', '.join(_holding(view, each, names) for each in group)}."
        else:
            yield from (sentence(event, view.viewer, names) for event in group)


def _holding(view: View, event: Event, names: Sequence[str]) -> str:
    assert event.seat is not None
    assert event.card is not None
    name = names[event.seat] if names else f"seat {event.seat}"
    return f"{'you' if event.seat == view.viewer else name} {card_symbol(parse_card(event.card))}"


def _wrapped(text: str, size: float, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# One seat


def _draw_seat(pen: _Pen, table: _Table, view: View, seat: int, name: str) -> None:
    each, unit, (x, y) = view.seats[seat], table.unit, table.places[seat]
    _draw_plate(pen, view, seat, (x, y - 50 * unit), unit, name)
    below = y + 45 * unit
    if _is_away(each):
        below = y - 28 * unit
    else:
        _draw_card(pen, view, seat, (x, y - unit), unit)
    if seat == view.dealer:
        pen.button((x + 28 * unit, min(y + 31 * unit, below)), 11 * unit)
    _draw_lives(pen, view, each, (x, below), unit)
    if words := _status(view, seat):
        color = _ring(view, seat) if seat == view.acts else _INK
        pen.label(words, (x, below + 17 * unit), 16 * unit, color, 88 * unit)


def _is_away(each: SeatView) -> bool:
    """Whether a seat had no card in this round any more."""
    return each.lives == 0 and each.card is None


def _draw_plate(pen: _Pen, view: View, seat: int, middle: Point, unit: float, name: str) -> None:
    away, you = _is_away(view.seats[seat]), seat == view.viewer
    won = view.result is not None and seat in view.result.winners
    if won or seat == view.acts:
        pen.box(middle, 102 * unit, 26 * unit, 12 * unit, _GOLD if won else _ring(view, seat))
    color = _YOU if you else _PLATE_OUT if away else _PLATE
    pen.box(middle, 97 * unit, 21 * unit, 10 * unit, color)
    ink = _FADED if away and not you else _INK
    pen.text(f"{name} (you)" if you else name, middle, 17 * unit, ink, width=90 * unit)


def _ring(view: View, seat: int) -> Color:
    return _GOLD if seat == view.turn else _ASKED


def _draw_card(pen: _Pen, view: View, seat: int, middle: Point, unit: float) -> None:
    card = view.seats[seat].card
    if seat == view.acts:
        pen.box(middle, 62 * unit, 82 * unit, 11 * unit, _ring(view, seat))
    if card is None:
        pen.back(middle, 50 * unit, 70 * unit)
    else:
        edge = _OPEN if view.seats[seat].shown else _PAPER_EDGE
        pen.face(middle, 50 * unit, 70 * unit, card, edge)


def _draw_lives(pen: _Pen, view: View, each: SeatView, middle: Point, unit: float) -> None:
    """A token for every life, an empty place for every life lost; a number where there are many."""
    x, y = middle
    most = max(view.rules.lives, each.lives)
    if most > 6:
        pen.token((x - 12 * unit, y), 5.5 * unit, is_there=each.lives > 0)
        pen.text(f"× {each.lives}", (x, y), 15 * unit, _INK, align=0)
        return
    for token in range(most):
        place = x + (token - (most - 1) / 2) * 14 * unit, y
        pen.token(place, 5.5 * unit, is_there=token < each.lives)


def _status(view: View, seat: int) -> str:
    """What is to be said of a seat, in few words."""
    each = view.seats[seat]
    if view.result is not None:
        return "truncated" if view.result.truncated else f"{view.result.payoffs[seat]:+g}"
    if _is_away(each):
        return "out"
    if seat == view.acts:
        return "to act" if seat == view.turn else "is asked"
    return "" if each.outcome == "waiting" else each.outcome


def _draw_corners(pen: _Pen, view: View, names: Sequence[str]) -> None:
    pen.text("Cuckoo", (20, 26), 34, _INK, align=0)
    for row, words in enumerate(_wrapped(str(view.rules).replace(",", ", "), 20, WIDTH * 0.21)):
        pen.text(words, (20, 52 + 20 * row), 20, _FADED, align=0)
    pen.box((WIDTH - 31, 26), 14, 20, 3, _OPEN)
    pen.box((WIDTH - 31, 26), 9, 15, 2, _PAPER)
    pen.text("lies open for all", (WIDTH - 48, 26), 20, _FADED, align=1)
    line = _call(view, names)
    pen.text(line, (20, HEIGHT - 26), 23, _GOLD, align=0, width=WIDTH * 0.3)


def _call(view: View, names: Sequence[str]) -> str:
    """What the viewer may do, or whom all wait for, or how the game ended."""
    if view.result is not None:
        won = ", ".join(names[seat] for seat in view.result.winners)
        ending = "truncated" if view.result.truncated else "undecided"
        return f"Game over: {won} won." if won else f"Game over: {ending}."
    if view.legal:
        return f"You may {', '.join(view.legal)}."
    return "" if view.acts is None else f"{names[view.acts]} is to act."


# The pen


@functools.cache
def _font(size: int) -> pygame.font.Font:
    if not pygame.font.get_init():
        pygame.font.init()
    return pygame.font.Font(None, size)


def _width(text: str, size: float) -> float:
    """How wide a text is: suits, which the font lacks, are drawn, and take three quarters of its size."""
    pixels = round(size * _OVERSIZE)
    plain = "".join(each for each in text if each not in _SUITS)
    suits = len(text) - len(plain)
    return _font(pixels).size(plain)[0] / _OVERSIZE + suits * 0.6 * size


class _Pen:
    """Draws on an oversized surface in the coordinates of the finished picture."""

    def __init__(self) -> None:
        size = (WIDTH * _OVERSIZE, HEIGHT * _OVERSIZE)
        self._surface = pygame.Surface(size, depth=32)

    def finished(self) -> pygame.Surface:
        return pygame.transform.smoothscale(self._surface, (WIDTH, HEIGHT))

    def fill(self, color: Color) -> None:
        self._surface.fill(color)

    def oval(
        self, middle: Point, across: float, down: float, color: Color, line: float = 0
    ) -> None:
        if across > 0 and down > 0:
            rect = _rect(middle, 2 * across, 2 * down)
            pygame.draw.ellipse(self._surface, color, rect, round(line * _OVERSIZE))

    def disc(self, middle: Point, radius: float, color: Color) -> None:
        self.oval(middle, radius, radius, color)

    def box(self, middle: Point, width: float, height: float, radius: float, color: Color) -> None:
        rect = _rect(middle, width, height)
        pygame.draw.rect(self._surface, color, rect, border_radius=round(radius * _OVERSIZE))

    def shape(self, points: Sequence[Point], color: Color) -> None:
        scaled = [(x * _OVERSIZE, y * _OVERSIZE) for x, y in points]
        pygame.draw.polygon(self._surface, color, scaled)

    def line(self, start: Point, stop: Point, width: float, color: Color) -> None:
        (x, y), (to_x, to_y) = start, stop
        distance = math.hypot(to_x - x, to_y - y) or 1
        side_x, side_y = (y - to_y) / distance * width / 2, (to_x - x) / distance * width / 2
        corners = [
            (x + side_x, y + side_y),
            (to_x + side_x, to_y + side_y),
            (to_x - side_x, to_y - side_y),
            (x - side_x, y - side_y),
        ]
        self.shape(corners, color)

    def arrow(self, start: Point, stop: Point, width: float, color: Color) -> None:
        (x, y), (to_x, to_y) = start, stop
        distance = math.hypot(to_x - x, to_y - y) or 1
        ahead = (to_x - x) / distance * width * 3, (to_y - y) / distance * width * 3
        neck = to_x - ahead[0], to_y - ahead[1]
        self.line(start, neck, width, color)
        left = neck[0] - ahead[1] * 0.7, neck[1] + ahead[0] * 0.7
        right = neck[0] + ahead[1] * 0.7, neck[1] - ahead[0] * 0.7
        self.shape([stop, left, right], color)

    def text(
        self,
        text: str,
        middle: Point,
        size: float,
        color: Color,
        *,
        align: float = 0.5,
        width: float = math.inf,
    ) -> None:
        """Write a line; ``align`` is the part of it that lies left of the point.

        What is wider than ``width`` is first made smaller, then cut off.
        """
        if _width(text, size) > width:
            size = max(size * 0.75, size * width / _width(text, size))
        while _width(text, size) > width and len(text) > 1:
            text = text[:-2].rstrip(" …") + "…"
        x = middle[0] - align * _width(text, size)
        for is_suit, run in itertools.groupby(text, key=lambda each: each in _SUITS):
            piece = "".join(run)
            if is_suit:
                for suit in piece:
                    shade = color if suit in "♣♠" else _lighter(_RED)
                    self.suit(suit, (x + 0.3 * size, middle[1]), 0.5 * size, shade)
                    x += 0.6 * size
            else:
                self._write(piece, (x, middle[1]), size, color)
                x += _width(piece, size)

    def _write(self, text: str, left_middle: Point, size: float, color: Color) -> None:
        image = _font(round(size * _OVERSIZE)).render(text, True, color)
        x, y = left_middle
        place = round(x * _OVERSIZE), round(y * _OVERSIZE - image.get_height() / 2)
        self._surface.blit(image, place)

    def label(self, text: str, middle: Point, size: float, color: Color, width: float) -> None:
        """Lines on a dark ground, readable across the edge of the table."""
        x, y = middle
        lines = _wrapped(text, size, width)
        widest = max(_width(line, size) for line in lines)
        height = size * 0.9 * (len(lines) - 1)
        self.box((x, y + height / 2), widest + size, height + size * 1.15, size * 0.55, _PLATE)
        for row, line in enumerate(lines):
            self.text(line, (x, y + size * 0.9 * row), size, color)

    def face(self, middle: Point, width: float, height: float, card: str, edge: Color) -> None:
        """A card, face up."""
        number = parse_card(card)
        suit = card_symbol(number)[-1]
        color = _BLACK if suit in "♣♠" else _RED
        rim = 0.02 * width if edge == _PAPER_EDGE else 0.065 * width
        radius = width * 0.14
        self.box(middle, width + 2 * rim, height + 2 * rim, radius + rim, edge)
        self.box(middle, width, height, radius, _PAPER)
        x, y = middle
        rank = rank_text(rank_of(number))
        self._write_middle(rank, (x, y - height * 0.19), width * 0.86, color)
        self.suit(suit, (x, y + height * 0.23), width * 0.46, color)

    def _write_middle(self, text: str, middle: Point, size: float, color: Color) -> None:
        self._write(text, (middle[0] - _width(text, size) / 2, middle[1]), size, color)

    def back(self, middle: Point, width: float, height: float) -> None:
        """A card, face down."""
        x, y = middle
        self.box(middle, width + 2, height + 2, width * 0.14 + 1, _PAPER_EDGE)
        self.box(middle, width, height, width * 0.14, _PAPER)
        self.box(middle, width * 0.84, height * 0.88, width * 0.09, _BACK)
        side, rows = width * 0.2, 5
        for row, column in itertools.product(range(rows), range(3)):
            place = x + (column - 1) * side * 1.28, y + (row - (rows - 1) / 2) * height * 0.165
            self._diamond(place, side, _BACK_LINE)

    def _diamond(self, middle: Point, size: float, color: Color) -> None:
        x, y = middle
        self.shape(
            [(x, y - size / 2), (x + size * 0.42, y), (x, y + size / 2), (x - size * 0.42, y)],
            color,
        )

    def suit(self, suit: str, middle: Point, size: float, color: Color) -> None:
        """A suit, drawn: the font of pygame has none."""
        x, y = middle
        half = size / 2
        match suit:
            case "♦":
                self._diamond(middle, size * 1.08, color)
            case "♥":
                self._heart(middle, size, color, 1)
            case "♠":
                self._heart((x, y - size * 0.06), size * 0.94, color, -1)
                self._stem(middle, size, color)
            case "♣":
                for across, down in ((0, -0.46), (-0.46, 0.16), (0.46, 0.16)):
                    self.disc((x + across * half, y + down * half), size * 0.235, color)
                self.disc((x, y), size * 0.12, color)
                self._stem(middle, size, color)

    def _heart(self, middle: Point, size: float, color: Color, up: int) -> None:
        """A heart, or upside down the leaf of a spade."""
        x, y = middle
        points = []
        for step in range(48):
            turn = math.tau * step / 48
            across = 16 * math.sin(turn) ** 3
            height = (
                13 * math.cos(turn) - 5 * math.cos(2 * turn) - 2 * math.cos(3 * turn)
                - math.cos(4 * turn)
            )  # fmt: skip
            points.append((x + across / 33 * size, y - up * (height + 2) / 31 * size))
        self.shape(points, color)

    def _stem(self, middle: Point, size: float, color: Color) -> None:
        x, y = middle
        foot = y + size * 0.5
        self.shape([(x, y), (x + size * 0.2, foot), (x - size * 0.2, foot)], color)

    def token(self, middle: Point, radius: float, *, is_there: bool) -> None:
        if is_there:
            self.disc(middle, radius, _TOKEN_EDGE)
            self.disc(middle, radius * 0.8, _TOKEN)
            self.disc(middle, radius * 0.3, _PAPER)
        else:
            self.disc(middle, radius, _FELT_LINE)
            self.disc(middle, radius * 0.72, _PLATE_OUT)

    def button(self, middle: Point, radius: float) -> None:
        """The dealer's button."""
        self.disc(middle, radius, _PAPER_EDGE)
        self.disc(middle, radius * 0.9, _PAPER)
        self._write_middle("D", middle, radius * 1.6, _BLACK)


def _rect(middle: Point, width: float, height: float) -> pygame.Rect:
    left, top = middle[0] - width / 2, middle[1] - height / 2
    return pygame.Rect(
        round(left * _OVERSIZE),
        round(top * _OVERSIZE),
        round(width * _OVERSIZE),
        round(height * _OVERSIZE),
    )


def _lighter(color: Color) -> Color:
    """A color that can be read on the cloth."""
    red, green, blue = (round(part + (255 - part) * 0.45) for part in color)
    return red, green, blue
