"""An exported policy plays what the policy plays, and needs nothing of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from policies import GENERAL, generalist, random_policy

from cuckoo_env import cli
from cuckoo_env.agents.export import as_onnx, export
from cuckoo_env.agents.policy import CARD_NAME, Policy, PolicyAgent
from cuckoo_env.batch import Batch
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.observation import LAYOUT_VERSION, Layout

PAGE = Path(__file__).parents[1] / "docs" / "export.md"


def session_of(model: bytes | Path) -> Any:
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])


def ask(
    session: Any, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8]
) -> npt.NDArray[np.float32]:
    asked = {"observation": observations, "mask": masks}
    chances: npt.NDArray[np.float32] = session.run(["probabilities"], asked)[0]
    return chances


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (16,), (128, 128)])
@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=5", "generalist"])
def test_the_runtime_gives_the_same_chances_and_actions(
    rules: str, hidden: tuple[int, ...], activation: str
) -> None:
    if rules == "generalist":
        policy = generalist(hidden=hidden, activation=activation)
        games = Batch("onesies,seats=4", 256, seed=2, max_seats=10, with_rules=True)
    else:
        policy = random_policy(rules, hidden=hidden, activation=activation)
        games = Batch(rules, 256, seed=2)
    agent = PolicyAgent.of(policy, "x")
    session = session_of(as_onnx(policy).SerializeToString())
    luck, compared = np.random.default_rng(1), 0
    for _ in range(20):
        ours = agent.probabilities(games.observations, games.masks, games.layout)
        theirs = ask(session, games.observations, games.masks)
        assert theirs.dtype == np.float32
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-6)
        assert (theirs[games.masks == 0] == 0).all()
        # The same action for the same luck, but where the luck falls on the border itself.
        drawn = luck.random(len(ours))
        border = abs(ours.cumsum(axis=1) - drawn[:, None]).min(axis=1) < 1e-5
        picks = [(each.cumsum(axis=1) < drawn[:, None]).sum(axis=1) for each in (ours, theirs)]
        np.testing.assert_array_equal(picks[0][~border], picks[1][~border])
        compared += int((~border).sum())
        games.step(np.where(border, games.masks.argmax(axis=1), picks[0]))
    assert compared > 5000


def test_huge_logits_and_seats_that_may_do_nothing_give_no_nan() -> None:
    session = session_of(as_onnx(random_policy(scale=1e5)).SerializeToString())
    games = Batch("practice-table", 64, seed=2)
    assert np.isfinite(ask(session, games.observations, games.masks)).all()
    assert np.isfinite(ask(session, games.observations, np.zeros_like(games.masks))).all()


def test_the_model_says_what_it_is_of_and_what_its_numbers_mean() -> None:
    def about(policy: Policy) -> dict[str, str]:
        model = as_onnx(policy).SerializeToString()
        return dict(session_of(model).get_modelmeta().custom_metadata_map)

    told = about(random_policy())
    assert told["rules"] == "practice-table"
    assert told["layout_version"] == str(LAYOUT_VERSION)
    assert json.loads(told["observation"]) == Layout(max_seats=3).names()
    assert json.loads(told["actions"]) == list(ACTION_NAMES[:2])
    assert "covers" not in told
    told = about(generalist())
    assert told["covers"] == "every preset with 2 to 10 seats"
    assert json.loads(told["observation"]) == GENERAL.names()
    assert json.loads(told["actions"]) == list(ACTION_NAMES)


def test_the_model_is_small_plain_and_always_the_same(tmp_path: Path) -> None:
    policy, path = random_policy(hidden=(128, 128)), tmp_path / "policy.onnx"
    export(policy, path)
    numbers = sum(weights.size for weights in policy.weights.values())
    assert path.stat().st_size < 4 * numbers + 10_000
    model = onnx.load(path)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds == ["Gemm", "Relu", "Gemm", "Relu", "Gemm", "Cast", "Where", "Softmax"]
    assert {each.domain for each in model.opset_import} == {""}
    first = path.read_bytes()
    export(policy, path)
    assert path.read_bytes() == first


# -- The command --------------------------------------------------------------------------------


def test_the_command_writes_a_model_and_says_how_to_ask_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random_policy().save(tmp_path)
    out = tmp_path / "x.onnx"
    assert cli.main(["export", str(tmp_path), "--onnx", str(out)]) == 0
    size = Layout(max_seats=3).size
    told = capsys.readouterr().out
    assert f"Wrote {out}, trained for practice-table." in told
    assert f"observation (n, {size}) float32 and mask (n, 2) int8" in told
    (seen, mask) = session_of(out).get_inputs()
    assert (seen.name, seen.shape, seen.type) == ("observation", ["n", size], "tensor(float)")
    assert (mask.name, mask.shape, mask.type) == ("mask", ["n", 2], "tensor(int8)")
    arguments = ["export", str(tmp_path / CARD_NAME), "--onnx", str(out), "--force", "--json"]
    assert cli.main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == {
        "onnx": str(out), "rules": "practice-table", "observation": size, "mask": 2,
    }  # fmt: skip


def test_the_command_refuses_in_one_line_and_replaces_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random_policy().save(tmp_path)
    there = tmp_path / "there.onnx"
    there.write_text("kept")
    for policy, out, match in [
        (tmp_path, there, "it exists; accepted: a new file, or --force"),
        (tmp_path, tmp_path / "x.pb", "accepted: a file that ends in .onnx"),
        (tmp_path / "none", tmp_path / "x.onnx", "no such folder or file"),
        (tmp_path, tmp_path / "none" / "x.onnx", "no such folder"),
    ]:
        assert cli.main(["export", str(policy), "--onnx", str(out)]) == cli.BAD_INPUT
        told = capsys.readouterr().err
        assert match in told
        assert told.count("\n") == 1
    assert there.read_text() == "kept"
    assert not (tmp_path / "x.onnx").exists()


def test_a_policy_of_the_package_is_exported_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wise").mkdir()
    random_policy(seed=5).save(tmp_path / "wise")
    monkeypatch.setattr("cuckoo_env.agents.policy.SHIPPED", tmp_path)
    assert cli.main(["export", "wise", "--onnx", str(tmp_path / "x.onnx")]) == 0
    assert (tmp_path / "x.onnx").stat().st_size > 1000


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    export(random_policy(), tmp_path / "policy.onnx")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Result(winners=")


def test_the_page_lists_what_the_model_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = {each.key for each in as_onnx(generalist()).metadata_props}
    (table,) = re.findall(r"\| key \| value \|\n(.*?)\n\n", page, re.DOTALL)
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == told
