"""Ranks, suits and the text form of cards.

A card is a whole number from 0 to 51, ``4 * (rank - 1) + suit``; a rank is 1 (ace) to 13 (king) and
0 stands for "unknown". Suits never matter in play; they are kept so that a record names real cards.
"""

from __future__ import annotations

from typing import Final

RANKS: Final = "A23456789TJQK"
"""Rank characters, lowest first; rank 1 is ``RANKS[0]``."""
SUITS: Final = "cdhs"
"""Suit characters: clubs, diamonds, hearts, spades."""

N_RANKS: Final = len(RANKS)
N_SUITS: Final = len(SUITS)
PACK: Final = N_RANKS * N_SUITS
"""Cards in one pack: 52."""

UNKNOWN: Final = 0
"""The rank nobody has: what is written where a card is not known."""
ACE: Final = 1
JACK: Final = 11
QUEEN: Final = 12
KING: Final = 13

RANK_NAMES: Final = (
    "ace", "two", "three", "four", "five", "six", "seven",
    "eight", "nine", "ten", "jack", "queen", "king",
)  # fmt: skip
_SUIT_SYMBOLS: Final = "♣♦♥♠"


def rank_of(card: int) -> int:
    """The rank (1 to 13) of a card (0 to 51)."""
    return card // N_SUITS + 1


def card_text(card: int) -> str:
    """The card in record notation: ``card_text(5) == "2d"``."""
    return RANKS[card // N_SUITS] + SUITS[card % N_SUITS]


def card_symbol(card: int) -> str:
    """The card as a person reads it: ``card_symbol(5) == "2♦"``, tens as ``10``."""
    return rank_text(rank_of(card)) + _SUIT_SYMBOLS[card % N_SUITS]


def rank_text(rank: int) -> str:
    """The rank as a person reads it: ``A``, ``2`` … ``10``, ``J``, ``Q``, ``K``."""
    return "10" if rank == 10 else RANKS[rank - 1]


def parse_card(text: str) -> int:
    """The card that ``text`` (record notation, such as ``"Td"``) names.

    Raises:
        ValueError: if ``text`` is not a rank of ``A23456789TJQK`` and a suit of ``cdhs``.
    """
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise ValueError(
            f"card: {text!r} is not a card; write a rank of {RANKS} and a suit of {SUITS}, such as 'Td'"
        )
    return RANKS.index(text[0]) * N_SUITS + SUITS.index(text[1])
