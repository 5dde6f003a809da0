"""What a run is asked to do: its arguments, and the table, seats and opponents that they name."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

import torch

from cuckoo_env.agents import Agent, fill
from cuckoo_env.learner import parse_seat
from cuckoo_env.rules import Rules

DEVICES: Final = ("cpu", "cuda", "auto")
A = TypeVar("A", bound="RunArguments")


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """What every run is asked to do; an algorithm's own ``Arguments`` add its settings to these.

    Attributes:
        rules: the rule set, such as ``practice-table`` or ``standard,seats=5``.
        seat: the learner's seat, or ``all`` for every seat in turn.
        against: the opponents in ascending order of seats, taken again from the first if they are
            few.
        minutes: how long to learn; give this or ``steps``. The time for the learning curve is not
            counted.
        steps: how many of the learner's decisions to learn from, rounded up to whole updates: on
            one machine the same seed gives the same policy.
        seed: starts the games, the network and the choices.
        target: stop early, as soon as a point of the learning curve has reached this: captured
            headroom or NashConv where they can be had exactly, else win share; None never does.
        curve_points: points of the learning curve, closer together at the start.
        curve_games: games played for each point at tables too large for exact values.
        checkpoint_minutes: how often the run is written down so that it can be resumed.
        device: where the networks are: ``cpu``, ``cuda``, or ``auto`` for the best there is.

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """

    rules: str = "practice-table"
    seat: str = "0"
    against: str = "robin,alex"
    minutes: float | None = None
    steps: int | None = None
    seed: int = 0
    target: float | None = None
    curve_points: int = 12
    curve_games: int = 20_000
    checkpoint_minutes: float = 1.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        """Refuse what cannot be run; an algorithm's own checks come after these."""
        if (self.minutes is None) == (self.steps is None):
            raise ValueError(
                "minutes, steps: both together, or neither, are refused; accepted: one of them"
            )
        for name in ("minutes", "checkpoint_minutes"):
            value = getattr(self, name)
            self.check(name, value is None or 0 < value < math.inf, "a number above 0")
        self.check("steps", self.steps is None or self.steps >= 1, "a whole number from 1")
        self.check("seed", 0 <= self.seed < 2**32, "0 to 4294967295")
        good = self.target is None or 0 < self.target < math.inf
        self.check("target", good, "a number above 0")
        self.check("curve_points", self.curve_points >= 2, "a whole number from 2")
        self.check("curve_games", self.curve_games >= 1, "a whole number from 1")
        self.check("device", self.device in DEVICES, ", ".join(DEVICES))

    def check(self, name: str, good: bool, accepted: str) -> None:
        """Refuse a field's value unless it is good.

        Raises:
            ValueError: naming the field, its value and what is accepted.
        """
        if not good:
            raise ValueError(f"{name}: {getattr(self, name)} is refused; accepted: {accepted}")


@dataclass(frozen=True, kw_only=True)
class Task:
    """A table to learn at: the rules, the learner's seats and the opponents.

    Attributes:
        rules: the rule set.
        seat: the learner's seat; None for all in turn.
        opponents: who plays the other seats, in ascending order of seats.
    """

    rules: Rules
    seat: int | None
    opponents: list[Agent]

    @classmethod
    def of(cls, arguments: RunArguments) -> Task:
        """Look up what the arguments name.

        Raises:
            ValueError: for rules, a seat or an opponent that cannot be used, naming it.
        """
        rules = Rules.parse(arguments.rules)
        seat = parse_seat(arguments.seat, rules)
        return cls(rules=rules, seat=seat, opponents=fill(arguments.against, rules, seat))

    @property
    def seats(self) -> list[int]:
        """The learner's seats."""
        return list(range(self.rules.seats)) if self.seat is None else [self.seat]

    @property
    def against(self) -> list[str]:
        """The opponents by name."""
        return [agent.name for agent in self.opponents]

    def lineups(self, agent: Agent) -> list[list[Agent]]:
        """The agent among the opponents, once for each of the learner's seats."""
        return [[*self.opponents[:seat], agent, *self.opponents[seat:]] for seat in self.seats]


def with_room(against: str, rules: Rules) -> list[Agent]:
    """The opponents that the text names at a table of which all seats are learned: as many as have room.

    Raises:
        ValueError: for an opponent that cannot be used, naming it.
    """
    return fill(against.split(",")[: rules.seats - 1], rules, None)


def torch_device(name: str) -> torch.device:
    """The device that a run's arguments name.

    Raises:
        ValueError: if it is not there.
    """
    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise ValueError("device: cuda is refused: torch finds none here; accepted: cpu, auto")
    return torch.device("cuda" if name != "cpu" and found else "cpu")


# -- Arguments from texts and files -------------------------------------------------------------


def read_arguments(kind: type[A], values: Mapping[str, Any]) -> A:
    """The arguments that values name, which may be texts, or come from a JSON file.

    Args:
        kind: the class of an algorithm's arguments.
        values: by the names of its fields; what is left out has its default.

    Raises:
        ValueError: for a name that is no field, or a value that is none of its kind, naming it.
    """
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    for name in values:
        if name not in names:
            raise ValueError(f"{name}: there is no such setting; accepted: {', '.join(names)}")
    return kind(**{name: _read(name, value, hints[name]) for name, value in values.items()})


def _read(name: str, value: Any, hint: Any) -> Any:
    """A value as what the field is: texts are read, all else must fit."""
    options = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and types.NoneType in options:
        return None
    kind = options[0]
    if get_origin(kind) is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, list | tuple):
            return tuple(_read(name, part, int) for part in parts)
    elif kind is int:
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif kind is float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                pass
    elif kind is bool:
        texts = {"true": True, "false": False, True: True, False: False}
        if isinstance(value, str | bool) and value in texts:
            return texts[value]
    elif isinstance(value, str):  # also one of several literal texts, which the class checks
        return value
    raise ValueError(f"{name}: {value!r} is refused; accepted: {_accepted(kind)}")


def _accepted(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "whole numbers with commas between, such as 128,128"
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "a text")
