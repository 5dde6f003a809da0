"""The agents: how they are named, what they do, and that both routes play them alike."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuckoo_env import seeding
from cuckoo_env.agents import BOTS, KINDS, Agent, AgentError, fill, lineup, parse, sample
from cuckoo_env.autoplay import OUTSIDE, PLAYER, choose_many, roll
from cuckoo_env.batch import LEAVE, Batch
from cuckoo_env.cards import KING, N_RANKS
from cuckoo_env.engine import ACCEPT, KEEP, NOBODY, SHOW, SWAP
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules

TABLES = [
    "standard",
    "aces-high",
    "open-kings,seats=4",
    "open-kings,seats=4,dealer=rotation,ace=high",
    "full-rotation",
    "full-rotation,queen=redirects,direction=right,seats=5",
    "onesies",
    "jack-rule,seats=4",
    "onesies,king=ends_trading,jack=blocks,queen=redirects,dealer=rotation,seats=6",
    "kings-face-up",
]


def no_difference(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


# -- Names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*BOTS, "threshold:0", "threshold:13", " robin "])
def test_a_spec_names_an_agent_and_the_agent_keeps_it(spec: str) -> None:
    assert parse(spec, Rules.parse("practice-table")).name == spec.strip()


@pytest.mark.parametrize(
    "spec",
    ["", "rbin", "Robin", "robin:", "robin:6", "random:1", "threshold", "threshold:", "policy",
     "threshold:14", "threshold:-1", "threshold:x", "threshold:1.0", "threshold:٣", ":6"],
)  # fmt: skip
def test_a_bad_spec_is_refused_and_told_what_is_accepted(spec: str) -> None:
    with pytest.raises(AgentError, match=r"agent: .* is refused; accepted: .*threshold:T"):
        parse(spec, Rules())


def test_every_kind_is_told_when_a_spec_is_refused() -> None:
    with pytest.raises(AgentError) as refused:
        parse("nobody", Rules())
    assert all(kind.form in str(refused.value) for kind in KINDS.values())


def test_a_policy_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(AgentError, match="nothing-here"):
        parse(f"policy:{tmp_path}/nothing-here", Rules())


def test_robin_swaps_six_ranks_and_alex_seven() -> None:
    rules = Rules()
    assert parse("robin", rules).swaps == (1, 2, 3, 4, 5, 6)
    assert parse("alex", rules).swaps == (1, 2, 3, 4, 5, 6, 7)
    assert parse("naive", rules).swaps == ()
    assert parse("threshold:13", rules).swaps == tuple(range(1, 14))


def test_with_the_ace_high_the_lowest_rank_is_the_two() -> None:
    rules = Rules(ace="high")
    assert parse("robin", rules).swaps == (2, 3, 4, 5, 6, 7)
    assert parse("threshold:13", rules).swaps == (*range(2, 14), 1)


def test_a_lineup_has_one_agent_a_seat_and_shares_equal_ones() -> None:
    agents = lineup("robin, alex ,robin", Rules())
    assert [agent.name for agent in agents] == ["robin", "alex", "robin"]
    assert agents[0] is agents[2]
    with pytest.raises(AgentError, match="agents: 2 are refused; accepted: 3"):
        lineup(["robin", "alex"], Rules())


def test_agents_fill_the_other_seats_in_order_and_again_from_the_first() -> None:
    rules = Rules(seats=6)
    names = [agent.name for agent in fill("robin,alex", rules, 2)]
    assert names == ["robin", "alex", "robin", "alex", "robin"]
    with pytest.raises(AgentError, match=r"accepted: 1 to 1, for all but seat 0 of le-her"):
        fill(["robin", "alex"], Rules.parse("le-her"), 0)
    with pytest.raises(AgentError, match="agent: '' is refused"):
        fill("", rules, None)


# -- What they do -------------------------------------------------------------------------------


def plainly(spec: str, rules: Rules, layout: Layout, vector: np.ndarray, mask: np.ndarray) -> int:
    """What a threshold bot does, written out slowly from its description."""
    order = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1] if rules.ace == "high" else range(1, 14)
    swaps = list(order)[: {"naive": 0, "robin": 6, "alex": 7}[spec]]
    if not mask[KEEP]:
        return SHOW if mask[SHOW] else ACCEPT
    known, shown = layout.view(vector, "known"), layout.view(vector, "shown")[:, 0]
    deals = layout.view(vector, "dealer")[0, 0] == 1
    asks_a_seat = not deals or rules.dealer == "rotation"
    others = [seat for seat in range(1, rules.seats) if layout.view(vector, "in_play")[seat, 0]]
    facing_a_king = shown[others[0]] and known[others[0]].argmax() + 1 == KING
    wants = known[0].argmax() + 1 in swaps
    return SWAP if wants and mask[SWAP] and not (asks_a_seat and facing_a_king) else KEEP


@pytest.mark.parametrize("text", TABLES)
def test_the_bots_do_what_their_description_says(text: str) -> None:
    rules = Rules.parse(text)
    batch = Batch(rules, games=60, seed=3)
    rng = np.random.default_rng(3)
    for _ in range(60):
        for spec in ("naive", "robin", "alex"):
            chances = parse(spec, rules).probabilities(
                batch.observations, batch.masks, batch.layout
            )
            rows = zip(batch.observations, batch.masks, strict=True)
            expected = [plainly(spec, rules, batch.layout, *row) for row in rows]
            assert chances.argmax(axis=1).tolist() == expected
            assert (chances.sum(axis=1) == 1).all()
            assert (chances.max(axis=1) == 1).all()
        batch.step(sample(batch.masks / batch.masks.sum(axis=1, keepdims=True), rng.random(60)))


def test_nobody_asks_a_neighbour_whose_king_lies_open() -> None:
    rules = Rules.parse("open-kings,seats=3")
    batch = Batch(rules, games=2000, seed=1)
    known = batch.layout.view(batch.observations, "known")
    facing = known[:, 1, KING - 1] == 1
    low = known[:, 0, :6].any(axis=1)
    assert (facing & low).sum() > 20
    actions = parse("robin", rules).probabilities(batch.observations, batch.masks, batch.layout)
    assert (actions.argmax(axis=1)[low] == np.where(facing[low], KEEP, SWAP)).all()


def test_agents_take_arrays_that_are_not_theirs_to_write_to() -> None:
    rules = Rules.parse("standard")
    batch = Batch(rules, games=10, seed=1)
    observations, masks = batch.observations[::2].copy(), batch.masks[::2].copy()
    observations.flags.writeable = masks.flags.writeable = False
    again = parse("robin", rules).probabilities(observations, masks, batch.layout)
    whole = parse("robin", rules).probabilities(batch.observations, batch.masks, batch.layout)
    assert no_difference(again, whole[::2])


# -- Sampling -----------------------------------------------------------------------------------


def test_an_action_without_a_chance_is_never_drawn() -> None:
    chances = np.array([[0.0, 0.3, 0.0, 0.7, 0.0]]).repeat(3, axis=0)
    assert sample(chances, np.array([0.0, 0.3, 1 - 2**-32])).tolist() == [1, 3, 3]


def test_sums_a_little_under_one_do_no_harm() -> None:
    chances = np.array([[0.5 - 1e-7, 0.5 - 1e-7, 0.0]])
    assert sample(chances, np.array([1 - 2**-32])).tolist() == [1]


@given(
    mask=st.lists(st.integers(0, 1), min_size=5, max_size=5).filter(any),
    word=st.integers(0, 2**32 - 1),
)
def test_the_random_bot_draws_alike_in_both_routes(mask: list[int], word: int) -> None:
    layout = Layout.of(Rules(), n_actions=5)
    masks, luck = np.array([mask], np.int8), np.array([word / 2**32])
    observations, compiled = np.zeros((1, layout.size), np.float32), np.zeros(1, np.int8)
    bot = parse("random", Rules())
    players = np.zeros(1, PLAYER)
    players[0] = bot.player()
    which = np.zeros(1, np.intp)
    choose_many(players, which, layout.offsets, observations, masks, luck, compiled)
    assert sample(bot.probabilities(observations, masks, layout), luck) == compiled
    assert mask[compiled[0]] == 1


# -- Both routes --------------------------------------------------------------------------------


def play_from_outside(
    rules: Rules, agents: list[Agent], games: int, seed: int, free: int
) -> tuple[Batch, int]:
    """Play every seat through `probabilities`; all but one draw from the batch's own stream."""
    batch = Batch(rules, games, seed=seed, renew=False)
    seeds = seeding.derive_many(seed, games)
    dice = seeding.generator_words(seeds, seeding.CHOICES)
    other_dice = seeding.generator_words(seeds, 9)
    decisions = 0
    while (batch.seats != NOBODY).any():
        actions = np.full(games, LEAVE, np.int8)
        for seat, agent in enumerate(agents):
            rows = np.flatnonzero(batch.seats == seat)
            luck = np.empty(rows.size)
            roll(other_dice if seat == free else dice, rows, luck)
            chances = agent.probabilities(batch.observations[rows], batch.masks[rows], batch.layout)
            actions[rows] = sample(chances, luck)
            decisions += rows.size
        batch.step(actions)
    return batch, decisions


