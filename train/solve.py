"""Equilibria by counterfactual regret minimisation, position by position from the end of the match.

One strategy is learned for all seats: rotating a table does not change the game, so positions are solved
once, with the dealer in the last seat. In each position the round's tree is swept again and again with
predictive CFR+ (Farina, Kroer, Sandholm, "Faster game solving via predictive Blackwell approachability",
AAAI 2021): alternating seats, regrets cut off at zero, the last regret as the prediction of the next, and
averages weighted by the square of the iteration. What a reveal is worth comes from the positions after it,
already solved; where positions recur, from the average strategy of the iterations so far.

With two seats the game is zero-sum and what is found is its solution. With three and more there is no such
guarantee: what is claimed is the NashConv that is measured, exactly, at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.agents.table import TableAgent
from cuckoo_env.compiled import NOTHING, available_cores, entry, helper
from cuckoo_env.evaluate.exact import Chain, Strategy, action_values, best_response, take_best
from cuckoo_env.evaluate.match import END, Match, Position, strongly_connected
from cuckoo_env.evaluate.respond import table_of
from cuckoo_env.evaluate.tree import Tree
from cuckoo_env.rules import Rules

Floats = npt.NDArray[np.float64]

_BATCH: Final = 32
"""Iterations between two looks at the gap of a position."""
_FIRST_TARGET: Final = 1e-3
_NEXT_TARGET: Final = 0.25
"""Each pass over the match asks for this part of the gap of the last."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """An equilibrium strategy and how good it is.

    Attributes:
        match: the match that was solved.
        strategy: weights of the edges for every position of the match.
        nash_conv: what all seats together could gain, in win share, from the rules' first dealer: exact.
        win_share: (seats,) win shares from that first dealer.
        iterations: sweeps over positions' trees.
        seconds: how long it took.
    """

    match: Match
    strategy: Strategy
    nash_conv: float
    win_share: Floats
    iterations: int
    seconds: float


@entry
def _sweep(
    parent: Any, edge: Any, outcome: Any, state_edge: Any, state_place: Any, edge_place: Any, chance: Any,
    leaf: Any, weights: Any, regret: Any, total: Any, own_reach: Any, reach: Any, value: Any, worth: Any,
    first: int, sweeps: int, nested: bool, state: Any,
) -> None:  # fmt: skip
    """Sweeps of predictive CFR+ over one round's tree, seat by seat.

    ``leaf`` is what each outcome is worth to each place; ``weights`` the current strategy, ``total`` the
    sum for the average one.
    """
    nodes = parent.shape[0]
    for t in range(first, first + sweeps):
        importance = float(t) * float(t)
        for place in range(leaf.shape[0]):
            deal = 0
            for node in range(nodes):
                value[node] = 0.0
                if parent[node] == NOTHING:
                    reach[node] = chance[deal]
                    deal += 1
                elif edge_place[edge[node]] == place:
                    reach[node] = reach[parent[node]]
                else:
                    reach[node] = reach[parent[node]] * weights[edge[node]]
            worth[:] = 0.0
            for node in range(nodes - 1, -1, -1):
                if outcome[node] != NOTHING:
                    value[node] = leaf[place, outcome[node]]
                if parent[node] != NOTHING:
                    if edge_place[edge[node]] == place:
                        worth[edge[node]] += reach[node] * value[node]
                    value[parent[node]] += weights[edge[node]] * value[node]
            if nested:
                _own_reach(parent, edge, state, edge_place, weights, place, reach, own_reach)
            for s in range(state_place.shape[0]):
                if state_place[s] != place:
                    continue
                start, stop = state_edge[s], state_edge[s + 1]
                now = 0.0
                for e in range(start, stop):
                    now += weights[e] * worth[e]
                positive = 0.0
                for e in range(start, stop):
                    gain = worth[e] - now
                    regret[e] = max(regret[e] + gain, 0.0)
                    total[e] += importance * own_reach[s] * weights[e]
                    weights[e] = max(regret[e] + gain, 0.0)
                    positive += weights[e]
                for e in range(start, stop):
                    weights[e] = weights[e] / positive if positive > 0.0 else 1.0 / (stop - start)


@helper
def _own_reach(
    parent: Any,
    edge: Any,
    state: Any,
    edge_place: Any,
    weights: Any,
    place: int,
    reach: Any,
    out: Any,
) -> None:
    """How likely a seat's own choices let each of its information states come about."""
    for node in range(parent.shape[0]):
        if parent[node] == NOTHING:
            reach[node] = 1.0
        elif edge_place[edge[node]] == place:
            reach[node] = reach[parent[node]] * weights[edge[node]]
        else:
            reach[node] = reach[parent[node]]
        if state[node] != NOTHING:
            out[state[node]] = reach[node]


