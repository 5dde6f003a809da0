"""The solver finds known equilibria, and what it writes plays as it says."""

import json
from pathlib import Path

import numpy as np
import pytest

from cuckoo_env.agents import AgentError, lineup, parse
from cuckoo_env.agents.table import TableAgent, TableError, load, observation_keys, shipped
from cuckoo_env.cli import main
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.rules import Rules
from cuckoo_env.train.shipped import FOLDER, INDEX, wanted
from cuckoo_env.train.solve import as_table, solve

LE_HER = Rules.parse("le-her")


@pytest.fixture(scope="module")
def le_her():
    return solve(LE_HER, target=1e-7)


def test_le_her_mixes_as_published(le_her) -> None:
    # The non-dealer switches the seven with 3/8, the dealer, not asked, the eight with 5/8.
    match, strategy = le_her.match, le_her.strategy
    found = {}
    for number, weights in enumerate(strategy):
        tree, observations = match.tree[number], match.observations(number)[0]
        known = match.layout.view(observations, "known")
        unaware = ~known[:, 1].any(axis=1)
        for state in np.flatnonzero(unaware):
            rank, place = int(known[state, 0].argmax()) + 1, int(tree.state_place[state])
            edge = tree.state_edge[state] + 1
            assert tree.edge_action[edge] == 1
            found[place, rank] = weights[edge]
    assert found[0, 7] == pytest.approx(3 / 8, abs=1e-3)
    assert found[1, 8] == pytest.approx(5 / 8, abs=1e-3)
    assert all(found[0, rank] > 0.999 for rank in range(1, 7))
    assert all(found[0, rank] < 0.001 for rank in range(8, 14))
    assert all(found[1, rank] > 0.999 for rank in range(1, 8))
    assert all(found[1, rank] < 0.001 for rank in range(9, 14))


def test_le_her_has_the_published_value_from_both_sides(le_her) -> None:
    assert le_her.nash_conv < 1e-6
    agent = as_table(le_her, "solved")
    exact = evaluate(LE_HER, [agent, agent], first_dealer=1, best_responses=True)
    value = 11327 / 22100
    assert exact.best_response is not None
    # Neither seat can do better against the other than the value of the game, but for the NashConv.
    assert exact.best_response[0] >= value - 1e-12
    assert exact.best_response[1] >= 1 - value - 1e-12
    assert exact.best_response.sum() <= 1 + le_her.nash_conv + 1e-8  # float32 in the table


@pytest.mark.parametrize(
    "text",
    [
        "practice-table,lives=1",
        "onesies,seats=2,lives=2",
        "jack-rule,lives=1",
        "pairs-safe,seats=2,lives=2",
        "standard,seats=2,lives=1,final_tie=carry",
        "full-rotation,lives=1,direction=right",
        "one-round",
    ],
)
def test_gains_against_a_solved_table_are_what_its_nash_conv_says(
    text: str, tmp_path: Path
) -> None:
    rules = Rules.parse(text)
    solution = solve(rules, target=1e-4, seconds=60)
    assert solution.nash_conv < 1e-4
    as_table(solution, "solved").save(tmp_path / "table.npz")
    agents = lineup([f"table:{tmp_path / 'table.npz'}"] * rules.seats, rules)
    exact = evaluate(rules, agents, best_responses=True)
    assert exact.nash_conv == pytest.approx(solution.nash_conv, abs=1e-6)
    assert exact.gain is not None
    assert (exact.gain >= -1e-12).all()


def test_a_table_gives_what_it_was_made_of(le_her, tmp_path: Path) -> None:
    agent = as_table(le_her, "solved", {"note": "a test"})
    agent.save(tmp_path / "t.npz")
    again = load(tmp_path / "t.npz", LE_HER)
    np.testing.assert_array_equal(again.keys, agent.keys)
    np.testing.assert_array_equal(again.chances, agent.chances)
    assert again.about["note"] == "a test"
    assert again.player() is None


def test_a_table_for_other_rules_is_refused(le_her, tmp_path: Path) -> None:
    as_table(le_her, "solved").save(tmp_path / "t.npz")
    with pytest.raises(TableError, match="is for le-her, not for"):
        load(tmp_path / "t.npz", Rules.parse("le-her,ace=high"))
    assert load(tmp_path / "t.npz", Rules.parse("le-her,first_dealer=1,stake=2")).rules == LE_HER


