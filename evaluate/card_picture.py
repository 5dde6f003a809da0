"""The strategy card as a picture: one A4 page, upright, to print, to hang up, or to look at on a phone.

A page is rectangles and lines of text; SVG needs nothing else, PNG needs matplotlib. It reads as well
without colours: what is given away is dark, what is kept is white.
"""

from __future__ import annotations

import dataclasses
import io
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from cuckoo_env.cards import rank_text
from cuckoo_env.engine import ACCEPT, ACTION_NAMES, KEEP, SWAP
from cuckoo_env.evaluate.card import (
    Card,
    Cell,
    Row,
    as_text,
    cost_text,
    exception_text,
    legend,
    sections,
    subtitle,
    title,
    verdict,
)
from cuckoo_env.files import write_bytes

_WIDE, _HIGH, _MARGIN = 840.0, 1188.0, 46.0
_INK, _SOFT, _LINE, _SWAP, _PAPER, _TINT = (
    "#1b2420", "#55605a", "#9aa49d", "#12503a", "#ffffff", "#dfe9e2",
)  # fmt: skip
_TOP, _FOOT = 190.0, 92.0
_HEADING, _SITUATION, _STRIP, _NOTE, _GAP = 44.0, 30.0, 46.0, 24.0, 14.0
"""Heights, before they are fitted to the page."""
_CHARACTER: Final = 0.53
_WIDTHS: Final = {
    **dict.fromkeys("ijl.,:;’'| ()ftr-", 0.3),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 0.7),
    **dict.fromkeys("mwMW%", 0.86),
}
"""About how wide characters are, in parts of their size."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle: its corner, its size, and how it is filled."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    line: str = "none"
    hatched: bool = False


@dataclass(frozen=True, kw_only=True)
class Words:
    """A line of text: ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False
    serif: bool = False
    anchor: str = "start"
    ink: str = _INK

    @property
    def width(self) -> float:
        """About how wide it is."""
        return (
            self.size * sum(_WIDTHS.get(c, _CHARACTER) for c in self.text) * (1 + 0.07 * self.bold)
        )


Shape = Box | Words


def drawing(made: Card) -> list[Shape]:
    """The picture as rectangles and lines of text, on a page of 840 by 1188."""
    shapes: list[Shape] = [Box(x=0, y=0, width=_WIDE, height=_HIGH, fill=_PAPER)]
    shapes += _head(made)
    natural = sum(_HEADING + sum(map(_height, rows)) for _, rows in sections(made))
    scale = min(1.12, (_HIGH - _TOP - _FOOT) / natural)
    y = _TOP
    for heading, rows in sections(made):
        y = _draw_heading(shapes, heading, y, scale)
        for row in rows:
            y = _draw_row(shapes, row, y, scale)
    return shapes + _foot(made)


def _height(row: Row) -> float:
    return _SITUATION + _STRIP + _GAP + _NOTE * len(row.exceptions)


def _head(made: Card) -> list[Shape]:
    head = Words(x=_MARGIN, y=78, text=title(made), size=50, bold=True, serif=True)
    shapes: list[Shape] = [_fitted(head, _WIDE - 2 * _MARGIN)]
    shapes.append(
        _fitted(
            Words(x=_MARGIN, y=110, text=subtitle(made), size=18, ink=_SOFT), _WIDE - 2 * _MARGIN
        )
    )
    return shapes + _key(made)


def _key(made: Card) -> list[Shape]:
    """The legend: what the boxes mean."""
    shapes: list[Shape] = []
    cells = [cell for row in made.rows for cell in row.cells]
    x, y = _MARGIN, 124.0
    answers = any(row.answer for row in made.rows)
    examples = [
        (SWAP, 1.0, "swap, accept" if answers else "swap"),
        (KEEP, 1.0, "keep, refuse" if answers else "keep"),
    ]
    if any(cell.mixed for cell in cells):
        examples.append((SWAP, 0.5, "sometimes"))
    for action, chance, label in examples:
        shapes.append(_box(action, chance < 1, x, y, 34, 26))
        shapes.append(Words(x=x + 42, y=y + 20, text=label, size=18))
        x += 66 + Words(x=0, y=0, text=label, size=18).width
    words = Words(x=_MARGIN, y=y + 52, text=legend(made), size=17, ink=_SOFT)
    return [*shapes, _fitted(words, _WIDE - 2 * _MARGIN)]


