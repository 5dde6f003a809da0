"""Agents by name: one parser for every command.

A spec is a kind, or ``kind:argument``: ``robin``, ``threshold:5``, ``policy:runs/x``. :data:`KINDS`
is the whole list of kinds.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from cuckoo_env.agents import policy, table
from cuckoo_env.agents.base import Agent, AgentError
from cuckoo_env.agents.bots import THRESHOLDS, RandomBot, ThresholdBot
from cuckoo_env.cards import N_RANKS
from cuckoo_env.rules import Rules

Make = Callable[[str, str, Rules, int | None], Agent]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of agent: how it is written, what it does, and how one is made.

    Attributes:
        form: how its spec is written, such as ``threshold:T``.
        summary: what it does, in a few words.
        make: from the spec, what stands behind its colon ("" if there is none), the rules, and the seat,
            if it is known.
    """

    form: str
    summary: str
    make: Make

    @property
    def takes_argument(self) -> bool:
        """Whether its spec goes on behind a colon."""
        return ":" in self.form


def _make_random(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del argument, rules, seat
    return RandomBot(spec)


def _make_named_threshold(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del argument, seat
    return ThresholdBot(spec, THRESHOLDS[spec], rules)


_COUNTS: Final = tuple(map(str, range(N_RANKS + 1)))
"""How many ranks a threshold can swap, as it is written."""


def names_a_threshold(spec: str) -> bool:
    """Whether a spec is that of a bot that is made from a number alone: ``threshold:5``."""
    kind, _, argument = spec.partition(":")
    return kind == "threshold" and argument in _COUNTS


def _make_threshold(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del seat
    if argument not in _COUNTS:
        raise _refusal(spec, f"threshold:T, where T is a whole number from 0 to {N_RANKS}")
    return ThresholdBot(spec, int(argument), rules)


def _make_policy(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del seat
    return policy.PolicyAgent(argument, rules, name=spec)


def _make_shipped(folder: Path, spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del argument, seat
    return policy.PolicyAgent(folder / spec, rules, name=spec)


def shipped_kinds(folder: Path) -> dict[str, Kind]:
    """A kind for every policy in a folder, with the policy's name as its spec."""
    return {
        name: Kind(
            form=name,
            summary="a trained policy that comes with the package",
            make=functools.partial(_make_shipped, folder),
        )
        for name in policy.shipped(folder)
    }


def _make_equilibrium(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del argument, seat
    return table.shipped(rules, spec)


def _make_table(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    del seat
    return table.load(argument, rules, name=spec)


_PROVIDED: dict[str, Make] = {}
_PROVIDERS: Final = {"best-response": "cuckoo_env.evaluate"}
"""Kinds that need what stands above this package, and what provides them once it is imported."""


def provide(kind: str, make: Make) -> None:
    """Say how a kind of agent is made that needs what stands above this package."""
    _PROVIDED[kind] = make


def _make_provided(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    kind = spec.partition(":")[0]
    if kind not in _PROVIDED:
        importlib.import_module(_PROVIDERS[kind])
    return _PROVIDED[kind](spec, argument, rules, seat)


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "random": Kind(form="random", summary="takes any legal action", make=_make_random),
        "naive": Kind(form="naive", summary="always keeps", make=_make_named_threshold),
        "robin": Kind(
            form="robin", summary="swaps the six lowest ranks", make=_make_named_threshold
        ),
        "alex": Kind(
            form="alex", summary="swaps the seven lowest ranks", make=_make_named_threshold
        ),
        "threshold": Kind(
            form="threshold:T", summary="swaps the T lowest ranks (0 to 13)", make=_make_threshold
        ),
        "equilibrium": Kind(
            form="equilibrium",
            summary="plays a solved table that comes with the package",
            make=_make_equilibrium,
        ),
        **shipped_kinds(policy.SHIPPED),
        "table": Kind(form="table:FILE", summary="plays a table of cuckoo solve", make=_make_table),
        "best-response": Kind(
            form="best-response:AGENT,...",
            summary="wins as much as can be won against these agents in the other seats, exactly",
            make=_make_provided,
        ),
        "policy": Kind(
            form="policy:PATH",
            summary="a trained policy: its run folder or file",
            make=_make_policy,
        ),
    }
)
"""Every kind of agent, by the first word of its spec."""

BOTS: Final = tuple(name for name, kind in KINDS.items() if not kind.takes_argument)
"""The specs that are complete as they stand."""


def parse(spec: str, rules: Rules, seat: int | None = None) -> Agent:
    """The agent that a spec names, ready for a table with these rules.

    Args:
        spec: a kind, or ``kind:argument``.
        rules: the rules of the table.
        seat: the seat it is to sit in, for kinds that are made for one.

    Raises:
        AgentError: naming the spec and what is accepted; also for a policy that does not fit.

    Example:
        >>> parse("threshold:3", Rules.parse("aces-high")).swaps
        (2, 3, 4)
    """
    name, colon, argument = spec.strip().partition(":")
    kind = KINDS.get(name)
    if kind is None or kind.takes_argument != bool(argument) or bool(colon) != bool(argument):
        raise _refusal(spec, ", ".join(each.form for each in KINDS.values()))
    return kind.make(spec.strip(), argument, rules, seat)


def lineup(specs: str | Sequence[str], rules: Rules) -> list[Agent]:
    """An agent for every seat; equal specs share one agent.

    Args:
        specs: one spec a seat, as a sequence or as text with commas between.
        rules: the rules of the table.

    Raises:
        AgentError: for a spec that is refused, or if there is not one for every seat.
    """
    named = _split(specs, rules)
    if len(named) != rules.seats:
        raise AgentError(
            f"agents: {len(named)} are refused; accepted: {rules.seats}, one a seat of {rules}"
        )
    return _parse_all(named, rules, range(rules.seats))


def fill(against: str | Sequence[str], rules: Rules, seat: int | None) -> list[Agent]:
    """The agents for all seats but one, in ascending order of seats.

    Fewer specs than seats are taken again from the first.

    Args:
        against: the specs, as a sequence or as text with commas between.
        rules: the rules of the table.
        seat: the seat that is left free; None if it differs from game to game.

    Raises:
        AgentError: for a spec that is refused, or if there are more than seats.

    Example:
        >>> [agent.name for agent in fill("robin,alex", Rules(seats=4), 0)]
        ['robin', 'alex', 'robin']
    """
    named, others = _split(against, rules), rules.seats - 1
    if not 1 <= len(named) <= others:
        free = "all but the free one" if seat is None else f"all but seat {seat}"
        raise AgentError(
            f"against: {len(named)} agents are refused; "
            f"accepted: 1 to {others}, for {free} of {rules}"
        )
    seats: list[int | None] = [None] * others
    if seat is not None:
        seats = [each for each in range(rules.seats) if each != seat]
    return _parse_all([named[k % len(named)] for k in range(others)], rules, seats)


def _split(specs: str | Sequence[str], rules: Rules) -> list[str]:
    """The single specs; in a text, those that name all other seats' agents keep their commas."""
    if not isinstance(specs, str):
        return [part.strip() for part in specs]
    parts, whole = specs.split(","), []
    while parts:
        takes = rules.seats - 1 if parts[0].strip().partition(":")[0] in _PROVIDERS else 1
        whole.append(",".join(part.strip() for part in parts[:takes]))
        del parts[:takes]
    return whole


def _parse_all(specs: Sequence[str], rules: Rules, seats: Sequence[int | None]) -> list[Agent]:
    """An agent for each spec; those that are not made for one seat are shared."""
    made: dict[tuple[str, int | None], Agent] = {}
    agents = []
    for spec, seat in zip(specs, seats, strict=True):
        key = (spec, seat if spec.partition(":")[0] in _PROVIDERS else None)
        if key not in made:
            made[key] = parse(spec, rules, seat)
        agents.append(made[key])
    return agents


def _refusal(spec: str, accepted: str) -> AgentError:
    return AgentError(f"agent: {spec!r} is refused; accepted: {accepted}")
