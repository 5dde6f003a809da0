"""Training at reduced size: it learns, it repeats, and it overwrites nothing."""

from __future__ import annotations

import csv
import json
import math
import re

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from cuckoo_env import cli as command_line
from cuckoo_env.agents import lineup, parse
from cuckoo_env.agents.policy import Policy
from cuckoo_env.batch import Batch
from cuckoo_env.evaluate.exact import evaluate, headroom
from cuckoo_env.rules import PRESETS, Rules
from cuckoo_env.train import command, loop
from cuckoo_env.train.checkpoint import State
from cuckoo_env.train.curve import Point, TableScores, is_small
from cuckoo_env.train.ppo import Arguments, PPOLearner
from cuckoo_env.train.runs import RunError, RunFolder
from cuckoo_env.train.task import RunArguments, Task, read_arguments

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
    learner = PPOLearner(arguments)
    folder.begin({"algorithm": "ppo"})
    outcome = loop.run(learner, arguments, folder, command="cuckoo train …", watch=watch)
    folder.finish()
    return outcome


def cli(path, *, seeds=None, settings=(), force=False, as_json=True, **given):
    values = {"steps": 1, "seed": 3, "games": 64, "hidden": "16", **given}
    if seeds is not None or values["steps"] is None:
        values = {name: value for name, value in values.items() if value is not None}
    return command.train(
        out=str(path), algorithm="ppo", given=values, settings=settings, seeds=seeds, force=force,
        as_json=as_json,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, "paired"),
        ({"algorithm": "ppo"}, "ppo"),
        ({"self_play": True}, "self-play"),
        ({"rules": "any"}, "generalist"),
        ({"algorithm": "generalist", "rules": "any"}, "generalist"),
    ],
)
def test_the_algorithm_is_named_or_meant(asked, name):
    assert command._named(**{"algorithm": None, "rules": None, "self_play": False, **asked}) == name


def test_two_algorithms_at_once_are_refused(tmp_path):
    with pytest.raises(ValueError, match="algorithm: ppo and self-play are refused; accepted: one"):
        command.train(
            out=str(tmp_path / "x"), algorithm="ppo", given={}, settings=(), seeds=None,
            force=False, as_json=True, self_play=True,
        )  # fmt: skip
    assert not (tmp_path / "x").exists()


def test_it_learns(tmp_path):
    outcome = run(
        tmp_path / "x", steps=150_000, games=256, rollout=16, minibatches=8, hidden=(32, 32),
        learning_rate=3e-3, curve_games=4096,
    )  # fmt: skip
    first, last = outcome.curve[0], outcome.curve[-1]
    assert first.scores["win_share"] < 0.15
    assert last.scores["win_share"] > first.scores["win_share"] + 0.1
    assert last.scores["captured_headroom"] > first.scores["captured_headroom"] + 1
    assert last.reached(0.99 * last.scores["captured_headroom"]) is True


