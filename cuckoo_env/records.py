"""Games as records: one JSON object a game, checked by playing it again.

A record (format ``cuckoo-record/1``) names the rules and the seats and lists the rounds: who dealt, the
lives before, the cards, and the actions in the order taken. Everything else follows from the rules, and
:func:`check` derives it by replaying through the engine: whatever the record gives must agree, and what it
leaves out is filled in; :func:`story` tells it. :func:`record` writes down a :class:`~cuckoo_env.game.Game`.

A record shows every card of the rounds that are over, which nobody minds any more: all cards are revealed at
the end of a round, and nothing of it counts in the next. A round that is not over is never written.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from cuckoo_env import events
from cuckoo_env.cards import parse_card
from cuckoo_env.events import Event
from cuckoo_env.files import replacing
from cuckoo_env.game import Game, IllegalActionError, player_names
from cuckoo_env.rules import FirstDealer, Rules, RulesError

FORMAT: Final = "cuckoo-record/1"

_GAME: Final = ("format", "rules", "seats", "staked", "dealer_cut", "rounds", "winners", "payoffs")
_ROUND: Final = (
    "dealer", "lives", "deal", "stock", "actions", "reveal", "lost", "carried", "cut",
)  # fmt: skip
_MISDEAL: Final = ("misdeal", "dealer", "lives", "deal")
_NEEDED: Final = {
    _GAME: ("format", "rules", "seats", "rounds"),
    _ROUND: ("dealer", "lives", "deal", "actions"),
    _MISDEAL: _MISDEAL,
}

Record = dict[str, Any]


class RecordError(ValueError):
    """A record that does not follow the rules or the format; the message says where and what.

    Attributes:
        round: the number of the round, from 1; None where the error is in no round.
        seat: the seat concerned, or None.
        field: the field concerned.
        reason: what was expected and what was found.
    """

    def __init__(
        self, field: str, reason: str, *, number: int | None = None, seat: int | None = None
    ) -> None:
        self.round, self.seat, self.field, self.reason = number, seat, field, reason
        place = [] if number is None else [f"round {number}"]
        place += [] if seat is None else [f"seat {seat}"]
        super().__init__(f"{', '.join([*place, field])}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, (self.field, self.reason, self.round, self.seat)


def _error(field: str, reason: str, number: int | None, seat: int | None) -> RecordError:
    return RecordError(field, reason, number=number, seat=seat)


def _differs(expected: object, found: object) -> str:
    return f"expected {_json(expected)}, found {_json(found)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# Reading and writing


def loads(text: str) -> Record:
    """The record in a text, not yet checked.

    Raises:
        RecordError: if it is not one JSON object, with every key once and numbers that are numbers.
    """
    try:
        found = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except RecordError:
        raise
    except ValueError as error:  # also a number of thousands of digits, which is no error of JSON
        raise RecordError("record", f"not JSON: {error}") from None
    except RecursionError:
        raise RecordError("record", "not JSON of a record: too deep") from None
    if "\\u" in text and not _is_unicode(found):
        raise RecordError("record", "not JSON: half of a character that is written in two halves")
    if not isinstance(found, dict):
        raise RecordError("record", f"expected a JSON object, found {_json(found)}")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> Record:
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise RecordError(key, f"given {times} times")
    return dict(pairs)


def _no_constant(text: str) -> Any:
    raise RecordError("record", f"{text} is not a number")


def _is_unicode(found: Any) -> bool:
    """Whether a file can hold it: half of a surrogate pair is text to Python, and to nobody else."""
    try:
        _json(found).encode()
    except UnicodeEncodeError:
        return False
    return True


def dumps(record: Mapping[str, Any]) -> str:
    """The record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False)