class _Round:
    """The round that is played from one position, while its strategy is learned."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        edges, chance = tree.n_edges, tree.chance
        counts = np.diff(tree.state_edge)
        self.weights = np.concatenate([(1.0 / counts)[tree.edge_state], chance])
        self.regret, self.total = np.zeros(edges), np.zeros(edges)
        self.edge_place = np.full(edges + len(chance), NOTHING, np.int8)
        self.edge_place[:edges] = tree.state_place[tree.edge_state]
        self.nested = any(len(levels) > 1 for levels in tree.own_levels)
        self.sweeps = 0
        self.gap = np.inf

    def sweep(self, leaf: Floats, sweeps: int) -> None:
        """Learn from more sweeps; ``leaf`` is (places, outcomes), what each outcome is worth."""
        tree, nodes = self.tree, len(self.tree.parent)
        _sweep(
            tree.parent, tree.edge, tree.outcome, tree.state_edge, tree.state_place, self.edge_place,
            tree.deal_chance, leaf, self.weights, self.regret, self.total, np.ones(tree.n_states),
            np.empty(nodes), np.empty(nodes), np.empty(len(self.weights)), self.sweeps + 1, sweeps,
            self.nested, tree.state,
        )  # fmt: skip
        self.sweeps += sweeps

    def average(self) -> Floats:
        """The average strategy so far, with chance's edges."""
        tree = self.tree
        sums = np.add.reduceat(self.total, tree.state_edge[:-1])[tree.edge_state]
        counts = np.diff(tree.state_edge)[tree.edge_state]
        mixed = np.divide(self.total, sums, out=1.0 / counts, where=sums > 0)
        return np.concatenate([mixed, tree.chance])

    def assess(self, leaf: Floats) -> Floats:
        """What the average strategy is worth to each place; also notes what all could gain at most."""
        values, self.gap = round_values(self.tree, self.average(), leaf)
        return values


def round_values(tree: Tree, weights: Floats, leaf: Floats) -> tuple[Floats, float]:
    """What a round is worth to each place under a strategy, and the sum of what each could gain alone."""
    values, gap = np.zeros(tree.places), 0.0
    for place in range(tree.places):
        own, levels, best = tree.own_edges(place), tree.own_levels[place], weights.copy()
        gain = 0.0
        for depth, states in enumerate(levels):
            worth, value = action_values(tree, best, own, leaf[place])
            if depth == 0:
                values[place] = value
            gain = take_best(states, tree.state_edge, worth, best)
        if len(levels) > 1:
            gain = action_values(tree, best, own, leaf[place])[1] - values[place]
        gap += gain
    return values, gap


