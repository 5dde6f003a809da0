"""The strategy card: what an agent does, on one page, for people at a table.

Every state of every round is put into a *situation*: whose turn it is, who has done what, and how a card
that the seat knows compares with its own. For each situation and each own card the card says one thing to
do: what the agent does there, weighed by how often it comes up and by what the other choice would cost.
Situations that need no rule of their own are put together; where lives make a difference, the card names an
exception.

All figures are calculated with the agent in every seat: how often a state comes up, what each action is
worth there, and what is lost by following the card, in one seat, instead of the agent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from textwrap import wrap
from typing import Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.agents import Agent
from cuckoo_env.cards import N_RANKS, RANK_NAMES, rank_text
from cuckoo_env.engine import (
    ACCEPT,
    ACTION_NAMES,
    BLOCKED,
    KEEP,
    KEPT,
    N_ACTIONS,
    OUTCOME_NAMES,
    SWAP,
    compile_rules,
)
from cuckoo_env.evaluate.exact import Chain, action_values, reveal_worth, strategy_of
from cuckoo_env.evaluate.match import Match
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Dealer, Length, Rules

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

POINTS: Final = 100.0
"""Costs and losses are in hundredths of a win."""
_MOST_ROWS: Final = 14
_MOST_EXCEPTIONS: Final = 6
_LEAST_SAVING: Final = 0.005
"""Hundredths of a win that a row of its own must save; for less, a card stays simpler without it."""
_LEAST_EXCEPTION: Final = 0.01
"""Likewise for an exception, and, for a card in it, ``_LEAST_CHANGE``."""
_LEAST_CHANGE: Final = 2e-4
_MIXES: Final = 0.1
"""From this chance of the rarer action on, mixing is part of what the card says."""
_RARE: Final = 1e-3
"""Below this part of how often the row's other cards come up a card counts as not coming up: strategies that
were learned keep traces of what was tried at first."""
_EPSILON: Final = 1e-6
"""What doing something else than the agent counts where it costs nothing."""


# ---------------------------------------------------------------------------------------------------
# What a card is


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What to do with one card in one situation.

    Attributes:
        rank: the own card, 1 (ace) to 13 (king).
        chances: for each of the five actions how often the card says to take it; sums to one, or is all
            zeros where the agent never holds this card and there is nothing to say.
        agent: how often the agent takes each action.
        cost: hundredths of a win that the best other action would cost, on average, for whoever is
            there; NaN where it does not arise.
        reach: how often it comes up for a seat in a match.
    """

    rank: int
    chances: tuple[float, ...]
    agent: tuple[float, ...]
    cost: float
    reach: float

    @property
    def action(self) -> int | None:
        """What the card says, or mostly says; None where there is nothing to say."""
        return int(np.argmax(self.chances)) if any(self.chances) else None

    @property
    def mixed(self) -> bool:
        """Whether the card says to do it only sometimes."""
        return 0.0 < max(self.chances) < 1.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One situation.

    Attributes:
        players: how many are still in; 0 for any number.
        who: where the seat sits, such as "You play first".
        seen: what else makes the situation, or "".
        answer: whether the seat has been asked for its card, and is to answer.
        advice: what to do, in words.
        cells: (13 cells) from the lowest card to the highest.
        exceptions: where lives make a difference, the first that fits counts.
    """

    players: int
    who: str
    seen: str
    answer: bool
    advice: str
    cells: tuple[Cell, ...]
    exceptions: tuple[Exemption, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Exemption:
    """An exception to a row.

    Attributes:
        when: which lives it is for.
        advice: what to do then, in words.
        cost: hundredths of a win that overlooking it costs, on average, where it matters.
        saving: hundredths of a win that heeding it saves in a match.
        chances: (13, 5) what to do with each card, the lowest first.
    """

    when: str
    advice: str
    cost: float
    saving: float
    chances: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Card:
    """A strategy card.

    Attributes:
        rules: the rules of the table.
        agent: the spec of the agent.
        rows: the situations, larger tables first.
        loss: hundredths of a win a match that a seat loses by following the card instead of the agent,
            while all others play as the agent does: exact, averaged over who deals first.
        win_share: of a seat that plays as the agent does, likewise.
        strategy: the card as an agent.
    """

    rules: Rules
    agent: str
    rows: tuple[Row, ...]
    loss: float
    win_share: float
    strategy: CardAgent


# ---------------------------------------------------------------------------------------------------
# Situations

_ANYWHERE: Final = -1
"""The place, and the number of players, of a situation that is the same everywhere."""
_PLAYERS, _PLACE, _ANSWER, _KNOWN, _RELATION, _FIRST_OUTCOME = range(6)
_LOWER, _SAME, _HIGHER = range(3)
_FEATURES: Final = ("players", "own", "next", "before", "least", "most")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Seen:
    """What seats to act see, as far as a card tells it apart.

    Attributes:
        keys: (n, columns) int16, the situation: players, place, whether it is to answer, whose hidden
            card it knows and how that compares, then outcomes and shown ranks by place.
        column: (n,) the own card as a column of the card, 0 the lowest.
        lives: by feature (n,): players, own lives, those of the next and of the last player, and the
            least and the most that another has.
    """

    keys: npt.NDArray[np.int16]
    column: Ints
    lives: dict[str, Ints]


def _look(rules: Rules, observations: npt.NDArray[np.float32], layout: Layout) -> _Seen:
    """Read observations, (n, layout.size), seat by seat in turn order."""
    n, seats, strength = len(observations), layout.max_seats, _strength(rules)
    flags = {
        name: layout.view(observations, name)
        for name in ("known", "outcome", "shown", "lives", "in_play", "dealer", "turn", "acts")
    }
    after_dealer = (np.arange(seats) - flags["dealer"][:, :, 0].argmax(axis=1)[:, None] - 1) % seats
    in_play = flags["in_play"][:, :, 0] > 0
    order = np.argsort(np.where(in_play, after_dealer, seats + after_dealer), axis=1)
    rows = np.arange(n)[:, None]
    players = in_play.sum(axis=1)
    place = (order == 0).argmax(axis=1)
    known = _numbers(flags["known"])[rows, order]
    shown = flags["shown"][rows, order, 0] > 0
    lives = np.rint(flags["lives"][rows, order, 0] * rules.lives).astype(np.int64)
    asker = (order == flags["turn"][:, :, 0].argmax(axis=1)[:, None]).argmax(axis=1)
    answer = asker != place
    own = known[rows[:, 0], place]
    whose = _whose_card(rules, known * ~shown, place, players)
    theirs = known[rows[:, 0], np.maximum(whose, 0)]
    relation = 1 + np.sign(strength[theirs] - strength[own])
    keys = np.zeros((n, _FIRST_OUTCOME + 2 * seats), np.int16)
    keys[:, _PLAYERS], keys[:, _PLACE], keys[:, _ANSWER] = players, place, answer
    keys[:, _FIRST_OUTCOME : _FIRST_OUTCOME + seats] = _numbers(flags["outcome"])[rows, order]
    others = np.arange(seats) != place[:, None]
    keys[:, _FIRST_OUTCOME + seats :] = known * (shown & others)
    # Answers are simple enough without what others have done.
    keys[answer, _FIRST_OUTCOME:] = 0
    knows = whose >= 0
    keys[knows] = 0
    keys[knows, _PLACE] = _ANYWHERE
    keys[knows, _ANSWER] = answer[knows]
    distance = (whose - place) % players
    last = distance == players - 1
    keys[:, _KNOWN] = np.where(knows, np.where(last, _BEFORE, distance), _ANYWHERE)
    keys[:, _RELATION] = np.where(knows, relation, 0)
    return _Seen(
        keys=keys,
        column=strength[own] - 1,
        lives=_lives_features(lives, place, players),
    )


_BEFORE: Final = 1000
"""Stands for the player who acts just before, however many there are."""


def _strength(rules: Rules) -> Ints:
    """(14,) how ranks compare, 1 the lowest to 13 the highest; 0 for an unknown one."""
    strength = compile_rules(rules)["strength"][0].astype(np.int64)
    ranks: Ints = np.zeros(N_RANKS + 1, np.int64)
    ranks[1 + np.argsort(strength[1:])] = np.arange(1, N_RANKS + 1)
    return ranks


def _numbers(one_hot: npt.NDArray[np.float32]) -> Ints:
    """The numbers, from 1, that one-hot blocks stand for; 0 for an empty block."""
    numbers: Ints = np.where(one_hot.any(axis=-1), 1 + one_hot.argmax(axis=-1), 0)
    return numbers


def _distinct(keys: npt.NDArray[np.int16]) -> tuple[npt.NDArray[np.int16], Ints]:
    """The rows that differ, in ascending order, and for every row which of them it is."""
    # One number a row, its digits the columns, sorts far faster than rows do.
    codes = np.zeros(len(keys), np.int64)
    for column in keys.T.astype(np.int64):
        low = column.min(initial=0)
        codes = codes * (column.max(initial=0) - low + 1) + column - low
    _, first, back = np.unique(codes, return_index=True, return_inverse=True)
    return keys[first], back.reshape(-1)


def _whose_card(rules: Rules, hidden: Ints, place: Ints, players: Ints) -> Ints:
    """The place of the seat whose hidden card is known: the one that can be asked, else the one before."""
    rows = np.arange(len(place))
    whose = np.full(len(place), _ANYWHERE, np.int64)
    asks = (place < players - 1) | (rules.dealer is Dealer.ROTATION)
    distances = [np.full(len(place), k) for k in range(2, hidden.shape[1] - 1)]
    for distance in [*distances, players - 1, np.where(asks, 1, players - 1)]:
        other = (place + distance) % players
        whose = np.where((hidden[rows, other] > 0) & (other != place), other, whose)
    return whose


def _lives_features(lives: Ints, place: Ints, players: Ints) -> dict[str, Ints]:
    rows, seats = np.arange(len(place)), lives.shape[1]
    own = lives[rows, place]
    others = (np.arange(seats) != place[:, None]) & (np.arange(seats) < players[:, None])
    values = (
        players,
        own,
        lives[rows, (place + 1) % players],
        lives[rows, (place - 1) % players],
        np.where(others, lives, np.iinfo(np.int64).max).min(axis=1),
        np.where(others, lives, 0).max(axis=1),
    )
    return dict(zip(_FEATURES, values, strict=True))


def _occasions(lives: dict[str, Ints], seats: int) -> dict[str, Marks]:
    """What may be said about lives, and where it is true: (n,) each; of two that say the same, the first."""
    other = "the other player" if seats == 2 else "another player"
    own, least, most = lives["own"], lives["least"], lives["most"]
    return {
        "all are on their last life": (own == 1) & (most == 1),
        "you are on your last life": own == 1,
        "you are on your last life, nobody else is": (own == 1) & (least > 1),
        f"{other} is on the last life, you are not": (least == 1) & (own > 1),
        "you have the most lives": own > most,
        "you have the fewest lives": own < least,
        "all have the same number of lives": (own == least) & (own == most),
        "the next player is on the last life": lives["next"] == 1,
        "the player before you is on the last life": lives["before"] == 1,
    } | (_with_two_left(lives) if seats > 2 else {})


def _with_two_left(lives: dict[str, Ints]) -> dict[str, Marks]:
    """What may be said in situations that do not themselves say how many are left."""
    two, own, least, most = lives["players"] == 2, lives["own"], lives["least"], lives["most"]
    return {
        "two are left": two,
        "two are left, the other on the last life, you not": two & (least == 1) & (own > 1),
        "two are left and you have more lives": two & (own > most),
        "two are left and you have fewer lives": two & (own < least),
        "two are left with as many lives each": two & (own == most),
        "two are left, both on their last life": two & (own == 1) & (most == 1),
    }


# ---------------------------------------------------------------------------------------------------
# What the agent does, and what it is worth


@dataclass(frozen=True, kw_only=True, eq=False)
class _States:
    """Every information state of a seat in a match.

    Attributes:
        seen: what it sees there.
        reach: (n,) how often a seat gets there in a match, averaged over who deals first.
        chances: (n, 5) what the agent does.
        worth: (n, 5) the win share that each action leads to; NaN where it is not legal, or where
            others never let it come to this.
    """

    seen: _Seen
    reach: Floats
    chances: Floats
    worth: Floats


def _states_of(match: Match, agent: Agent) -> _States:
    """Gather the states; by the symmetry of seats those of the positions in which the last seat deals."""
    strategy = strategy_of(match, [agent] * match.rules.seats)
    chain = Chain(match, strategy)
    values = chain.values()
    start = np.zeros(len(match.positions))
    for chance, number in match.starts("all"):
        start[number] += chance
    visits = np.linalg.solve(np.eye(len(start)) - chain.moves.T, start)
    parts = [
        _states_at(match, number, strategy[number], values, float(visits[number]))
        for number, position in enumerate(match.positions)
        if position.dealer == match.rules.seats - 1
    ]
    lives = {name: np.concatenate([each.seen.lives[name] for each in parts]) for name in _FEATURES}
    return _States(
        seen=_Seen(
            keys=np.concatenate([each.seen.keys for each in parts]),
            column=np.concatenate([each.seen.column for each in parts]),
            lives=lives,
        ),
        reach=np.concatenate([each.reach for each in parts]),
        chances=np.concatenate([each.chances for each in parts]),
        worth=np.concatenate([each.worth for each in parts]),
    )


def _states_at(
    match: Match, number: int, weights: Floats, values: Floats, visits: float
) -> _States:
    """The states of one position in which there is a choice."""
    tree, order = match.tree[number], match.order[number]
    observations, _ = match.observations(number)
    surely = np.ones(len(tree.outcomes))
    nobody = np.zeros(len(weights), np.bool_)
    came, _ = action_values(tree, weights, nobody, surely)
    reach = np.add.reduceat(came[: tree.n_edges], tree.state_edge[:-1])
    worth = np.full((tree.n_states, N_ACTIONS), np.nan)
    chances = np.zeros((tree.n_states, N_ACTIONS))
    chances[tree.edge_state, tree.edge_action] = weights[: tree.n_edges]
    for place, seat in enumerate(order):
        own = tree.own_edges(place)
        leaf = tree.outcomes @ reveal_worth(match, number, seat, values[:, seat])
        times, _ = action_values(tree, weights, own, leaf)
        let, _ = action_values(tree, weights, own, surely)  # how likely others let it come
        edges = np.flatnonzero(own[: tree.n_edges] & (let[: tree.n_edges] > 0))
        worth[tree.edge_state[edges], tree.edge_action[edges]] = times[edges] / let[edges]
    free = np.flatnonzero(np.diff(tree.state_edge) > 1)
    return _States(
        seen=_look(match.rules, observations[free], match.layout),
        # A seat sits in one of the places of each round it is in.
        reach=reach[free] * visits,
        chances=chances[free],
        worth=worth[free],
    )


class _Tally:
    """What the rules of a card would cost: sums over states by situation and own card."""

    def __init__(self, states: _States, seats: int) -> None:
        self.states, self._seats = states, seats
        worth, chances = states.worth, states.chances
        legal = ~np.isnan(worth) | (chances > 0)
        self.price = np.zeros(worth.shape)
        """(n, 5) what taking each action in place of the agent's costs in a match."""
        for action in range(N_ACTIONS):
            gap = np.abs(np.nan_to_num(worth - worth[:, [action]])) + _EPSILON
            gap[:, action] = 0.0
            self.price[:, action] = states.reach * (chances * gap).sum(axis=1)
        fallback = legal.argmax(axis=1)
        rows = np.arange(len(worth))
        self.price = np.where(legal, self.price, self.price[rows, fallback][:, None])
        self.legal = legal
        self.rarer = np.where(_matters(states, legal), np.sort(chances, axis=1)[:, -2], 0.0)
        """(n,) how often the agent takes its second action, where that means anything."""

    def by_column(self, values: Floats, some: Marks) -> Floats:
        """Sums of values, (n, …), over some states, by own card: (13, …)."""
        sums = np.zeros((N_RANKS, *values.shape[1:]))
        np.add.at(sums, self.states.seen.column[some], values[some])
        return sums

    def prices(self, some: Marks) -> Floats:
        """(13, 5) what each action costs with each card over some states."""
        return self.by_column(self.price, some)

    def prices_by(self, which: Ints) -> Floats:
        """What each action costs, by occasion, the first of which is all, and by group of states.

        Returns:
            (occasions, groups, 13, 5).
        """
        marks = [
            np.ones(len(which), np.bool_),
            *_occasions(self.states.seen.lives, self._seats).values(),
        ]
        sums = np.zeros((len(marks), int(which.max()) + 1, N_RANKS, N_ACTIONS))
        for occasion, some in enumerate(marks):
            at = (which[some], self.states.seen.column[some])
            np.add.at(sums[occasion], at, self.price[some])
        return sums


