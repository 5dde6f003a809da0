"""Exact values: what agents win against each other, and what they could win.

A profile of agents gives every information state of every round a probability for each action. The trees
of :mod:`cuckoo_env.evaluate.tree` turn these into the chance of every kind of reveal, and the positions
of :mod:`cuckoo_env.evaluate.match` into a Markov chain, whose linear equations are solved component
by component from the end of the match backwards.

A best response fixes all seats but one and maximises that seat's win share. Within a round it is found
backwards through the seat's own decisions (its information states have perfect recall); where positions
recur, by policy iteration (Howard 1960). NashConv is the sum over seats of what each could gain that way
(Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement learning", 2017).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.agents import Agent
from cuckoo_env.compiled import NOTHING, available_cores, entry
from cuckoo_env.evaluate.match import END, Match
from cuckoo_env.evaluate.tree import Tree
from cuckoo_env.rules import Rules

Floats = npt.NDArray[np.float64]
Strategy = list[Floats]
"""The weights of a tree's edges, chance's included, for every position of a match."""

_TINY: Final = 1e-14
"""A gain below this is rounding: a policy is not changed for it."""


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Exact values of a profile, from the stated first dealer.

    Attributes:
        agents: the agents by seat.
        first_dealer: a seat, ``lot`` or ``cut`` as in the rules, or ``all``.
        win_share: (seats,) expected share of the win.
        payoff: (seats,) expected return; None where the pot can grow without bound.
        truncated: the chance that ``max_rounds`` ends the match, or that nobody wins a single round.
        best_response: (seats,) win share of each seat if it alone plays best; None if not asked for.
    """

    agents: tuple[str, ...]
    first_dealer: str
    win_share: Floats
    payoff: Floats | None
    truncated: float
    best_response: Floats | None = None

    @property
    def gain(self) -> Floats | None:
        """(seats,) what each seat could gain by playing best alone."""
        return None if self.best_response is None else self.best_response - self.win_share

    @property
    def nash_conv(self) -> float | None:
        """The sum of all gains: zero at an equilibrium."""
        return None if self.gain is None else float(self.gain.sum())


# ---------------------------------------------------------------------------------------------------
# Strategies


def strategy_of(match: Match, agents: Sequence[Agent]) -> Strategy:
    """What the agents do in every information state of every position; each is asked once."""
    return [_weights_at(match, number, agents) for number in range(len(match.positions))]


def _weights_at(match: Match, number: int, agents: Sequence[Agent]) -> Floats:
    tree, order = match.tree[number], match.order[number]
    observations, masks = match.observations(number)
    weights = np.concatenate([np.zeros(tree.n_edges), tree.chance])
    for place, seat in enumerate(order):
        states = np.flatnonzero(tree.state_place == place)
        chances = agents[seat].probabilities(observations[states], masks[states], match.layout)
        edges = np.flatnonzero(tree.state_place[tree.edge_state] == place)
        rows = np.searchsorted(states, tree.edge_state[edges])
        weights[edges] = chances[rows, tree.edge_action[edges]]
    return weights


# ---------------------------------------------------------------------------------------------------
# Walks


@entry
def _outcome_chances(
    parent: Any, edge: Any, outcome: Any, weights: Any, chance: Any, reach: Any, out: Any
) -> None:
    """The chance of every outcome of a round: one pass down the tree."""
    deal = 0
    for node in range(parent.shape[0]):
        if parent[node] == NOTHING:
            reach[node] = chance[deal]
            deal += 1
        else:
            reach[node] = reach[parent[node]] * weights[edge[node]]
        if outcome[node] != NOTHING:
            out[outcome[node]] += reach[node]