@pytest.mark.parametrize(
    ("rules", "seat", "algorithm"),
    [
        ("practice-table", "0", "PPO"),
        ("practice-table", "all", "PPO"),
        ("onesies,seats=4", "1", "MaskablePPO"),
        ("full-rotation,seats=5", "all", "MaskablePPO"),
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
    assert all(np.array_equal(policies[0][k], policies[1][k]) for k in policies[0])
    assert not np.array_equal(policies[0]["0.weight"], policies[2]["0.weight"])


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
    points = [point.as_json() for point in outcome.curve]
    assert [{k: float(v) for k, v in row.items()} for row in rows] == points
    assert [row["steps"] for row in points] == [0, 512, 2048]
    assert [Point.from_json(point) for point in points] == list(outcome.curve)
    card = json.loads((folder / "policy.json").read_text())
    assert card["training"]["learning_curve"] == points
    assert card["training"]["command"] == "cuckoo train …"
    assert Policy.load(folder).card == outcome.policy.card
    assert card["training"]["copied"] < card["training"]["best_response"]
    with (folder / "progress.csv").open() as file:
        log = list(csv.DictReader(file))
    assert [int(row["steps"]) for row in log] == [512, 1024, 1536, 2048]
    assert {"seconds", "return", "loss", "entropy_loss", "learning_rate"} <= set(log[0])
    assert [float(row["learning_rate"]) for row in log] == [0.002, 0.0015, 0.001, 0.0005]


def test_tensorboard_shows_the_same_numbers(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    outcome = run(tmp_path / "x", curve_points=3)
    events = EventAccumulator(str(tmp_path / "x" / "tensorboard")).Reload()
    with (tmp_path / "x" / "progress.csv").open() as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert [each.value for each in events.Scalars("update/loss")] == pytest.approx(losses)
    assert [(each.step, each.value) for each in events.Scalars("curve/captured_headroom")] == [
        (point.steps, pytest.approx(point.scores["captured_headroom"])) for point in outcome.curve
    ]


# -- The learning curve -------------------------------------------------------------------------


def test_points_are_exact_where_the_table_is_small(tmp_path):
    outcome = run(tmp_path / "x", seat="1")
    rules = Rules.parse("practice-table")
    learned = lineup(f"robin,policy:{tmp_path / 'x'},alex", rules)
    scores = outcome.curve[-1].scores
    exact = evaluate(rules, learned, first_dealer="all")
    assert scores["win_share"] == pytest.approx(exact.win_share[1], abs=1e-12)
    assert scores["win_share_se"] == 0
    room = headroom(rules, learned, lineup("robin,robin,alex", rules), 1, first_dealer="all")
    assert scores["captured_headroom"] == pytest.approx(room.captured, abs=1e-9)
    training = outcome.policy.card.training
    assert training["copied"] == pytest.approx(room.copied, abs=1e-12)
    assert training["best_response"] == pytest.approx(room.best, abs=1e-12)


def test_all_seats_are_averaged():
    rules = Rules.parse("practice-table")
    agent = parse("threshold:8", rules)
    task = Task.of(RunArguments(steps=1, seat="all"))
    assert task.seats == [0, 1, 2]
    seats = [
        TableScores(Task.of(RunArguments(steps=1, seat=seat)), games=1, seed=1).measure(agent)
        for seat in "012"
    ]
    together = TableScores(task, games=1, seed=1).measure(agent)
    mean = sum(each["win_share"] for each in seats) / 3
    assert together["win_share"] == pytest.approx(mean, abs=1e-12)
    assert not math.isclose(seats[0]["win_share"], seats[1]["win_share"])


def test_points_are_sampled_with_their_error_where_it_is_not(tmp_path):
    rules = Rules.parse("standard,seats=5")
    assert not is_small(rules)
    outcome = run(tmp_path / "x", rules=str(rules), curve_games=1000)
    scores = outcome.curve[-1].scores
    assert set(scores) == {"win_share", "win_share_se"}
    assert 0 < scores["win_share_se"] < 0.02
    assert "copied" not in outcome.policy.card.training


def test_nothing_to_gain_is_no_headroom():
    # Against one who always keeps, nothing in Le Her is better than Robin's own play.
    agent, measured = parse("threshold:3", Rules.parse("le-her")), {}
    for against in ("naive", "alex"):
        task = Task.of(RunArguments(steps=1, rules="le-her", against=against))
        measured[against] = TableScores(task, games=1, seed=0).measure(agent)
    assert set(measured["naive"]) == {"win_share", "win_share_se"}
    assert measured["alex"]["captured_headroom"] < 0


def test_it_stops_at_its_target(tmp_path):
    told = []
    outcome = run(tmp_path / "x", target=1e-9, rules="standard,seats=5", watch=told.append)
    assert outcome.reached
    assert outcome.steps == 0
    assert not told
    assert outcome.policy.card.training["reached_target"] is True
    outcome = run(tmp_path / "y", target=1.5)
    assert not outcome.reached
    assert outcome.steps == SMALL["steps"]


def test_the_most_telling_score_is_told_and_stops_a_run():
    scores = {"win_share": 0.4, "win_share_se": 0.0}
    point = Point(steps=1, seconds=0.0, scores=scores)
    assert point.says() == "wins 40.0%"
    assert point.reached(0.4)
    assert not point.reached(0.41)
    assert not point.reached(None)
    point = Point(steps=1, seconds=0.0, scores={**scores, "captured_headroom": 0.97})
    assert point.says() == "captured headroom 97.0%"
    assert not point.reached(0.98)
    point = Point(steps=1, seconds=0.0, scores={**scores, "nash_conv": 0.02})
    assert point.says() == "NashConv 0.0200"
    assert point.reached(0.02)
    assert not point.reached(0.01)


# -- Any algorithm ------------------------------------------------------------------------------


class Walker:
    """The smallest learner: it takes a step, and measures itself."""

    algorithm = "walking"
    task = None
    against = ("the wind",)

    def __init__(self, policy):
        self.steps, self._policy, self.shares = 0, policy, []

    def update(self, share):
        self.steps += 10
        self.shares.append(share)
        return {"place": self.steps}

    def policy(self):
        return self._policy

    def measure(self):
        return {"nash_conv": 1 / (1 + self.steps)}

    def state(self):
        return State(values={"steps": self.steps})

    def restore(self, state):
        self.steps = state.values["steps"]


def test_the_loop_drives_whatever_learns(tmp_path):
    walker = Walker(run(tmp_path / "x").policy)
    arguments = RunArguments(steps=100, curve_points=4)
    folder = RunFolder(tmp_path / "y", force=False)
    folder.begin({})
    outcome = loop.run(walker, arguments, folder, command="…", watch=print)
    assert walker.shares == [k / 10 for k in range(10)]
    assert [point.scores for point in outcome.curve] == [
        {"nash_conv": 1 / (1 + steps)} for steps in (0, 20, 50, 100)
    ]
    assert outcome.policy.card.training["against"] == ["the wind"]
    walker = Walker(outcome.policy)
    folder = RunFolder(tmp_path / "z", force=False)
    folder.begin({})
    outcome = loop.run(
        walker, RunArguments(steps=100, target=0.05), folder, command="…", watch=print
    )
    assert outcome.reached
    assert 0.04 < outcome.curve[-1].scores["nash_conv"] < 0.05


TINY = {
    "paired": {},
    "self-play": {"rules": "standard,seats=2,lives=1"},
    "generalist": {"seats": "2-3"},
}
"""The algorithms of our own, at sizes that take no time."""


def train(path, name, *, seeds=None, settings=(), **given):
    values = {"steps": 1, "games": 64, "hidden": "8", **TINY[name], **given}
    settings = ["minibatches=1", "value_hidden=4", "curve_points=2", "curve_games=60", *settings]
    return command.train(
        out=str(path), algorithm=name, given=values, settings=settings, seeds=seeds, force=False,
        as_json=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("paired", {}, ("practice-table", "0", ["robin", "alex"])),
        ("paired", {"seat": "all", "against": "alex"}, ("practice-table", "all", ["alex", "alex"])),
        ("self-play", {}, ("standard,seats=2,lives=1", "all", ["itself", "robin", "alex"])),
        ("self-play", {"rules": "cuckoo,seats=5"}, ("cuckoo,seats=5", "all", ["itself", "robin", "alex"])),
        ("generalist", {}, ("practice-table", "all", ["robin", "alex"])),
        ("generalist", {"against": "robin"}, ("practice-table", "all", ["robin"])),
    ],
)  # fmt: skip
def test_a_card_says_what_was_learned_against_whom(tmp_path, name, given, told):
    train(tmp_path, name, **given)
    card = Policy.load(tmp_path).card
    assert (card.rules, card.training["seat"], card.training["against"]) == (
        Rules.parse(told[0]), *told[1:],
    )  # fmt: skip
    covers = {"presets": list(PRESETS), "seats": [2, 3]} if name == "generalist" else None
    assert card.as_json()["covers"] == covers


@pytest.mark.parametrize("name", TINY)
def test_every_algorithm_learns_from_several_seeds(tmp_path, capsys, name):
    assert train(tmp_path / "x", name, seeds="0,1") == 0
    told = json.loads(capsys.readouterr().out)
    score = "nash_conv" if name == "self-play" else "captured_headroom"
    found = [each[score] for each in told["runs"]]
    assert found[0] != found[1]
    assert told["mean"][score] == pytest.approx(sum(found) / 2)
    assert (tmp_path / "x" / "curve.png").exists()


def test_self_play_stops_at_a_nash_conv(tmp_path, capsys):
    settings = ["curve_points=8", "pool=0"]
    train(tmp_path / "x", "self-play", steps=640, settings=settings)
    whole = json.loads(capsys.readouterr().out)
    assert not whole["reached_target"]
    curve = Policy.load(tmp_path / "x").card.training["learning_curve"]
    target = curve[0]["nash_conv"]  # the first point is as good
    train(tmp_path / "y", "self-play", steps=640, settings=settings, target=target)
    stopped = json.loads(capsys.readouterr().out)
    assert stopped["reached_target"]
    assert stopped["steps"] == 0
    train(tmp_path / "z", "self-play", steps=640, settings=settings, target=1e-9)
    assert json.loads(capsys.readouterr().out)["nash_conv"] == whole["nash_conv"] > 1e-9


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"shaping": "lives"}, "^shaping: there is no such setting"),
        ({"device": "cuda"}, "^device: cuda is refused"),
        ({"against": "bob"}, "^agent: 'bob' is refused"),
    ],
)
def test_every_algorithm_refuses_what_it_cannot_use(tmp_path, monkeypatch, name, given, told):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for seeds in (None, "0,1"):
        with pytest.raises(ValueError, match=told) as caught:
            train(tmp_path / "x", name, seeds=seeds, **given)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "x").exists()