def _damaged(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "foreign":
        path.write_bytes(b"not a table at all")
    elif how == "pickle":
        with path.open("wb") as file:
            np.savez(file, header=np.array([{}], object), keys=np.zeros(1), chances=np.zeros(1))
    else:
        arrays = dict(np.load(path, allow_pickle=False))
        if how == "unsorted":
            arrays["keys"] = arrays["keys"][::-1]
        elif how == "chances":
            arrays["chances"] = arrays["chances"] * 2
        elif how == "header":
            arrays["header"] = np.frombuffer(json.dumps({"format": "x"}).encode(), np.uint8)
        elif how == "rules":
            header = json.loads(bytes(arrays["header"])) | {"rules": "nothing"}
            arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        else:
            header = json.loads(bytes(arrays["header"])) | {"layout_version": 99}
            arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        with path.open("wb") as file:
            np.savez(file, **arrays)


@pytest.mark.parametrize(
    "how",
    ["truncated", "foreign", "pickle", "unsorted", "chances", "header", "rules", "layout"],
)
def test_a_damaged_table_is_refused(le_her, tmp_path: Path, how: str) -> None:
    path = tmp_path / "t.npz"
    as_table(le_her, "solved").save(path)
    _damaged(path, how)
    with pytest.raises(TableError, match=r"t\.npz is refused"):
        load(path, LE_HER)


def test_an_observation_that_cannot_arise_is_refused(le_her) -> None:
    agent: TableAgent = as_table(le_her, "solved")
    layout = le_her.match.layout
    nothing = np.zeros((1, layout.size), np.float32)
    with pytest.raises(TableError, match="knows no such position"):
        agent.probabilities(nothing, np.ones((1, 2), np.int8), layout)


def test_keys_tell_all_observations_of_a_match_apart(le_her) -> None:
    match = le_her.match
    for number in range(len(match.positions)):
        observations, _ = match.observations(number)
        keys = observation_keys(LE_HER, observations, match.layout)
        assert len(np.unique(keys)) == len(np.unique(observations, axis=0))


def test_no_table_is_shipped_for_these_rules() -> None:
    with pytest.raises(AgentError, match="cuckoo solve"):
        parse("equilibrium", Rules.parse("chase-the-ace,seats=9"))


def test_the_command_solves_writes_and_refuses_to_overwrite(tmp_path: Path, capsys) -> None:
    out = tmp_path / "x.npz"
    command = ["solve", "--rules", "le-her", "--out", str(out), "--target", "1e-4", "--json"]
    assert main(command) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {"nash_conv", "seconds", "iterations"} <= set(figures)
    assert figures["nash_conv"] <= 1e-4
    before = out.read_bytes()
    assert main(command) == 2
    assert "it exists" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert main(["solve", "--rules", "cuckoo,seats=9", "--out", str(tmp_path / "y.npz")]) == 2
    assert "nodes a round" in capsys.readouterr().err
    assert not (tmp_path / "y.npz").exists()


def test_every_table_that_is_wanted_is_shipped_and_as_good_as_it_says() -> None:
    index = json.loads((FOLDER / INDEX).read_text())
    assert list(index) == [str(rules) for rules in wanted()]
    assert {path.name for path in FOLDER.iterdir()} == {INDEX, *index.values()}
    for rules in wanted():
        agent = shipped(rules)
        assert agent.about["nash_conv"] < 1e-5
        if rules.seats == 2:
            exact = evaluate(rules, [agent, agent], best_responses=True)
            assert exact.nash_conv == pytest.approx(agent.about["nash_conv"], abs=1e-6)


@pytest.mark.parametrize("preset", ["practice-table", "standard", "queen-rule", "one-round"])
def test_the_equilibrium_of_a_preset_is_one(preset: str) -> None:
    rules = Rules.parse(preset)
    exact = evaluate(rules, lineup(["equilibrium"] * 3, rules), best_responses=True)
    assert exact.nash_conv is not None
    assert exact.nash_conv < 2e-6


@pytest.mark.parametrize(
    "bad", [("--target", "nan"), ("--target", "inf"), ("--target", "0"), ("--seconds", "nan")]
)
def test_the_command_refuses_numbers_that_are_none(tmp_path: Path, capsys, bad) -> None:
    out = tmp_path / "x.npz"
    assert main(["solve", "--rules", "le-her", "--out", str(out), *bad]) == 2
    assert f"{bad[0][2:]}: " in capsys.readouterr().err
    assert not out.exists()
