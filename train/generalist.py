"""A generalist: one network that reads the rules in its observation and plays every preset.

Paired rollouts (:mod:`cuckoo_env.train.paired`) at many tables at once: every preset, at every size that
it and the run admit, takes its turn with the same number of games. The observation has room for the
largest table and carries the rules; all five actions are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cuckoo_env.agents.policy import Covers, Policy
from cuckoo_env.engine import N_ACTIONS
from cuckoo_env.learner import ALL_SEATS, Learners
from cuckoo_env.rules import PRESETS, Rules
from cuckoo_env.train import paired
from cuckoo_env.train.loop import Algorithm
from cuckoo_env.train.paired import Networks, PairedRollouts
from cuckoo_env.train.task import Task, with_room

ANY: Final = "any"
"""The rules of a generalist: all presets."""
MEASURED_AT: Final = "practice-table"
"""The table of the learning curve and of the policy's card; where it is not covered, the first that is."""


@dataclass(frozen=True, kw_only=True)
class Arguments(paired.Arguments):
    """The settings of a generalist.

    Attributes:
        against: the opponents; at smaller tables as many of them as have room.
        seats: the sizes of its tables, such as ``2-10``, or one size.

    Raises:
        ValueError: for a value that cannot be used, naming it.
    """

    rules: str = ANY
    seats: str = "2-10"
    seat: str = ALL_SEATS
    games: int = 8192
    hidden: tuple[int, ...] = (256, 256)
    value_hidden: tuple[int, ...] = (128, 128)

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        super().__post_init__()
        self.check("rules", self.rules == ANY, f"{ANY}: a generalist learns every preset")
        self.check("seat", self.seat == ALL_SEATS, f"{ALL_SEATS}: it learns every seat")
        tables = sum(1 for _ in self.covers().tables())
        self.check("games", self.games >= tables, f"{tables} or more, for as many tables")

    def covers(self) -> Covers:
        """The tables it learns.

        Raises:
            ValueError: if ``seats`` is no size or range of sizes.
        """
        fewest, _, most = self.seats.partition("-")
        sizes = [part.strip() for part in (fewest, most or fewest)]
        good = all(size.isascii() and size.isdigit() and len(size) < 5 for size in sizes)
        self.check("seats", good, "a size of the table, or two with a hyphen, such as 2-10")
        return Covers(presets=tuple(PRESETS), fewest=int(sizes[0]), most=int(sizes[1]))


class Generalist(PairedRollouts):
    """A :class:`~cuckoo_env.train.loop.Learner` at every table that it covers."""

    algorithm = "paired rollouts, generalist"

    def __init__(self, arguments: Arguments) -> None:
        """Make the networks and the games.

        Raises:
            ValueError: for opponents or a device that cannot be used, naming it.
        """
        self._covers = arguments.covers()
        tables = list(self._covers.tables())
        games = Learners(
            tables,
            [with_room(arguments.against, rules) for rules in tables],
            arguments.games,
            seat=ALL_SEATS,
            seed=arguments.seed,
            max_seats=self._covers.most,
            with_rules=True,
            n_actions=N_ACTIONS,
        )
        usual = Rules.parse(MEASURED_AT)
        self._table = usual if self._covers.includes(usual) else tables[0]
        opponents = with_room(arguments.against, self._table)
        super().__init__(
            arguments,
            Task(rules=self._table, seat=None, opponents=opponents),
            games,
            Networks(arguments, games.layout),
            against=[spec.strip() for spec in arguments.against.split(",")],
        )

    def policy(self) -> Policy:
        """See :class:`~cuckoo_env.train.loop.Learner`."""
        return self.networks.policy(self._table, self._covers)

    def measure(self) -> Mapping[str, float]:
        """Nothing of its own: one table stands for all while it learns."""
        return {}


ALGORITHM: Final = Algorithm(
    summary="paired rollouts at every preset and size of the table at once",
    arguments=Arguments,
    make=Generalist,
)