def _matters(states: _States, legal: Marks) -> Marks:
    """Where a choice matters: solved tables are left even where all actions are worth the same."""
    even = np.abs(states.chances - 1 / legal.sum(axis=1)[:, None]) < _EPSILON
    worth = np.where(np.isnan(states.worth), 0.0, states.worth)
    same = np.where(legal, np.abs(worth - worth.max(axis=1, keepdims=True)), 0.0) < _EPSILON
    matters: Marks = ~((even | ~legal).all(axis=1) & same.all(axis=1))
    return matters


# ---------------------------------------------------------------------------------------------------
# Making a card


def card(rules: Rules, agent: Agent) -> Card:
    """The strategy card of an agent.

    Args:
        rules: the rules of the table.
        agent: who is described, and who sits in the other seats.

    Raises:
        TooLargeError: when the table is too large to be solved.
    """
    match = Match(rules)
    states = _states_of(match, agent)
    tally = _Tally(states, rules.seats)
    groups = _grouped(states, tally)
    made = [_Maker(rules, tally, group).made() for group in groups]
    rows = [row for row, _ in made]
    kept = _most_needed(rows)
    strategy = CardAgent(rules, kept, [keys for _, keys in made])
    now, then = (
        _win_share(match, [first, *[agent] * (rules.seats - 1)]) for first in (agent, strategy)
    )
    return Card(
        rules=rules,
        agent=agent.name,
        rows=tuple(kept),
        loss=POINTS * (now - then),
        win_share=now,
        strategy=strategy,
    )


