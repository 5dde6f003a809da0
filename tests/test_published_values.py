"""Values that others have published or that can be counted, reproduced by sampling within error."""

from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt
import pytest

from cuckoo_env.agents import Agent, lineup, parse
from cuckoo_env.batch import LEAVE, Batch
from cuckoo_env.engine import KEEP, NOBODY, SWAP
from cuckoo_env.evaluate import compare, play
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules

TOLERANCE = 4.5
"""Standard errors; a right value fails once in some 150,000 seeds."""

# -- Le Her -------------------------------------------------------------------------------------

LE_HER = Rules.parse("le-her,first_dealer=1")
GAMES = 400_000
CELLS = {(7, 8): 2828, (7, 7): 2838, (6, 8): 2834, (6, 7): 2828}
"""P(the non-dealer wins) over 5525, by the highest rank that the non-dealer and the dealer switch.

Bellhouse and Fillion, "Le Her and other problems in probability discussed by Bernoulli, Montmort and
Waldegrave", Statistical Science, 2015.
"""


class LeHerDealer:
    """Not asked, the dealer switches low ranks; after a swap he draws exactly when he is behind."""

    def __init__(self, highest: int) -> None:
        self.name = f"le-her dealer:{highest}"
        self.highest = highest

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        ranks = np.arange(1, 14)
        known = layout.view(observations, "known") @ ranks.astype(np.float32)  # 0: not known
        mine, his = known[:, 0], known[:, 1]
        draws = np.where(his > 0, mine < his, mine <= self.highest)
        chances = np.zeros(masks.shape)
        chances[:, KEEP], chances[:, SWAP] = ~draws, draws
        return chances

    def player(self) -> None:
        return None


def le_her(non_dealer: int, dealer: int) -> list[Agent]:
    return [parse(f"threshold:{non_dealer}", LE_HER), LeHerDealer(dealer)]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_le_her_is_won_as_often_as_published(cell: tuple[int, int]) -> None:
    result = play(LE_HER, le_her(*cell), GAMES, seed=1713)
    expected = CELLS[cell] / 5525
    assert abs(result.win_share[0] - expected) < TOLERANCE * result.win_share_se[0]
    assert result.win_share_se[0] < 0.001
    assert (result.undecided, result.truncated, result.rounds) == (0, 0, 1)


@pytest.mark.parametrize(
    ("cell", "other"), [((7, 7), (7, 8)), ((6, 8), (7, 8)), ((6, 7), (7, 7)), ((6, 8), (6, 7))]
)
def test_the_cells_of_le_her_differ_as_published(
    cell: tuple[int, int], other: tuple[int, int]
) -> None:
    both = compare(LE_HER, le_her(*cell), le_her(*other), GAMES, seed=1713)
    expected = (CELLS[cell] - CELLS[other]) / 5525
    error = both.win_share_se[0]
    assert abs(both.win_share[0] - expected) < TOLERANCE * error
    # The same deals for both make the error small enough to tell the difference from none.
    assert error < abs(expected) / 2.5


# -- Everyone keeps -----------------------------------------------------------------------------

LOSERS = {2: Fraction(18, 17), 3: Fraction(463, 425), 4: Fraction(23348, 20825)}
ALL_TIE = {2: Fraction(1, 17), 3: Fraction(1, 425), 4: Fraction(1, 20825)}


def losers_a_round(seats: int, games: int, seed: int) -> npt.NDArray[np.int64]:
    """How many lose a round in which everyone keeps: (games,)."""
    batch = Batch(f"one-round,seats={seats}", games, seed=seed, renew=False)
    while (running := batch.seats != NOBODY).any():
        batch.step(np.where(running, KEEP, LEAVE).astype(np.int8))
    winners = batch.winners.sum(axis=1, dtype=np.int64)
    return seats - winners  # without winners all have lost


@pytest.mark.parametrize("seats", LOSERS)
def test_everyone_keeps_and_so_many_lose(seats: int) -> None:
    losers = losers_a_round(seats, 500_000, seed=seats)
    error = losers.std(ddof=1) / np.sqrt(len(losers))
    assert abs(losers.mean() - float(LOSERS[seats])) < TOLERANCE * error
    assert error < 0.001


@pytest.mark.parametrize("seats", ALL_TIE)
def test_everyone_keeps_and_all_tie_so_often(seats: int) -> None:
    rules, games = Rules.parse(f"one-round,seats={seats}"), 500_000
    result = play(rules, lineup(["naive"] * seats, rules), games, seed=seats)
    expected = float(ALL_TIE[seats])
    error = np.sqrt(expected * (1 - expected) / games)
    assert abs(result.undecided - expected) < TOLERANCE * error


@pytest.mark.parametrize("seats", [2, 3, 4, 10])
def test_some_king_is_dealt_so_often(seats: int) -> None:
    # Where a dealt king stops the deal, everybody can see whether there is one.
    games = 100_000
    batch = Batch(f"kings-face-up,game=round,seats={seats}", games, seed=seats)
    stopped = batch.layout.view(batch.observations, "trading")[:, 0] == 0
    expected = 1 - comb(48, seats) / comb(52, seats)
    error = np.sqrt(expected * (1 - expected) / games)
    assert abs(stopped.mean() - expected) < TOLERANCE * error
