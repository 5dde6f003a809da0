"""The coach: what a decision was worth against the agents actually seated, and why.

At a table that is small enough every figure is exact (:mod:`cuckoo_env.play.solved`): the win share of each
legal action given all that the seat has seen, the seat playing best afterwards, in this round and in all
that follow. At a larger one the figures are sampled (:mod:`cuckoo_env.play.sampled`), with their standard
errors, and the seat is taken to go on as a simple bot.

What takes time is prepared once for all tables with the same rules and the same opponents, in the
background (:mod:`cuckoo_env.play.prepared`). The first advice waits a few seconds for it; where it takes
longer (mostly where tokens are paid to refuse, or where many different tables are laid at once), advice is
sampled until it is done, and so it stays where it fails.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from cuckoo_env.agents import Agent
from cuckoo_env.agents.table import TableAgent
from cuckoo_env.cards import RANK_NAMES, parse_card, rank_of, rank_text
from cuckoo_env.evaluate.match import Match
from cuckoo_env.game import Game
from cuckoo_env.play.prepared import Prepared
from cuckoo_env.play.sampled import AFTERWARDS, DEALS, ImpossibleError, Sampled
from cuckoo_env.play.solved import Solved, Worth, is_quick, is_small
from cuckoo_env.rules import Dealer, Penalty, Refusal, Rules

__all__ = ["Advice", "Coach", "ImpossibleError", "costliest"]

PLAYED_BEST: Final = "best play"
"""How exact advice takes the seat to go on."""
_SURE: Final = 1e-12
"""What is closer than this differs by rounding: win shares, or a chance and 0 or 1."""
NO_DIFFERENCE: Final = 0.0005
"""Win shares closer than this are told as equal."""
_SAME_LIVES: Final = 0.005
"""Lives lost on average closer than this explain nothing."""
CLEAR: Final = 2.0
"""Standard errors from which on a sampled difference is told as one."""
PATIENCE: Final = 5.0
"""Seconds that the first advice waits at most for what is prepared."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What one decision was worth.

    Attributes:
        seat: who decided.
        round: the number of the round, from 1.
        card: what the seat held, in record notation.
        when: the round and the card, in words, such as ``Round 2, with a 5``.
        action: what it chose.
        worth: the win share of every legal action.
        errors: their standard errors; zero where exact.
        best: the action with the highest win share.
        cost: how much the chosen action falls short of it, at least 0.
        error: standard error of ``cost``, or where the best was chosen, of its lead; 0 where exact.
        exact: whether the figures are exact rather than sampled.
        afterwards: how the seat is taken to go on: ``best play``, or the spec of a bot.
        why: one or two sentences on what makes the difference.
    """

    seat: int
    round: int
    card: str | None
    when: str
    action: str
    worth: dict[str, float]
    errors: dict[str, float]
    best: str
    cost: float
    error: float
    exact: bool
    afterwards: str
    why: str

    @property
    def clear(self) -> bool:
        """Whether the chosen action was worse, beyond rounding or the luck of sampling."""
        return self.cost > max(NO_DIFFERENCE, CLEAR * self.error)


def costliest(advices: Iterable[Advice], most: int = 3) -> list[Advice]:
    """The decisions that cost most, the costliest first; only those that clearly cost something."""
    clear = [each for each in advices if each.clear]
    return sorted(clear, key=lambda each: -each.cost)[:most]


class Coach:
    """Advises one seat against the agents in the other seats.

    Attributes:
        rules: the rules of the table.
        seat: the seat that is advised.
        exact: whether its figures are exact once they are prepared, for games that begin as the rules say.

    Example:
        >>> from cuckoo_env.agents import fill
        >>> rules = Rules.parse("practice-table")
        >>> robin, alex = fill("robin,alex", rules, 0)
        >>> coach = Coach(rules, {1: robin, 2: alex}, 0, ["You", "Robin", "Alex"])
        >>> game = Game.from_position(rules, dealer=2, lives=[3] * 3, deal=["5c", "9h", "Ks"])
        >>> advice = coach.advise(game, 0, "keep")
        >>> advice.best, round(advice.cost, 3)
        ('swap', 0.061)
        >>> advice.why
        'Keeping a 5, you lose a life 63 times in 100; swapping, 40.'
    """

    def __init__(
        self, rules: Rules, agents: Mapping[int, Agent], seat: int, names: Sequence[str] = ()
    ) -> None:
        """Begin to prepare, in the background.

        Args:
            rules: the rules of the table.
            agents: who sits in the other seats, by seat.
            seat: the seat to be advised.
            names: what to call each seat; by default ``seat 0``, ``seat 1`` ….

        Raises:
            ValueError: for a seat that does not exist, or if the agents do not fill the others.
        """
        if not 0 <= seat < rules.seats:
            raise ValueError(f"seat: {seat} is refused; accepted: 0 to {rules.seats - 1}")
        others = [each for each in range(rules.seats) if each != seat]
        if sorted(agents) != others:
            raise ValueError(f"agents: seats {sorted(agents)} are refused; accepted: {others}")
        self.rules, self.seat = rules, seat
        self.exact = is_small(rules)
        self._names = tuple(names) or tuple(f"seat {each}" for each in range(rules.seats))
        # What sits in the advised seat is never asked.
        self._agents = [agents.get(each, agents[others[0]]) for each in range(rules.seats)]
        self._waits = is_quick(rules)
        if self.exact:
            self._key = _key(rules, self._agents, seat)
            self._promise()

    @property
    def ready(self) -> bool:
        """Whether all that can be prepared is; until then advice waits a while, or is sampled.

        To ask begins nothing.
        """
        return not self.exact or _prepared.is_done(self._key)

    @property
    def waits(self) -> bool:
        """Whether the next advice may have to wait; to ask begins nothing."""
        return self._waits and not self.ready

    def advise(self, game: Game, seat: int, action: str, *, seed: int = 0) -> Advice:
        """What a decision is worth.

        Args:
            game: the game before the decision; it is not changed.
            seat: who decides: the advised seat.
            action: what it chooses, one of its legal actions.
            seed: of what is sampled; the same seed gives the same advice.

        Raises:
            ValueError: for another seat, if the seat is not to act, or for an action that is illegal.
            ImpossibleError: if the agents would never have done what they did in this round.
        """
        if seat != self.seat:
            raise ValueError(f"seat: {seat} is refused; accepted: {self.seat}, which is advised")
        game.verify(seat, action)
        worth, exact = self._worth(game, seed)
        best = max(worth.shares, key=lambda name: worth.shares[name])
        if worth.shares[best] - worth.shares[action] < _SURE:
            best = action
        rival = action if action != best else _second(worth.shares, best)
        view = game.view(seat)
        held = view.seats[seat].card
        told = _Telling(self.rules, seat, self._names, view.dealer, held, exact=exact)
        return Advice(
            seat=seat,
            round=view.round,
            card=held,
            when=f"Round {view.round}, with {_held(held)}",
            action=action,
            worth=worth.shares,
            errors=worth.errors,
            best=best,
            cost=worth.shares[best] - worth.shares[action],
            error=worth.gap_errors[rival],
            exact=exact,
            afterwards=PLAYED_BEST if exact else AFTERWARDS,
            why=told.why(worth, best, rival),
        )

    @functools.cached_property
    def _sampled(self) -> Sampled:
        return Sampled(self.rules, self._agents, self.seat)

    def _worth(self, game: Game, seed: int) -> tuple[Worth, bool]:
        """What the actions are worth, and whether exactly."""
        solved = self._solved() if self.exact else None
        if solved is not None:
            found = solved.find(game)
            if found is not None:
                return solved.worth(*found, game.lives), True
        return self._sampled.worth(game, seed=seed), False

    def _solved(self) -> Solved | None:
        """What is prepared; None if that failed, or if waiting for it would take too long."""
        promise = self._promise()
        if not (promise.done() or self._waits):
            return None
        try:
            return promise.result(PATIENCE)
        except (TimeoutError, CancelledError):
            self._waits = False
            return None

    def _promise(self) -> Future[Solved | None]:
        """What is prepared, or will be: None if that failed.

        Only the store keeps it: if it was dropped, it is begun anew.
        """
        rules, _, _ = self._key
        return _prepared.get(self._key, lambda: Solved(_match(rules), self._agents, self.seat))


def _second(shares: dict[str, float], best: str) -> str:
    """The best action but one; the best itself where there is no other."""
    others = [name for name in shares if name != best]
    return max(others, key=lambda name: shares[name], default=best)


# ---------------------------------------------------------------------------------------------------
# Preparations, shared by all tables of this process

_prepared: Final = Prepared()
_matches: WeakValueDictionary[Rules, Match] = WeakValueDictionary()
"""The matches of what is prepared; only touched by who prepares."""


def _key(rules: Rules, agents: Sequence[Agent], seat: int) -> tuple[Rules, int, tuple[Any, ...]]:
    """What a preparation is for."""
    # Values between deals depend neither on who dealt first nor on the stake.
    rules = rules.replace(first_dealer=0, stake=1)
    others = tuple(_identity(agent) for other, agent in enumerate(agents) if other != seat)
    return rules, seat, others


def _match(rules: Rules) -> Match:
    match = _matches.get(rules)
    if match is None:
        match = _matches[rules] = Match(rules)
    return match


def _identity(agent: Agent) -> Any:
    """What tells agents apart that play differently: equal bots and tables are made anew for each table."""
    player = agent.player()
    if player is not None:
        return player.tobytes()
    if isinstance(agent, TableAgent):
        digest = hashlib.sha256(agent.keys.tobytes())
        digest.update(agent.chances.tobytes())
        return digest.digest()
    return _Itself(agent)


class _Itself:
    """An agent that is equal to no other; it lives as long as what is kept for it."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other._agent is self._agent

    def __hash__(self) -> int:
        return id(self._agent)