def _win_share(match: Match, agents: Sequence[Agent]) -> float:
    values = Chain(match, strategy_of(match, agents)).values()[:, 0]
    return float(sum(chance * values[number] for chance, number in match.starts("all")))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Group:
    """States that one row is for.

    Attributes:
        keys: (k, columns) the situations.
        others: whether other rows serve the same seat, so that words must tell them apart.
        states: (n,) which states they are.
    """

    keys: npt.NDArray[np.int16]
    others: bool
    states: Marks


def _grouped(states: _States, tally: _Tally) -> list[_Group]:
    """Put situations together, except those where a rule of their own saves enough."""
    keys, which = _distinct(states.seen.keys)
    seat = keys[:, [_PLAYERS, _PLACE, _ANSWER, _KNOWN]]
    seat[seat[:, 2] > 0, :2] = 0, _ANYWHERE  # what to answer is the same everywhere, or nearly
    seats, of = _distinct(seat)
    alone: dict[int, float] = {}
    prices = tally.prices_by(which)
    for k in range(len(seats)):
        alone |= _worth_a_row(prices, np.flatnonzero(of == k).tolist())
    room = max(_MOST_ROWS - len(seats), 0)
    chosen = sorted(alone, key=lambda case: -alone[case])[:room]
    groups = []
    for k in sorted(range(len(seats)), key=lambda k: _page_order(seats[k])):
        cases = np.flatnonzero(of == k)
        own = [case for case in cases.tolist() if case in chosen]
        rest = [case for case in cases.tolist() if case not in chosen]
        split = [[case] for case in own] + ([rest] if rest else [])
        split.sort(key=lambda some: -int(keys[some, _RELATION].max()))
        groups += [
            _Group(
                keys=keys[group],
                others=len(split) > 1,
                states=np.isin(which, group),
            )
            for group in split
        ]
    return [group for group in groups if (states.reach[group.states] > 0).any()]