def _draw_heading(shapes: list[Shape], heading: str, y: float, scale: float) -> float:
    base = y + 30 * scale
    right = _WIDE - _MARGIN
    words = Words(
        x=_MARGIN, y=base, text=heading, size=22 * scale, bold=True, serif=True, ink=_SWAP
    )
    words = _fitted(words, right - _MARGIN)
    start = _MARGIN + words.width + 16
    shapes += [
        words,
        Box(x=start, y=base - 7 * scale, width=max(right - start, 0), height=1.2, fill=_LINE),
    ]
    return y + _HEADING * scale


def _draw_row(shapes: list[Shape], row: Row, y: float, scale: float) -> float:
    """A row: the situation, what to do, thirteen boxes, and its exceptions."""
    right = _WIDE - _MARGIN
    base = y + 20 * scale
    wide = right - _MARGIN
    says = _fitted(
        Words(x=right, y=base, text=row.advice, size=25 * scale, bold=True, anchor="end"),
        0.6 * wide,
    )
    who = Words(x=_MARGIN, y=base, text=row.who, size=20 * scale, bold=True)
    shapes += [says, who]
    if row.seen:
        start = who.x + who.width + 10
        seen = Words(x=start, y=base, text=f"– {row.seen}", size=20 * scale)
        shapes.append(_fitted(seen, right - says.width - 20 - start))
    y += _SITUATION * scale
    step = (wide + 4) / len(row.cells)
    for k, cell in enumerate(row.cells):
        _draw_cell(shapes, cell, _MARGIN + k * step, y, step - 4, _STRIP * scale)
    y += _STRIP * scale
    for each in row.exceptions:
        words = Words(x=_MARGIN + 8, y=y + 20 * scale, text=exception_text(each), size=17 * scale)
        shapes.append(_fitted(words, wide - 8))
        y += _NOTE * scale
    return y + _GAP * scale


def _draw_cell(
    shapes: list[Shape], cell: Cell, x: float, y: float, width: float, height: float
) -> None:
    middle = x + width / 2
    if cell.action is None:
        shapes.append(Box(x=x, y=y, width=width, height=height, fill=_PAPER, line="#d5dad6"))
        shapes.append(_rank(cell, middle, y, height, "#a8b1ab"))
        return
    dark = cell.action in {SWAP, ACCEPT} and not cell.mixed
    shapes.append(_box(cell.action, cell.mixed, x, y, width, height))
    ink = _PAPER if dark else _INK
    shapes.append(_rank(cell, middle, y, height, ink))
    note = cost_text(cell.cost)
    if cell.mixed and cell.action in {KEEP, SWAP}:
        note = f"{cell.chances[SWAP]:.0%}"
    elif cell.action not in {KEEP, SWAP, ACCEPT}:
        share = f"{max(cell.chances):.0%}" if cell.mixed else note
        note = f"{ACTION_NAMES[cell.action]} {share}"
    words = Words(
        x=middle, y=y + 0.87 * height, text=note, size=0.33 * height, anchor="middle",
        ink=_PAPER if dark else _SOFT,
    )  # fmt: skip
    shapes.append(_fitted(words, width - 4))


def _rank(cell: Cell, x: float, y: float, height: float, ink: str) -> Words:
    return Words(
        x=x, y=y + 0.5 * height, text=rank_text(cell.rank), size=0.47 * height, bold=True,
        anchor="middle", ink=ink,
    )  # fmt: skip


def _box(action: int, mixed: bool, x: float, y: float, width: float, height: float) -> Box:
    """The box of a cell: dark to give the card away, white to keep it, hatched for sometimes."""
    gives = action in {SWAP, ACCEPT}
    return Box(
        x=x, y=y, width=width, height=height, line=_SWAP if gives or mixed else _LINE,
        fill=_TINT if mixed else _SWAP if gives else _PAPER, hatched=mixed,
    )  # fmt: skip


