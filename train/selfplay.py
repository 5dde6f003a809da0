"""Self-play: paired rollouts among copies of the learner, and against a pool of its past.

The learner sits in one seat of each game. In most games the other seats are played by the policy
as it is now, in the others by a member of a *pool*: frozen snapshots of the policy, and bots. Members
that the learner does worst against are met most often, in proportion to the square of what is
missing to a win (prioritised fictitious self-play: Vinyals et al., "Grandmaster level in StarCraft
II using multi-agent reinforcement learning", 2019).

The networks learn what actions are worth against the others as they play now, and the policy is the
softmax of that; as the networks move slowly, this is a smoothed best-response dynamic, and its
resting points are quantal response equilibria (McKelvey and Palfrey 1995), which approach Nash
equilibria as the temperature falls. How far off they are is measured exactly where the table is
small enough: NashConv of the last policy, NashConv of the pool's average (in every information
state the mean of the snapshots' chances, later ones weighing more, as in CFR+), and the worst case
against any member of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.agents import Agent, parse
from cuckoo_env.agents.policy import Policy, PolicyAgent
from cuckoo_env.evaluate.exact import Chain, Strategy, nash_conv, strategy_of
from cuckoo_env.evaluate.match import Match
from cuckoo_env.learner import ALL_SEATS, Learners
from cuckoo_env.observation import Layout
from cuckoo_env.rules import Rules
from cuckoo_env.train import paired
from cuckoo_env.train.checkpoint import State
from cuckoo_env.train.curve import is_small
from cuckoo_env.train.loop import Algorithm
from cuckoo_env.train.paired import Networks, PairedRollouts
from cuckoo_env.train.task import Task, with_room

Floats = npt.NDArray[np.float64]

_LINEUPS: Final = 16
"""Kinds of games that are played side by side: each has its own opponents."""
_MEMORY: Final = 0.99
"""What one more game leaves of the earlier results against a member of the pool."""


@dataclass(frozen=True, kw_only=True)
class Arguments(paired.Arguments):
    """The settings of self-play. The defaults were found by measurement at the practice table.

    Attributes:
        against: the bots of the pool.
        snapshots: how often in a run the policy is frozen and added to the pool.
        pool: the share of games against members of the pool, to the nearest sixteenth; the others
            are against itself.
        redraw: updates between two draws of the members that are met.

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """

    seat: str = ALL_SEATS
    temperature: float = 0.02
    last_temperature: float = 0.004
    exploration: float = 0.0
    snapshots: int = 60
    pool: float = 0.125
    redraw: int = 50

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        super().__post_init__()
        self.check("seat", self.seat == ALL_SEATS, f"{ALL_SEATS}: the learner plays every seat")
        for name in ("snapshots", "redraw"):
            self.check(name, getattr(self, name) >= 1, "a whole number from 1")
        self.check("pool", 0 <= self.pool < 1, "0 to below 1")


class _Now:
    """The policy as it is now, for the other seats."""

    name = "now"

    def __init__(self, networks: Networks) -> None:
        self._networks = networks

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> Floats:
        return self._networks.chances(observations, masks)

    def player(self) -> None:
        """None: a network is no data for compiled loops."""


class _Place:
    """A place for members of the pool, one at a time."""

    name = "pool"

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> Floats:
        return self.agent.probabilities(observations, masks, layout)

    def player(self) -> None:
        """None: who sits here changes."""


class Pool:
    """Frozen snapshots and bots, and how well the learner does against each.

    Attributes:
        members: the agents.
        wins: (members,) the learner's win share against each, as it was lately.
    """

    def __init__(self, bots: list[Agent], seats: int) -> None:
        """Begin with the bots."""
        self._seats = seats
        self.members: list[Agent] = list(bots)
        self.wins = np.full(len(bots), 1.0 / seats)

    def add(self, member: Agent) -> None:
        """Add a member; nothing is known of it yet."""
        self.members.append(member)
        self.wins = np.append(self.wins, 1.0 / self._seats)

    def note(self, member: int, win_shares: Floats) -> None:
        """Remember how games against a member ended."""
        kept = _MEMORY ** len(win_shares)
        self.wins[member] = kept * self.wins[member] + (1 - kept) * win_shares.mean()

    def draw(self, rng: np.random.Generator, places: int) -> npt.NDArray[np.intp]:
        """Members to be met next: those first that the learner does worst against."""
        missing = (1.0 - self.wins) ** 2
        return rng.choice(len(self.members), size=places, p=missing / missing.sum())


class SelfPlay(PairedRollouts):
    """A :class:`~cuckoo_env.train.loop.Learner` whose opponents are itself and its past."""

    algorithm = "self-play"

    def __init__(self, arguments: Arguments) -> None:
        """Make the networks, the games and the pool.

        Raises:
            ValueError: for rules, a bot or a device that cannot be used, naming it.
        """
        rules = Rules.parse(arguments.rules)
        self._bots: list[Agent] = [
            parse(spec, rules) for spec in dict.fromkeys(arguments.against.split(","))
        ]
        networks = Networks(arguments, Layout.of(rules))
        self._settings, self._rules = arguments, rules
        self._empty_pool()
        self._places = [_Place(self._bots[0]) for _ in range(round(arguments.pool * _LINEUPS))]
        self._met = np.zeros(len(self._places), np.intp)
        itself: list[Agent] = [_Now(networks)] * (_LINEUPS - len(self._places))
        games = Learners(
            [rules] * _LINEUPS,
            [[each] * (rules.seats - 1) for each in (*itself, *self._places)],
            arguments.games,
            seat=ALL_SEATS,
            seed=arguments.seed,
        )
        super().__init__(
            arguments,
            self._task(),
            games,
            networks,
            against=["itself", *(bot.name for bot in self._bots)],
        )
        self._updates = 0

    def _task(self) -> Task | None:
        """Where NashConv cannot be had, win shares against the bots have to do."""
        if self._exact:
            return None
        opponents = with_room(self._settings.against, self._rules)
        return Task(rules=self._rules, seat=None, opponents=opponents)

    def _empty_pool(self) -> None:
        """Begin a pool, with the bots, and what measures it exactly, where the table is small enough."""
        self._pool = Pool(self._bots, self._rules.seats)
        self._snapshots: list[Policy] = []
        self._exact = _Exact(self._rules) if is_small(self._rules) else None

    def update(self, share: float) -> Mapping[str, float]:
        """See :class:`~cuckoo_env.train.loop.Learner`."""
        if self._places and self._updates % self._settings.redraw == 0:
            self._seat_members(self._pool.draw(self._rng, len(self._places)))
        self._updates += 1
        numbers = super().update(share)
        if share * self._settings.snapshots >= len(self._snapshots) + 1:
            self._freeze(self.policy())
        return {**numbers, "worst_return": float(self._pool.wins.min() * self._rules.seats - 1)}

    def _seat_members(self, members: npt.NDArray[np.intp]) -> None:
        self._met = members
        for place, member in zip(self._places, members, strict=True):
            place.agent = self._pool.members[member]

    def _freeze(self, policy: Policy) -> None:
        """Add a snapshot to the pool."""
        self._snapshots.append(policy)
        member = PolicyAgent.of(policy, f"snapshot {len(self._snapshots)}")
        self._pool.add(member)
        if self._exact:
            self._exact.add(member)

    def _note(self, games: npt.NDArray[np.intp], taken: npt.NDArray[np.float64]) -> None:
        super()._note(games, taken)
        first = _LINEUPS - len(self._places)
        lineup = games % _LINEUPS
        for place, member in enumerate(self._met):
            here = taken[lineup == first + place]
            if len(here):
                self._pool.note(int(member), (here + 1.0) / self._rules.seats)

    def policy(self) -> Policy:
        """See :class:`~cuckoo_env.train.loop.Learner`."""
        return self.networks.policy(self._rules)

    def measure(self) -> Mapping[str, float]:
        """NashConv of the last policy and of the pool's average, exactly, where the table is small enough."""
        if self._exact is None:
            return {}
        now = PolicyAgent.of(self.policy(), "policy:learning")
        return self._exact.measure(now, self._pool.members)

    def state(self) -> State:
        """See :class:`~cuckoo_env.train.loop.Learner`."""
        arrays: dict[str, npt.NDArray[Any]] = {"wins": self._pool.wins, "met": self._met}
        for number, policy in enumerate(self._snapshots):
            arrays |= {f"{number}/{name}": each for name, each in policy.weights.items()}
        values = {"snapshots": len(self._snapshots), "updates": self._updates}
        return State.join({"learner": super().state(), "pool": State(arrays=arrays, values=values)})

    def restore(self, state: State) -> None:
        """See :class:`~cuckoo_env.train.loop.Learner`."""
        super().restore(state.part("learner"))
        pool = state.part("pool")
        self._empty_pool()
        card = self.policy().card
        for number in range(pool.values["snapshots"]):
            weights = {name: pool.arrays[f"{number}/{name}"] for name in card.shapes()}
            self._freeze(Policy(card=card, weights=weights))
        self._pool.wins = pool.arrays["wins"].copy()
        self._updates = pool.values["updates"]
        self._seat_members(pool.arrays["met"].copy())