@entry
def _action_values(
    parent: Any, edge: Any, outcome: Any, weights: Any, own: Any, chance: Any, leaf: Any, reach: Any,
    value: Any, out: Any,
) -> None:  # fmt: skip
    """What each edge is worth to the seat whose edges are ``own``, times how likely others let it come.

    One pass down for the chances, without the seat's own choices, and one up for the values, with them.
    """
    deal = 0
    for node in range(parent.shape[0]):
        value[node] = 0.0
        if parent[node] == NOTHING:
            reach[node] = chance[deal]
            deal += 1
        elif own[edge[node]]:
            reach[node] = reach[parent[node]]
        else:
            reach[node] = reach[parent[node]] * weights[edge[node]]
    for node in range(parent.shape[0] - 1, -1, -1):
        if outcome[node] != NOTHING:
            value[node] = leaf[outcome[node]]
        if parent[node] != NOTHING:
            out[edge[node]] += reach[node] * value[node]
            value[parent[node]] += weights[edge[node]] * value[node]


def reveal_chances(tree: Tree, weights: Floats) -> Floats:
    """The chance of every kind of reveal: (reveals,)."""
    reach, out = np.empty(len(tree.parent)), np.zeros(len(tree.outcomes))
    _outcome_chances(tree.parent, tree.edge, tree.outcome, weights, tree.deal_chance, reach, out)
    chances: Floats = out @ tree.outcomes
    return chances


def _all_reveal_chances(match: Match, strategy: Strategy) -> list[Floats]:
    """The chance of every kind of reveal, by position; rounds that are played alike are walked once."""
    keys = [
        (id(tree), hashlib.sha256(weights.tobytes()).digest())
        for tree, weights in zip(match.tree, strategy, strict=True)
    ]
    different = {key: number for number, key in enumerate(keys)}
    with ThreadPoolExecutor(available_cores()) as pool:
        found = pool.map(lambda n: reveal_chances(match.tree[n], strategy[n]), different.values())
    chances = dict(zip(different, found, strict=True))
    return [chances[key] for key in keys]


# ---------------------------------------------------------------------------------------------------
# The match


class Chain:
    """A match under a fixed strategy: a Markov chain over positions."""

    def __init__(self, match: Match, strategy: Strategy) -> None:
        self._match = match
        seats, size = match.rules.seats, len(match.positions)
        self.moves = np.zeros((size, size))
        self.ends = np.zeros((size, 2 * seats + 1))  # win shares, payoffs, nobody wins
        for number, chances in enumerate(_all_reveal_chances(match, strategy)):
            self._lead_on(number, chances)

    def update(self, number: int, weights: Floats) -> None:
        """Take over a new strategy at one position."""
        self._lead_on(number, reveal_chances(self._match.tree[number], weights))

    def _lead_on(self, number: int, chances: Floats) -> None:
        """Note where a position leads, from the chance of every kind of reveal."""
        match, seats = self._match, self._match.rules.seats
        self.moves[number], self.ends[number] = 0.0, 0.0
        for chance, steps in zip(chances, match.steps[number], strict=True):
            for step in steps:
                weight = chance * step.chance
                if step.then != END:
                    self.moves[number, step.then] += weight
                    continue
                self.ends[number, :seats] += weight * step.shares
                self.ends[number, seats:-1] += weight * step.payoffs
                self.ends[number, -1] += weight * (1.0 - step.shares.sum())

    def solve(self, component: Sequence[int], values: Floats) -> None:
        """Fill in the values of a component's positions; those of later ones are known."""
        rows = list(component)
        known = self.ends[rows] + self.moves[rows] @ np.where(_marked(rows, values), 0.0, values)
        inside = np.eye(len(rows)) - self.moves[np.ix_(rows, rows)]
        values[rows] = np.linalg.solve(inside, known)

    def values(self) -> Floats:
        """Expected win shares, payoffs and chance of no winner: (positions, 2·seats + 1)."""
        values = np.zeros_like(self.ends)
        for component in self._match.components:
            self.solve(component, values)
        return values


def _marked(rows: Sequence[int], like: Floats) -> npt.NDArray[np.bool_]:
    mark = np.zeros((len(like), 1), np.bool_)
    mark[list(rows)] = True
    return mark


@dataclass(frozen=True, kw_only=True)
class BestResponse:
    """The best that one seat can do against the others.

    Attributes:
        seat: who responds.
        win_share: (positions,) its expected win share.
        strategy: the profile with the seat's own choices replaced by the best ones.
    """

    seat: int
    win_share: Floats
    strategy: Strategy


