"""The practice table: one person and agents at a game, message by message.

A :class:`Table` is what the page and the terminal both play at. The person sends messages (take an
action, watch on, restart, the coach on or off); each answer is a *snapshot*, plain data ready for JSON: what
has happened since the last message as frames (:mod:`cuckoo_env.play.frames`), the table now, and
what may be done. A snapshot holds what the person's seat may see, and nothing else: no hidden card, no
stock, no seed. A message that is refused changes nothing.

At the end a snapshot has ``results``: ``winners``; ``payoffs``, None where no stake is played for;
``truncated``; ``rounds``, each with its ``dealer``, who ``lost`` how many lives with which card, and
``tied``, whether it was a final tie whose losses do not stand, so that nobody ``lost`` (play goes on, as
the rules say, with the lives from before it or with those of a new game); ``decisions``, how many the person
took; ``judged``, how many of them the coach judged; and ``costliest``, advice on those that cost most, None
where none was judged.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cuckoo_env import agents, events, explain, records, seeding
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.game import Game, IllegalActionError
from cuckoo_env.observation import Layout
from cuckoo_env.play import opponents as seated
from cuckoo_env.play.frames import JsonObject, frames, hints, money, tell, view
from cuckoo_env.play.replay import replay
from cuckoo_env.rules import Direction, FirstDealer, Rules, RulesError

if TYPE_CHECKING:
    from cuckoo_env.play.coach import Advice, Coach

MOST_SEATS: Final = 10
MOST_LIVES: Final = 10
"""The largest table that is played at: what a page can show, and a game that ends within an evening."""
MOST_STAKE: Final = 1_000_000
MOST_ROUNDS: Final = 500
"""Rounds after which a game is not played on: where a pot is carried over, it need not end by itself."""
LONGEST_NAME: Final = 24
LONGEST_TEXT: Final = 1000
"""Characters of a rule set's text beyond which it is not read."""
_LONGEST_WORD: Final = 60
"""Characters of a part of it, or of an action; the longest that means something has some thirty."""
HOW: Final = ("go", "end")
"""How to watch on: one decision, or to the end of the game."""


class RefusedError(ValueError):
    """A message that is refused; nothing has changed.

    Attributes:
        code: a word for programs, such as ``stale``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def of(cls, field: str, value: object, accepted: str) -> RefusedError:
        """A value that is refused, with what is accepted instead."""
        return cls("bad-request", f"{field}: {value!s:.60} is refused; accepted: {accepted}")


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """What is played at a table, and who sits there.

    Attributes:
        rules: the rules; where they leave the first dealer to the lot, the seat to the person's
            right deals first, so that the person begins.
        opponents: in the other seats, ascending; fewer are taken again in turn.
        text: what the rules were called by whoever chose them; "" if nobody did.
        name: what the person is called.
        seat: the person's seat.
        coach: whether the coach speaks.
        seed: the seed of all cards and choices; None asks the operating system. It is never told.

    Raises:
        RefusedError: naming the field, its value and what is accepted.
    """

    rules: Rules
    opponents: tuple[seated.Opponent, ...]
    text: str = ""
    name: str = "You"
    seat: int = 0
    coach: bool = True
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no table is laid for."""
        rules = self.rules
        check_size(rules)
        if not 0 <= self.seat < rules.seats:
            raise RefusedError.of("seat", self.seat, f"0 to {rules.seats - 1}")
        if not 1 <= len(self.opponents) < rules.seats:
            raise RefusedError.of(
                "opponents", len(self.opponents), f"1 to {rules.seats - 1} of them"
            )
        object.__setattr__(self, "name", check_name(self.name))


_RANGES: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "seats": (MOST_SEATS, f"2 to {MOST_SEATS} at the practice table"),
        "lives": (MOST_LIVES, f"1 to {MOST_LIVES} at the practice table"),
        "stake": (MOST_STAKE, f"a number above 0, up to {MOST_STAKE:,} at the practice table"),
    }
)
"""The numbers of a rule set that are bounded here: the largest, and what is accepted."""


def read_rules(text: str) -> Rules:
    """The rule set that a text names, if it can be played at the practice table.

    Raises:
        RulesError: as :meth:`Rules.parse`.
        RefusedError: for a text that is too long, and for numbers that are out of range here.
    """
    if len(text) > LONGEST_TEXT:
        raise RefusedError.of("rules", repr(text), f"at most {LONGEST_TEXT} characters")
    for part in text.split(","):
        if len(part) > _LONGEST_WORD:
            raise RefusedError.of("rules", part, "a preset, and field=value, such as lives=4")
    try:
        rules = Rules.parse(text)
    except RulesError as error:
        raise _by_the_range_here(error) from None
    check_size(rules)
    return rules


