"""The compiled engine beside the plain referee: one game in both, compared after every step.

:class:`Pair` drives the two and raises :class:`DisagreementError` where they differ, or where the
engine breaks an invariant of the game. :func:`play_case` plays one random case, made from a seed
alone, so that a failure is reproduced by its number.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from referee import ACTIONS, Referee
from referee import RANKS as REFEREE_RANKS

from cuckoo_env import engine
from cuckoo_env.cards import PACK, card_text
from cuckoo_env.rules import AXES, Rules

Event = tuple[Any, ...]

CARD_TEXTS: Final = tuple(card_text(card) for card in range(PACK))
_CARD_OF: Final = {text: card for card, text in enumerate(CARD_TEXTS)}
_RANK_OF: Final = {text: at + 1 for at, text in enumerate(REFEREE_RANKS)}
_NAME_OF_KIND: Final = {
    getattr(engine, name): name[2:].lower() for name in dir(engine) if name.startswith("E_")
}
EVENT_NAMES: Final = frozenset(_NAME_OF_KIND.values())

_WITH_CARD: Final = {
    "dealer_cut", "dealt", "turned_up", "showed", "drew", "stock_showed", "revealed", "final_cut",
}  # fmt: skip
_WITH_SEAT: Final = {"round", "kept", "paid", "skipped", "out", "won"}
_WITH_TWO: Final = {"asked", "lost"}


class DisagreementError(AssertionError):
    """The engine and the referee differ, or the engine broke an invariant."""


def read_event(row: Sequence[int]) -> Event:
    """An event row of the engine in the referee's words."""
    kind, seat, other, card, other_card = row
    name = _NAME_OF_KIND[kind]
    if name in _WITH_CARD:
        return (name, seat, CARD_TEXTS[card])
    if name in _WITH_SEAT:
        return (name, seat)
    if name in _WITH_TWO:
        return (name, seat, other)
    if name == "swapped":
        return (name, seat, other, CARD_TEXTS[card], CARD_TEXTS[other_card])
    return (name,)


_names_of_bits = [
    [name for action, name in enumerate(engine.ACTION_NAMES) if bits >> action & 1]
    for bits in range(1 << engine.N_ACTIONS)
]


