"""The cheap random choice that every environment gets: ``legal[u[i] % len(legal)]``, ``u`` drawn before.

A generator call for each decision would cost more than many environments do, and hide how fast they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.compiled import SLICE, entry, in_slices, inlined, slice_done, take_slice

_A_PAIR: Final = 2
_DRAWN: Final = 2**16
ROWS: Final = 32
"""Steps of a batch for which choices are drawn; then they are used again."""


def draws(seed: int) -> Callable[[], int]:
    """Numbers drawn before, one at each call, over and over again."""
    drawn = np.random.default_rng(seed).integers(0, 2**31, _DRAWN).tolist()
    return itertools.cycle(drawn).__next__


def rows(seed: int, games: int) -> npt.NDArray[np.uint32]:
    """The same for a batch: (ROWS, games)."""
    return np.random.default_rng(seed).integers(0, 2**31, (ROWS, games), np.uint32)


class LegalActions(dict[bytes, list[int]]):
    """The legal actions for a mask of single bytes, each worked out once: ``legal[mask.tobytes()]``."""

    def __missing__(self, mask: bytes) -> list[int]:
        """Work out a mask that has not been seen yet."""
        self[mask] = np.flatnonzero(np.frombuffer(mask, np.int8)).tolist()
        return self[mask]


@entry
def _pick(shares: Any, masks: Any, drawn: Any, actions: Any) -> None:
    start = take_slice(shares)
    while start < actions.shape[0]:
        stop = min(start + SLICE, actions.shape[0])
        if masks.shape[1] == _A_PAIR:
            _pick_of_two(masks, drawn, actions, start, stop)
        else:
            _pick_of_many(masks, drawn, actions, start, stop)
        slice_done(shares, stop - start)
        start = take_slice(shares)


@inlined
def _pick_of_two(masks: Any, drawn: Any, actions: Any, start: int, stop: int) -> None:
    """The same choice without a division: the second action where the first is illegal or the number odd."""
    for i in range(np.uint64(start), np.uint64(stop)):
        actions[i] = masks[i, 1] & ((masks[i, 0] ^ 1) | (drawn[i] & 1))


@inlined
def _pick_of_many(masks: Any, drawn: Any, actions: Any, start: int, stop: int) -> None:
    for i in range(np.uint64(start), np.uint64(stop)):
        legal = np.uint32(0)
        for action in range(masks.shape[1]):
            legal += np.uint32(masks[i, action])
        k = np.int64(drawn[i] % legal)
        # The action with k legal ones before it: counted, for a branch would be guessed wrong.
        chosen, passed = 0, 0
        for action in range(masks.shape[1]):
            passed += np.int64(masks[i, action])
            chosen += np.int64(passed <= k)
        actions[i] = chosen


def pick(
    masks: npt.NDArray[np.int8],
    drawn: npt.NDArray[np.uint32],
    actions: npt.NDArray[np.int8],
    threads: int,
) -> None:
    """Choose in all games of a batch, on as many threads as the batch uses."""
    in_slices(lambda shares: _pick(shares, masks, drawn, actions), len(actions), threads)
