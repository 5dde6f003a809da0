"""The tree of one round, grown by driving the engine over every deal of ranks and every legal action.

No rule is written here. A tree is grown with the engine's own moves in a single round (``game=round``), whose
leaves are the reveals; information states are told apart by what the seat to act observes; what a reveal
costs each seat is read off the engine.

A tree is a handful of flat arrays. Parents come before children, so every walk is one loop: the probability
of a node is that of its parent times that of its *edge*. The nodes of an information state share their edges:
``weights[edge]`` is the probability with which its seat takes that action there. Chance after the deal, the
top of the stock, has edges of its own; where nothing is chosen after it, it is averaged at the leaf.

Seats in a tree are *places* in turn order: place 0 is the dealer's left neighbour, the last is the dealer.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import N_RANKS, N_SUITS, PACK
from cuckoo_env.compiled import NOTHING, entry
from cuckoo_env.engine import (
    DREW,
    N_ACTIONS,
    OVER,
    apply,
    begin_play,
    compile_rules,
    legal_actions,
    new_games,
)
from cuckoo_env.observation import Layout, encode, observation_key, sections_of
from cuckoo_env.rules import Direction, FinalTie, Length, Refusal, Rules

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PLENTY: Final = 1000
"""Lives that no penalty exhausts: so a reveal says what each seat would lose if it could."""
TOP: Final = N_ACTIONS
"""The move ``TOP + rank`` is the turn of a card of that rank from the stock."""
_DEALS_AT_ONCE: Final = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """One round from the deal to the reveal.

    Attributes:
        rules: the single round that was played, with one seat a place.
        lives: lives by place, before the round.
        parent: (nodes,) the node above; NOTHING for a deal.
        edge: (nodes,) the edge that leads here: of an information state, or, from ``n_edges`` on, of chance;
            NOTHING for a deal.
        move: (nodes,) int8, the action, or ``TOP + rank``, that leads here.
        state: (nodes,) the information state in which somebody decides here; else NOTHING.
        outcome: (nodes,) the row of ``outcomes`` of a leaf; else NOTHING.
        deals: (deals,) the nodes that are deals.
        deal_ranks: (deals, places) int8, who was dealt what.
        deal_chance: (deals,) the probability of each deal.
        state_place: (states,) int8, who decides.
        state_edge: (states + 1,) the first edge of each state; its edges follow each other.
        state_node: (states,) a node where it is decided, to play to it.
        edge_state: (edges,) whose edge it is.
        edge_action: (edges,) int8, the action it stands for.
        chance: (chance edges,) the probabilities of chance's edges.
        outcomes: (rows, reveals), how likely each kind of reveal is at a leaf.
        reveal_ranks: (reveals, places) int8, an example of what the seats then hold.
        reveal_fees: (reveals, places) tokens paid in refusal.
        reveal_losses: (reveals, places) lives lost.
    """

    rules: Rules
    lives: tuple[int, ...]
    parent: npt.NDArray[np.int32]
    edge: npt.NDArray[np.int32]
    move: npt.NDArray[np.int8]
    state: npt.NDArray[np.int32]
    outcome: npt.NDArray[np.int32]
    deals: Ints
    deal_ranks: npt.NDArray[np.int8]
    deal_chance: Floats
    state_place: npt.NDArray[np.int8]
    state_edge: Ints
    state_node: Ints
    edge_state: npt.NDArray[np.int32]
    edge_action: npt.NDArray[np.int8]
    chance: Floats
    outcomes: Floats
    reveal_ranks: npt.NDArray[np.int8]
    reveal_fees: Ints
    reveal_losses: Ints

    @property
    def places(self) -> int:
        """Seats in the round."""
        return len(self.lives)

    @property
    def n_states(self) -> int:
        """Information states of all seats together."""
        return len(self.state_place)

    @property
    def n_edges(self) -> int:
        """Actions in all information states together."""
        return len(self.edge_state)

    def own_edges(self, place: int) -> npt.NDArray[np.bool_]:
        """Which edges are a place's own: (edges, chance's included)."""
        own = np.zeros(self.n_edges + len(self.chance), np.bool_)
        own[: self.n_edges] = self.state_place[self.edge_state] == place
        return own

    @functools.cached_property
    def own_levels(self) -> list[list[Ints]]:
        """For each place its information states, by how many decisions of its own come before: most first."""
        depth = np.zeros(self.n_states, np.int64)
        for state, node in enumerate(self.state_node.tolist()):
            place, above = self.state_place[state], int(self.parent[node])
            while above != NOTHING:
                there = self.state[above]
                depth[state] += there != NOTHING and self.state_place[there] == place
                above = int(self.parent[above])
        return [
            [
                np.flatnonzero((self.state_place == place) & (depth == level))
                for level in range(int(depth[self.state_place == place].max(initial=0)), -1, -1)
            ]
            for place in range(self.places)
        ]

    def path_to(self, node: int) -> tuple[npt.NDArray[np.int8], list[int]]:
        """The deal (ranks by place) and the moves that lead to a node."""
        moves: list[int] = []
        while self.parent[node] != NOTHING:
            moves.append(int(self.move[node]))
            node = int(self.parent[node])
        return self.deal_ranks[np.searchsorted(self.deals, node)], moves[::-1]


# ---------------------------------------------------------------------------------------------------
# Kernels over many games


@entry
def _deal_all(games: Any, rules: Any) -> None:
    for i in range(games.shape[0]):
        begin_play(games[i], rules[0])


@entry
def _apply_all(games: Any, rules: Any, actions: Any) -> None:
    for i in range(games.shape[0]):
        apply(games[i], rules[0], int(actions[i]))


@entry
def _look_all(
    games: Any, rules: Any, layout: Any, sections: Any, row: Any, legal: Any, keys: Any
) -> None:
    """The legal actions of the seat to act in each game, and a key of what it observes."""
    for i in range(games.shape[0]):
        g, r = games[i], rules[0]
        legal[i] = legal_actions(g, r)
        encode(g, r, layout[0], sections, int(g.seat), row, 0)
        keys[i] = observation_key(row, 0)


# ---------------------------------------------------------------------------------------------------
# Growing


def tree_for(rules: Rules, lives: tuple[int, ...]) -> Tree:
    """The tree of a round in a match, grown once and kept.

    Args:
        rules: the rules of the match.
        lives: the lives of the seats still in, by place. The tree depends on them only where tokens can
            be paid to refuse.
    """
    if rules.refusal is not Refusal.FEE:
        lives = (PLENTY,) * len(lives)
    return _SHELF.tree(round_rules(rules, len(lives)), lives)


class _Shelf:
    """Trees that were grown lately, up to so many nodes together: those not used for longest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._trees: OrderedDict[tuple[Rules, tuple[int, ...]], Tree] = OrderedDict()
        self._lock = threading.Lock()

    def tree(self, rules: Rules, lives: tuple[int, ...]) -> Tree:
        """The tree, from the shelf or grown now."""
        key = (rules, lives)
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)
                return self._trees[key]
        grown = _Grower(rules, lives).grow()
        with self._lock:
            self._trees[key] = grown
            while len(self._trees) > 1 and self.nodes > self._most:
                self._trees.popitem(last=False)
        return grown

    @property
    def nodes(self) -> int:
        """Nodes of all trees on the shelf."""
        return sum(len(tree.parent) for tree in self._trees.values())


