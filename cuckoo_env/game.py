"""One game for people and programs: checked moves, events, what each seat sees, copies.

A :class:`Game` is a batch of one on the compiled engine, with the engine's log of events kept for
the whole game. Moves are checked (:meth:`Game.verify` says why not, :meth:`Game.can` whether,
:meth:`Game.act` does). :meth:`Game.view` is what one seat may see, for pictures and text; the other
cards, the stock and the generator stay inside.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from cuckoo_env import events, seeding
from cuckoo_env.cards import UNKNOWN, parse_card
from cuckoo_env.compiled import entry, inlined, machine_code
from cuckoo_env.engine import (
    ACTION_NAMES,
    E_MISDEALT,
    EVENT_WIDTH,
    N_ACTIONS,
    NO_CARD,
    NOBODY,
    OUTCOME_NAMES,
    RULES,
    TRUNCATED,
    apply,
    begin_game,
    begin_play,
    capacity_for,
    compile_rules,
    deal,
    game_dtype,
    legal,
    legal_actions,
    record_type,
    tell,
)
from cuckoo_env.events import CARD_TEXTS, Event
from cuckoo_env.observation import OFFSETS, Layout, encode, sections_of, write_mask
from cuckoo_env.rules import MAX_LIVES, Rules

# What the compiled entry does instead of an action, and what it answers instead of a seat.
_START: Final = -1
_START_AT: Final = -2
_REDEAL: Final = -3
_LOOK: Final = -4
_ILLEGAL: Final = -2
_TOO_LONG: Final = -3
_NO_ROOM: Final = -4
_DONE: Final = 0

_FIRST_LOG: Final = 512
"""Rows of a new game's log; it grows."""


@functools.cache
def _desk(capacity: int) -> np.dtype[np.void]:
    """All of a single game that compiled code needs, in one record: each array more takes its time.

    ``marks[0]`` is the length of the log, ``marks[1 + seat]`` its length when the seat last chose
    an action.
    """
    return record_type(
        [
            ("game", game_dtype(capacity, recording=True)),
            ("rules", RULES),
            ("layout", OFFSETS),
            ("marks", "i8", (1 + capacity,)),
            ("mask", "i1", (1, N_ACTIONS)),
        ]
    )


@entry
def _play(desks: Any, sections: Any, log: Any, observation: Any, move: int, viewer: int) -> int:
    """Let one thing happen, write what a seat sees then, and return the seat to act: all in one call.

    With ``NOBODY`` for the viewer it is the seat to act that sees; when the game is over, nothing
    is written. A mask is all zeros for a seat that is not to act.
    """
    desk = desks[0]
    g, r, mask = desk.game, desk.rules, desk.mask
    if move != _LOOK:
        refused = _let_happen(g, r, log, desk.marks, move)
        if refused != _DONE:
            return refused
    seat = int(g.seat)
    if viewer == NOBODY:
        viewer = seat
    if viewer != NOBODY:
        encode(g, r, desk.layout, sections, viewer, observation, 0)
    if viewer != seat:
        mask[:] = 0
    elif viewer != NOBODY:
        write_mask(g, r, mask, 0)
    return seat


@inlined
def _let_happen(g: Any, r: Any, log: Any, marks: Any, move: int) -> int:
    """Let one thing happen in the game, add its events to the log, and return how that went."""
    if move >= 0 and not legal_actions(g, r) >> move & 1:
        return _ILLEGAL
    if int(marks[0]) + g.event.shape[0] > log.shape[0]:
        return _NO_ROOM
    g.n_events = 0
    if move >= 0:
        marks[1 + int(g.seat)] = marks[0]
        apply(g, r, move)
    elif move == _REDEAL:
        tell(g, E_MISDEALT, NOBODY, NOBODY, NO_CARD, NO_CARD)
        deal(g, r)
    elif move == _START:
        begin_game(g, r)
    else:
        begin_play(g, r)
    happened = int(g.n_events)
    if happened > g.event.shape[0]:
        return _TOO_LONG
    start = int(marks[0])
    for k in range(happened):
        for column in range(EVENT_WIDTH):
            log[start + k, column] = g.event[k, column]
    marks[0] = start + happened
    return _DONE


@functools.cache
def _code(capacity: int) -> Callable[..., int]:
    """The machine code of :func:`_play` for tables of this capacity."""
    numbers, log = np.zeros((1, 1), np.float32), np.zeros((1, EVENT_WIDTH), np.int16)
    return machine_code(_play, np.zeros(1, _desk(capacity)), numbers, log, numbers, _START, NOBODY)


