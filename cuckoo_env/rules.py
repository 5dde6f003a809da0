"""The rules as one value: axes, presets, canonical text, validation.

Everything that can differ between two tables of Cuckoo is a field of :class:`Rules`. The engine
reads the fields (never a preset's name), so every combination that is accepted here can be played.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Self

from cuckoo_env.cards import PACK

MAX_LIVES: Final = 30_000
"""More lives than any table plays with, and few enough for small counters."""
MAX_DECKS: Final = 100
MAX_ROUNDS: Final = 1_000_000_000


class RulesError(ValueError):
    """A rule set that is refused; the message names the field, its value and what is accepted."""


class Ace(StrEnum):
    """Where the ace ranks."""

    LOW = "low"
    HIGH = "high"


class King(StrEnum):
    """What a king does when its holder is asked, and on the stock."""

    BLOCKS = "blocks"
    PLAIN = "plain"
    ENDS_TRADING = "ends_trading"
    STOPS_DEAL = "stops_deal"
    OPEN = "open"


class Queen(StrEnum):
    """What a queen does when its holder is asked, and on the stock."""

    PLAIN = "plain"
    REDIRECTS = "redirects"


class Jack(StrEnum):
    """What a jack does when its holder is asked."""

    PLAIN = "plain"
    BLOCKS = "blocks"
    MAY_BLOCK = "may_block"


class Dealer(StrEnum):
    """What the dealer's turn is about: the stock, or the first seat."""

    STOCK = "stock"
    ROTATION = "rotation"


class SwappedTurn(StrEnum):
    """Whether a seat that was made to swap keeps its own turn."""

    KEPT = "kept"
    LOST = "lost"


class Refusal(StrEnum):
    """Whether an asked seat may pay to keep its card."""

    NONE = "none"
    FEE = "fee"


class Penalty(StrEnum):
    """What the lowest pay."""

    ONE = "one"
    SHARED = "shared"


class Pairs(StrEnum):
    """Whether ranks held by several seats are safe."""

    COUNT = "count"
    SAFE = "safe"


class Ties(StrEnum):
    """Which of the tied lowest pay."""

    ALL = "all"
    FIRST = "first"


class FinalTie(StrEnum):
    """What happens when everyone still in would go out at once."""

    JOINT = "joint"
    REPLAY = "replay"
    CUT = "cut"
    CARRY_STAKE = "carry_stake"
    CARRY = "carry"


class FirstDealer(StrEnum):
    """How the first dealer is found (a seat number fixes it instead)."""

    LOT = "lot"
    CUT = "cut"


class Direction(StrEnum):
    """The direction of play."""

    LEFT = "left"
    RIGHT = "right"


