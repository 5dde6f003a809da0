"""Training at reduced size: it learns, it repeats, and it overwrites nothing."""

from __future__ import annotations

import csv
import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import torch

from cuckoo_env.agents import parse
from cuckoo_env.agents.policy import Policy
from cuckoo_env.batch import Batch
from cuckoo_env.rules import Rules
from cuckoo_env.train import command
from cuckoo_env.train.ppo import Arguments, Task, train
from cuckoo_env.train.runs import RunError, RunFolder

SMALL = {
    "steps": 2048,
    "games": 64,
    "rollout": 8,
    "minibatches": 2,
    "hidden": (16, 16),
    "curve_points": 2,
    "curve_games": 256,
    "seed": 3,
}


def run(path, *, force=False, watch=print, **changes):
    arguments = Arguments(**{**SMALL, **changes})
    folder = RunFolder(path, force=force)
    outcome = train(arguments, Task.of(arguments), folder, command="cuckoo train …", watch=watch)
    folder.finish()
    return outcome


def cli(path, **changes):
    options = {
        "rules": "practice-table", "seat": "0", "against": "robin,alex", "minutes": None,
        "steps": 1, "seed": 3, "games": 64, "hidden": "16", "shaping": None, "force": False,
        "as_json": True,
    }  # fmt: skip
    return command.train(out=str(path), **{**options, **changes})


def test_it_learns(tmp_path):
    outcome = run(
        tmp_path / "x", steps=150_000, games=256, rollout=16, minibatches=8, hidden=(32, 32),
        learning_rate=3e-3, curve_games=4096,
    )  # fmt: skip
    first, last = outcome.curve[0], outcome.curve[-1]
    assert first.win_share < 0.15
    assert last.win_share > first.win_share + 0.1 > first.win_share + 10 * last.win_share_se


@pytest.mark.parametrize(
    ("rules", "seat", "algorithm"),
    [
        ("practice-table", "0", "PPO"),
        ("practice-table", "all", "PPO"),
        ("onesies", "1", "MaskablePPO"),
        ("full-rotation", "all", "MaskablePPO"),
        ("jack-rule,seats=4,max_rounds=8", "3", "MaskablePPO"),
    ],
)
def test_it_runs_where_rules_need_masks_and_where_not(tmp_path, rules, seat, algorithm):
    # An illegal action would stop the run with an error: the batch checks every one.
    outcome = run(tmp_path / "x", rules=rules, seat=seat)
    card = outcome.policy.card
    assert card.training["algorithm"] == algorithm
    assert outcome.steps == card.training["steps"] == SMALL["steps"]
    agent = parse(f"policy:{tmp_path / 'x'}", Rules.parse(rules))
    batch = Batch(rules, 512, seed=1)
    chances = agent.probabilities(batch.observations, batch.masks, batch.layout)
    assert np.isfinite(agent.policy.logits(batch.observations)).all()
    assert (chances[batch.masks == 0] == 0).all()


def test_the_same_seed_learns_the_same_policy(tmp_path):
    policies = [
        run(tmp_path / name, seed=seed, **options).policy.weights
        for name, seed, options in [
            ("a", 3, {}),
            ("b", 3, {"curve_points": 5}),  # looking at it changes nothing
            ("c", 4, {}),
        ]
    ]
    assert all(torch.equal(policies[0][k], policies[1][k]) for k in policies[0])
    assert not torch.equal(policies[0]["0.weight"], policies[2]["0.weight"])


def test_a_learned_policy_can_be_learned_against(tmp_path):
    run(tmp_path / "first")
    outcome = run(tmp_path / "second", against=f"policy:{tmp_path / 'first'},robin", seat="all")
    assert outcome.policy.card.training["against"] == [f"policy:{tmp_path / 'first'}", "robin"]


