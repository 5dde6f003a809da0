"""Whom a person can play against, and what they are called.

An agent's spec may name a file of the machine that serves the table. Clients are told its *label*
instead, and can ask for labels only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from cuckoo_env import agents
from cuckoo_env.agents import KINDS, Agent, AgentError
from cuckoo_env.agents.specs import Kind
from cuckoo_env.evaluate.match import is_solvable
from cuckoo_env.rules import Rules

DEFAULT: Final = "robin,alex"
"""The opponents at the practice table."""

_FILES: Final = {"PATH", "FILE"}
"""What stands for a file in the forms of specs."""


def names_a_file(kind: Kind) -> bool:
    """Whether specs of a kind name a file."""
    return kind.form.rpartition(":")[2] in _FILES


@dataclass(frozen=True, kw_only=True)
class Opponent:
    """An agent that is offered as an opponent.

    Attributes:
        spec: what :func:`cuckoo_env.agents.parse` reads; never told to clients, as it may name a file.
        label: what clients call it: the spec, with no more of a file than its own name.
        summary: what it does, for the menu.
    """

    spec: str
    label: str
    summary: str

    @classmethod
    def of(cls, spec: str) -> Opponent:
        """The opponent that plays a spec, which need not be one that exists."""
        kind = KINDS.get(spec.strip().partition(":")[0])
        summary = "" if kind is None else kind.summary
        if kind is not None and names_a_file(kind):
            summary = summary.partition(":")[0]
        return cls(spec=spec.strip(), label=_label(spec), summary=summary)

    @property
    def name(self) -> str:
        """What it is called at the table: ``Robin``, ``Threshold 5``."""
        kind, _, argument = self.label.partition(":")
        known = KINDS.get(kind)
        if known is not None and names_a_file(known):
            # A trained policy is called by its file alone, unless another agent has that name.
            is_clear = kind == "policy" and _as_name(argument) not in map(_as_name, KINDS)
            return _as_name(argument) if is_clear else f"{_as_name(argument)} ({kind})"
        words = _as_name(kind)
        return f"{words} {argument}" if argument.isdigit() else words


def _label(spec: str) -> str:
    """The spec with no file but by its own name, also where it names other agents."""
    name, colon, argument = spec.strip().partition(":")
    kind = KINDS.get(name)
    if kind is None:
        return PurePath(spec.strip()).name
    if names_a_file(kind):
        argument = PurePath(argument).stem or "unnamed"
    elif not argument.isalnum():
        argument = ",".join(_label(part) for part in argument.split(",") if part)
    return f"{name}{colon}{argument}"


def _as_name(word: str) -> str:
    words = word.replace("-", " ").replace("_", " ").strip() or "Agent"
    return words[0].upper() + words[1:]


def read(against: str, rules: Rules, seat: int) -> tuple[Opponent, ...]:
    """The opponents that a text of specs with commas between names, in all seats but one.

    Raises:
        AgentError: as :func:`cuckoo_env.agents.fill`.
    """
    return tuple(Opponent.of(agent.name) for agent in agents.fill(against, rules, seat))


@functools.lru_cache(maxsize=64)
def seated(rules: Rules, specs: tuple[str, ...], seat: int) -> tuple[Agent, ...]:
    """The agents in all seats but a person's, ascending; tables with the same line-up share them.

    Raises:
        AgentError: as :func:`cuckoo_env.agents.fill`.
    """
    return tuple(agents.fill(specs, rules, seat))


_WHY_NOT: Final = {
    "equilibrium": "comes with no solved table for these rules",
    "table": "was solved for other rules",
}
"""Why agents of a kind are refused, of those that were not trained."""


@functools.lru_cache(maxsize=1024)
def unplayable(opponent: Opponent, rules: Rules) -> str | None:
    """Why an opponent cannot play some rules, in a sentence; None if it can. Nothing is solved for it."""
    kind, _, argument = opponent.spec.partition(":")
    if kind == "best-response":
        return _no_best_response(opponent, argument.split(","), rules)
    try:
        agents.parse(opponent.spec, rules)
    except AgentError:
        why = _WHY_NOT.get(kind, "was trained for other rules, or for other numbers of seats")
        return f"{opponent.name} {why}."
    return None


def _no_best_response(opponent: Opponent, named: Sequence[str], rules: Rules) -> str | None:
    """Why there is no best response to the named agents under some rules; None if there is one."""
    if len(named) != rules.seats - 1:
        return f"{opponent.name} is made for a table of {len(named) + 1} seats."
    if not is_solvable(rules):
        return f"{opponent.name} cannot be worked out at so large a table."
    whys = (unplayable(Opponent.of(spec), rules) for spec in named)
    return next((why for why in whys if why is not None), None)


def names_of(person: str, seat: int, opponents: Sequence[Opponent]) -> tuple[str, ...]:
    """What every seat is called; a name that is taken already gets a number.

    Args:
        person: the person's name.
        seat: the person's seat.
        opponents: those in the other seats, ascending.
    """
    taken = {person.casefold()}
    names = []
    for opponent in opponents:
        name, number = opponent.name, 1
        while name.casefold() in taken:
            number += 1
            name = opponent.name
            name = f"{name} ({number})" if name[-1].isdigit() else f"{name} {number}"
        taken.add(name.casefold())
        names.append(name)
    names.insert(seat, person)
    return tuple(names)
