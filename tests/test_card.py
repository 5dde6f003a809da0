"""The strategy card: what it says, what it says it costs, and that it can be read and printed."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cuckoo_env.agents import parse
from cuckoo_env.cards import rank_text
from cuckoo_env.engine import ACCEPT, KEEP, N_ACTIONS, PAY, SHOW, SWAP
from cuckoo_env.evaluate.card import Card, Cell, advice, as_text, card
from cuckoo_env.evaluate.card_picture import Box, as_svg, drawing, write_png
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.evaluate.match import TooLargeError
from cuckoo_env.rules import Rules
from cuckoo_env.train.solve import Solution, as_table, solve

VARIED = (
    "practice-table",
    "jack-rule,seats=2",
    "onesies,seats=2,lives=2",
    "full-rotation,seats=3,lives=2",
    "queen-rule,seats=3,lives=1",
    "aces-high,seats=2",
    "open-kings,lives=1",
    "one-round",
)


def solved(text: str, target: float) -> tuple[Card, Solution]:
    rules = Rules.parse(text)
    solution = solve(rules, target=target)
    return card(rules, as_table(solution, "equilibrium")), solution


@pytest.fixture(scope="module")
def le_her() -> tuple[Card, Solution]:
    return solved("le-her", 1e-7)


@pytest.fixture(scope="module")
def robins() -> dict[str, Card]:
    rules = {text: Rules.parse(text) for text in VARIED}
    return {text: card(each, parse("robin", each)) for text, each in rules.items()}


# -- What it says -------------------------------------------------------------------------------


def test_le_her_is_solved_as_it_has_been_for_three_centuries(le_her: tuple[Card, Solution]) -> None:
    """The first player changes 7 in 3 of 8 cases, the dealer 8 in 5 of 8 (Waldegrave 1713)."""
    first, dealer, gave_more, gave_less = le_her[0].rows
    assert first.who == "You play first"
    assert dealer.who == "You deal"
    for row, mixed, share in ((first, 7, 3 / 8), (dealer, 8, 5 / 8)):
        says = [cell.chances[SWAP] for cell in row.cells]
        assert says[: mixed - 1] == [1.0] * (mixed - 1)
        assert says[mixed - 1] == pytest.approx(share, abs=0.01)
        assert says[mixed:] == [0.0] * (13 - mixed)
    assert first.advice == "Swap 6 or lower (7: 3 times in 8)"
    assert dealer.advice == "Swap 7 or lower (8: 5 times in 8)"
    assert (gave_more.who, gave_more.advice) == ("You gave a higher card", "Swap")
    assert (gave_less.who, gave_less.advice) == ("You gave the same or a lower card", "Keep")


def test_robin_swaps_six_or_lower_wherever_it_sits(robins: dict[str, Card]) -> None:
    for text in ("practice-table", "one-round"):
        made = robins[text]
        assert {row.advice for row in made.rows} == {"Swap 6 or lower"}
        assert made.loss == pytest.approx(0.0, abs=1e-9)
    assert {row.advice for row in robins["aces-high,seats=2"].rows} == {"Swap 7 or lower"}


def test_a_seat_that_is_asked_is_told_what_to_answer(robins: dict[str, Card]) -> None:
    """Robin shows the card that blocks."""
    answers = [row for row in robins["jack-rule,seats=2"].rows if row.answer]
    assert [row.advice for row in answers] == ["Show J"]
    fee = [row for row in robins["onesies,seats=2,lives=2"].rows if row.answer]
    assert [row.advice for row in fee] == ["Show K; otherwise accept"]


def test_lives_make_exceptions() -> None:
    """At a table for two a tie on the other's last life wins."""
    made, solution = solved("standard,seats=2", 1e-5)
    same = next(row for row in made.rows if row.who == "You gave the same card")
    assert same.advice == "Swap 6 or lower"
    assert same.exceptions[0].when == "the other player is on the last life, you are not"
    assert same.exceptions[0].advice == "Keep"
    assert same.exceptions[0].cost > 0
    assert -100 * solution.nash_conv <= made.loss < 0.1


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([KEEP] * 13, "Keep"),
        ([SWAP] * 13, "Swap"),
        ([SWAP] * 6 + [KEEP] * 7, "Swap 6 or lower"),
        ([SWAP] + [KEEP] * 12, "Swap A only"),
        ([KEEP] * 9 + [SWAP] * 4, "Swap 10 or higher"),
        ([SWAP] * 4 + [KEEP] + [SWAP] * 2 + [KEEP] * 6, "Swap A to 4, 6 and 7"),
        ([ACCEPT] * 6 + [PAY] * 6 + [SHOW], "Show K; pay 7 to Q; otherwise accept"),
        ([None] * 10 + [SHOW] + [None] * 2, "Show J"),
        ([None] * 10 + [SHOW, None, SHOW], "Show J and K"),
    ],
)
def test_advice_in_words(actions: list[int | None], words: str) -> None:
    def cell(rank: int, action: int | None) -> Cell:
        chances = tuple(float(each == action) for each in range(N_ACTIONS))
        return Cell(rank=rank, chances=chances, agent=chances, cost=1.0, reach=1.0)

    assert advice([cell(1 + k, action) for k, action in enumerate(actions)]) == words


