"""The quick reference of a rule set, as plain data: what a page prints for the table side.

What holds under all rules is said here in a few lines; everything that differs between rule sets comes
from :mod:`cuckoo_env.explain`, and the order of the ranks from the compiled rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from cuckoo_env import explain
from cuckoo_env.cards import N_RANKS, rank_text
from cuckoo_env.engine import compile_rules
from cuckoo_env.rules import Length, Rules

_AIM: Final = "Do not be left with the lowest card."
_DEAL: Final = "Each seat still in gets one card, which it alone looks at; the rest is the stock."
_TURN: Final = (
    "From the seat after the dealer on, each has one turn: it keeps its card, or asks the next seat "
    "still in to swap, unseen."
)
_REVEAL: Final = "Then all cards are shown together, and the next seat still in deals afresh."


def reference(rules: Rules, title: str) -> dict[str, Any]:
    """The quick reference of a rule set.

    Args:
        rules: the rules.
        title: what they are called (:func:`cuckoo_env.explain.title`).

    Returns:
        ``title``, and ``sections``: for each a ``heading`` and ``lines``, full sentences.

    Example:
        >>> sheet = reference(Rules.parse("practice-table"), "practice table")
        >>> sheet["title"]
        'Cuckoo: practice table'
        >>> [section["heading"] for section in sheet["sections"]]
        ['Aim', 'Deal', 'Ranks', 'Turns', 'Special cards', 'Reveal', 'End']
    """
    return {
        "title": f"Cuckoo: {title}",
        "sections": [
            {"heading": heading, "lines": lines} for heading, lines in _sections(rules) if lines
        ],
    }


def _sections(rules: Rules) -> Iterator[tuple[str, list[str]]]:
    said = explain.sentences_at_table(rules)
    differing = explain.special(rules)

    def told(*fields: str) -> list[str]:
        return [said[name] for name in fields if name in said]

    def told_if_special(*fields: str) -> list[str]:
        return [said[name] for name in fields if name in differing]

    yield "Aim", [_AIM, *told("game")]
    yield "Deal", [_DEAL, *told("lives", "decks", "first_dealer")]
    yield "Ranks", [f"From low to high: {_ladder(rules)}."]
    yield "Turns", [_TURN, *told("direction", "swapped_turn", "refusal", "dealer")]
    yield "Special cards", [*told("king"), *told_if_special("queen", "jack")]
    yield "Reveal", [_REVEAL, *told("pairs", "penalty", "ties")]
    ends = [] if rules.game is Length.ROUND else told("final_tie")
    yield "End", [*ends, *told_if_special("max_rounds"), *told("stake")]
    yield "Taken together", explain.together(rules)


def _ladder(rules: Rules) -> str:
    strength = compile_rules(rules)["strength"][0]
    ranks = sorted(range(1, N_RANKS + 1), key=lambda rank: int(strength[rank]))
    return " ".join(rank_text(rank) for rank in ranks)
