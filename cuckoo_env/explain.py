"""Rule sets in plain sentences, generated from their fields.

One table has a sentence for every value of every axis, another one for what axes do together. No
preset is named here, so every combination can be explained.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from cuckoo_env.rules import (
    FIELDS,
    PRESETS,
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
    differences,
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
            Penalty.SHARED: "A sole lowest loses two lives; two tied for lowest lose two each, "
            "three tied three each, and so on, but never more than they have.",
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
            FinalTie.JOINT: "If everyone still in would go out at once, they win together.",
            FinalTie.REPLAY: "If everyone still in would go out at once, they keep their lives "
            "and the next deal is played.",
            FinalTie.CUT: "If everyone still in would go out at once, they cut cards: the highest "
            "wins, and equal highest cut again.",
            FinalTie.CARRY_STAKE: "If everyone still in would go out at once, all seats come "
            "back with full lives and a new stake each, and play on for the larger pot.",
            FinalTie.CARRY: "If everyone still in would go out at once, nobody wins: all seats "
            "come back with full lives and play on.",
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
            Length.MATCH: "A seat without lives is out; the last with a life wins.",
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
    return (
        f"Each pays a stake of {rules.stake:g} into the pot at the start, which the winner takes; "
        "joint winners share it."
    )


def _max_rounds(rules: Rules) -> str:
    if rules.max_rounds is None:
        return "There is no limit on the number of rounds."
    rounds = _count(rules.max_rounds, "round", "rounds")
    returned = ", and the stakes are returned" if is_played_for(rules) else ""
    return f"A game that is not decided after {rounds} is broken off{returned}."


def _deals_first(rules: Rules) -> str:
    # Programs count seats from 0, and people from 1.
    return f"Seat {int(rules.first_dealer) + 1} of {rules.seats} deals first."


NUMBERS: Final[Mapping[str, Callable[[Rules], str]]] = MappingProxyType(
    {
        "seats": _seats,
        "lives": _lives,
        "decks": _decks,
        "stake": _stake,
        "first_dealer": _deals_first,
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


# Where sources disagree

SOURCES: Final = ("Cuckoo card", "CatsAtCards", "Chase the Ace", "practice table")
"""The four descriptions of the game that this project follows; presets name theirs."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A question that the sources answer differently, or that some of them do not answer.

    Attributes:
        question: what is asked.
        says: the answer of each source; one that is silent is missing.
        here: what is done here; "our choice" where no source decides it.
        fields: the fields of :class:`Rules` that choose between the answers, with commas between.
    """

    question: str
    says: Mapping[str, str]
    here: str
    fields: str = ""


def _row(
    question: str, card: str, cats: str, chase: str, table: str, *, here: str, fields: str = ""
) -> Disagreement:
    answers = zip(SOURCES, (card, cats, chase, table), strict=True)
    says = MappingProxyType({source: answer for source, answer in answers if answer})
    return Disagreement(question=question, says=says, here=here, fields=fields)


SOURCES_DISAGREE: Final = (
    _row(
        "How many play?",
        "3 to 10",
        "any number, best from 5; two packs for large crowds",
        "3 to 26 in the version with four lives",
        "3",
        here="any number from 2; presets keep to the range of their source; one pack more for "
        "every 26 seats",
        fields="seats, decks",
    ),
    _row(
        "How many lives?",
        "3",
        "3; 4 in Multiple Tokens, 5 in Onesies",
        "usually 3; 4 in an American version",
        "3",
        here="3, or as many as are asked for",
        fields="lives",
    ),
    _row(
        "Is there a stake?",
        "no money",
        "",
        "an equal stake from each; the winner takes the pot",
        "no stakes or prizes",
        here="an equal stake from each; without money it is only the unit of returns",
        fields="stake",
    ),
    _row(
        "Where does the ace rank?",
        "lowest",
        "lowest; in Aces High above the king, but it does not block",
        "lowest",
        "lowest",
        here="lowest, or highest and without power",
        fields="ace",
    ),
    _row(
        "Who deals first?",
        "chosen by lot",
        "in any manner, usually by cutting for high card; equal highest cut again",
        "",
        "Alex",
        here="by lot, by a cut, or a given seat",
        fields="first_dealer",
    ),
    _row(
        "Which way does play go?",
        "clockwise",
        "clockwise",
        "clockwise, but that varies between countries; the dealer says",
        "in the order that is displayed",
        here="left or right, for turns, requests and the deal alike",
        fields="direction",
    ),
    _row(
        "Who deals next?",
        "the next player still in, on the left",
        "the player on the left",
        "",
        "the next seat still in",
        here="the next seat still in, in the direction of play",
    ),
    _row(
        "What does an asked king do?",
        "it is shown and blocks that request only",
        "it is shown and blocks; no power in King Variation 1; in King Variation 2 the first one "
        "shown ends all trading",
        "it is shown and blocks, or as agreed: traded like any card (5.2(a)); dealt kings turned "
        "up, and then no trading at all (5.2(b)); shown, and no further trading (5.2(c))",
        "it is shown and blocks",
        here="each of these, and dealt kings that lie open and only block, a common house rule",
        fields="king",
    ),
    _row(
        "What does a king on the stock do?",
        "it blocks the dealer, and is set aside",
        "it blocks the dealer; in King Variation 1 the dealer takes it",
        "it blocks the dealer",
        "it blocks the dealer, and is set aside",
        here="it blocks, unless kings have no power; in the Jack Rule they have none either (our "
        "choice)",
        fields="king",
    ),
    _row(
        "Does anybody have a turn when dealt kings stop the trading?",
        "",
        "",
        "no trading on that deal (5.2(b))",
        "",
        here="every seat has its turn, but may only keep (our choice)",
        fields="king",
    ),
    _row(
        "What does an asked queen do?",
        "no special power",
        "nothing; in the Queen Rule the asker must trade with the player on its own right "
        "instead, unless that is a queen too",
        "nothing; by 5.3(a) the asker must trade with the player on its own right instead, "
        "unless that is a queen too",
        "",
        here="nothing, or it sends the asker on; a king or a jack there blocks as usual; where two "
        "are in, that is the same seat, and nobody swaps (our choice)",
        fields="queen",
    ),
    _row(
        "Is a queen that sends the asker on shown?",
        "",
        "",
        "",
        "",
        here="yes (our choice: the sources only speak of holding one)",
        fields="queen",
    ),
    _row(
        "What does a queen on the stock do?",
        "no special power",
        "taken; in the Queen Rule not taken: the dealer must trade with the player on its right",
        "",
        "",
        here="taken, or where queens send on, as the Queen Rule says",
        fields="queen",
    ),
    _row(
        "Whose turn is it after two queens?",
        "",
        "in the Queen Rule the turn passes to the right",
        "",
        "",
        here="play goes on as always (our choice: nothing else in that rule turns play round)",
        fields="queen",
    ),
    _row(
        "What does an asked jack do?",
        "no special power",
        "nothing; in the Jack Rule its holder may show it and keep it, and kings have no power",
        "nothing; by 5.3(b) it is shown and blocks, beside what kings do",
        "",
        here="nothing, it blocks, or its holder may block; on the stock it has no power (our "
        "choice)",
        fields="jack",
    ),
    _row(
        "What is the dealer's exchange?",
        "with the stock, never with the first player",
        "with the stock; in Full Rotation with the first player, if the dealer was not made to "
        "swap",
        "with the stock",
        "with the stock",
        here="with the stock or with the first seat",
        fields="dealer",
    ),
    _row(
        "Does being made to swap use up one's own turn?",
        "no",
        "no; in Alternate Exchange yes",
        "",
        "no",
        here="no, or yes, the dealer's too; a seat that blocks keeps its turn, and after a queen "
        "it is the seat really swapped with that loses it (our choice)",
        fields="swapped_turn",
    ),
    _row(
        "Can a seat without a blocking card refuse?",
        "no",
        "no; in Onesies by paying one token, but not the last one",
        "no",
        "no",
        here="no, or for a token; every seat that may have a choice is given a turn to answer, so "
        "that the order of turns betrays nothing (our choice)",
        fields="refusal",
    ),
    _row(
        "What do the lowest lose?",
        "one life each",
        "one token each; in Onesies two if alone, else as many as are tied",
        "one life each",
        "one life each",
        here="one each, or as in Onesies, but never more than they have; only the first in turn "
        "order, to compare with Le Her",
        fields="penalty, ties",
    ),
    _row(
        "Do equal ranks protect?",
        "no",
        "no",
        "no; in an American version yes: the lowest rank held by one player alone loses, and if "
        "there is none usually nobody does",
        "no",
        here="no, or yes, and then nobody loses where no rank is held alone",
        fields="pairs",
    ),
    _row(
        "Which card loses in Full Rotation?",
        "",
        "the last sentence has the highest card win the hand",
        "",
        "",
        here="the lowest, as everywhere else (our choice)",
        fields="dealer",
    ),
    _row(
        "What if all who are left would go out at once?",
        "they win together",
        "they keep their last tokens and play another deal",
        "as agreed before: they share the pot (4.3(a)), play another deal (4.3(b)), cut for the "
        "pot (4.3(c)), or it is carried over to a new game with a new stake (4.3(d)) or without "
        "(4.3(e))",
        "they keep their last lives and play another deal",
        here="each of these; also where they would lose more than their last life (our choice)",
        fields="final_tie",
    ),
    _row(
        "Who deals after a pot is carried over?",
        "",
        "",
        "",
        "",
        here="the next of all the original seats, which have full lives again (our choice)",
        fields="final_tie",
    ),
    _row(
        "What of an incorrect deal?",
        "it is collected and repeated; no life is lost",
        "",
        "",
        "",
        here="as the Cuckoo card says, and the dealer stays; a game can be told so, but deals "
        "none itself",
    ),
)
"""Where the sources disagree or are silent, what each says, and what is done here."""


def sentences(rules: Rules) -> dict[str, str]:
    """What every field of the rule set means: a sentence by field, in the order of :class:`Rules`.

    Example:
        >>> sentences(Rules(king="plain"))["king"]
        'Kings have no power: they are swapped and drawn like any card.'
    """
    return {name: _sentence(rules, name) for name in FIELDS}


def sentences_at_table(
    rules: Rules, names: Sequence[str] = (), viewer: int | None = None
) -> dict[str, str]:
    """The sentences for those at a table: no stake where none is played for, and seats by their names.

    Args:
        rules: the rules.
        names: what to call each seat; by default seats are numbered.
        viewer: the seat that is told "you".
    """
    told = sentences(rules)
    if not is_played_for(rules):
        del told["stake"]
    dealer = rules.first_dealer
    if names and isinstance(dealer, int):
        told["first_dealer"] = (
            "You deal first." if dealer == viewer else f"{names[dealer]} deals first."
        )
    return told


def is_played_for(rules: Rules) -> bool:
    """Whether there is a stake to play for: otherwise it is only the unit of returns."""
    carries = rules.final_tie is FinalTie.CARRY_STAKE
    return rules.game is Length.ROUND or carries or rules.stake != Rules.stake


def has_pot(rules: Rules) -> bool:
    """Whether the stakes lie in a pot, and do not change hands after the one deal."""
    return is_played_for(rules) and rules.game is Length.MATCH


@functools.lru_cache(maxsize=256)
def title(rules: Rules, text: str = "") -> str:
    """A short name for people: a preset, and what differs from it.

    Args:
        rules: the rules.
        text: what somebody called them, whose preset is kept; without one the nearest is taken.

    Example:
        >>> title(Rules.parse("onesies,queen=redirects"))
        'onesies, queen redirects'
        >>> title(Rules.parse("cuckoo,lives=4"), "cuckoo,lives=4")
        'cuckoo, 4 lives'
    """
    preset = _preset(rules, text)
    words = [_in_words(rules, field) for field in _differing(rules, _of_preset(preset))]
    return ", ".join([preset.replace("-", " "), *words])


@functools.lru_cache(maxsize=256)
def exact_text(rules: Rules, text: str = "") -> str:
    """The rules as text for :meth:`Rules.parse`, from the preset of :func:`title`.

    Example:
        >>> exact_text(Rules.parse("onesies,seats=4"))
        'onesies,seats=4'
    """
    preset = _preset(rules, text)
    return ",".join([preset, *differences(rules, _of_preset(preset))])


def _preset(rules: Rules, text: str) -> str:
    """The preset that a text names, or the one from which the rules differ least."""
    named = text.partition(",")[0].strip()
    if named in PRESETS:
        return named
    admitted = [name for name, preset in PRESETS.items() if preset.admits(rules.seats)]
    return min(admitted, key=lambda name: len(differences(rules, _of_preset(name))))


def _differing(rules: Rules, base: Rules) -> list[str]:
    """The fields in which rules differ from others."""
    return [setting.partition("=")[0] for setting in differences(rules, base)]


@functools.cache
def _of_preset(name: str) -> Rules:
    return PRESETS[name].rules()


def _in_words(rules: Rules, field: str) -> str:
    """A field's value in two words or three."""
    value = getattr(rules, field)
    match field:
        case "seats" | "lives":
            return _count(value, {"seats": "seat", "lives": "life"}[field], field)
        case "decks":
            return _count(value, "pack", "packs")
        case "max_rounds":
            return "no limit" if value is None else f"at most {_count(value, 'round', 'rounds')}"
        case "first_dealer" if isinstance(value, int):
            return f"seat {value + 1} deals first"
        case "stake":
            return f"stake {value:g}"
    return f"{field} {value}".replace("_", " ")


def together(rules: Rules) -> list[str]:
    """What the values of several fields do together: none or some sentences."""
    return [each.sentence for each in TOGETHER if each.applies(rules)]


def special(rules: Rules) -> list[str]:
    """The fields that differ from the defaults, other than the number of seats."""
    return _differing(rules, Rules(seats=rules.seats))


def _sentence(rules: Rules, name: str) -> str:
    value = getattr(rules, name)
    return CHOICES[name][value] if isinstance(value, StrEnum) else NUMBERS[name](rules)


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