class EngineLuck:
    """The referee's chance, taken from what the engine has just drawn."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self.dealer = -1
        self.top = ""

    def lot(self, seats: int) -> int:
        assert self.dealer in range(seats)
        return self.dealer

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        hands = {seat: self.drawn.pop(0) for seat in seats_in}
        self.top = self.drawn.pop(0)
        return hands

    def stock(self) -> str:
        return self.top

    def cut(self, seats: list[int]) -> list[str]:
        return [self.drawn.pop(0) for _ in seats]


@dataclass(frozen=True, kw_only=True)
class Start:
    """A position to start from: lives, stakes paid and the dealer."""

    lives: tuple[int, ...]
    staked: tuple[int, ...]
    dealer: int


class Pair:
    """One game, played by the engine and the referee at once.

    Attributes:
        rules: what both play by.
        events: everything that happened, in the referee's words.
        news: what happened in the last step.
        outcomes: every outcome of a turn that was reached after some step.
        referee: the referee after the last step.
        games: the engine's array of one game.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        generator: tuple[int, int] = (1, 1),
        start: Start | None = None,
        script: Sequence[int] = (),
    ) -> None:
        """Start the game in both, from the beginning or from a position, and compare."""
        self.rules = rules
        self.compiled = engine.compile_rules(rules)
        self.games = _one_game(rules.seats)
        self._read = _readers(self.games, rules.seats)
        self.games["rng"][0] = generator
        self._write_script(script)
        self._luck = EngineLuck()
        self.events: list[Event] = []
        self.outcomes: set[int] = set()
        self._pool: list[int] = []
        self._discarded: int | None = None
        if start is None:
            engine.start(self.games, self.compiled, 0)
            self._start_referee()
        else:
            self._start_at(start)
        self._compare(list(self.referee.events), None)

    def _write_script(self, script: Sequence[int]) -> None:
        self.games["script"][0, : len(script)] = script
        self.games["script_at"][0], self.games["script_end"][0] = 0, len(script)

    def _start_at(self, start: Start) -> None:
        seats = self.rules.seats
        for field in ("lives", "before"):
            self.games[field][0, :seats] = start.lives
        self.games["staked"][0, :seats] = start.staked
        self.games["dealer"][0] = start.dealer
        engine.start_at(self.games, self.compiled, 0)
        self._start_referee(dealer=start.dealer, lives=start.lives, staked=start.staked)

    def _start_referee(self, **position: Any) -> None:
        self.news = self._hear()
        self._luck.dealer = int(self.games["dealer"][0])
        self.referee = Referee(self.rules.fields(), self._luck, **position)

    @property
    def legal(self) -> list[str]:
        """What the seat to act may do, as both say."""
        return _names_of_bits[engine.legal(self.games, self.compiled, 0)]

    @property
    def over(self) -> bool:
        return self.referee.over

    def step(self, action: str) -> list[Event]:
        """Take the action in both; gives back what happened."""
        before = self._read["lives"]()
        told = len(self.referee.events)
        engine.step(self.games, self.compiled, 0, ACTIONS.index(action))
        self.news = self._hear()
        self.referee.act(action)
        self._compare(self.referee.events[told:], before)
        return self.news

    def redeal(self) -> list[Event]:
        """Call the deal incorrect in both."""
        told = len(self.referee.events)
        engine.redeal(self.games, self.compiled, 0)
        self.news = self._hear()
        self.referee.misdeal()
        self._compare(self.referee.events[told:], self._read["lives"]())
        return self.news

    def _hear(self) -> list[Event]:
        """What the engine tells of this step; its draws are kept for the referee."""
        rows = self._read["event"]()
        news = [read_event(row) for row in rows]
        drawn = self._luck.drawn
        for event in news:
            if event[0] in {"dealt", "dealer_cut", "final_cut"}:
                drawn.append(event[2])
        if any(event[0] == "round" for event in news):
            drawn.append(CARD_TEXTS[int(self.games["top"][0])])
        self.events += news
        return news

    def _compare(self, expected: list[Event], lives_before: list[int] | None) -> None:
        """Everything the two have in common, then the invariants."""
        referee, read = self.referee, self._read
        self._same("events", self.news, expected)
        self._same("legal actions", self.legal, referee.legal())
        self._same("over", read["phase"]() == engine.OVER, referee.over)
        self._same("seat", read["seat"](), referee.seat)
        self._same("dealer", read["dealer"](), referee.dealer)
        self._same("rounds", read["rounds"](), referee.rounds)
        self._same("lives", read["lives"](), referee.lives)
        self._same("staked", read["staked"](), referee.staked)
        self._same("lost", read["lost"](), referee.lost)
        cards = read["card"]()
        self.outcomes.update(read["outcome"]())
        self._same("cards", cards, _padded_cards(referee))
        self._same("known", read["known"](), _known_matrix(referee))
        self._check_cards(cards)
        if lives_before is not None:
            self._check_lives(lives_before)
        if referee.over:
            self._compare_end()
        else:
            self._check_actor()

    def _compare_end(self) -> None:
        won = [seat for seat in range(self.rules.seats) if self.games["won"][0, seat]]
        self._same("winners", won, self.referee.winners)
        self._same("result", self._result() == engine.TRUNCATED, self.referee.truncated)
        payoffs = self.games["payoff"][0, : self.rules.seats]
        self._require(np.allclose(payoffs, self.referee.payoffs, rtol=0, atol=1e-9), "payoffs")
        self._require(abs(float(payoffs.sum())) < 1e-9 * self.rules.seats, "returns sum to zero")
        has_winner = self._result() == engine.WON
        self._require(has_winner == bool(won), "a game that is won has winners, no other has")

    def _result(self) -> int:
        return int(self.games["result"][0])

    def _check_actor(self) -> None:
        """The seat to act is in, and has something to do."""
        seat = self._read["seat"]()
        self._require(self.referee.lives[seat] > 0, "nobody out ever acts")
        self._require(bool(self.legal), "the mask of the seat to act is never empty")

    def _check_cards(self, cards: list[int]) -> None:
        """Hands, discard and the top of the stock are the cards that were dealt, none twice."""
        names = {event[0]: event for event in self.news}
        if "round" in names:
            top = _CARD_OF[self._luck.top]
            self._pool, self._discarded = sorted([*(c for c in cards if c >= 0), top]), None
            copies = max(Counter(self._pool).values())
            self._require(copies <= self.rules.decks, "no card is dealt more often than it exists")
            return
        if "drew" in names:
            # The dealer's old card is the one of the deal that is now nowhere else.
            gone = Counter(self._pool) - Counter(c for c in cards if c >= 0)
            self._require(gone.total() == 1, "the dealer discards one card")
            (self._discarded,) = gone
        aside = _CARD_OF[self._luck.top] if self._discarded is None else self._discarded
        now = sorted([*(c for c in cards if c >= 0), aside])
        self._require(now == self._pool, "the cards of a deal are conserved")

    def _check_lives(self, before: list[int]) -> None:
        """What leaves a seat is a fee or a loss that was told; only a carried game gives lives back."""
        kinds = Counter(event[0] for event in self.news)
        expected = list(before)
        for event in self.news:
            if event[0] == "paid":
                expected[event[1]] -= 1
            elif event[0] == "lost" and (not kinds["final_tie"] or kinds["won"]):
                # A final tie that nobody wins leaves everyone the lives they had.
                expected[event[1]] -= event[2]
        if kinds["carried"]:
            expected = [self.rules.lives] * self.rules.seats
        self._require(self._read["lives"]() == expected, "lives and fees are conserved")
        self._require(min(expected) >= 0, "no seat has fewer than no lives")

    def _same(self, what: str, engine_says: object, referee_says: object) -> None:
        if engine_says != referee_says:
            raise DisagreementError(
                f"{what}: the engine says {engine_says}, the referee says {referee_says}\n{self}"
            )

    def _require(self, holds: bool, invariant: str) -> None:
        if not holds:
            raise DisagreementError(f"broken: {invariant}\n{self}")

    def __str__(self) -> str:
        """The rules and the latest events: what a person needs to follow a failure."""
        return f"rules: {self.rules}\nlately: {self.events[-12:]}"