def _by_the_range_here(error: RulesError) -> ValueError:
    """The refusal of a number, with the range that is accepted here; any other as it is."""
    field, _, told = str(error).partition(": ")
    # How many a preset seats is told as it is.
    if field not in _RANGES or " with rules " in told:
        return error
    return RefusedError.of(field, told.partition(" is refused")[0], _RANGES[field][1])


def check_size(rules: Rules) -> None:
    """Raise for rules that are too large for the practice table.

    Raises:
        RefusedError: naming the field, its value and what is accepted.
    """
    for field, (most, accepted) in _RANGES.items():
        value = getattr(rules, field)
        if value > most:
            raise RefusedError.of(field, f"{value:g}", accepted)


def check_name(name: str) -> str:
    """The name in its usual spelling (NFC), if it is one that is read out as a name.

    Raises:
        RefusedError: for anything but 1 to 24 letters, with their marks, digits, spaces, points, hyphens and
            apostrophes.
    """
    usual = unicodedata.normalize("NFC", name)
    fits = 1 <= len(usual) <= LONGEST_NAME and usual == usual.strip()
    if not fits or not all(map(_in_a_name, usual, f" {usual}")):
        raise RefusedError.of(
            "name",
            repr(name),
            f"1 to {LONGEST_NAME} letters, digits, spaces, points, hyphens and apostrophes",
        )
    return usual


def _in_a_name(letter: str, before: str) -> bool:
    """Whether a letter may stand in a name; marks belong to the letter before them."""
    if _is_mark(letter):
        return before.isalpha() or _is_mark(before)
    return letter.isalnum() or letter in " .-'’"


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter).startswith("M")


def dealt_to_the_person_first(rules: Rules, seat: int) -> Rules:
    """The rules with the first dealer to the right of a seat, where they leave him to the lot."""
    if rules.first_dealer is not FirstDealer.LOT:
        return rules
    step = 1 if rules.direction is Direction.LEFT else -1
    return rules.replace(first_dealer=(seat - step) % rules.seats)


class _Told(Game):
    """A game that is told in frames; for a seat that is out, the news of a view would grow and grow."""

    def news(self, viewer: int) -> tuple[events.Event, ...]:
        """None: frames tell them."""
        del viewer
        return ()


