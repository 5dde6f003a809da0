"""What a decision is worth at a table too large to be solved: sampled, with its standard error.

Cards that the seat to be advised has not seen are dealt anew, many times, each deal weighted by how likely
the others would then have done what they did in this round (importance sampling: a card is drawn where it
first matters, from the ranks that agree with what was done there). From every such deal every legal action
is played to the end of the game, with the same cards and luck; the seat then goes on as a simple bot does.

Nothing that the seat has not seen is read: of the game's record only what is public, and the ranks that
the seat knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env import seeding
from cuckoo_env.agents import Agent, parse, sample
from cuckoo_env.autoplay import roll
from cuckoo_env.batch import LEAVE, Batch
from cuckoo_env.cards import N_RANKS, N_SUITS, UNKNOWN
from cuckoo_env.compiled import entry
from cuckoo_env.engine import (
    ACTION_NAMES,
    NO_CARD,
    NOBODY,
    compile_rules,
    game_dtype,
)
from cuckoo_env.evaluate.tree import PLENTY, deal_games, round_rules
from cuckoo_env.events import Event
from cuckoo_env.game import Game
from cuckoo_env.learner import Learners
from cuckoo_env.observation import Layout, encode, sections_of, write_mask
from cuckoo_env.play.solved import Worth
from cuckoo_env.rules import Rules

Floats = npt.NDArray[np.float64]
Games = npt.NDArray[np.void]

AFTERWARDS: Final = "robin"
"""How the advised seat is taken to go on after the decision: a bot's spec."""
DEALS: Final = 2000
"""Deals that are sampled for a decision."""

_PUBLIC: Final = (
    "turn", "seat", "asked", "phase", "stock", "redirected", "trading", "outcome", "swapped", "shown",
    "lives",
)  # fmt: skip
"""What everybody sees of a game's record in mid-round."""
_ONLY_RECORDING: Final = {"event", "script", "script_at", "script_end", "n_events"}


class ImpossibleError(ValueError):
    """A game that cannot have come about against the agents that are said to play it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moment:
    """A decision of this round, and what came of it.

    Attributes:
        game: (1,) the record before it; of this only what the advised seat may see is used.
        after: (1,) the record after it.
        action: what was chosen.
        slots: (seats,) the slot whose card each seat holds then: see :class:`_Deals`.
        touched: the slots, besides that of the seat that chose, whose cards decide what comes of it.
    """

    game: Games
    after: Games
    action: int
    slots: tuple[int, ...]
    touched: tuple[int, ...]


def _this_round(game: Game) -> tuple[list[_Moment], Games, tuple[int, ...]]:
    """The decisions of this round so far, the record now, and the slot whose card each seat holds now."""
    seats = game.rules.seats
    moments: list[_Moment] = []
    slots, before, told = tuple(range(seats)), None, 0
    for action, twin in game.retold():
        now, happened = _quiet(twin._games), twin.events[told:]
        told += len(happened)
        if before is None or action is None or now["rounds"][0] != before["rounds"][0]:
            moments, slots = [], tuple(range(seats))
        else:
            touched = tuple(_touched(happened, slots, seats))
            moments.append(
                _Moment(
                    game=before,
                    after=now,
                    action=ACTION_NAMES.index(action),
                    slots=slots,
                    touched=touched,
                )
            )
            slots = _moved(happened, slots)
        before = now
    assert before is not None
    return moments, before, slots


def _quiet(game: Games) -> Games:
    """A copy of a record, without its events and its script."""
    dtype = game_dtype(game["card"].shape[1], recording=False)
    quiet = np.zeros(len(game), dtype)
    for name in game.dtype.names or ():
        if name not in _ONLY_RECORDING:
            quiet[name] = game[name]
    return quiet


def _repeated(games: Games, times: int) -> Games:
    """The games, all over again so many times; as bytes, which are much faster to copy than records."""
    raw = np.tile(games.view(np.uint8), times)
    again: Games = raw.view(games.dtype)
    return again


def _touched(happened: Sequence[Event], slots: tuple[int, ...], seats: int) -> Iterator[int]:
    """The slots whose cards decided what happened: of those that were asked, and the stock's."""
    for event in happened:
        if event.event == "asked" and event.other is not None:
            yield slots[event.other]
        elif event.event in {"drew", "stock_showed"}:
            yield seats


