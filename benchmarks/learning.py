"""What training reaches: runs of ``cuckoo train``, and tables of their learning curves.

Every run is the command line's own, in a process of its own, with its folder in ``runs/results``.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from made import LIBRARIES, ROOT, machine, versions

from cuckoo_env.agents import lineup, parse
from cuckoo_env.agents.policy import Policy, PolicyAgent
from cuckoo_env.evaluate import arena
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.files import write_text
from cuckoo_env.rules import PRESETS, Rules
from cuckoo_env.train.curve import COPIED
from cuckoo_env.train.task import Task, with_room

Table = dict[str, Any]
Training = Mapping[str, Any]

FOLDER: Final = ROOT / "runs" / "results"
AGAINST: Final = "robin,alex"
SPECIAL_MINUTES: Final = 5.0
SELF_PLAY_MINUTES: Final = 10.0
GENERALIST_MINUTES: Final = 10.0
PIECE_MINUTES: Final = 1.0
LONGEST_UPDATE: Final = 2.5
"""Seconds: a point of a curve that is due during an update is measured after it."""
GAMES: Final = 150_000
"""Games for each sampled comparison."""
TABLES: Final = (
    "practice-table", "onesies,seats=3", "queen-rule,seats=4", "full-rotation,seats=5", "cuckoo,seats=8",
)  # fmt: skip
"""Where a generalist is measured beside specialists."""


FINISHED: Final = "finished.json"
"""In a run's folder once it ended: with which options and which code. Hours of runs that were cut short
go on where they stopped, and no run of other code counts."""


def run(name: str, seed: int, minutes: float, *options: str) -> Path:
    """Train one seed, unless that was done by the same code on such a machine; returns the run's folder."""
    out = FOLDER / name / f"seed-{seed}"
    options = ("--seed", str(seed), "--minutes", str(minutes), *options)
    finished = {"options": list(options), **made_by()}
    if _read(out / FINISHED) == finished:
        return out
    command = [
        sys.executable, "-m", "cuckoo_env.cli", "train", "--json", "--force", "--out", str(out), *options,
    ]  # fmt: skip
    print(f"  {name}, seed {seed}: {minutes:g} minutes", flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if finished == {"options": list(options), **made_by()}:
        write_text(out / FINISHED, json.dumps(finished, indent=1) + "\n")
    else:
        print("  the code was edited meanwhile: this run will not count again", flush=True)
    return out


def made_by() -> dict[str, Any]:
    """What a run depends on beside its options: a digest of the code, the libraries, the machine."""
    digest = hashlib.sha256()
    for package in ("cuckoo_env", "agents", "evaluate", "train"):
        for path in sorted((ROOT / package).rglob("*.py")):
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return {"code": digest.hexdigest(), "versions": versions(LIBRARIES), "machine": machine()}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def training(folder: Path) -> Training:
    """What the card of a run's policy says of its training."""
    card: Training = json.loads((folder / "policy.json").read_text())["training"]
    return card


def at(card: Training, score: str, minutes: float) -> float:
    """A score at the last point of a curve that was due within so many minutes."""
    latest = 60 * minutes + LONGEST_UPDATE
    points = [point for point in card["learning_curve"] if point["seconds"] <= latest]
    return float(points[-1][score])


def reached(card: Training, score: str, aim: float) -> float:
    """Seconds until a score was first at least so good; NaN if it never was."""
    return next((p["seconds"] for p in card["learning_curve"] if p[score] >= aim), float("nan"))


def spread(values: Sequence[float], form: Callable[[float], str]) -> str:
    """A mean, and the standard deviation where there are several values."""
    mean = form(float(np.mean(values)))
    return mean if len(values) < 2 else f"{mean} ± {form(float(np.std(values, ddof=1)))}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _of(seeds: Sequence[int]) -> str:
    return "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"


def _cores_of(*folders: Path) -> str:
    """A sentence on how much of the machine the runs had, from their policies' cards."""
    machines = (str(training(folder)["machine"]).split(", ")[-1] for folder in folders)
    return (
        f"Cores that each run had: {' or '.join(sorted({each.split()[0] for each in machines}))}."
    )


def _headroom_row(label: str, runs: Sequence[Path], times: Sequence[float]) -> list[str]:
    cards = [training(each) for each in runs]
    seconds = [reached(card, "captured_headroom", 0.97) for card in cards]
    captured = [
        spread([at(card, "captured_headroom", minutes) for card in cards], percent)
        for minutes in times
    ]
    rate = float(np.mean([card["decisions_per_second"] for card in cards]))
    when = spread(seconds, "{:.0f}".format) if np.isfinite(seconds).all() else "not reached"
    return [label, *captured, when, f"{rate / 1000:,.0f} thousand"]


def learning(seeds: Sequence[int]) -> Table:
    """Captured headroom in every seat of the practice table, against robin, alex; PPO beside it."""
    times = (0.5, 1, 2, SPECIAL_MINUTES)
    options = ("--against", AGAINST, "--set", "curve_points=24")
    rows, all_runs = [], []
    for seat in range(3):
        runs = [
            run(f"paired-{seat}", seed, SPECIAL_MINUTES, "--seat", str(seat), *options)
            for seed in seeds
        ]
        rows.append(_headroom_row(f"paired rollouts, seat {seat}", runs, times))
        all_runs += runs
    seed = seeds[0]
    ppo = run("ppo", seed, SPECIAL_MINUTES, "--algorithm", "ppo", "--seat", "0", *options)
    rows.append(_headroom_row(f"PPO, seat 0, seed {seed}", [ppo], times))
    return {
        "title": f"Learning the practice table against robin, alex: captured headroom, {_of(seeds)}",
        "columns": [
            "how, and where",
            *(f"after {minutes:g} min, %" for minutes in times),
            "seconds to 97 %",
            "decisions a second",
        ],
        "rows": rows,
        "note": "Captured headroom is (learned − Robin's own play) / (best response − Robin's own play), in"
        " exact win shares averaged over first dealers. Learned from sampled games only. Time is that of"
        " learning: the exact scores along the way are not counted. " + _cores_of(*all_runs, ppo),
        "seeds": list(seeds),
    }


PIECES: Final = (
    ("PPO, paid at the end of a game", ("--algorithm", "ppo", "--shaping", "none")),
    ("PPO, paid for lives on the way", ("--algorithm", "ppo")),
    ("PPO, batches four times as large", ("--algorithm", "ppo", "--games", "8192")),
    ("both actions to the end of the game, fresh cards", ("--set", "horizon=game", "--set", "luck=fresh")),
    ("both actions to the end of the game, the same cards", ("--set", "horizon=game")),
    ("both actions to the end of the round, learned values, fresh cards", ("--set", "luck=fresh")),
    ("both actions to the end of the round, learned values, the same cards", ()),
    ("the same with a single gradient step an update", ("--set", "minibatches=1")),
)  # fmt: skip
"""What is tried, from plain to all together, and its options."""


def pieces(seeds: Sequence[int]) -> Table:
    """What each idea brings: captured headroom in seat 0 after a quarter, a half and a whole minute."""
    times = (0.25, 0.5, PIECE_MINUTES)
    rows, all_runs = [], []
    for number, (label, options) in enumerate(PIECES):
        runs = [
            run(f"piece-{number}", seed, PIECE_MINUTES, *options, "--set", "curve_points=17")
            for seed in seeds
        ]
        rows.append(_headroom_row(label, runs, times))
        all_runs += runs
    return {
        "title": f"What each idea brings: captured headroom in seat 0, {_of(seeds)}",
        "columns": [
            "how",
            *(f"after {60 * minutes:g} s, %" for minutes in times),
            "seconds to 97 %",
            "decisions a second",
        ],
        "rows": rows,
        "note": "The same network (128, 128) throughout. “The same cards” deals both actions' rollouts"
        " alike, also after the decision. " + _cores_of(*all_runs),
        "seeds": list(seeds),
    }


def self_play(seeds: Sequence[int]) -> Table:
    """NashConv of self-play at the practice table after 1, 3 and 10 minutes."""
    runs = [
        run("self-play", seed, SELF_PLAY_MINUTES, "--self-play", "--set", "curve_points=24")
        for seed in seeds
    ]
    cards = [training(each) for each in runs]
    rows = [
        [
            f"{minutes:g} min",
            *(
                spread([at(card, score, minutes) for card in cards], "{:.4f}".format)
                for score in ("nash_conv", "nash_conv_average", "worst_win_share")
            ),
        ]
        for minutes in (1, 3, SELF_PLAY_MINUTES)
    ]
    return {
        "title": f"Self-play at the practice table, exactly, {_of(seeds)}",
        "columns": [
            "after",
            "NashConv of the last policy",
            "NashConv of the pool's average",
            "worst win share against any of the pool",
        ],
        "rows": rows,
        "note": f"Robin, Robin and Alex have a NashConv of {_bots_nash_conv():.4f}. NashConv is averaged over"
        " first dealers. The worst win share is that of the last policy, one of it among copies of the member"
        " that it does worst against; a third is par. " + _cores_of(*runs),
        "seeds": list(seeds),
    }


def _bots_nash_conv() -> float:
    """NashConv of the bots at the practice table, exactly, as the curves of self-play have it."""
    rules = Rules.parse("practice-table")
    agents = lineup("robin,robin,alex", rules)
    found = evaluate(rules, agents, first_dealer="all", best_responses=True).nash_conv
    assert found is not None
    return found


def generalist(seeds: Sequence[int]) -> Table:
    """What a generalist gains over copying Robin, beside specialists trained as long."""
    rows, specials = [], []
    generals = [
        run("generalist", seed, GENERALIST_MINUTES, "--rules", "any", "--seats", "2-10")
        for seed in seeds
    ]
    for text in TABLES:
        gains: dict[str, list[tuple[float, float]]] = {"general": [], "special": []}
        for seed, general in zip(seeds, generals, strict=True):
            special = run(
                f"special-{text.replace(',', '-')}", seed, GENERALIST_MINUTES,
                "--rules", text, "--seat", "all", "--set", "curve_points=2",
            )  # fmt: skip
            specials.append(special)
            gains["general"].append(gain(general, Rules.parse(text)))
            gains["special"].append(gain(special, Rules.parse(text)))
        general_gain, special_gain = (
            float(np.mean([each[0] for each in gains[name]])) for name in ("general", "special")
        )
        rows.append(
            [
                f"`{text}`",
                *(
                    spread([100 * each[0] for each in gains[name]], "{:.2f}".format)
                    for name in gains
                ),
                f"{100 * max(each[1] for each in gains['general']):.2f}",
                f"{100 * general_gain / special_gain:.0f}",
            ]
        )
    return {
        "title": f"One network for every preset and 2 to 10 seats, against robin, alex, {_of(seeds)}",
        "columns": [
            "table",
            "generalist's gain over copying Robin, points",
            "specialist's gain, points",
            "± standard error",
            "of the specialist's, %",
        ],
        "rows": rows,
        "note": f"Gains in win share, averaged over seats, from {GAMES:,} games each with paired deals; both"
        f" trained {GENERALIST_MINUTES:g} minutes. " + _cores_of(*generals, *specials),
        "seeds": list(seeds),
    }


def presets(seeds: Sequence[int]) -> Table:
    """The generalist's gain over copying Robin on every preset with 3, 5 and 10 seats, where allowed."""
    seed = seeds[0]
    folder = run("generalist", seed, GENERALIST_MINUTES, "--rules", "any", "--seats", "2-10")
    rows = []
    for name, preset in PRESETS.items():
        row = [f"`{name}`"]
        for seats in (3, 5, 10):
            if preset.admits(seats):
                won, error = gain(folder, preset.rules(seats=seats))
                row.append(f"{100 * won:+.2f} ± {100 * error:.2f}")
            else:
                row.append("–")
        rows.append(row)
        print(" ", *row, flush=True)
    return {
        "title": "The generalist on every preset: gain in win share over copying Robin, points",
        "columns": ["preset", "3 seats", "5 seats", "10 seats"],
        "rows": rows,
        "note": f"Averaged over seats, {GAMES:,} games each with paired deals, ± one standard error.",
        "seeds": [seed],
    }


def gain(folder: Path, rules: Rules) -> tuple[float, float]:
    """What a policy wins more than Robin's own policy in the same seat, over all seats, and the error."""
    agent = PolicyAgent.of(Policy.load(folder), "policy", rules)
    task = Task(rules=rules, seat=None, opponents=with_room(AGAINST, rules))
    lineups = zip(task.lineups(agent), task.lineups(parse(COPIED, rules)), strict=True)
    found = [
        arena.compare(rules, seated, copied, GAMES // rules.seats, 2**32 + seat)
        for seat, (seated, copied) in enumerate(lineups)
    ]
    won = float(np.mean([each.win_share[seat] for seat, each in enumerate(found)]))
    errors = [each.win_share_se[seat] for seat, each in enumerate(found)]
    return won, float(np.sqrt(np.sum(np.square(errors)))) / rules.seats
