"""Hypothesis strategies for rule sets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from cuckoo_env.cards import PACK
from cuckoo_env.rules import AXES, MAX_LIVES, MAX_ROUNDS, Rules

TABLES = st.integers(2, 10)
"""Seats of the tables that most tests play at."""


@st.composite
def fields(draw: st.DrawFn, seats: st.SearchStrategy[int] = TABLES) -> dict[str, Any]:
    """Every field of a rule set that can be played; all shrink towards the defaults."""
    chosen: dict[str, Any] = {
        name: draw(st.sampled_from([value.value for value in axis])) for name, axis in AXES.items()
    }
    if chosen["penalty"] == "shared" or chosen["pairs"] == "safe":
        chosen["ties"] = "all"
    chosen["seats"] = draw(seats)
    fewest = (chosen["seats"] + PACK) // PACK
    decks = st.sampled_from([0, *range(fewest, fewest + 3)])
    chosen["decks"] = draw(decks)
    chosen["lives"] = draw(st.sampled_from([3, 1, 2, 4, 5, MAX_LIVES]))
    chosen["stake"] = draw(st.sampled_from([1.0, 2.5, 0.1]) | _amounts())
    dealers = st.sampled_from(["lot", "cut"]) | st.integers(0, chosen["seats"] - 1)
    chosen["first_dealer"] = draw(dealers)
    if chosen["game"] == "match":
        chosen["max_rounds"] = draw(st.none() | st.integers(1, 12) | st.just(MAX_ROUNDS))
    return chosen


def _amounts() -> st.SearchStrategy[float]:
    return st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)


def rules(seats: st.SearchStrategy[int] = TABLES) -> st.SearchStrategy[Rules]:
    """Rule sets, any combination that can be played."""
    return fields(seats).map(lambda chosen: Rules(**chosen))


def tables(most_lives: int = 4) -> st.SearchStrategy[Rules]:
    """Rule sets for playing whole games: few lives, ordinary stakes, and an end within sight."""
    return rules().map(
        lambda each: each.replace(
            lives=min(each.lives, most_lives), stake=1.0 if each.stake > 1e6 else each.stake
        )
    )


def seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**64)
