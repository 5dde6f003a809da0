"""Exact values once more, by brute force: plain Python, fractions, and the plain referee.

Every deal, every card of the stock, every cut and every action of a round is walked, one after the
other, and a match is one system of linear equations in fractions. Nothing is shared with the code
under test: rules are the referee's, probabilities are counted here, and what a seat knows is what
it has seen happen.

A :class:`Pack` may be small, so that a round has few deals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NamedTuple

from referee import LOW_TO_HIGH, RANKS, SUITS, Referee
from rounds import referee_view

Policy = Callable[[Referee], Mapping[str, Fraction]]
"""How likely the seat to act takes each of its legal actions."""

LARGEST_DENOMINATOR: Final = 1000
"""Payoffs are floats there and fractions here: shares of a pot have small denominators."""


@dataclass(frozen=True, kw_only=True)
class Pack:
    """The cards of a table: how many there are of each rank."""

    counts: Mapping[str, int]

    @classmethod
    def full(cls, decks: int = 1) -> Pack:
        return cls(counts=dict.fromkeys(RANKS, len(SUITS) * decks))

    @classmethod
    def small(cls, ranks: str, copies: int) -> Pack:
        return cls(counts=dict.fromkeys(ranks, copies))

    def without(self, rank: str) -> Pack:
        return Pack(counts={**self.counts, rank: self.counts[rank] - 1})

    def draws(self) -> Iterator[tuple[str, Fraction]]:
        """Each rank that can be drawn, and how likely it is."""
        cards = sum(self.counts.values())
        for rank, count in self.counts.items():
            if count:
                yield rank, Fraction(count, cards)

    def hands(self, cards: int) -> Iterator[tuple[str, Fraction, Pack]]:
        """The ranks of so many cards in order, how likely they are, and what is left of the pack."""
        if not cards:
            yield "", Fraction(1), self
            return
        for rank, chance in self.draws():
            for ranks, others, rest in self.without(rank).hands(cards - 1):
                yield rank + ranks, chance * others, rest


class Position(NamedTuple):
    """What is public between two deals."""

    lives: tuple[int, ...]
    dealer: int
    rounds: int = 0
    staked: int = 1


class Ending(NamedTuple):
    """How a match ended: the win shares and the payoffs."""

    shares: tuple[Fraction, ...]
    payoffs: tuple[Fraction, ...]


End = Position | Ending


class Decision(NamedTuple):
    """A seat chooses: what it has seen so far, and what each action leads to."""

    seat: int
    view: tuple[Any, ...]
    referee: Referee
    after: Mapping[str, Node]


class Chance(NamedTuple):
    """Chance chooses."""

    after: Sequence[tuple[Fraction, Node]]


Node = Decision | Chance | Position | Ending


# --------------------------------------------------------------------------------------
# Chance, asked step by step
# --------------------------------------------------------------------------------------


class StockNeededError(Exception):
    """The dealer turns the stock, and nobody has said yet what lies there."""


class CutNeededError(Exception):
    """Seats cut for the pot, and nobody has said yet who wins."""


class RoundOverError(Exception):
    """The next deal begins."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """The referee's luck for one round, as far as it is decided."""

    hand: Mapping[int, str] | None = None
    top: str | None = None
    favoured: int | None = None
    best: str = "K"

    def lot(self, seats: int) -> int:
        raise AssertionError(f"a position of {seats} seats has its dealer")

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        if self.hand is None:
            raise RoundOverError
        return {seat: self.hand[seat] for seat in seats_in}

    def stock(self) -> str:
        if self.top is None:
            raise StockNeededError
        return self.top + SUITS[0]

    def cut(self, seats: list[int]) -> list[str]:
        if self.favoured is None:
            raise CutNeededError(seats)
        return [(self.best if seat == self.favoured else "5") + SUITS[0] for seat in seats]


def twin(referee: Referee, fate: Fate) -> Referee:
    """The referee once more, with other luck."""
    again = object.__new__(Referee)
    again.__dict__.update({name: _copied(value) for name, value in vars(referee).items()})
    again.luck = fate
    return again


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return value.copy() if isinstance(value, list | set) else value


