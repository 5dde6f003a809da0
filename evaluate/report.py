"""A trained policy as one page: how it learned, how it does, and what it does with each card.

The page is a single HTML file without any request to elsewhere: it can be mailed, printed and read
offline, in light and in dark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env import explain, seeding
from cuckoo_env.agents import Agent, sample
from cuckoo_env.agents.policy import Card
from cuckoo_env.autoplay import OUTSIDE, PLAYER, roll
from cuckoo_env.batch import Batch
from cuckoo_env.cards import N_RANKS, RANK_NAMES, rank_text
from cuckoo_env.engine import SWAP, compile_rules
from cuckoo_env.evaluate.arena import CHOICES, Comparison, Result
from cuckoo_env.evaluate.exact import Headroom
from cuckoo_env.evaluate.statistics import is_shown
from cuckoo_env.files import write_text
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules

Floats = npt.NDArray[np.float64]

# -- What a policy does with each card ----------------------------------------------------------

FIRST: Final = "first to act"
MIDDLE: Final = "in the middle"
DEALS: Final = "as dealer"
POSITIONS: Final = (FIRST, MIDDLE, DEALS)

UNAWARE: Final = "knows only its own card"
HOLDS_MORE: Final = "its neighbour took the lower card"
HOLDS_LESS: Final = "its neighbour took the higher card"
KNOWLEDGE: Final = (UNAWARE, HOLDS_MORE, HOLDS_LESS)
"""What a seat knows on its turn: after a swap that was asked of it, it knows its neighbour's card."""

