"""A referee for the card game Cuckoo, written straight from the rules.

It is slow and plain on purpose: every function is one sentence of the rules, so that
a person who knows the game can check it line by line. It serves as an oracle for
tests. Where chance comes in (the lot, the deal, the stock, a cut) the caller supplies
the outcome, so a game can be scripted card by card.

Cards are text: a rank of ``A23456789TJQK`` and a suit of ``cdhs``, as in ``Td``.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

RANKS = "A23456789TJQK"
SUITS = "cdhs"
LOW_TO_HIGH = {"low": "A23456789TJQK", "high": "23456789TJQKA"}
ACTIONS = ("keep", "swap", "accept", "show", "pay")

CHOICES: dict[str, tuple[str, ...]] = {
    "ace": ("low", "high"),
    "king": ("blocks", "plain", "ends_trading", "stops_deal", "open"),
    "queen": ("plain", "redirects"),
    "jack": ("plain", "blocks", "may_block"),
    "dealer": ("stock", "rotation"),
    "swapped_turn": ("kept", "lost"),
    "refusal": ("none", "fee"),
    "penalty": ("one", "shared"),
    "pairs": ("count", "safe"),
    "ties": ("all", "first"),
    "final_tie": ("joint", "replay", "cut", "carry_stake", "carry"),
    "direction": ("left", "right"),
    "game": ("match", "round"),
}


# --------------------------------------------------------------------------------------
# Which rules can be played
# --------------------------------------------------------------------------------------


def check_rules(rules: Mapping[str, Any]) -> None:
    """Raise ValueError for rules that cannot be played, naming field and reason."""
    for field, allowed in CHOICES.items():
        _check_choice(rules, field, allowed)
    for field in ("seats", "lives", "decks"):
        _check_whole_number(rules, field, at_least=1)
    if rules["max_rounds"] is not None:
        _check_whole_number(rules, "max_rounds", at_least=1)
    _check_stake(rules)
    _check_seats_fit_packs(rules)
    _check_first_dealer(rules)
    _check_combinations(rules)


def _check_choice(rules: Mapping[str, Any], field: str, allowed: tuple[str, ...]) -> None:
    """A field with named values has one of those."""
    value = rules[field]
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{field}={value!r}: must be one of {', '.join(allowed)}")


def _is_whole_number(value: object) -> bool:
    """True and False are not numbers here."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_whole_number(rules: Mapping[str, Any], field: str, at_least: int) -> None:
    """A field that counts something is a whole number, and not too small."""
    value = rules[field]
    if not _is_whole_number(value) or value < at_least:
        raise ValueError(f"{field}={value!r}: must be a whole number, {at_least} or more")


def _check_stake(rules: Mapping[str, Any]) -> None:
    """The stake is an amount above zero."""
    stake = rules["stake"]
    is_amount = isinstance(stake, (int, float)) and not isinstance(stake, bool)
    if not is_amount or not math.isfinite(stake) or not stake > 0:
        raise ValueError(f"stake={stake!r}: must be an amount above zero")


def _check_seats_fit_packs(rules: Mapping[str, Any]) -> None:
    """From two seats up to one less than the cards in all packs."""
    seats, most = rules["seats"], 52 * rules["decks"] - 1
    if seats < 2 or seats > most:
        raise ValueError(f"seats={seats}: must be 2 to {most} with these packs")


def _check_first_dealer(rules: Mapping[str, Any]) -> None:
    """The first dealer is found by lot, by a cut, or is a seat that exists."""
    first = rules["first_dealer"]
    if isinstance(first, str) and first in ("lot", "cut"):
        return
    if not _is_whole_number(first) or not 0 <= first < rules["seats"]:
        raise ValueError(f"first_dealer={first!r}: must be lot, cut or an existing seat")


def _check_combinations(rules: Mapping[str, Any]) -> None:
    """Three pairs of values do not go together; everything else combines."""
    if rules["ties"] == "first" and rules["penalty"] == "shared":
        raise ValueError("ties=first: cannot go with penalty=shared (nothing is shared)")
    if rules["ties"] == "first" and rules["pairs"] == "safe":
        raise ValueError("ties=first: cannot go with pairs=safe (ties never pay)")
    if rules["game"] == "round" and rules["max_rounds"] is not None:
        raise ValueError("max_rounds: cannot go with game=round (it is one round)")