def _moved(happened: Sequence[Event], slots: tuple[int, ...]) -> tuple[int, ...]:
    """Where the cards are after what happened."""
    at = list(slots)
    for event in happened:
        if event.event == "swapped" and event.seat is not None and event.other is not None:
            at[event.seat], at[event.other] = at[event.other], at[event.seat]
        elif event.event == "drew" and event.seat is not None:
            at[event.seat] = len(at)
    return tuple(at)


class _Deals:
    """Deals that agree with what a seat has seen in this round, with weights.

    Cards are kept by *slot*: one for each seat that was dealt to, wherever its card is now, and the last
    for the top of the stock.

    Attributes:
        weights: (deals,) how likely the others would have done what they did.
    """

    def __init__(self, sampled: Sampled, game: Game, deals: int, rng: np.random.Generator) -> None:
        self._sampled, self._rng = sampled, rng
        self._moments, self._now, self._slots = _this_round(game)
        rules = sampled.rules
        self._ranks = np.zeros((deals, rules.seats + 1), np.int8)
        self._left = np.full((deals, N_RANKS), N_SUITS * rules.decks)
        self.weights = np.ones(deals)
        self._start = self._moments[0].game if self._moments else self._now
        self._lay_out_known()
        for moment in self._moments:
            self._judge(moment)
        for slot in range(rules.seats + 1):
            if self._is_hidden(slot):
                self._draw(slot, np.ones((deals, N_RANKS)))

    def games(self) -> Games:
        """(deals,) the games as they may stand now."""
        return self._filled(self._now, self._slots, self._ranks)

    def _lay_out_known(self) -> None:
        """Take the cards that the seat has seen out of the pack."""
        me, known = self._sampled.seat, {}
        records = [(moment.game, moment.slots) for moment in self._moments]
        for record, slots in [*records, (self._now, self._slots)]:
            for seat, slot in enumerate(slots):
                if record["known"][0, seat, me] != UNKNOWN:
                    known[slot] = int(record["known"][0, seat, me])
            if record["stock"][0] != NO_CARD:
                known[self._sampled.rules.seats] = int(record["stock"][0]) // N_SUITS + 1
        for slot, rank in known.items():
            self._ranks[:, slot] = rank
            self._left[:, rank - 1] -= 1

    def _is_hidden(self, slot: int) -> bool:
        """Whether a card lies in the slot, and it has not been laid out or drawn yet."""
        dealt = slot == self._sampled.rules.seats or self._start["card"][0, slot] != NO_CARD
        return bool(dealt and self._ranks[0, slot] == UNKNOWN)

    def _judge(self, moment: _Moment) -> None:
        """Weight the deals by what was done at a moment and what came of it, drawing the cards it takes."""
        seat = int(moment.game["seat"][0])
        if seat != self._sampled.seat:
            own = moment.slots[seat]
            self._weigh(own, lambda ranks: self._chance_of_action(moment, seat, ranks))
        for slot in moment.touched[:-1]:
            if self._is_hidden(slot):
                self._draw(slot, np.ones((len(self._ranks), N_RANKS)))
        for slot in moment.touched[-1:]:
            self._weigh(slot, lambda ranks: self._comes_true(moment, ranks))

    def _weigh(self, slot: int, likelihood: Any) -> None:
        """Weight the deals by a likelihood that depends on a slot, drawing its card if it is hidden yet."""
        if not self._is_hidden(slot):
            self.weights *= likelihood(self._ranks)
            return
        deals = len(self._ranks)
        each = np.repeat(self._ranks, N_RANKS, axis=0)
        each[:, slot] = np.tile(np.arange(1, N_RANKS + 1), deals)
        self._draw(slot, likelihood(each).reshape(deals, N_RANKS))

    def _draw(self, slot: int, likelihood: Floats) -> None:
        """Draw the card of a slot from what is left, as likely as it makes what was seen."""
        chances = self._left * self._may_lie(slot) * likelihood
        total = chances.sum(axis=1)
        self.weights *= total / self._left.sum(axis=1)
        luck = self._rng.random(len(total)) * total
        rank = (chances.cumsum(axis=1) > luck[:, None]).argmax(axis=1)
        self._ranks[:, slot] = rank + 1
        self._left[np.arange(len(rank)), rank] -= 1
        np.maximum(self._left, 0, out=self._left)  # a deal of weight zero may draw anything

    def _may_lie(self, slot: int) -> npt.NDArray[np.bool_]:
        """(13,) the ranks that a slot may have had: those that are turned up when dealt were seen."""
        if slot == self._sampled.rules.seats:
            return np.ones(N_RANKS, np.bool_)
        may: npt.NDArray[np.bool_] = self._sampled.turned_up == self._start["shown"][0, slot]
        return may

    def _filled(self, record: Games, slots: tuple[int, ...], ranks: npt.NDArray[np.int8]) -> Games:
        """The record with cards of these ranks, (n, slots); a low card where none is drawn yet."""
        filled = _repeated(record, len(ranks))
        drawn = np.maximum(ranks, 1)
        filled["top"] = (drawn[:, -1] - 1) * N_SUITS
        for seat, slot in enumerate(slots):
            if record["card"][0, seat] != NO_CARD:
                filled["card"][:, seat] = (drawn[:, slot] - 1) * N_SUITS
                # Who has seen whose card is public.
                knows = record["known"][0, seat] != UNKNOWN
                filled["known"][:, seat] = drawn[:, slot, None] * knows
        filled["rng"] = 1
        return filled

    def _chance_of_action(self, moment: _Moment, seat: int, ranks: npt.NDArray[np.int8]) -> Floats:
        """How likely the seat would have done what it did."""
        games = self._filled(moment.game, moment.slots, ranks)
        observations, masks = self._sampled.look(games)
        agent = self._sampled.agents[seat]
        chances = agent.probabilities(observations, masks, self._sampled.layout)
        return np.asarray(chances[:, moment.action], np.float64)

    def _comes_true(self, moment: _Moment, ranks: npt.NDArray[np.int8]) -> Floats:
        """1 where the action would have led to what everybody saw it lead to, else 0."""
        table = _Table(self._sampled.rules, len(ranks))
        after = table.applied(self._filled(moment.game, moment.slots, ranks), moment.action)
        agrees = np.ones(len(ranks), np.bool_)
        for name in _PUBLIC:
            same = _by_rank(after, name) == _by_rank(moment.after, name)
            agrees &= same.reshape(len(ranks), -1).all(axis=1)
        return agrees.astype(np.float64)


