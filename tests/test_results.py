"""Every figure in the documents comes from a file in ``results/``, and measuring does what it says."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cuckoo_env.agents import parse
from cuckoo_env.rules import PRESETS, Rules

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(name: str) -> ModuleType:
    """A module of the benchmarks, which are scripts and belong to no package."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


render = load("render")
measure = load("measure")

MADE = {
    "command": "python measure.py",
    "commit": "abc",
    "python": "3.11",
    "machine": "2 cores",
    "versions": {"numpy": "2"},
}
TABLE = {"title": "T", "columns": ["a", "b"], "rows": [["1", "2|3"]], "note": "N.", "made": MADE}
DOCUMENT = "before\n<!-- found:start -->\n<!-- found:end -->\nafter\n"


def write(folder: Path, name: str, results: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(results), encoding="utf-8")


# -- The documents as they are


def test_every_figure_in_the_documents_is_the_measured_one() -> None:
    for path in render.documents():
        text = path.read_text(encoding="utf-8")
        assert render.filled(text) == text, f"{path.name}: run python benchmarks/render.py"


def test_every_file_of_results_is_shown_and_every_block_has_a_name_that_exists() -> None:
    named = {name for path in render.documents() for name in render.blocks(path.read_text("utf-8"))}
    shown = {render.source(name) for name in named}
    assert {path.stem for path in render.RESULTS.glob("*.json")} <= shown
    assert named >= {"practice", "learning", "equilibria", "speed"}


# -- How they are made


def test_a_block_is_filled_from_its_file_and_the_rest_of_the_document_stays(tmp_path: Path) -> None:
    assert render.filled(DOCUMENT, tmp_path) == DOCUMENT, "no results yet"
    write(tmp_path, "found", TABLE)
    text = render.filled(DOCUMENT, tmp_path)
    assert text.startswith(
        "before\n<!-- found:start -->\n**T**\n\n| a | b |\n| --- | --- |\n| 1 | 2\\|3 |"
    )
    assert text.endswith("N.\n\n" + render._made(MADE) + "\n<!-- found:end -->\nafter\n")
    assert render.blocks(text) == {"found": render.render("found", tmp_path)}
    assert render.filled(text, tmp_path) == text


def test_a_figure_that_was_typed_by_hand_is_found(tmp_path: Path) -> None:
    write(tmp_path, "found", TABLE)
    text = render.filled(DOCUMENT, tmp_path)
    assert render.filled(text.replace("| 1 |", "| 7 |"), tmp_path) == text
    write(tmp_path, "found", {**TABLE, "rows": [["9", "9"]]})
    assert render.filled(text, tmp_path) != text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (27_123_456, "27.1 million"),
        (1_311_000, "1.31 million"),
        (196_400, "196 thousand"),
        (4_951, "4,951"),
        (0.0341, "0.034"),
        (15.26, "15.3"),
        (2048, "2,048"),
        (0, "0"),
    ],
)
def test_numbers_are_written_for_people(value: float, text: str) -> None:
    assert render.number(value) == text


# -- How speed is measured


def contender(key: str, values: list[float], **changes: Any) -> Any:
    """Something whose repetitions give these values, the warm-up left out."""
    left = iter([0.0, *values])
    return measure.Contender(
        key=key, group="g", family=key, prepare=lambda _: lambda _: next(left), **changes
    )


SETTINGS = measure.Settings(repetitions=3, seconds=0.0, seed=0, quick=True, cores=2)


def raced(*contenders: Any) -> list[Any]:
    found: list[Any] = measure.race(contenders, SETTINGS, lambda _: None)
    return found


def test_contenders_take_turns() -> None:
    turns: list[str] = []

    def prepare(key: str) -> Any:
        def repeat(_: float) -> float:
            turns.append(key)
            return 1.0

        return lambda _: repeat

    one, two = (
        measure.Contender(key=key, group="g", family=key, prepare=prepare(key)) for key in "ab"
    )
    raced(one, two)
    assert "".join(turns) == "ab" + "ab" * 3, "the warm-up, then three rounds"


def test_a_ratio_is_taken_round_by_round() -> None:
    # The machine is half as fast in the last round: both are, and the ratio does not show it.
    measured = raced(contender("a", [8.0, 8.0, 4.0]), contender("b", [4.0, 2.0, 2.0]))
    row = measure.Check(name="a over b", of="a", over="b", at_least=3).plain(measured)
    assert (row["low"], row["value"], row["high"], row["met"]) == (2.0, 2.0, 4.0, False)
    assert measure.Check(name="", of="a", over="b", at_most=2).plain(measured)["met"]
    assert measure.Check(name="", of="a", over="b").plain(measured)["met"] is None


