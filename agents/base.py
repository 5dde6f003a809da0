"""What an agent is: something that maps what a seat sees to the chances of its actions."""

from __future__ import annotations

from typing import Protocol

from cuckoo_env.learner import Opponent


class AgentError(ValueError):
    """An agent that is refused; the message names its spec and what is accepted."""


class Agent(Opponent, Protocol):
    """Anything that can sit at a table: it sees what its seat sees, and nothing else.

    What it must offer beside its name is an :class:`~cuckoo_env.learner.Opponent`'s.
    """

    @property
    def name(self) -> str:
        """The spec it was made from, such as ``robin`` or ``threshold:5``."""
