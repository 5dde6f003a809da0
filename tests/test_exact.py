"""Exact values against published ones, against sampling, and against themselves."""

import math

import numpy as np
import pytest

from cuckoo_env.agents import lineup
from cuckoo_env.evaluate.exact import (
    Chain,
    best_response,
    evaluate,
    reveal_chances,
    strategy_of,
)
from cuckoo_env.evaluate.match import Match, TooLargeError, strongly_connected
from cuckoo_env.evaluate.tree import PLENTY, _Shelf, deals, round_rules, tree_for
from cuckoo_env.rules import Rules


class LeHerPlayer:
    """Switches the lowest ranks; as dealer not asked likewise, and after a swap exactly when behind."""

    def __init__(self, others: float, dealer: float) -> None:
        """Take how many ranks are switched: 6.5 switches the seven half of the time."""
        self._switch = (others, dealer)
        self.name = f"{others}/{dealer}"

    def probabilities(self, observations, masks, layout):
        deals_now = layout.view(observations, "dealer")[:, 0, 0] > 0
        known = layout.view(observations, "known")
        mine = known[:, 0].argmax(axis=1) + 1
        theirs = np.where(known[:, 1].any(axis=1), known[:, 1].argmax(axis=1) + 1, 0)
        most = np.where(deals_now, self._switch[1], self._switch[0])
        swap = np.clip(most - mine + 1, 0, 1)
        swap = np.where(deals_now & (theirs > 0), (mine < theirs) * 1.0, swap) * masks[:, 1]
        return np.stack([1 - swap, swap], axis=1)

    def player(self):
        return None


# Le Her, dealer in seat 1: chances of the other seat over 5525, by what they switch (Bernoulli,
# Montmort; Bellhouse and Fillion, "Le Her and other problems in probability", Statistical Science 2015).
@pytest.mark.parametrize(
    ("others", "dealer", "wins"), [(7, 8, 2828), (7, 7, 2838), (6, 8, 2834), (6, 7, 2828)]
)
def test_le_her_cells(others, dealer, wins):
    player = LeHerPlayer(others, dealer)
    exact = evaluate(Rules.parse("le-her"), [player, player], first_dealer=1)
    assert exact.win_share[0] * 5525 == pytest.approx(wins, abs=1e-8)


def test_le_her_equilibrium_has_the_published_value_and_no_gain():
    player = LeHerPlayer(6 + 3 / 8, 7 + 5 / 8)
    exact = evaluate(Rules.parse("le-her"), [player, player], first_dealer=1, best_responses=True)
    assert exact.win_share[0] == pytest.approx(11327 / 22100, abs=1e-12)
    assert exact.nash_conv == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("seats", "losers", "all_tie"),
    [(2, 18 / 17, 1 / 17), (3, 463 / 425, 1 / 425), (4, 23348 / 20825, 1 / 20825)],
)
def test_everyone_keeps(seats, losers, all_tie):
    rules = Rules.parse(f"one-round,seats={seats}")
    match = Match(rules)
    weights = strategy_of(match, lineup(["naive"] * seats, rules))
    tree = match.tree[0]
    chances = reveal_chances(tree, weights[0])
    assert chances @ tree.reveal_losses.sum(axis=1) == pytest.approx(losers, abs=1e-12)
    assert chances[(tree.reveal_losses > 0).all(axis=1)].sum() == pytest.approx(all_tie, abs=1e-12)


def test_everyone_keeps_with_two_packs_counts_the_lowest_rank_by_hand():
    # P(rank r is lowest and held by k of n) summed over r, k: straight from the counts of a double pack.
    packs, seats = 2, 3
    total = math.comb(52 * packs, seats)
    expected = sum(
        k * math.comb(4 * packs, k) * math.comb(4 * packs * above, seats - k) / total
        for above in range(13)
        for k in range(1, seats + 1)
    )
    rules = Rules.parse(f"one-round,seats={seats},decks={packs}")
    match = Match(rules)
    tree = match.tree[0]
    chances = reveal_chances(tree, strategy_of(match, lineup(["naive"] * seats, rules))[0])
    assert chances @ tree.reveal_losses.sum(axis=1) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("decks", [1, 2, 3])
@pytest.mark.parametrize("places", [1, 2, 3])
def test_the_chances_of_all_deals_sum_to_one(places, decks):
    assert deals(places, decks)[1].sum() == pytest.approx(1, abs=1e-12)


def test_a_round_at_three_seats_has_549_information_states():
    tree = tree_for(Rules.parse("practice-table"), (3, 3, 3))
    assert tree.n_states == 549


def test_robin_robin_alex():
    rules = Rules.parse("practice-table")
    agents = lineup(["robin", "robin", "alex"], rules)
    exact = evaluate(rules, agents, best_responses=True)
    assert exact.win_share.sum() == pytest.approx(1, abs=1e-12)
    assert exact.payoff.sum() == pytest.approx(0, abs=1e-12)
    assert (exact.gain >= -1e-12).all()
    assert exact.nash_conv == pytest.approx(0.0898, abs=5e-5)


@pytest.mark.parametrize(
    "text",
    [
        "practice-table",
        "onesies,lives=2",
        "pairs-safe,seats=2",
        "full-rotation",
        "jack-rule,lives=1",
    ],
)
def test_a_best_response_is_worth_what_evaluating_it_says(text):
    rules = Rules.parse(text)
    match = Match(rules)
    strategy = strategy_of(match, lineup(["robin"] * rules.seats, rules))
    base = Chain(match, strategy).values()
    for seat in range(rules.seats):
        best = best_response(match, strategy, seat)
        again = Chain(match, best.strategy).values()[:, seat]
        np.testing.assert_allclose(again, best.win_share, atol=1e-12)
        assert (best.win_share >= base[:, seat] - 1e-12).all()


def test_a_table_too_large_is_refused_with_its_size():
    with pytest.raises(TooLargeError, match="nodes a round"):
        Match(Rules.parse("chase-the-ace,seats=12"))


def test_components_come_before_what_leads_to_them():
    after = [[1], [2, 3], [1], [4], [4], [0]]
    assert [sorted(each) for each in strongly_connected(after)] == [[4], [3], [1, 2], [0], [5]]


def test_trees_are_kept_up_to_so_many_nodes():
    rules = [round_rules(Rules.parse(text), 2) for text in ("standard", "le-her", "queen-rule")]
    lives = (PLENTY, PLENTY)
    size = len(_Shelf(most=0).tree(rules[0], lives).parent)
    shelf = _Shelf(most=3 * size)
    kept = shelf.tree(rules[0], lives)
    for _ in range(2):
        for each in rules[1:]:
            assert shelf.tree(each, lives) is shelf.tree(each, lives)
            assert shelf.tree(rules[0], lives) is kept  # just used, so it stays
    tight = _Shelf(most=size)
    first = tight.tree(rules[0], lives)
    tight.tree(rules[1], lives)
    assert tight.tree(rules[0], lives) is not first