def best_response(match: Match, strategy: Strategy, seat: int) -> BestResponse:
    """The best response of one seat to the others, over the whole match."""
    weights = [each.copy() for each in strategy]
    chain = Chain(match, weights)
    values = chain.values()
    for component in match.components:
        while True:
            better = [
                number
                for number in component
                if _improve(match, number, seat, weights[number], values[:, seat])
            ]
            for number in better:
                chain.update(number, weights[number])
            chain.solve(component, values)
            if not better:
                break
    return BestResponse(seat=seat, win_share=values[:, seat].copy(), strategy=weights)


def _improve(match: Match, number: int, seat: int, weights: Floats, values: Floats) -> bool:
    """Let the seat take the best actions at a position, given what the positions after it are worth.

    Returns:
        Whether its choices changed: only for a gain beyond rounding.
    """
    order = match.order[number]
    if seat not in order:
        return False
    tree, place = match.tree[number], order.index(seat)
    leaf = tree.outcomes @ reveal_worth(match, number, seat, values)
    own = tree.own_edges(place)
    gain = 0.0
    for states in tree.own_levels[place]:
        worth, _ = action_values(tree, weights, own, leaf)
        gain += take_best(states, tree.state_edge, worth, weights)
    return gain > 0


def action_values(
    tree: Tree, weights: Floats, own: npt.NDArray[np.bool_], leaf: Floats
) -> tuple[Floats, float]:
    """What each edge is worth to a seat, times how likely the others let it come, and what the round is.

    Args:
        tree: the round.
        weights: the strategy of all seats, with chance's edges.
        own: the seat's edges.
        leaf: what each outcome is worth to the seat.
    """
    reach, value = np.empty(len(tree.parent)), np.empty(len(tree.parent))
    worth = np.zeros(len(weights))
    _action_values(
        tree.parent, tree.edge, tree.outcome, weights, own, tree.deal_chance, leaf, reach, value, worth
    )  # fmt: skip
    return worth, float(tree.deal_chance @ value[tree.deals])


@entry
def take_best(states: Any, state_edge: Any, worth: Any, weights: Any) -> float:
    """In each state take the best action, where it is better than what is done; how much is gained."""
    gain = 0.0
    for state in states:
        first, stop = state_edge[state], state_edge[state + 1]
        best, now = first, 0.0
        for edge in range(first, stop):
            now += worth[edge] * weights[edge]
            if worth[edge] > worth[best]:
                best = edge
        if worth[best] - now > _TINY:
            gain += worth[best] - now
            weights[first:stop] = 0.0
            weights[best] = 1.0
    return gain


def reveal_worth(match: Match, number: int, seat: int, values: Floats) -> Floats:
    """What each kind of reveal is worth to a seat."""
    return np.array(
        [
            sum(
                step.chance * (step.shares[seat] if step.then == END else values[step.then])
                for step in steps
            )
            for steps in match.steps[number]
        ]
    )


def nash_conv(match: Match, strategy: Strategy) -> float:
    """What all seats together could gain by playing best alone, averaged over first dealers."""
    now = Chain(match, strategy).values()
    starts = match.starts("all")
    gains = (
        _averaged(best_response(match, strategy, seat).win_share - now[:, seat], starts)
        for seat in range(match.rules.seats)
    )
    return float(sum(gains))


# ---------------------------------------------------------------------------------------------------
# Answers


