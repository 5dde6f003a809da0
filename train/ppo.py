"""PPO against given opponents: one learner, many games at once, stable-baselines3.

Schulman et al., "Proximal Policy Optimization Algorithms", 2017. The algorithm is
stable-baselines3's own; where rules make actions illegal it is MaskablePPO of sb3-contrib (Huang
and Ontañón, "A Closer Look at Invalid Action Masking in Policy Gradient Algorithms", 2022). What is
ours is the environment (:mod:`cuckoo_env.train.vec_env`), the settings below, and the bookkeeping.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib.metadata
import io
import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import CSVOutputFormat, Logger, TensorBoardOutputFormat
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from cuckoo_env.agents import Agent, fill
from cuckoo_env.agents.policy import (
    ACTIVATIONS,
    HIDDEN_ACCEPTED,
    Card,
    Policy,
    PolicyAgent,
    is_hidden,
)
from cuckoo_env.compiled import available_cores
from cuckoo_env.evaluate import arena
from cuckoo_env.files import write_text
from cuckoo_env.learner import parse_seat
from cuckoo_env.rules import Rules
from cuckoo_env.train.runs import RunFolder
from cuckoo_env.train.vec_env import SHAPINGS, CuckooVecEnv, Shaping, needs_masks

_FOREVER: Final = 2**62
"""Decisions, for a run that the clock stops."""
_MOST_THREADS: Final = 8
"""Networks this small are no faster with more."""
CURVE_NAME: Final = "learning_curve.csv"
_ACTIVATIONS: Final = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What a run is asked to do. The defaults were found by measurement at the practice table.

    Attributes:
        rules: the rule set, such as ``practice-table`` or ``standard,seats=5``.
        seat: the learner's seat, or ``all`` for every seat in turn.
        against: the opponents in ascending order of seats, taken again from the first if they are
            few.
        minutes: how long to train by the clock; give this or ``steps``.
        steps: how many of the learner's decisions to train for, rounded up to whole rollouts: on
            one machine the same seed gives the same policy.
        seed: starts the games, the network and the choices.
        games: games played side by side.
        rollout: decisions in each game between two updates.
        minibatches: parts of a rollout, each of them one gradient step.
        epochs: passes over the rollout in an update.
        hidden: units of each hidden layer, of the policy and of the value network.
        activation: ``relu``, or ``tanh``, which takes nearly twice the time.
        learning_rate: at the start; it falls in a straight line to zero.
        gae_lambda: how far an action is credited with what comes later: 1 to the end of the game.
        clip: how far an update may move the chance of an action.
        entropy: what is paid for staying undecided.
        shaping: ``lives`` pays changes of the learner's share of all lives at once, ``none`` only
            the return at the end of a game; both have the same best policy.
        curve_points: points of the learning curve, closer together at the start.
        curve_games: games played for each.

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """

    rules: str = "practice-table"
    seat: str = "0"
    against: str = "robin,alex"
    minutes: float | None = None
    steps: int | None = None
    seed: int = 0
    games: int = 2048
    rollout: int = 16
    minibatches: int = 8
    epochs: int = 3
    hidden: tuple[int, ...] = (128, 128)
    activation: str = "relu"
    learning_rate: float = 2e-3
    gae_lambda: float = 0.9
    clip: float = 0.2
    entropy: float = 0.0
    shaping: Shaping = "lives"
    curve_points: int = 12
    curve_games: int = 20_000

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if (self.minutes is None) == (self.steps is None):
            raise ValueError(
                "minutes, steps: both together, or neither, are refused; accepted: one of them"
            )
        self._check(
            "minutes", self.minutes is None or 0 < self.minutes < math.inf, "a number above 0"
        )
        self._check("steps", self.steps is None or self.steps >= 1, "a whole number from 1")
        self._check("seed", 0 <= self.seed < 2**32, "0 to 4294967295")
        for name in ("games", "rollout", "minibatches", "epochs", "curve_games"):
            self._check(name, getattr(self, name) >= 1, "a whole number from 1")
        self._check("curve_points", self.curve_points >= 2, "a whole number from 2")
        parts = self.games * self.rollout
        self._check(
            "minibatches",
            parts % self.minibatches == 0 and parts > self.minibatches,
            f"a divisor of games times rollout ({parts:,}), and less than it",
        )
        self._check("hidden", is_hidden(self.hidden), HIDDEN_ACCEPTED)
        self._check("activation", self.activation in ACTIVATIONS, " or ".join(ACTIVATIONS))
        self._check("shaping", self.shaping in SHAPINGS, " or ".join(SHAPINGS))

    def _check(self, name: str, good: bool, accepted: str) -> None:
        if not good:
            raise ValueError(f"{name}: {getattr(self, name)} is refused; accepted: {accepted}")