def _one_game(seats: int) -> np.ndarray[Any, Any]:
    """Room for one game; small tables share a record type, because every type is compiled."""
    capacity = engine.capacity_for(10 if seats <= 10 else max(seats, 27))
    return np.zeros(1, engine.game_dtype(capacity, recording=True))


def _readers(games: np.ndarray[Any, Any], seats: int) -> dict[str, Callable[[], Any]]:
    """How to read each field as plain numbers, fast: views are made once a game."""
    readers: dict[str, Callable[[], Any]] = {
        name: games[name][:1].item for name in ("phase", "seat", "dealer", "rounds")
    }
    for name in ("lives", "staked", "lost", "card", "outcome"):
        readers[name] = games[name][0, :seats].tolist
    readers["known"] = games["known"][0, :seats, :seats].tolist
    event, told = games["event"][0], games["n_events"]
    readers["event"] = lambda: _told(event, int(told[0]))
    return readers


def _told(event: np.ndarray[Any, Any], number: int) -> list[list[int]]:
    if number > len(event):
        raise DisagreementError(
            f"broken: {number} events were told, there is room for {len(event)}"
        )
    rows: list[list[int]] = event[:number].tolist()
    return rows


def _padded_cards(referee: Referee) -> list[int]:
    cards = [engine.NO_CARD] * referee.seats
    for seat, card in referee.cards.items():
        cards[seat] = _CARD_OF[card]
    return cards


def _known_matrix(referee: Referee) -> list[list[int]]:
    """What the referee says is known, as the engine keeps it: [seat][viewer], 0 for unknown."""
    matrix = [[0] * referee.seats for _ in range(referee.seats)]
    for viewer, seats in referee.known.items():
        for seat, rank in seats.items():
            matrix[seat][viewer] = _RANK_OF[rank]
    return matrix


# --------------------------------------------------------------------------------------
# Random cases
# --------------------------------------------------------------------------------------


def _random_fields(rng: random.Random) -> dict[str, Any]:
    """Every field at random, each axis off its default about a third of the time."""
    fields: dict[str, Any] = {
        name: rng.choice(list(axis)) for name, axis in AXES.items() if rng.random() < 0.45
    }
    fields["seats"] = _random_seats(rng)
    fields["lives"] = rng.choice((1, 1, 2, 3, 4))
    fields["decks"] = rng.choice((0, 0, 0, 1, 2, 3))
    fields["stake"] = rng.choice((1, 1, 2.5))
    fields["max_rounds"] = rng.choice((None, None, None, rng.randint(1, 12)))
    fields["first_dealer"] = rng.choice(("lot", "cut", rng.randrange(fields["seats"])))
    return _combinable(fields)


def _random_seats(rng: random.Random) -> int:
    if rng.random() < 0.02:
        return rng.randint(11, 60)
    return rng.choice((2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10))


