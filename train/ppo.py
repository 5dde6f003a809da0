"""PPO against given opponents: one learner, many games at once, stable-baselines3.

Schulman et al., "Proximal Policy Optimization Algorithms", 2017. The algorithm is
stable-baselines3's own; where rules make actions illegal it is MaskablePPO of sb3-contrib (Huang
and Ontañón, "A Closer Look at Invalid Action Masking in Policy Gradient Algorithms", 2022). What is
ours is the environment (:mod:`cuckoo_env.train.vec_env`), the settings below, and the loop
(:mod:`cuckoo_env.train.loop`), which drives it rollout by rollout.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from cuckoo_env.agents.policy import ACTIVATIONS, HIDDEN_ACCEPTED, Card, Policy, is_hidden
from cuckoo_env.train.checkpoint import (
    State,
    generators_state,
    network_state,
    optimizer_state,
    restore_generators,
    restore_network,
    restore_optimizer,
)
from cuckoo_env.train.loop import Algorithm
from cuckoo_env.train.networks import ACTIVATION_MODULES, weights_of
from cuckoo_env.train.task import RunArguments, Task, torch_device
from cuckoo_env.train.vec_env import SHAPINGS, CuckooVecEnv, Shaping, needs_masks

_FOREVER: Final = 2**62
"""Decisions: it is the loop that stops a run."""


@dataclass(frozen=True, kw_only=True)
class Arguments(RunArguments):
    """The settings of PPO. The defaults were found by measurement at the practice table.

    Attributes:
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

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """

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

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        super().__post_init__()
        for name in ("games", "rollout", "minibatches", "epochs"):
            self.check(name, getattr(self, name) >= 1, "a whole number from 1")
        parts = self.games * self.rollout
        self.check(
            "minibatches",
            parts % self.minibatches == 0 and parts > self.minibatches,
            f"a divisor of games times rollout ({parts:,}), and less than it",
        )
        self.check("hidden", is_hidden(self.hidden), HIDDEN_ACCEPTED)
        self.check("activation", self.activation in ACTIVATIONS, " or ".join(ACTIVATIONS))
        self.check("learning_rate", 0 < self.learning_rate < 1, "a number between 0 and 1")
        self.check("gae_lambda", 0 <= self.gae_lambda <= 1, "0 to 1")
        self.check("clip", 0 < self.clip < 1, "a number between 0 and 1")
        self.check("entropy", 0 <= self.entropy < 1, "0 to below 1")
        self.check("shaping", self.shaping in SHAPINGS, " or ".join(SHAPINGS))


class _Ours(OnPolicyAlgorithm):
    """What we change in stable-baselines3."""

    algorithm: str

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: Any = None) -> None:
        """Our infos are empty; to look into thousands of them at every step takes its time."""


class _OurPPO(_Ours, PPO):
    algorithm = "PPO"


class _OurMaskablePPO(_Ours, MaskablePPO):
    algorithm = "MaskablePPO"


class PPOLearner:
    """A :class:`~cuckoo_env.train.loop.Learner`: each update is a rollout, and what is learned from it.

    Attributes:
        algorithm: ``PPO``, or ``MaskablePPO`` where rules make actions illegal.
        task: the table.
        against: the opponents by name.
        env: the games.
        model: the algorithm of stable-baselines3.
    """

    def __init__(self, arguments: Arguments) -> None:
        """Make the games and the networks.

        Raises:
            ValueError: for rules, a seat, an opponent or a device that cannot be used, naming it.
        """
        self._arguments = arguments
        task = Task.of(arguments)
        self.task: Task | None = task
        self.against = task.against
        self.env = _env(arguments, task)
        self.model = _model(arguments, self.env)
        self.algorithm = self.model.algorithm
        self._logger = Logger(None, [])
        self.model.set_logger(self._logger)
        _, self._callback = self.model._setup_learn(_FOREVER, None)
        self._counted = self.env.finished, self.env.return_sum

    @property
    def steps(self) -> int:
        """The learner's decisions so far."""
        return self.model.num_timesteps

    def update(self, share: float) -> Mapping[str, float]:
        """Play a rollout and learn from it: see :class:`~cuckoo_env.train.loop.Learner`."""
        model = self.model
        model._current_progress_remaining = 1.0 - share
        model.collect_rollouts(self.env, self._callback, model.rollout_buffer, model.n_steps)
        model.train()
        numbers = {
            name.removeprefix("train/"): float(value)
            for name, value in self._logger.name_to_value.items()
        }
        self._logger.dump()  # forgets them
        return {"return": self._recent_return(), **numbers}

    def _recent_return(self) -> float:
        """What the learner took in the games that ended in the last rollout, in stakes a game."""
        games, total = self.env.finished, self.env.return_sum
        before = self._counted
        self._counted = games, total
        return (total - before[1]) / max(games - before[0], 1)

    def policy(self) -> Policy:
        """The policy part of the networks, as it is now."""
        network = [*self.model.policy.mlp_extractor.policy_net, self.model.policy.action_net]
        card = Card(
            rules=self.env.rules,
            layout=self.env.layout,
            hidden=self._arguments.hidden,
            activation=self._arguments.activation,
        )
        return Policy(card=card, weights=weights_of(network))

    def measure(self) -> Mapping[str, float]:
        """Nothing of its own: its table says how good it is."""
        return {}

    def state(self) -> State:
        """Networks, optimiser, generators and games. A rollout is used up when an update is over."""
        model = self.model
        starts = np.asarray(model._last_episode_starts)
        counters = {"steps": model.num_timesteps, "updates": model._n_updates}
        return State.join(
            {
                "networks": network_state(model.policy),
                "optimizer": optimizer_state(model.policy.optimizer),
                "generators": generators_state(),
                "games": self.env.state(),
                "rollout": State(arrays={"starts": starts}, values=counters),
            }
        )

    def restore(self, state: State) -> None:
        """Go on from a state: see :class:`~cuckoo_env.train.loop.Learner`."""
        model, rollout = self.model, state.part("rollout")
        restore_network(model.policy, state.part("networks"))
        restore_optimizer(model.policy.optimizer, state.part("optimizer"))
        model._last_obs = self.env.restore(state.part("games"))
        model._last_episode_starts = rollout.arrays["starts"]
        model.num_timesteps = rollout.values["steps"]
        model._n_updates = rollout.values["updates"]
        self._counted = self.env.finished, self.env.return_sum
        restore_generators(state.part("generators"))


def _env(arguments: Arguments, task: Task) -> CuckooVecEnv:
    """The games that the learner plays."""
    return CuckooVecEnv(
        task.rules,
        task.opponents,
        games=arguments.games,
        seat=task.seat,
        seed=arguments.seed,
        shaping=arguments.shaping,
    )


def _model(arguments: Arguments, env: CuckooVecEnv) -> _Ours:
    """The algorithm with its networks."""
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
            "activation_fn": ACTIVATION_MODULES[arguments.activation],
        },
        "seed": arguments.seed,
        "device": torch_device(arguments.device),
    }
    algorithm = _OurMaskablePPO if needs_masks(env.rules) else _OurPPO
    with warnings.catch_warnings():
        # Networks this small are faster on the CPU, which is the default; whoever asks for a GPU gets it.
        warnings.filterwarnings("ignore", message="You are trying to run", category=UserWarning)
        return algorithm("MlpPolicy", env, **settings)


ALGORITHM: Final = Algorithm(
    summary="PPO of stable-baselines3 against given opponents", arguments=Arguments, make=PPOLearner
)