_OBSERVED_GAMES: Final = 8192
_OBSERVED_STEPS: Final = 48
_FEWEST_SEEN: Final = 25
"""Decisions that a chance to swap is averaged over at least; what happens less often is left blank."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Habits:
    """How often an agent swaps, in the situations that it met in sampled games.

    Attributes:
        seen: (positions, knowledge, ranks) decisions of each kind.
        swaps: (positions, knowledge, ranks) the mean chance to swap in them; NaN where there are
            too few.
    """

    seen: npt.NDArray[np.int64]
    swaps: Floats

    def of(self, position: str, knowledge: str) -> Floats:
        """(ranks,) the chance to swap with each rank, ace to king."""
        row: Floats = self.swaps[POSITIONS.index(position), KNOWLEDGE.index(knowledge)]
        return row


def observe(rules: Rules, lineup: Sequence[Agent], seat: int, *, seed: int) -> Habits:
    """Watch an agent play, and note how often it swaps each rank.

    Args:
        rules: the rule set.
        lineup: one agent a seat.
        seat: the seat to watch.
        seed: of the games it is watched in.
    """
    plan = np.zeros((1, rules.seats), PLAYER)
    for other, agent in enumerate(lineup):
        record = agent.player()
        if record is not None and other != seat:
            plan[0, other] = record
    asked = [other for other in range(rules.seats) if plan["kind"][0, other] == OUTSIDE]
    batch = Batch(
        rules, _OBSERVED_GAMES, seed=seed, plan=plan, learners=np.full(_OBSERVED_GAMES, seat)
    )
    dice = seeding.generator_words(seeding.derive_many(seed, len(batch)), CHOICES)
    strength = compile_rules(rules)["strength"][0].astype(np.int64)
    kinds = (len(POSITIONS), len(KNOWLEDGE), N_RANKS)
    seen, swaps = np.zeros(kinds, np.int64), np.zeros(kinds)
    actions = np.zeros(len(batch), np.int8)
    for _ in range(_OBSERVED_STEPS):
        for other in asked:
            rows = np.flatnonzero(batch.seats == other)
            if not rows.size:
                continue
            observations, masks = batch.observations[rows], batch.masks[rows]
            chances = lineup[other].probabilities(observations, masks, batch.layout)
            if other == seat:
                _note(seen, swaps, observations, masks, chances, batch.layout, strength)
            luck = np.empty(rows.size)
            roll(dice, rows, luck)
            actions[rows] = sample(chances, luck)
        batch.step(actions)
    with np.errstate(invalid="ignore"):
        mean = np.where(seen >= _FEWEST_SEEN, swaps / np.maximum(seen, 1), np.nan)
    return Habits(seen=seen, swaps=mean)


def _note(
    seen: npt.NDArray[np.int64],
    swaps: Floats,
    observations: npt.NDArray[np.float32],
    masks: npt.NDArray[np.int8],
    chances: Floats,
    layout: Layout,
    strength: npt.NDArray[np.int64],
) -> None:
    """Add the decisions in which the seat may swap."""
    free = masks[:, : SWAP + 1].all(axis=1)
    observations, chances = observations[free], chances[free]
    known = layout.view(observations, "known").astype(np.bool_)
    own = known[:, 0].argmax(axis=1)
    key = (_positions(observations, layout), _knowledge(observations, layout, known, strength), own)
    np.add.at(seen, key, 1)
    np.add.at(swaps, key, chances[:, SWAP])


def _positions(observations: npt.NDArray[np.float32], layout: Layout) -> npt.NDArray[np.intp]:
    """Where in the round the seat acts: an index into ``POSITIONS``."""
    deals = layout.view(observations, "dealer")[:, 0, 0] > 0
    acted = layout.view(observations, "outcome")[:, 1:].any(axis=(1, 2))
    return np.where(deals, 2, np.where(acted, 1, 0))


def _knowledge(
    observations: npt.NDArray[np.float32],
    layout: Layout,
    known: npt.NDArray[np.bool_],
    strength: npt.NDArray[np.int64],
) -> npt.NDArray[np.intp]:
    """What the seat knows of hidden cards: an index into ``KNOWLEDGE``."""
    hidden = layout.view(observations, "shown")[:, 1:, 0] == 0
    theirs = known[:, 1:] & hidden[..., None]  # (n, other seats, ranks)
    own = strength[1 + known[:, 0].argmax(axis=1)]
    lower = (theirs & (strength[1:] < own[:, None])[:, None]).any(axis=(1, 2))
    higher = (theirs & (strength[1:] > own[:, None])[:, None]).any(axis=(1, 2))
    return np.where(lower, 1, np.where(higher, 2, 0))


# -- What the page says -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to play the seat.

    Attributes:
        label: who plays it, in words.
        agent: its spec.
        win_share: of the games.
        win_share_se: its standard error.
        payoff: mean return, in stakes.
        payoff_se: its standard error.
    """

    label: str
    agent: str
    win_share: float
    win_share_se: float
    payoff: float
    payoff_se: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Content:
    """Everything that the page is made from.

    Attributes:
        card: the policy's card.
        seat: the seat it played.
        comparison: the policy and the agent it is compared with in the same seat, same deals.
        others: other agents in the same seat.
        habits: what the policy does with each card.
        compared_habits: what the agent it is compared with does.
        headroom: the exact win shares of the two and of the best response, where the table is small enough.
    """

    card: Card
    seat: int
    comparison: Comparison
    others: Sequence[Result]
    habits: Habits
    compared_habits: Habits
    headroom: Headroom | None = None

    @property
    def games(self) -> int:
        """Games each way of playing was measured in."""
        return self.comparison.lineup.games

    @property
    def compared(self) -> str:
        """The spec of the agent the policy is compared with."""
        return self.comparison.baseline.agents[self.seat]

    @property
    def difference(self) -> tuple[float, float]:
        """How much more the policy wins than the agent it is compared with, and the standard error."""
        return float(self.comparison.win_share[self.seat]), float(
            self.comparison.win_share_se[self.seat]
        )

    def rows(self) -> list[Row]:
        """Every way to play the seat that was measured, the policy first."""
        labelled = [
            ("the learned policy", self.comparison.lineup),
            (f"{self.compared.capitalize()}’s own play", self.comparison.baseline),
            *(
                (_OTHER_LABELS.get(r.agents[self.seat], r.agents[self.seat]), r)
                for r in self.others
            ),
        ]
        return [
            Row(
                label=label,
                agent=result.agents[self.seat],
                win_share=float(result.win_share[self.seat]),
                win_share_se=float(result.win_share_se[self.seat]),
                payoff=float(result.payoff[self.seat]),
                payoff_se=float(result.payoff_se[self.seat]),
            )
            for label, result in labelled
        ]

    def is_better(self) -> bool:
        """Whether the policy wins more, by more than the error allows for."""
        difference, error = self.difference
        return difference > 0 and is_shown(difference, error, self.games)

    def verdict(self) -> str:
        """What came of it, in one or two sentences."""
        difference, error = self.difference
        learned, compared = self.rows()[:2]
        figures = (
            f"In seat {self.seat} the learned policy wins {learned.win_share:.1%} of the games, "
            f"{self.compared.capitalize()}’s own play in the same seat {compared.win_share:.1%}: "
        )
        if not is_shown(difference, error, self.games):
            return figures + f"a difference of {100 * difference:+.2f} points, within its error."
        size = f"{abs(100 * difference):.2f} points {'more' if difference > 0 else 'less'}"
        return figures + f"{size}, {abs(difference) / error:.0f} times the standard error."

    def exact_verdict(self) -> str:
        """How much of what can be learned was learned, in a sentence; empty where that is not known."""
        if self.headroom is None:
            return ""
        room = self.headroom
        return (
            f"Exactly: the policy wins {room.learned:.2%}, {self.compared.capitalize()}’s own play "
            f"{room.copied:.2%}, and the best possible play against these opponents {room.best:.2%}. "
            f"It has learned {room.captured:.0%} of what there was to learn."
        )

    def as_json(self) -> dict[str, Any]:
        """The figures, for machines."""
        difference, error = self.difference
        return {
            "rules": self.comparison.lineup.rules,
            "seat": self.seat,
            "games": self.games,
            "seed": self.comparison.lineup.seed,
            "ways": {
                row.agent: {
                    "win_share": row.win_share,
                    "win_share_se": row.win_share_se,
                    "payoff": row.payoff,
                    "payoff_se": row.payoff_se,
                }
                for row in self.rows()
            },
            "difference": difference,
            "difference_se": error,
            "standard_errors": difference / error if error > 0 else None,
            "better": self.is_better(),
            "verdict": self.verdict(),
            "exact": None
            if self.headroom is None
            else {
                "learned": self.headroom.learned,
                "copied": self.headroom.copied,
                "best_response": self.headroom.best,
                "captured_headroom": self.headroom.captured,
            },
        }


