"""Hand-made positions, for tests that a person can audit.

>>> table = Position("chase-the-ace", "2c 9h Ks")
>>> table.play("swap swap keep")
>>> table.told[4:9]
['asked 0 1', 'swapped 0 1 9h 2c', 'asked 1 2', 'showed 2 Ks', 'kept 2']
>>> table.revealed, table.losers, table.lives
('9h 2c Ks', [1], [3, 2, 3])

Engine and referee play every position together, and must agree at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from differential import CARD_TEXTS, Event, Pair, Start

from cuckoo_env.cards import RANKS, parse_card
from cuckoo_env.rules import Rules

NO_HAND: Final = "--"


class Position:
    """A round with chosen cards, played from its first turn.

    Attributes:
        pair: the engine and the referee.
        rules: the rule set; its seats are as many as the deal has.
        told: everything that happened so far, an event a line, without the deals of later rounds.
        revealed: the cards at the last reveal, of the seats that were in.
    """

    def __init__(
        self,
        rules: str,
        deal: str,
        *,
        stock: str = "",
        dealer: int | None = None,
        lives: Sequence[int] | None = None,
        staked: Sequence[int] | None = None,
        then: str = "",
        dealer_cut: str | None = None,
    ) -> None:
        """Lay out the cards.

        Args:
            rules: text of a rule set without its seats.
            deal: one card a seat, ``--`` for a seat that is out.
            stock: the top of the stock; by default some eight, for rounds in which nobody draws.
            dealer: by default the last seat still in, so that seat 0 has the first turn.
            lives: by default all that the rules give.
            staked: stakes paid, by default one each.
            then: the cards that chance hands out next: a final cut, or the next deal and its stock.
            dealer_cut: play from the very start, with these cards (perhaps none) cut for the deal.
        """
        hands = deal.split()
        self.rules = Rules.parse(f"{rules},seats={len(hands)}")
        seats_in = [seat for seat, card in enumerate(hands) if card != NO_HAND]
        stock = stock or next(card for card in ("8s", "8h", "8d") if card not in hands)
        cards = [dealer_cut or "", *(hands[seat] for seat in seats_in), stock, then]
        script = [parse_card(card) for card in " ".join(cards).split()]
        full = [self.rules.lives if seat in seats_in else 0 for seat in range(len(hands))]
        start = Start(
            lives=tuple(lives or full),
            staked=tuple(staked or [1] * len(hands)),
            dealer=seats_in[-1] if dealer is None else dealer,
        )
        self.pair = Pair(self.rules, start=start if dealer_cut is None else None, script=script)
        self.told = [_line(event) for event in self.pair.events]
        self.revealed = ""

    def play(self, actions: str) -> None:
        """Take these actions, one after the other."""
        for action in actions.split():
            news = self.pair.step(action)
            self.told += [_line(event) for event in _until_next_deal(news)]
            cards = [event[2] for event in news if event[0] == "revealed"]
            self.revealed = " ".join(cards) or self.revealed

    def redeal(self) -> None:
        """Call the deal incorrect."""
        self.told += [_line(event) for event in self.pair.redeal()]

    @property
    def legal(self) -> str:
        """What the seat to act may do."""
        return " ".join(self.pair.legal)

    @property
    def seat(self) -> int:
        """The seat to act; -1 when the game is over."""
        return int(self.pair.games["seat"][0])

    @property
    def dealer(self) -> int:
        return int(self.pair.games["dealer"][0])

    @property
    def rounds(self) -> int:
        return int(self.pair.games["rounds"][0])

    @property
    def hands(self) -> str:
        """The cards on the table now: after a reveal, those of the next deal."""
        cards = self.pair.games["card"][0, : self.rules.seats].tolist()
        return " ".join(CARD_TEXTS[card] if card >= 0 else NO_HAND for card in cards)

    @property
    def lives(self) -> list[int]:
        return self._numbers("lives")

    @property
    def lost(self) -> list[int]:
        """What each seat lost at the last reveal."""
        return self._numbers("lost")

    @property
    def losers(self) -> list[int]:
        """The seats that lost at the last reveal."""
        return [seat for seat, lost in enumerate(self.lost) if lost]

    @property
    def staked(self) -> list[int]:
        return self._numbers("staked")

    def _numbers(self, field: str) -> list[int]:
        numbers: list[int] = self.pair.games[field][0, : self.rules.seats].tolist()
        return numbers

    @property
    def over(self) -> bool:
        return self.pair.over

    @property
    def winners(self) -> list[int]:
        return self.pair.referee.winners

    @property
    def payoffs(self) -> list[float]:
        payoffs: list[float] = self.pair.games["payoff"][0, : self.rules.seats].tolist()
        return payoffs

    def knows(self, viewer: int) -> str:
        """The ranks that a seat knows, seat by seat; a dot where it knows none."""
        known = self.pair.games["known"][0, : self.rules.seats, viewer].tolist()
        return "".join(RANKS[rank - 1] if rank else "." for rank in known)


def _line(event: Event) -> str:
    return " ".join(str(part) for part in event)


def _until_next_deal(news: list[Event]) -> list[Event]:
    kinds = [event[0] for event in news]
    return news[: kinds.index("round")] if "round" in kinds else news
