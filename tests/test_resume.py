"""A run that was killed goes on to exactly what it would have been."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from cuckoo_env import cli
from cuckoo_env.agents.policy import Policy
from cuckoo_env.train import checkpoint, command, loop
from cuckoo_env.train.runs import RunError, RunFolder
from cuckoo_env.train.task import read_arguments

SMALL = {
    "steps": 4096,  # eight updates
    "games": 64,
    "rollout": 8,
    "minibatches": 2,
    "hidden": "16,16",
    "curve_points": 4,
    "curve_games": 128,
    "checkpoint_minutes": 1e-9,  # after every update
    "seed": 3,
}


TINY = {
    "steps": 2560,
    "curve_points": 4,
    "curve_games": 60,
    "checkpoint_minutes": 1e-9,
    "seed": 3,
    "games": 256,  # ten updates
    "minibatches": 2,
    "hidden": "8",
    "value_hidden": "4",
}
OTHERS = {
    "paired": {},
    "self-play": {
        "rules": "standard,seats=2,lives=1", "pool": 0.5, "redraw": 2, "snapshots": 8,
    },
    "generalist": {"seats": "2-4"},
}  # fmt: skip
"""The settings of the other algorithms."""


class StoppedError(Exception):
    """Stands for whatever ends a process without warning."""


def order(name="ppo", **changes):
    settings = SMALL if name == "ppo" else {**TINY, **OTHERS[name]}
    arguments = read_arguments(command.algorithm(name).arguments, {**settings, **changes})
    return command.Order(name=name, arguments=arguments)


def run(path, *, stop_at=None, force=False, **changes):
    """A run; one that is stopped is left as it stands after so many decisions."""
    wanted = order(**changes)
    folder = RunFolder(path, force=force)
    learner = wanted.algorithm.make(wanted.arguments)
    folder.begin(wanted.config(wanted.command(folder.path)))

    def watch(progress):
        if progress.steps == stop_at:
            raise StoppedError

    with contextlib.suppress(StoppedError):
        loop.run(learner, wanted.arguments, folder, command="cuckoo train …", watch=watch)
        folder.finish()


def resume(path):
    assert command.resume(str(path), as_json=True) == 0


def what_came_of_it(path):
    """All that must not depend on whether a run was stopped: clocks are left out."""
    with (path / loop.CURVE_NAME).open() as file:
        curve = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    with (path / loop.LOG_NAME).open() as file:
        log = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    return (path / "policy.safetensors").read_bytes(), curve, log


def rows(path):
    return len(path.read_text().splitlines()) - 1 if path.exists() else 0


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    path = tmp_path_factory.mktemp("unbroken") / "x"
    run(path)
    return path


# -- StoppedError in every way -----------------------------------------------------------------------


def test_a_process_that_is_killed_loses_nothing_but_the_last_interval(tmp_path):
    path, whole = tmp_path / "killed", tmp_path / "whole"
    options = {**SMALL, "steps": 40 * 512, "checkpoint_minutes": 0.001}  # 60 ms
    words = [f"{name}={value}" for name, value in options.items()]
    started = subprocess.Popen(
        [
            *(sys.executable, "-m", "cuckoo_env.cli", "train", "--out", str(path)),
            *("--algorithm", "ppo"),
            *(word for each in words for word in ("--set", each)),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        while rows(path / loop.LOG_NAME) < 8:
            assert started.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
    finally:
        os.kill(started.pid, signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
    assert not (path / "policy.json").exists()
    kept = checkpoint.load(path).part("diary").values["curve"]
    assert 8 <= rows(path / loop.LOG_NAME) < 40
    resume(path)
    run(whole, **options)
    assert what_came_of_it(path) == what_came_of_it(whole)
    curve = Policy.load(path).card.training["learning_curve"]
    assert curve[: len(kept)] == kept  # the seconds too
    assert rows(path / loop.LOG_NAME) == 40
    assert not list(path.glob("*checkpoint*"))


@pytest.mark.parametrize("stop_at", [512, 2048, 4096])
def test_it_can_be_stopped_after_any_update(tmp_path, unbroken, stop_at):
    path = tmp_path / "x"
    # A checkpoint is written after `watch`: the update at which it stops is lost, and made again.
    run(path, stop_at=stop_at)
    assert rows(path / loop.LOG_NAME) == stop_at // 512
    resume(path)
    assert what_came_of_it(path) == what_came_of_it(unbroken)


def test_it_can_be_stopped_again_and_again(tmp_path, unbroken, monkeypatch):
    path = tmp_path / "x"
    run(path, stop_at=1024)
    real = checkpoint.save

    def save_once(folder, state):
        real(folder, state)
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", save_once)
        for _ in range(3):
            with pytest.raises(StoppedError):
                resume(path)
    resume(path)
    assert what_came_of_it(path) == what_came_of_it(unbroken)


def test_where_rules_need_masks_and_all_seats_learn_in_turn(tmp_path):
    changes = {"rules": "jack-rule,seats=4", "seat": "all"}
    run(tmp_path / "whole", **changes)
    run(tmp_path / "x", stop_at=2048, **changes)
    resume(tmp_path / "x")
    assert what_came_of_it(tmp_path / "x") == what_came_of_it(tmp_path / "whole")


@pytest.mark.parametrize("stop_at", [256, 1536])
@pytest.mark.parametrize("name", OTHERS)
def test_every_algorithm_goes_on_exactly(tmp_path, name, stop_at):
    run(tmp_path / "whole", name=name)
    run(tmp_path / "x", name=name, stop_at=stop_at)
    assert not (tmp_path / "x" / "policy.json").exists()
    resume(tmp_path / "x")
    assert what_came_of_it(tmp_path / "x") == what_came_of_it(tmp_path / "whole")
    assert rows(tmp_path / "x" / loop.LOG_NAME) == 10
    cards = [Policy.load(tmp_path / folder).card.training for folder in ("x", "whole")]
    untimed = [
        {key: card[key] for key in ("algorithm", "seat", "against", "steps", "interrupted")}
        for card in cards
    ]
    assert untimed[0] == untimed[1]


def test_against_opponents_that_are_asked_from_outside(tmp_path, unbroken):
    changes = {"against": f"policy:{unbroken},robin", "shaping": "none"}
    run(tmp_path / "whole", **changes)
    run(tmp_path / "x", stop_at=2048, **changes)
    resume(tmp_path / "x")
    assert what_came_of_it(tmp_path / "x") == what_came_of_it(tmp_path / "whole")


def test_a_run_by_the_clock_goes_on_with_the_time_that_is_left(tmp_path, monkeypatch):
    ticks = itertools.count()
    clock = types.SimpleNamespace(monotonic=lambda: next(ticks) / 64)  # each update takes a tick
    monkeypatch.setattr(loop, "time", clock)
    by_the_clock = {"steps": None, "minutes": 8.5 / 64 / 60}
    run(tmp_path / "whole", **by_the_clock)
    run(tmp_path / "x", stop_at=2048, **by_the_clock)
    assert checkpoint.load(tmp_path / "x").part("diary").values["seconds"] == 3 / 64
    resume(tmp_path / "x")
    assert what_came_of_it(tmp_path / "x") == what_came_of_it(tmp_path / "whole")
    assert Policy.load(tmp_path / "x").card.training["steps"] == 9 * 512


def test_an_interrupted_run_keeps_its_policy_and_goes_on(tmp_path, unbroken, monkeypatch):
    path = tmp_path / "x"
    wanted = order()
    folder = RunFolder(path, force=False)
    folder.begin(wanted.config("cuckoo train …"))
    learner = wanted.algorithm.make(wanted.arguments)

    def interrupt(progress):
        if progress.steps == 1024:
            raise KeyboardInterrupt

    outcome = loop.run(learner, wanted.arguments, folder, command="…", watch=interrupt)
    assert outcome.interrupted
    assert outcome.steps == Policy.load(path).card.training["steps"] == 1024
    resume(path)
    assert Policy.load(path).card.training["interrupted"] is False
    assert what_came_of_it(path) == what_came_of_it(unbroken)


def test_a_run_that_was_to_replace_another(tmp_path, unbroken):
    path = tmp_path / "x"
    run(path, seed=4)
    run(path, stop_at=2048, force=True)
    assert Policy.load(path).card.training["seed"] == 4
    resume(path)
    assert what_came_of_it(path) == what_came_of_it(unbroken)
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_several_seeds(tmp_path, capsys, monkeypatch):
    whole, path = tmp_path / "whole", tmp_path / "x"
    words = [
        word
        for name, value in SMALL.items()
        if name != "seed"
        for word in ("--set", f"{name}={value}")
    ]
    arguments = ["--algorithm", "ppo", "--seeds", "0,1,2", "--json", *words]
    assert cli.main(["train", "--out", str(whole), *arguments]) == 0
    real = checkpoint.save

    def save(folder, state):
        real(folder, state)
        if folder.name == "seed-1" and state.part("diary").values["seconds"] > 0:
            raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", save)
        with pytest.raises(StoppedError):
            cli.main(["train", "--out", str(path), *arguments])
    before = (path / "seed-0" / "policy.json").read_bytes()
    assert not (path / "summary.json").exists()
    resume(path)
    assert (path / "seed-0" / "policy.json").read_bytes() == before  # was done, and is left alone
    for seed in ("seed-0", "seed-1", "seed-2"):
        assert what_came_of_it(path / seed) == what_came_of_it(whole / seed)
    shares = [
        [each["win_share"] for each in json.loads((folder / "summary.json").read_text())["runs"]]
        for folder in (whole, path)
    ]
    assert shares[0] == shares[1]
    assert cli.main(["train", "--resume", str(path)]) == cli.BAD_INPUT
    assert "is finished" in capsys.readouterr().err


# -- Checkpoints --------------------------------------------------------------------------------


def test_a_checkpoint_that_was_being_written_does_not_matter(tmp_path, unbroken):
    path = tmp_path / "x"
    run(path, stop_at=2048)
    whole = (path / checkpoint.NAME).read_bytes()
    left = path / f".{checkpoint.NAME}.k3j2"
    left.write_bytes(whole[: len(whole) // 2])
    resume(path)
    assert not left.exists()
    assert what_came_of_it(path) == what_came_of_it(unbroken)


def test_what_was_logged_after_the_checkpoint_is_forgotten(tmp_path, unbroken):
    path = tmp_path / "x"
    run(path, stop_at=2048)
    with (path / loop.LOG_NAME).open("a") as file:
        file.write("2560,0.1,half a li")
    resume(path)
    assert what_came_of_it(path) == what_came_of_it(unbroken)


def truncate(path):
    file = path / checkpoint.NAME
    file.write_bytes(file.read_bytes()[:-100])


def flip(path):
    file = path / checkpoint.NAME
    data = bytearray(file.read_bytes())
    data[-1000] ^= 1
    file.write_bytes(bytes(data))


def replace(path):
    (path / checkpoint.NAME).write_bytes(b"\x80\x04\x95")  # how a pickle begins


def other_engine(path):
    state = checkpoint.load(path)
    checkpoint._ENGINE, kept = "another", checkpoint._ENGINE
    try:
        checkpoint.save(path, state)
    finally:
        checkpoint._ENGINE = kept


def other_network(path):
    file = path / "config.json"
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"arguments": {**SMALL, "hidden": [8]}})
    )


def other_number_of_games(path):
    file = path / "config.json"
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"arguments": {**SMALL, "games": 32}})
    )


def shorten_log(path):
    (path / loop.LOG_NAME).write_text("")


def forget_config(path):
    (path / "config.json").unlink()


def foreign_config(path):
    (path / "config.json").write_text('{"format": "another/1"}')


def empty_config(path):
    (path / "config.json").write_text('{"format": "cuckoo-run/1"}')


def wrong_argument(path):
    file = path / "config.json"
    config = json.loads(file.read_text())
    config["arguments"]["games"] = "__import__('os')"
    file.write_text(json.dumps(config))


def unknown_algorithm(path):
    file = path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"algorithm": "os"}))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    path = tmp_path_factory.mktemp("stopped") / "x"
    run(path, stop_at=1024)
    return path


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (truncate, "damaged, or no checkpoint"),
        (flip, "it is damaged"),
        (replace, "damaged, or no checkpoint"),
        (other_engine, "another version of the game's engine"),
        (other_network, "does not fit this run: the weights do not fit the network"),
        (other_number_of_games, "does not fit this run: the games do not fit"),
        (shorten_log, "shorter than it was at the checkpoint"),
        (forget_config, "it is no run; accepted: a run's folder"),
        (foreign_config, "it is no run; accepted: a run's folder"),
        (empty_config, "does not say what was to be trained"),
        (wrong_argument, "games: .* is refused; accepted: a whole number"),
        (unknown_algorithm, "algorithm: os is refused; accepted: .*ppo"),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused_in_one_line(
    tmp_path, stopped, capsys, damage, told
):
    path = tmp_path / "x"
    shutil.copytree(stopped, path)
    damage(path)
    before = {each.name: each.read_bytes() for each in path.iterdir() if each.is_file()}
    assert cli.main(["train", "--resume", str(path)]) == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    with pytest.raises(ValueError, match=told):
        command.resume(str(path), as_json=True)
    assert not (path / "policy.json").exists()
    assert {each.name: each.read_bytes() for each in path.iterdir() if each.is_file()} == before


def test_finished_and_foreign_folders_are_refused(tmp_path, unbroken):
    with pytest.raises(RunError, match="that run is finished"):
        RunFolder.unfinished(unbroken)
    (tmp_path / "mine").mkdir()
    for path in (tmp_path, tmp_path / "mine", tmp_path / "none"):
        with pytest.raises(RunError, match="it is no run; accepted: a run's folder"):
            RunFolder.unfinished(path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "9"], "resume: refused together with --steps"),
        (["--checkpoint-minutes", "1"], "resume: refused together with --checkpoint-minutes"),
        (["--out", "y"], "resume: refused together with --out"),
        (["--set", "clip=0.1"], "resume: refused together with --set"),
        (["--force"], "resume: refused together with --force"),
    ],
)
def test_a_run_goes_on_as_it_began(stopped, capsys, words, told):
    assert cli.main(["train", "--resume", str(stopped), *words]) == cli.BAD_INPUT
    assert told in capsys.readouterr().err
    assert Path(stopped / checkpoint.NAME).exists()
