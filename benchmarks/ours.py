"""What of this project is measured."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
from measure import Contender, Loop, Repeat, Settings
from picker import ROWS, LegalActions, draws, pick, rows

from cuckoo_env import cuckoo_v0
from cuckoo_env.batch import Batch
from cuckoo_env.engine import capacity_for, game_dtype

RULES: Final = "practice-table"
_LARGE_RULES: Final = "four-lives"
_SIZES: Final = (1, 64, 1024, 4096, 16384, 65536)
_LARGEST: Final = _SIZES[-1]
_SMALLEST_SHARED: Final = 4096
"""Smaller batches are not worth a second thread."""
_TABLES: Final = (3, 10, 26)
_TABLE_SIZES: Final = (2048, 4096, 16384)
"""Observations of 26 seats fill the caches eight times as fast as those of three: each has its best size."""
_MEASURED_GAMES: Final = 16384
_TRAINING: Final = 15
"""Training lasts so many times as long as other repetitions, for it takes turns between its parts."""
_IMPORT: Final = "from cuckoo_env import cuckoo_v0"
_EVALUATE: Final = ("evaluate", "robin", "robin", "alex", "--games", "10000")


def table(seats: int) -> str:
    """Rules that seat so many: the practice table is for three."""
    return f"{_LARGE_RULES},seats={seats}"


def contenders(settings: Settings) -> list[Contender]:
    """Everything of ours, by groups."""
    return [
        *_batches(settings),
        *_tables(settings),
        *_vectors(settings),
        *_singles(settings),
        *_beside_a_busy_core(settings),
        *_startups(),
        *_memory(),
        *_training(settings),
    ]


# -- Many games at once -----------------------------------------------------------------------------


def _batches(settings: Settings) -> list[Contender]:
    sizes = _SIZES[-2:] if settings.quick else _SIZES
    return [
        Contender(
            key=f"batch/3/{threads}/{games}",
            group="batch",
            family=f"Cuckoo batch engine, {RULES}, {_threads(threads)}",
            setting=_games(games),
            prepare=functools.partial(_batch, settings, RULES, threads, games),
        )
        for threads in sorted({1, 2, settings.cores})
        for games in sizes
        if threads == 1 or games >= _SMALLEST_SHARED
    ]


def _tables(settings: Settings) -> list[Contender]:
    return [
        Contender(
            key=f"table/{seats}/{games}",
            group="tables",
            family=f"Cuckoo batch engine, {_LARGE_RULES}, {seats} seats, {_threads(settings.cores)}",
            setting=_games(games),
            prepare=functools.partial(_batch, settings, table(seats), settings.cores, games),
        )
        for seats in _TABLES
        for games in _TABLE_SIZES
    ]


def _threads(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _games(games: int) -> str:
    return "1 game" if games == 1 else f"{games:,} games"


def _batch(settings: Settings, rules: str, threads: int, games: int, _: ExitStack) -> Repeat:
    return Loop(_batch_work(settings, rules, threads, games))


def _batch_work(settings: Settings, rules: str, threads: int, games: int) -> Any:
    """Steps of a batch, all seats played from outside: every game is one decision on."""
    batch = Batch(rules, games, seed=settings.seed, threads=threads)
    drawn, actions = rows(settings.seed, games), np.zeros(games, np.int8)
    turns = itertools.cycle(range(ROWS))

    def work(steps: int) -> int:
        for _ in range(steps):
            pick(batch.masks, drawn[next(turns)], actions, threads)
            batch.step(actions)
        return steps * games

    return work


# -- One learner against agents ---------------------------------------------------------------------


def _vectors(settings: Settings) -> list[Contender]:
    return [
        Contender(
            key=f"vector/copy={copy}",
            group="vector",
            family="Cuckoo Gymnasium vector environment, against Robin and Alex",
            setting=f"{_games(_LARGEST)}, {_threads(settings.cores)}, copy={copy}",
            prepare=functools.partial(_vector, settings, copy),
        )
        for copy in (True, False)
    ]


def _vector(settings: Settings, copy: bool, _: ExitStack) -> Repeat:
    envs = gymnasium.make_vec(
        "cuckoo_env/Cuckoo-v0", _LARGEST, rules=RULES, opponents=("robin", "alex"), copy=copy
    )
    drawn, actions = rows(settings.seed, _LARGEST), np.zeros(_LARGEST, np.int8)
    turns = itertools.cycle(range(ROWS))
    masks = envs.reset(seed=settings.seed)[1]["action_mask"]
    restarting = 0

    def work(steps: int) -> int:
        nonlocal masks, restarting
        decisions = 0
        for _ in range(steps):
            pick(masks, drawn[next(turns)], actions, settings.cores)
            _, _, terminations, truncations, infos = envs.step(actions)
            # An environment that starts its next game ignores the action: that is no decision.
            decisions += _LARGEST - restarting
            restarting = int(np.count_nonzero(terminations | truncations))
            masks = infos["action_mask"]
        return decisions

    return Loop(work)


# -- One game ---------------------------------------------------------------------------------------


def _singles(settings: Settings) -> list[Contender]:
    made = {"raw_env": cuckoo_v0.raw_env, "env": cuckoo_v0.env}
    environments = [
        Contender(
            key=f"{name}/{seats}",
            group="single",
            family=f"Cuckoo {name}(), {rules}",
            prepare=functools.partial(_aec, settings, make, rules),
        )
        for name, make in made.items()
        for seats, rules in {3: RULES, 10: table(10), 26: table(26)}.items()
    ]
    solo = Contender(
        key="solo",
        group="single",
        family="Cuckoo gymnasium.make(), against Robin and Alex",
        prepare=functools.partial(_solo, settings),
    )
    return [*environments, solo]


def _aec(settings: Settings, make: Any, rules: str, _: ExitStack) -> Repeat:
    return Loop(aec_work(make(rules), settings.seed, n_actions=None))


def aec_work(env: Any, seed: int, *, n_actions: int | None) -> Any:
    """Whole games of a PettingZoo environment, in the loop that PettingZoo documents.

    Args:
        env: the environment.
        seed: of the first game and of the choices.
        n_actions: where observations have no mask: so many actions, all legal.
    """
    draw, legal_for = draws(seed), LegalActions()
    always = None if n_actions is None else list(range(n_actions))
    env.reset(seed=seed)

    def work(decisions: int) -> int:
        done = 0
        while done < decisions:
            env.reset()
            for _ in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                    continue
                legal = always or legal_for[observation["action_mask"].tobytes()]
                env.step(legal[draw() % len(legal)])
                done += 1
        return done

    return work


def _solo(settings: Settings, _: ExitStack) -> Repeat:
    env = gymnasium.make("cuckoo_env/Cuckoo-v0", rules=RULES, opponents=("robin", "alex"))
    draw, legal_for = draws(settings.seed), LegalActions()
    env.reset(seed=settings.seed)

    def work(decisions: int) -> int:
        done = 0
        while done < decisions:
            info, over = env.reset()[1], False
            while not over:
                legal = legal_for[info["action_mask"].tobytes()]
                _, _, terminated, truncated, info = env.step(legal[draw() % len(legal)])
                over = terminated or truncated
                done += 1
        return done

    return Loop(work)


# -- Beside a busy core -----------------------------------------------------------------------------


def _beside_a_busy_core(settings: Settings) -> list[Contender]:
    return [
        Contender(
            key=f"busy/{key}",
            group="busy",
            family=f"Cuckoo batch engine, {RULES}, {_threads(settings.cores)}, {name}",
            setting=_games(_LARGEST),
            prepare=functools.partial(_beside, settings, key == "beside"),
        )
        for key, name in (("alone", "alone"), ("beside", "beside a busy core"))
    ]


def _beside(settings: Settings, is_busy: bool, stack: ExitStack) -> Repeat:
    work = _batch_work(settings, RULES, settings.cores, _LARGEST)
    if not is_busy:
        return Loop(work)
    spinner = _spinner(stack)

    @contextlib.contextmanager
    def spinning() -> Iterator[None]:
        spinner.send_signal(signal.SIGCONT)
        yield
        spinner.send_signal(signal.SIGSTOP)

    return Loop(work, around=spinning)


def _spinner(stack: ExitStack) -> subprocess.Popen[bytes]:
    """A process that keeps one core busy, stopped until it is told to go on."""
    code = "while True: pass"
    if hasattr(os, "sched_setaffinity"):
        code = f"import os\nos.sched_setaffinity(0, {{{max(os.sched_getaffinity(0))}}})\n{code}"
    spinner = subprocess.Popen([sys.executable, "-c", code])
    stack.callback(spinner.wait)
    stack.callback(spinner.kill)
    spinner.send_signal(signal.SIGSTOP)
    return spinner


# -- Starting ---------------------------------------------------------------------------------------


def _startups() -> list[Contender]:
    command = "import sys; from cuckoo_env.cli import main; sys.exit(main())"
    runs = {
        "python": ("python, nothing imported", ["-c", ""]),
        "import": ("python -c 'import cuckoo_env'", ["-c", "import cuckoo_env"]),
        "environment": (f"python -c '{_IMPORT}'", ["-c", _IMPORT]),
        "help": ("cuckoo --help", ["-c", command, "--help"]),
        "evaluate": (f"cuckoo {' '.join(_EVALUATE)}", ["-c", command, *_EVALUATE]),
    }
    return [
        Contender(
            key=f"start/{key}",
            group="start",
            family=name,
            setting="the whole process",
            unit="s",
            prepare=functools.partial(_start, arguments),
            repetitions=5,
        )
        for key, (name, arguments) in runs.items()
    ]


def _start(arguments: list[str], _: ExitStack) -> Repeat:
    def work(_: int) -> int:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return 1

    once = Loop(work, "s")
    return lambda _: once(0.0)


# -- Memory -----------------------------------------------------------------------------------------


def _memory() -> list[Contender]:
    return [
        Contender(
            key="memory/record",
            group="memory",
            family="Cuckoo, a game's record at 10 seats",
            unit="bytes",
            prepare=lambda _: lambda _: game_dtype(capacity_for(10), recording=False).itemsize,
            repetitions=1,
        ),
        Contender(
            key="memory/batch",
            group="memory",
            family="Cuckoo, a game at 10 seats in a batch: record, observation, mask and results",
            unit="bytes",
            prepare=lambda _: _bytes_a_game,
            repetitions=1,
        ),
    ]


def _bytes_a_game(_: float) -> float:
    """What a batch keeps, by Python's own account of memory."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    batch = Batch(table(10), _MEASURED_GAMES, seed=0)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return kept / len(batch)


# -- Training ---------------------------------------------------------------------------------------


def _training(settings: Settings) -> list[Contender]:
    return [
        Contender(
            key="training",
            group="training",
            family="Cuckoo, learning with stable-baselines3 PPO",
            setting="128×128, 3 epochs",
            prepare=_train,
            repetitions=1 if settings.quick else 3,
        )
    ]


def _train(_: ExitStack) -> Repeat:
    """Train in a process of its own, so that nothing else here competes for its threads."""
    for name in ("torch", "stable_baselines3"):
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(name=name)
    script = Path(__file__).with_name("train_speed.py")

    def repeat(seconds: float) -> float:
        run = subprocess.run(
            [sys.executable, str(script), "--seconds", str(seconds * _TRAINING)],
            check=True,
            stdout=subprocess.PIPE,
        )
        return float(json.loads(run.stdout)["decisions_per_second"])

    return repeat