class Solver:
    """The equilibrium of a match, while it is learned."""

    def __init__(self, match: Match) -> None:
        self._match = match
        seats = match.rules.seats
        self._rounds = {
            number: _Round(match.tree[number])
            for number, position in enumerate(match.positions)
            if position.dealer == seats - 1
        }
        self._values = np.zeros((len(match.positions), seats))
        self._links = {number: self._links_from(number) for number in self._rounds}
        self._levels = self._in_levels()

    def _turned(self, position: Position) -> int:
        """The same position with the table turned so that the last seat deals."""
        shift = position.dealer + 1
        lives = position.lives[shift:] + position.lives[:shift]
        return self._match.number[position._replace(lives=lives, dealer=len(lives) - 1)]

    def _links_from(self, number: int) -> tuple[Floats, list[tuple[int, float, int, int]]]:
        """What each kind of reveal pays at once, (reveals, seats), and where else it leads."""
        steps_of, positions = self._match.steps[number], self._match.positions
        paid = np.zeros((len(steps_of), self._match.rules.seats))
        links = []
        for kind, steps in enumerate(steps_of):
            for step in steps:
                if step.then == END:
                    paid[kind] += step.chance * step.shares
                else:
                    then = positions[step.then]
                    links.append((kind, step.chance, self._turned(then), then.dealer + 1))
        return paid, links

    def _in_levels(self) -> list[list[list[int]]]:
        """Positions that recur together, in groups that need only what stands in earlier groups."""
        numbers = list(self._rounds)
        row = {number: k for k, number in enumerate(numbers)}
        after = [sorted({row[then] for _, _, then, _ in self._links[n][1]}) for n in numbers]
        level = [0] * len(numbers)
        levels: list[list[list[int]]] = []
        for component in strongly_connected(after):
            following = {then for k in component for then in after[k]} - set(component)
            depth = 1 + max((level[then] for then in following), default=-1)
            for k in component:
                level[k] = depth
            levels += [[] for _ in range(depth + 1 - len(levels))]
            levels[depth].append([numbers[k] for k in component])
        return levels

    def _leaf(self, number: int) -> Floats:
        """What every outcome of a position's round is worth to each place: (places, outcomes)."""
        paid, links = self._links[number]
        worth = paid.copy()
        for kind, chance, then, shift in links:
            worth[kind] += chance * np.roll(self._values[then], shift)
        order = list(self._match.order[number])
        return np.ascontiguousarray((self._match.tree[number].outcomes @ worth[:, order]).T)

    @property
    def sweeps(self) -> int:
        """Sweeps over trees so far."""
        return sum(each.sweeps for each in self._rounds.values())

    def improve(self, target: float, deadline: float) -> None:
        """Sweep until no position's round could be played better by more than the target."""
        with ThreadPoolExecutor(available_cores()) as pool:
            for level in self._levels:
                list(pool.map(lambda each: self._settle(each, target, deadline), level))

    def _settle(self, component: list[int], target: float, deadline: float) -> None:
        recurs = any(then in component for n in component for _, _, then, _ in self._links[n][1])
        while True:
            for number in component:
                each, leaf = self._rounds[number], self._leaf(number)
                each.sweep(leaf, _BATCH)
                self._note(number, each.assess(leaf))
            if recurs:
                self._let_recur(component)
            worst = max(self._rounds[number].gap for number in component)
            if worst <= target or time.monotonic() > deadline:
                return

    def _let_recur(self, component: list[int]) -> None:
        """Values of positions that lead to each other, under the average strategy: a fixed point."""
        change = 1.0
        while change > 1e-15:
            change = 0.0
            for number in component:
                before = self._values[number].copy()
                self._note(number, self._rounds[number].assess(self._leaf(number)))
                change = max(change, float(np.abs(self._values[number] - before).max()))

    def _note(self, number: int, by_place: Floats) -> None:
        self._values[number, list(self._match.order[number])] = by_place

    def strategy(self) -> Strategy:
        """The average strategy for every position of the match."""
        average = {number: each.average() for number, each in self._rounds.items()}
        return [average[self._turned(position)] for position in self._match.positions]

    def solution(self, started: float) -> Solution:
        """What has been learned, measured for every seat."""
        match, strategy = self._match, self.strategy()
        values, starts = Chain(match, strategy).values(), match.starts()
        now = sum(chance * values[number, : match.rules.seats] for chance, number in starts)
        best = [best_response(match, strategy, seat).win_share for seat in range(match.rules.seats)]
        could = [sum(chance * each[number] for chance, number in starts) for each in best]
        return Solution(
            match=match,
            strategy=strategy,
            nash_conv=float((np.array(could) - now).sum()),
            win_share=np.asarray(now),
            iterations=self.sweeps,
            seconds=time.monotonic() - started,
        )

    def nash_conv(self) -> float:
        """What all seats could gain, exactly; by rotation, what seat 0 could gain under every dealer."""
        match, strategy = self._match, self.strategy()
        now = Chain(match, strategy).values()[:, 0]
        best = best_response(match, strategy, 0).win_share
        return float(sum((best - now)[number] for _, number in match.starts("all")))


def solve(
    rules: Rules,
    *,
    target: float = 1e-5,
    seconds: float = 600.0,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Learn an equilibrium.

    Args:
        rules: the rules of the match.
        target: stop when NashConv is at most this.
        seconds: stop after about so long, whatever has been reached.
        progress: told the NashConv each time it has been measured.

    Raises:
        TooLargeError: when the table is too large to be solved.
    """
    started = time.monotonic()
    solver = Solver(Match(rules))
    gap, reached = _FIRST_TARGET, np.inf
    while reached > target and time.monotonic() < started + seconds:
        solver.improve(gap, started + seconds)
        reached = solver.nash_conv()
        gap *= _NEXT_TARGET
        if progress:
            progress(reached)
    return solver.solution(started)


def as_table(solution: Solution, name: str, about: dict[str, Any] | None = None) -> TableAgent:
    """The solution as an agent: a table of all that a seat can see."""
    measured = {
        "nash_conv": solution.nash_conv,
        "win_share": solution.win_share.tolist(),
        "iterations": solution.iterations,
        "seconds": round(solution.seconds, 1),
    }
    return table_of(solution.match, solution.strategy, name, {**measured, **(about or {})})