# -- What it costs ------------------------------------------------------------------------------


def test_at_an_equilibrium_nothing_else_is_better(le_her: tuple[Card, Solution]) -> None:
    """Changing one cell gains its chance times its cost: no more than NashConv."""
    made, solution = le_her
    cells = [cell for row in made.rows for cell in row.cells if cell.reach > 0]
    assert all(
        cell.reach * cell.cost / 100 >= -solution.nash_conv - 1e-12
        for cell in cells
        if not np.isnan(cell.cost)
    )
    mixed = [cell for cell in cells if cell.mixed]
    assert len(mixed) == 2
    assert all(abs(cell.cost) < 0.01 for cell in mixed)
    assert made.loss == pytest.approx(0.0, abs=1e-3)


class _Deviates:
    """Robin, but with one card, as first to play, it does the other thing."""

    name = "deviates"

    def __init__(self, rules: Rules, rank: int) -> None:
        self._robin, self._rank = parse("robin", rules), rank

    def probabilities(self, observations, masks, layout):  # type: ignore[no-untyped-def]
        chances = self._robin.probabilities(observations, masks, layout)
        own = layout.view(observations, "known")[:, 0].argmax(axis=1) + 1
        first = layout.view(observations, "dealer")[:, -1, 0] > 0
        there = first & (own == self._rank)
        chances[there, :2] = chances[there, 1::-1]
        return chances

    def player(self) -> None:
        pass


@pytest.mark.parametrize("rank", [1, 6, 7, 13])
def test_a_cost_is_what_deviating_loses(robins: dict[str, Card], rank: int) -> None:
    """Worked out another way: the deviation is played, in a single deal, by an agent of its own."""
    made = robins["one-round"]
    rules = made.rules
    cell = next(row for row in made.rows if row.who == "You play first").cells[rank - 1]
    robin = parse("robin", rules)
    deviates = evaluate(rules, [_Deviates(rules, rank), robin, robin], first_dealer="all")
    stays = evaluate(rules, [robin, robin, robin], first_dealer="all")
    lost = stays.win_share[0] - deviates.win_share[0]
    assert cell.reach == pytest.approx(1 / 3 / 13)
    assert lost == pytest.approx(cell.reach * cell.cost / 100, abs=1e-12)


@pytest.mark.parametrize("text", ["onesies,seats=2,lives=2", "queen-rule,seats=3,lives=1"])
def test_the_loss_is_that_of_the_card_as_an_agent(text: str) -> None:
    rules = Rules.parse(text)
    agent = parse("random", rules)
    made = card(rules, agent)
    others = [agent] * (rules.seats - 1)
    follows = evaluate(rules, [made.strategy, *others], first_dealer="all").win_share[0]
    assert made.win_share == pytest.approx(1 / rules.seats)
    assert made.loss == pytest.approx(100 * (made.win_share - follows), abs=1e-9)


def test_a_table_that_is_too_large_is_refused() -> None:
    rules = Rules.parse("cuckoo,seats=8")
    with pytest.raises(TooLargeError, match="nodes a round"):
        card(rules, parse("robin", rules))


# -- How it looks -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", VARIED)
def test_every_place_and_every_card_is_there(robins: dict[str, Card], text: str) -> None:
    made = robins[text]
    picture = ElementTree.fromstring(as_svg(made))
    words = [node.text or "" for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    plain = as_text(made)
    for row in made.rows:
        assert row.who in words
        assert row.who in plain
        assert row.advice in words
    places = {row.who.split(",")[0] for row in made.rows if row.players == made.rules.seats}
    assert places >= {"You play first", "You deal"} | (
        {"You are in the middle"} if made.rules.seats == 3 else set()
    )
    for rank in range(1, 14):
        assert words.count(rank_text(rank)) >= len(made.rows)
        assert re.search(rf"(?m)^ .*\s{rank_text(rank)}\b", plain)
    assert max(map(len, plain.splitlines())) <= 79


@pytest.mark.parametrize("text", VARIED)
def test_the_picture_needs_nothing_from_elsewhere_and_stays_on_its_page(
    robins: dict[str, Card], text: str
) -> None:
    svg = as_svg(robins[text])
    assert svg.count("http") == 1  # the name space
    assert not re.search(r"href|<image|<script|@import|<style", svg)
    assert set(re.findall(r"url\(([^)]*)\)", svg)) <= {"#sometimes"}
    for shape in drawing(robins[text]):
        if isinstance(shape, Box):
            assert 0 <= shape.x <= shape.x + shape.width <= 840
            assert 0 <= shape.y <= shape.y + shape.height <= 1188
        else:
            left = shape.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * shape.width
            assert 0 <= left <= left + shape.width <= 840
            assert shape.size <= shape.y <= 1188


def test_png(robins: dict[str, Card], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="comes with the extra train")
    write_png(robins["practice-table"], tmp_path / "card.png")
    data = (tmp_path / "card.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    wide, high = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    assert high / wide == pytest.approx(297 / 210, abs=0.01)
    assert list(tmp_path.iterdir()) == [tmp_path / "card.png"]