_OTHER_LABELS: Final[Mapping[str, str]] = {
    "naive": "always keeping",
    "random": "random play",
}


def write(path: Path, content: Content) -> None:
    """Write the page.

    Raises:
        OSError: if it cannot be written; what was there before is left.
    """
    write_text(path, page(content))


def page(content: Content) -> str:
    """The page as HTML."""
    sections = (
        _header(content),
        _curve_section(content),
        _bars_section(content),
        _headroom_section(content),
        _habits_section(content),
        _figures_section(content),
        _rules_section(content),
        _making_section(content),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(_title(content))}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _title(content: Content) -> str:
    return f"Learning to play {content.comparison.lineup.rules}"


def _header(content: Content) -> str:
    difference, error = content.difference
    against = ", ".join(
        agent for k, agent in enumerate(content.comparison.lineup.agents) if k != content.seat
    )
    sign = "better" if content.is_better() else "unclear"
    return (
        f'<header>\n<p class="eyebrow">Cuckoo · {escape(content.comparison.lineup.rules)} · '
        f"seat {content.seat} against {escape(against)}</p>\n"
        f"<h1>{_headline(content)}</h1>\n"
        f'<div class="hero"><p class="big {sign}">{100 * difference:+.2f}<span>points of win share'
        f"</span></p>\n<p>{escape(content.verdict())}</p></div>\n"
        f'<p class="note">Over {content.games:,} games each, dealt the same first cards. The standard '
        f"error of the difference is {100 * error:.2f} points.</p>\n</header>"
    )


def _headline(content: Content) -> str:
    difference, error = content.difference
    name = escape(content.compared.capitalize())
    if not is_shown(difference, error, content.games):
        return f"What was learned is about as good as {name}’s own play"
    if difference > 0:
        return f"What was learned beats {name}’s own play"
    return f"What was learned falls short of {name}’s own play"


# -- The learning curve -------------------------------------------------------------------------

_WIDE, _HIGH = 600, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 16, 52


def _curve_section(content: Content) -> str:
    curve = content.card.training.get("learning_curve", [])
    if len(curve) < 2:
        return ""
    sampled = any(point["win_share_se"] for point in curve)
    compared = content.rows()[1]
    if content.headroom and not sampled:
        compared = replace(compared, win_share=content.headroom.copied)  # measured as the curve is
    how = (
        "sampled games, always the same deals; the band is two standard errors on either side"
        if sampled
        else "exact, averaged over first dealers"
    )
    return (
        "<section>\n<h2>How it learned</h2>\n"
        + _curve_picture(curve, compared)
        + f'<p class="note">Win share against the number of seconds trained: {how}. The dashed line is '
        f"{escape(content.compared.capitalize())}’s own play in the same seat.</p>\n</section>"
    )