def read(path: Path) -> Iterator[tuple[int, Record | RecordError]]:
    """The records of a file, one after the other: one JSON object, or one on every line.

    Yields:
        The line on which each record starts, from 1, and the record, or why it is none.

    Raises:
        OSError: if the file cannot be read.
    """
    with path.open("rb") as file:
        lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        number, line = next(lines, (1, b""))
        first = _attempt(line)
        if isinstance(first, RecordError):
            file.seek(0)
            yield from _read_odd(file.read())
            return
        yield number, first
        for number, line in lines:
            yield number, _attempt(line)


def _read_odd(data: bytes) -> Iterator[tuple[int, Record | RecordError]]:
    """The records of a file whose first line is none: that may be one object over several lines."""
    if not data.strip():
        yield 1, RecordError("record", "expected one at least, found an empty file")
        return
    whole = _attempt(data)
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    found = [(number, _attempt(line)) for number, line in lines]
    if isinstance(whole, RecordError) and any(isinstance(each, dict) for _, each in found):
        yield from found
    else:
        yield 1, whole


def _attempt(line: bytes) -> Record | RecordError:
    try:
        # Some editors begin a file with a mark that says it is UTF-8.
        return loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return RecordError("record", f"not UTF-8 text: {error}")
    except RecordError as error:
        return error


@contextmanager
def writing(path: Path) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that adds a record to a file, one a line; the file is there when the block ends.

    An error in the block leaves what was there before.

    Raises:
        OSError: if it cannot be written.
    """
    with replacing(path) as file:

        def add(record: Mapping[str, Any]) -> None:
            file.write(dumps(record).encode() + b"\n")

        yield add


def write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records to a file, one a line; the file is replaced as a whole.

    Raises:
        OSError: if it cannot be written.
    """
    with writing(path) as add:
        for each in records:
            add(each)


# Writing down a game


def record(game: Game, names: Sequence[str] | None = None) -> Record:
    """A game as a record: its finished rounds, and the result once there is one.

    Args:
        game: the game; one that is not over is written down to the end of its last whole round.
        names: what the seats are called; by default ``player_0``, ``player_1`` ….
    """
    writer = _Writer(game.rules)
    for action, each in game.retold():
        writer.add(action, each)
    written: Record = {"format": FORMAT, "rules": _text(game.rules)}
    written["seats"] = list(names) if names else player_names(game.rules.seats)
    if set(writer.staked) != {1}:
        written["staked"] = list(writer.staked)
    if writer.dealer_cut:
        written["dealer_cut"] = writer.dealer_cut
    written["rounds"] = writer.finished
    return {**written, **_result(game)}


@functools.lru_cache(maxsize=256)
def _text(rules: Rules) -> str:
    """The canonical text: of many games it is the same, and finding it takes as long as writing one down."""
    return str(rules)


class _Writer:
    """Writes rounds down from the events of a game that is told again."""

    def __init__(self, rules: Rules) -> None:
        self._seats = rules.seats
        self._read = 0
        self._seat: int | None = None
        self.now: Record = {}
        self.staked: tuple[int, ...] = ()
        self.dealer_cut: list[list[Any]] = []
        self.finished: list[Record] = []

    def add(self, action: str | None, game: Game) -> None:
        """Write down what an action led to."""
        self.staked = self.staked or game.staked
        if action is not None:
            self.now["actions"].append([self._seat, action])
        log, _, stop = game.unread(0)
        for row in log[self._read : stop].tolist():
            self._write(events.decode(row), game)
        if game.seat is None:
            self._finish()
        self._read, self._seat = stop, game.seat

    def _write(self, event: Event, game: Game) -> None:
        now, seat = self.now, event.seat
        match event.event:
            case "dealer_cut":
                self.dealer_cut.append([seat, event.card])
            case "round":
                self._finish()
                none = [None] * self._seats
                lives = list(game.lives)
                self.now = {"dealer": seat, "lives": lives, "deal": none, "actions": []}
            case "dealt":
                now["deal"][seat] = event.card
            case "drew" | "stock_showed":
                now.setdefault("stock", []).append(event.card)
            case "revealed":
                now.setdefault("reveal", [None] * self._seats)[seat] = event.card
                now.setdefault("lost", [0] * self._seats)
            case "lost":
                now["lost"][seat] = event.count
            case "final_cut":
                now.setdefault("cut", []).append([seat, event.card])
            case "carried":
                now["carried"] = True
            case "misdealt":
                self.now = {"misdeal": True, **{key: now[key] for key in _MISDEAL[1:]}}

    def _finish(self) -> None:
        """Keep the round, in the order of the format."""
        keys = _MISDEAL if "misdeal" in self.now else _ROUND
        if self.now:
            self.finished.append({key: self.now[key] for key in keys if key in self.now})
        self.now = {}


