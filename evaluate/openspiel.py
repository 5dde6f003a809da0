"""Cuckoo as a game of OpenSpiel, so that its algorithms run on ours: the extra ``openspiel``.

Importing this module registers ``python_cuckoo``, whose parameter ``rules`` is the text of a rule set:
single rounds (``game=round``) and matches that end within a number of rounds. Chance is explicit: who
deals first, the rank of each card dealt, the rank on top of the stock, who wins a cut. Suits never
matter, so cards are ranks, weighted by how many of them are left. Everything else is the engine's.

    >>> game = load("le-her")
    >>> state = game.new_initial_state()
    >>> state.is_chance_node(), len(state.chance_outcomes())
    (True, 2)

States are driven one by one in Python: ten thousand a second, not millions. Use it for small games.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from cuckoo_env import engine
from cuckoo_env.agents import Agent
from cuckoo_env.cards import N_RANKS, N_SUITS, PACK, RANKS, rank_of
from cuckoo_env.engine import ACTION_NAMES, NOBODY
from cuckoo_env.events import Event, decode
from cuckoo_env.observation import Layout, observe, sections_of
from cuckoo_env.rules import MAX_DECKS, FinalTie, FirstDealer, Length, Pairs, Rules

try:
    import pyspiel
    from open_spiel.python import policy as openspiel_policy
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing.name} is missing; install: pip install 'cuckoo-env[openspiel]'",
        name=missing.name,
    ) from missing

SHORT_NAME: Final = "python_cuckoo"
PAYOFF: Final = "payoff"
WIN_SHARE: Final = "win_share"
RETURNS: Final = (PAYOFF, WIN_SHARE)
"""What a game's returns are: what each seat takes less its stakes, or its share of the win."""


def load(rules: Rules | str, *, returns: str = PAYOFF) -> Any:
    """The game of a rule set.

    Args:
        rules: a rule set or its text.
        returns: one of :data:`RETURNS`.

    Raises:
        ValueError: for a rule set that is refused, or whose games can go on for ever.
    """
    return pyspiel.load_game(SHORT_NAME, {"rules": str(Rules.parse(rules)), "returns": returns})


class AgentPolicy(openspiel_policy.Policy):  # type: ignore[misc]
    """Agents as a policy of OpenSpiel: each is asked once for everything it can see.

    Example:
        >>> from cuckoo_env.agents import lineup
        >>> game = load("le-her")
        >>> policy = AgentPolicy(game, lineup("robin,alex", Rules.parse("le-her")))
    """

    def __init__(self, game: Any, agents: Sequence[Agent]) -> None:
        """Wrap one agent a seat."""
        super().__init__(game, list(range(game.num_players())))
        self._agents = agents
        self._known: dict[str, dict[int, float]] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """The chances of the legal actions of the seat to act, those of zero included."""
        seat = state.current_player() if player_id is None else player_id
        key = state.information_state_string(seat)
        if key not in self._known:
            table: _Table = state.get_game().table
            observation, mask = table.observe(state.point, seat)
            chances = self._agents[seat].probabilities(observation, mask, table.layout)[0]
            self._known[key] = {
                int(action): float(chances[action]) for action in np.flatnonzero(mask)
            }
        return self._known[key]


# ---------------------------------------------------------------------------------------------------
# Where a game stands


class Waits(Enum):
    """What a game waits for."""

    LOT = "lot"
    DEAL = "deal"
    STOCK = "stock"
    CUT = "cut"
    ACTION = "action"
    NOTHING = "nothing"


Row = tuple[int, ...]
"""An event as the engine notes it."""