def _by_rank(games: Games, name: str) -> npt.NDArray[np.integer[Any]]:
    """A field of the records; of a card only the rank, as suits never matter."""
    values: npt.NDArray[np.integer[Any]] = games[name]
    return values // N_SUITS if name == "stock" else values


@entry
def _look_all(
    games: Any, rules: Any, layout: Any, sections: Any, observations: Any, masks: Any
) -> None:
    """What the seat to act in each game sees, and its legal actions."""
    for i in range(games.shape[0]):
        g, r = games[i], rules[0]
        encode(g, r, layout[0], sections, int(g.seat), observations, i)
        write_mask(g, r, masks, i)


class _Table(Batch):
    """Games that go on from given records, every seat played from outside."""

    def __init__(self, rules: Rules, games: int) -> None:
        super().__init__(rules, games, seed=0, renew=False, threads=1)

    def put(self, games: Games, rng: npt.NDArray[np.uint32], dice: npt.NDArray[np.uint32]) -> None:
        """Lay out games, with the state of their chance and of the luck of those who play."""
        self._games[:] = games
        self._games["rng"][:, :2] = rng
        self._dice[:] = dice

    def applied(self, games: Games, action: int) -> Games:
        """The games after an action that is taken in all of them."""
        self._games[:] = games
        self._step(np.full(len(self), action, np.int8))
        return self._games

    def lives_lost(
        self, agents: Sequence[Agent], actions: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int64]:
        """Take these actions and play to the end of the round: (games, seats) lives that it costs."""
        seats = self.rules[0].seats
        before = self._games["lives"][:, :seats].astype(np.int64)
        rounds = self.rounds
        self._step(actions)
        while True:
            going = np.flatnonzero((self.seats != NOBODY) & (self.rounds == rounds))
            if not going.size:
                break
            self.step(self._choices(agents, going))
        after = self._games["lives"][:, :seats].astype(np.int64)
        lost: npt.NDArray[np.int64] = np.maximum(before - after, 0)
        return lost

    def _choices(
        self, agents: Sequence[Agent], going: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int8]:
        choices = np.full(len(self), LEAVE, np.int8)
        luck = np.empty(going.size)
        roll(self._dice, going, luck)
        for seat in np.unique(self.seats[going]).tolist():
            its = self.seats[going] == seat
            games = going[its]
            chances = agents[seat].probabilities(
                self.observations[games], self.masks[games], self.layout
            )
            choices[games] = sample(chances, luck[its])
        return choices