class Length(StrEnum):
    """Whether a game is a whole match or a single deal."""

    MATCH = "match"
    ROUND = "round"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """One rule set. Immutable, hashable, and equal to any other with the same fields.

    Text values are accepted for the enumerations (``Rules(king="plain")``).

    Attributes:
        seats: players at the start, 2 to 52·decks − 1 (the stock keeps at least one card).
        lives: lives (tokens) each starts with.
        decks: packs shuffled together; 0 (the default) means one up to 26 seats, then ceil(seats / 26).
        ace: ``low``, or ``high`` (above the king, the two is lowest).
        king: ``blocks`` a request and the dealer's draw; ``plain`` has no power; ``ends_trading`` for the
            deal once shown to a request; ``stops_deal``: any dealt king is turned up and nobody trades;
            ``open``: dealt kings are turned up, block, and their holders may only keep.
        queen: ``redirects`` sends the asker to the seat on its other side.
        jack: ``blocks`` like a king, or its holder ``may_block``.
        dealer: draws from the ``stock``, or asks the first seat (``rotation``).
        swapped_turn: ``lost``: a seat made to swap has no turn of its own.
        refusal: ``fee``: an asked seat with two tokens or more may pay one and keep its card.
        penalty: ``shared``: a sole lowest pays two, k tied lowest pay k each.
        pairs: ``safe``: only the lowest rank held by exactly one seat loses.
        ties: ``first``: among tied lowest only the earliest in turn order pays.
        final_tie: what happens when everyone still in would go out at once.
        stake: what each seat pays into the pot; the unit of returns.
        first_dealer: by ``lot``, by ``cut`` for high card, or a seat number.
        direction: ``left`` or ``right``; "left neighbour" is always the next seat in this direction.
        game: a ``match``, or a single ``round`` in which every life lost costs a stake.
        max_rounds: truncate the game after so many rounds; None plays on.

    Raises:
        RulesError: for a value outside its range, or a combination that means nothing.
    """

    seats: int = 3
    lives: int = 3
    decks: int = 0
    ace: Ace = Ace.LOW
    king: King = King.BLOCKS
    queen: Queen = Queen.PLAIN
    jack: Jack = Jack.PLAIN
    dealer: Dealer = Dealer.STOCK
    swapped_turn: SwappedTurn = SwappedTurn.KEPT
    refusal: Refusal = Refusal.NONE
    penalty: Penalty = Penalty.ONE
    pairs: Pairs = Pairs.COUNT
    ties: Ties = Ties.ALL
    final_tie: FinalTie = FinalTie.JOINT
    stake: float = 1.0
    first_dealer: FirstDealer | int = FirstDealer.LOT
    direction: Direction = Direction.LEFT
    game: Length = Length.MATCH
    max_rounds: int | None = None

    def __post_init__(self) -> None:
        """Normalise every field, then refuse what cannot be played."""
        for name, axis in AXES.items():
            object.__setattr__(self, name, _member(name, axis, getattr(self, name)))
        self._check_numbers()
        self._check_first_dealer()
        self._check_combinations()

    def _check_numbers(self) -> None:
        seats = _whole("seats", self.seats, 2, None)
        decks = _whole("decks", self.decks, 0, MAX_DECKS) or default_decks(seats)
        if decks > MAX_DECKS or seats > PACK * decks - 1:
            most = PACK * min(decks, MAX_DECKS) - 1
            raise _refusal("seats", seats, f"2 to {most} with decks={min(decks, MAX_DECKS)}")
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "decks", decks)
        object.__setattr__(self, "lives", _whole("lives", self.lives, 1, MAX_LIVES))
        object.__setattr__(self, "stake", _positive("stake", self.stake))
        if self.max_rounds is not None:
            object.__setattr__(
                self, "max_rounds", _whole("max_rounds", self.max_rounds, 1, MAX_ROUNDS)
            )

    def _check_first_dealer(self) -> None:
        accepted = f"lot, cut or a seat from 0 to {self.seats - 1}"
        value = self.first_dealer
        if isinstance(value, str):
            if value not in list(FirstDealer):
                raise _refusal("first_dealer", value, accepted)
            object.__setattr__(self, "first_dealer", FirstDealer(value))
            return
        if not _is_whole(value) or not 0 <= int(value) < self.seats:
            raise _refusal("first_dealer", value, accepted)
        object.__setattr__(self, "first_dealer", int(value))

    def _check_combinations(self) -> None:
        if self.ties is Ties.FIRST and self.penalty is Penalty.SHARED:
            raise _refusal("ties", "first", "all with penalty=shared: the tied lowest pay together")
        if self.ties is Ties.FIRST and self.pairs is Pairs.SAFE:
            raise _refusal("ties", "first", "all with pairs=safe: tied seats never lose")
        if self.game is Length.ROUND and self.max_rounds is not None:
            raise _refusal("max_rounds", self.max_rounds, "none with game=round: it is one round")

    @property
    def has_responses(self) -> bool:
        """Whether an asked seat may have a choice, and so gets a turn to respond."""
        return self.refusal is Refusal.FEE or self.jack is Jack.MAY_BLOCK

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; packs follow the seats unless they were set apart.

        Raises:
            RulesError: as the constructor does, and for a field that does not exist.
        """
        for name in changes:
            _check_field(name)
        if self.decks == default_decks(self.seats):
            changes.setdefault("decks", 0)
        return dataclasses.replace(self, **changes)

    def fields(self) -> dict[str, str | int | float | None]:
        """Every field as a plain value, in the order of the class: what files store and pages print."""
        plain: dict[str, str | int | float | None] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            plain[field.name] = value.value if isinstance(value, StrEnum) else value
        return plain

    @classmethod
    def parse(cls, text: str | Rules) -> Rules:
        """The rule set named by ``preset[,field=value…]``; a :class:`Rules` is returned as it is.

        >>> str(Rules.parse("standard,seats=5,queen=redirects"))
        'standard,seats=5,queen=redirects'

        Raises:
            RulesError: naming the preset or field, its value, and what is accepted.
        """
        if isinstance(text, Rules):
            return text
        name, *settings = [part.strip() for part in str(text).split(",")]
        preset = PRESETS.get(name)
        if preset is None:
            raise _refusal("rules", name, f"a preset of: {', '.join(PRESETS)}")
        changes: dict[str, Any] = {}
        for setting in settings:
            field, equals, value = setting.partition("=")
            if not equals or not value:
                raise _refusal("rules", setting, "field=value, such as lives=4")
            _check_field(field)
            if field in changes:
                raise _refusal(field, value, "given once")
            changes[field] = _parse_value(field, value)
        return preset.rules(**changes)

    def __str__(self) -> str:
        """The canonical text: a preset's name, or the nearest open preset and what differs from it."""
        for name, preset in PRESETS.items():
            if preset.admits(self.seats) and preset.rules() == self:
                return name
        candidates = [
            ",".join([name, *differences(self, PRESETS[name].rules())]) for name in OPEN_PRESETS
        ]
        return min(candidates, key=lambda text: text.count(","))