# --------------------------------------------------------------------------------------
# Where chance comes from
# --------------------------------------------------------------------------------------


class Luck(Protocol):
    """Everything in the game that is left to chance."""

    def lot(self, seats: int) -> int:
        """The seat that the lot makes first dealer."""

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        """One card for every seat still in, freshly shuffled."""

    def stock(self) -> str:
        """The top card of the stock; asked for only when the dealer turns it."""

    def cut(self, seats: list[int]) -> list[str]:
        """One card for each of these seats from one freshly shuffled set of packs."""


class RandomLuck:
    """Real shuffles of real packs."""

    def __init__(self, rng: random.Random, decks: int) -> None:
        self._rng = rng
        self._decks = decks
        self._rest: list[str] = []

    def _shuffled(self) -> list[str]:
        cards = [rank + suit for rank in RANKS for suit in SUITS] * self._decks
        self._rng.shuffle(cards)
        return cards

    def lot(self, seats: int) -> int:
        return self._rng.randrange(seats)

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        self._rest = self._shuffled()
        return {seat: self._rest.pop() for seat in seats_in}

    def stock(self) -> str:
        return self._rest.pop()

    def cut(self, seats: list[int]) -> list[str]:
        return self._shuffled()[: len(seats)]


class Scripted:
    """Luck that was written down beforehand.

    Each deal lists the cards of the seats still in, in ascending order of seats; a
    None in it (for a seat that is out) is passed over. Each cut lists its cards in
    ascending order of the seats that cut.
    """

    def __init__(
        self,
        deals: Sequence[Sequence[str | None]],
        stock: Sequence[str] = (),
        cuts: Sequence[Sequence[str]] = (),
        lots: Sequence[int] = (),
    ) -> None:
        self.deals = [[card for card in deal if card is not None] for deal in deals]
        self.stocks = list(stock)
        self.cuts = [list(cut) for cut in cuts]
        self.lots = list(lots)

    def lot(self, seats: int) -> int:
        return self.lots.pop(0)

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        return dict(zip(seats_in, self.deals.pop(0), strict=True))

    def stock(self) -> str:
        return self.stocks.pop(0)

    def cut(self, seats: list[int]) -> list[str]:
        return self.cuts.pop(0)


# --------------------------------------------------------------------------------------
# The referee
# --------------------------------------------------------------------------------------