def _foot(made: Card) -> list[Shape]:
    y, wide = _HIGH - _FOOT + 34, _WIDE - 2 * _MARGIN
    shapes: list[Shape] = [Box(x=_MARGIN, y=y - 22, width=wide, height=1.2, fill=_LINE)]
    lines = [
        _fitted(Words(x=_MARGIN, y=y + 22 * k, text=line, size=17), wide)
        for k, line in enumerate(verdict(made))
    ]
    size = min(each.size for each in lines)
    return shapes + [_sized(each, size) for each in lines]


def _sized(words: Words, size: float) -> Words:
    return dataclasses.replace(words, size=size)


def _fitted(words: Words, room: float) -> Words:
    """The text, smaller if it would not fit."""
    return _sized(words, words.size * min(1.0, room / words.width))


# -- SVG ----------------------------------------------------------------------------------------

_SANS: Final = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_SERIF: Final = "Georgia, 'Iowan Old Style', 'Liberation Serif', serif"


def as_svg(made: Card) -> str:
    """The card as a picture that needs nothing else: A4, upright."""
    shapes = "\n".join(_svg(shape) for shape in drawing(made))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="210mm" height="297mm" '
        f'viewBox="0 0 {_WIDE:g} {_HIGH:g}" role="img" font-family="{_SANS}">\n'
        f"<title>{escape(title(made))}</title>\n<desc>{escape(as_text(made))}</desc>\n"
        '<defs><pattern id="sometimes" width="9" height="9" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="9" height="9" fill="{_PAPER}"/>'
        f'<rect width="3" height="9" fill="{_TINT}"/></pattern></defs>\n{shapes}\n</svg>\n'
    )


def _svg(shape: Shape) -> str:
    if isinstance(shape, Box):
        fill = "url(#sometimes)" if shape.hatched else shape.fill
        return (
            f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" '
            f'height="{shape.height:.1f}" fill="{fill}" stroke="{shape.line}" stroke-width="1.4"/>'
        )
    style = ' font-weight="700"' if shape.bold else ""
    style += f' font-family="{_SERIF}"' if shape.serif else ""
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size:.1f}" '
        f'text-anchor="{shape.anchor}" fill="{shape.ink}"{style}>{escape(shape.text)}</text>'
    )


# -- PNG ----------------------------------------------------------------------------------------

_DOTS: Final = 200
"""Dots an inch."""
_UNIT: Final = 210 / 25.4 / _WIDE
"""Inches in a unit of the page."""


def write_png(made: Card, path: Path) -> None:
    """Write the card as a picture of dots: A4, 200 dots an inch.

    Raises:
        ModuleNotFoundError: without matplotlib, which comes with the extra ``train``.
        OSError: if it cannot be written; what was there before is left.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - only for this; SVG needs nothing

    figure = Figure(figsize=(_WIDE * _UNIT, _HIGH * _UNIT), dpi=_DOTS)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDE), ylim=(_HIGH, 0))
    axes.set_axis_off()
    for shape in drawing(made):
        _add(axes, shape)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    write_bytes(path, picture.getvalue())


def _add(axes: Any, shape: Shape) -> None:
    """Add a shape to matplotlib axes whose unit is that of the page."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - as above

    if isinstance(shape, Box):
        axes.add_patch(
            Rectangle(
                (shape.x, shape.y), shape.width, shape.height, facecolor=shape.fill,
                edgecolor=shape.line, linewidth=0.9, hatch="///" if shape.hatched else None,
            )
        )  # fmt: skip
        return
    axes.text(
        shape.x, shape.y, shape.text, ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor],
        va="baseline", color=shape.ink, fontweight="bold" if shape.bold else "normal",
        fontfamily="DejaVu Serif" if shape.serif else "DejaVu Sans", parse_math=False,
        # The letters that come with matplotlib are wider than those that pages are laid out for.
        fontsize=0.84 * shape.size * _UNIT * 72,
    )  # fmt: skip
