"""Rule sets in plain sentences, generated from their fields.

One table has a sentence for every value of every axis, another one for what axes do together. No
preset is named here, so every combination can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from cuckoo_env.rules import (
    FIELDS,
    Ace,
    Dealer,
    Direction,
    FinalTie,
    FirstDealer,
    Jack,
    King,
    Length,
    Pairs,
    Penalty,
    Queen,
    Refusal,
    Rules,
    SwappedTurn,
    Ties,
)

CHOICES: Final[Mapping[str, Mapping[StrEnum, str]]] = MappingProxyType(
    {
        "ace": {
            Ace.LOW: "The ace is the lowest rank, the king the highest.",
            Ace.HIGH: "The ace ranks above the king; the two is the lowest.",
        },
        "king": {
            King.BLOCKS: "An asked king blocks: it is shown, both keep their cards, and the "
            "asker's turn is used up. A king on the stock blocks the dealer likewise.",
            King.PLAIN: "Kings have no power: they are swapped and drawn like any card.",
            King.ENDS_TRADING: "The first king shown to a request blocks it and ends all "
            "trading on that deal. A king on the stock only blocks the dealer.",
            King.STOPS_DEAL: "Dealt kings are turned up at once; if there is any, nobody trades "
            "on that deal. Otherwise a king on the stock blocks the dealer.",
            King.OPEN: "Dealt kings are turned up at once; they block, and their holders may "
            "only keep. A king on the stock blocks the dealer.",
        },
        "queen": {
            Queen.PLAIN: "Queens have no power.",
            Queen.REDIRECTS: "An asked queen is shown and sends the asker to the seat on its "
            "other side; a second queen there ends the attempt. A queen on the stock sends the "
            "dealer there too.",
        },
        "jack": {
            Jack.PLAIN: "Jacks have no power.",
            Jack.BLOCKS: "An asked jack is shown and blocks the request; on the stock it has no "
            "power.",
            Jack.MAY_BLOCK: "The holder of an asked jack may show it to block the request; on "
            "the stock it has no power.",
        },
        "dealer": {
            Dealer.STOCK: "The dealer, last, keeps or takes the top card of the stock.",
            Dealer.ROTATION: "The dealer, last, keeps or asks the first seat, as any seat asks "
            "the next; having been made to swap on this deal, it may not ask.",
        },
        "swapped_turn": {
            SwappedTurn.KEPT: "A seat that was made to swap still has its own turn later.",
            SwappedTurn.LOST: "A seat that was made to swap loses its turn if that is still to "
            "come.",
        },
        "refusal": {
            Refusal.NONE: "An asked seat must swap, unless the card it holds says otherwise.",
            Refusal.FEE: "An asked seat with two lives or more may pay one to keep its card "
            "unseen.",
        },
        "penalty": {
            Penalty.ONE: "Whoever loses a round loses one life.",
            Penalty.SHARED: "A sole lowest loses two lives; k seats tied for lowest lose k "
            "each, but never more than they have.",
        },
        "pairs": {
            Pairs.COUNT: "The lowest rank held by anybody loses.",
            Pairs.SAFE: "Ranks held by two seats or more are safe: the lowest rank held by one "
            "seat alone loses, and where there is none nobody does.",
        },
        "ties": {
            Ties.ALL: "All the seats that are tied for lowest pay.",
            Ties.FIRST: "Of the seats tied for lowest only the earliest in turn order pays.",
        },
        "final_tie": {
            FinalTie.JOINT: "If everyone still in would go out at once, they win together and "
            "share the pot.",
            FinalTie.REPLAY: "If everyone still in would go out at once, they keep their lives "
            "and the next deal is played.",
            FinalTie.CUT: "If everyone still in would go out at once, they cut cards for the "
            "pot; the highest takes it, and equal highest cut again.",
            FinalTie.CARRY_STAKE: "If everyone still in would go out at once, all seats come "
            "back with full lives and a new stake each, and play on for the larger pot.",
            FinalTie.CARRY: "If everyone still in would go out at once, all seats come back "
            "with full lives and play on for the same pot.",
        },
        "first_dealer": {
            FirstDealer.LOT: "The first dealer is chosen by lot.",
            FirstDealer.CUT: "The first dealer is found by cutting cards: the highest deals, "
            "and equal highest cut again.",
        },
        "direction": {
            Direction.LEFT: "Play goes to the left: each seat asks its left neighbour, and the "
            "deal passes that way.",
            Direction.RIGHT: "Play goes to the right: each seat asks its right neighbour, and "
            "the deal passes that way.",
        },
        "game": {
            Length.MATCH: "A seat without lives is out; the last with a life wins the pot.",
            Length.ROUND: "A game is a single deal: each seat pays a stake for every life it "
            "loses, shared by the seats that lose none. If all lose some or nobody does, "
            "nothing is paid.",
        },
    }
)
"""What every value of every axis means."""


def _seats(rules: Rules) -> str:
    return f"{rules.seats} seats play."


def _lives(rules: Rules) -> str:
    return f"Each starts with {_count(rules.lives, 'life', 'lives')}."


def _decks(rules: Rules) -> str:
    if rules.decks == 1:
        return "One pack of 52 cards is used; suits never matter."
    return f"{rules.decks} packs of 52 cards are shuffled together; suits never matter."


def _stake(rules: Rules) -> str:
    if rules.game is Length.ROUND:
        return f"A stake is {rules.stake:g}."
    return f"Each pays a stake of {rules.stake:g} into the pot at the start."


def _max_rounds(rules: Rules) -> str:
    if rules.max_rounds is None:
        return "There is no limit on the number of rounds."
    rounds = _count(rules.max_rounds, "round", "rounds")
    return f"A game that is not decided after {rounds} is broken off, and the stakes are returned."


NUMBERS: Final[Mapping[str, Callable[[Rules], str]]] = MappingProxyType(
    {
        "seats": _seats,
        "lives": _lives,
        "decks": _decks,
        "stake": _stake,
        "first_dealer": lambda rules: f"Seat {rules.first_dealer} deals first.",
        "max_rounds": _max_rounds,
    }
)
"""What the numbers mean; the first dealer may also be a choice."""


@dataclass(frozen=True)
class Together:
    """Something that axes do only together."""

    applies: Callable[[Rules], bool]
    sentence: str


def _one_loses(rules: Rules) -> bool:
    """Whether at most one seat loses a round."""
    return rules.ties is Ties.FIRST or rules.pairs is Pairs.SAFE


def _fee(rules: Rules) -> bool:
    return rules.refusal is Refusal.FEE


def _chooses_to_show(rules: Rules) -> bool:
    return _fee(rules) and (
        rules.king in (King.BLOCKS, King.ENDS_TRADING) or rules.jack is not Jack.PLAIN
    )


def _queens(rules: Rules) -> bool:
    return rules.queen is Queen.REDIRECTS


def _rotates(rules: Rules) -> bool:
    return rules.dealer is Dealer.ROTATION


TOGETHER: Final = (
    Together(
        lambda rules: rules.has_responses,
        "Every asked seat that does not block or send the asker on by force gets a turn to "
        "answer, also where it can only accept: otherwise the order of turns would tell what it "
        "holds.",
    ),
    Together(
        _chooses_to_show,
        "With a fee on the table showing a card that blocks is a choice, and free: its holder "
        "may also accept, or pay.",
    ),
    Together(
        lambda rules: _chooses_to_show(rules) and rules.king is King.ENDS_TRADING,
        "A king that its holder chooses to show ends trading too.",
    ),
    Together(
        lambda rules: _fee(rules) and rules.lives == 1,
        "With one life each nobody can ever pay to refuse.",
    ),
    Together(
        lambda rules: rules.has_responses and rules.king is King.OPEN,
        "An open king blocks by force, without a turn to answer.",
    ),
    Together(
        lambda rules: (
            not _fee(rules)
            and rules.jack is Jack.MAY_BLOCK
            and rules.king in (King.BLOCKS, King.ENDS_TRADING)
        ),
        "Kings block by force; only for jacks there is a choice.",
    ),
    Together(
        lambda rules: rules.ace is Ace.HIGH and rules.king is not King.PLAIN,
        "Kings keep their power although aces rank above them; aces have none.",
    ),
    Together(
        lambda rules: _queens(rules) and rules.king in (King.BLOCKS, King.ENDS_TRADING, King.OPEN),
        "A king to which a queen sends the asker has the power of any asked king.",
    ),
    Together(
        lambda rules: _queens(rules) and (rules.game is Length.MATCH or rules.seats == 2),
        "Where two seats are in, the other side is the same seat: its queen only prevents the "
        "swap.",
    ),
    Together(
        lambda rules: _queens(rules) and rules.swapped_turn is SwappedTurn.LOST,
        "After a queen, the seat that was really swapped with loses its turn, not the queen's "
        "holder.",
    ),
    Together(_rotates, "Nobody draws from the stock, so no card there has a power."),
    Together(
        lambda rules: _rotates(rules) and rules.swapped_turn is SwappedTurn.LOST,
        "A dealer that was made to swap has no turn at all.",
    ),
    Together(
        lambda rules: rules.pairs is Pairs.SAFE and rules.penalty is Penalty.SHARED,
        "As safe ranks never lose, the loser is always alone and pays two.",
    ),
    Together(
        lambda rules: rules.seats == 2 and rules.ties is Ties.FIRST,
        "The dealer plays last, and so wins every tie.",
    ),
    Together(
        lambda rules: _one_loses(rules) and rules.game is Length.MATCH,
        "A round never costs more than one seat lives, so not everyone can go out at once.",
    ),
    Together(
        lambda rules: (
            rules.penalty is Penalty.SHARED
            and not _one_loses(rules)
            and rules.game is Length.MATCH
            and rules.lives > 1
        ),
        "As the tied lowest pay more than one life each, everyone can go out at once from "
        "several lives.",
    ),
    Together(
        lambda rules: rules.game is Length.ROUND,
        "After the deal the game is over, so a tie for the last life needs no rule.",
    ),
    Together(
        lambda rules: (
            rules.max_rounds is not None
            and rules.final_tie in (FinalTie.CARRY, FinalTie.CARRY_STAKE)
            and not _one_loses(rules)
        ),
        "The rounds of carried games are counted on.",
    ),
)
"""What axes do together, in the order in which it is told."""


def sentences(rules: Rules) -> dict[str, str]:
    """What every field of the rule set means: a sentence by field, in the order of :class:`Rules`.

    Example:
        >>> sentences(Rules(king="plain"))["king"]
        'Kings have no power: they are swapped and drawn like any card.'
    """
    return {name: _sentence(rules, name) for name in FIELDS}


def together(rules: Rules) -> list[str]:
    """What the values of several fields do together: none or some sentences."""
    return [each.sentence for each in TOGETHER if each.applies(rules)]


def special(rules: Rules) -> list[str]:
    """The fields that differ from the defaults, other than the number of seats."""
    plain = Rules(seats=rules.seats)
    return [name for name in FIELDS[1:] if getattr(rules, name) != getattr(plain, name)]


def _sentence(rules: Rules, name: str) -> str:
    value = getattr(rules, name)
    return CHOICES[name][value] if isinstance(value, StrEnum) else NUMBERS[name](rules)


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