@dataclass(frozen=True, kw_only=True)
class Task:
    """What the arguments name: the rules, the seats and the opponents.

    Attributes:
        rules: the rule set.
        seat: the learner's seat; None for all in turn.
        opponents: who plays the other seats, in ascending order of seats.
    """

    rules: Rules
    seat: int | None
    opponents: list[Agent]

    @classmethod
    def of(cls, arguments: Arguments) -> Task:
        """Look up what the arguments name.

        Raises:
            ValueError: for rules, a seat or an opponent that cannot be used, naming it.
        """
        rules = Rules.parse(arguments.rules)
        seat = parse_seat(arguments.seat, rules)
        return cls(rules=rules, seat=seat, opponents=fill(arguments.against, rules, seat))

    def lineups(self, agent: Agent) -> list[list[Agent]]:
        """The agent among the opponents, once for each seat it is to play."""
        seats = range(self.rules.seats) if self.seat is None else [self.seat]
        return [[*self.opponents[:seat], agent, *self.opponents[seat:]] for seat in seats]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of the learning curve.

    Attributes:
        steps: the learner's decisions so far.
        seconds: since the start.
        win_share: of sampled games, averaged over the learner's seats.
        win_share_se: its standard error.
    """

    steps: int
    seconds: float
    win_share: float
    win_share_se: float


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        share: done, from 0 to 1.
        steps: the learner's decisions so far.
        seconds: since the start.
        rate: the learner's decisions a second, the time for the learning curve left out.
        recent_return: what the learner took in the games of the last rollout, in stakes a game.
        point: the latest point of the learning curve.
    """

    share: float
    steps: int
    seconds: float
    rate: float
    recent_return: float
    point: Point


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to.

    Attributes:
        policy: the policy it learned.
        curve: its learning curve.
        steps: the learner's decisions.
        seconds: it took, the learning curve included.
        rate: the learner's decisions a second, the time for the learning curve left out.
        interrupted: whether it was stopped before its time.
    """

    policy: Policy
    curve: tuple[Point, ...]
    steps: int
    seconds: float
    rate: float
    interrupted: bool


def train(
    arguments: Arguments,
    task: Task,
    folder: RunFolder,
    *,
    command: str,
    watch: Callable[[Progress], object],
) -> Outcome:
    """Learn, and leave policy, card, logs and learning curve in the run folder.

    Args:
        arguments: what to do.
        task: what they name.
        folder: where to; the caller finishes it.
        command: what the user typed, for the card.
        watch: told after every rollout how far the run is.

    Raises:
        RunError: if the folder cannot be written.
    """
    folder.begin({"command": command, "arguments": dataclasses.asdict(arguments)})
    torch.set_num_threads(min(available_cores(), _MOST_THREADS))
    env = make_env(arguments, task)
    model = make_model(arguments, env)
    logger = _logger(folder.work)
    model.set_logger(logger)
    diary = _Diary(arguments, task, env, folder.work, watch)
    try:
        interrupted = _learn(model, arguments, diary)
        diary.close(model)
    finally:
        logger.close()
    training = {
        "algorithm": model.algorithm,
        "command": command,
        "seat": arguments.seat,
        "against": [agent.name for agent in task.opponents],
        "seed": arguments.seed,
        "steps": model.num_timesteps,
        "seconds": round(diary.seconds, 1),
        "interrupted": interrupted,
        "machine": machine_class(),
        "versions": versions(),
        "learning_curve": [dataclasses.asdict(point) for point in diary.curve],
    }
    policy = _policy(arguments, task, env, model, training)
    policy.save(folder.work)
    return Outcome(
        policy=policy,
        curve=tuple(diary.curve),
        steps=model.num_timesteps,
        seconds=diary.seconds,
        rate=diary.rate,
        interrupted=interrupted,
    )


def _learn(model: OnPolicyAlgorithm, arguments: Arguments, diary: BaseCallback) -> bool:
    """Learn until the run is done; whether it was interrupted, and keeps what it learned so far."""
    try:
        model.learn(arguments.steps or _FOREVER, callback=diary)
    except KeyboardInterrupt:
        return True
    return False


class _Paced(OnPolicyAlgorithm):
    """What we change in stable-baselines3: the learning rate falls with our measure of progress."""

    algorithm: str
    pace: Callable[[], float]

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = max(0.0, 1.0 - self.pace())

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: Any = None) -> None:
        """Our infos are empty; to look into thousands of them at every step takes its time."""


class _PacedPPO(_Paced, PPO):
    algorithm = "PPO"


class _PacedMaskablePPO(_Paced, MaskablePPO):
    algorithm = "MaskablePPO"


def make_env(arguments: Arguments, task: Task) -> CuckooVecEnv:
    """The games that the learner plays."""
    return CuckooVecEnv(
        task.rules,
        task.opponents,
        games=arguments.games,
        seat=task.seat,
        seed=arguments.seed,
        shaping=arguments.shaping,
    )


def make_model(arguments: Arguments, env: CuckooVecEnv) -> _Paced:
    """The algorithm with its networks; ``pace`` must be set before it learns."""
    units = list(arguments.hidden)
    settings: dict[str, Any] = {
        "n_steps": arguments.rollout,
        "batch_size": arguments.games * arguments.rollout // arguments.minibatches,
        "n_epochs": arguments.epochs,
        "gamma": 1.0,  # a life lost late is a life lost
        "gae_lambda": arguments.gae_lambda,
        "learning_rate": lambda remaining: arguments.learning_rate * remaining,
        "clip_range": arguments.clip,
        "ent_coef": arguments.entropy,
        "policy_kwargs": {
            "net_arch": {"pi": units, "vf": units},
            "activation_fn": _ACTIVATIONS[arguments.activation],
        },
        "seed": arguments.seed,
        "device": "cpu",
    }
    algorithm = _PacedMaskablePPO if needs_masks(env.rules) else _PacedPPO
    return algorithm("MlpPolicy", env, **settings)


def _policy(
    arguments: Arguments,
    task: Task,
    env: CuckooVecEnv,
    model: OnPolicyAlgorithm,
    training: dict[str, Any],
) -> Policy:
    """The policy part of the model, as it is now."""
    network = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    layers = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    weights = {}
    for k, layer in enumerate(layers):
        weights[f"{k}.weight"] = layer.weight.numpy(force=True).copy()
        weights[f"{k}.bias"] = layer.bias.numpy(force=True).copy()
    card = Card(
        rules=task.rules,
        layout=env.layout,
        hidden=arguments.hidden,
        activation=arguments.activation,
        training=training,
    )
    return Policy(card=card, weights=weights)


class _Diary(BaseCallback):
    """Stops the run when it is done, and keeps its learning curve."""

    def __init__(
        self,
        arguments: Arguments,
        task: Task,
        env: CuckooVecEnv,
        folder: Path,
        watch: Callable[[Progress], object],
    ) -> None:
        super().__init__()
        self.curve: list[Point] = []
        self._arguments, self._task, self._env = arguments, task, env
        self._path, self._watch = folder / CURVE_NAME, watch
        self._start = time.monotonic()
        self._measuring = 0.0
        self._counted = (0, 0.0)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._start

    @property
    def rate(self) -> float:
        """The learner's decisions a second, the time for the learning curve left out."""
        return self.num_timesteps / max(self.seconds - self._measuring, 1e-9)

    def share(self) -> float:
        """How much of the run is done, from 0 to 1."""
        if self._arguments.steps is not None:
            return min(1.0, self.num_timesteps / self._arguments.steps)
        return min(1.0, self.seconds / (60 * float(self._arguments.minutes or 0)))

    def _on_training_start(self) -> None:
        model = cast(_Paced, self.model)
        model.pace = self.share
        # The first point also compiles what is not compiled yet, so the clock starts after it.
        self._add_point(model)
        self._start, self._measuring = time.monotonic(), 0.0

    def _on_rollout_start(self) -> None:
        # Points lie at shares 0, (1/n)², (2/n)², …, 1: most is learned at the start. The last one
        # is of the policy that is kept.
        last = self._arguments.curve_points - 1
        if len(self.curve) < last and self.share() >= (len(self.curve) / last) ** 2:
            self._add_point(cast(_Paced, self.model))

    def _on_step(self) -> bool:
        return self._arguments.steps is not None or self.share() < 1

    def _on_rollout_end(self) -> None:
        games, total = self._env.finished, self._env.return_sum
        recent = (total - self._counted[1]) / max(games - self._counted[0], 1)
        self._counted = games, total
        self.logger.record("rollout/return", recent)
        self._watch(
            Progress(
                share=self.share(),
                steps=self.num_timesteps,
                seconds=self.seconds,
                rate=self.rate,
                recent_return=recent,
                point=self.curve[-1],
            )
        )

    def close(self, model: OnPolicyAlgorithm) -> None:
        """Add the last point, of the policy that is kept."""
        self._add_point(model)
        model.logger.dump(model.num_timesteps)

    def _add_point(self, model: OnPolicyAlgorithm) -> None:
        """Let the policy of now play, always the same games."""
        began = time.monotonic()
        policy = _policy(self._arguments, self._task, self._env, model, {})
        agent = PolicyAgent.of(policy, "policy:learning")
        share, error = sampled_win_share(
            self._task, agent, self._arguments.curve_games, self._arguments.seed
        )
        self._measuring += time.monotonic() - began
        point = Point(
            steps=model.num_timesteps,
            seconds=round(began - self._start, 2),
            win_share=share,
            win_share_se=error,
        )
        self.curve.append(point)
        model.logger.record("curve/win_share", share)
        model.logger.record("curve/win_share_se", error)
        write_text(self._path, _curve_text(self.curve))


