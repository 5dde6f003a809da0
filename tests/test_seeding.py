"""Seeds: the same game everywhere, and games that have nothing to do with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from cuckoo_env.seeding import (
    CARDS,
    CHOICES,
    check_seed,
    derive,
    derive_many,
    generator_for,
    generator_words,
)

INDEX = st.integers(0, 2**40)
ANY_SIZE = st.integers(0, 2**200)


@given(seed=ANY_SIZE, first=INDEX, number=st.integers(1, 20))
def test_one_derived_seed_is_the_same_as_among_many(seed: int, first: int, number: int) -> None:
    many = derive_many(seed, first + number, first=first)
    assert many.dtype == np.uint64
    assert many.tolist() == [derive(seed, first + k) for k in range(number)]


@given(seed=ANY_SIZE, index=INDEX)
def test_derived_seeds_are_64_bit_seeds(seed: int, index: int) -> None:
    derived = derive(seed, index)
    assert 0 <= derived < 2**64
    assert check_seed(derived) == derived


@given(seed=strategies.seeds(), stream=st.sampled_from([CARDS, CHOICES]))
def test_a_single_game_starts_as_it_does_among_many(seed: int, stream: int) -> None:
    seed %= 2**64
    words = generator_words(np.array([seed], np.uint64), stream)
    assert words.shape == (1, 2)
    assert words.dtype == np.uint32
    assert generator_for(seed, stream).tolist() == words[0].tolist()


@given(seed=ANY_SIZE, stream=st.sampled_from([CARDS, CHOICES]))
def test_a_generator_never_starts_all_zero(seed: int, stream: int) -> None:
    assert generator_for(seed, stream).any()


def test_the_one_state_a_generator_cannot_leave_is_avoided() -> None:
    # Mixing is a bijection of 64 bits that keeps zero: seed zero of the first stream mixes to zero.
    assert generator_for(0, CARDS).tolist() == [0, 1]


def test_zero_is_a_seed_like_any_other() -> None:
    assert check_seed(0) == 0
    assert len(set(derive_many(0, 1000).tolist())) == 1000
    assert derive(0, 0) != derive(1, 0)


@pytest.mark.parametrize("seed", [2**64, 2**64 + 1, 2**128, 10**60])
def test_huge_seeds_are_seeds_of_their_own(seed: int) -> None:
    alike = {seed % 2**64, seed // 2**64, 0}
    assert derive(seed, 0) not in {derive(other, 0) for other in alike if other != seed}
    assert generator_for(seed, CARDS).tolist() not in [
        generator_for(other, CARDS).tolist() for other in alike if other != seed
    ]


def test_neighbouring_seeds_and_games_have_nothing_in_common() -> None:
    seeds = [seed for start in range(200) for seed in derive_many(start, 200).tolist()]
    assert len(set(seeds)) == len(seeds)
    words = generator_words(np.array(seeds, np.uint64), CARDS)
    bits = np.unpackbits(words.view(np.uint8), axis=1)
    # 40,000 fair coins stray from a half by 0.0025; eight times that never happens.
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.02
    together = np.corrcoef(bits.T) - np.eye(bits.shape[1])
    assert abs(together).max() < 0.04


def test_cards_and_choices_are_different_streams() -> None:
    seeds = derive_many(5, 1000)
    assert (generator_words(seeds, CARDS) != generator_words(seeds, CHOICES)).any(axis=1).all()


def test_none_asks_for_a_fresh_seed() -> None:
    assert len({check_seed(None) for _ in range(20)}) == 20


@pytest.mark.parametrize("seed", [np.int32(7), np.uint64(7), 7])
def test_whole_numbers_of_any_type_are_seeds(seed: Any) -> None:
    assert check_seed(seed) == 7
    assert type(check_seed(seed)) is int


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, np.float64(3), [1], np.int64(-5)])
def test_anything_else_is_refused(seed: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^seed: .* is refused; accepted: a whole number from 0, or N"
    ):
        check_seed(seed)


def test_the_same_numbers_on_every_platform() -> None:
    # SplitMix64 seeded with 0, as its authors publish it: its first two outputs.
    assert derive_many(0, 2).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
