"""Agents that are data, so that compiled loops can play them.

A *seat plan* says who plays: one :data:`PLAYER` record a seat. ``OUTSIDE`` is played by the caller; the other
kinds are dispatched here by one compiled function whose only inputs are the encoded observation, the
action mask and one random number. It never sees the game, so such an agent knows what any agent knows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import KING, N_RANKS
from cuckoo_env.compiled import entry, helper, routine
from cuckoo_env.engine import ACCEPT, KEEP, SHOW, SWAP, random_word

OUTSIDE: Final = 0
RANDOM: Final = 1
THRESHOLD: Final = 2

PLAYER: Final = np.dtype(
    (np.record, np.dtype([("kind", "i4"), ("swaps", "u4"), ("dealer_asks", "i4")]))
)
"""A data agent: its kind, and for a threshold bot the ranks it swaps, as bits ``1 << rank``, and whether
its swap as dealer asks a seat (it has no stock to draw from)."""


@routine
def uniform(dice: Any, i: int) -> float:
    """The next random number, from 0 up to 1, of the dice of game ``i``: 32 bits do for a choice."""
    return float(random_word(dice[i])) / 4294967296.0


@routine
def choose(player: Any, layout: Any, observation: Any, mask: Any, i: int, luck: float) -> int:
    """The action of a data agent that sees row ``i`` of the observations and masks."""
    if int(player.kind) == THRESHOLD:
        return _choose_threshold(player, layout, observation, mask, i)
    return _choose_random(mask, i, luck)


@helper
def _choose_random(mask: Any, i: int, luck: float) -> int:
    """Each legal action equally likely."""
    legal = 0
    for action in range(mask.shape[1]):
        legal += int(mask[i, action])
    nth = int(luck * legal)
    for action in range(mask.shape[1]):
        if mask[i, action]:
            if nth == 0:
                return action
            nth -= 1
    return KEEP


@helper
def _choose_threshold(player: Any, layout: Any, observation: Any, mask: Any, i: int) -> int:
    """Swap the low ranks, unless the seat to be asked shows a king; asked, show if possible, else accept."""
    if not mask[i, KEEP]:
        return SHOW if mask[i, SHOW] else ACCEPT
    if not mask[i, SWAP]:
        return KEEP
    deals = observation[i, int(layout.dealer)] > 0
    if (player.dealer_asks or not deals) and _faces_a_shown_king(layout, observation, i):
        return KEEP
    for rank in range(1, N_RANKS + 1):
        if observation[i, int(layout.known) + rank - 1] > 0:
            return SWAP if int(player.swaps) >> rank & 1 else KEEP
    return KEEP


@helper
def _faces_a_shown_king(layout: Any, observation: Any, i: int) -> bool:
    """Whether the nearest seat still in, on the left, holds a king that lies open."""
    for seat in range(1, int(layout.max_seats)):
        if observation[i, int(layout.in_play) + seat] > 0:
            king = int(layout.known) + seat * N_RANKS + KING - 1
            return bool(observation[i, int(layout.shown) + seat] * observation[i, king] > 0)
    return False


@entry
def choose_many(
    players: Any, which: Any, layout: Any, observation: Any, mask: Any, luck: Any, actions: Any
) -> None:
    """Let ``players[which[i]]`` choose ``actions[i]`` for every row ``i``."""
    for i in range(actions.shape[0]):
        actions[i] = choose(players[which[i]], layout[0], observation, mask, i, luck[i])


@entry
def roll(dice: Any, rows: Any, out: Any) -> None:
    """The next random number of each game in ``rows``, from its own dice."""
    for k in range(rows.shape[0]):
        out[k] = uniform(dice, rows[k])


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