def play_inside(
    rules: Rules, agents: list[Agent], games: int, seed: int, free: int
) -> tuple[Batch, int]:
    """Play all seats but one in the engine's loop, and that one by compiled choice."""
    players = np.zeros(rules.seats, PLAYER)
    for seat, agent in enumerate(agents):
        players[seat] = agent.player()
    plan = players[None].copy()
    plan["kind"][0, free] = OUTSIDE
    batch = Batch(rules, games, seed=seed, plan=plan, renew=False)
    dice = seeding.generator_words(seeding.derive_many(seed, games), 9)
    decisions = 0
    while (rows := np.flatnonzero(batch.seats != NOBODY)).size:
        assert (batch.seats[rows] == free).all()
        luck, chosen = np.empty(rows.size), np.empty(rows.size, np.int8)
        roll(dice, rows, luck)
        seats = batch.seats[rows].astype(np.intp)
        arrays = batch.observations[rows], batch.masks[rows]
        choose_many(players, seats, batch.layout.offsets, *arrays, luck, chosen)
        actions = np.full(games, LEAVE, np.int8)
        actions[rows] = chosen
        batch.step(actions)
        decisions += rows.size
    return batch, decisions


@pytest.mark.parametrize("text", TABLES)
def test_both_routes_play_identical_games(text: str) -> None:
    rules, games = Rules.parse(text), 150
    specs = itertools.cycle(["random", "alex", "naive", "robin", "random"])
    agents = lineup(list(itertools.islice(specs, rules.seats)), rules)
    for free in (0, 1):
        outside, all_decisions = play_from_outside(rules, agents, games, 5, free)
        inside, its_decisions = play_inside(rules, agents, games, 5, free)
        assert no_difference(outside.returns, inside.returns)
        assert no_difference(outside.winners, inside.winners)
        assert no_difference(outside.done, inside.done)
        assert all_decisions > its_decisions > games


def test_the_rank_order_has_no_gap() -> None:
    for ace in ("low", "high"):
        ranks = parse(f"threshold:{N_RANKS}", Rules(ace=ace)).swaps
        assert sorted(ranks) == list(range(1, N_RANKS + 1))