def _combinable(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, with those left out that would be refused beside the others."""
    if fields.get("penalty") == "shared" or fields.get("pairs") == "safe":
        fields.pop("ties", None)
    if fields.get("game") == "round":
        fields["max_rounds"] = None
    if fields["decks"] * PACK <= fields["seats"]:
        fields["decks"] = 0
    return fields


def random_rules(rng: random.Random) -> Rules:
    """A random rule set; every axis value is frequent."""
    return Rules(**_random_fields(rng))


def random_start(rng: random.Random, rules: Rules) -> Start:
    """A random position with at least two seats in."""
    choices = rng.choice(((0, 1), (0, 1, 1, 2, 3)))
    lives = [rng.choice(choices) for _ in range(rules.seats)]
    for seat in rng.sample(range(rules.seats), 2):
        lives[seat] = max(lives[seat], 1)
    dealer = rng.choice([seat for seat in range(rules.seats) if lives[seat]])
    staked = rng.choice((1, 1, 2))
    return Start(lives=tuple(lives), staked=(staked,) * rules.seats, dealer=dealer)


def random_deal(rng: random.Random, rules: Rules, start: Start) -> list[int]:
    """A first deal and stock card with many equal and many court cards: cards of a short pack."""
    ranks = rng.sample(range(10), rng.choice((1, 2, 3))) + rng.sample(
        (10, 11, 12), rng.choice((1, 2, 3))
    )
    short = [4 * rank + suit for rank in ranks for suit in range(4)] * rules.decks
    wanted = sum(1 for lives in start.lives if lives) + 1
    return rng.sample(short, wanted) if wanted <= len(short) else []


@dataclass(frozen=True, kw_only=True)
class Case:
    """One random game: rules, where it starts, and how it is played."""

    rules: Rules
    start: Start | None
    script: tuple[int, ...]
    generator: tuple[int, int]
    most_steps: int
    picks: tuple[float, float]


def case_of(seed: int, rules: Rules | None = None) -> Case:
    """The case that a seed stands for; with ``rules`` given only the rest of it is random."""
    rng = random.Random(seed)
    rules = rules or random_rules(rng)
    start = random_start(rng, rules) if rng.random() < 0.7 else None
    scripted = start is not None and rng.random() < 0.7
    return Case(
        rules=rules,
        start=start,
        script=tuple(random_deal(rng, rules, start)) if start and scripted else (),
        generator=(rng.getrandbits(32), rng.getrandbits(32) | 1),
        most_steps=rng.choice((15, 15, 15, 15, 40, 40, 400)),
        picks=(rng.choice((1.0, 0.6, 0.3)), rng.choice((0.0, 0.4, 0.8))),
    )


def actions_of(case: Case, seed: int) -> Iterator[Callable[[list[str]], str]]:
    """Pickers, one a step: uniform, or mostly the first or the last legal action."""
    rng = random.Random(seed + 1)
    uniform, first = case.picks

    def pick(legal: list[str]) -> str:
        if rng.random() < uniform:
            return legal[int(rng.random() * len(legal))]
        return legal[0] if rng.random() < first else legal[-1]

    for _ in range(case.most_steps):
        yield pick


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What a number of cases reached, so that a test can require that they reached everything."""

    cases: int
    steps: int
    finished: int
    seen: Counter[str]


def play_case(seed: int, rules: Rules | None = None) -> Pair:
    """Play one random case to its end, or for as long as it says.

    Raises:
        DisagreementError: naming the rules and what differs.
    """
    case = case_of(seed, rules)
    pair = Pair(case.rules, generator=case.generator, start=case.start, script=case.script)
    if seed % 16 == 0 and not pair.over:
        pair.redeal()
    for pick in actions_of(case, seed):
        if pair.over:
            break
        pair.step(pick(pair.legal))
    return pair


def play_cases(seeds: range) -> Tally:
    """Play a range of cases.

    Raises:
        DisagreementError: naming the seed, the rules and what differs.
    """
    seen: Counter[str] = Counter()
    steps = finished = 0
    for seed in seeds:
        try:
            pair = play_case(seed)
        except Exception as error:
            raise DisagreementError(f"seed {seed}: {error}") from error
        seen.update(event[0] for event in pair.events)
        seen.update(engine.OUTCOME_NAMES[outcome] for outcome in pair.outcomes)
        seen.update(f"{name}={getattr(pair.rules, name)}" for name in AXES)
        steps += sum(event[0] in {"kept", "asked", "paid"} for event in pair.events)
        finished += pair.over
    return Tally(cases=len(seeds), steps=steps, finished=finished, seen=seen)