def _worth_a_row(prices: Floats, cases: list[int]) -> dict[int, float]:
    """The situations of one seat that deserve a row, and what each saves; the greatest first."""
    rest, chosen = list(cases), {}
    while len(rest) > 1:
        together = prices[:, rest].sum(axis=1)
        saving = {case: _saved(prices[:, case], together - prices[:, case]) for case in rest}
        most = max(saving, key=lambda case: saving[case])
        if POINTS * saving[most] < _LEAST_SAVING:
            break
        chosen[most] = saving[most]
        rest.remove(most)
    return chosen


def _saved(one: Floats, others: Floats) -> float:
    """What two rules save against one, on the occasion where they differ most: prices are (…, 13, 5)."""
    apart = one.min(axis=-1) + others.min(axis=-1)
    return float(((one + others).min(axis=-1) - apart).sum(axis=-1).max())


def _page_order(seat: npt.NDArray[np.int16]) -> tuple[int, ...]:
    """Larger tables first, then by place; then what is the same everywhere; answers last."""
    players, place, answer, known = (int(each) for each in seat)
    return (answer, players == 0, -players, place, known)


def _most_needed(rows: Sequence[Row]) -> list[Row]:
    """The rows with only those exceptions that save most on the whole card."""
    savings = sorted((each.saving for row in rows for each in row.exceptions), reverse=True)
    least = savings[:_MOST_EXCEPTIONS][-1] if savings else 0.0
    return [
        dataclasses.replace(
            row, exceptions=tuple(each for each in row.exceptions if each.saving >= least)
        )
        for row in rows
    ]