class _Exact:
    """Exact measures of policies that play all seats."""

    def __init__(self, rules: Rules) -> None:
        self._match = Match(rules)
        self._total: Strategy | None = None
        self._weight = 0.0
        self._count = 0

    def _strategy(self, agent: Agent) -> Strategy:
        return strategy_of(self._match, [agent] * self._match.rules.seats)

    def add(self, snapshot: Agent) -> None:
        """Take a snapshot into the average: the n-th weighs n."""
        self._count += 1
        strategy = self._strategy(snapshot)
        total = self._total or [np.zeros_like(each) for each in strategy]
        self._total = [
            sums + self._count * each for sums, each in zip(total, strategy, strict=True)
        ]
        self._weight += self._count

    def measure(self, now: Agent, members: list[Agent]) -> dict[str, float]:
        """NashConv of a policy and of the average, and the policy's worst win share against a member."""
        last = nash_conv(self._match, self._strategy(now))
        average = [each / self._weight for each in self._total] if self._total else None
        return {
            "nash_conv": last,
            "nash_conv_average": nash_conv(self._match, average) if average else last,
            "worst_win_share": min(self._win_share(now, member) for member in members),
        }

    def _win_share(self, now: Agent, others: Agent) -> float:
        """What a policy wins of the seats it sits in one at a time, averaged over seats and first dealers."""
        match, seats = self._match, self._match.rules.seats
        # Which seat it sits in does not matter when every seat deals first as often: so seat 0.
        strategy = strategy_of(match, [now, *[others] * (seats - 1)])
        values = Chain(match, strategy).values()[:, 0]
        return float(sum(chance * values[number] for chance, number in match.starts("all")))


ALGORITHM: Final = Algorithm(
    summary="paired rollouts among copies of itself and a pool of its past",
    arguments=Arguments,
    make=SelfPlay,
)
