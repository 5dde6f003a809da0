"""A match as a game of rounds: positions between deals, and where each reveal leads.

A :class:`Position` is what is public between two deals. Every reveal of its round's tree leads to the
next position or ends the match; both are read off the engine, which settles an example of each reveal.
So a match under fixed policies is a Markov chain over positions, with exact transition probabilities.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import N_RANKS, N_SUITS
from cuckoo_env.compiled import entry
from cuckoo_env.engine import (
    N_ACTIONS,
    NOBODY,
    RUNNING,
    apply,
    compile_rules,
    deal,
    left_of,
    new_games,
    reveal,
)
from cuckoo_env.evaluate.tree import Tree, tree_for
from cuckoo_env.observation import Layout, encode, sections_of, write_mask
from cuckoo_env.rules import FinalTie, Length, Queen, Rules

Floats = npt.NDArray[np.float64]

LARGEST: Final = 40_000_000
"""Nodes of the largest tree that is grown: about four GB while it grows."""
END: Final = -1
"""Where a transition leads that ends the match."""


class Position(NamedTuple):
    """What is public between two deals.

    Attributes:
        lives: by seat; 0 where a seat is out.
        dealer: the seat that deals.
        rounds: rounds played, where ``max_rounds`` makes them count; else 0.
        stakes: stakes each has paid, where they can be counted to an end; else 1.
    """

    lives: tuple[int, ...]
    dealer: int
    rounds: int = 0
    stakes: int = 1


@dataclass(frozen=True, kw_only=True)
class Step:
    """Where one kind of reveal leads from a position.

    Attributes:
        chance: how likely it leads here: below 1 only where a cut decides.
        then: the number of the next position, or END.
        shares: (seats,) the win shares at the end: 1/k for each of k winners; zero while it goes on.
        payoffs: (seats,) the returns at the end; zero while it goes on.
    """

    chance: float
    then: int
    shares: Floats
    payoffs: Floats


class TooLargeError(ValueError):
    """A table that is too large to be solved; the message says how large, and what to do instead."""


def estimated_nodes(rules: Rules, places: int) -> float:
    """About how many nodes the tree of a round has: every deal, every choice of every seat."""
    choices = 2.0 ** (places + 1) - 1
    if rules.has_responses:
        # Where a queen sends the asker on, a second seat may answer.
        choices *= (2.5 if rules.queen is Queen.REDIRECTS else 1.6) ** places
    return float(N_RANKS**places) * choices


def is_solvable(rules: Rules) -> bool:
    """Whether the trees of a match fit into memory."""
    return estimated_nodes(rules, rules.seats) <= LARGEST


class Match:
    """All positions that can arise, their rounds' trees, and where every reveal leads.

    Attributes:
        rules: the rules of the match.
        positions: what can arise from any first dealer; position ``k`` is number ``k``.
        number: the number of each position.
        order: by position the seats still in, in turn order, the dealer last: the places of the tree.
        tree: by position the tree of the round that is played from it.
        steps: by position and kind of reveal, where it leads.
        layout: the layout of the observations that agents are asked with.
        counts_stakes: whether payoffs are exact: not under ``carry_stake`` without a limit of rounds.

    Raises:
        TooLargeError: when the trees would not fit into memory.
    """

    def __init__(self, rules: Rules) -> None:
        if not is_solvable(rules):
            nodes = estimated_nodes(rules, rules.seats)
            raise TooLargeError(
                f"rules: {rules} has about {nodes:.1e} nodes a round, more than the {LARGEST:.1e} that can be"
                " solved; evaluate by sampling (--games), or learn an approximate best response"
            )
        self.rules = rules
        carries = rules.game is Length.MATCH and rules.final_tie is FinalTie.CARRY_STAKE
        self.counts_stakes = not carries or rules.max_rounds is not None
        self._table = compile_rules(rules)
        self.layout = Layout.of(rules)
        self.positions: list[Position] = []
        self.number: dict[Position, int] = {}
        self.order: list[tuple[int, ...]] = []
        self.tree: list[Tree] = []
        self.steps: list[list[list[Step]]] = []
        for dealer in range(rules.seats):
            self._numbered(Position((rules.lives,) * rules.seats, dealer))
        for number, position in enumerate(self.positions):  # grows while it is walked
            self.order.append(self._turn_order(position))
            lives = tuple(position.lives[seat] for seat in self.order[number])
            self.tree.append(tree_for(rules, lives))
            self.steps.append(self._steps_from(number))

    def _numbered(self, position: Position) -> int:
        if position not in self.number:
            self.number[position] = len(self.positions)
            self.positions.append(position)
        return self.number[position]

    def starts(self, first_dealer: int | str | None = None) -> list[tuple[float, int]]:
        """The positions that a match starts from, and how likely each is.

        Args:
            first_dealer: a seat; ``all``; None goes by the rules, where lot and cut favour nobody.
        """
        rules = self.rules
        dealer = rules.first_dealer if first_dealer is None else first_dealer
        dealers = [dealer] if isinstance(dealer, int) else range(rules.seats)
        full = (rules.lives,) * rules.seats
        return [(1 / len(dealers), self.number[Position(full, each)]) for each in dealers]

    def _turn_order(self, position: Position) -> tuple[int, ...]:
        games = self._games_at(position, 1)
        out = np.full(self.rules.seats, NOBODY, np.int64)
        turn_order(games, self._table, out)
        return tuple(out[out != NOBODY].tolist())

    @functools.cached_property
    def components(self) -> list[list[int]]:
        """The positions that can recur together, those that come last first."""
        after = [
            sorted({step.then for steps in kinds for step in steps} - {END}) for kinds in self.steps
        ]
        return strongly_connected(after)

    def _games_at(self, position: Position, games: int, *, recording: bool = False) -> Any:
        seats = self.rules.seats
        made = new_games(games, seats, recording=recording)
        made["rng"] = 1
        made["dealer"] = position.dealer
        made["lives"][:, :seats] = made["before"][:, :seats] = position.lives
        made["staked"][:, :seats] = position.stakes
        made["rounds"] = position.rounds
        return made

    def _steps_from(self, number: int) -> list[list[Step]]:
        position, tree, order = self.positions[number], self.tree[number], list(self.order[number])
        # Which seat wins a cut is equally likely: one settled example for each that may.
        favoured = order if self.rules.final_tie is FinalTie.CUT else [NOBODY]
        kinds = len(tree.reveal_ranks)
        settled = [self._settled(position, tree, order, seat) for seat in favoured]
        return [
            _merged([self._step(games[kind], 1 / len(favoured)) for games in settled])
            for kind in range(kinds)
        ]

    def _settled(self, position: Position, tree: Tree, order: list[int], favoured: int) -> Any:
        """The engine's games after each kind of reveal; a cut goes to the favoured seat."""
        kinds = len(tree.reveal_ranks)
        games = self._games_at(position, kinds, recording=favoured != NOBODY)
        games["card"] = -1
        games["card"][:, order] = (tree.reveal_ranks - 1) * N_SUITS
        games["lives"][:, order] -= tree.reveal_fees.astype(np.int32)
        if favoured != NOBODY:
            strength = self._table["strength"][0][1:]
            worst, best = int(strength.argmin()), int(strength.argmax())
            cards = [best if seat == favoured else worst for seat in sorted(order)]
            games["script"][:, : len(order)] = np.array(cards) * N_SUITS
            games["script_end"] = len(order)
        _reveal_all(games, self._table)
        return games

    def _step(self, game: np.void, chance: float) -> Step:
        seats = self.rules.seats
        won = game["won"][:seats].astype(np.float64)
        if game["result"] != RUNNING:
            shares = won / max(won.sum(), 1.0)
            return Step(
                chance=chance, then=END, shares=shares, payoffs=game["payoff"][:seats].copy()
            )
        then = Position(
            tuple(game["lives"][:seats].tolist()),
            int(game["dealer"]),
            int(game["rounds"]) if self.rules.max_rounds is not None else 0,
            int(game["staked"][0]) if self.counts_stakes else 1,
        )
        nothing = np.zeros(seats)
        return Step(chance=chance, then=self._numbered(then), shares=nothing, payoffs=nothing)

    def observations(
        self, number: int, layout: Layout | None = None
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
        """What the seat to act sees in every information state of the round from a position.

        Returns:
            Observations, (states, layout.size) float32, and action masks, (states, n_actions) int8.
        """
        layout = layout or self.layout
        tree, order = self.tree[number], list(self.order[number])
        ranks, moves = _paths(tree)
        games = self._games_at(self.positions[number], tree.n_states, recording=True)
        # Cards are dealt in ascending order of the seats.
        ascending = np.argsort(order)
        games["script"][:, : len(order)] = (ranks[:, ascending] - 1) * N_SUITS
        games["script_end"] = len(order) + 1
        observations = np.zeros((tree.n_states, layout.size), np.float32)
        masks = np.zeros((tree.n_states, layout.n_actions), np.int8)
        sections = sections_of(layout, (self.rules,))
        _replay_all(games, self._table, moves, layout.offsets, sections, observations, masks)
        return observations, masks


def strongly_connected(after: list[list[int]]) -> list[list[int]]:
    """The strongly connected components of a graph, each before all that lead to it (Tarjan 1972).

    Args:
        after: for each node the nodes that follow it.
    """
    found: dict[int, int] = {}
    low: dict[int, int] = {}
    waiting: list[int] = []
    components: list[list[int]] = []
    closed: set[int] = set()
    for root in range(len(after)):
        path = [(root, iter(after[root]))] if root not in found else []
        while path:
            node, rest = path[-1]
            if node not in found:
                found[node] = low[node] = len(found)
                waiting.append(node)
            for following in rest:
                if following not in found:
                    path.append((following, iter(after[following])))
                    break
                if following not in closed:
                    low[node] = min(low[node], found[following])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == found[node]:
                    at = waiting.index(node)
                    components.append(waiting[at:])
                    closed.update(waiting[at:])
                    del waiting[at:]
    return components


def _merged(steps: list[Step]) -> list[Step]:
    """The steps with those that lead to the same place put together."""
    merged = []
    for then in dict.fromkeys(step.then for step in steps):
        same = [step for step in steps if step.then == then]
        chance = sum(step.chance for step in same)
        shares = np.sum([step.chance * step.shares for step in same], axis=0) / chance
        payoffs = np.sum([step.chance * step.payoffs for step in same], axis=0) / chance
        merged.append(Step(chance=chance, then=then, shares=shares, payoffs=payoffs))
    return merged


@functools.lru_cache(maxsize=64)
def _paths(tree: Tree) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """For each information state a deal, (states, places), and the moves that lead to it, padded by -1."""
    paths = [tree.path_to(int(node)) for node in tree.state_node]
    moves = np.full((len(paths), 1 + max(len(path) for _, path in paths)), -1, np.int8)
    for row, (_, path) in enumerate(paths):
        moves[row, : len(path)] = path
    return np.stack([ranks for ranks, _ in paths]), moves


# ---------------------------------------------------------------------------------------------------
# Kernels


@entry
def turn_order(games: Any, rules: Any, out: Any) -> None:
    """The seats still in, from the dealer's left to the dealer."""
    g, r = games[0], rules[0]
    seat, place = int(g.dealer), 0
    while place == 0 or seat != int(g.dealer):
        seat = left_of(g, r, seat)
        out[place] = seat
        place += 1


@entry
def _reveal_all(games: Any, rules: Any) -> None:
    for i in range(games.shape[0]):
        games[i].n_events = 0
        reveal(games[i], rules[0])


@entry
def _replay_all(
    games: Any, rules: Any, moves: Any, layout: Any, sections: Any, observations: Any, masks: Any
) -> None:
    """Deal each game and play the moves; note what the seat to act then sees."""
    for i in range(games.shape[0]):
        g, r = games[i], rules[0]
        deal(g, r)
        k = 0
        while moves[i, k] >= 0:
            # Beyond the actions stand the ranks that the stock's top may have: see `tree.TOP`.
            if moves[i, k + 1] > N_ACTIONS:
                g.top = (int(moves[i, k + 1]) - N_ACTIONS - 1) * N_SUITS
            if moves[i, k] < N_ACTIONS:
                apply(g, r, int(moves[i, k]))
            k += 1
        encode(g, r, layout[0], sections, int(g.seat), observations, i)
        write_mask(g, r, masks, i)