class Table:
    """A person and agents at a game.

    Every method may be called from any thread; a message must name the table's :attr:`turn`.

    Attributes:
        rules: the rules that are played.
        seat: the person's seat.
        names: what every seat is called.
        turn: the version of the table: every accepted message raises it.

    Example:
        >>> from cuckoo_env.play.opponents import Opponent
        >>> pair = (Opponent.of("robin"), Opponent.of("alex"))
        >>> rules = Rules.parse("practice-table")
        >>> table = Table(TableSettings(rules=rules, opponents=pair, coach=False, seed=7))
        >>> first = table.snapshot()
        >>> first["phase"], first["legal"], first["frames"][-1]["text"]
        ('decide', ['keep', 'swap'], 'Alex gets a card.')
        >>> table.act(first["turn"], "keep")["turn"]
        1
    """

    def __init__(self, settings: TableSettings) -> None:
        """Lay the table and deal the first round.

        Args:
            settings: what is played, and by whom.

        Raises:
            AgentError: for opponents that cannot play these rules.
        """
        self.rules = dealt_to_the_person_first(settings.rules, settings.seat)
        self.seat = settings.seat
        others = self.rules.seats - 1
        invited = settings.opponents
        opponents = [invited[k % len(invited)] for k in range(others)]
        specs = tuple(opponent.spec for opponent in opponents)
        self._agents = list(seated.seated(self.rules, specs, self.seat))
        self.names = seated.names_of(settings.name, self.seat, opponents)
        self._layout = Layout.of(self.rules)
        self._players = _players(self.names, self.seat, opponents)
        self._told_rules = {
            **_told_rules(self.rules),
            # As they were chosen: that the person begins is how this table is laid, and no other rule.
            "text": explain.exact_text(settings.rules, settings.text),
            "title": explain.title(settings.rules, settings.text),
            "sentences": explain.sentences_at_table(self.rules, self.names, self.seat),
        }
        self._seed, self._games = seeding.check_seed(settings.seed), 0
        self._luck = np.random.default_rng([self._seed, seeding.CHOICES])
        self._coach = self._new_coach() if settings.coach else None
        self._lock = threading.Lock()
        self.turn = 0
        self._decisions = 0
        self._advices: list[Advice] = []
        self._begin()

    # Messages

    def snapshot(self) -> JsonObject:
        """The last answer once more."""
        # Without the lock: whoever looks need not wait for an answer that is being worked out.
        return self._answer

    @property
    def may_wait(self) -> bool:
        """Whether the next message may have to wait for what the coach prepares."""
        coach = self._coach
        return coach is not None and coach.waits

    def act(self, turn: int, action: str) -> JsonObject:
        """The person takes an action, and the agents play on until the person is asked again.

        Raises:
            RefusedError: ``stale`` for another turn, ``illegal`` for an action that is not legal now.
        """
        with self._lock:
            self._check_turn(turn)
            game = self._game.copy()
            try:
                # Shortened, as it is told again; what is legal is shorter.
                game.verify(self.seat, action[:_LONGEST_WORD])
            except IllegalActionError as error:
                raise RefusedError("illegal", str(error)) from None
            advice = self._advise(action)
            told = self._step(game, action)
            told += self._until_the_person(game)
            self._decisions += 1
            if advice is not None:
                self._advices.append(advice)
            return self._commit(game, told, advice, expected=self._coach is not None)

    def watch(self, turn: int, how: str) -> JsonObject:
        """The agents play on without the person, who is out: one decision, or to the end.

        To the end, the frames are those of the last round: what came before is in the replay.

        Raises:
            RefusedError: ``stale`` for another turn, ``illegal`` while there is nothing to watch,
                ``bad-request`` for another word than those of :data:`HOW`.
        """
        with self._lock:
            self._check_turn(turn)
            if how not in HOW:
                raise RefusedError.of("how", how, " or ".join(HOW))
            if self._phase(self._game) != "watch":
                raise RefusedError(
                    "illegal", "watch: only a seat that is out may watch agents play on"
                )
            game = self._game.copy()
            told = self._agent_step(game)
            while how == "end" and self._phase(game) == "watch":
                told = _last_round([*told, *self._agent_step(game)])
            told += self._until_the_person(game)
            return self._commit(game, told, None)

    def restart(self, turn: int) -> JsonObject:
        """A new game with the same seats and rules.

        Raises:
            RefusedError: ``stale`` for another turn.
        """
        with self._lock:
            self._check_turn(turn)
            self.turn += 1
            return self._begin()

    def set_coach(self, turn: int, *, on: bool) -> JsonObject:
        """Switch the coach on or off; what was told last stays told, but for advice.

        Raises:
            RefusedError: ``stale`` for another turn.
        """
        with self._lock:
            self._check_turn(turn)
            self._coach = (self._coach or self._new_coach()) if on else None
            return self._commit(self._game, self._answer["frames"], None)

    def record(self) -> records.Record:
        """The finished game as a record.

        Raises:
            RefusedError: ``not-over`` while it goes on, as a record shows all cards.
        """
        return records.record(self._finished("record"), self.names)

    def replay(self) -> list[JsonObject]:
        """The finished game step by step, with all cards and what each seat knew.

        Raises:
            RefusedError: ``not-over`` while it goes on.
        """
        return replay(self._finished("replay"), self.names, self.seat)

    def _finished(self, what: str) -> Game:
        with self._lock:
            if self._game.seat is not None:
                raise RefusedError("not-over", f"{what}: refused while the game goes on")
            return self._game

    def _check_turn(self, turn: int) -> None:
        if turn != self.turn:
            message = (
                f"turn: {turn!s:.60} is refused; accepted: {self.turn}, which is the table's now"
            )
            raise RefusedError("stale", message)

    # Playing

    def _begin(self) -> JsonObject:
        game = _Told(self.rules, seeding.derive(self._seed, self._games))
        self._games += 1
        self._decisions, self._advices = 0, []
        told = frames(None, game, game.events, self.seat, self.names)
        return self._show(game, [*told, *self._until_the_person(game)], None)

    def _phase(self, game: Game) -> str:
        if game.seat is None:
            return "over"
        return "decide" if game.lives[self.seat] > 0 else "watch"

    def _until_the_person(self, game: Game) -> list[JsonObject]:
        """The agents play until the person is to act; who is out is asked whether to watch on."""
        told = []
        while self._phase(game) == "decide" and game.seat != self.seat:
            told += self._agent_step(game)
        return told

    def _agent_step(self, game: Game) -> list[JsonObject]:
        """The seat to act decides from what it sees, and from nothing else."""
        seat = game.seat
        assert seat is not None
        observation, mask = game.observe(seat, self._layout)
        agent = self._agents[seat - (seat > self.seat)]
        chances = agent.probabilities(observation[None], mask[None], self._layout)
        action = agents.sample(chances, self._luck.random(1)).item()
        return self._step(game, ACTION_NAMES[action])

    def _step(self, game: Game, action: str) -> list[JsonObject]:
        before = view(game, self.seat)
        if before["round"] > MOST_ROUNDS:
            raise RefusedError(
                "too-long", f"round: a game of {MOST_ROUNDS} rounds is not played on"
            )
        happened = game.act(action)
        return tell(before, view(game, self.seat), happened, self.rules, self.seat, self.names)

    # Answers

    def _commit(
        self,
        game: Game,
        told: list[JsonObject],
        advice: Advice | None,
        *,
        expected: bool = False,
    ) -> JsonObject:
        self.turn += 1
        return self._show(game, told, advice, expected=expected)

    def _show(
        self,
        game: Game,
        told: list[JsonObject],
        advice: Advice | None,
        *,
        expected: bool = False,
    ) -> JsonObject:
        """The answer to a message; where advice is expected and there is none, it says so."""
        self._game = game
        phase = self._phase(game)
        self._answer: JsonObject = {
            "turn": self.turn,
            "phase": phase,
            "legal": list(game.view(self.seat).legal),
            "hints": hints(game, self.names) if phase == "decide" else {},
            "frames": told,
            "view": view(game, self.seat),
            "coach": self._coach is not None,
            "advice": None if advice is None else _plain(advice),
            "unadvised": expected and advice is None,
            "results": None if game.seat is not None else self._results(game),
            "rules": self._told_rules,
            "players": self._players,
        }
        return self._answer

    def _advise(self, action: str) -> Advice | None:
        """What the coach says of an action; nothing if it is off, or finds no deal that fits."""
        if self._coach is None:
            return None
        from cuckoo_env.play.coach import ImpossibleError  # noqa: PLC0415 - only with the coach

        try:
            return self._coach.advise(self._game, self.seat, action)
        except ImpossibleError:
            return None

    def _new_coach(self) -> Coach:
        from cuckoo_env.play.coach import Coach  # noqa: PLC0415 - evaluation, only with the coach

        seats = [seat for seat in range(self.rules.seats) if seat != self.seat]
        others = dict(zip(seats, self._agents, strict=True))
        return Coach(self.rules, others, self.seat, self.names)

    def _results(self, game: Game) -> JsonObject:
        """How the game ended, and what led there."""
        result = game.result
        assert result is not None
        return {
            "winners": list(result.winners),
            "payoffs": [money(each) for each in result.payoffs]
            if explain.is_played_for(self.rules)
            else None,
            "truncated": result.truncated,
            "rounds": _losers_by_round(game.events),
            "decisions": self._decisions,
            "judged": len(self._advices),
            "costliest": self._costliest(),
        }

    def _costliest(self) -> list[JsonObject] | None:
        """The decisions that cost most; None where none was judged."""
        if not self._advices:
            return None
        from cuckoo_env.play.coach import costliest  # noqa: PLC0415 - as above

        return [_plain(advice) for advice in costliest(self._advices)]