# -- Interrupts, the clock ----------------------------------------------------------------------


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
    assert 512 <= outcome.steps < 10**6
    assert outcome.seconds >= 0.006
    assert outcome.measuring > 0


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
        ({"hidden": "12x"}, "hidden: '12x' is refused; accepted: a whole number"),
        ({"hidden": "99999"}, "hidden: .* is refused; accepted: up to 8 sizes from 1 to 4096"),
        ({"shaping": "card"}, "shaping: card is refused; accepted: none or lives"),
        ({"target": 0.0}, "target: 0.0 is refused; accepted: a number above 0"),
        ({"device": "tpu"}, "device: tpu is refused; accepted: cpu, cuda, auto"),
        ({"checkpoint_minutes": 0.0}, "checkpoint_minutes: 0.0 is refused"),
        ({"settings": ["clip"]}, "set: clip is refused; accepted: NAME=VALUE"),
        ({"settings": ["clip=x"]}, "clip: 'x' is refused; accepted: a number"),
        ({"settings": ["clip=2"]}, "clip: 2.0 is refused"),
        ({"settings": ["epochs=1.5"]}, "epochs: '1.5' is refused; accepted: a whole number"),
        ({"settings": ["speed=9"]}, "speed: there is no such setting; accepted: rules, seat"),
        ({"seeds": "0,1"}, "seed, seeds: both together are refused"),
        ({"seed": None, "seeds": "0,x"}, "seeds: 0,x is refused; accepted: whole numbers"),
        ({"seed": None, "seeds": "1,1"}, "seeds: 1,1 is refused; accepted: each seed once"),
        ({"seed": None, "seeds": f"0,{2**32}"}, "seed: 4294967296 is refused"),
        ({"seed": None, "seeds": "0,1", "seat": "3"}, "seat: 3 is refused"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(tmp_path, changes, match):
    with pytest.raises(ValueError, match=match) as caught:
        cli(tmp_path / "x", **changes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_a_device_that_is_not_there_is_refused(tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device: cuda is refused: torch finds none here"):
        cli(tmp_path / "x", device="cuda")
    assert not (tmp_path / "x").exists()
    assert run(tmp_path / "x", device="auto").policy.card.training["device"] == "auto"


def test_arguments_are_read_from_texts_and_from_json():
    texts = {"steps": "7", "hidden": "8, 8", "clip": ".1", "shaping": "none", "target": "0.9"}
    values = {"steps": 7, "hidden": [8, 8], "clip": 0.1, "shaping": "none", "target": 0.9}
    assert read_arguments(Arguments, texts) == read_arguments(Arguments, values)
    assert read_arguments(Arguments, {"minutes": 1, "steps": None}).minutes == 1.0
    for name, value in {
        "steps": True, "rules": 3, "hidden": {"a": 1}, "minutes": "soon", "seed": None,
        "games": [1], "clip": None, "epochs": "-1", "curve_games": 2.5,
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=f"^{name}: .* is refused; accepted: a|whole"):
            read_arguments(Arguments, {"steps": 1, name: value})


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
        f"cuckoo train --out {tmp_path / 'x'} --algorithm ppo --steps 1 --seed 3 --games 64 --hidden 16"
    )
    assert result["captured_headroom"] < 1
    assert cli(tmp_path / "y", as_json=False, settings=["clip=0.1"]) == 0
    printed = capsys.readouterr().out.replace("\n", "")
    assert f"policy:{tmp_path / 'y'}" in printed
    assert f"It wins {result['win_share']:.1%}"[:12] in printed
    assert "Captured headroom: -" in printed
    config = json.loads((tmp_path / "y" / "config.json").read_text())
    assert config["arguments"]["clip"] == 0.1
    assert config["command"].endswith("--steps 1 --seed 3 --games 64 --hidden 16 --set clip=0.1")


def test_the_command_in_the_card_makes_the_same_policy(tmp_path, capsys):
    settings = ["rollout=4", "curve-games=64"]
    cli(tmp_path / "x", seat="2", settings=settings)
    words = json.loads((tmp_path / "x" / "config.json").read_text())["command"].split()
    words[words.index("--out") + 1] = str(tmp_path / "y")
    assert command_line.main(words[1:]) == 0
    policies = [(tmp_path / name / "policy.safetensors").read_bytes() for name in "xy"]
    assert policies[0] == policies[1]


def test_several_seeds_are_told_with_mean_and_spread(tmp_path, capsys):
    path = tmp_path / "x"
    assert cli(path, seed=None, seeds="5,3", as_json=False) == 0
    printed = capsys.readouterr().out
    assert "spread" in printed
    assert {each.name for each in path.iterdir()} == {
        "config.json", "summary.json", "curve.png", "seed-5", "seed-3",
    }  # fmt: skip
    assert (path / "curve.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((path / "summary.json").read_text())
    shares = [each["win_share"] for each in summary["runs"]]
    assert [each["seed"] for each in summary["runs"]] == [5, 3]
    assert summary["mean"]["win_share"] == pytest.approx(sum(shares) / 2)
    assert summary["spread"]["win_share"] == pytest.approx(abs(shares[0] - shares[1]) / 2**0.5)
    assert f"{summary['mean']['win_share']:.1%}" in printed
    for each in summary["runs"]:
        card = Policy.load(path / f"seed-{each['seed']}").card
        assert card.training["learning_curve"] == each["learning_curve"]
        assert f"--seed {each['seed']}" in card.training["command"]
    with pytest.raises(RunError, match="it holds a run; accepted: a new folder, or --force"):
        cli(path, seed=None, seeds="1")
    assert cli(path, seed=None, seeds="1", force=True) == 0
    assert {each.name for each in path.iterdir()} >= {"seed-1", "summary.json"}
    assert not (path / "seed-5").exists()
    summary = json.loads((path / "summary.json").read_text())
    assert summary["spread"]["win_share"] is None  # of one seed
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_the_help_tells_the_defaults(capsys):
    assert command_line.main(["train", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    sections = re.split(r" (?=--[a-z-]+ [<A-Z])", told)
    for name in ("rules", "seat", "against", "seed", "device", "checkpoint_minutes"):
        start = f"--{name.replace('_', '-')} "
        option = next(each for each in sections if each.startswith(start))
        assert f"[default: ({getattr(Arguments(steps=1), name)})" in option


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