class _Maker:
    """One row in the making."""

    def __init__(self, rules: Rules, tally: _Tally, group: _Group) -> None:
        self._rules, self._tally, self._group = rules, tally, group
        self._ranks = _ranks(rules)

    def made(self) -> tuple[Row, npt.NDArray[np.int16]]:
        group = self._group
        key = group.keys[0]
        cells = tuple(self._cells())
        answer = bool(key[_ANSWER])
        return Row(
            players=0 if answer else int(key[_PLAYERS]),
            who=_who(group),
            seen=_seen(group),
            answer=answer,
            advice=advice(cells),
            cells=cells,
            exceptions=tuple(self._exceptions(cells)),
        ), group.keys

    def _cells(self) -> list[Cell]:
        tally, some = self._tally, self._group.states
        states = tally.states
        reach = tally.by_column(states.reach, some)
        taken = tally.by_column(states.reach[:, None] * states.chances, some)
        plain = tally.by_column(states.chances, some)
        count = tally.by_column(np.ones(len(some)), some)
        rarer = tally.by_column(states.reach * tally.rarer, some)
        often = _RARE * reach.max()
        prices = tally.prices(some)
        cells = []
        for column, rank in enumerate(self._ranks):
            agent, says, cost = np.zeros(N_ACTIONS), np.zeros(N_ACTIONS), np.nan
            if reach[column] > often:
                agent = taken[column] / reach[column]
                offered = self._offered(column)
                action = int(np.where(offered, prices[column], np.inf).argmin())
                mixes = rarer[column] / reach[column] >= _MIXES
                says = agent if mixes else np.array(_only(action))
                cost = self._cost(column, action)
            elif count[column] and plain[column].max() == count[column]:
                # It never comes up, but there is no doubt what the agent would do.
                agent = says = np.eye(N_ACTIONS)[int(plain[column].argmax())]
            cells.append(
                Cell(
                    rank=rank,
                    chances=tuple(says.tolist()),
                    agent=tuple(agent.tolist()),
                    cost=cost,
                    reach=float(reach[column]),
                )
            )
        return cells

    def _at(self, column: int) -> Marks:
        marks: Marks = self._group.states & (self._tally.states.seen.column == column)
        return marks

    def _offered(self, column: int) -> Marks:
        """(5,) which actions can be taken there at all."""
        return np.asarray(self._tally.legal[self._at(column)].any(axis=0))

    def _cost(self, column: int, action: int) -> float:
        """What the best other action costs, on average, where both can be taken."""
        states = self._tally.states
        some = self._at(column) & ~np.isnan(states.worth[:, action]) & (states.reach > 0)
        other = np.delete(states.worth[some], action, axis=1)
        weight = states.reach[some]
        best = np.where(np.isnan(other), -np.inf, other).max(axis=1)
        return float(POINTS * (weight * (states.worth[some, action] - best)).sum() / weight.sum())

    def _exceptions(self, cells: Sequence[Cell]) -> list[Exemption]:
        """Where lives call for another rule: the one that saves most, then what it leaves, and so on."""
        if self._rules.lives == 1 or self._rules.game is Length.ROUND:
            return []
        states, left = self._tally.states, self._group.states.copy()
        occasions = _occasions(states.seen.lives, self._rules.seats)
        if self._group.keys[0, _PLAYERS]:
            for when in _with_two_left(states.seen.lives):
                occasions.pop(when, None)
        found: list[Exemption] = []
        while len(found) < 3:
            options = {
                when: self._exemption(when, left & marks, cells)
                for when, marks in occasions.items()
            }
            when, best = max(options.items(), key=lambda item: item[1].saving)
            if best.saving < _LEAST_EXCEPTION:
                break
            found.append(best)
            left &= ~occasions[when]
        return found

    def _exemption(self, when: str, some: Marks, cells: Sequence[Cell]) -> Exemption:
        """What a rule of their own would be for some states, and save."""
        prices = POINTS * self._tally.prices(some)
        reach = self._tally.by_column(self._tally.states.reach, some)
        chances = [cell.chances for cell in cells]
        fixed = [cell.action is None or cell.mixed for cell in cells]
        saved, taken = np.zeros(N_RANKS), set()
        for column, cell in enumerate(cells):
            if fixed[column] or reach[column] == 0:
                continue
            action = int(np.where(self._offered(column), prices[column], np.inf).argmin())
            saving = prices[column, cell.action] - prices[column, action]
            if saving > _LEAST_CHANGE:
                saved[column] = saving
                taken.add(action)
                chances[column] = _only(action)
        if len(taken) == 1:
            # Cards with which it makes no difference go along, which makes for shorter words.
            action = taken.pop()
            for column, cell in enumerate(cells):
                more = prices[column, action] - prices[column, cell.action or 0]
                if not fixed[column] and self._offered(column)[action] and more < _LEAST_CHANGE:
                    chances[column] = _only(action)
        changed = [
            Cell(rank=cell.rank, chances=says, agent=says, cost=cell.cost, reach=cell.reach)
            for cell, says in zip(cells, chances, strict=True)
        ]
        came = reach[saved > 0].sum()
        return Exemption(
            when=when,
            advice=advice(changed),
            cost=float(saved.sum() / came) if came else 0.0,
            saving=float(saved.sum()),
            chances=tuple(chances),
        )