def sampled_win_share(task: Task, agent: Agent, games: int, seed: int) -> tuple[float, float]:
    """The agent's win share in the learner's seats, and its standard error."""
    lineups = task.lineups(agent)
    results = [
        arena.play(task.rules, lineup, math.ceil(games / len(lineups)), seed) for lineup in lineups
    ]
    seats = range(task.rules.seats) if task.seat is None else [task.seat]
    shares = [float(result.win_share[seat]) for result, seat in zip(results, seats, strict=True)]
    errors = [float(result.win_share_se[seat]) for result, seat in zip(results, seats, strict=True)]
    return sum(shares) / len(shares), math.hypot(*errors) / len(errors)


def _curve_text(curve: list[Point]) -> str:
    """The learning curve as comma-separated values."""
    text = io.StringIO()
    table = csv.DictWriter(
        text, [field.name for field in dataclasses.fields(Point)], lineterminator="\n"
    )
    table.writeheader()
    table.writerows(dataclasses.asdict(point) for point in curve)
    return text.getvalue()


def _logger(folder: Path) -> Logger:
    """Numbers of every rollout, as comma-separated values and for TensorBoard."""
    outputs = [
        CSVOutputFormat(str(folder / "progress.csv")),
        TensorBoardOutputFormat(str(folder / "tensorboard")),
    ]
    return Logger(str(folder), outputs)


def versions() -> dict[str, str]:
    """What a run depends on, and in which version."""
    packages = ("cuckoo-env", "numba", "numpy", "sb3-contrib", "stable-baselines3", "torch")
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def machine_class() -> str:
    """The kind of machine, without its name."""
    return f"{platform.system()} {platform.machine()}, {available_cores()} cores"
