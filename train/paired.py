"""Paired rollouts: every decision is taken both ways, from the same state and with the same cards.

The noise of a game of chance is what makes it hard to learn: between the worst and the best
choice often lies a hundredth of a stake, while a game wins or loses a whole one. So this algorithm
never compares one game with another. At every decision of the learner it

1. copies the game once for each legal action, hidden cards, stock and generators included;
2. lets every copy take its action, and plays it to the end of the *round*: with the same luck;
3. takes for each copy its return, where the game is over, or else what the learner expects from the
   lives and the dealer that the next round begins with;
4. lets a network learn what each action was worth beside the others (regression), and a second,
   small one what a position between rounds is worth (temporal differences, Sutton 1988);
5. goes on with the copy of an action drawn from the policy, which prefers what looks better:
   the softmax of the network's outputs divided by a falling temperature.

Opponents are black boxes that are asked for actions in sampled games, nothing else. What is played
against them is approximate policy iteration by rollouts (Lagoudakis and Parr, "Reinforcement
learning as classification", 2003) with common random numbers; the round as the horizon is ours.
Against fixed opponents the policy tends to a best response. Among copies of itself
(:mod:`cuckoo_env.train.selfplay`) it tends to a quantal response equilibrium of that temperature.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch

from cuckoo_env.agents.policy import ACTIVATIONS, HIDDEN_ACCEPTED, Card, Covers, Policy, is_hidden
from cuckoo_env.autoplay import sample
from cuckoo_env.batch import LEAVE, RESTART
from cuckoo_env.learner import ALL_SEATS, Learners
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules
from cuckoo_env.train.checkpoint import (
    State,
    games_state,
    network_state,
    optimizer_state,
    restore_games,
    restore_network,
    restore_optimizer,
)
from cuckoo_env.train.loop import Algorithm
from cuckoo_env.train.networks import ACTIVATION_MODULES, weights_of
from cuckoo_env.train.task import RunArguments, Task, torch_device

Floats = npt.NDArray[np.float32]
Horizon = Literal["round", "game"]
Luck = Literal["same", "fresh"]

HORIZONS: Final = get_args(Horizon)
LUCKS: Final = get_args(Luck)
_PUBLIC: Final = (
    "lives", "in_play", "dealer", "rounds_left", "carried", "rule_choices", "rule_numbers",
)  # fmt: skip
"""Fields of the observation that tell where a match stands between two rounds."""
_NEVER: Final = -1
_COLDEST, _HOTTEST = 1e-6, 1e3
"""Temperatures: the policy's weights are divided by them, and float32 must have room for that."""


@dataclass(frozen=True, kw_only=True)
class Arguments(RunArguments):
    """The settings of paired rollouts. The defaults were found by measurement at the practice table.

    Attributes:
        games: games played side by side; each gives one decision to an update.
        minibatches: parts of an update's decisions, each of them one gradient step.
        hidden: units of each hidden layer of the policy.
        value_hidden: units of each hidden layer of the network that values positions.
        activation: ``relu``, or ``tanh``.
        learning_rate: at the start; it falls in a straight line to zero.
        temperature: of the policy at the start, in stakes: actions whose worth differs by so much
            are chosen in a ratio of 1 to e.
        last_temperature: at the end; it falls evenly in its logarithm.
        exploration: how often the game goes on with an action at random.
        averaging: the policy that is kept is a moving average of the network's weights; this is what
            a step leaves of the earlier ones.
        horizon: ``round`` values the position after the round, ``game`` plays every copy to the end.
        luck: the ``same`` in all copies, also after the decision, or ``fresh`` cards and choices in
            each.

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """

    games: int = 4096
    minibatches: int = 4
    hidden: tuple[int, ...] = (128, 128)
    value_hidden: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    learning_rate: float = 2e-3
    temperature: float = 0.01
    last_temperature: float = 0.001
    exploration: float = 0.02
    averaging: float = 0.998
    horizon: Horizon = "round"
    luck: Luck = "same"

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        super().__post_init__()
        for name in ("games", "minibatches"):
            self.check(name, getattr(self, name) >= 1, "a whole number from 1")
        self.check("minibatches", self.minibatches <= self.games, f"at most games ({self.games:,})")
        for name in ("hidden", "value_hidden"):
            self.check(name, is_hidden(getattr(self, name)), HIDDEN_ACCEPTED)
        self.check("activation", self.activation in ACTIVATIONS, " or ".join(ACTIVATIONS))
        self.check("learning_rate", 0 < self.learning_rate < 1, "a number between 0 and 1")
        for name in ("temperature", "last_temperature"):
            good = _COLDEST <= getattr(self, name) <= _HOTTEST
            self.check(name, good, f"{_COLDEST:f} to {_HOTTEST:g}")
        for name in ("exploration", "averaging"):
            self.check(name, 0 <= getattr(self, name) < 1, "0 to below 1")
        self.check("horizon", self.horizon in HORIZONS, " or ".join(HORIZONS))
        self.check("luck", self.luck in LUCKS, " or ".join(LUCKS))

    def temperature_at(self, share: float) -> float:
        """The policy's temperature when so much of the run is done."""
        return float(self.temperature ** (1 - share) * self.last_temperature**share)