# --------------------------------------------------------------------------------------
# One round
# --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Table:
    """A rule set (by its fields) and a pack to play it with."""

    rules: Mapping[str, Any]
    pack: Pack

    @property
    def counts_stakes(self) -> bool:
        """Whether stakes can be told apart: if they grow without bound, positions are without them."""
        return self.rules["final_tie"] != "carry_stake" or self.rules["max_rounds"] is not None

    def round_from(self, position: Position) -> Chance:
        """Everything that can happen from a position to the next, or to the end."""
        seats_in = [seat for seat, lives in enumerate(position.lives) if lives]
        after = []
        for ranks, chance, rest in self.pack.hands(len(seats_in)):
            hand = {
                seat: rank + SUITS[ranks[:at].count(rank) % len(SUITS)]
                for at, (seat, rank) in enumerate(zip(seats_in, ranks, strict=True))
            }
            referee = Referee(
                self.rules,
                Fate(hand=hand),
                dealer=position.dealer,
                lives=position.lives,
                staked=[position.staked] * len(position.lives),
            )
            referee.rounds = position.rounds
            after.append((chance, self._decision(referee, rest)))
        return Chance(after)

    def _decision(self, referee: Referee, stock: Pack) -> Decision:
        fate = Fate(best=LOW_TO_HIGH[self.rules["ace"]][-1])
        return Decision(
            seat=referee.seat,
            view=referee_view(referee, referee.seat),
            referee=referee,
            after={action: self._after(referee, action, fate, stock) for action in referee.legal()},
        )

    def _after(self, referee: Referee, action: str, fate: Fate, stock: Pack) -> Node:
        """What an action leads to, whatever chance has a say in."""
        again = twin(referee, fate)
        try:
            again.act(action)
        except StockNeededError:
            return Chance(
                [
                    (chance, self._after(referee, action, replace(fate, top=rank), stock))
                    for rank, chance in stock.draws()
                ]
            )
        except CutNeededError as cut:
            (seats,) = cut.args
            # Cut again on equal cards, each of the seats is as likely to win as any other.
            return Chance(
                [
                    (
                        Fraction(1, len(seats)),
                        self._after(referee, action, replace(fate, favoured=seat), stock),
                    )
                    for seat in seats
                ]
            )
        except RoundOverError:
            return self._position(again)
        return _ending(again) if again.over else self._decision(again, stock)

    def _position(self, referee: Referee) -> Position:
        limited = self.rules["max_rounds"] is not None
        (staked,) = set(referee.staked)
        return Position(
            lives=tuple(referee.lives),
            dealer=referee.dealer,
            rounds=referee.rounds if limited else 0,
            staked=staked if self.counts_stakes else 1,
        )


def _ending(referee: Referee) -> Ending:
    winners = referee.winners
    return Ending(
        shares=tuple(
            Fraction(1, len(winners)) if seat in winners else Fraction(0)
            for seat in range(referee.seats)
        ),
        payoffs=tuple(
            Fraction(payoff).limit_denominator(LARGEST_DENOMINATOR) for payoff in referee.payoffs
        ),
    )


def ends(
    node: Node, policies: Sequence[Policy], chance: Fraction = Fraction(1)
) -> dict[End, Fraction]:
    """How likely a round ends in each way, if the seats play like this."""
    found: dict[End, Fraction] = defaultdict(Fraction)
    waiting = [(node, chance)]
    while waiting:
        here, reach = waiting.pop()
        if isinstance(here, Chance):
            waiting += [(after, reach * each) for each, after in here.after]
        elif isinstance(here, Decision):
            likely = policies[here.seat](here.referee)
            waiting += [(here.after[action], reach * each) for action, each in likely.items()]
        else:
            found[here] += reach
    return found


# --------------------------------------------------------------------------------------
# The match
# --------------------------------------------------------------------------------------


def values(table: Table, policies: Sequence[Policy]) -> dict[Position, list[Fraction]]:
    """Win shares, payoffs and the chance that nobody wins, from every position that can arise.

    Returns:
        By position, a list of two numbers a seat and one more.
    """
    seats = table.rules["seats"]
    starts = [Position((table.rules["lives"],) * seats, dealer) for dealer in range(seats)]
    moves: dict[Position, dict[Position, Fraction]] = {}
    gains: dict[Position, list[Fraction]] = {}
    waiting = list(starts)
    while waiting:
        position = waiting.pop()
        if position in moves:
            continue
        moves[position], gains[position] = {}, [Fraction(0)] * (2 * seats + 1)
        for end, chance in ends(table.round_from(position), policies).items():
            if isinstance(end, Position):
                moves[position][end] = chance
                waiting.append(end)
            else:
                at_end = [*end.shares, *end.payoffs, 1 - sum(end.shares)]
                gains[position] = [
                    so_far + chance * each
                    for so_far, each in zip(gains[position], at_end, strict=True)
                ]
    return solved(moves, gains)