class Referee:
    """Runs one game. The constructor deals the first round."""

    def __init__(
        self,
        rules: Mapping[str, Any],
        luck: Luck,
        *,
        dealer: int | None = None,
        lives: Sequence[int] | None = None,
        staked: Sequence[int] | None = None,
    ) -> None:
        check_rules(rules)
        self.rules = dict(rules)
        self.luck = luck
        self.seats: int = rules["seats"]
        self.stake = float(rules["stake"])
        self.lives = [rules["lives"]] * self.seats if lives is None else list(lives)
        self.staked = [1] * self.seats if staked is None else list(staked)
        self._check_position(dealer, lives, staked)
        self._nothing_happened_yet()
        self.dealer = self._first_dealer() if dealer is None else dealer
        self._start_round()

    def _nothing_happened_yet(self) -> None:
        """The state that does not depend on the position the game starts from."""
        self.over = False
        self.truncated = False
        self.rounds = 0
        self.seat = -1
        self.events: list[tuple[Any, ...]] = []
        self.winners: list[int] = []
        self.payoffs = [0.0] * self.seats
        self.lost = [0] * self.seats
        self.cards: dict[int, str] = {}
        self.known: dict[int, dict[int, str]] = {}

    def _check_position(
        self,
        dealer: int | None,
        lives: Sequence[int] | None,
        staked: Sequence[int] | None,
    ) -> None:
        """A game may start from any lives with two seats in, and any dealer in."""
        if dealer is None:
            if lives is not None or staked is not None:
                raise ValueError("a position with lives or stakes needs its dealer")
            return
        if len(self.lives) != self.seats or min(self.lives) < 0:
            raise ValueError("lives: one number for every seat, none below zero")
        if len(self.staked) != self.seats or min(self.staked) < 1:
            raise ValueError("staked: one number for every seat, each 1 or more")
        if len(self._seats_in()) < 2:
            raise ValueError("lives: at least two seats must be in")
        if dealer not in self._seats_in():
            raise ValueError("dealer: must be a seat that is in")

    # ---- small words -----------------------------------------------------------------

    def _rule(self, field: str, *values: str) -> bool:
        """Does this field of the rules have one of these values?"""
        return self.rules[field] in values

    def _happened(self, *event: Any) -> None:
        """Write down something that happened."""
        self.events.append(event)

    def _rank(self, seat: int) -> str:
        """The rank of the card a seat holds."""
        return self.cards[seat][0]

    def _height(self, card: str) -> int:
        """Rule 1: ranks from low to high, the ace low or high; suits never matter."""
        return LOW_TO_HIGH[self.rules["ace"]].index(card[0])

    # ---- the table -------------------------------------------------------------------

    def _seats_in(self) -> list[int]:
        """The seats with a life, ascending. A seat without a life is out (rule 6)."""
        return [seat for seat in range(self.seats) if self.lives[seat] > 0]

    def _left_of(self, seat: int) -> int:
        """Rule 2: the left neighbour is the next seat still in, in playing direction."""
        return self._next_in(seat, +1 if self._rule("direction", "left") else -1)

    def _right_of(self, seat: int) -> int:
        """The right neighbour: the nearest seat still in against playing direction."""
        return self._next_in(seat, -1 if self._rule("direction", "left") else +1)

    def _next_in(self, seat: int, step: int) -> int:
        """Rule 2: seats that are out are skipped everywhere."""
        other = (seat + step) % self.seats
        while self.lives[other] == 0:
            other = (other + step) % self.seats
        return other

    def _turn_order(self) -> list[int]:
        """Rule 2: from the seat on the dealer's left, ending with the dealer."""
        order = [self._left_of(self.dealer)]
        while order[-1] != self.dealer:
            order.append(self._left_of(order[-1]))
        return order

    # ---- the first dealer ------------------------------------------------------------

    def _first_dealer(self) -> int:
        """The first dealer is a given seat, or found by lot, or by a cut."""
        if self._rule("first_dealer", "lot"):
            return self.luck.lot(self.seats)
        if self._rule("first_dealer", "cut"):
            return self._highest_in_cut("dealer_cut", list(range(self.seats)))
        first: int = self.rules["first_dealer"]
        return first

    def _highest_in_cut(self, event: str, seats: list[int]) -> int:
        """Each cuts a card; the highest is chosen, equal highest cut again."""
        while len(seats) > 1:
            cards = dict(zip(seats, self.luck.cut(seats), strict=True))
            for seat in seats:
                self._happened(event, seat, cards[seat])
            highest = max(self._height(card) for card in cards.values())
            seats = [seat for seat in seats if self._height(cards[seat]) == highest]
        return seats[0]

    # ---- the deal --------------------------------------------------------------------

    def _start_round(self) -> None:
        """Rule 1: every seat still in gets one private card; then turns begin."""
        self._happened("round", self.dealer)
        self._nothing_happened_this_round()
        self._deal_cards()
        self._turn_up_kings()
        self._next_turn()

    def _nothing_happened_this_round(self) -> None:
        """The state that starts afresh with each deal."""
        self._lives_at_deal = list(self.lives)
        self._turns_to_come = self._turn_order()
        self._turns_lost: set[int] = set()
        self._made_to_swap: set[int] = set()
        self._trading = True
        self._acted = False
        self._asker: int | None = None

    def _deal_cards(self) -> None:
        """A fresh deal: each seat knows its own card, and nothing carries over."""
        dealt = self.luck.deal(self._seats_in())
        if sorted(dealt) != self._seats_in():
            raise ValueError("the deal must give one card to every seat still in")
        self.cards = {seat: dealt[seat] for seat in self._seats_in()}
        self.known = {viewer: {} for viewer in range(self.seats)}
        for seat in self._seats_in():
            self._happened("dealt", seat, self.cards[seat])
            self.known[seat][seat] = self._rank(seat)

    def _turn_up_kings(self) -> None:
        """king=open, king=stops_deal: dealt kings are turned up at once."""
        if not self._rule("king", "open", "stops_deal"):
            return
        kings = [seat for seat in self._seats_in() if self._rank(seat) == "K"]
        for seat in kings:
            self._happened("turned_up", seat, self.cards[seat])
            self._everybody_sees(seat)
        if kings and self._rule("king", "stops_deal"):
            self._stop_trading()

    def _stop_trading(self) -> None:
        """No more trading on this deal, the dealer's included."""
        self._trading = False
        self._happened("no_trading")

    def misdeal(self) -> None:
        """Rule 9: an incorrect deal is collected and repeated, the dealer stays."""
        if self.over or self._acted:
            raise ValueError("a misdeal is called before the first action of a round")
        self._happened("misdealt")
        self._start_round()

    # ---- who knows what --------------------------------------------------------------

    def _everybody_sees(self, seat: int) -> None:
        """A card shown or turned up is known to everybody."""
        for viewer in range(self.seats):
            self.known[viewer][seat] = self._rank(seat)

    def _follow_swap(self, one: int, other: int) -> None:
        """Whoever knew one of the two cards knows where it went: swaps are public."""
        for viewer in range(self.seats):
            before = dict(self.known[viewer])
            self.known[viewer].pop(one, None)
            self.known[viewer].pop(other, None)
            if other in before:
                self.known[viewer][one] = before[other]
            if one in before:
                self.known[viewer][other] = before[one]

    def _both_see(self, one: int, other: int) -> None:
        """The two seats in a swap each know both cards."""
        for viewer in (one, other):
            self.known[viewer][one] = self._rank(one)
            self.known[viewer][other] = self._rank(other)

    def _only_dealer_sees_new_card(self) -> None:
        """The dealer's new card is known to the dealer alone."""
        for viewer in range(self.seats):
            self.known[viewer].pop(self.dealer, None)
        self.known[self.dealer][self.dealer] = self._rank(self.dealer)

    # ---- turns -----------------------------------------------------------------------

    def _next_turn(self) -> None:
        """Rule 2: the next seat in order has its turn; after the last, the reveal."""
        self._asker = None
        while self._turns_to_come:
            seat = self._turns_to_come.pop(0)
            if seat not in self._turns_lost:
                self.seat = seat
                return
            self._happened("skipped", seat)
        self._reveal()

    def _turn_is_over(self) -> None:
        """After a turn comes the next, or the reveal if trading was just ended."""
        if self._rule("king", "ends_trading") and not self._trading:
            self._turns_to_come = []
        self._next_turn()

    def legal(self) -> list[str]:
        """What the seat to act may do."""
        if self.over:
            return []
        if self._asker is not None:
            return self._legal_answers()
        return ["keep", "swap"] if self._may_swap() else ["keep"]

    def _may_swap(self) -> bool:
        """Rule 3: on its turn a seat may ask for a swap, unless one of these bars it."""
        if not self._trading:
            return False
        if self._holds_open_king(self.seat):
            return False
        return not self._dealer_barred_by_rotation()

    def _holds_open_king(self, seat: int) -> bool:
        """king=open: holders of kings turned up may only keep."""
        return self._rule("king", "open") and self._rank(seat) == "K"

    def _dealer_barred_by_rotation(self) -> bool:
        """dealer=rotation: a dealer that was made to swap may only keep."""
        is_dealer = self.seat == self.dealer
        was_made = self.dealer in self._made_to_swap
        return self._rule("dealer", "rotation") and is_dealer and was_made

    def act(self, name: str) -> None:
        """The seat to act does this."""
        if name not in self.legal():
            raise ValueError(f"seat {self.seat} may not {name!r}: {self.legal()}")
        self._acted = True
        if name == "keep":
            self._keep()
        elif name == "swap":
            self._swap()
        elif name == "accept":
            self._accept()
        elif name == "show":
            self._show()
        else:
            self._pay()

    def _keep(self) -> None:
        """Rule 3: a seat keeps its card."""
        self._happened("kept", self.seat)
        self._turn_is_over()

    def _swap(self) -> None:
        """Rules 3 and 5: ask the left neighbour; the dealer takes from the stock."""
        if self.seat == self.dealer and self._rule("dealer", "stock"):
            self._dealer_turns_stock()
        else:
            # dealer=rotation: the seat on the dealer's left is the first seat.
            self._ask(self.seat, self._left_of(self.seat), redirected=False)

    # ---- the stock -------------------------------------------------------------------

    def _dealer_turns_stock(self) -> None:
        """Rule 5: the dealer takes the top of the stock, unless it is refused."""
        card = self.luck.stock()
        if card[0] == "K" and not self._rule("king", "plain"):
            self._stock_king(card)
        elif card[0] == "Q" and self._rule("queen", "redirects"):
            self._stock_queen(card)
        else:
            self._dealer_draws(card)

    def _stock_king(self, card: str) -> None:
        """Rule 5: a king there blocks; the dealer keeps the old card, no second try."""
        self._happened("stock_showed", self.dealer, card)
        self._turn_is_over()

    def _stock_queen(self, card: str) -> None:
        """queen=redirects: a queen there is shown; the dealer must ask its right."""
        self._happened("stock_showed", self.dealer, card)
        self._ask(self.dealer, self._right_of(self.dealer), redirected=True)

    def _dealer_draws(self, card: str) -> None:
        """Rule 5: the dealer holds the stock card, the old one is discarded unseen."""
        self.cards[self.dealer] = card
        self._happened("drew", self.dealer, card)
        self._only_dealer_sees_new_card()
        self._turn_is_over()

    # ---- a request -------------------------------------------------------------------

    def _ask(self, asker: int, asked: int, *, redirected: bool) -> None:
        """A request; forced powers come first, then a choice if there is one."""
        self._happened("asked", asker, asked)
        if self._queen_redirects(asked):
            self._shown_queen(asker, asked, redirected=redirected)
        elif self._blocks_by_force(asked):
            self._shown_block(asked)
        elif self._answers_are_chosen():
            self._asker, self.seat = asker, asked
        else:
            self._exchange(asker, asked)

    def _queen_redirects(self, asked: int) -> bool:
        """queen=redirects: an asked seat with a queen does not swap."""
        return self._rule("queen", "redirects") and self._rank(asked) == "Q"

    def _shown_queen(self, asker: int, asked: int, *, redirected: bool) -> None:
        """The queen is shown; the asker must ask its right, but never a third seat."""
        self._show_card(asked)
        right = self._right_of(asker)
        if redirected or right == asked:
            self._turn_is_over()
        else:
            self._ask(asker, right, redirected=True)

    def _king_has_power(self, asked: int) -> bool:
        """A king blocks a request, unless kings are plain."""
        return self._rank(asked) == "K" and not self._rule("king", "plain")

    def _jack_has_power(self, asked: int) -> bool:
        """A jack blocks a request where jacks block or may block."""
        return self._rank(asked) == "J" and self._rule("jack", "blocks", "may_block")

    def _blocks_by_force(self, asked: int) -> bool:
        """Does the asked seat have to block?"""
        if self._holds_open_king(asked):
            return True
        if self._rule("refusal", "fee"):
            return False
        forced_jack = self._jack_has_power(asked) and self._rule("jack", "blocks")
        return self._king_has_power(asked) or forced_jack

    def _answers_are_chosen(self) -> bool:
        """Under a fee, or if jacks may block, every other asked seat answers."""
        return self._rule("refusal", "fee") or self._rule("jack", "may_block")

    def _show_card(self, asked: int) -> None:
        """The asked seat shows its card to all."""
        self._happened("showed", asked, self.cards[asked])
        self._everybody_sees(asked)

    def _shown_block(self, asked: int) -> None:
        """Rule 3: the card is shown, both keep their cards, the turn is used up."""
        self._show_card(asked)
        if self._rank(asked) == "K" and self._rule("king", "ends_trading"):
            self._stop_trading()
        self._turn_is_over()

    def _exchange(self, asker: int, asked: int) -> None:
        """Rule 3: the asked seat must swap."""
        cards = self.cards
        cards[asker], cards[asked] = cards[asked], cards[asker]
        self._happened("swapped", asker, asked, cards[asker], cards[asked])
        self._follow_swap(asker, asked)
        self._both_see(asker, asked)
        self._was_made_to_swap(asked)
        self._turn_is_over()

    def _was_made_to_swap(self, asked: int) -> None:
        """Rule 4: it uses up nobody's turn; swapped_turn=lost: it loses its turn."""
        self._made_to_swap.add(asked)
        if self._rule("swapped_turn", "lost"):
            self._turns_lost.add(asked)

    # ---- the answer to a request -----------------------------------------------------

    def _legal_answers(self) -> list[str]:
        """An asked seat may swap; it may show a blocking card; it may pay."""
        answers = ["accept"]
        if self._king_has_power(self.seat) or self._jack_has_power(self.seat):
            answers.append("show")
        if self._rule("refusal", "fee") and self.lives[self.seat] >= 2:
            answers.append("pay")
        return answers

    def _accept(self) -> None:
        """The asked seat swaps."""
        assert self._asker is not None
        self._exchange(self._asker, self.seat)

    def _show(self) -> None:
        """The asked seat shows its king or jack and pays nothing."""
        self._shown_block(self.seat)

    def _pay(self) -> None:
        """refusal=fee: it pays one token to the centre and keeps its card unseen."""
        self.lives[self.seat] -= 1
        self._happened("paid", self.seat)
        self._turn_is_over()

    # ---- the reveal ------------------------------------------------------------------

    def _reveal(self) -> None:
        """Rule 6: everyone reveals, and the lowest pay."""
        self.seat = -1
        self.rounds += 1
        for seat in self._seats_in():
            self._happened("revealed", seat, self.cards[seat])
            self._everybody_sees(seat)
        self.lost = [self._loss_of(seat) for seat in range(self.seats)]
        for seat in self._seats_in():
            if self.lost[seat] > 0:
                self._happened("lost", seat, self.lost[seat])
        self._settle()

    def _loss_of(self, seat: int) -> int:
        """What a seat loses at this reveal, never more than it holds."""
        losers = self._losers()
        if seat not in losers:
            return 0
        return min(self._penalty(len(losers)), self.lives[seat])

    def _penalty(self, tied: int) -> int:
        """penalty=shared: a sole lowest pays two, k tied lowest pay k; else one."""
        if self._rule("penalty", "one"):
            return 1
        return 2 if tied == 1 else tied

    def _losers(self) -> list[int]:
        """Rule 6: every seat with the lowest rank, changed by `pairs` and `ties`."""
        heights = {seat: self._height(self.cards[seat]) for seat in self._seats_in()}
        if self._rule("pairs", "safe"):
            heights = self._without_pairs(heights)
        lowest = min(heights.values(), default=None)
        losers = [seat for seat in heights if heights[seat] == lowest]
        if self._rule("ties", "first"):
            losers = self._earliest(losers)
        return losers

    def _without_pairs(self, heights: dict[int, int]) -> dict[int, int]:
        """pairs=safe: ranks held by two or more seats are safe."""
        held_by = Counter(heights.values())
        return {seat: h for seat, h in heights.items() if held_by[h] == 1}

    def _earliest(self, losers: list[int]) -> list[int]:
        """ties=first: among tied lowest only the earliest in turn order pays."""
        return [seat for seat in self._turn_order() if seat in losers][:1]

    # ---- what a reveal leads to ------------------------------------------------------

    def _settle(self) -> None:
        """After the reveal: the end of a single round, a final tie, or lost lives."""
        if self._rule("game", "round"):
            self._end_single_round()
        elif self._everyone_would_go_out():
            self._final_tie()
        else:
            self._lose_lives()
        if not self.over:
            self._go_on()

    def _go_on(self) -> None:
        """Rule 7: the deal passes to the left, unless the game is truncated here."""
        if self.rounds == self.rules["max_rounds"]:
            self._truncate()
            return
        self.dealer = self._left_of(self.dealer)
        self._start_round()

    def _everyone_would_go_out(self) -> bool:
        """Rule 8: would everyone still in go out at once?"""
        return all(self.lives[seat] == self.lost[seat] for seat in self._seats_in())

    def _lose_lives(self) -> None:
        """Rules 6 and 8: at zero lives a seat is out; the last seat in wins."""
        were_in = self._seats_in()
        self._pay_the_losses()
        for seat in were_in:
            if self.lives[seat] == 0:
                self._happened("out", seat)
        if len(self._seats_in()) == 1:
            self._pot_goes_to(self._seats_in())

    def _pay_the_losses(self) -> None:
        """Take from each seat what it lost at the reveal."""
        for seat in range(self.seats):
            self.lives[seat] -= self.lost[seat]

    # ---- the final tie ---------------------------------------------------------------

    def _final_tie(self) -> None:
        """Rule 8: everyone still in would go out at once; `final_tie` decides."""
        self._happened("final_tie")
        if self._rule("final_tie", "joint"):
            self._tie_joint()
        elif self._rule("final_tie", "cut"):
            self._tie_cut()
        elif self._rule("final_tie", "carry", "carry_stake"):
            self._tie_carried()
        # final_tie=replay: they keep the lives they had before the reveal.

    def _tie_joint(self) -> None:
        """final_tie=joint: all still in share the pot equally."""
        tied = self._seats_in()
        self._pay_the_losses()
        self._pot_goes_to(tied)

    def _tie_cut(self) -> None:
        """final_tie=cut: each draws a card, and the highest takes the pot."""
        tied = self._seats_in()
        self._pay_the_losses()
        self._pot_goes_to([self._highest_in_cut("final_cut", tied)])

    def _tie_carried(self) -> None:
        """final_tie=carry: a new game, all seats, full lives, the pot carried over;
        final_tie=carry_stake: with a new stake from each."""
        self._happened("carried")
        self.lives = [self.rules["lives"]] * self.seats
        if self._rule("final_tie", "carry_stake"):
            self.staked = [paid + 1 for paid in self.staked]

    # ---- the end of the game ---------------------------------------------------------

    def _end(self, winners: list[int]) -> None:
        """The game is over, won by these seats."""
        for seat in winners:
            self._happened("won", seat)
        self.winners = winners
        self.over = True

    def _pot_goes_to(self, winners: list[int]) -> None:
        """A seat's return is what it takes from the pot less what it staked."""
        pot = self.stake * sum(self.staked)
        for seat in range(self.seats):
            taken = pot / len(winners) if seat in winners else 0.0
            self.payoffs[seat] = taken - self.stake * self.staked[seat]
        self._end(winners)

    def _truncate(self) -> None:
        """max_rounds: the stakes go back, and nobody has won."""
        self._happened("truncated")
        self.truncated = True
        self._end([])

    def _end_single_round(self) -> None:
        """game=round: the seats that lost no life win, if others lost some."""
        played = self._seats_in()
        self._pay_the_losses()
        lost = {seat: self._lives_at_deal[seat] - self.lives[seat] for seat in played}
        winners = [seat for seat in played if lost[seat] == 0]
        if len(winners) == len(played):
            winners = []
        if winners:
            self._pay_single_round(lost, winners)
        self._end(winners)

    def _pay_single_round(self, lost: dict[int, int], winners: list[int]) -> None:
        """game=round: one stake for every life lost, shared by those that lost none."""
        share = self.stake * sum(lost.values()) / len(winners)
        for seat, lives in lost.items():
            paid = self.stake * lives
            self.payoffs[seat] = share if seat in winners else -paid
