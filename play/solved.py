"""What every decision at a small table is worth, exactly: the best response of one seat, ready to be asked.

Against fixed opponents a round is a decision problem of one seat. Its *lines* are what the seat itself may
have done so far: line 0 is nothing, and every action in every one of its information states is a line. One
walk down a round's tree gives the chance of every kind of reveal at the end of every line, as far as
chance and the other seats decide it. All else is arithmetic on that small table: the values of actions, the
best ones, and what they lead to. The seat has perfect recall within a round, so each of its states lies
behind one line (the sequence form of von Stengel, "Efficient computation of behavior strategies",
1996). Rounds that the others play alike share their walk, which makes this much faster than
:func:`cuckoo_env.evaluate.exact.best_response`, with the same values.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.agents import Agent
from cuckoo_env.agents.table import observation_keys
from cuckoo_env.compiled import NOTHING, available_cores, entry
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.evaluate.exact import Strategy, reveal_worth, strategy_of
from cuckoo_env.evaluate.match import END, Match, estimated_nodes
from cuckoo_env.evaluate.tree import Tree
from cuckoo_env.game import Game
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Refusal, Rules

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TINY: Final = 1e-14
"""A gain below this is rounding."""
_MOST_POSITIONS: Final = 5_000
_MOST_GROWN: Final = 2e7
"""Nodes of all the different trees of a match together."""
_QUICKLY_GROWN: Final = 6e6
"""As many of them are grown within a few seconds."""
_MOST_WALKED: Final = 2e9
"""Nodes that are walked over if no two rounds are played alike."""
_BYTES_A_POSITION: Final = 500
_BYTES_A_STEP: Final = 600
"""What a match keeps for each beside arrays of some size: measured, with what is lost between objects."""


def is_small(rules: Rules) -> bool:
    """Whether all decisions under these rules can be solved: mostly, at up to four seats."""
    rounds, seats = rules.max_rounds or 1, min(rules.seats, 10)
    positions = (rules.lives + 1) ** seats * seats * rounds
    walked = rules.lives**seats * seats * rounds * estimated_nodes(rules, rules.seats)
    return positions <= _MOST_POSITIONS and _grown(rules) <= _MOST_GROWN and walked <= _MOST_WALKED


def is_quick(rules: Rules) -> bool:
    """Whether that takes so few seconds that a person can wait for it."""
    return is_small(rules) and _grown(rules) <= _QUICKLY_GROWN


def _grown(rules: Rules) -> float:
    """About how many nodes all the different trees of a match have together."""
    # Where tokens are paid to refuse, a round depends on the lives and has a tree for each.
    trees = rules.lives ** min(rules.seats, 10) if rules.refusal is Refusal.FEE else 1
    return trees * estimated_nodes(rules, rules.seats)


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What the legal actions of one decision are worth.

    Attributes:
        shares: win share by action.
        errors: its standard error by action; zero where it is exact.
        gap_errors: by action the standard error of the difference between it and the best one.
        lives: by action the lives that each seat loses on average from here to the end of the round.
    """

    shares: dict[str, float]
    errors: dict[str, float]
    gap_errors: dict[str, float]
    lives: dict[str, tuple[float, ...]]


# ---------------------------------------------------------------------------------------------------
# One round


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lines:
    """What one place decides in a round.

    Attributes:
        of_edge: (edges, chance's included) the line that an edge of its own begins; 0 for the others'.
        states: its information states.
        options: (states, most actions) the lines that start at each; the last is repeated to fill a row.
        behind: for each of them the line on which it lies.
        levels: which of them come last, which before, and so on.
    """

    of_edge: Ints
    states: Ints
    options: Ints
    behind: Ints
    levels: tuple[Ints, ...]

    @property
    def count(self) -> int:
        """Lines, with line 0."""
        return int(self.of_edge.max(initial=0)) + 1


