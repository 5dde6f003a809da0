"""What coaches prepare: shared by all tables of a process, done one after the other, and kept within bounds.

Only this store keeps preparations. A coach asks for its own by key each time, and one that was dropped
meanwhile is begun anew; so what they take does not grow with the number of tables. One that failed is told
once, to whoever runs the program, and is not tried again as long as it is kept.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Final

from cuckoo_env.play.solved import Solved

MOST_KEPT: Final = 256
"""Preparations that are kept, those that are still wanted among them."""
MOST_BYTES: Final = 256 * 1024 * 1024
"""What those that are done may take together."""

_log: Final = logging.getLogger(__name__)


class Prepared:
    """Preparations by key; any thread may use it. Those that were asked for longest ago are dropped."""

    def __init__(self, most: int = MOST_KEPT, most_bytes: int = MOST_BYTES) -> None:
        """Keep nothing yet.

        Args:
            most: how many are kept.
            most_bytes: what those that are done may take together; the one that was done last is kept
                whatever it takes.
        """
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        # What was asked for longest ago comes first.
        self._kept: OrderedDict[Hashable, Future[Solved | None]] = OrderedDict()
        # How to prepare what is wanted, in the order in which it was first asked for.
        self._wanted: OrderedDict[Hashable, Callable[[], Solved]] = OrderedDict()
        self._is_at_work = False

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], Solved]) -> Future[Solved | None]:
        """What is prepared, or will be: None if that failed.

        It is cancelled if it is dropped before anybody began with it.

        Args:
            key: what it is for.
            make: prepares it, in a thread of this store's own.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            promise = self._kept[key] = Future[Solved | None]()
            self._wanted[key] = make
            self._keep_to_the_number()
            if not self._is_at_work:
                self._is_at_work = True
                threading.Thread(target=self._work, name="coach", daemon=True).start()
            return promise

    def is_done(self, key: Hashable) -> bool:
        """Whether something is prepared, or failed to be; to ask is not to ask for it."""
        with self._lock:
            return key in self._kept and self._kept[key].done()

    def _work(self) -> None:
        """Prepare until nothing is wanted: one after the other, as each uses all cores by itself."""
        while self._prepare_next():
            pass

    def _prepare_next(self) -> bool:
        with self._lock:
            if not self._wanted:
                self._is_at_work = False
                return False
            key, make = self._wanted.popitem(last=False)
            promise = self._kept[key]
            promise.set_running_or_notify_cancel()
        try:
            made = make()
        except Exception:  # noqa: BLE001 - whatever it is, others are prepared after it
            _log.exception("coach: a preparation failed; advice is sampled where it was for")
            made = None
        promise.set_result(made)
        with self._lock:
            self._keep_to_the_bytes(key)
        return True

    def _keep_to_the_number(self) -> None:
        while len(self._kept) > max(self._most, 1):
            key, promise = self._kept.popitem(last=False)
            self._wanted.pop(key, None)
            promise.cancel()

    def _keep_to_the_bytes(self, newest: Hashable) -> None:
        """Drop what is done until the rest fits, but for the newest: dropped too, it would be begun again."""
        taken = {key: _bytes(each) for key, each in self._kept.items() if each.done()}
        over = sum(taken.values()) - self._most_bytes
        for key, nbytes in taken.items():
            if over > 0 and key != newest:
                del self._kept[key]
                over -= nbytes


def _bytes(done: Future[Solved | None]) -> int:
    made = done.result()
    return 0 if made is None else made.nbytes