def evaluate(
    rules: Rules,
    agents: Sequence[Agent],
    *,
    first_dealer: int | str | None = None,
    best_responses: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Exact:
    """Exact win shares and payoffs of a profile, and what each seat could gain.

    Args:
        rules: the rules of the match.
        agents: one a seat.
        first_dealer: a seat; ``all`` averages over all; None goes by the rules.
        best_responses: whether to find what each seat could win alone.
        progress: told how much is done, from 0 to 1.

    Raises:
        TooLargeError: when the table is too large to be solved.
        ValueError: for a number of agents or a first dealer that does not fit the rules.
    """
    _check(rules, agents, first_dealer)
    tell = progress or (lambda _: None)
    match = Match(rules)
    tell(0.2)
    strategy = strategy_of(match, agents)
    values = Chain(match, strategy).values()
    tell(0.5)
    starts = match.starts(first_dealer)
    now = _averaged(values, starts)
    best = None
    if best_responses:
        best = np.zeros(rules.seats)
        for seat in range(rules.seats):
            best[seat] = _averaged(best_response(match, strategy, seat).win_share, starts)
            tell(0.5 + 0.5 * (seat + 1) / rules.seats)
    return Exact(
        agents=tuple(agent.name for agent in agents),
        first_dealer=str(rules.first_dealer if first_dealer is None else first_dealer),
        win_share=now[: rules.seats],
        payoff=now[rules.seats : -1] if match.counts_stakes else None,
        truncated=float(now[-1]),
        best_response=best,
    )


@dataclass(frozen=True, kw_only=True)
class Headroom:
    """How much of what can be learned in a seat was learned, from exact win shares.

    Attributes:
        learned: what the learned policy wins in the seat.
        copied: what the simple agent it is compared with wins there.
        best: what the best response to the other seats wins there.
    """

    learned: float
    copied: float
    best: float

    @property
    def captured(self) -> float:
        """The part of the way from the simple agent to the best response; NaN where there is no way to go."""
        if self.best <= self.copied:
            return math.nan
        return (self.learned - self.copied) / (self.best - self.copied)


class Scale:
    """How far there is to go in one seat of a line-up, found once; then agents are measured on it.

    Attributes:
        copied: what the simple agent wins in the seat.
        best: what the best response to the other seats wins there.
    """

    def __init__(
        self,
        match: Match,
        copied: Sequence[Agent],
        seat: int,
        *,
        first_dealer: int | str | None = None,
    ) -> None:
        """Find both ends of the scale.

        Args:
            match: the match.
            copied: one agent a seat, with the simple agent in the seat.
            seat: the seat.
            first_dealer: as in :func:`evaluate`.

        Raises:
            ValueError: as :func:`evaluate`.
        """
        _check(match.rules, copied, first_dealer)
        self._match, self._seat = match, seat
        self._starts = match.starts(first_dealer)
        strategy = strategy_of(match, copied)
        self.copied = self._share(Chain(match, strategy).values()[:, seat])
        self.best = self._share(best_response(match, strategy, seat).win_share)

    def measure(self, learned: Sequence[Agent]) -> Headroom:
        """Where on the scale an agent is.

        Args:
            learned: one agent a seat, the other seats as in the line-up of the scale.
        """
        _check(self._match.rules, learned, None)
        values = Chain(self._match, strategy_of(self._match, learned)).values()
        won = self._share(values[:, self._seat])
        return Headroom(learned=won, copied=self.copied, best=self.best)

    def _share(self, values: Floats) -> float:
        return float(_averaged(values, self._starts))


def headroom(
    rules: Rules,
    learned: Sequence[Agent],
    copied: Sequence[Agent],
    seat: int,
    *,
    first_dealer: int | str | None = None,
) -> Headroom:
    """Measure one seat of a line-up against a simple agent there and against the best response.

    Args:
        rules: the rules of the match.
        learned: one agent a seat.
        copied: the same, with the simple agent in the seat.
        seat: the seat.
        first_dealer: as in :func:`evaluate`.

    Raises:
        ValueError: as :func:`evaluate`.
    """
    for agents in (learned, copied):
        _check(rules, agents, first_dealer)
    return Scale(Match(rules), copied, seat, first_dealer=first_dealer).measure(learned)


def _averaged(values: Floats, starts: list[tuple[float, int]]) -> Any:
    return sum(chance * values[number] for chance, number in starts)


def _check(rules: Rules, agents: Sequence[Agent], first_dealer: int | str | None) -> None:
    if len(agents) != rules.seats:
        raise ValueError(f"agents: {len(agents)} is refused; accepted: {rules.seats}, one a seat")
    if first_dealer not in (None, "all", *range(rules.seats)):
        accepted = f"a seat from 0 to {rules.seats - 1}, or all"
        raise ValueError(f"first_dealer: {first_dealer} is refused; accepted: {accepted}")