def _curve_picture(curve: Sequence[Mapping[str, float]], compared: Row) -> str:
    """Win share over time as SVG: a line, its band, and a line to compare with."""
    seconds = [float(point["seconds"]) for point in curve]
    shares = [float(point["win_share"]) for point in curve]
    errors = [2 * float(point["win_share_se"]) for point in curve]
    lows = [share - error for share, error in zip(shares, errors, strict=True)]
    highs = [share + error for share, error in zip(shares, errors, strict=True)]
    least, most = min(*lows, compared.win_share), max(*highs, compared.win_share)
    ticks = _ticks(100 * least, 100 * most)
    bottom, top = min(ticks[0] / 100, least), max(ticks[-1] / 100, most)
    end = max(seconds[-1], 1e-9)

    def x(second: float) -> float:
        return _LEFT + second / end * (_WIDE - _LEFT - _RIGHT)

    def y(share: float) -> float:
        return _TOP + (top - share) / (top - bottom) * (_HIGH - _TOP - _BOTTOM)

    def path(points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)

    band = path(
        [*zip(seconds, highs, strict=True), *reversed(list(zip(seconds, lows, strict=True)))]
    )
    parts = [
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="Learning curve: win share rises '
        f'from {shares[0]:.1%} to {shares[-1]:.1%} in {seconds[-1]:.0f} seconds">'
    ]
    for tick in ticks:
        at = y(tick / 100)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        )
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{at + 5:.1f}">{tick:g}%</text>')
    parts.extend(
        f'<text class="mid" x="{x(tick):.1f}" y="{_HIGH - 30}">{tick:g}</text>'
        for tick in _ticks(0, seconds[-1], inside=True)
    )
    parts.append(
        f'<text class="mid" x="{(_LEFT + _WIDE - _RIGHT) / 2}" y="{_HIGH - 3}">seconds</text>'
    )
    at = y(compared.win_share)
    parts.append(
        f'<line class="compared" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
    )
    parts.append(
        f'<text class="end" x="{_WIDE - _RIGHT}" y="{at + 18:.1f}">{escape(compared.label)}</text>'
    )
    parts.append(f'<path class="band" d="{band}Z"/>')
    parts.append(f'<path class="line" d="{path(list(zip(seconds, shares, strict=True)))}"/>')
    for second, share in zip(seconds, shares, strict=True):
        parts.append(
            f'<circle cx="{x(second):.1f}" cy="{y(share):.1f}" r="3.5">'
            f"<title>{second:.0f} s: {share:.2%}</title></circle>"
        )
    return "\n".join(parts) + "</svg>\n"


def _ticks(least: float, most: float, *, inside: bool = False) -> list[float]:
    """Round numbers that span a range, or with ``inside`` lie within it: four to eight of them."""
    rough = max(most - least, 1e-9) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(least / step) if inside else math.floor(least / step)
    last = math.floor(most / step) if inside else math.ceil(most / step)
    return [round(k * step, 10) for k in range(first, last + 1)]


# -- Win shares ---------------------------------------------------------------------------------


def _bars_section(content: Content) -> str:
    rows = content.rows()
    scale = 1.12 * max(row.win_share + 3 * row.win_share_se for row in rows)
    fair = 1 / content.card.rules.seats
    bars = "\n".join(_bar(row, scale, k) for k, row in enumerate(rows))
    return (
        '<section>\n<h2>How often it wins</h2>\n<div class="bars">\n'
        f"{bars}\n</div>\n"
        f'<p class="note">Games won in seat {content.seat} by whoever plays it, the other seats '
        f"unchanged. Whiskers are three standard errors on either side; {fair:.1%} would be an even "
        "share.</p>\n</section>"
    )


def _bar(row: Row, scale: float, place: int) -> str:
    low, high = row.win_share - 3 * row.win_share_se, row.win_share + 3 * row.win_share_se
    kind = ("learned", "copied")[place] if place < 2 else "other"
    return (
        f'<div class="bar {kind}"><span class="who">{escape(row.label)}</span>'
        f'<span class="track"><span class="fill" style="width:{100 * row.win_share / scale:.2f}%"></span>'
        f'<span class="whisker" style="left:{100 * low / scale:.2f}%;'
        f'width:{100 * (high - low) / scale:.2f}%"></span></span>'
        f'<span class="figure">{row.win_share:.2%}<small> ± {100 * row.win_share_se:.2f}</small></span></div>'
    )