def network(sizes: Sequence[int], activation: str) -> torch.nn.Sequential:
    """A plain network of linear layers with an activation between them."""
    layers: list[torch.nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(inputs, outputs), ACTIVATION_MODULES[activation]()]
    return torch.nn.Sequential(*layers[:-1])


class Networks:
    """What is learned: a network that compares actions, one that values positions, and their averages.

    Attributes:
        layout: the layout of the observations.
        worth: its outputs are what each action is worth, in stakes, up to a sum that all share.
        kept: a moving average of it, for the policy that is kept.
        temperature: of the policy.
    """

    def __init__(self, arguments: Arguments, layout: Layout) -> None:
        """Make the networks, from the seed alone."""
        self._arguments = arguments
        self.layout = layout
        self.temperature = arguments.temperature
        self._device = torch_device(arguments.device)
        self._public = _columns(layout)
        with torch.random.fork_rng():
            torch.manual_seed(arguments.seed)
            sizes = (layout.size, *arguments.hidden, layout.n_actions)
            self.worth = network(sizes, arguments.activation).to(self._device)
            sizes = (len(self._public), *arguments.value_hidden, 1)
            self._value = network(sizes, "relu").to(self._device)
        self.kept, self._steady = copy.deepcopy(self.worth), copy.deepcopy(self._value)
        parameters = [*self.worth.parameters(), *self._value.parameters()]
        # Not fused: the numbers must not depend on how many there are at once.
        self._optimizer = torch.optim.Adam(parameters, lr=arguments.learning_rate)

    def chances(self, observations: Floats, masks: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
        """The policy of now: (n, n_actions) for (n, layout.size) observations."""
        with torch.inference_mode():
            worth = self.worth(self._tensor(observations)).cpu().numpy().astype(np.float64)
        logits = np.where(masks != 0, worth / self.temperature, -np.inf)
        logits -= logits.max(axis=1, keepdims=True)
        chances: npt.NDArray[np.float64] = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def values(self, observations: Floats) -> Floats:
        """What the positions that observations show are worth to who sees them, in stakes: (n,)."""
        with torch.inference_mode():
            values: Floats = self._steady(self._tensor(observations[:, self._public])).cpu().numpy()
        return values[:, 0]

    def learn(
        self,
        observations: Floats,
        masks: npt.NDArray[np.int8],
        worth: Floats,
        values: Floats,
        firsts: npt.NDArray[np.bool_],
        order: npt.NDArray[np.intp],
        rate: float,
    ) -> tuple[float, float]:
        """Learn from decisions.

        Args:
            observations: (n, layout.size), what was seen.
            masks: (n, n_actions), what could be done.
            worth: (n, n_actions), what each action brought.
            values: (n,), what the policy could expect.
            firsts: (n,), whether it was the first decision of a round: these tell what positions are worth.
            order: (n,), the order in which they are learned from.
            rate: the learning rate.

        Returns:
            The mean squared errors of the two networks, before they learned.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        legal, seen = self._tensor(masks.astype(np.float32)), self._tensor(observations)
        counts = legal.sum(1, keepdim=True)
        aims, firsts_too = self._tensor(worth), self._tensor(firsts.astype(np.float32))
        aims = aims - (aims * legal).sum(1, keepdim=True) / counts
        public, expected = self._tensor(observations[:, self._public]), self._tensor(values)
        errors = torch.zeros(2)
        parts = self._arguments.minibatches
        for k in range(parts):
            rows = torch.from_numpy(order[k::parts]).to(self._device)
            outputs, can = self.worth(seen[rows]), legal[rows]
            outputs = outputs - (outputs * can).sum(1, keepdim=True) / counts[rows]
            worth_error = (((outputs - aims[rows]) * can) ** 2).sum(1).mean()
            off = self._value(public[rows])[:, 0] - expected[rows]
            value_error = (off**2 * firsts_too[rows]).mean()
            self._optimizer.zero_grad()
            (worth_error + value_error).backward()
            self._optimizer.step()
            errors += torch.stack([worth_error, value_error]).detach().cpu()
            _follow(self.kept, self.worth, self._arguments.averaging)
        _follow(self._steady, self._value, _VALUE_AVERAGING)
        return float(errors[0]) / parts, float(errors[1]) / parts

    def policy(self, rules: Rules, covers: Covers | None = None) -> Policy:
        """The averaged network as a policy, with the temperature of now."""
        weights = weights_of(self.kept, 1.0 / self.temperature)
        card = Card(
            rules=rules,
            layout=self.layout,
            hidden=self._arguments.hidden,
            activation=self._arguments.activation,
            covers=covers,
        )
        return Policy(card=card, weights=weights)

    def _tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def state(self) -> State:
        """All weights, and what the optimiser remembers."""
        parts = {name: network_state(each) for name, each in self._networks().items()}
        parts["optimizer"] = optimizer_state(self._optimizer)
        parts["temperature"] = State(values={"now": self.temperature})
        return State.join(parts)

    def restore(self, state: State) -> None:
        """Go on from a state that :meth:`state` gave."""
        for name, each in self._networks().items():
            restore_network(each, state.part(name))
        restore_optimizer(self._optimizer, state.part("optimizer"))
        self.temperature = state.part("temperature").values["now"]

    def _networks(self) -> dict[str, torch.nn.Module]:
        return {
            "worth": self.worth, "kept": self.kept, "value": self._value, "steady": self._steady,
        }  # fmt: skip


_VALUE_AVERAGING: Final = 0.9
"""The values that rollouts are told by move slowly, or errors would chase each other."""


def _follow(slow: torch.nn.Module, fast: torch.nn.Module, kept: float) -> None:
    """Move a network's weights towards another's."""
    with torch.no_grad():
        for mine, other in zip(slow.parameters(), fast.parameters(), strict=True):
            mine.lerp_(other, 1.0 - kept)


def _columns(layout: Layout) -> npt.NDArray[np.intp]:
    """Where an observation tells what is public between rounds."""
    slices = [layout.slices[name] for name in _PUBLIC if name in layout.slices]
    return np.concatenate([np.arange(each.start, each.stop) for each in slices])


class PairedRollouts:
    """A :class:`~cuckoo_env.train.loop.Learner`: each update takes one decision in every game, all ways.

    Attributes:
        algorithm: its name.
        task: the table at which it is measured.
        against: whom it learns against, by name.
        networks: what it has learned.
    """

    algorithm: str = "paired rollouts"

    def __init__(
        self,
        arguments: Arguments,
        task: Task | None,
        games: Learners,
        networks: Networks,
        *,
        against: Sequence[str],
    ) -> None:
        """Learn in given games.

        Args:
            arguments: the settings.
            task: the table at which the policy is measured; None where it measures itself.
            games: where it learns.
            networks: what it learns with.
            against: who else sits in the games, by name.
        """
        self._arguments = arguments
        self.task = task
        self.against = against
        self._games = games
        self.networks = networks
        self._rng = np.random.default_rng([arguments.seed, _CHOICES])
        self._round = np.full(len(games), _NEVER, np.int32)
        self._steps = 0
        self._ended, self._taken = 0, 0.0

    @property
    def steps(self) -> int:
        """The learner's decisions so far."""
        return self._steps

    def update(self, share: float) -> Mapping[str, float]:
        """Take a decision in every game, all ways, and learn: see :class:`~cuckoo_env.train.loop.Learner`."""
        self._ended, self._taken = 0, 0.0
        games, arguments = self._games, self._arguments
        self.networks.temperature = arguments.temperature_at(share)
        observations, masks = games.observations, games.masks
        firsts, self._round = games.rounds != self._round, games.rounds
        chances = self.networks.chances(observations, masks)
        rows, actions = np.nonzero(masks)
        copies = games.fork(rows)
        if arguments.luck == "fresh":
            copies.reseed(
                np.arange(len(rows)), self._rng.integers(2**63, size=len(rows), dtype=np.uint64)
            )
        copies.step(actions.astype(np.int8))
        number = np.zeros(masks.shape, np.intp)
        number[rows, actions] = np.arange(len(rows))
        self._games = copies.fork(number[np.arange(len(games)), self._choose(chances, masks)])
        worth = self._outcomes(copies, rows)[number] * (masks != 0)
        values = (chances * worth).sum(axis=1).astype(np.float32)
        errors = self.networks.learn(
            observations, masks, worth, values, firsts,
            self._rng.permutation(len(games)), arguments.learning_rate * (1.0 - share),
        )  # fmt: skip
        self._steps += len(games)
        self._begin_again()
        return {
            "return": self._taken / max(self._ended, 1),
            "error": errors[0],
            "value_error": errors[1],
            "temperature": self.networks.temperature,
        }

    def _choose(
        self, chances: npt.NDArray[np.float64], masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """An action a row from the policy, now and then any legal one."""
        any_legal = masks / masks.sum(axis=1, keepdims=True)
        explored = self._arguments.exploration
        mixed = (1.0 - explored) * chances + explored * any_legal
        return sample(mixed, self._rng.random(len(masks)))

    def _outcomes(self, copies: Learners, rows: npt.NDArray[np.intp]) -> Floats:
        """What each copy comes to, in stakes, played on by the policy up to the horizon.

        Args:
            copies: of the games, after an action in each.
            rows: (n,) the game that each is a copy of.
        """
        to_the_end, begun = self._arguments.horizon == "game", self._round[rows]
        while True:
            going = ~copies.over & (to_the_end | (copies.rounds == begun))
            if not going.any():
                break
            copies.step(self._replies(copies, np.flatnonzero(going), rows))
        stakes = self._stakes(copies)
        outcomes: Floats = np.where(
            copies.over, copies.payouts() / stakes, self.networks.values(copies.observations)
        ).astype(np.float32)
        return outcomes

    def _replies(
        self, copies: Learners, going: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int8]:
        """The policy's actions in some copies; LEAVE in the others."""
        replies = np.full(len(copies), LEAVE, np.int8)
        chances = self.networks.chances(copies.observations[going], copies.masks[going])
        if self._arguments.luck == "same":  # also in what it draws itself
            luck = self._rng.random(len(self._round))[rows[going]]
        else:
            luck = self._rng.random(len(going))
        replies[going] = sample(chances, luck)
        return replies

    def _stakes(self, games: Learners) -> npt.NDArray[np.float64]:
        """The stake of each game."""
        return np.array([rules.stake for rules in games.rules])[games.rules_of_game]

    def _begin_again(self) -> None:
        """Start a new game where one is over."""
        games = self._games
        over = games.over
        self._note(np.flatnonzero(over), (games.payouts() / self._stakes(games))[over])
        games.step(np.where(over, RESTART, LEAVE).astype(np.int8))
        self._round = np.where(over, _NEVER, self._round).astype(np.int32)

    def _note(self, games: npt.NDArray[np.intp], taken: npt.NDArray[np.float64]) -> None:
        """Remember what was taken, in stakes, in the games that are over."""
        self._ended += len(games)
        self._taken += float(taken.sum())

    def policy(self) -> Policy:
        """The policy as it is now: see :class:`~cuckoo_env.train.loop.Learner`."""
        return self.networks.policy(self._games.rules[0])

    def measure(self) -> Mapping[str, float]:
        """Nothing of its own: its table says how good it is."""
        return {}

    def state(self) -> State:
        """Networks, games and generator: see :class:`~cuckoo_env.train.loop.Learner`."""
        values = {"steps": self._steps, "rng": json.dumps(self._rng.bit_generator.state)}
        return State.join(
            {
                "networks": self.networks.state(),
                "games": games_state(self._games),
                "rollouts": State(arrays={"round": self._round}, values=values),
            }
        )

    def restore(self, state: State) -> None:
        """Go on from a state: see :class:`~cuckoo_env.train.loop.Learner`."""
        self.networks.restore(state.part("networks"))
        restore_games(self._games, state.part("games"))
        rollouts = state.part("rollouts")
        self._round = rollouts.arrays["round"].copy()
        self._steps = rollouts.values["steps"]
        self._rng.bit_generator.state = json.loads(rollouts.values["rng"])


_CHOICES: Final = 1
"""Tells the learner's generator apart from others of the same seed."""


def _make(arguments: Arguments) -> PairedRollouts:
    """A learner at the table that the arguments name."""
    task = Task.of(arguments)
    seat = ALL_SEATS if task.seat is None else task.seat
    games = Learners(task.rules, task.opponents, arguments.games, seat=seat, seed=arguments.seed)
    networks = Networks(arguments, games.layout)
    return PairedRollouts(arguments, task, games, networks, against=task.against)


ALGORITHM: Final = Algorithm(
    summary="every decision taken all ways with the same cards, against given opponents",
    arguments=Arguments,
    make=_make,
)