def solved(
    moves: Mapping[Position, Mapping[Position, Fraction]],
    gains: Mapping[Position, Sequence[Fraction]],
) -> dict[Position, list[Fraction]]:
    """The values with ``value = gain + the mean value of what follows``, by elimination."""
    rows = {position: dict(row) for position, row in moves.items()}
    right = {position: list(gain) for position, gain in gains.items()}
    # Positions with the fewest lives first: most of what follows them is then already gone.
    order = sorted(rows, key=lambda position: (-position.rounds, sum(position.lives)))
    for at, position in enumerate(order):
        stays = 1 - rows[position].pop(position, Fraction(0))
        rows[position] = {then: chance / stays for then, chance in rows[position].items()}
        right[position] = [gain / stays for gain in right[position]]
        for other in order[at + 1 :]:
            _put_in(rows, right, other, position)
    for at, position in reversed(list(enumerate(order))):
        for other in order[:at]:
            _put_in(rows, right, other, position)
    return right


def _put_in(
    rows: dict[Position, dict[Position, Fraction]],
    right: dict[Position, list[Fraction]],
    row: Position,
    position: Position,
) -> None:
    """Replace a position in another's equation by what it equals."""
    factor = rows[row].pop(position, Fraction(0))
    if not factor:
        return
    for then, chance in rows[position].items():
        rows[row][then] = rows[row].get(then, Fraction(0)) + factor * chance
    right[row] = [
        gain + factor * more for gain, more in zip(right[row], right[position], strict=True)
    ]


# --------------------------------------------------------------------------------------
# Best responses
# --------------------------------------------------------------------------------------


class Response:
    """The best that one seat can do in a round, against the others' policies.

    It decides by what it has seen: in all cases that look the same to it, it takes the action that is
    best on the average, weighted by how likely chance and the others bring each case about.
    """

    def __init__(
        self,
        root: Node,
        policies: Sequence[Policy],
        seat: int,
        worth: Callable[[End], float],
    ) -> None:
        self._policies, self._seat, self._worth = policies, seat, worth
        self._cases: dict[tuple[Any, ...], list[tuple[float, Decision]]] = defaultdict(list)
        self._chosen: dict[tuple[Any, ...], str] = {}
        self._note_cases(root, 1.0)
        self._root = root

    def _note_cases(self, node: Node, reach: float) -> None:
        for action, chance, after in self._branches(node):
            del action
            self._note_cases(after, reach * chance)
        if isinstance(node, Decision) and node.seat == self._seat:
            self._cases[node.view].append((reach, node))

    def _branches(self, node: Node) -> Iterator[tuple[str, float, Node]]:
        """What can follow, and how likely it is apart from this seat's own choices."""
        if isinstance(node, Chance):
            for chance, after in node.after:
                yield "", float(chance), after
        elif isinstance(node, Decision):
            mine = node.seat == self._seat
            likely = {} if mine else self._policies[node.seat](node.referee)
            for action, after in node.after.items():
                yield action, 1.0 if mine else float(likely[action]), after

    @cached_property
    def value(self) -> float:
        """What the round is worth to the seat."""
        return self._value(self._root)

    def _value(self, node: Node) -> float:
        if isinstance(node, Position | Ending):
            return self._worth(node)
        if isinstance(node, Decision) and node.seat == self._seat:
            return self._value(node.after[self._best(node.view)])
        return sum(chance * self._value(after) for _, chance, after in self._branches(node))

    def _best(self, view: tuple[Any, ...]) -> str:
        if view not in self._chosen:
            cases = self._cases[view]
            self._chosen[view] = max(
                cases[0][1].after,
                key=lambda action: sum(
                    reach * self._value(case.after[action]) for reach, case in cases if reach
                ),
            )
        return self._chosen[view]
