"""Every way in which a round can go: all deals of a few ranks, all actions.

:func:`walk` visits each decision of each such round in the engine, and tells of it what the seat to act
observes; :func:`referee_view` tells what the same seat has seen happen, by the plain referee's events.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from referee import Referee, Scripted

from cuckoo_env import engine
from cuckoo_env.cards import SUITS, parse_card
from cuckoo_env.observation import Layout, observe, sections_of
from cuckoo_env.rules import Rules

View = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A round to be played in every way.

    Attributes:
        rules: must say ``game=round``.
        ranks: the ranks that can be dealt, as characters.
        stock: the ranks that can lie on top of the stock.
        lives: before the round; a seat with none is out.
        dealer: a seat that is in.
    """

    rules: Rules
    ranks: str
    stock: str
    lives: tuple[int, ...]
    dealer: int

    @property
    def seats_in(self) -> list[int]:
        return [seat for seat, lives in enumerate(self.lives) if lives]

    def deals(self) -> Iterator[tuple[str, ...]]:
        """Cards for the seats still in and for the top of the stock; equal ranks differ in suit."""
        hands = itertools.product(self.ranks, repeat=len(self.seats_in))
        copies = len(SUITS) * self.rules.decks
        for hand, top in itertools.product(hands, self.stock):
            ranks = (*hand, top)
            if max(Counter(ranks).values()) <= copies:
                yield tuple(
                    rank + SUITS[ranks[:at].count(rank) % len(SUITS)]
                    for at, rank in enumerate(ranks)
                )


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One decision of a round: how it was reached, and what the seat to act observes."""

    deal: tuple[str, ...]
    path: tuple[str, ...]
    seat: int
    observation: bytes
    legal: tuple[str, ...]


def walk(setting: Setting) -> Iterator[Decision]:
    """Every decision of every such round, by the engine."""
    table = _Table(setting)
    for deal in setting.deals():
        table.start(deal)
        yield from table.decisions(deal, ())


class _Table:
    """One game of the engine, which goes back to earlier states by copying its record."""

    def __init__(self, setting: Setting) -> None:
        seats = setting.rules.seats
        self._setting = setting
        self._compiled = engine.compile_rules(setting.rules)
        self._games = engine.new_games(1, max(seats, 10), recording=True)
        self._layout = Layout.of(setting.rules)
        self._sections = sections_of(self._layout, (setting.rules,))
        self._observation = np.zeros((1, self._layout.size), np.float32)
        self._mask = np.zeros((1, self._layout.n_actions), np.int8)

    def start(self, deal: Sequence[str]) -> None:
        games, seats = self._games, self._setting.rules.seats
        games["script"][0, : len(deal)] = [parse_card(card) for card in deal]
        games["script_at"], games["script_end"] = 0, len(deal)
        for field in ("lives", "before"):
            games[field][0, :seats] = self._setting.lives
        games["staked"][0, :seats] = 1
        games["dealer"] = self._setting.dealer
        engine.start_at(games, self._compiled, 0)

    def decisions(self, deal: tuple[str, ...], path: tuple[str, ...]) -> Iterator[Decision]:
        """This decision and all that can follow."""
        seat = int(self._games["seat"][0])
        if seat == engine.NOBODY:
            return
        arguments = (self._games, self._compiled, self._layout.offsets, self._sections, 0, seat)
        observe(*arguments, self._observation, self._mask)
        legal = tuple(engine.ACTION_NAMES[action] for action in np.flatnonzero(self._mask[0]))
        observation = self._observation.tobytes()
        yield Decision(deal=deal, path=path, seat=seat, observation=observation, legal=legal)
        here = self._games.copy()
        for name in legal:
            engine.step(self._games, self._compiled, 0, engine.ACTION_NAMES.index(name))
            yield from self.decisions(deal, (*path, name))
            self._games[:] = here


def referee_at(setting: Setting, deal: Sequence[str], path: Sequence[str]) -> Referee:
    """The plain referee after the same actions."""
    luck = Scripted([deal[:-1]], stock=deal[-1:])
    rules = setting.rules.fields()
    referee = Referee(rules, luck, dealer=setting.dealer, lives=setting.lives)
    for action in path:
        referee.act(action)
    return referee


def referee_decisions(
    setting: Setting, deal: tuple[str, ...], path: tuple[str, ...] = ()
) -> Iterator[Referee]:
    """Every decision of a round with this deal, by the referee alone."""
    referee = referee_at(setting, deal, path)
    if not referee.over:
        yield referee
        for name in referee.legal():
            yield from referee_decisions(setting, deal, (*path, name))


PUBLIC: Final = {"turned_up", "showed", "stock_showed", "revealed"}


def referee_view(referee: Referee, viewer: int) -> View:
    """What a seat has seen happen in this round, in order; suits never matter."""
    return (viewer, *(_seen(event, viewer) for event in referee.events))


def _seen(event: tuple[Any, ...], viewer: int) -> tuple[Any, ...]:
    """An event as a seat sees it: cards are seen by all, or by those who hold them in hand."""
    kind, *rest = event
    if kind == "swapped":
        asker, asked, *cards = rest
        return (kind, asker, asked, *(card[0] for card in cards if viewer in {asker, asked}))
    if kind in {"dealt", "drew"}:
        seat, card = rest
        return (kind, seat, card[0]) if seat == viewer else (kind, seat)
    if kind in PUBLIC:
        seat, card = rest
        return (kind, seat, card[0])
    return event
