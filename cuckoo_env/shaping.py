"""Rewards on the way to the end of a game, shaped so that they sum up to the return."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def lives_potential(lives: npt.NDArray[np.floating[Any] | np.integer[Any]]) -> npt.NDArray[Any]:
    """What every seat would take, in stakes, if it won by its share of all lives.

    Zero for all where all have the same lives, as at the start of a game, and it always sums to zero. Rewards
    that are its changes, with the rest of the return at the end of the game, sum up to the return and leave
    the best play as it is (Ng, Harada and Russell 1999: potential-based shaping).

    Args:
        lives: (…, seats), the lives of each seat, in any unit; somebody has some.

    Returns:
        (…, seats), of the lives' type if that is a floating one, else float64.

    Example:
        >>> lives_potential(np.array([3, 3, 0])).tolist()
        [0.5, 0.5, -1.0]
    """
    potential: npt.NDArray[Any] = lives.shape[-1] * lives / lives.sum(axis=-1, keepdims=True) - 1
    return potential