def _result(game: Game) -> Record:
    result = game.result
    if result is None:
        return {"winners": None, "payoffs": None}
    return {"winners": list(result.winners), "payoffs": list(result.payoffs)}


# Checking by playing again


def check(found: Mapping[str, Any]) -> Record:
    """Replay a record: everything it gives is checked, everything it leaves out is filled in.

    Returns:
        The record with ``reveal``, ``lost``, ``winners`` and ``payoffs``, in the order of the format.

    Raises:
        RecordError: naming round, seat, field, what the rules lead to and what was found.
    """
    return _replayed(found).filled()


def story(found: Mapping[str, Any]) -> list[list[str]]:
    """What happened in every round of a record, in sentences with the names of its seats.

    Raises:
        RecordError: as :func:`check`.
    """
    told = _replayed(found).told()
    return [events.story(each, names=found["seats"]) for each in told]


def _replayed(found: Mapping[str, Any]) -> _Replay:
    rules = _check_form(found)
    replay = _Replay(rules, found)
    for number, each in enumerate(found["rounds"], 1):
        replay.play(number, each)
    replay.check_result()
    return replay


class _Replay:
    """A record's game, played round by round on the engine."""

    def __init__(self, rules: Rules, found: Mapping[str, Any]) -> None:
        self._found = found
        self._deals = [each for each in found["rounds"] if "misdeal" not in each]
        self._writer = _Writer(rules)
        self._game = self._first_deal(rules)
        self._writer.add(None, self._game)
        self._filled: list[Record] = []
        if self._writer.dealer_cut != found.get("dealer_cut", []):
            raise RecordError(
                "dealer_cut", self._cut_differs("dealer_cut", self._writer.dealer_cut)
            )

    def _first_deal(self, rules: Rules) -> Game:
        """The game at its first deal; a deal by chance where the record has none."""
        found, rounds = self._found, self._found["rounds"]
        deal = next(iter(self._deals), None)
        if "dealer_cut" in found:
            return _from_the_cut(rules, found, _script(deal) if deal else [])
        first: Mapping[str, Any] = rounds[0] if rounds else {}
        lives = first.get("lives", [rules.lives] * rules.seats)
        if deal and deal["lives"] == lives:
            _check_deal(rounds.index(deal) + 1, deal["deal"], lives)
        else:
            deal = None
        try:
            return Game.from_position(
                rules,
                dealer=first.get("dealer", 0),
                lives=lives,
                staked=found.get("staked"),
                deal=deal and deal["deal"],
                stock=next(iter(deal.get("stock", ())), None) if deal else None,
                seed=0,
            )
        except ValueError as error:
            field, _, reason = str(error).partition(": ")
            number = 1 if field in {"dealer", "lives"} else None
            raise RecordError(field, reason, number=number) from None

    def play(self, number: int, found: Mapping[str, Any]) -> None:
        """Play one round, checking all that is given."""
        if self._game.seat is None:
            raise RecordError("rounds", "expected none, for the game is over", number=number)
        now = self._writer.now
        for field in ("dealer", "lives"):
            if found[field] != now[field]:
                raise RecordError(field, _differs(now[field], found[field]), number=number)
        if "misdeal" in found:
            self._filled.append(dict(found))
            return
        _check_deal(number, found["deal"], now["lives"])
        self._act(number, found)
        self._check_round(number, found, self._writer.finished[-1])
        self._filled.append(self._writer.finished[-1])

    def _act(self, number: int, found: Mapping[str, Any]) -> None:
        """Take the round's actions, which must be exactly those that it needs."""
        rounds = len(self._writer.finished)
        later = self._deals[rounds + 1 : rounds + 2]
        cards = [card for _, card in found.get("cut", [])]
        try:
            self._game.follow([*cards, *(_script(later[0]) if later else [])])
        except ValueError as error:
            raise RecordError("cut", str(error), number=number) from None
        for seat, action in found["actions"]:
            if len(self._writer.finished) > rounds:
                reason = f"expected no more actions, found {_json(action)}"
                raise RecordError("actions", reason, number=number, seat=seat)
            self._take(number, seat, action)
        if len(self._writer.finished) == rounds:
            legal = " or ".join(self._game.legal_actions())
            reason = f"expected {legal}, found no more actions"
            raise RecordError("actions", reason, number=number, seat=self._game.seat)

    def _take(self, number: int, seat: int, action: str) -> None:
        try:
            self._game.verify(seat, action)
        except IllegalActionError:
            legal = " or ".join(self._game.legal_actions())
            reason = f"expected {legal} of seat {self._game.seat}, found {action} of seat {seat}"
            raise RecordError("actions", reason, number=number, seat=seat) from None
        self._game.act(action)
        self._writer.add(action, self._game)

    def _check_round(self, number: int, found: Mapping[str, Any], derived: Record) -> None:
        """Compare what the round led to with what is given."""
        if (turned := derived.get("stock", [])) != found.get("stock", []):
            expected = "a card that was turned" if turned else "none"
            reason = f"expected {expected}, found {_json(found.get('stock', []))}"
            raise RecordError("stock", reason, number=number, seat=derived["dealer"])
        if derived.get("cut", []) != found.get("cut", []):
            raise RecordError(
                "cut", self._cut_differs("cut", derived.get("cut", []), found), number=number
            )
        if derived.get("carried", False) != found.get("carried", False):
            reason = _differs(derived.get("carried", False), found.get("carried", False))
            raise RecordError("carried", reason, number=number)
        for field in ("reveal", "lost"):
            for seat, value in enumerate(found.get(field, derived[field])):
                if value != derived[field][seat]:
                    reason = _differs(derived[field][seat], value)
                    raise RecordError(field, reason, number=number, seat=seat)

    def _cut_differs(
        self, field: str, derived: list[Any], found: Mapping[str, Any] | None = None
    ) -> str:
        given = (self._found if found is None else found).get(field, [])
        if derived[: len(given)] == given:
            more = len(derived) - len(given)
            # The cards that are missing are chance's, and mean nothing.
            return f"expected {more} more cards, from seat {derived[len(given)][0]} on, found none"
        return _differs(derived, given)

    def check_result(self) -> None:
        """Compare how the game ended, if it did, with what is given."""
        derived = _result(self._game)
        winners, payoffs = (self._found.get(key, derived[key]) for key in ("winners", "payoffs"))
        if winners != derived["winners"]:
            raise RecordError("winners", _differs(derived["winners"], winners))
        if not _same_amounts(derived["payoffs"], payoffs):
            raise RecordError("payoffs", _differs(derived["payoffs"], payoffs))

    def filled(self) -> Record:
        """The record with all that was left out."""
        head = {key: self._found[key] for key in _GAME[:5] if key in self._found}
        return {**head, "rounds": self._filled, **_result(self._game)}

    def told(self) -> list[list[Event]]:
        """What happened in each of the record's rounds."""
        happened = self._game.events
        starts = [at for at, event in enumerate(happened) if event.event == "round"]
        # What comes before the first deal belongs to it; a deal after the last round is none of ours.
        bounds = pairwise([0, *starts[1:], len(happened)])
        deals = iter([list(happened[start:stop]) for start, stop in bounds])
        return [
            [Event("round", seat=each["dealer"]), Event("misdealt")]
            if "misdeal" in each
            else next(deals)
            for each in self._found["rounds"]
        ]


