"""A policy of a larger layout at any table: what it is shown is what it was trained on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from policies import GENERAL, generalist, random_policy

from cuckoo_env import cli
from cuckoo_env import evaluate as arena
from cuckoo_env.agents import fill, lineup, parse
from cuckoo_env.agents.policy import Covers, PolicyAgent
from cuckoo_env.agents.translate import translate
from cuckoo_env.batch import RESTART, Batch
from cuckoo_env.engine import N_ACTIONS, SWAP
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.game import Game
from cuckoo_env.learner import Learners
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules


def positions(rules: Rules, seed: int, most: int = 60) -> Iterator[Game]:
    """A game as it goes on, with any legal actions."""
    game, luck = Game(rules, seed), np.random.default_rng(seed)
    for _ in range(most):
        yield game
        if game.seat is None:
            return
        game.act(str(luck.choice(game.legal_actions())))


@st.composite
def layouts(draw: st.DrawFn, rules: Rules) -> Layout:
    """A layout that has room for these rules."""
    return Layout.of(
        rules,
        max_seats=rules.seats + draw(st.integers(0, 4)),
        with_rules=draw(st.booleans()),
        n_actions=draw(st.sampled_from([None, N_ACTIONS])),
    )


@given(data=st.data(), rules=strategies.tables(), seed=strategies.seeds())
def test_translating_is_the_same_as_encoding_directly(
    data: st.DataObject, rules: Rules, seed: int
) -> None:
    source, target = data.draw(layouts(rules)), data.draw(layouts(rules))
    for game in positions(rules, seed):
        for viewer in range(rules.seats):
            seen, _ = game.observe(viewer, source)
            directly, _ = game.observe(viewer, target)
            translated = translate(seen[None], source, target, rules)
            assert translated.dtype == np.float32
            np.testing.assert_array_equal(translated[0], directly)


def test_many_are_translated_at_once_and_nothing_else_is_changed() -> None:
    small = Batch("cuckoo,seats=5", 128, seed=3)
    wide = Batch("cuckoo,seats=5", 128, seed=3, max_seats=10, with_rules=True)
    before = small.observations.copy()
    for _ in range(20):
        translated = translate(small.observations, small.layout, wide.layout, small.rules[0])
        np.testing.assert_array_equal(translated, wide.observations)
        actions = small.masks.argmax(axis=1)
        small.step(actions)
        wide.step(actions)
    assert (small.observations != before).any()


def test_a_layout_without_room_for_the_table_is_refused() -> None:
    rules = Rules.parse("cuckoo,seats=5")
    own, narrow = Layout.of(rules), Layout(max_seats=4)
    seen = np.zeros((1, own.size), np.float32)
    with pytest.raises(ValueError, match="max_seats: 4 is refused; accepted: 5 or more"):
        translate(seen, own, narrow, rules)
    with pytest.raises(ValueError, match="max_seats: 4 is refused; accepted: 5 or more"):
        translate(seen[:, : narrow.size], narrow, own, rules)
    for wrong in (seen[:, 1:], seen[0]):
        with pytest.raises(ValueError, match=rf"observations: .* accepted: \(n, {own.size}\)"):
            translate(wrong, own, GENERAL, rules)


# -- The policy at the table --------------------------------------------------------------------


@given(
    text=st.sampled_from(["practice-table", "onesies,seats=4", "jack-rule,seats=7", "le-her"]),
    seed=strategies.seeds(),
)
def test_a_generalist_plays_the_same_whichever_layout_it_is_shown(text: str, seed: int) -> None:
    rules, policy = Rules.parse(text), generalist()
    agent, untold = PolicyAgent.of(policy, "x", rules), PolicyAgent.of(policy, "x")
    own = Layout.of(rules)
    for game in positions(rules, seed):
        if game.seat is None:
            return
        seen, mask = (each[None] for each in game.observe(game.seat, own))
        shown, wide = (each[None] for each in game.observe(game.seat, GENERAL))
        chances = agent.probabilities(seen, mask, own)
        assert chances.shape == mask.shape
        directly = untold.probabilities(shown, wide, GENERAL)
        np.testing.assert_array_equal(chances, directly[:, : own.n_actions])
        assert not directly[:, own.n_actions :].any()


def test_a_policy_of_one_table_is_shown_larger_layouts_too() -> None:
    policy = random_policy()
    small = Batch("practice-table", 64, seed=5)
    wide = Batch("practice-table", 64, seed=5, max_seats=10, with_rules=True, n_actions=N_ACTIONS)
    agent = PolicyAgent.of(policy, "x")
    chances = agent.probabilities(small.observations, small.masks, small.layout)
    widely = agent.probabilities(wide.observations, wide.masks, wide.layout)
    np.testing.assert_array_equal(widely[:, : SWAP + 1], chances)
    assert not widely[:, SWAP + 1 :].any()


def test_a_learner_of_a_larger_layout_meets_policies_of_the_table() -> None:
    rules = Rules.parse("practice-table")
    opponents = [
        PolicyAgent.of(random_policy(), "one table"),
        PolicyAgent.of(generalist(), "many", rules),
    ]
    small = Learners(rules, opponents, 64, seed=3)
    wide = Learners(rules, opponents, 64, seed=3, max_seats=10, with_rules=True, n_actions=5)
    for _ in range(15):
        actions = np.where(small.over, RESTART, small.masks.argmax(axis=1)).astype(np.int8)
        np.testing.assert_array_equal(
            translate(small.observations, small.layout, wide.layout, rules), wide.observations
        )
        small.step(actions)
        wide.step(actions)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("generalist")
    generalist().save(made)
    return made


def test_the_arena_and_exact_values_agree_about_a_generalist(folder: Path) -> None:
    rules = Rules.parse("practice-table")
    agents = lineup(["robin", f"policy:{folder}", "alex"], rules)
    exactly = evaluate(rules, agents)
    played = arena.play(rules, agents, 20_000, seed=1)
    difference = abs(played.win_share - exactly.win_share)
    assert (difference < 4.5 * played.win_share_se).all()
    assert (abs(exactly.win_share - 1 / 3) > 0.01).any()


@pytest.mark.parametrize("rules", ["onesies,seats=4", "full-rotation,seats=5", "cuckoo,seats=8"])
def test_a_generalist_plays_whole_games_at_other_tables(folder: Path, rules: str) -> None:
    table = Rules.parse(rules)
    agents = [parse(f"policy:{folder}", table), *fill("robin,random", table, 0)]
    result = arena.play(table, agents, 200, seed=1)
    assert result.win_share.sum() == pytest.approx(1)


def test_the_command_line_seats_a_generalist(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> Any:
        assert cli.main(["evaluate", f"policy:{folder}", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    sampled = run("robin", "alex", "--games", "200")
    assert sampled["agents"][0] == f"policy:{folder}"
    exactly = run("robin", "alex", "--exact", "--best-response")
    assert exactly["best_response"][0] > exactly["win_share"][0]
    assert run("robin", "--rules", "le-her", "--exact")["agents"][1] == "robin"


def test_the_command_line_refuses_a_table_that_is_not_covered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generalist(Covers(presets=("cuckoo",), fewest=3, most=5)).save(tmp_path)
    assert cli.main(["evaluate", f"policy:{tmp_path}", "robin", "--rules", "le-her"]) == 2
    told = capsys.readouterr().err
    assert told == (
        f"cuckoo: agent: policy:{tmp_path} is refused: covers cuckoo with 3 to 5 seats, not le-her\n"
    )