class _Futures(Learners):
    """Games that go on from given records to their ends, the advised seat played by a bot."""

    def win_shares(
        self,
        games: Games,
        rng: npt.NDArray[np.uint32],
        dice: npt.NDArray[np.uint32],
        actions: npt.NDArray[np.int8],
        bot: Agent,
    ) -> Floats:
        """Take these actions and play on: (games,) the advised seat's share of the win."""
        self._games[:] = games
        self._games["rng"][:, :2] = rng
        self._dice[:] = dice
        self._step(actions)
        self._play_others()
        while not self.over.all():
            going = np.flatnonzero(~self.over)
            choices = np.full(len(self), LEAVE, np.int8)
            chances = bot.probabilities(self.observations[going], self.masks[going], self.layout)
            # The bot is no gambler: what it does is sure.
            choices[going] = chances.argmax(axis=1)
            self.step(choices)
        won = self.winners[np.arange(len(self)), self.learners]
        shares: Floats = won / np.maximum(self.winners.sum(axis=1), 1)
        return shares


class Sampled:
    """Samples what the decisions of one seat are worth against given agents.

    Attributes:
        rules: the rules of the match.
        agents: one a seat; in the advised seat the bot that goes on there.
        seat: the advised seat.
        layout: the layout of the observations that agents are asked with.
        turned_up: (13,) for each rank whether a card of it is turned up when it is dealt.
    """

    def __init__(self, rules: Rules, agents: Sequence[Agent], seat: int) -> None:
        """Get ready.

        Args:
            rules: the rules of the match.
            agents: one a seat; the one in ``seat`` is not asked.
            seat: the seat to be advised.
        """
        self.rules, self.seat = rules, seat
        self._bot = parse(AFTERWARDS, rules)
        self.agents = [self._bot if each == seat else agent for each, agent in enumerate(agents)]
        self.layout = Layout.of(rules)
        self._table = compile_rules(rules)
        self._sections = sections_of(self.layout, (rules,))
        self.turned_up = _turned_up(rules)

    def look(self, games: Games) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
        """What the seats to act see, and their masks."""
        observations = np.empty((len(games), self.layout.size), np.float32)
        masks = np.empty((len(games), self.layout.n_actions), np.int8)
        _look_all(games, self._table, self.layout.offsets, self._sections, observations, masks)
        return observations, masks

    def worth(self, game: Game, *, deals: int = DEALS, seed: int = 0) -> Worth:
        """What the legal actions of the advised seat, which is to act, are worth.

        Args:
            game: the game; what the seat has not seen of it changes nothing.
            deals: how many deals are sampled.
            seed: the result is a function of it and of what the seat has seen.

        Raises:
            ImpossibleError: if the agents would never have done what they did.
        """
        hidden = _Deals(self, game, deals, np.random.default_rng([seed, 0]))
        if not hidden.weights.sum() > 0:
            raise ImpossibleError(
                f"game: {game.rules} cannot have come to this against these agents"
            )
        names = game.legal_actions()
        actions = np.repeat([ACTION_NAMES.index(name) for name in names], deals).astype(np.int8)
        laid_out = _repeated(hidden.games(), len(names))
        # The same cards and the same luck for every action.
        cards, dice = (np.tile(words, (len(names), 1)) for words in _luck(seed, deals))
        shares = self._futures(len(actions)).win_shares(laid_out, cards, dice, actions, self._bot)
        table = _Table(self.rules, len(actions))
        table.put(laid_out, cards, dice)
        lost = table.lives_lost(self.agents, actions)
        shape = (len(names), deals)
        return _summed_up(names, shares.reshape(shape), lost.reshape(*shape, -1), hidden.weights)

    def _futures(self, games: int) -> _Futures:
        others = [agent for seat, agent in enumerate(self.agents) if seat != self.seat]
        return _Futures(self.rules, others, games, seat=self.seat, seed=0, threads=1)