def _from_the_cut(rules: Rules, found: Mapping[str, Any], cards: list[str]) -> Game:
    """A game from the very beginning, its first dealer found by the record's cut."""
    if rules.first_dealer is not FirstDealer.CUT:
        raise RecordError("dealer_cut", f"expected none with first_dealer={rules.first_dealer}")
    if "staked" in found:
        raise RecordError(
            "dealer_cut", "expected none in a game that starts with stakes paid before"
        )
    game = Game(rules, seed=0)
    try:
        game.reset(cards=[*(card for _, card in found["dealer_cut"]), *cards])
    except ValueError as error:
        raise RecordError("dealer_cut", str(error)) from None
    return game


def _check_deal(number: int, deal: Sequence[str | None], lives: Sequence[int]) -> None:
    """Every seat that is in has a card, and no other."""
    for seat, card in enumerate(deal):
        if (card is None) != (lives[seat] == 0):
            expected = "a card" if card is None else "null, for the seat is out"
            reason = f"expected {expected}, found {_json(card)}"
            raise RecordError("deal", reason, number=number, seat=seat)


def _script(found: Mapping[str, Any]) -> list[str]:
    """The cards of a round's deal and stock, in the order in which they are dealt."""
    return [card for card in [*found["deal"], *found.get("stock", [])] if card is not None]