def _headroom_section(content: Content) -> str:
    """Where the policy stands between the simple agent and the best response, on one scale."""
    room = content.headroom
    if room is None:
        return ""
    name = escape(content.compared.capitalize())
    at = 100 * min(max(room.captured, 0.0), 1.0)
    return (
        '<section>\n<h2>How much of what can be learned</h2>\n<div class="scale">'
        f'<span class="way"><span class="done" style="width:{at:.1f}%"></span>'
        f'<span class="here" style="left:{at:.1f}%">{room.captured:.0%}</span></span>'
        f'<span class="ends"><span>{name}’s own play<b>{room.copied:.2%}</b></span>'
        f"<span>the best possible play<b>{room.best:.2%}</b></span></span></div>\n"
        f'<p class="note">{escape(content.exact_verdict())} These figures are computed from the whole '
        "tree of the game, not sampled.</p>\n</section>"
    )


# -- Habits -------------------------------------------------------------------------------------


def _habits_section(content: Content) -> str:
    learned, compared = content.habits, content.compared_habits
    name = content.compared.capitalize()
    strips = [
        _strip(position.capitalize(), learned.of(position, UNAWARE)) for position in POSITIONS
    ]
    strips.append(
        _strip(f"{name}’s own play, for comparison", compared.of(FIRST, UNAWARE), quiet=True)
    )
    aware = [
        _strip(f"{position.capitalize()}, {knowledge}", learned.of(position, knowledge))
        for knowledge in (HOLDS_MORE, HOLDS_LESS)
        for position in (MIDDLE, DEALS)
    ]
    return (
        '<section class="habits">\n<h2>What it does with each card</h2>\n'
        "<p>The chance in per cent that it asks to swap, by its own card and its place in the "
        "round, when it knows no card but its own.</p>\n"
        + "\n".join(strips)
        + "\n<h3>When its right neighbour has just swapped with it</h3>\n"
        "<p>Then it knows both cards: the one it was given and the one it gave away. If the "
        "neighbour is left with a lower card, that neighbour stands between it and the loss of a "
        "life.</p>\n"
        + "\n".join(aware)
        + '\n<p class="note">Averages over the situations it met in sampled games; a dot where there '
        "were none, or too few.</p>\n</section>"
    )


def _strip(label: str, chances: Floats, *, quiet: bool = False) -> str:
    """Thirteen cards in a row, coloured by the chance to swap them."""
    if np.isnan(chances).all():
        return ""
    cards = "".join(_card(rank, float(chances[rank - 1])) for rank in range(1, N_RANKS + 1))
    kind = "strip quiet" if quiet else "strip"
    return f'<figure class="{kind}"><figcaption>{escape(label)}</figcaption><div>{cards}</div></figure>'


def _card(rank: int, chance: float) -> str:
    name = RANK_NAMES[rank - 1]
    if math.isnan(chance):
        return f'<span class="card none" title="{name}: not met"><b>{rank_text(rank)}</b><i>·</i></span>'
    ink = " dark" if chance > 0.6 else ""
    return (
        f'<span class="card{ink}" style="--p:{100 * chance:.0f}%" title="{name}: swaps {chance:.1%}">'
        f"<b>{rank_text(rank)}</b><i>{100 * chance:.0f}</i></span>"
    )


# -- Numbers, rules, making ---------------------------------------------------------------------


def _figures_section(content: Content) -> str:
    difference, error = content.difference
    body = "".join(
        f"<tr><th>{escape(row.label)}<small>{escape(_short_spec(row.agent))}</small></th>"
        f"<td>{row.win_share:.2%}</td><td>{row.win_share_se:.2%}</td>"
        f"<td>{row.payoff:+.4f}</td><td>{row.payoff_se:.4f}</td></tr>"
        for row in content.rows()
    )
    return (
        '<section>\n<h2>The figures</h2>\n<div class="scroll"><table>\n<thead><tr><th>who plays the seat'
        "</th><th>win share</th><th>standard error</th><th>mean return</th><th>standard error</th></tr>"
        f"</thead>\n<tbody>{body}</tbody>\n</table></div>\n"
        f'<p class="note">Difference of the first two, game by game: {100 * difference:+.3f} points, '
        f"standard error {100 * error:.3f}. Returns are in stakes.</p>\n</section>"
    )