def test_of_several_settings_the_best_counts() -> None:
    slow, fast = contender("a/1", [1.0] * 3), contender("a/2", [5.0] * 3)
    row = measure.Check(name="", of="a").plain(raced(slow, fast))
    assert (row["of"], row["value"]) == ("a/2", 5.0)
    quick = contender("s/1", [1.0] * 3, unit="s")
    row = measure.Check(name="", of="s").plain(raced(quick, contender("s/2", [2.0] * 3, unit="s")))
    assert row["of"] == "s/1"


def test_a_peer_that_is_missing_or_fails_is_listed_and_one_of_ours_may_not_fail() -> None:
    def absent(_: ExitStack) -> Any:
        raise ModuleNotFoundError(name="pgx")

    def broken(_: ExitStack) -> Any:
        raise RuntimeError("secret/path")

    def peer(prepare: Any, **changes: Any) -> Any:
        return measure.Contender(key="p", group="g", family="P", prepare=prepare, **changes)

    ours = contender("a", [1.0] * 3)
    measured = raced(ours, peer(absent, is_peer=True))
    assert measured[1].plain()["missing"] == "pgx is not installed"
    assert measure.Check(name="", of="a", over="p").plain(measured)["missing"]
    row = raced(peer(broken, is_peer=True))[0].plain()
    assert row["missing"] == "RuntimeError when started"
    with pytest.raises(RuntimeError):
        raced(peer(broken))


def test_speed_is_shown_with_what_is_missing(tmp_path: Path) -> None:
    def absent(_: ExitStack) -> Any:
        raise ModuleNotFoundError(name="pgx")

    gone = measure.Contender(key="p", group="batch", family="P", prepare=absent, is_peer=True)
    batch = [contender("a/1", [1e6] * 3), contender("a/2", [2e6, 3e6, 4e6])]
    measured = raced(*batch, gone)
    rows = [
        {**each.plain(), "group": "batch", "family": each.contender.key[0]} for each in measured
    ]
    checks = [
        measure.Check(name="a over p", of="a", over="p", at_least=10).plain(measured),
        measure.Check(name="two over one", of="a/2", over="a/1", at_least=4).plain(measured),
    ]
    results = {"repetitions": 3, "measurements": rows, "checks": checks, "made": MADE}
    write(tmp_path, "speed", results)
    text = render.render("speed", tmp_path)
    assert "| a over p |  |  | not measured: pgx is not installed | at least 10.0 |  |" in text
    told = "| two over one | 3.00 million a second | 1.00 million a second | 3.00 × (2.00 – 4.00) "
    assert told + "| at least 4.00 | NOT MET |" in text
    details = render.render("speed-details", tmp_path)
    assert "| a |  | 3.00 million a second | 2.00 million – 4.00 million |" in details
    assert "| p |  | not measured: pgx is not installed |  |" in details


# -- What training reaches


@pytest.fixture
def learning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The tables of learning, with runs that are over before they learn much."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("sb3_contrib")
    monkeypatch.syspath_prepend(BENCHMARKS)
    module = load("learning")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "GAMES", 600)
    monkeypatch.setattr(module, "PRESETS", {name: PRESETS[name] for name in ("standard", "le-her")})
    monkeypatch.setattr(module, "PIECES", module.PIECES[2:4])
    monkeypatch.setattr(module, "TABLES", ("practice-table", "onesies,seats=4"))
    made: list[str] = []

    def run(name: str, seed: int, minutes: float, *options: str) -> Path:
        from cuckoo_env import cli

        out: Path = tmp_path / name / f"seed-{seed}"
        made.append(name)
        small = ("--games", "256", "--hidden", "8", "--set", "curve_games=60")
        words = ("--steps", "300", "--seed", str(seed), "--json", "--force", *options)
        assert cli.main(["train", "--out", str(out), *words, *small]) == 0
        return out

    monkeypatch.setattr(module, "run", run)
    module.made = made  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("name", "rows", "runs"),
    [
        ("learning", 4, {"paired-0", "paired-1", "paired-2", "ppo"}),
        ("pieces", 2, {"piece-0", "piece-1"}),
        ("self_play", 3, {"self-play"}),
        ("generalist", 2, {"generalist", "special-practice-table", "special-onesies-seats=4"}),
        ("presets", 2, {"generalist"}),
    ],
)
def test_the_tables_of_learning_have_their_shape(
    learning: ModuleType, tmp_path: Path, name: str, rows: int, runs: set[str]
) -> None:
    table = getattr(learning, name)([5, 2] if name == "learning" else [5])
    assert set(learning.made) == runs
    assert len(table["rows"]) == rows
    for row in table["rows"]:
        assert len(row) == len(table["columns"])
        assert all(isinstance(cell, str) and cell and "nan" not in cell for cell in row)
    write(tmp_path, "found", {**table, "made": MADE})
    assert table["title"] in render.filled(DOCUMENT, tmp_path)


