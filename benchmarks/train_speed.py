"""How fast training is, and where its time goes.

Counts the learner's decisions, each collected once and passed through the network ``epochs`` times, the
way ``cuckoo train`` does it, logs and learning curve left out. Warms up with one rollout.

    python benchmarks/train_speed.py --seconds 15
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from cuckoo_env.compiled import available_cores
from cuckoo_env.train.ppo import Arguments, PPOLearner


def timed(function: Callable[..., Any], clock: dict[str, float], name: str) -> Callable[..., Any]:
    """The function, adding what it takes to the clock."""

    def run(*args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            clock[name] += time.perf_counter() - began

    return run


def measure(seconds: float, threads: int) -> dict[str, float]:
    """Train for so long: decisions a second, and the share of the time that each part takes."""
    torch.set_num_threads(threads)
    learner = PPOLearner(Arguments(minutes=1))
    env, model = learner.env, learner.model
    learner.update(0.0)
    clock = dict.fromkeys(("environment", "rollout", "update"), 0.0)
    env.step_wait = timed(env.step_wait, clock, "environment")  # type: ignore[method-assign]
    model.collect_rollouts = timed(model.collect_rollouts, clock, "rollout")  # type: ignore[method-assign]
    model.train = timed(model.train, clock, "update")  # type: ignore[method-assign]
    began, before = time.perf_counter(), learner.steps
    busy = time.process_time()
    end = began + seconds
    while time.perf_counter() < end:
        learner.update(0.0)
    took, steps = time.perf_counter() - began, learner.steps - before
    return {
        "decisions_per_second": round(steps / took),
        "decisions_per_core_second": round(steps / (time.process_time() - busy)),
        "environment": round(clock["environment"] / took, 3),
        "rollout_without_environment": round((clock["rollout"] - clock["environment"]) / took, 3),
        "update": round(clock["update"] / took, 3),
    }


def environment_alone(seconds: float) -> int:
    """Decisions a second of the environment, the learner choosing at random."""
    env = PPOLearner(Arguments(minutes=1)).env
    env.reset()
    choices = np.random.default_rng(0).integers(0, 2, (64, env.num_envs))
    began, steps = time.perf_counter(), 0
    while time.perf_counter() < began + seconds:
        env.step(choices[steps % 64])
        steps += 1
    return round(steps * env.num_envs / (time.perf_counter() - began))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=min(available_cores(), 8))
    options = parser.parse_args()
    result: dict[str, Any] = {
        "threads": options.threads,
        **measure(options.seconds, options.threads),
    }
    result["environment_alone_per_second"] = environment_alone(min(options.seconds, 3.0))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