def _short_spec(agent: str) -> str:
    """A spec without the folders of its path."""
    kind, colon, path = agent.partition(":")
    return f"{kind}{colon}{Path(path).name}" if colon else agent


def _rules_section(content: Content) -> str:
    rules = content.card.rules
    lines = [*explain.sentences(rules).values(), *explain.together(rules)]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f"<section>\n<h2>The rules it played by</h2>\n<p><code>{escape(str(rules))}</code></p>\n"
        f'<ul class="rules">{items}</ul>\n</section>'
    )


def _making_section(content: Content) -> str:
    training = content.card.training
    layers = "×".join(str(size) for size in content.card.hidden) or "none"
    versions = training.get("versions", {})
    facts = {
        "command": f"<code>{escape(str(training.get('command', '')))}</code>",
        "algorithm": escape(str(training.get("algorithm", ""))),
        "network": escape(f"{layers} hidden units, {content.card.activation}"),
        "decisions": f"{training.get('steps', 0):,} in {training.get('seconds', 0):.0f} seconds",
        "seeds": f"{training.get('seed', '')} in training, {content.comparison.lineup.seed} when measured",
        "machine": escape(str(training.get("machine", ""))),
        "versions": escape(", ".join(f"{name} {number}" for name, number in versions.items())),
    }
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items())
    return f"<section>\n<h2>How this was made</h2>\n<dl>{items}</dl>\n</section>"