def _turned_up(rules: Rules) -> npt.NDArray[np.int8]:
    """(13,) for each rank whether a card of it is turned up when it is dealt: asked of the engine."""
    two = round_rules(rules, 2)
    ranks = np.repeat(np.arange(1, N_RANKS + 1, dtype=np.int8)[:, None], 2, axis=1)
    shown: npt.NDArray[np.int8] = deal_games(two, compile_rules(two), ranks, (PLENTY, PLENTY))[
        "shown"
    ]
    return shown[:, 0]


def _luck(seed: int, deals: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """For each deal the state of its chance to come, and of the luck of those who play on."""
    seeds = seeding.derive_many(seed, deals)
    cards = seeding.generator_words(seeds, seeding.CARDS)
    return cards, seeding.generator_words(seeds, seeding.CHOICES)


def _summed_up(
    names: Sequence[str], shares: Floats, lost: npt.NDArray[np.int64], weights: Floats
) -> Worth:
    """Weighted means, and their standard errors.

    Args:
        names: the actions.
        shares: (actions, deals) win shares.
        lost: (actions, deals, seats) lives.
        weights: (deals,).
    """
    weights = weights / weights.sum()
    means = shares @ weights
    best = int(means.argmax())
    lives = np.tensordot(lost, weights, axes=(1, 0))
    return Worth(
        shares=dict(zip(names, means.tolist(), strict=True)),
        errors={name: _error(row, weights) for name, row in zip(names, shares, strict=True)},
        gap_errors={
            name: _error(shares[best] - row, weights)
            for name, row in zip(names, shares, strict=True)
        },
        lives={name: tuple(row.tolist()) for name, row in zip(names, lives, strict=True)},
    )


def _error(values: Floats, weights: Floats) -> float:
    """The standard error of a weighted mean of independent values; the weights sum to one.

    It is never below the weight of one deal: what no deal has shown may happen all the same.
    """
    n = len(values)
    mean = values @ weights
    spread = np.sqrt((weights**2 @ (values - mean) ** 2) * n / (n - 1))
    return float(np.hypot(spread, weights.max()))