def _same_amounts(derived: list[float] | None, found: list[float] | None) -> bool:
    if derived is None or found is None:
        return derived is found
    return all(abs(a - b) <= 1e-9 for a, b in zip(derived, found, strict=True))


# The form of a record


def _check_form(found: Mapping[str, Any]) -> Rules:
    """Check keys and types all through, so that the replay need not."""
    _check_keys(found, _GAME, None)
    if found["format"] != FORMAT:
        raise RecordError("format", _differs(FORMAT, found["format"]))
    rules = _check_rules(found["rules"])
    _Form(rules, None).names("seats", found["seats"])
    if "staked" in found:
        _Form(rules, None).numbers("staked", found["staked"])
    if "dealer_cut" in found:
        _Form(rules, None).cut("dealer_cut", found["dealer_cut"])
    if not isinstance(found["rounds"], list):
        raise RecordError("rounds", f"expected a list, found {_json(found['rounds'])}")
    for number, each in enumerate(found["rounds"], 1):
        _check_round_form(rules, number, each)
    _check_result_form(rules, found)
    return rules


def _check_keys(found: Any, known: tuple[str, ...], number: int | None) -> None:
    if not isinstance(found, Mapping):
        raise RecordError("rounds", f"expected an object, found {_json(found)}", number=number)
    for key in found:
        if key not in known:
            reason = f"unknown here; expected one of: {', '.join(known)}"
            name = key if isinstance(key, str) and key.isprintable() else _json(key)
            raise RecordError(name, reason, number=number)
    for key in _NEEDED[known]:
        if key not in found:
            raise RecordError(key, "expected, but missing", number=number)


def _check_rules(text: Any) -> Rules:
    if not isinstance(text, str):
        raise RecordError("rules", f"expected the text of a rule set, found {_json(text)}")
    try:
        return Rules.parse(text)
    except RulesError as error:
        raise RecordError("rules", str(error)) from None


