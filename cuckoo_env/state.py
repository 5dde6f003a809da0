"""The full hidden state of a game as numbers, for critics that are trained with it and never play with it.

The layout is that of an observation (:data:`cuckoo_env.observation.FIELDS`) with :data:`TOP` behind it. It
differs in three ways: the blocks of the seats are in absolute order, seat 0 first; ``known`` is filled with
the rank that every seat holds, whoever has seen it; and the rank on top of the stock is in it. Whatever sees
this vector sees all hidden cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import N_RANKS
from cuckoo_env.engine import NO_CARD, rank_of_card
from cuckoo_env.game import Game
from cuckoo_env.observation import Field, Layout
from cuckoo_env.rules import Direction

TOP: Final = Field(
    name="top",
    per_seat=False,
    width=N_RANKS,
    encoding="one-hot",
    private=True,
    meaning="the rank on top of the stock, which nobody has seen; all zeros when the game is over",
)
"""The one field of a state that no observation has."""


@dataclass(frozen=True, kw_only=True)
class StateLayout(Layout):
    """The shape of a state: an observation's fields, and the top of the stock.

    Example:
        >>> from cuckoo_env.rules import Rules
        >>> layout = StateLayout.of(Rules.parse("practice-table"))
        >>> layout.size, layout.slices["top"]
        (125, slice(112, 125, None))
    """

    def fields(self) -> tuple[Field, ...]:
        """The fields of this layout."""
        return (*super().fields(), TOP)


def encode(game: Game, layout: Layout) -> npt.NDArray[np.float32]:
    """The state of a game.

    Args:
        game: the game.
        layout: the layout of the observations that go with it.

    Returns:
        (StateLayout.size,) float32 from 0 to 1: all hidden cards are in it.

    Raises:
        ValueError: for a layout that is too small for the rules.
    """
    full = StateLayout(
        max_seats=layout.max_seats, with_rules=layout.with_rules, n_actions=layout.n_actions
    )
    state = np.zeros(full.size, np.float32)
    state[: layout.size], _ = game.observe(0, layout)
    seats, g = game.rules.seats, game._games[0]  # the one reader of what no seat may see
    if game.rules.direction is Direction.RIGHT:
        # Seat 0 counts the others the other way round.
        for field in layout.fields():
            if field.per_seat:
                blocks = full.view(state, field.name)
                blocks[1:seats] = blocks[1:seats][::-1].copy()
    known = full.view(state, "known")
    known[:] = 0
    for seat in range(seats):
        _mark(known[seat], g["card"][seat])
    if game.seat is not None:
        _mark(full.view(state, "top"), g["top"])
    return state


def _mark(ranks: npt.NDArray[np.float32], card: Any) -> None:
    if card != NO_CARD:
        ranks[rank_of_card(int(card)) - 1] = 1