def _plain(advice: Advice) -> JsonObject:
    """The advice as JSON; the bot that the person is taken to go on as is called by its name."""
    afterwards = advice.afterwards if advice.exact else seated.Opponent.of(advice.afterwards).name
    return {**dataclasses.asdict(advice), "clear": advice.clear, "afterwards": afterwards}


def _last_round(told: list[JsonObject]) -> list[JsonObject]:
    """The frames from the last deal on."""
    starts = [at for at, frame in enumerate(told) if frame["event"] == "round"]
    return told[starts[-1] :] if starts else told


def _players(
    names: Sequence[str], seat: int, opponents: Sequence[seated.Opponent]
) -> list[Mapping[str, Any]]:
    labels: list[str | None] = [opponent.label for opponent in opponents]
    labels.insert(seat, None)
    return [
        {"seat": each, "name": name, "agent": label, "you": each == seat}
        for each, (name, label) in enumerate(zip(names, labels, strict=True))
    ]


@functools.lru_cache(maxsize=256)
def _told_rules(rules: Rules) -> JsonObject:
    """What is told of the rules at every table that plays them."""
    return {
        "special": explain.special(rules),
        "together": explain.together(rules),
    }


def _losers_by_round(happened: Sequence[events.Event]) -> list[JsonObject]:
    """Who lost what in each round, and with which card."""
    starts = [at for at, event in enumerate(happened) if event.event == "round"]
    ends = [*starts[1:], len(happened)]
    return [_losers(happened[start:end]) for start, end in zip(starts, ends, strict=True)]


def _losers(happened: Sequence[events.Event]) -> JsonObject:
    """Who lost what in a round; nobody where it was a final tie whose losses do not stand."""
    cards = {event.seat: event.card for event in happened if event.event == "revealed"}
    lost = [
        {"seat": event.seat, "count": event.count, "card": cards[event.seat]}
        for event in happened
        if event.event == "lost"
    ]
    stand = events.losses_stand(happened)
    return {"dealer": happened[0].seat, "lost": lost if stand else [], "tied": not stand}
