"""The tables that a server keeps: found by their codes alone, a bounded number, idle ones forgotten."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cuckoo_env.play.table import RefusedError, Table

MOST_TABLES: Final = 1000
IDLE_SECONDS: Final = 2 * 3600.0
CODE_BYTES: Final = 16
"""Random bytes of a table's code: who does not know it cannot find the table."""


@dataclass
class _Kept:
    table: Table
    used: float


class Registry:
    """Tables by their codes; any thread may use it.

    Attributes:
        most: how many tables are kept at once.
        idle_seconds: how long a table is kept that nobody speaks to.
    """

    def __init__(
        self,
        most: int = MOST_TABLES,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an empty registry.

        Args:
            most: how many tables are kept at once.
            idle_seconds: how long a table is kept that nobody speaks to.
            clock: tells the time in seconds.
        """
        self.most, self.idle_seconds = most, idle_seconds
        self._clock = clock
        self._lock = threading.Lock()
        # The table that was used longest ago comes first.
        self._tables: OrderedDict[str, _Kept] = OrderedDict()

    def __len__(self) -> int:
        self.forget_idle()
        return len(self._tables)

    def forget_idle(self) -> None:
        """Let go of the tables that nobody speaks to; every other request does so too."""
        with self._lock:
            self._forget_idle()

    def check_room(self) -> None:
        """Raise unless there is room for one more table.

        Raises:
            RefusedError: ``too-many``.
        """
        with self._lock:
            self._check_room()

    def _check_room(self) -> None:
        self._forget_idle()
        if len(self._tables) >= self.most:
            raise RefusedError("too-many", f"tables: {self.most} are open already; try again later")

    def add(self, table: Table) -> str:
        """Keep a table.

        Returns:
            Its code, which nobody can guess.

        Raises:
            RefusedError: ``too-many`` if there is no room.
        """
        code = secrets.token_urlsafe(CODE_BYTES)
        with self._lock:
            self._check_room()
            self._tables[code] = _Kept(table, self._clock())
        return code

    def find(self, code: str) -> Table:
        """The table with a code; it counts as used now.

        Raises:
            RefusedError: ``unknown-table`` if there is none, or none any more.
        """
        with self._lock:
            self._forget_idle()
            kept = self._tables.get(code)
            if kept is None:
                raise RefusedError(
                    "unknown-table",
                    "table: there is none with this code; it was left idle, or the server has been"
                    " started again",
                )
            kept.used = self._clock()
            self._tables.move_to_end(code)
            return kept.table

    def may_wait(self, code: str) -> bool:
        """Whether a message to a table may have to wait for its coach; it does not count as used for that."""
        with self._lock:
            kept = self._tables.get(code)
        return kept is not None and kept.table.may_wait

    def _forget_idle(self) -> None:
        now = self._clock()
        while self._tables:
            code, kept = next(iter(self._tables.items()))
            if now - kept.used <= self.idle_seconds:
                return
            del self._tables[code]