_START: Final = -1
"""The move that deals the first round; other moves are actions."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """Where a game stands: it is never changed, so states can share it.

    While chance is asked, the game is that before the move that chance is part of.

    Attributes:
        waits: what the game waits for.
        game: the bytes of the engine's record.
        move: the move that waits for chance.
        dealt: ranks dealt in this round, in ascending order of the seats.
        cards: how many are dealt in this round.
        cutting: the seats that cut for the pot.
        told: the engine's event rows of the rounds before this one.
        news: the engine's event rows of this round.
    """

    waits: Waits
    game: bytes
    move: int = _START
    dealt: tuple[int, ...] = ()
    cards: int = 0
    cutting: tuple[int, ...] = ()
    told: tuple[Row, ...] = ()
    news: tuple[Row, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """OpenSpiel copies states deeply, at every step."""
        return self


class _Table:
    """The engine, one rule set, and chance made explicit."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.layout = Layout.of(rules)
        self.names = self.layout.names()
        self._compiled = engine.compile_rules(rules)
        self._sections = sections_of(self.layout, (rules,))
        self._games = engine.new_games(1, rules.seats, recording=True)
        strength = self._compiled["strength"][0][1:]
        self._weakest, self._strongest = int(strength.argmin()) + 1, int(strength.argmax()) + 1
        self.first = self._first()

    def _first(self) -> Point:
        games, rules = self._games, self.rules
        games["rng"] = 1  # never drawn from: chance comes from scripts
        games["lives"][0, : rules.seats] = games["before"][0, : rules.seats] = rules.lives
        games["staked"][0, : rules.seats] = 1
        games["seat"] = games["turn"] = NOBODY
        point = Point(waits=Waits.LOT, game=games.tobytes(), cards=rules.seats)
        if isinstance(rules.first_dealer, FirstDealer):
            return point
        return self._dealt_by(point, rules.first_dealer)

    def _dealt_by(self, point: Point, seat: int) -> Point:
        games = self._at(point)
        games["dealer"] = seat
        return replace(point, waits=Waits.DEAL, game=games.tobytes())

    def _at(self, point: Point) -> npt.NDArray[np.void]:
        """The game of a point, to look at or to go on with."""
        # Copying bytes is ten times as fast as copying a record field by field.
        games: npt.NDArray[np.void] = np.frombuffer(bytearray(point.game), self._games.dtype)
        return games

    def seat(self, point: Point) -> int:
        return int(self._at(point)["seat"][0])

    def legal(self, point: Point) -> list[int]:
        bits = int(engine.legal(self._at(point), self._compiled, 0))
        return [action for action in range(self.layout.n_actions) if bits >> action & 1]

    def observe(
        self, point: Point, viewer: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
        """What a seat sees, (1, layout.size), and its mask, (1, layout.n_actions)."""
        observation = np.zeros((1, self.layout.size), np.float32)
        mask = np.zeros((1, self.layout.n_actions), np.int8)
        observe(
            self._at(point), self._compiled, self.layout.offsets, self._sections, 0, viewer,
            observation, mask,
        )  # fmt: skip
        return observation, mask

    def payoffs(self, point: Point) -> list[float]:
        payoffs: list[float] = self._at(point)["payoff"][0, : self.rules.seats].tolist()
        return payoffs

    def win_shares(self, point: Point) -> list[float]:
        won = self._at(point)["won"][0, : self.rules.seats]
        shares: list[float] = (won / max(int(won.sum()), 1)).tolist()
        return shares

    # Chance

    def outcomes(self, point: Point) -> list[tuple[int, float]]:
        """What chance can do: seats, or ranks less one, and how likely each is."""
        if point.waits is Waits.LOT:
            return [(seat, 1 / self.rules.seats) for seat in range(self.rules.seats)]
        if point.waits is Waits.CUT:
            # Equal cards cut again, so each seat is as likely to win as any other.
            return [(seat, 1 / len(point.cutting)) for seat in point.cutting]
        gone = Counter(point.dealt)
        left = PACK * self.rules.decks - len(point.dealt)
        copies = N_SUITS * self.rules.decks
        return [
            (rank - 1, (copies - gone[rank]) / left)
            for rank in range(1, N_RANKS + 1)
            if gone[rank] < copies
        ]

    def after_chance(self, point: Point, outcome: int) -> Point:
        """Where the game stands after chance has done something."""
        match point.waits:
            case Waits.LOT:
                return self._dealt_by(point, outcome)
            case Waits.DEAL:
                return self._after_deal(replace(point, dealt=(*point.dealt, outcome + 1)))
            case Waits.STOCK:
                games = self._at(point)
                games["top"] = outcome * N_SUITS
                return self._moved(replace(point, game=games.tobytes()), stock_is_known=True)
            case _:
                cut = [
                    self._strongest if seat == outcome else self._weakest for seat in point.cutting
                ]
                return self._standing(point, *self._played(point, cut))

    def _after_deal(self, point: Point) -> Point:
        if len(point.dealt) < point.cards:
            return point
        # Some card on top of the stock: chance is asked for it when it is turned.
        games, news = self._played(point, [*point.dealt, self._weakest])
        start = _kinds(news).index(engine.E_ROUND)
        return replace(point, waits=Waits.ACTION, game=games.tobytes(), news=news[start:])

    def after_action(self, point: Point, action: int) -> Point:
        """Where the game stands after the seat to act has done something."""
        return self._moved(replace(point, move=action), stock_is_known=False)

    def _moved(self, point: Point, *, stock_is_known: bool) -> Point:
        """Make the point's move, or say what chance must be asked first."""
        games, news = self._played(point, [])
        kinds = _kinds(news)
        if not stock_is_known and (engine.E_DREW in kinds or engine.E_STOCK_SHOWED in kinds):
            return replace(point, waits=Waits.STOCK)
        if engine.E_FINAL_CUT in kinds:
            cutting = {row[1] for row in news if row[0] == engine.E_FINAL_CUT}
            return replace(point, waits=Waits.CUT, cutting=tuple(sorted(cutting)))
        if engine.E_ROUND in kinds:
            over = kinds.index(engine.E_ROUND)
            return replace(
                point,
                waits=Waits.DEAL,
                dealt=(),
                cards=kinds.count(engine.E_DEALT),
                told=(*point.told, *point.news, *news[:over]),
                news=(),
            )
        return self._standing(point, games, news)

    def _standing(self, point: Point, games: npt.NDArray[np.void], news: tuple[Row, ...]) -> Point:
        """The point after a move that chance has no more say in."""
        over = int(games["seat"][0]) == NOBODY
        return replace(
            point,
            waits=Waits.NOTHING if over else Waits.ACTION,
            game=games.tobytes(),
            news=(*point.news, *news),
        )

    def _played(
        self, point: Point, ranks: Sequence[int]
    ) -> tuple[npt.NDArray[np.void], tuple[Row, ...]]:
        """The game after the point's move, if chance hands out these ranks, and what happened."""
        games, seen = self._at(point), Counter[int]()
        for k, rank in enumerate(ranks):
            games["script"][0, k] = (rank - 1) * N_SUITS + seen[rank] % N_SUITS
            seen[rank] += 1
        games["script_at"], games["script_end"] = 0, len(ranks)
        if point.move == _START:
            engine.start_at(games, self._compiled, 0)
        else:
            engine.step(games, self._compiled, 0, point.move)
        rows = games["event"][0, : int(games["n_events"][0])].tolist()
        return games, tuple(map(tuple, rows))

    # Text

    def information(self, point: Point, viewer: int, *, perfect_recall: bool) -> str:
        """What a seat sees, and if it is to recall everything, what it saw in earlier rounds."""
        (vector,), _ = self.observe(point, viewer)
        seen = [
            name if value == 1 else f"{name}={value:.6g}"
            for name, value in zip(self.names, vector.tolist(), strict=True)
            if value
        ]
        parts = [f"seat {viewer}:", *seen]
        if perfect_recall and point.told:
            parts += ["|", *(_brief(decode(row).seen_by(viewer)) for row in point.told)]
        return " ".join(parts)

    def text(self, point: Point) -> str:
        """Where the game stands, with all cards."""
        g = self._at(point)[0]
        seats = range(self.rules.seats)
        hands = [
            RANKS[rank_of(int(g["card"][seat])) - 1] if g["lives"][seat] else "-" for seat in seats
        ]
        parts = {
            "waits": point.waits.value,
            "rounds": g["rounds"],
            "dealer": g["dealer"],
            "lives": " ".join(str(g["lives"][seat]) for seat in seats),
            "dealt": "".join(RANKS[rank - 1] for rank in point.dealt),
            "hands": "".join(hands) if point.dealt else "",
            "seat": g["seat"],
            "move": point.move,
        }
        return "; ".join(f"{name}: {value}" for name, value in parts.items())

    def outcome_text(self, point: Point, outcome: int) -> str:
        """What chance does, in words."""
        if point.waits in {Waits.LOT, Waits.CUT}:
            return f"{point.waits.value}: seat {outcome}"
        return f"{point.waits.value}: {RANKS[outcome]}"


def _kinds(rows: tuple[Row, ...]) -> list[int]:
    return [row[0] for row in rows]


def _brief(event: Event) -> str:
    """An event in a few characters; of cards only the rank, for suits never matter."""
    cards = [card[0] for card in (event.card, event.other_card) if card]
    numbers = [number for number in (event.seat, event.other, event.count) if number is not None]
    return ",".join(map(str, [event.event, *numbers, *cards]))


# ---------------------------------------------------------------------------------------------------
# What OpenSpiel sees


def _game_type(utility: Any, seats: tuple[int, int]) -> Any:
    return pyspiel.GameType(
        short_name=SHORT_NAME,
        long_name="Cuckoo (Chase the Ace)",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        min_num_players=seats[0],
        max_num_players=seats[1],
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification={"rules": "le-her", "returns": PAYOFF},
    )


def _game_info(rules: Rules, returns: str) -> Any:
    rounds = _most_rounds(rules)
    if returns == WIN_SHARE:
        least, most, total = 0.0, 1.0, None
    else:
        if rules.game is Length.ROUND:
            stakes = rules.lives  # one for each life that is lost
        else:
            stakes = 1 + rounds if rules.final_tie is FinalTie.CARRY_STAKE else 1
        least, total = -rules.stake * stakes, 0.0
        most = -least * (rules.seats - 1)
    return pyspiel.GameInfo(
        num_distinct_actions=Layout.of(rules).n_actions,
        max_chance_outcomes=max(N_RANKS, rules.seats),
        num_players=rules.seats,
        min_utility=least,
        max_utility=most,
        utility_sum=total,
        max_game_length=rounds * rules.seats * 2,  # every turn, and the answer to it
    )


def _most_rounds(rules: Rules) -> int:
    """The most rounds that a game can have.

    Raises:
        ValueError: if there is no such number.
    """
    if rules.game is Length.ROUND:
        return 1
    if rules.max_rounds is not None:
        return rules.max_rounds
    if rules.pairs is Pairs.SAFE or rules.final_tie not in {FinalTie.JOINT, FinalTie.CUT}:
        raise ValueError(
            f"rules: {rules} is refused, for its games can go on for ever; accepted: with max_rounds"
        )
    return rules.seats * rules.lives  # every round costs a life at least


class CuckooGame(pyspiel.Game):  # type: ignore[misc]
    """A rule set as a game of OpenSpiel.

    Attributes:
        rules: the rule set.
        table: what drives its states.
        returns: one of :data:`RETURNS`.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**_GAME_TYPE.parameter_specification, **(params or {})}
        self.rules = Rules.parse(_decoded(given["rules"]))
        self.returns = given["returns"]
        if self.returns not in RETURNS:
            raise ValueError(
                f"returns: {self.returns} is refused; accepted: {' or '.join(RETURNS)}"
            )
        utilities = pyspiel.GameType.Utility
        seats = self.rules.seats
        super().__init__(
            _game_type(
                utilities.ZERO_SUM if self.returns == PAYOFF else utilities.GENERAL_SUM,
                (seats, seats),
            ),
            _game_info(self.rules, self.returns),
            {"rules": _encoded(str(self.rules)), "returns": self.returns},
        )
        self.table = _Table(self.rules)

    def new_initial_state(self) -> CuckooState:
        return CuckooState(self)

    def max_chance_nodes_in_history(self) -> int:
        # In every round a card for each seat and one from the stock; the lot, and a cut.
        return _most_rounds(self.rules) * (self.rules.seats + 1) + 2

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> CuckooObserver:
        """The observer of one seat's view; for information states it recalls earlier rounds."""
        return CuckooObserver(
            self.table, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params
        )


class CuckooState(pyspiel.State):  # type: ignore[misc]
    """A state of OpenSpiel.

    Attributes:
        point: where the game stands; all that there is to a state.
    """

    def __init__(self, game: CuckooGame) -> None:
        """Called by :meth:`CuckooGame.new_initial_state` only."""
        super().__init__(game)
        self.point = game.table.first

    @property
    def _table(self) -> _Table:
        table: _Table = self.get_game().table
        return table

    def current_player(self) -> int:
        """The seat to act, or OpenSpiel's numbers for chance and for the end."""
        if self.point.waits is Waits.NOTHING:
            return int(pyspiel.PlayerId.TERMINAL)
        if self.point.waits is not Waits.ACTION:
            return int(pyspiel.PlayerId.CHANCE)
        return self._table.seat(self.point)

    def _legal_actions(self, player: int) -> list[int]:
        return self._table.legal(self.point) if player == self.current_player() else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self._table.outcomes(self.point)

    def _apply_action(self, action: int) -> None:
        if self.point.waits is Waits.ACTION:
            self.point = self._table.after_action(self.point, action)
        else:
            self.point = self._table.after_chance(self.point, action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return self._table.outcome_text(self.point, action)
        return ACTION_NAMES[action]

    def is_terminal(self) -> bool:
        return self.point.waits is Waits.NOTHING

    def returns(self) -> list[float]:
        """What each seat has won: all zeros until the end."""
        if not self.is_terminal():
            return [0.0] * self.num_players()
        if self.get_game().returns == PAYOFF:
            return self._table.payoffs(self.point)
        return self._table.win_shares(self.point)

    def __str__(self) -> str:
        return self._table.text(self.point)


class CuckooObserver:
    """What a seat sees: our observation, and which seat it is.

    The vector tells everything the seat has seen in this round, and of earlier rounds what still
    matters: lives, dealer, pot and rounds left. Strings with perfect recall tell earlier rounds too.

    Attributes:
        tensor: (seats + layout.size,) float32.
        dict: its parts: ``player`` (seats,) and ``observation`` (layout.size,).
    """

    def __init__(self, table: _Table, iig_obs_type: Any, params: Any) -> None:
        if params:
            raise ValueError(f"params: {params} is refused; accepted: none")
        private, public = iig_obs_type.private_info, iig_obs_type.public_info
        if private != pyspiel.PrivateInfoType.SINGLE_PLAYER or not public:
            raise ValueError(
                f"iig_obs_type: private_info={private.name}, public_info={public} is refused;"
                " accepted: what one seat sees, private_info=SINGLE_PLAYER, public_info=True"
            )
        self._table, self._perfect_recall = table, iig_obs_type.perfect_recall
        seats = table.rules.seats
        self.tensor = np.zeros(seats + table.layout.size, np.float32)
        self.dict = {"player": self.tensor[:seats], "observation": self.tensor[seats:]}

    def set_from(self, state: CuckooState, player: int) -> None:
        """Fill in the tensor."""
        self.dict["player"][:] = 0
        self.dict["player"][player] = 1
        self.dict["observation"][:] = self._table.observe(state.point, player)[0][0]

    def string_from(self, state: CuckooState, player: int) -> str:
        """The same as text."""
        return self._table.information(state.point, player, perfect_recall=self._perfect_recall)


def _encoded(rules: str) -> str:
    """The rules without the signs that OpenSpiel keeps for itself in the names of games."""
    return rules.replace(",", ";").replace("=", ":")


def _decoded(rules: str) -> str:
    return rules.replace(";", ",").replace(":", "=")


_GAME_TYPE: Final = _game_type(pyspiel.GameType.Utility.ZERO_SUM, (2, PACK * MAX_DECKS - 1))
pyspiel.register_game(_GAME_TYPE, CuckooGame)