_STYLE: Final = """
:root { --paper:#f6f3ea; --sheet:#fffdf7; --ink:#1f2a24; --soft:#66706a; --rule:#dfd9c8;
  --green:#1d6b4a; --gold:#b9862b; --grey:#a9ada3; --band:#1d6b4a2e; --swap:#c2512f; --onswap:#fff; }
@media (prefers-color-scheme: dark) { :root { --paper:#121915; --sheet:#1a231e; --ink:#e9e6da;
  --soft:#9aa69f; --rule:#303b34; --green:#63c397; --gold:#e2b458; --grey:#66716a;
  --band:#63c39733; --swap:#d9694a; --onswap:#fff; } }
* { box-sizing:border-box; }
html { -webkit-text-size-adjust:100%; }
body { margin:0; background:var(--paper); color:var(--ink); line-height:1.55;
  font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif; }
main { max-width:54rem; margin:0 auto; padding:2.5rem 1.25rem 4rem; }
h1,h2,h3,.big { font-family:"Iowan Old Style","Palatino Linotype",Palatino,Georgia,serif;
  font-weight:600; line-height:1.2; }
h1 { font-size:clamp(1.8rem,5.2vw,2.9rem); margin:.2rem 0 1.2rem; text-wrap:balance; }
h2 { font-size:1.45rem; margin:0 0 .9rem; }
h3 { font-size:1.1rem; margin:1.8rem 0 .3rem; }
p { margin:.4rem 0; }
.eyebrow { color:var(--green); font-weight:600; letter-spacing:.02em; font-size:.9rem; }
.note { color:var(--soft); font-size:.88rem; margin-top:.8rem; }
.hero { display:flex; gap:1.8rem; align-items:center; flex-wrap:wrap; }
.hero p:last-child { flex:1 1 20rem; font-size:1.08rem; }
.big { font-size:3.4rem; line-height:1; margin:0; color:var(--soft); font-variant-numeric:tabular-nums; }
.big.better { color:var(--green); }
.big span { display:block; font:600 .8rem/1.5 system-ui,sans-serif; color:var(--soft); margin-top:.35rem; }
section { background:var(--sheet); border:1px solid var(--rule); border-radius:14px;
  padding:1.5rem 1.6rem 1.3rem; margin-top:1.4rem; }
.scale { padding-top:2.2rem; }
.scale .way { display:block; position:relative; height:1rem; border-radius:.5rem; background:var(--rule); }
.scale .done { display:block; height:100%; border-radius:.5rem; background:var(--green); }
.scale .here { position:absolute; bottom:1.3rem; transform:translateX(-50%); color:var(--green);
  font-weight:700; font-variant-numeric:tabular-nums; }
.scale .ends { display:flex; justify-content:space-between; margin-top:.5rem; color:var(--soft);
  font-size:.9rem; }
.scale .ends span:last-child { text-align:right; }
.scale b { display:block; color:var(--ink); font-size:1.1rem; font-variant-numeric:tabular-nums; }
svg { display:block; width:100%; height:auto; max-width:46rem; margin:0 auto; }
svg text { fill:var(--soft); font-size:14px; font-variant-numeric:tabular-nums; }
svg .mid { text-anchor:middle; }
svg .end { text-anchor:end; }
svg .grid { stroke:var(--rule); }
svg .compared { stroke:var(--gold); stroke-width:2; stroke-dasharray:6 5; }
svg .band { fill:var(--band); } svg .line { fill:none; stroke:var(--green); stroke-width:2.5; }
svg circle { fill:var(--green); }
.bar { display:grid; grid-template-columns:10.5rem 1fr 8rem; gap:.8rem; align-items:center; margin:.55rem 0; }
.track { position:relative; height:1.35rem; }
.fill { position:absolute; inset:0 auto 0 0; border-radius:0 5px 5px 0; background:var(--grey); }
.learned .fill { background:var(--green); } .copied .fill { background:var(--gold); }
.learned .who,.learned .figure { font-weight:650; }
.whisker { position:absolute; top:50%; height:0; border-top:2px solid var(--ink); min-width:4px; }
.whisker::before,.whisker::after { content:""; position:absolute; top:-6px; height:10px;
  border-left:2px solid var(--ink); }
.whisker::before { left:0; } .whisker::after { right:0; }
.figure { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap; }
small { color:var(--soft); font-weight:400; }
.strip { margin:.9rem 0 0; } .strip figcaption { font-size:.92rem; font-weight:600; margin-bottom:.3rem; }
.strip > div { display:grid; grid-template-columns:repeat(13,1fr); gap:.28rem; }
.card { --mix:color-mix(in srgb,var(--swap) var(--p),var(--sheet)); background:var(--mix);
  border:1px solid var(--rule); border-radius:6px; text-align:center; padding:.35rem 0 .3rem; min-width:0;
  print-color-adjust:exact; -webkit-print-color-adjust:exact; }
.card b { display:block; font:600 1.05rem/1.15 "Iowan Old Style",Palatino,Georgia,serif; }
.card i { font-style:normal; font-size:.74rem; font-variant-numeric:tabular-nums; opacity:.85; }
.card.dark { color:var(--onswap); border-color:transparent; }
.card.none { background:none; border-style:dashed; color:var(--soft); }
.quiet { opacity:.72; } .quiet .card { padding:.12rem 0 .1rem; } .quiet .card b { font-size:.9rem; }
.scroll { overflow-x:auto; }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums; }
th,td { padding:.5rem .6rem; text-align:right; border-bottom:1px solid var(--rule); white-space:nowrap; }
th:first-child { text-align:left; padding-left:0; font-weight:600; }
thead th { color:var(--soft); font-weight:500; font-size:.86rem; }
th small { display:block; }
.rules { columns:2 20rem; column-gap:2.2rem; padding-left:1.1rem; margin:.6rem 0; font-size:.94rem; }
.rules li { break-inside:avoid; margin-bottom:.4rem; }
dl { display:grid; grid-template-columns:7rem 1fr; gap:.45rem 1rem; margin:0; font-size:.94rem; }
dt { color:var(--soft); } dd { margin:0; overflow-wrap:anywhere; }
code { font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace; font-size:.9em; }
@media (max-width:36rem) {
  main { padding:1.5rem .8rem 3rem; } section { padding:1.1rem .9rem 1rem; border-radius:11px; }
  .bar { grid-template-columns:1fr auto; gap:.1rem .6rem; margin:.8rem 0; }
  .track { grid-column:1/-1; grid-row:2; } .big { font-size:2.9rem; }
  .strip > div { gap:.12rem; } .card { border-radius:4px; padding:.22rem 0 .15rem; }
  .card b { font-size:.86rem; } .card i { font-size:.6rem; }
  svg text { font-size:19px; } dl { grid-template-columns:1fr; gap:0; } dd { margin-bottom:.6rem; }
}
@media print { :root { --paper:#fff; --sheet:#fff; --ink:#000; --soft:#444; --rule:#ccc; --green:#1d6b4a;
  --gold:#b9862b; --band:#1d6b4a2e; } main { max-width:none; padding:0; }
  section { break-inside:avoid; border:0; padding:.4rem 0; }
  .fill { print-color-adjust:exact; -webkit-print-color-adjust:exact; } }
"""
