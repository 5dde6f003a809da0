"""Sampled evaluation: every game counted once, honest errors, honest words."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuckoo_env import records, seeding
from cuckoo_env.agents import Agent, AgentError, lineup, parse, sample
from cuckoo_env.batch import CUT_SHORT, LEAVE, Batch
from cuckoo_env.engine import NOBODY
from cuckoo_env.evaluate import Result, arena, compare, play
from cuckoo_env.evaluate.statistics import (
    FEWEST_GAMES,
    SHOWN_AT,
    Moments,
    games_needed,
    is_shown,
    verdict,
)
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules, RulesError


class Outsider:
    """An agent that plays as another does, but is no data: it has to be asked."""

    def __init__(self, spec: str, rules: Rules) -> None:
        self.name = f"outside {spec}"
        self._inner, self.asked = parse(spec, rules), 0

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        assert (masks.max(axis=1) == 1).all()  # only rows that are to act
        self.asked += len(masks)
        return self._inner.probabilities(observations, masks, layout)

    def player(self) -> None:
        return None


def same(one: Result, other: Result) -> bool:
    arrays = ("win_share", "win_share_se", "payoff", "payoff_se", "edge", "edge_se")
    numbers = ("games", "truncated", "undecided", "rounds", "rules", "seed", "first_dealer")
    return all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays) and all(
        getattr(one, n) == getattr(other, n) for n in numbers
    )


def by_hand(rules: Rules, agents: list[Agent], games: int, seed: int) -> Batch:
    """The same games, every seat asked from outside: deterministic agents only."""
    batch = Batch(rules, games, seed=seed, renew=False)
    while (batch.seats != NOBODY).any():
        actions = np.full(games, LEAVE, np.int8)
        for seat, agent in enumerate(agents):
            rows = np.flatnonzero(batch.seats == seat)
            chances = agent.probabilities(batch.observations[rows], batch.masks[rows], batch.layout)
            actions[rows] = sample(chances, np.full(rows.size, 0.5))
        batch.step(actions)
    return batch


# -- What is counted ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["practice-table", "one-round,seats=4", "onesies,max_rounds=5"])
def test_the_result_sums_up_whole_games_each_once(text: str) -> None:
    rules, games = Rules.parse(text), 400
    agents = lineup(["robin", "alex", "naive", "robin"][: rules.seats], rules)
    batch = by_hand(rules, agents, games, 11)
    result = play(rules, agents, games, 11)

    winners = batch.winners.astype(float)
    shares = winners / np.maximum(winners.sum(axis=1, keepdims=True), 1)
    assert result.win_share == pytest.approx(shares.mean(axis=0), abs=1e-12)
    assert result.payoff == pytest.approx(batch.returns.mean(axis=0), abs=1e-12)
    errors = shares.std(axis=0, ddof=1) / np.sqrt(games)
    assert result.win_share_se == pytest.approx(errors, abs=1e-12)
    errors = batch.returns.std(axis=0, ddof=1) / np.sqrt(games)
    assert result.payoff_se == pytest.approx(errors, abs=1e-12)
    truncated = batch.done == CUT_SHORT
    assert result.truncated == truncated.mean()
    assert result.undecided == ((winners.sum(axis=1) == 0) & ~truncated).mean()
    assert result.win_share.sum() + result.truncated + result.undecided == pytest.approx(1)
    assert result.payoff.sum() == pytest.approx(0, abs=1e-12)


def test_joint_winners_share_and_truncated_games_are_won_by_nobody() -> None:
    joint = play("chase-the-ace,lives=1,seats=2", lineup("naive,naive", Rules(seats=2)), 2000, 1)
    assert joint.win_share.sum() == pytest.approx(1)
    assert joint.payoff == pytest.approx(2 * joint.win_share - 1)  # half the pot for half a win
    cut = play("standard,max_rounds=1", lineup("naive,naive,naive", Rules()), 500, 1)
    assert (cut.truncated, cut.win_share.sum(), cut.rounds) == (1.0, 0.0, 1.0)
    assert not cut.payoff.any()


def test_the_returns_are_in_units_of_the_stake() -> None:
    agents = lineup("robin,alex,naive", Rules())
    one, ten = (play(f"standard,stake={stake}", agents, 300, 4) for stake in (1, 10))
    assert ten.payoff == pytest.approx(10 * one.payoff)


# -- Where the work is cut ----------------------------------------------------------------------


def test_the_result_is_a_function_of_the_seed() -> None:
    agents = lineup("robin,random,alex", Rules())
    again = [play("standard", agents, 3000, seed) for seed in (5, 5, 6)]
    assert same(again[0], again[1])
    assert not same(again[0], again[2])


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = lineup("robin,random,alex", Rules())
    several = play("standard", agents, 5000, 5)
    monkeypatch.setattr("cuckoo_env.batch.available_cores", lambda: 1)
    monkeypatch.setattr(arena, "available_cores", lambda: 1)
    assert same(play("standard", agents, 5000, 5), several)


@pytest.mark.parametrize("first_dealer", [None, "all"])
def test_it_does_not_matter_how_the_games_are_cut_into_chunks(
    monkeypatch: pytest.MonkeyPatch, first_dealer: str | None
) -> None:
    agents = [parse("robin", Rules()), parse("random", Rules()), Outsider("random", Rules())]
    whole = play("standard", agents, 150, 3, first_dealer=first_dealer)
    monkeypatch.setattr(arena, "_MOST", 64)
    cut = play("standard", agents, 150, 3, first_dealer=first_dealer)
    # Sums of floats depend on their order in the last digits.
    for name in ("win_share", "win_share_se", "payoff", "payoff_se"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name), abs=1e-12)
    assert (cut.rounds, cut.games) == (whole.rounds, 150)


def test_a_game_is_that_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, agents = Rules(), lineup("robin,naive,alex", Rules())
    monkeypatch.setattr(arena, "_MOST", 64)
    kept: list[records.Record] = []
    play(rules, agents, 150, 3, keep=kept.append)
    batch = by_hand(rules, agents, 150, 3)
    assert [record["payoffs"] for record in kept] == batch.returns.tolist()


def test_agents_that_must_be_asked_play_the_same_games_as_data() -> None:
    rules = Rules.parse("standard,seats=4")
    data = play(rules, lineup("robin,alex,naive,robin", rules), 2000, 8)
    asked = Outsider("robin", rules)
    alex, naive = parse("alex", rules), parse("naive", rules)
    assert same(play(rules, [asked, alex, naive, asked], 2000, 8), data)
    assert asked.asked > 2000
    everyone = [Outsider(spec, rules) for spec in ("robin", "alex", "naive", "robin")]
    assert same(play(rules, everyone, 2000, 8), data)


def test_an_agent_that_is_asked_draws_by_chance_and_from_the_seed() -> None:
    rules = Rules()
    agents = [Outsider("random", rules), parse("robin", rules), parse("robin", rules)]
    first = play(rules, agents, 4000, 1)
    assert same(play(rules, agents, 4000, 1), first)
    inside = play(rules, lineup("random,robin,robin", rules), 4000, 1)
    error = np.hypot(first.win_share_se, inside.win_share_se)
    assert (np.abs(first.win_share - inside.win_share) < 4.5 * error).all()


def test_agents_outside_do_not_share_the_luck_of_those_inside() -> None:
    assert arena.CHOICES not in {seeding.CARDS, seeding.CHOICES}


def test_progress_counts_every_game() -> None:
    heard: list[int] = []
    play("standard", lineup("robin,robin,alex", Rules()), 1000, 1, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1000
    assert len(heard) > 5
    heard.clear()
    agents = lineup("robin,robin,alex", Rules())
    compare("standard", agents, agents, 1000, 1, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 2000


def test_a_game_may_end_before_the_seat_outside_has_a_turn() -> None:
    rules = Rules.parse("one-round,swapped_turn=lost,seats=4,first_dealer=3")
    result = play(rules, lineup("naive,naive,naive,threshold:13", rules), 500, 1)
    assert result.rounds == 1
    lost = play(rules, [parse("threshold:13", rules)] * 4, 500, 1)
    assert lost.win_share.sum() + lost.undecided == pytest.approx(1)


# -- Records ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first_dealer"),
    [
        ("standard,seats=4", None),
        ("onesies,max_rounds=6", None),
        ("jack-rule,king=blocks,dealer=rotation", "all"),
        ("one-round,swapped_turn=lost,first_dealer=2", None),
        ("chase-the-ace,final_tie=carry_stake,lives=1,seats=2", None),
        ("chase-the-ace,final_tie=cut,lives=1,seats=2,decks=2", None),
    ],
)
def test_every_game_is_written_down_and_replays(
    monkeypatch: pytest.MonkeyPatch, text: str, first_dealer: str | None
) -> None:
    rules = Rules.parse(text)
    monkeypatch.setattr(arena, "_MOST", 20 * rules.seats)
    others = [parse(spec, rules) for spec in ("random", "alex", "robin")]
    agents = [Outsider("random", rules), *others][: rules.seats]
    kept: list[records.Record] = []
    result = play(rules, agents, 100, 5, first_dealer=first_dealer, keep=kept.append)
    assert len(kept) == 100
    assert [records.check(record) for record in kept] == kept
    assert {tuple(record["seats"]) for record in kept} == {result.agents}
    assert np.mean([record["payoffs"] for record in kept], axis=0) == pytest.approx(result.payoff)
    truncated = [record for record in kept if rules.max_rounds and not record["winners"]]
    assert len(truncated) / 100 == result.truncated
    if first_dealer == "all":
        dealers = [record["rounds"][0]["dealer"] for record in kept]
        assert dealers == [number % rules.seats for number in range(100)]


@pytest.mark.parametrize(
    "text", ["practice-table", "onesies,seats=4,max_rounds=9", "one-round,swapped_turn=lost"]
)
def test_writing_games_down_does_not_change_them(text: str) -> None:
    rules = Rules.parse(text)
    specs = ["random", "threshold:5", "random", "alex"][: rules.seats]
    kept: list[records.Record] = []
    for agents in (lineup(specs, rules), [Outsider("random", rules), *lineup(specs, rules)[1:]]):
        plain = play(rules, agents, 200, 6)
        assert same(play(rules, agents, 200, 6, keep=kept.append), plain)


def test_games_that_are_written_down_are_counted() -> None:
    heard: list[int] = []
    kept: list[records.Record] = []
    agents = lineup("robin,robin,alex", Rules())
    play("standard", agents, 200, 1, progress=heard.append, keep=kept.append)
    assert heard == sorted(heard)
    assert heard[-1] == 200
    assert len(set(heard)) > 100


# -- The first dealer ---------------------------------------------------------------------------


def test_the_first_dealer_can_be_set() -> None:
    agents = lineup("robin,robin,robin", Rules())
    fixed = play("standard", agents, 500, 1, first_dealer="1")
    assert fixed.first_dealer == "1"
    assert same(fixed, play("standard,first_dealer=1", agents, 500, 1)) is False  # another text
    assert (fixed.payoff == play("standard,first_dealer=1", agents, 500, 1).payoff).all()
    assert play("standard", agents, 500, 1).first_dealer == "cut"
    assert play("standard", agents, 500, 1, first_dealer="lot").first_dealer == "lot"


def test_every_dealer_in_turn_is_the_mean_over_dealers() -> None:
    rules = Rules.parse("le-her")
    agents = lineup("alex,robin", rules)
    every = play(rules, agents, 40_000, 2, first_dealer="all")
    each = [play(rules, agents, 40_000, 3, first_dealer=seat) for seat in (0, 1)]
    mean = (each[0].win_share + each[1].win_share) / 2
    error = np.sqrt(
        every.win_share_se**2 + (each[0].win_share_se ** 2 + each[1].win_share_se ** 2) / 4
    )
    assert (np.abs(every.win_share - mean) < 4.5 * error).all()
    assert every.first_dealer == "all"
    apart = np.abs(each[0].win_share - each[1].win_share)
    assert (apart > 3 * np.hypot(each[0].win_share_se, each[1].win_share_se)).all()


@pytest.mark.parametrize("dealer", ["3", -1, "x", 7])
def test_a_first_dealer_that_is_not_there_is_refused(dealer: str | int) -> None:
    with pytest.raises(RulesError, match=r"first_dealer: .* is refused; accepted"):
        play("standard", lineup("robin,robin,robin", Rules()), 10, first_dealer=dealer)


@pytest.mark.parametrize("games", [0, -5, 10**20])
def test_no_games_and_too_many_are_refused(games: int) -> None:
    with pytest.raises(ValueError, match=r"games: .* is refused; accepted: 1 to 1,000,000,000"):
        play("standard", lineup("robin,robin,robin", Rules()), games)


def test_a_table_needs_one_agent_a_seat() -> None:
    with pytest.raises(AgentError, match="agents: 2 are refused; accepted: 3"):
        play("standard", [parse("robin", Rules())] * 2, 10)


# -- Pairs --------------------------------------------------------------------------------------


def test_a_line_up_does_not_differ_from_itself() -> None:
    agents = lineup("robin,random,alex", Rules())
    both = compare("standard", agents, agents, 500, 9)
    assert same(both.lineup, both.baseline)
    for values in (both.win_share, both.win_share_se, both.payoff, both.payoff_se):
        assert not values.any()
    assert all("no difference in win share shown" in line for line in both.verdicts)


def test_the_paired_difference_is_that_of_the_results_with_a_smaller_error() -> None:
    rules = Rules.parse("le-her,first_dealer=1")
    ours, theirs = lineup("threshold:7,robin", rules), lineup("threshold:5,robin", rules)
    both = compare(rules, ours, theirs, 4000, 9)
    assert same(both.lineup, play(rules, ours, 4000, 9))
    assert both.win_share == pytest.approx(both.lineup.win_share - both.baseline.win_share)
    assert both.payoff == pytest.approx(both.lineup.payoff - both.baseline.payoff)
    apart = np.hypot(both.lineup.win_share_se, both.baseline.win_share_se)
    assert (both.win_share_se > 0).all()
    assert (both.win_share_se < 0.6 * apart).all()


def test_a_better_seat_is_called_better_and_only_that() -> None:
    both = compare(
        "practice-table",
        lineup("robin,robin,alex", Rules()),
        lineup("naive,robin,alex", Rules()),
        20_000,
        1,
    )
    assert both.verdicts[0].startswith(
        "seat 0 (robin here, naive in the baseline): higher win share: +0."
    )
    assert "lower win share: -0." in both.verdicts[1]


# -- Words and numbers --------------------------------------------------------------------------


def test_a_difference_inside_its_error_is_not_called_real() -> None:
    inside, outside = SHOWN_AT * 0.01 - 1e-9, SHOWN_AT * 0.01 + 1e-9
    for sign in (1, -1):
        assert not is_shown(sign * inside, 0.01, 1000)
        assert is_shown(sign * outside, 0.01, 1000)
        text = verdict(sign * inside, 0.01, 1000, unit="win share")
        assert text.startswith("no difference in win share shown")
    assert verdict(outside, 0.01, 1000, unit="win share").startswith("higher win share: +0.03")
    assert verdict(-outside, 0.01, 1000, unit="payoff").startswith("lower payoff: -0.03")


def test_too_few_games_show_nothing() -> None:
    assert not is_shown(1.0, 0.0, FEWEST_GAMES - 1)
    text = verdict(1.0, 0.0, 2, unit="win share")
    assert text == f"no difference in win share shown: 2 games are fewer than {FEWEST_GAMES}"


def test_the_games_needed_would_show_a_difference_of_that_size() -> None:
    needed = games_needed(0.001, 0.002, 1000)
    assert needed == 36_000
    assert SHOWN_AT * 0.002 * np.sqrt(1000 / needed) <= 0.001
    assert verdict(0.001, 0.002, 1000, unit="payoff").endswith("about 36,000 games")
    assert verdict(0.0, 0.002, 1000, unit="payoff").endswith("+0.0000 ± 0.0020")


def test_one_game_has_no_standard_error() -> None:
    result = play("standard", lineup("robin,robin,robin", Rules()), 1, 1)
    assert np.isnan(result.win_share_se).all()
    assert np.isnan(result.payoff_se).all()
    assert all("fewer than" in line for line in result.verdicts)


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40),
    cuts=st.sets(st.integers(1, 39)),
)
def test_moments_do_not_depend_on_the_cuts(values: list[float], cuts: set[int]) -> None:
    column = np.array(values)[:, None]
    moments = Moments(1)
    for part in np.split(column, sorted(cut for cut in cuts if cut < len(values))):
        moments.add(part)
    assert moments.mean == pytest.approx(column.mean(axis=0), rel=1e-9, abs=1e-6)
    error = column.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert moments.error == pytest.approx(error, rel=1e-6, abs=1e-6)


def test_the_standard_error_covers_as_it_should() -> None:
    agents = lineup("robin,robin,robin", Rules())
    shares = [play("standard", agents, 400, seed) for seed in range(200)]
    spread = np.std([result.win_share for result in shares], axis=0, ddof=1)
    claimed = np.mean([result.win_share_se for result in shares], axis=0)
    assert spread == pytest.approx(claimed, rel=0.25)