def test_a_run_that_has_ended_counts_again_for_the_same_code_and_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(BENCHMARKS)
    learning = load("learning")
    monkeypatch.setattr(learning, "FOLDER", tmp_path)
    trained: list[Sequence[str]] = []

    def train(command: Sequence[str], **_: Any) -> None:
        trained.append(command)
        Path(command[command.index("--out") + 1]).mkdir(parents=True, exist_ok=True)

    assert learning.made_by() == learning.made_by()
    monkeypatch.setattr(learning, "made_by", lambda: {"code": "this"})
    monkeypatch.setattr(learning.subprocess, "run", train)
    folder = learning.run("a", 3, 0.5, "--self-play")
    assert trained[0][-5:] == ["--seed", "3", "--minutes", "0.5", "--self-play"]
    assert learning.run("a", 3, 0.5, "--self-play") == folder
    assert len(trained) == 1
    learning.run("a", 3, 1.5, "--self-play")
    assert len(trained) == 2
    (folder / learning.FINISHED).write_text("{")
    learning.run("a", 3, 1.5, "--self-play")
    assert len(trained) == 3
    monkeypatch.setattr(learning, "made_by", lambda: {"code": "other"})
    learning.run("a", 3, 1.5, "--self-play")
    assert len(trained) == 4
    # What was edited during the run does not count.
    codes = iter("abbc")
    monkeypatch.setattr(learning, "made_by", lambda: {"code": next(codes)})
    learning.run("a", 3, 1.5, "--self-play")
    learning.run("b", 3, 1.5, "--self-play")
    assert len(trained) == 6
    assert not (tmp_path / "b" / "seed-3" / learning.FINISHED).exists()


def test_a_point_of_a_curve_counts_where_it_was_due(learning: ModuleType) -> None:
    seconds_and_scores = ((0, -1.0), (29.9, 0.5), (61.5, 0.97), (90, 0.98))
    curve = [{"seconds": seconds, "score": score} for seconds, score in seconds_and_scores]
    card = {"learning_curve": curve}
    assert [learning.at(card, "score", minutes) for minutes in (0.2, 0.5, 1, 9)] == [
        -1.0, 0.5, 0.97, 0.98,
    ]  # fmt: skip
    assert learning.reached(card, "score", 0.97) == 61.5
    assert learning.reached(card, "score", 0.99) != learning.reached(card, "score", 0.99)
    assert learning.spread([0.5], learning.percent) == "50.0"
    assert learning.spread([0.5, 0.6], learning.percent) == "55.0 ± 7.1"


def test_a_policy_gains_nothing_over_itself(
    learning: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules.parse("onesies,seats=3")
    robin = parse(learning.COPIED, rules)
    monkeypatch.setattr(learning.Policy, "load", lambda _: None)
    monkeypatch.setattr(learning.PolicyAgent, "of", lambda *_: robin)
    assert learning.gain(Path(), rules) == (0.0, 0.0)


def test_a_loop_counts_what_it_did() -> None:
    steps: list[int] = []

    def work(n: int) -> int:
        steps.append(n)
        time.sleep(0.001 * n)
        return 10 * n

    pace = measure.Loop(work)(0.05)
    assert 0 < pace <= 10 / 0.001, "ten for each millisecond at best"
    assert steps[:3] == [1, 2, 4], "pieces grow until looking at the clock costs nothing"
    once = measure.Loop(work, "s")(0.0)
    assert once >= 0.001 / 10
    assert measure.Loop(work, "ns")(0.0) >= 1e6 / 10
