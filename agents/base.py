"""What an agent is: something that maps what a seat sees to the chances of its actions."""

from __future__ import annotations

from typing import Final, Protocol

from cuckoo_env.learner import Opponent

MAY_DIFFER: Final = {"first_dealer": "lot", "direction": "left", "stake": 1}
"""Fields of the rules that a policy or a table need not match, with the value that stands for any: it sees
who deals, its seats are relative, and the stake scales all returns alike."""


class AgentError(ValueError):
    """An agent that is refused; the message names its spec and what is accepted."""


class Agent(Opponent, Protocol):
    """Anything that can sit at a table: it sees what its seat sees, and nothing else.

    What it must offer beside its name is an :class:`~cuckoo_env.learner.Opponent`'s.
    """

    @property
    def name(self) -> str:
        """The spec it was made from, such as ``robin`` or ``threshold:5``."""