def _lines(tree: Tree, place: int | None) -> _Lines:
    """What a place decides; where the seat is out, the place is None and decides nothing."""
    decides = tree.state_place == (NOTHING if place is None else place)
    own, states = np.flatnonzero(decides[tree.edge_state]), np.flatnonzero(decides)
    of_edge = np.zeros(tree.n_edges + len(tree.chance), np.int64)
    of_edge[own] = np.arange(1, len(own) + 1)
    first, last = of_edge[tree.state_edge[states]], of_edge[tree.state_edge[states + 1] - 1]
    options = first[:, None] + np.arange((last - first).max(initial=0) + 1)
    levels = [] if place is None else tree.own_levels[place]
    return _Lines(
        of_edge=of_edge,
        states=states,
        options=np.minimum(options, last[:, None]),
        behind=np.array(
            [_line_to(tree, of_edge, int(tree.state_node[s])) for s in states], np.int64
        ),
        levels=tuple(np.searchsorted(states, level) for level in levels),
    )


def _line_to(tree: Tree, of_edge: Ints, node: int) -> int:
    """The last line that the way to a node takes."""
    while tree.parent[node] != NOTHING:
        line = int(of_edge[tree.edge[node]])
        if line:
            return line
        node = int(tree.parent[node])
    return 0


@entry
def _walk(
    parent: Any, edge: Any, outcome: Any, weights: Any, of_edge: Any, chance: Any, reach: Any, line: Any,
    out: Any,
) -> None:  # fmt: skip
    """The chance of every outcome at the end of every line, as far as the others and chance decide it."""
    deal = 0
    for node in range(parent.shape[0]):
        if parent[node] == NOTHING:
            reach[node], line[node] = chance[deal], 0
            deal += 1
        else:
            here = of_edge[edge[node]]
            above = parent[node]
            if here > 0:
                reach[node], line[node] = reach[above], here
            else:
                reach[node], line[node] = reach[above] * weights[edge[node]], line[above]
        if outcome[node] != NOTHING:
            out[line[node], outcome[node]] += reach[node]


class _Round:
    """A round against fixed opponents, as the decision problem of one place.

    Attributes:
        lines: what the place decides.
        chances: (lines, reveals) the chance of every kind of reveal at the end of each line.
        reach: (states,) how likely chance and the others let each state of the place come.
    """

    def __init__(self, tree: Tree, lines: _Lines, weights: Floats) -> None:
        """Walk the tree."""
        self.lines = lines
        nodes = len(tree.parent)
        out = np.zeros((self.lines.count, len(tree.outcomes)))
        _walk(
            tree.parent, tree.edge, tree.outcome, weights, self.lines.of_edge, tree.deal_chance,
            np.empty(nodes), np.empty(nodes, np.int64), out,
        )  # fmt: skip
        self.chances: Floats = out @ tree.outcomes
        first = self.lines.options[:, 0]
        self.reach: Floats = self._folded(self.chances.sum(axis=1), first)[first]

    def _folded(self, ends: Floats, chosen: Ints) -> Floats:
        """What each line comes to, (lines, …), if the chosen line is taken in every state.

        Args:
            ends: (lines, …) what each comes to where nothing more is chosen on it.
            chosen: (states,) lines.
        """
        comes_to = ends.copy()
        for level in self.lines.levels:
            np.add.at(comes_to, self.lines.behind[level], comes_to[chosen[level]])
        return comes_to

    def best(self, worth: Floats) -> tuple[Floats, Ints]:
        """What each line is worth, (lines,), and the best line in each state, (states,).

        Args:
            worth: (reveals,) what each kind of reveal is worth.
        """
        lines, values = self.lines, self.chances @ worth
        chosen = lines.options[:, 0].copy()
        for level in lines.levels:
            options = lines.options[level]
            chosen[level] = options[np.arange(len(level)), values[options].argmax(axis=1)]
            np.add.at(values, lines.behind[level], values[chosen[level]])
        return values, chosen

    def reveals(self, chosen: Ints) -> Floats:
        """The chance of every kind of reveal on each line, the chosen lines after it: (lines, reveals)."""
        chances: Floats = self._folded(self.chances, chosen)
        return chances


# ---------------------------------------------------------------------------------------------------
# The match