AXES: Final[Mapping[str, type[StrEnum]]] = MappingProxyType(
    {
        "ace": Ace,
        "king": King,
        "queen": Queen,
        "jack": Jack,
        "dealer": Dealer,
        "swapped_turn": SwappedTurn,
        "refusal": Refusal,
        "penalty": Penalty,
        "pairs": Pairs,
        "ties": Ties,
        "final_tie": FinalTie,
        "direction": Direction,
        "game": Length,
    }
)
"""The fields of :class:`Rules` that choose one of several named values."""

FIELDS: Final = tuple(field.name for field in dataclasses.fields(Rules))


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A named rule set: where it is described, what it changes, and how many it seats."""

    name: str
    source: str
    summary: str
    changes: Mapping[str, Any]
    fewest: int = 2
    most: int | None = None

    def admits(self, seats: int) -> bool:
        """Whether the preset's source describes a table of so many seats."""
        return self.fewest <= seats and (self.most is None or seats <= self.most)

    def rules(self, **changes: Any) -> Rules:
        """The preset's rules with some fields changed.

        Raises:
            RulesError: also when the preset's source does not allow so many seats.
        """
        rules = Rules(**{**self.changes, **changes})
        if not self.admits(rules.seats):
            accepted = (
                f"{self.fewest}" if self.fewest == self.most else f"{self.fewest} to {self.most}"
            )
            raise _refusal("seats", rules.seats, f"{accepted} with rules {self.name}")
        return rules


_STANDARD: Final = {"final_tie": "replay", "first_dealer": "cut"}


def _standard(name: str, summary: str, **changes: Any) -> Preset:
    return Preset(
        name=name, source="CatsAtCards", summary=summary, changes={**_STANDARD, **changes}
    )


def _chase(name: str, source: str, summary: str, **changes: Any) -> Preset:
    return Preset(name=name, source=source, summary=summary, changes=changes)