_SHELF: Final = _Shelf(most=20_000_000)
"""About 20 bytes a node."""


def round_rules(rules: Rules, places: int) -> Rules:
    """The single round that a match plays with so many seats in, one seat a place."""
    return rules.replace(
        seats=places,
        decks=rules.decks,
        lives=PLENTY,
        direction=Direction.LEFT,
        first_dealer=places - 1,
        final_tie=FinalTie.JOINT,
        stake=1,
        game=Length.ROUND,
        max_rounds=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Level:
    """Nodes that are yet to be looked at: the game at each, and how it is reached.

    ``outcome`` is given where the stock has already been averaged, else NOTHING.
    """

    games: npt.NDArray[np.void]
    stock: Ints  # (nodes, 13): cards of each rank left in the stock
    parent: Ints
    edge: Ints  # chance's edges are numbered downwards from -2 until all edges are known
    move: Ints
    outcome: Ints


def _joined(levels: list[_Level]) -> _Level:
    games = np.concatenate([_bytes_of(each.games) for each in levels]).reshape(-1)
    numbers = {
        name: np.concatenate([getattr(each, name) for each in levels]) for name in _LEVEL_NUMBERS
    }
    return _Level(games=games.view(levels[0].games.dtype), **numbers)


_LEVEL_NUMBERS: Final = tuple(name for name in _Level.__dataclass_fields__ if name != "games")


_NODE_TYPES: Final = {
    "parent": np.int32,
    "edge": np.int32,
    "move": np.int8,
    "state": np.int32,
    "outcome": np.int32,
}


class _Grower:
    """The tree while it grows, level by level, a few thousand deals at a time."""

    def __init__(self, rules: Rules, lives: tuple[int, ...]) -> None:
        self._rules, self._lives, self._places = rules, lives, len(lives)
        self._table = compile_rules(rules)
        layout = Layout.of(rules)
        self._layout, self._sections = layout.offsets, sections_of(layout, (rules,))
        self._row = np.zeros((1, layout.size), np.float32)
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _NODE_TYPES}
        self._n_nodes = 0
        self._state_of: dict[int, int] = {}
        self._states: list[tuple[int, int, int]] = []  # place, first edge, node
        self._edges: list[tuple[int, int]] = []  # state, action
        self._chance_of: dict[float, int] = {}
        self._reveal_codes = np.zeros(0, np.int64)
        self._reveals: list[tuple[Ints, Ints, Ints]] = []  # ranks, fees, losses
        self._outcome_of: dict[bytes, int] = {}
        self._outcomes: list[tuple[Ints, Floats]] = []

    def grow(self) -> Tree:
        ranks, chance = deals(self._places, self._rules.decks)
        nodes = [
            self._grow_deals(ranks[start : start + _DEALS_AT_ONCE])
            for start in range(0, len(ranks), _DEALS_AT_ONCE)
        ]
        return self._finished(ranks, chance, np.concatenate(nodes))

    def _grow_deals(self, ranks: npt.NDArray[np.int8]) -> Ints:
        first = self._n_nodes
        nothing = np.full(len(ranks), NOTHING, np.int64)
        level = _Level(
            games=deal_games(self._rules, self._table, ranks, self._lives),
            stock=stock_counts(ranks, self._rules.decks),
            parent=nothing,
            edge=nothing,
            move=nothing,
            outcome=nothing,
        )
        while len(level.games):
            level = self._grow_level(level)
        return np.arange(first, first + len(ranks))

    def _grow_level(self, level: _Level) -> _Level:
        """Number the nodes of a level; returns their children."""
        nodes = self._n_nodes + np.arange(len(level.games))
        over = level.games["phase"] == OVER
        outcome, plain = level.outcome.copy(), over & (level.outcome == NOTHING)
        outcome[plain] = self._sure_outcomes(self._reveals_of(_taken(level.games, plain)))
        state = np.full(len(nodes), NOTHING, np.int64)
        state[~over], legal = self._states_of(_taken(level.games, ~over), nodes[~over])
        self._add(
            parent=level.parent, edge=level.edge, move=level.move, state=state, outcome=outcome
        )
        children = [
            self._children(
                level, nodes, np.flatnonzero(~over)[legal >> action & 1 == 1], state, action
            )
            for action in range(N_ACTIONS)
        ]
        return _joined(children)

    def _add(self, **arrays: Ints) -> None:
        for name, array in arrays.items():
            self._parts[name].append(array.astype(_NODE_TYPES[name]))
        self._n_nodes += len(arrays["parent"])

    def _children(self, level: _Level, nodes: Ints, rows: Ints, state: Ints, action: int) -> _Level:
        """What one action leads to from the given rows of a level."""
        before = _taken(level.games, rows)
        games = self._applied(before, action)
        edge = self._edges_of(state[rows], action)
        move = np.full(len(rows), action)
        outcome = np.full(len(rows), NOTHING, np.int64)
        turned = _stock_turned(before, games)
        stock, parent = level.stock[rows], nodes[rows]
        kept = _Level(
            games=_taken(games, ~turned), stock=stock[~turned], parent=parent[~turned],
            edge=edge[~turned], move=move[~turned], outcome=outcome[~turned],
        )  # fmt: skip
        if not turned.any():
            return kept
        drawn = self._after_stock(
            _taken(before, turned), action, stock[turned], parent[turned], edge[turned]
        )
        return _joined([kept, *drawn])

    def _applied(self, before: npt.NDArray[np.void], action: int) -> npt.NDArray[np.void]:
        games = _repeated(before, 1)
        _apply_all(games, self._table, np.full(len(games), action))
        return games

    def _after_stock(
        self, before: npt.NDArray[np.void], action: int, stock: Ints, parent: Ints, edge: Ints
    ) -> list[_Level]:
        """What the turn of the stock's top leads to: a leaf if the round is then over, else a choice."""
        games = _repeated(before, N_RANKS)
        games["top"] = np.tile(np.arange(N_RANKS) * N_SUITS, len(before))
        _apply_all(games, self._table, np.full(len(games), action))
        over = ((games["phase"].reshape(stock.shape) == OVER) | (stock == 0)).all(axis=1)
        possible = np.arange(len(before)) * N_RANKS + (stock > 0).argmax(axis=1)
        averaged = _Level(
            games=_taken(games, possible[over]), stock=stock[over], parent=parent[over], edge=edge[over],
            move=np.full(int(over.sum()), action),
            outcome=self._averaged(_taken(games, np.repeat(over, N_RANKS)), stock[over]),
        )  # fmt: skip
        choices = _taken(games, np.repeat(~over, N_RANKS)).reshape(-1, N_RANKS)
        return [
            averaged,
            *self._chance_nodes(choices, stock[~over], parent[~over], edge[~over], action),
        ]

    def _averaged(self, games: npt.NDArray[np.void], stock: Ints) -> Ints:
        """The outcome of each row of games, one for every rank on top of the stock."""
        reveals = self._reveals_of(games).reshape(stock.shape)
        counts = np.zeros((len(stock), len(self._reveals)), np.int64)
        np.add.at(counts, (np.arange(len(stock))[:, None], reveals), stock)
        return self._outcomes_of(counts)

    def _chance_nodes(
        self, games: npt.NDArray[np.void], stock: Ints, parent: Ints, edge: Ints, action: int
    ) -> list[_Level]:
        """Add a node of chance for each row; returns its children, one for every rank left."""
        nodes = self._n_nodes + np.arange(len(games))
        nothing = np.full(len(games), NOTHING, np.int64)
        move = np.full(len(games), action)
        self._add(parent=parent, edge=edge, move=move, state=nothing, outcome=nothing)
        levels = []
        for rank in range(1, N_RANKS + 1):
            some = stock[:, rank - 1] > 0
            share = stock[some, rank - 1] / stock[some].sum(axis=1)
            levels.append(
                _Level(
                    games=games[some, rank - 1], stock=stock[some], parent=nodes[some],
                    edge=self._chance_edges(share), move=np.full(int(some.sum()), TOP + rank),
                    outcome=nothing[some],
                )
            )  # fmt: skip
        return levels

    def _chance_edges(self, shares: Floats) -> Ints:
        unique, back = np.unique(shares, return_inverse=True)
        ids = [self._chance_of.setdefault(float(share), len(self._chance_of)) for share in unique]
        return -2 - np.array(ids, np.int64)[back]

    def _states_of(self, games: npt.NDArray[np.void], nodes: Ints) -> tuple[Ints, Ints]:
        """The information state of the seat to act in each game, and its legal actions as bits."""
        legal, keys = np.zeros(len(games), np.int64), np.zeros(len(games), np.uint64)
        _look_all(games, self._table, self._layout, self._sections, self._row, legal, keys)
        unique, first, back = np.unique(keys, return_index=True, return_inverse=True)
        ids = np.zeros(len(unique), np.int64)
        for k, (key, at) in enumerate(zip(unique.tolist(), first.tolist(), strict=True)):
            known = self._state_of.get(key)
            ids[k] = (
                self._new_state(key, games[at], int(nodes[at]), int(legal[at]))
                if known is None
                else known
            )
        return ids[back], legal

    def _new_state(self, key: int, game: np.void, node: int, legal: int) -> int:
        state = self._state_of[key] = len(self._states)
        self._states.append((int(game["seat"]), len(self._edges), node))
        self._edges += [(state, action) for action in range(N_ACTIONS) if legal >> action & 1]
        return state

    def _edges_of(self, states: Ints, action: int) -> Ints:
        """The edge that an action takes from each state."""
        unique, back = np.unique(states, return_inverse=True)
        edges = []
        for state in unique.tolist():
            edge = self._states[state][1]
            while self._edges[edge] != (state, action):
                edge += 1
            edges.append(edge)
        return np.array(edges, np.int64)[back]

    def _reveals_of(self, games: npt.NDArray[np.void]) -> Ints:
        """Which kind of reveal each game ended with: who lost what, and who had paid what."""
        n = slice(self._places)
        losses = games["lost"][:, n].astype(np.int64)
        fees = games["before"][:, n] - games["lives"][:, n] - losses
        # Nobody loses more than a life a seat, or pays more than thrice: a byte tells both.
        codes = ((losses << 2 | fees) << (8 * np.arange(self._places))).sum(axis=1)
        new, first = np.unique(codes[~np.isin(codes, self._reveal_codes)], return_index=True)
        if len(new):
            at = np.flatnonzero(~np.isin(codes, self._reveal_codes))[first]
            ranks = games["card"][at][:, n] // N_SUITS + 1
            self._reveals += list(zip(ranks, fees[at], losses[at], strict=True))
            self._reveal_codes = np.concatenate([self._reveal_codes, new])
        order: Ints = np.argsort(self._reveal_codes)
        kinds: Ints = order[np.searchsorted(self._reveal_codes, codes, sorter=order)]
        return kinds

    def _sure_outcomes(self, reveals: Ints) -> Ints:
        unique, back = np.unique(reveals, return_inverse=True)
        counts = np.zeros((len(unique), len(self._reveals)), np.int64)
        counts[np.arange(len(unique)), unique] = 1
        return self._outcomes_of(counts)[back]

    def _outcomes_of(self, counts: Ints) -> Ints:
        """The outcome with so many chances of each kind of reveal, for every row of counts."""
        # Rows are told apart by a random weighted sum, which sorts much faster than the rows do.
        sums = counts.astype(np.uint64) @ _weights(counts.shape[1])
        _, first, back = np.unique(sums, return_index=True, return_inverse=True)
        ids = np.zeros(len(first), np.int64)
        for k, row in enumerate(counts[first]):
            which = np.flatnonzero(row)
            key = np.concatenate([which, row[which]]).tobytes()
            ids[k] = self._outcome_of.setdefault(key, len(self._outcomes))
            if ids[k] == len(self._outcomes):
                self._outcomes.append((which, row[which] / row.sum()))
        return ids[back]

    def _finished(self, ranks: npt.NDArray[np.int8], chance: Floats, nodes: Ints) -> Tree:
        edge = np.concatenate(self._parts["edge"])
        of_chance = edge < NOTHING
        edge[of_chance] = len(self._edges) - 2 - edge[of_chance]
        outcomes = np.zeros((len(self._outcomes), len(self._reveals)))
        for row, (which, shares) in enumerate(self._outcomes):
            outcomes[row, which] = shares
        place, first_edge, node = np.array(self._states, np.int64).T
        return Tree(
            rules=self._rules,
            lives=self._lives,
            parent=np.concatenate(self._parts["parent"]),
            edge=edge,
            move=np.concatenate(self._parts["move"]),
            state=np.concatenate(self._parts["state"]),
            outcome=np.concatenate(self._parts["outcome"]),
            deals=nodes,
            deal_ranks=ranks,
            deal_chance=chance,
            state_place=place.astype(np.int8),
            state_edge=np.append(first_edge, len(self._edges)),
            state_node=node,
            edge_state=np.array([state for state, _ in self._edges], np.int32),
            edge_action=np.array([action for _, action in self._edges], np.int8),
            chance=np.array(list(self._chance_of)),
            outcomes=outcomes,
            reveal_ranks=np.array([ranks for ranks, _, _ in self._reveals], np.int8),
            reveal_fees=np.array([fees for _, fees, _ in self._reveals], np.int64),
            reveal_losses=np.array([losses for _, _, losses in self._reveals], np.int64),
        )