def _only(action: int) -> tuple[float, ...]:
    return tuple(float(each == action) for each in range(N_ACTIONS))


class CardAgent:
    """The card as an agent: it does what the card says, and nothing finer.

    Attributes:
        name: ``card``.
    """

    name = "card"

    def __init__(
        self, rules: Rules, rows: Sequence[Row], keys: Sequence[npt.NDArray[np.int16]]
    ) -> None:
        self._rules, self._rows = rules, list(rows)
        self._row_of = {key.tobytes(): k for k, some in enumerate(keys) for key in some}

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> Floats:
        """See :meth:`cuckoo_env.agents.base.Agent.probabilities`."""
        seen = _look(self._rules, observations, layout)
        keys, back = _distinct(seen.keys)
        numbers = np.array([self._row_of.get(key.tobytes(), -1) for key in keys], np.int64)[back]
        occasions = _occasions(seen.lives, self._rules.seats)
        chances = np.zeros((len(masks), N_ACTIONS))
        for number, row in enumerate(self._rows):
            left = numbers == number
            for each in row.exceptions:
                there = left & occasions[each.when]
                chances[there] = np.array(each.chances)[seen.column[there]]
                left &= ~there
            says = np.array([cell.chances for cell in row.cells])
            chances[left] = says[seen.column[left]]
        chances = chances[:, : masks.shape[1]] * masks
        # What the card does not speak of: keep, or accept; the first of the legal actions.
        silent = chances.sum(axis=1) == 0
        chances[silent, masks[silent].argmax(axis=1)] = 1.0
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def player(self) -> None:
        """Nothing: a card is asked through the batch interface."""


# ---------------------------------------------------------------------------------------------------
# Words


def _ranks(rules: Rules) -> list[int]:
    """The ranks, the lowest first."""
    strength = _strength(rules)
    return sorted(range(1, N_RANKS + 1), key=lambda rank: int(strength[rank]))


def _places(players: int) -> list[str]:
    """What the seats of a round are called, in turn order."""
    between = {0: [], 1: ["the middle"], 2: ["the second", "the third"]}.get(
        players - 2, [f"player {place}" for place in range(2, players)]
    )
    return ["the first", *between, "the dealer"]


def _who(group: _Group) -> str:
    """Whose situation it is, in words."""
    key = group.keys[0]
    if key[_KNOWN] != _ANYWHERE:
        return f"{_known(group)}, and are asked" if key[_ANSWER] else _known(group)
    return "You are asked" if key[_ANSWER] else _sits(int(key[_PLAYERS]), int(key[_PLACE]))