# ---------------------------------------------------------------------------------------------------
# Why


class _Telling:
    """Puts into words what makes one action better than another."""

    def __init__(
        self,
        rules: Rules,
        seat: int,
        names: Sequence[str],
        dealer: int,
        held: str | None,
        *,
        exact: bool,
    ) -> None:
        self._seat, self._names, self._held, self._exact = seat, names, _held(held), exact
        self._draws = rules.dealer is Dealer.STOCK and seat == dealer
        # Where a round costs at most one life, lives lost on average are chances.
        self._one_at_most = rules.penalty is Penalty.ONE and rules.refusal is Refusal.NONE

    def why(self, worth: Worth, best: str, rival: str) -> str:
        """One or two sentences: what the actions risk, and if that is not it, what tells instead."""
        risks = {name: lives[self._seat] for name, lives in worth.lives.items()}
        told = self._risks(risks)
        if len(risks) == 1:
            return f"There was no choice. {told}"
        gap = worth.shares[best] - worth.shares[rival]
        if not self._exact and gap < CLEAR * worth.gap_errors[rival]:
            return f"Too close to tell from {DEALS} sampled deals. {told}"
        if gap < NO_DIFFERENCE:
            return f"It makes next to no difference. {told}"
        if risks[rival] - risks[best] > _SAME_LIVES:
            return told
        return f"{told} {self._others(worth, best, rival)}"

    def _risks(self, risks: dict[str, float]) -> str:
        """What each action risks, in one sentence."""
        counts = self._counts(list(risks.values()))
        first, *rest = risks
        told = [
            f"{_capital(self._doing(first, self._held))}, you {self._loses('lose a life', counts[0])}"
        ]
        counted = counts[0].isalpha()
        for name, count in zip(rest, counts[1:], strict=True):
            told.append(f"{self._doing(name)}, {self._unit(count) if counted else count}")
            counted = counted and count.isalpha()
        return "; ".join(told) + "."

    def _others(self, worth: Worth, best: str, rival: str) -> str:
        """Whom the better action costs more."""
        better, worse = worth.lives[best], worth.lives[rival]
        gains = [
            0.0 if seat == self._seat else more - less
            for seat, (more, less) in enumerate(zip(better, worse, strict=True))
        ]
        seat = max(range(len(gains)), key=gains.__getitem__)
        if gains[seat] <= _SAME_LIVES:
            return "What tells is with whom you lose it, and who is then left."
        more, less = self._counts([better[seat], worse[seat]])
        return (
            f"What tells is {self._names[seat]}, who {self._loses('loses a life', more)} after "
            f"{self._doing(best)}, {less} after {self._doing(rival)}."
        )

    def _counts(self, lives: Sequence[float]) -> list[str]:
        """Lives lost on average, in words or as the numbers that are told."""
        if self._one_at_most:
            return [
                self._often(life, text)
                for life, text in zip(lives, _numbers(lives, 100, 0), strict=True)
            ]
        return [
            "nothing" if life < _SURE else text
            for life, text in zip(lives, _numbers(lives, 1, 2), strict=True)
        ]

    def _often(self, chance: float, number: str) -> str:
        # What was never seen in a sample may happen all the same.
        if chance < _SURE or float(number) == 0:
            return "never" if self._exact and chance < _SURE else "hardly"
        if chance > 1 - _SURE or float(number) == 100:
            return "always" if self._exact and chance > 1 - _SURE else "nearly"
        return number

    def _loses(self, loses: str, count: str) -> str:
        """That somebody loses a life so often, or so many on average."""
        if not self._one_at_most:
            verb = loses.split(maxsplit=1)[0]
            return f"{verb} nothing" if count == "nothing" else f"{verb} {self._unit(count)}"
        match count:
            case "never" | "always":
                return f"{count} {loses}"
            case "hardly":
                return f"hardly ever {loses}"
            case "nearly":
                return f"nearly always {loses}"
        return f"{loses} {self._unit(count)}"

    def _unit(self, count: str) -> str:
        """A count that is the first number of its sentence, with what is counted."""
        if count.isalpha():
            return {"hardly": "hardly ever", "nearly": "nearly always"}.get(count, count)
        if self._one_at_most:
            return "once in 100" if count == "1" else f"{count} times in 100"
        return f"{count} lives on average"

    def _doing(self, action: str, held: str = "") -> str:
        """An action as something one does, with the card it is done with if that is to be told."""
        alone, with_card = _DOING["draw" if action == "swap" and self._draws else action]
        return f"{with_card} {held}" if held else alone


_DOING: Final = {
    "keep": ("keeping", "keeping"),
    "swap": ("swapping", "swapping"),
    "draw": ("drawing", "drawing for"),
    "accept": ("giving it up", "giving up"),
    "show": ("showing it", "showing"),
    "pay": ("paying", "paying to keep"),
}
"""Actions as something one does: alone, and before a card."""


def _held(card: str | None) -> str:
    """A card by its rank: ``a 5``, ``an 8``, ``an ace``; ``the card`` where it is not known."""
    if card is None:
        return "the card"
    rank = rank_of(parse_card(card))
    name = rank_text(rank) if rank_text(rank).isdigit() else RANK_NAMES[rank - 1]
    return f"{'an' if name in {'8', 'ace'} else 'a'} {name}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _numbers(values: Sequence[float], scale: int, digits: int) -> list[str]:
    """The scaled values in so many digits, or one more where that tells different ones apart."""
    short, longer = (
        [f"{value * scale:.{places}f}" for value in values] for places in (digits, digits + 1)
    )
    return longer if len(set(short)) < len(set(longer)) else short