def _weights(n: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(0).integers(0, 2**64, n, np.uint64)


# Games are copied as bytes: many times faster than NumPy copies records, field by field.


def _bytes_of(games: npt.NDArray[np.void]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(games).view(np.uint8).reshape(len(games), games.dtype.itemsize)


def _taken(games: npt.NDArray[np.void], rows: npt.NDArray[Any]) -> npt.NDArray[np.void]:
    """Some of the games, by number or by mask."""
    copies: npt.NDArray[np.void] = _bytes_of(games)[rows].reshape(-1).view(games.dtype)
    return copies


def _repeated(games: npt.NDArray[np.void], times: int) -> npt.NDArray[np.void]:
    """Each game so many times in a row."""
    raw = np.repeat(_bytes_of(games), times, axis=0)
    copies: npt.NDArray[np.void] = raw.reshape(-1).view(games.dtype)
    return copies


# ---------------------------------------------------------------------------------------------------
# Deals


def deals(places: int, decks: int) -> tuple[npt.NDArray[np.int8], Floats]:
    """Every deal of ranks, (deals, places) int8, and its probability."""
    grid = np.indices((N_RANKS,) * places, np.int8).reshape(places, -1).T + np.int8(1)
    chance = np.ones(len(grid))
    for place in range(places):
        same = (grid[:, :place] == grid[:, place : place + 1]).sum(axis=1)
        chance *= np.maximum(N_SUITS * decks - same, 0) / (PACK * decks - place)
    return np.ascontiguousarray(grid[chance > 0]), chance[chance > 0]


def stock_counts(ranks: npt.NDArray[np.int8], decks: int) -> Ints:
    """Cards of each rank left in the stock after each deal: (deals, 13)."""
    dealt = np.stack([(ranks == rank).sum(axis=1) for rank in range(1, N_RANKS + 1)], axis=1)
    return N_SUITS * decks - dealt


def deal_games(
    rules: Rules, table: npt.NDArray[np.void], ranks: npt.NDArray[np.int8], lives: tuple[int, ...]
) -> npt.NDArray[np.void]:
    """A game for each deal, the last place dealing, before the first turn."""
    places = len(lives)
    scripted = new_games(len(ranks), places, recording=True)
    scripted["dealer"] = places - 1
    scripted["lives"][:, :places] = scripted["before"][:, :places] = lives
    scripted["staked"][:, :places] = 1
    scripted["rng"] = 1
    scripted["script"][:, :places] = (ranks - 1) * N_SUITS
    scripted["script_end"] = places + 1
    _deal_all(scripted, table)
    games = new_games(len(ranks), rules.seats, recording=False)
    for name in games.dtype.names or ():
        if name not in {"event", "script", "script_at", "script_end", "n_events"}:
            games[name] = scripted[name]
    return games


def _stock_turned(
    before: npt.NDArray[np.void], after: npt.NDArray[np.void]
) -> npt.NDArray[np.bool_]:
    """Whether the dealer has turned the top of the stock between two positions."""
    rows = np.arange(len(after))
    drew = after["outcome"][rows, after["dealer"]] == DREW
    turned: npt.NDArray[np.bool_] = drew | (after["stock"] != before["stock"])
    return turned