_ROWS: Final = (
    Preset(
        name="cuckoo",
        source="Cuckoo card",
        summary="three lives, kings block, joint winners",
        changes={},
        fewest=3,
        most=10,
    ),
    _standard("standard", "three tokens, kings block, a final tie is replayed"),
    _standard("multiple-tokens", "four tokens instead of three", lives=4),
    _standard("alternate-exchange", "a seat made to swap loses its turn", swapped_turn="lost"),
    _standard("king-variation-1", "kings have no power", king="plain"),
    _standard("king-variation-2", "the first king shown ends all trading", king="ends_trading"),
    _standard("queen-rule", "a queen sends the asker to its other side", queen="redirects"),
    _standard("aces-high", "aces rank above kings", ace="high"),
    _standard("jack-rule", "jacks may block, kings do not", king="plain", jack="may_block"),
    _standard(
        "onesies",
        "five tokens, pay one to refuse, the lowest pay together",
        lives=5,
        refusal="fee",
        penalty="shared",
    ),
    _standard("full-rotation", "the dealer asks the first seat", dealer="rotation"),
    _chase("chase-the-ace", "Chase the Ace", "three lives, kings block, the pot is shared"),
    Preset(
        name="four-lives",
        source="Chase the Ace",
        summary="four lives, up to 26 seats",
        changes={"lives": 4},
        fewest=3,
        most=26,
    ),
    _chase("kings-traded", "Chase the Ace", "kings are traded like any card", king="plain"),
    _chase("kings-face-up", "Chase the Ace", "a dealt king stops the deal", king="stops_deal"),
    _chase("kings-stop-trading", "Chase the Ace", "a shown king ends trading", king="ends_trading"),
    _chase("queens-redirect", "Chase the Ace", "queens redirect a request", queen="redirects"),
    _chase("jacks-block", "Chase the Ace", "jacks block as kings do", jack="blocks"),
    _chase("pairs-safe", "Chase the Ace", "ranks held twice are safe", pairs="safe"),
    Preset(
        name="practice-table",
        source="practice table",
        summary="you, Robin and Alex; Alex deals first",
        changes={"final_tie": "replay", "first_dealer": 2},
        fewest=3,
        most=3,
    ),
    _chase("open-kings", "house rule", "dealt kings lie open and block", king="open"),
    _chase("one-round", "this project", "one deal, a stake for every life lost", game="round"),
    Preset(
        name="le-her",
        source="18th century",
        summary="two seats, one life, the dealer wins ties",
        changes={"seats": 2, "lives": 1, "ties": "first"},
        fewest=2,
        most=2,
    ),
)

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({row.name: row for row in _ROWS})
"""The named rule sets, in the order of their sources."""

OPEN_PRESETS: Final = ("standard", "chase-the-ace")
"""The two presets that seat any number: what canonical text starts from."""


def default_decks(seats: int) -> int:
    """One pack up to 26 seats, then one for every 26 or part of it."""
    return max(1, math.ceil(seats / 26))


def _refusal(field: str, value: object, accepted: str) -> RulesError:
    return RulesError(f"{field}: {value!s} is refused; accepted: {accepted}")


def _check_field(name: str) -> None:
    if name not in FIELDS:
        raise _refusal("field", name, f"one of: {', '.join(FIELDS)}")


def _member(name: str, axis: type[StrEnum], value: object) -> StrEnum:
    if value not in list(axis):
        raise _refusal(name, value, f"one of: {', '.join(axis)}")
    return axis(str(value))


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int, most: int | None) -> int:
    accepted = f"a whole number from {least}" + ("" if most is None else f" to {most}")
    if not _is_whole(value):
        raise _refusal(name, value, accepted)
    number = int(value)
    if number < least or (most is not None and number > most):
        raise _refusal(name, value, accepted)
    return number


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0) or isinstance(value, bool | str):
        raise _refusal(name, value, "a number above 0")
    return number


def _parse_value(field: str, text: str) -> Any:
    """The value a text stands for; what it cannot read it passes on, for the constructor to refuse."""
    if field in AXES:
        return text
    if field == "max_rounds" and text == "none":
        return None
    try:
        return float(text) if field == "stake" else int(text)
    except ValueError:
        return text


def differences(rules: Rules, base: Rules) -> list[str]:
    """The settings that turn ``base`` into ``rules``, such as ``lives=4``, in the order of the fields."""
    ours, theirs = rules.fields(), base.fields()
    theirs["decks"] = default_decks(rules.seats)
    return [f"{name}={_value_text(value)}" for name, value in ours.items() if value != theirs[name]]


def _value_text(value: str | float | None) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return "none" if value is None else str(value)
