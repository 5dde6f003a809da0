"""Seeds: one whole number starts one game, the same on every platform.

A batch derives one seed for each of its games from the index, so results never depend on the order of
execution: game ``i`` of a batch seeded with ``s`` is the single game seeded with ``derive(s, i)``.
The mixing function is SplitMix64's (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014).
"""

from __future__ import annotations

import secrets
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_WORD: Final = 2**64
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)

CARDS: Final = 0
"""The stream of a game's own chance: the lot, the deals, the stock, the cuts."""
CHOICES: Final = 1
"""The stream from which agents that choose at random draw, kept apart from the cards."""


def check_seed(seed: Any) -> int:
    """The seed as an int; None asks the operating system for one.

    Raises:
        ValueError: for anything but None or a whole number from 0.
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or int(seed) < 0:
        raise ValueError(f"seed: {seed!r} is refused; accepted: a whole number from 0, or None")
    return int(seed)


def derive(seed: int, index: int) -> int:
    """The seed of game ``index`` of a batch seeded with ``seed``."""
    return int(derive_many(seed, index + 1, first=index)[0])


def derive_many(seed: int, stop: int, *, first: int = 0) -> npt.NDArray[np.uint64]:
    """The seeds of the games ``first`` to ``stop - 1`` of a batch: uint64."""
    index = np.arange(first + 1, stop + 1, dtype=np.uint64)
    return _mix(fold(seed) + index * _GOLDEN)


def generator_words(seeds: npt.NDArray[np.uint64], stream: int) -> npt.NDArray[np.uint32]:
    """The generator state that each seed starts, for one stream: (seeds, 2) uint32, never both zero."""
    with np.errstate(over="ignore"):
        mixed = _mix(_mix(seeds) + np.uint64(stream) * _GOLDEN)
    halves = [mixed >> np.uint64(32), mixed & np.uint64(0xFFFFFFFF)]
    words: npt.NDArray[np.uint32] = np.stack(halves, axis=1).astype(np.uint32)
    words[(words == 0).all(axis=1), 1] = 1
    return words


def generator_for(seed: int, stream: int) -> npt.NDArray[np.uint32]:
    """The generator state of a single game: two uint32 words."""
    folded = seed if seed < _WORD else int(fold(seed)[0])
    return generator_words(np.array([folded], np.uint64), stream).reshape(2)


def fold(seed: int) -> npt.NDArray[np.uint64]:
    """A whole number of any size mixed into one 64-bit word."""
    words = [seed % _WORD]
    while seed >= _WORD:
        seed //= _WORD
        words.append(seed % _WORD)
    folded = np.zeros(1, np.uint64)
    for word in reversed(words):  # the highest first: it is never zero, so no zero below it is lost
        folded = _mix(folded ^ np.uint64(word))
    return folded


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser; array arithmetic wraps around silently."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