class _Listener:
    """Sits in the seat that is to be advised, and notes the keys of all that it is asked about."""

    def __init__(self, rules: Rules) -> None:
        self.name = "listener"
        self.keys: list[npt.NDArray[np.uint64]] = []
        self._rules = rules

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> Floats:
        self.keys.append(observation_keys(self._rules, observations, layout))
        chances: Floats = masks / masks.sum(axis=1, keepdims=True)
        return chances

    def player(self) -> None:
        """Nothing: it must be asked."""


class Solved:
    """All decisions of one seat against fixed opponents, with what each action is worth.

    Attributes:
        match: the match.
        seat: whose decisions.
        win_share: (positions,) what the seat wins from each, playing best.

    Example:
        >>> from cuckoo_env.agents import lineup
        >>> rules = Rules.parse("practice-table")
        >>> solved = Solved(Match(rules), lineup("robin,robin,alex", rules), 0)
        >>> ((_, start),) = solved.match.starts()
        >>> print(f"{solved.win_share[start]:.4f}")
        0.3660
    """

    def __init__(self, match: Match, agents: Sequence[Agent], seat: int) -> None:
        """Solve the match.

        Args:
            match: the match.
            agents: one a seat; the one in ``seat`` is not asked.
            seat: the seat that plays best.
        """
        self.match, self.seat = match, seat
        listener = _Listener(match.rules)
        seated = [listener if each == seat else agent for each, agent in enumerate(agents)]
        strategy = strategy_of(match, seated)
        self._rounds = _rounds(match, strategy, seat)
        self._keys, self._where = self._index(listener.keys)
        self.win_share = self._solve()

    @functools.cached_property
    def nbytes(self) -> int:
        """About how much memory it keeps, with its match and trees, though others may share them."""
        match, lines = self.match, [each.lines for each in self._rounds]
        parts = {id(each): each for each in (self, *self._rounds, *lines, *match.tree)}
        arrays = sum(
            value.nbytes
            for part in parts.values()
            for value in vars(part).values()
            if isinstance(value, np.ndarray)
        )
        steps = sum(len(each) for kinds in match.steps for each in kinds)
        return arrays + len(match.positions) * _BYTES_A_POSITION + steps * _BYTES_A_STEP

    def _index(
        self, keys: list[npt.NDArray[np.uint64]]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
        """All keys, ascending, and for each the position and the seat's state there."""
        deciding = [number for number, order in enumerate(self.match.order) if self.seat in order]
        where = np.concatenate(
            [
                np.stack([np.full(len(each), number), np.arange(len(each))], axis=1)
                for number, each in zip(deciding, keys, strict=True)
            ]
        )
        joined = np.concatenate(keys)
        order = joined.argsort()
        return joined[order], where[order].astype(np.int32)

    def _solve(self) -> Floats:
        values = np.zeros(len(self.match.positions))
        for component in self.match.components:
            if len(component) == 1 and not self._recurs(component[0]):
                values[component[0]] = self._best(component[0], values)[0]
            else:
                self._iterate(component, values)
        return values

    def _recurs(self, number: int) -> bool:
        return any(step.then == number for steps in self.match.steps[number] for step in steps)

    def _best(self, number: int, values: Floats) -> tuple[float, Ints]:
        """What a position is worth, and the best lines there, given what the positions after it are worth."""
        worth = reveal_worth(self.match, number, self.seat, values)
        lines, chosen = self._rounds[number].best(worth)
        return float(lines[0]), chosen

    def _iterate(self, component: Sequence[int], values: Floats) -> None:
        """Policy iteration (Howard 1960) over positions that can recur together."""
        chosen = {number: self._best(number, values)[1] for number in component}
        while True:
            self._evaluate(component, chosen, values)
            found = {number: self._best(number, values) for number in component}
            better = [n for n, (value, _) in found.items() if value > values[n] + _TINY]
            if not better:
                return
            chosen.update({number: found[number][1] for number in better})

    def _evaluate(self, component: Sequence[int], chosen: dict[int, Ints], values: Floats) -> None:
        """Fill in what the component's positions are worth with these choices."""
        at = {number: row for row, number in enumerate(component)}
        inside, known = np.eye(len(at)), np.zeros(len(at))
        for number, row in at.items():
            chances = self._rounds[number].reveals(chosen[number])[0]
            for chance, steps in zip(chances, self.match.steps[number], strict=True):
                for step in steps:
                    if step.then in at:
                        inside[row, at[step.then]] -= chance * step.chance
                    else:
                        later = step.shares[self.seat] if step.then == END else values[step.then]
                        known[row] += chance * step.chance * later
        values[list(component)] = np.linalg.solve(inside, known)

    def find(self, game: Game) -> tuple[int, int] | None:
        """The position and the state of the decision that the seat faces; None for one that cannot arise."""
        if max(game.lives) > self.match.rules.lives:
            return None  # an observation does not tell lives beyond those of the start apart
        observation, _ = game.observe(self.seat, self.match.layout)
        (key,) = observation_keys(self.match.rules, observation[None], self.match.layout)
        at = int(np.searchsorted(self._keys, key))
        if at == len(self._keys) or self._keys[at] != key:
            return None
        number, state = self._where[at].tolist()
        return None if self._rounds[number].reach[state] <= 0 else (number, state)

    def worth(self, number: int, state: int, lives: Sequence[int] | None = None) -> Worth:
        """What the actions are worth where the seat is to decide, the seat playing best afterwards.

        Args:
            number: the position.
            state: which of the seat's states in the round from there, as :meth:`find` says.
            lives: what the seats hold at the decision; by default as at the deal, no token paid since.
        """
        match, here = self.match, self._rounds[number]
        tree, order = match.tree[number], match.order[number]
        values, chosen = here.best(reveal_worth(match, number, self.seat, self.win_share))
        lost = here.reveals(chosen) @ self._losses(number)
        own = here.lines.states[state]
        edges = np.arange(tree.state_edge[own], tree.state_edge[own + 1])
        reach, lines = here.reach[state], here.lines.of_edge[edges]
        names = [ACTION_NAMES[action] for action in tree.edge_action[edges]]
        by_seat = np.zeros((len(lines), match.rules.seats))
        by_seat[:, list(order)] = lost[lines] / reach
        if lives is not None:
            by_seat -= np.array(match.positions[number].lives) - lives
        return Worth(
            shares=dict(zip(names, (values[lines] / reach).tolist(), strict=True)),
            errors=dict.fromkeys(names, 0.0),
            gap_errors=dict.fromkeys(names, 0.0),
            lives={name: tuple(row.tolist()) for name, row in zip(names, by_seat, strict=True)},
        )

    def _losses(self, number: int) -> Floats:
        """(reveals, places) the lives that each kind of reveal costs in the end, paid tokens included."""
        match, tree, order = self.match, self.match.tree[number], list(self.match.order[number])
        before = np.array(match.positions[number].lives)[order]
        at_the_end = np.minimum(tree.reveal_losses + tree.reveal_fees, before)
        lost = np.zeros(at_the_end.shape)
        for kind, steps in enumerate(match.steps[number]):
            for step in steps:
                if step.then == END:
                    lost[kind] += step.chance * at_the_end[kind]
                else:
                    after = np.array(match.positions[step.then].lives)[order]
                    lost[kind] += step.chance * np.maximum(before - after, 0)
        return lost


def _rounds(match: Match, strategy: Strategy, seat: int) -> list[_Round]:
    """The round from each position; those that the others play alike are walked once."""
    lines: dict[Any, _Lines] = {}
    different: dict[Any, tuple[Tree, _Lines, Floats]] = {}
    keys = []
    for number, weights in enumerate(strategy):
        tree, order = match.tree[number], match.order[number]
        place = order.index(seat) if seat in order else None
        own = (id(tree), place)
        if own not in lines:
            lines[own] = _lines(tree, place)
        key = (own, hashlib.sha256(weights.tobytes()).digest())
        different.setdefault(key, (tree, lines[own], weights))
        keys.append(key)
    with ThreadPoolExecutor(available_cores()) as pool:
        walked = pool.map(lambda each: _Round(*each), different.values())
        found = dict(zip(different, walked, strict=True))
    return [found[key] for key in keys]
