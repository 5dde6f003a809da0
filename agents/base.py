"""What an agent is: something that maps what a seat sees to the chances of its actions."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from cuckoo_env.observation import Layout


class AgentError(ValueError):
    """An agent that is refused; the message names its spec and what is accepted."""


class Agent(Protocol):
    """Anything that can sit at a table: it sees what its seat sees, and nothing else.

    Attributes:
        name: the spec it was made from, such as ``robin`` or ``threshold:5``.
    """

    @property
    def name(self) -> str:
        """The spec it was made from."""

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """The chance of every action, for many seats to act at once.

        Args:
            observations: (n, layout.size) float32, what each seat sees.
            masks: (n, layout.n_actions) int8, 1 for each legal action, one at least in a row.
            layout: the layout of the observations.

        Returns:
            (n, layout.n_actions) float64; rows sum to one, illegal actions have zero.
        """

    def player(self) -> np.void | None:
        """Its :data:`~cuckoo_env.autoplay.PLAYER` record if it is data, else None."""


def sample(
    probabilities: npt.NDArray[np.float64], luck: npt.NDArray[np.float64]
) -> npt.NDArray[np.int8]:
    """Draw an action a row: the first whose cumulated chance exceeds the row's luck.

    With the same luck this is what compiled loops draw for the random bot.

    Args:
        probabilities: (n, actions) float64, not negative; rows need to sum to one only nearly.
        luck: (n,) float64 from 0 to 1 (exclusive).

    Returns:
        (n,) int8 actions, never one of chance zero.

    Example:
        >>> sample(np.array([[0.25, 0.75], [0.25, 0.75]]), np.array([0.2, 0.3])).tolist()
        [0, 1]
    """
    cumulated = probabilities.cumsum(axis=1)
    # Rounding may leave the last sum a little under one: luck is measured against what there is.
    reached = cumulated > (luck * cumulated[:, -1])[:, None]
    actions: npt.NDArray[np.int8] = reached.argmax(axis=1).astype(np.int8)
    return actions