def _check_round_form(rules: Rules, number: int, found: Any) -> None:
    is_misdeal = isinstance(found, Mapping) and "misdeal" in found
    _check_keys(found, _MISDEAL if is_misdeal else _ROUND, number)
    form = _Form(rules, number)
    form.number("dealer", found["dealer"])
    form.numbers("lives", found["lives"])
    if is_misdeal:
        form.expect("misdeal", found["misdeal"] is True, "true", found["misdeal"])
        return
    form.cards("deal", found["deal"])
    stock = found.get("stock", [])
    fits = isinstance(stock, list) and len(stock) <= 1 and all(map(_is_card, stock))
    form.expect("stock", fits, "a list of at most one card", stock)
    form.in_packs("deal", [card for card in [*found["deal"], *stock] if card is not None])
    form.actions("actions", found["actions"])
    if "reveal" in found:
        form.cards("reveal", found["reveal"])
    if "lost" in found:
        form.numbers("lost", found["lost"])
    if "carried" in found:
        form.expect("carried", isinstance(found["carried"], bool), "true", found["carried"])
    if "cut" in found:
        form.cut("cut", found["cut"])


def _check_result_form(rules: Rules, found: Mapping[str, Any]) -> None:
    form = _Form(rules, None)
    winners, payoffs = found.get("winners"), found.get("payoffs")
    if winners is not None:
        fits = isinstance(winners, list) and all(map(_is_whole, winners))
        form.expect("winners", fits, "a list of seats, or null", winners)
    if payoffs is not None:
        accepted = f"{rules.seats} numbers, or null"
        form.expect("payoffs", form.is_list(payoffs, _is_amount), accepted, payoffs)


class _Form:
    """The forms that fields may have, for one rule set and one place in the record."""

    def __init__(self, rules: Rules, number: int | None) -> None:
        self._rules, self._number = rules, number

    def expect(self, field: str, fits: bool, accepted: str, found: object) -> None:
        if not fits:
            reason = f"expected {accepted}, found {_json(found)}"
            raise RecordError(field, reason, number=self._number)

    def is_list(self, found: Any, fits: Callable[[Any], bool]) -> bool:
        """Whether it is a list with something that fits for every seat."""
        return isinstance(found, list) and len(found) == self._rules.seats and all(map(fits, found))

    def names(self, field: str, found: Any) -> None:
        fits = self.is_list(found, lambda name: isinstance(name, str) and name.isprintable())
        self.expect(field, fits, f"{self._rules.seats} names", found)

    def number(self, field: str, found: Any) -> None:
        self.expect(field, _is_whole(found), "a whole number", found)

    def numbers(self, field: str, found: Any) -> None:
        fits = self.is_list(found, _is_whole)
        self.expect(field, fits, f"{self._rules.seats} whole numbers", found)

    def cards(self, field: str, found: Any) -> None:
        fits = self.is_list(found, lambda card: card is None or _is_card(card))
        self.expect(field, fits, f"a card or null for each of {self._rules.seats} seats", found)

    def actions(self, field: str, found: Any) -> None:
        fits = isinstance(found, list) and all(_is_pair(each, _is_text) for each in found)
        self.expect(field, fits, "a list of [seat, action]", found)

    def cut(self, field: str, found: Any) -> None:
        fits = isinstance(found, list) and all(_is_pair(each, _is_card) for each in found)
        self.expect(field, fits, "a list of [seat, card]", found)
        once: list[str] = []
        last = -1
        for seat, card in found:
            # Every sub-cut goes round in ascending order, from full packs.
            once = [*once, card] if seat > last else [card]
            last = seat
            self.in_packs(field, once)

    def in_packs(self, field: str, cards: Sequence[str]) -> None:
        """Check that the packs hold the cards."""
        for card, times in Counter(cards).items():
            if times > self._rules.decks:
                reason = f"expected {card} at most {self._rules.decks} times, found {times}"
                raise RecordError(field, reason, number=self._number)


def _is_whole(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)


def _is_amount(found: Any) -> bool:
    try:
        return (
            isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
        )
    except OverflowError:  # a whole number that no float holds
        return False


def _is_text(found: Any) -> bool:
    return isinstance(found, str)


def _is_card(found: Any) -> bool:
    try:
        parse_card(found)
    except (ValueError, TypeError):
        return False
    return isinstance(found, str)


def _is_pair(found: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(found, list) and len(found) == 2 and _is_whole(found[0]) and fits(found[1])
