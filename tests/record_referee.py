"""Whether a record follows the rules, by the plain referee: no engine, and as plain as the referee itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from referee import Referee

from cuckoo_env.rules import Rules


class BrokenError(ValueError):
    """The record does not follow the rules."""


def require(condition: bool, what: str) -> None:
    if not condition:
        raise BrokenError(what)


def obeys(record: Mapping[str, Any]) -> bool:
    """Whether everything in a record of the right form is as the rules say."""
    try:
        _replay(record)
    except (ValueError, LookupError):
        return False
    return True


class _Written:
    """Luck as a record has it; cards that it does not have are twos."""

    def __init__(self, record: Mapping[str, Any], decks: int) -> None:
        self._deals = [each for each in record["rounds"] if "misdeal" not in each]
        self._decks = decks
        self._stock: list[str] = []
        self._cuts = list(record.get("dealer_cut", []))

    def lot(self, seats: int) -> int:
        raise BrokenError("the dealer is in the first round")

    def deal(self, seats_in: list[int]) -> dict[int, str]:
        self.must_be_used_up()
        if not self._deals:
            return dict.fromkeys(seats_in, "2c")
        now = self._deals.pop(0)
        dealt = {seat: card for seat, card in enumerate(now["deal"]) if card is not None}
        require(list(dealt) == seats_in, "deal")
        self._stock, self._cuts = list(now.get("stock", [])), list(now.get("cut", []))
        self._must_be_in_packs([*dealt.values(), *self._stock])
        return dealt

    def stock(self) -> str:
        return self._stock.pop(0)

    def cut(self, seats: list[int]) -> list[str]:
        cut = [self._cuts.pop(0) for _ in seats]
        require([seat for seat, _ in cut] == seats, "cut")
        cards = [card for _, card in cut]
        self._must_be_in_packs(cards)
        return cards

    def must_be_used_up(self) -> None:
        require(not self._stock and not self._cuts, "stock or cut")

    def _must_be_in_packs(self, cards: list[str]) -> None:
        require(all(isinstance(card, str) for card in cards), "cards")
        require(max(Counter(cards).values()) <= self._decks, "packs")


def _replay(record: Mapping[str, Any]) -> None:
    rules, rounds = Rules.parse(record["rules"]).fields(), record["rounds"]
    luck = _Written(record, int(rules["decks"] or 0))
    require(
        all(len(each["deal"]) == rules["seats"] for each in rounds if "misdeal" not in each), ""
    )
    if "dealer_cut" in record:
        require(rules["first_dealer"] == "cut" and "staked" not in record, "dealer_cut")
        referee = Referee(rules, luck)
    else:
        position = {"lives": rounds[0]["lives"], "staked": record.get("staked")}
        referee = Referee(rules, luck, dealer=rounds[0]["dealer"], **position)
    for each in rounds:
        require(not referee.over, "rounds")
        require(each["dealer"] == referee.dealer, "dealer")
        require(each["lives"] == referee.lives, "lives")
        if "misdeal" in each:
            require(each["misdeal"] is True, "misdeal")
            require(set(each) == {"misdeal", "dealer", "lives", "deal"}, "misdeal")
        else:
            _play(referee, each)
    luck.must_be_used_up()
    _check_result(referee, record)


def _play(referee: Referee, written: Mapping[str, Any]) -> None:
    rounds, told = referee.rounds, len(referee.events)
    for seat, action in written["actions"]:
        require(referee.rounds == rounds and referee.seat == seat, "actions")
        referee.act(action)
    require(referee.rounds == rounds + 1, "actions")
    news = referee.events[told:]
    revealed = {event[1]: event[2] for event in news if event[0] == "revealed"}
    reveal = [revealed.get(seat) for seat in range(referee.seats)]
    lost = {event[1]: event[2] for event in news if event[0] == "lost"}
    require(written.get("reveal", reveal) == reveal, "reveal")
    losses = [lost.get(seat, 0) for seat in range(referee.seats)]
    require(written.get("lost", losses) == losses, "lost")
    require(written.get("carried", False) == (("carried",) in news), "carried")


def _check_result(referee: Referee, record: Mapping[str, Any]) -> None:
    winners = referee.winners if referee.over else None
    payoffs = referee.payoffs if referee.over else None
    require(record.get("winners", winners) == winners, "winners")
    found = record.get("payoffs", payoffs)
    require((found is None) == (payoffs is None), "payoffs")
    if found is not None and payoffs is not None:
        pairs = zip(found, payoffs, strict=True)
        require(all(abs(one - other) <= 1e-9 for one, other in pairs), "payoffs")