def _sits(players: int, place: int) -> str:
    if place == players - 1:
        return "You deal"
    if place == 0:
        return "You play first"
    if players == 3:
        return "You are in the middle"
    return f"You play {_places(players)[place].removeprefix('the ')}"


def _known(group: _Group) -> str:
    """How a card that is known compares with the own one, in words."""
    relations = sorted({int(each[_RELATION]) for each in group.keys}, reverse=True)
    how = " or ".join(("a lower", "the same", "a higher")[each] for each in relations)
    known = int(group.keys[0, _KNOWN])
    if known == _BEFORE:
        return f"You gave {how} card" if group.others else "You had to swap"
    whose = "The next player" if known == 1 else "Another player"
    return f"{whose} has {how} card" if group.others else "You know another player’s card"


def _seen(group: _Group) -> str:
    """What else makes the situation, in words."""
    key = group.keys[0]
    if not group.others or key[_KNOWN] != _ANYWHERE:
        return ""
    if len(group.keys) > 1:
        return "otherwise"
    if key[_ANSWER]:
        sits = _sits(int(key[_PLAYERS]), int(key[_PLACE]))
        return f"{_in_words(int(key[_PLAYERS])).lower()} are left, {sits[0].lower()}{sits[1:]}"
    return _history(key)


def _history(key: npt.NDArray[np.int16]) -> str:
    """Who has done what, in words."""
    players, place = int(key[_PLAYERS]), int(key[_PLACE])
    seats = (len(key) - _FIRST_OUTCOME) // 2
    outcomes = key[_FIRST_OUTCOME : _FIRST_OUTCOME + seats]
    shown = key[_FIRST_OUTCOME + seats :]
    before, after = outcomes[:place], outcomes[place:]
    if place and (before == KEPT).all() and not after.any() and not shown.any():
        if place == 1:
            return "the first kept"
        return "both others kept" if players == 3 else "all before you kept"
    names, parts = _places(players), []
    for other in range(players):
        if other == place:
            continue
        said = OUTCOME_NAMES[outcomes[other]] if outcomes[other] else ""
        if outcomes[other] == BLOCKED and other + 1 < players and shown[other + 1]:
            said = f"met a {RANK_NAMES[shown[other + 1] - 1]}"
        elif shown[other] and not (other and outcomes[other - 1] == BLOCKED):
            said = f"has shown a {RANK_NAMES[shown[other] - 1]}" + (f" and {said}" if said else "")
        if said:
            parts.append(f"{names[other]} {said}")
    return ", ".join(parts)


def advice(cells: Sequence[Cell]) -> str:
    """What to do in a row, in words, such as "Swap 6 or lower".

    Args:
        cells: the row's cells, the lowest card first.
    """
    spoken = [cell for cell in cells if cell.action is not None]
    answers = any(cell.action not in {KEEP, SWAP} for cell in spoken)
    plain = ACCEPT if answers else KEEP
    parts = []
    for action in range(N_ACTIONS):
        if action == plain:
            continue
        marks = [not cell.mixed and cell.action == action for cell in spoken]
        which = [_which([cell.rank for cell in spoken], marks)] if any(marks) else []
        if all(marks) and not answers:
            which = [""]
        mixed = [cell for cell in spoken if cell.mixed and cell.chances[action] > 0]
        if len(mixed) > 2:
            which.append("others sometimes" if which else "sometimes")
        else:
            which += [
                f"({rank_text(cell.rank)}: {_how_often(cell.chances[action])})" for cell in mixed
            ]
        if which:
            parts.append(" ".join([ACTION_NAMES[action], *filter(None, which)]))
    if not parts:
        return ACTION_NAMES[plain].capitalize()
    if answers and any(cell.action == plain for cell in spoken):
        parts.append("otherwise accept")
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _how_often(chance: float) -> str:
    share = Fraction(chance).limit_denominator(8)
    if share.numerator in {0, share.denominator}:
        return f"{chance:.0%} of the time"
    times = {1: "once", 2: "twice"}.get(share.numerator, f"{share.numerator} times")
    return f"{times} in {share.denominator}"


def _which(ranks: Sequence[int], marks: Sequence[bool]) -> str:
    """Which cards are marked, such as "6 or lower", "9 or higher", or "A to 4 and 7"."""
    if len(marks) == 1:
        return rank_text(ranks[0])
    runs: list[list[int]] = []
    for k, mark in enumerate(marks):
        if mark and k and marks[k - 1]:
            runs[-1].append(k)
        elif mark:
            runs.append([k])
    words = []
    for run in runs:
        first, last = rank_text(ranks[run[0]]), rank_text(ranks[run[-1]])
        if run[0] == 0 and len(runs) == 1 and not all(marks):
            words.append(f"{last} or lower" if len(run) > 1 else f"{last} only")
        elif run[-1] == len(marks) - 1 and len(run) > 1 and not all(marks):
            words.append(f"{first} or higher")
        elif len(run) > 2:
            words.append(f"{first} to {last}")
        else:
            words += [rank_text(ranks[k]) for k in run]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# ---------------------------------------------------------------------------------------------------