Bookmark = tuple[npt.NDArray[np.int16], bytes, int]
"""The log of a game, how much of it each seat had read (as ``marks`` above), and a seat."""


class IllegalActionError(ValueError):
    """An action that is illegal now; the message names the seat, the action, the legal ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a game ended.

    Attributes:
        winners: the seats that won, ascending; nobody where a round was undecided or the game was
            truncated.
        payoffs: for each seat what it took from the pot less its stakes; they sum to zero.
        truncated: whether the game was stopped by ``max_rounds``.
    """

    winners: tuple[int, ...]
    payoffs: tuple[float, ...]
    truncated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SeatView:
    """What a viewer may see of one seat.

    Attributes:
        card: the card it holds, in record notation, where the viewer knows it; else None.
        shown: whether that card lies open for everybody.
        lives: lives left; at zero the seat is out.
        outcome: what became of its turn in this round, as in ``engine.OUTCOME_NAMES``.
    """

    card: str | None
    shown: bool
    lives: int
    outcome: str


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What one seat may see of a game.

    Attributes:
        viewer: the seat that looks.
        rules: the rule set.
        round: the number of the round, from 1.
        dealer: the seat that deals.
        turn: the seat whose turn it is; None when the game is over.
        acts: the seat to act: that one, or the seat it asks; None when the game is over.
        trading: whether trading is allowed: no king has stopped this deal.
        stock: the card shown from the stock and not taken, in record notation, or None.
        pot: what lies in the pot.
        seats: every seat, in absolute order.
        legal: the viewer's legal actions by name; empty when it is not to act.
        news: what has happened since the viewer last chose an action (or since the game began), the
            outcome of that action included, with only the cards that the viewer may see.
        result: how the game ended; None while it goes on.
    """

    viewer: int
    rules: Rules
    round: int
    dealer: int
    turn: int | None
    acts: int | None
    trading: bool
    stock: str | None
    pot: float
    seats: tuple[SeatView, ...]
    legal: tuple[str, ...]
    news: tuple[Event, ...]
    result: Result | None


class Game:
    """One game, from the first deal to the end.

    Attributes:
        rules: the rule set.
        seat: the seat to act; None when the game is over.

    Example:
        >>> game = Game("practice-table", seed=7)
        >>> game.seat, game.legal_actions()
        (0, ('keep', 'swap'))
        >>> [event.event for event in game.act("keep")]
        ['kept']
        >>> game.act("pay")
        Traceback (most recent call last):
        ...
        cuckoo_env.game.IllegalActionError: action: seat 1 may not pay; legal: keep, swap
    """

    rules: Rules
    seat: int | None

    def __init__(self, rules: Rules | str, seed: int | None = None) -> None:
        """Make a game and deal its first round.

        Args:
            rules: a rule set or its text.
            seed: a whole number from 0; None asks the operating system for one.

        Raises:
            RulesError: for a rule set that is refused.
            ValueError: for a seed that is none.
        """
        self._set_up(Rules.parse(rules))
        self.reset(seeding.check_seed(seed))

    def _set_up(self, rules: Rules) -> None:
        self.rules = rules
        capacity = capacity_for(rules.seats)
        self._code = _code(capacity)
        self._sit_at(np.zeros(1, _desk(capacity)))
        self._table[:] = compile_rules(rules)
        self._most_events = self._games.dtype["event"].shape[0]
        self._log = self._new_log()
        self._scripted = False
        self._use_layout(None)

    def _sit_at(self, desk: npt.NDArray[np.void]) -> None:
        """Take this record for the game's own, and keep views of its parts."""
        self._desk = desk
        self._games, self._table, self._marks = desk["game"], desk["rules"], desk["marks"][0]

    @classmethod
    def from_position(
        cls,
        rules: Rules | str,
        *,
        dealer: int,
        lives: Sequence[int],
        staked: Sequence[int] | None = None,
        deal: Sequence[str | None] | None = None,
        stock: str | None = None,
        cuts: Sequence[str] = (),
        seed: int | None = None,
    ) -> Self:
        """A game that starts with a deal in any position, its cards given or left to chance.

        Args:
            rules: a rule set or its text.
            dealer: the seat that deals; it must have a life.
            lives: the lives of every seat, at least two of them above 0.
            staked: the stakes each seat has paid into the pot; by default one each.
            deal: a card for every seat in record notation, None where it is out.
            stock: the card on top of the stock; only together with ``deal``.
            cuts: the cards drawn after this deal, in order: those of a final cut, or else of the
                next deal; only together with ``stock``.
            seed: the seed of everything that is not given.

        Example:
            >>> deal = ["2c", "9h", "Ks", "7d"]
            >>> game = Game.from_position("cuckoo,seats=4", dealer=3, lives=[3] * 4, deal=deal)
            >>> for action in ["swap", "swap", "keep", "keep"]:
            ...     happened = game.act(action)
            >>> [event.seat for event in happened if event.event == "lost"]
            [1]

        Raises:
            ValueError: naming the field, its value and what is accepted.
        """
        game = cls.__new__(cls)
        game._set_up(Rules.parse(rules))
        game._place(dealer, lives, [1] * len(lives) if staked is None else staked)
        game._seed(seeding.check_seed(seed))
        game._write_script(_scripted_deal(game.rules, lives, deal, stock, cuts))
        game._begin(_START_AT)
        return game

    def _place(self, dealer: int, lives: Sequence[int], staked: Sequence[int]) -> None:
        """Put lives, stakes and the dealer's button on the table."""
        seats = self.rules.seats
        _check_counts("lives", lives, seats, least=0)
        _check_counts("staked", staked, seats, least=1)
        if sum(each > 0 for each in lives) < 2:
            raise _refusal("lives", list(lives), "at least two seats with a life")
        if not 0 <= dealer < seats or lives[dealer] == 0:
            raise _refusal("dealer", dealer, "a seat that has a life")
        g = self._games[0]
        g["dealer"] = dealer
        g["lives"][:seats], g["before"][:seats], g["staked"][:seats] = lives, lives, staked

    def _seed(self, seed: int) -> None:
        self._games["rng"][0] = seeding.generator_for(seed, seeding.CARDS)

    def reset(self, seed: int | None = None, cards: Sequence[str] = ()) -> None:
        """Start a new game from the beginning.

        Args:
            seed: a whole number from 0; None goes on with the generator as it is.
            cards: what chance hands out first, as in :meth:`follow`.

        Raises:
            ValueError: for a seed that is none, or for cards that :meth:`follow` refuses.
        """
        if seed is not None:
            self._seed(seeding.check_seed(seed))
        if cards or self._scripted:
            self._write_script([parse_card(card) for card in cards])
        self._begin(_START)

    def follow(self, cards: Sequence[str]) -> None:
        """Let chance hand out these cards next, in the order in which it would have drawn them.

        Args:
            cards: cards in record notation: of a cut, then of the deal in ascending order of the
                seats still in, then the top of the stock, and so on; after them chance is itself
                again.

        Raises:
            ValueError: for a text that is no card, or more cards than there is room for.
        """
        script = [parse_card(card) for card in cards]
        self._write_script(script)
        self._moves.append(script)

    def _write_script(self, cards: Sequence[int]) -> None:
        script = self._games["script"][0]
        if len(cards) > len(script):
            raise _refusal("cards", len(cards), f"at most {len(script)} at once")
        script[: len(cards)] = cards
        self._scripted = len(cards) > 0
        self._games["script_at"], self._games["script_end"] = 0, len(cards)

    def _begin(self, how: int) -> None:
        """Start the game, remembering from where, so that it can be told again."""
        self._origin = (self._games.tobytes(), how)
        self._moves: list[int | list[int]] = []
        # A new log: what has been told of the last game stays as it is.
        self._log = self._new_log()
        self._marks[:] = 0
        self._bind()
        self._told: list[Event] = []
        self._do(how)

    def _new_log(self) -> npt.NDArray[np.int16]:
        return np.empty((_FIRST_LOG + self._most_events, EVENT_WIDTH), np.int16)

    def _bind(self) -> None:
        """Keep the compiled call at hand, with all that does not change from move to move."""
        self._mask = self._desk["mask"][0, 0, : self._n_actions]
        self._vector = self._vectors[0]
        self._call = functools.partial(
            self._code, self._desk, self._sections, self._log, self._vectors
        )

    def _do(self, move: int) -> int:
        """Let one thing happen; returns the seat to act, -1 when the game is over."""
        seat = self._call(move, NOBODY)
        if seat < 0:
            return self._stop(seat, move)
        self.seat = self._viewer = seat
        return seat

    def _stop(self, why: int, move: int) -> int:
        """What is to be done where no seat is to act after a move."""
        if why == _NO_ROOM:
            self._log = np.concatenate([self._log, np.empty_like(self._log)])
            self._bind()
            return self._do(move)
        if why == _ILLEGAL:
            raise self._illegal(move)
        if why == _TOO_LONG:
            raise RuntimeError(f"events: more than {self._most_events} happened in one step")
        self.seat, self._viewer = None, NOBODY
        return NOBODY

    # Moves

    def legal_actions(self) -> tuple[str, ...]:
        """The legal actions of the seat to act, by name; none when the game is over."""
        bits = int(legal(self._games, self._table, 0))
        return tuple(name for action, name in enumerate(ACTION_NAMES) if bits >> action & 1)

    def verify(self, seat: int, action: int | str) -> None:
        """Raise unless the seat is to act and the action, a name or a number, is legal.

        Raises:
            IllegalActionError: naming the seat, the action and the legal ones.
        """
        if self.seat is not None and seat != self.seat:
            text = f"action: seat {seat} may not {action_text(action)}: seat {self.seat} is to act"
            raise IllegalActionError(text)
        if action_text(action) not in self.legal_actions():
            raise self._illegal(action)

    def _illegal(self, action: object) -> IllegalActionError:
        if self.seat is None:
            return IllegalActionError(f"action: nobody may {action_text(action)}: the game is over")
        names = ", ".join(self.legal_actions())
        return IllegalActionError(
            f"action: seat {self.seat} may not {action_text(action)}; legal: {names}"
        )

    def can(self, seat: int, action: int | str) -> bool:
        """Whether the seat is to act and the action is legal."""
        try:
            self.verify(seat, action)
        except IllegalActionError:
            return False
        return True

    def act(self, action: int | str) -> tuple[Event, ...]:
        """The seat to act takes an action, by name or number.

        Returns:
            What happened, up to the next choice, with all cards: see :meth:`Event.seen_by`.

        Raises:
            IllegalActionError: naming the seat, the action and the legal ones; nothing has changed
                then.
        """
        self.verify(NOBODY if self.seat is None else self.seat, action)
        before = self._marks.item(0)
        self.play(ACTION_NAMES.index(action_text(action)))
        return self._told_since(before)

    def play(self, action: Any) -> int:
        """Take an action by number, as fast as can be, without telling what happens.

        Returns:
            The seat to act next; -1 when the game is over.

        Raises:
            IllegalActionError: naming the seat, the action and the legal ones; nothing has changed
                then.
        """
        move = action if type(action) is int else self._number(action)
        if not 0 <= move < N_ACTIONS:
            raise self._illegal(action)
        seat = self._call(move, NOBODY)
        if seat >= 0:
            self.seat = self._viewer = seat
        else:
            seat = self._stop(seat, move)
        self._moves.append(move)
        return seat

    def _number(self, action: Any) -> int:
        try:
            return int(operator.index(action))
        except TypeError:
            raise self._illegal(action) from None

    def redeal(self) -> tuple[Event, ...]:
        """Collect and repeat an incorrect deal: no life is lost, the dealer stays.

        Returns:
            What happened, with all cards.

        Raises:
            ValueError: when a seat has acted on the deal, or the game is over.
        """
        if self.seat is None:
            raise ValueError("redeal: the game is over")
        if self._games["outcome"].any():
            raise ValueError("redeal: a seat has acted on this deal")
        before = self._marks.item(0)
        self._do(_REDEAL)
        self._moves.append(_REDEAL)
        return self._told_since(before)

    def _told_since(self, row: int) -> tuple[Event, ...]:
        return tuple(map(events.decode, self._log[row : self._marks.item(0)].tolist()))

    # What happened, and what is seen

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that has happened in this game, with all cards: not for a seat's eyes."""
        for row in self._log[len(self._told) : self._marks.item(0)].tolist():
            self._told.append(events.decode(row))
        return tuple(self._told)

    def unread(self, seat: int) -> tuple[npt.NDArray[np.int16], int, int]:
        """The part of the log that tells what has happened since a seat last chose an action.

        Returns:
            The log, (rows, 5) int16 (for :func:`events.decode`), the first row and the last plus
            one; these rows never change.
        """
        return self._log, self._marks.item(1 + seat), self._marks.item(0)

    def news(self, viewer: int) -> tuple[Event, ...]:
        """What has happened since a seat last chose an action, as it may see it."""
        return read(self.bookmark(self._check_seat(viewer)))

    def bookmark(self, viewer: int) -> Bookmark:
        """What is news to a seat now, to be :func:`read` at any time: cheaper than reading it."""
        return self._log, self._marks.tobytes(), viewer

    def observe(
        self, viewer: int, layout: Layout | None = None
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
        """What a seat sees, as numbers.

        Args:
            viewer: the seat.
            layout: the layout of the vector; by default the smallest for these rules.

        Returns:
            The observation, (layout.size,) float32, and the action mask, (layout.n_actions,) int8,
            which is all zeros for a seat that is not to act.

        Raises:
            ValueError: for a seat that does not exist, or a layout that is too small.
        """
        if layout is not self._layout:
            self._use_layout(layout)
        if viewer != self._viewer:
            # What the seat to act sees is there already: it came with the last move.
            self._call(_LOOK, self._check_seat(viewer))
            self._viewer = viewer
        return self._vector.copy(), self._mask.copy()

    def _use_layout(self, layout: Layout | None) -> None:
        """Keep at hand what encoding in this layout needs."""
        known = layout or Layout.of(self.rules)
        Layout.of(self.rules, max_seats=known.max_seats, n_actions=known.n_actions)
        self._layout = layout
        self._desk["layout"] = known.offsets
        self._sections, self._n_actions = sections_of(known, (self.rules,)), known.n_actions
        self._vectors = np.zeros((1, known.size), np.float32)
        self._viewer = NOBODY
        self._bind()

    def view(self, viewer: int) -> View:
        """What a seat may see.

        Raises:
            ValueError: for a seat that does not exist.
        """
        return view_of(
            self._games[0],
            self.rules,
            self._check_seat(viewer),
            legal=self.legal_actions() if viewer == self.seat else (),
            news=self.news(viewer),
        )

    @property
    def lives(self) -> tuple[int, ...]:
        """The lives of every seat."""
        return tuple(self._games["lives"][0, : self.rules.seats].tolist())

    @property
    def staked(self) -> tuple[int, ...]:
        """How many stakes every seat has paid into the pot."""
        return tuple(self._games["staked"][0, : self.rules.seats].tolist())

    @property
    def dealer(self) -> int:
        """The seat that deals."""
        return int(self._games["dealer"][0])

    def _check_seat(self, seat: int) -> int:
        if not 0 <= seat < self.rules.seats:
            raise _refusal("seat", seat, f"0 to {self.rules.seats - 1}")
        return seat

    @property
    def result(self) -> Result | None:
        """How the game ended; None while it goes on."""
        return _result_of(self._games[0], self.rules)

    def __repr__(self) -> str:
        state = "over" if self.seat is None else f"seat {self.seat} to act"
        return f"<Game {self.rules}: {state}>"

    # Copies

    def copy(self) -> Self:
        """The same game once more, generator included; the two go on independently."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._sit_at(_filled(self._desk, self._desk.tobytes()))
        twin._log, twin._vectors = self._log.copy(), self._vectors.copy()
        twin._moves, twin._told = list(self._moves), list(self._told)
        twin._bind()
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "rules": self.rules,
            "game": self._games.tobytes(),
            "origin": self._origin,
            "moves": self._moves,
            "log": self._log[: self._marks.item(0)].copy(),
            "marks": self._marks.copy(),
            "seat": self.seat,
            "scripted": self._scripted,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Compiled code wants the record types of this process, so the game comes as bytes.
        self._set_up(state["rules"])
        self._games[:] = _filled(self._games, state["game"])
        self._origin, self._moves = state["origin"], state["moves"]
        self._log = np.concatenate([state["log"], self._new_log()])
        self._marks[:] = state["marks"]
        self.seat, self._told = state["seat"], []
        self._scripted = state["scripted"]
        self._bind()

    def retold(self) -> Iterator[tuple[str | None, Self]]:
        """This game played again from its beginning, as ``(action, game after it)``.

        The action is a name, or None for what is no seat's choice: the first deal, and a deal
        repeated. It is one game that goes on between the steps of the iteration, not a copy for each.
        """
        twin, (origin, how) = self.copy(), self._origin
        twin._games[:] = _filled(twin._games, origin)
        twin._begin(how)
        yield None, twin
        for move in self._moves:
            if isinstance(move, list):
                twin._write_script(move)
            else:
                twin._do(move)
                yield (None if move == _REDEAL else ACTION_NAMES[move]), twin


def _filled(like: npt.NDArray[np.void], state: bytes) -> npt.NDArray[np.void]:
    """The record whose bytes these are: copying bytes is ten times as fast as copying records."""
    copy = np.zeros(1, like.dtype)
    copy.view(np.uint8)[:] = np.frombuffer(state, np.uint8)
    return copy


def read(bookmark: Bookmark) -> tuple[Event, ...]:
    """What was news to a seat when the bookmark was made, as it may see it."""
    log, marks, viewer = bookmark
    lengths = np.frombuffer(marks, np.int64)
    rows = log[lengths[1 + viewer] : lengths[0]].tolist()
    return tuple(events.decode(row).seen_by(viewer) for row in rows)


def action_text(action: object) -> str:
    """An action by name, or the text of whatever else it is."""
    if isinstance(action, str):
        return action if action.isalpha() else f"do {action!r}"
    try:
        number = operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        number = NOBODY
    return ACTION_NAMES[number] if 0 <= number < N_ACTIONS else f"do {action!r}"


def player_names(seats: int) -> list[str]:
    """What programs call the seats: ``player_0``, ``player_1`` …."""
    return [f"player_{seat}" for seat in range(seats)]


def view_of(
    g: Any, rules: Rules, viewer: int, *, legal: tuple[str, ...], news: tuple[Event, ...] = ()
) -> View:
    """What a seat may see of a game's record.

    Args:
        g: the record.
        rules: its rules.
        viewer: the seat.
        legal: the viewer's legal actions.
        news: what has happened, as the viewer may see it.
    """
    over = int(g["seat"]) == NOBODY
    known = g["known"][:, viewer]
    return View(
        viewer=viewer,
        rules=rules,
        round=int(g["rounds"]) + (not over),
        dealer=int(g["dealer"]),
        turn=None if over else int(g["turn"]),
        acts=None if over else int(g["seat"]),
        trading=bool(g["trading"]),
        stock=None if g["stock"] == NO_CARD else CARD_TEXTS[g["stock"]],
        pot=rules.stake * int(g["staked"].sum()),
        seats=tuple(_seat_view(g, seat, known[seat] != UNKNOWN) for seat in range(rules.seats)),
        legal=legal,
        news=news,
        result=_result_of(g, rules),
    )


def _result_of(g: Any, rules: Rules) -> Result | None:
    if int(g["seat"]) != NOBODY:
        return None
    return Result(
        winners=tuple(np.flatnonzero(g["won"][: rules.seats]).tolist()),
        payoffs=tuple(g["payoff"][: rules.seats].tolist()),
        truncated=int(g["result"]) == TRUNCATED,
    )


def _seat_view(g: Any, seat: int, known: bool) -> SeatView:
    # Whoever knows the rank that a seat holds has seen the very card.
    return SeatView(
        card=CARD_TEXTS[g["card"][seat]] if known else None,
        shown=bool(g["shown"][seat]),
        lives=int(g["lives"][seat]),
        outcome=OUTCOME_NAMES[g["outcome"][seat]],
    )


def _refusal(field: str, value: object, accepted: str) -> ValueError:
    return ValueError(f"{field}: {value!s} is refused; accepted: {accepted}")


def _check_counts(field: str, counts: Sequence[int], seats: int, *, least: int) -> None:
    whole = all(hasattr(each, "__index__") and least <= each <= MAX_LIVES for each in counts)
    if len(counts) != seats or not whole:
        accepted = f"{seats} whole numbers from {least} to {MAX_LIVES}"
        raise _refusal(field, list(counts), accepted)


def _scripted_deal(
    rules: Rules,
    lives: Sequence[int],
    deal: Sequence[str | None] | None,
    stock: str | None,
    cuts: Sequence[str],
) -> list[int]:
    """The cards that chance hands out from a position on, checked."""
    if deal is None and stock is not None:
        raise _refusal("stock", stock, "None without a deal")
    if stock is None and cuts:
        raise _refusal("cuts", list(cuts), "none without the stock's top card")
    if deal is not None and [card is None for card in deal] != [each == 0 for each in lives]:
        raise _refusal(
            "deal", list(deal), "a card for every seat that has a life, None for the others"
        )
    dealt = [card for card in (*(deal or ()), stock) if card is not None]
    for card, times in Counter(dealt).items():
        if times > rules.decks:
            raise _refusal("deal", card, f"at most {rules.decks} of it, for so many packs")
    return [parse_card(card) for card in (*dealt, *cuts)]
