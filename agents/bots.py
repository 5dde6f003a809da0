"""The bots: simple agents that are plain data, so that compiled loops play them at full speed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.autoplay import PLAYER, RANDOM, THRESHOLD, choose_many
from cuckoo_env.cards import N_RANKS
from cuckoo_env.engine import compile_rules
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Dealer, Rules

THRESHOLDS: Final = {"naive": 0, "robin": 6, "alex": 7}
"""The threshold bots that have a name, and how many of the lowest ranks each swaps."""


class RandomBot:
    """Takes each legal action with the same chance.

    Attributes:
        name: the spec it was made from.
    """

    def __init__(self, name: str = "random") -> None:
        self.name = name

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """Equal chances for the legal actions: see :class:`~cuckoo_env.agents.Agent`."""
        del observations, layout  # it does not look
        chances = masks.astype(np.float64)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def player(self) -> np.void:
        players = np.zeros(1, PLAYER)
        players["kind"] = RANDOM
        record: np.void = players[0]
        return record


class ThresholdBot:
    """Swaps low ranks and keeps the others, but does not ask a neighbour whose king lies open.

    It decides from its own card, whether it deals, and kings that are shown. Asked by another
    seat, it shows its card if it can and else accepts.

    Attributes:
        name: the spec it was made from.
        swaps: the ranks (1 ace to 13 king) that it swaps, the lowest first.
    """

    def __init__(self, name: str, swapped_ranks: int, rules: Rules) -> None:
        """Make the bot.

        Args:
            name: the spec it is made from.
            swapped_ranks: how many of the lowest ranks it swaps, 0 to 13; with the ace high the
                lowest are the two, the three, …
            rules: the rules of the table, which order the ranks.
        """
        self.name = name
        strength = compile_rules(rules)["strength"][0]
        order = sorted(range(1, N_RANKS + 1), key=lambda rank: int(strength[rank]))
        self.swaps = tuple(order[:swapped_ranks])
        self._players = np.zeros(1, PLAYER)
        self._players["kind"] = THRESHOLD
        self._players["swaps"] = sum(1 << rank for rank in self.swaps)
        self._players["dealer_asks"] = rules.dealer is Dealer.ROTATION

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """One for the action it takes: see :class:`~cuckoo_env.agents.Agent`."""
        rows = len(masks)
        actions = np.zeros(rows, np.int8)
        which, luck = np.zeros(rows, np.intp), np.zeros(rows)
        arrays = (_as_compiled(observations, np.float32), _as_compiled(masks, np.int8))
        choose_many(self._players, which, layout.offsets, *arrays, luck, actions)
        chances = np.zeros(masks.shape)
        chances[np.arange(rows), actions] = 1.0
        return chances

    def player(self) -> np.void:
        record: np.void = self._players[0]
        return record


def _as_compiled(array: npt.NDArray[Any], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """The array in the one form that is compiled for: of this type, in rows, and writable."""
    return np.require(array, dtype, ["C", "W"])