def test_a_run_folder_holds_what_it_should(tmp_path):
    told = []
    outcome = run(tmp_path / "x", watch=told.append, curve_points=3)
    folder = tmp_path / "x"
    assert {path.name for path in folder.iterdir()} == {
        "config.json", "learning_curve.csv", "policy.json", "policy.safetensors", "progress.csv",
        "tensorboard",
    }  # fmt: skip
    assert list((folder / "tensorboard").iterdir())
    assert [progress.steps for progress in told] == [512, 1024, 1536, 2048]
    assert told[-1].share == 1
    with (folder / "learning_curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    points = [dataclasses.asdict(point) for point in outcome.curve]
    assert [{k: float(v) for k, v in row.items()} for row in rows] == points
    assert [row["steps"] for row in points] == [0, 512, 2048]
    card = json.loads((folder / "policy.json").read_text())
    assert card["training"]["learning_curve"] == points
    assert card["training"]["command"] == "cuckoo train …"
    assert Policy.load(folder).card == outcome.policy.card
    config = json.loads((folder / "config.json").read_text())
    assert config["arguments"]["rollout"] == 8
    with (folder / "progress.csv").open() as file:
        assert "curve/win_share" in next(csv.reader(file))


def test_what_was_learned_before_an_interrupt_is_kept(tmp_path):
    def interrupt(progress):
        if progress.steps == 1024:
            raise KeyboardInterrupt

    outcome = run(tmp_path / "x", watch=interrupt)
    assert outcome.interrupted
    assert outcome.steps == 1024
    assert Policy.load(tmp_path / "x").card.training["interrupted"] is True


def test_a_run_stops_by_the_clock(tmp_path):
    outcome = run(tmp_path / "x", steps=None, minutes=1e-4)
    assert 64 <= outcome.steps < 10**6


# -- What is refused ----------------------------------------------------------------------------


def test_an_earlier_run_is_replaced_only_when_told_to(tmp_path):
    path = tmp_path / "x"
    run(path)
    before = (path / "policy.safetensors").read_bytes()
    with pytest.raises(RunError, match="it holds a run; accepted: a new folder, or --force"):
        run(path, seed=4)
    with pytest.raises(ValueError, match="rules: whist"):
        cli(path, rules="whist", force=True)
    assert (path / "policy.safetensors").read_bytes() == before
    run(path, seed=4, force=True)
    assert (path / "policy.safetensors").read_bytes() != before
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_a_run_that_fails_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "x"
    run(path)
    before = (path / "policy.safetensors").read_bytes()

    def fail(progress):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        run(path, seed=4, force=True, watch=fail)
    assert (path / "policy.safetensors").read_bytes() == before
    run(path, seed=4, force=True)  # and is not in the way of the next
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_what_is_no_run_is_never_replaced(tmp_path):
    path = tmp_path / "x"
    path.mkdir()
    (path / "config.json").write_text('{"mine": 1}')
    for force in (False, True):
        with pytest.raises(RunError, match="it holds something else than a run"):
            RunFolder(path, force=force)
    with pytest.raises(RunError, match="accepted: a folder"):
        RunFolder(path / "config.json", force=True)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(RunError, match="accepted: a folder"):
        RunFolder(tmp_path / "link", force=True)
    assert [each.name for each in path.iterdir()] == ["config.json"]


def test_an_empty_folder_is_as_good_as_none(tmp_path):
    run(tmp_path)
    assert (tmp_path / "policy.json").exists()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rules": "whist"}, "rules: whist is refused"),
        ({"seat": "3"}, "seat: 3 is refused; accepted: 0 to 2, or all"),
        ({"against": "robin,bob"}, "agent: 'bob' is refused"),
        ({"against": "robin,alex,alex"}, "against: 3 agents are refused"),
        ({"minutes": 1.0}, "minutes, steps: both"),
        ({"steps": 0}, "steps: 0 is refused"),
        ({"steps": None, "minutes": float("nan")}, "minutes: nan is refused"),
        ({"steps": None, "minutes": -1.0}, "minutes: -1.0 is refused"),
        ({"seed": 2**32}, "seed: 4294967296 is refused"),
        ({"seed": -1}, "seed: -1 is refused"),
        ({"games": 0}, "games: 0 is refused"),
        ({"hidden": "12x"}, "hidden: 12x is refused; accepted: sizes such as 128,128"),
        ({"hidden": "99999"}, "hidden: .* is refused; accepted: up to 8 sizes from 1 to 4096"),
        ({"shaping": "card"}, "shaping: card is refused; accepted: none or lives"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(tmp_path, changes, match):
    with pytest.raises(ValueError, match=match) as caught:
        cli(tmp_path / "x", **changes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_minibatches_must_divide_a_rollout():
    with pytest.raises(ValueError, match=r"minibatches: 3 is refused; accepted: a divisor"):
        Arguments(steps=1, games=64, rollout=4, minibatches=3)


# -- Commands -----------------------------------------------------------------------------------


def test_the_train_command_says_what_came_of_it(tmp_path, capsys):
    assert cli(tmp_path / "x") == 0
    printed = capsys.readouterr().out
    result = json.loads(printed)
    assert result["out"] == str(tmp_path / "x")
    assert result["steps"] == 1024
    assert 0 <= result["win_share"] <= 1
    card = json.loads((tmp_path / "x" / "policy.json").read_text())
    assert card["training"]["command"] == (
        f"cuckoo train --out {tmp_path / 'x'} --steps 1 --seed 3 --games 64 --hidden 16"
    )
    assert cli(tmp_path / "y", as_json=False) == 0
    assert f"policy:{tmp_path / 'y'}" in capsys.readouterr().out.replace("\n", "")


def test_the_demo_runs_twice_into_the_same_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "DEMO_GAMES", 2000)
    path = tmp_path / "demo"
    for seed in (0, 1):
        assert command.demo(out=str(path), minutes=0.01, seed=seed, as_json=seed == 1) == 0
        printed = capsys.readouterr().out
        evaluation = json.loads((path / "evaluation.json").read_text())
        assert f"{evaluation['ways']['robin']['win_share']:.1%}" in (
            printed if seed == 0 else evaluation["verdict"]
        )
        assert Policy.load(path).card.training["seed"] == seed
        assert evaluation["verdict"] in (path / "report.html").read_text().replace("&#x27;", "'")
    assert json.loads(printed)["games"] == 2000
    assert [each.name for each in tmp_path.iterdir()] == ["demo"]