# The card as text


def as_text(made: Card) -> str:
    """The card in 79 columns, for a terminal."""
    lines = [
        title(made),
        *wrap(subtitle(made), _COLUMNS, break_on_hyphens=False),
        *wrap(legend(made), _COLUMNS),
        "",
    ]
    for heading, rows in sections(made):
        lines += [heading.upper(), ""]
        for row in rows:
            lines += [*_text_row(row), ""]
    notes = [wrapped for line in verdict(made) for wrapped in wrap(line, _COLUMNS)]
    return "\n".join([*lines, *notes, ""])


_COLUMNS: Final = 79


def _text_row(row: Row) -> list[str]:
    """A row: what to do, the cards, what the other choice costs."""
    situation = row.who + (f"; {row.seen}" if row.seen else "")
    lines = wrap(f"{situation}: {row.advice}", _COLUMNS)
    for each in row.exceptions:
        lines += wrap(exception_text(each), _COLUMNS, initial_indent="  ", subsequent_indent="    ")
    cards = [rank_text(cell.rank) for cell in row.cells]
    marks = [_mark(cell) for cell in row.cells]
    costs = ["" if cell.action is None else cost_text(cell.cost) for cell in row.cells]
    for label, values in (("", cards), ("do", marks), ("cost", costs)):
        lines.append(f"  {label:<5}" + "".join(f"{value:>5}" for value in values))
    return [line.rstrip() for line in lines]


def exception_text(exception: Exemption) -> str:
    """An exception in a sentence."""
    does = exception.advice[0].lower() + exception.advice[1:]
    return f"But if {exception.when}: {does} (ignoring this costs {cost_text(exception.cost)})"


def _mark(cell: Cell) -> str:
    """What to do in a word that fits a column."""
    if cell.action is None:
        return "-"
    if cell.mixed:
        return f"{cell.chances[SWAP] if cell.action in {KEEP, SWAP} else max(cell.chances):.0%}"
    return {ACCEPT: "take"}.get(cell.action, ACTION_NAMES[cell.action])


def cost_text(cost: float) -> str:
    """A cost, in four characters at most."""
    if np.isnan(cost):
        return "-"
    if abs(cost) < 0.05:
        return "0"
    text = f"{cost:.1f}" if abs(cost) < 9.95 else f"{cost:.0f}"
    return text.replace("-", "−")


def sections(made: Card) -> list[tuple[str, list[Row]]]:
    """The rows under their headings."""
    headings: dict[str, list[Row]] = {}
    for row in made.rows:
        headings.setdefault(_heading(made.rules, row), []).append(row)
    return list(headings.items())


def _heading(rules: Rules, row: Row) -> str:
    if row.answer:
        return "When you are asked for your card"
    if row.players == 0:
        return "When somebody has swapped with you: you know what you gave"
    if row.players == rules.seats:
        return "Your turn" if row.players == 2 else f"{_in_words(row.players)} players in"
    return f"{_in_words(row.players)} players left"


def _in_words(number: int) -> str:
    words = ("Zero", "One", "Two", "Three", "Four", "Five", "Six")
    return words[number] if number < len(words) else str(number)


def title(made: Card) -> str:
    """What the card is about."""
    return "When to swap" if not made.rules.has_responses else "When to swap, and what to answer"


def subtitle(made: Card) -> str:
    """Whose strategy it is, and for which table."""
    rules = made.rules
    lives = "one life" if rules.lives == 1 else f"{rules.lives} lives"
    return f"Cuckoo, {rules}: {rules.seats} players, {lives} each. Strategy: {made.agent}."


def legend(made: Card) -> str:
    """How to read the figures."""
    costs = [cell.cost for row in made.rows for cell in row.cells]
    below = " (below zero: it would be better)" if np.nanmin(costs) <= -0.05 else ""
    return f"Small numbers: what the other choice would cost you there, in wins per 100{below}."


def verdict(made: Card) -> list[str]:
    """What following the card costs."""
    game = "deals" if made.rules.game is Length.ROUND else "matches"
    wins = f"{POINTS * made.win_share - made.loss:.2f}% of {game}"
    lines = ["All figures are exact, for a table where everybody else plays this strategy in full."]
    if abs(made.loss) < 0.005:
        return [*lines, f"Whoever follows this card wins {wins}, as with the full strategy."]
    compared = f"{abs(made.loss):.2g} per 100 {'less' if made.loss > 0 else 'more'}"
    rate = f", or one in {_about(POINTS / made.loss)}" if made.loss > 0 else ""
    said = f"Whoever follows this card wins {wins}: {compared} than with the full strategy{rate}."
    return [*lines, said]


def _about(number: float) -> str:
    """A number rounded to two figures."""
    return f"{float(f'{number:.1e}'):,.0f}"
