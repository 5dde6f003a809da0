"""How this project compiles: a few decorators over Numba, and a cache that cannot go stale.

``helper`` marks a rule: a short function that other compiled functions call (``routine`` a longer one,
``inlined`` one that is handed whole arrays). ``entry`` marks what Python calls: its machine code is kept on
disk, so it is compiled once per machine. Numba's own cache looks only at the file of the cached function
and would go on playing *old rules* after an edit to a callee in another file; here a digest of every
compiled source is part of each entry's cache key.

All kernels are serial and release the interpreter lock. Large batches are shared by a few threads, which
take slice after slice (:func:`in_slices`): unlike OpenMP's, those survive a fork, may be used from several
Python threads, and do not collapse beside a busy core.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from types import CellType, FunctionType
from typing import Any, Final, TypeAlias, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba import int64
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])
Shares: TypeAlias = npt.NDArray[np.int64]
"""How far the threads are that share a kernel's games."""
_Job: TypeAlias = tuple[Callable[[], object], "SimpleQueue[BaseException | None]"]
"""What a thread is to call, and where it says that it has, with the error if there was one."""

INTERPRETED: Final = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
"""Whether ``NUMBA_DISABLE_JIT=1`` runs everything as plain Python, for a debugger."""

SOURCES: Final = (
    "cards.py",
    "rules.py",
    "compiled.py",
    "engine.py",
    "observation.py",
    "autoplay.py",
    "batch.py",
    "seeding.py",
)
"""The files whose text is part of every cache key: all that hold compiled code or its constants."""


NOTHING: Final = -1
"""What an array of numbers holds where there is nothing: the parent of a root, the state of a leaf."""


def sources_digest() -> str:
    """A digest of the compiled sources as they stand on disk."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for name in SOURCES:
        digest.update(name.encode() + b"\0" + (folder / name).read_bytes() + b"\0")
    return digest.hexdigest()


_DIGEST: Final = sources_digest()


def _mangled(record: Any) -> tuple[str, tuple[int]]:
    """What a record is called in the names of compiled functions: a digest of its fields."""
    digest = hashlib.sha256(record.name.encode()).digest()
    return type(record).__name__, (int.from_bytes(digest[:7], "big"),)


# Numba numbers records as a process meets them. Of two records that two processes gave one number, machine
# code from the cache takes whichever function was loaded first, and plays other games without a word.
numba.types.Record.mangling_args = property(_mangled)  # type: ignore[method-assign, assignment]


def helper(function: F) -> F:
    """Compile a function that only compiled functions call.

    Its machine code becomes part of the caller's: calls would cost more than most of what is called.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


def routine(function: F) -> F:
    """Compile a helper that is called: a large one, or one that is seldom needed."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile a helper that is handed whole arrays, by copying its source into its caller.

    Whatever is handed on counts references to each array, which costs more than most such helpers do.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", inline="always")(function))


def entry(function: F) -> F:
    """Compile a function that Python calls, keeping the machine code on disk."""
    if INTERPRETED:
        return function
    compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(_with_digest(function))
    return cast(F, _announcing(compiled))


def machine_code(compiled: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """What an entry compiles to for arguments of the types of these.

    Calling it spares Numba's look at each argument, which takes longer than a step of a single game:
    it must be given arguments of just these types.
    """
    if INTERPRETED:
        return compiled
    types = tuple(map(numba.typeof, arguments))
    return cast(Callable[..., Any], cast(Any, compiled).compile(types))


def _with_digest(function: Any) -> FunctionType:
    """The same function with the sources' digest in a closure cell, which Numba's cache key includes."""
    code = function.__code__
    keyed = FunctionType(
        code.replace(co_freevars=(*code.co_freevars, "sources_digest")),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        (*(function.__closure__ or ()), CellType(_DIGEST)),
    )
    keyed.__module__, keyed.__doc__ = function.__module__, function.__doc__
    keyed.__qualname__ = function.__qualname__
    return keyed


def _announcing(dispatcher: Any) -> Any:
    """Make the first compile of this process say so: it takes some seconds, once per machine."""
    load = dispatcher._cache.load_overload

    def load_overload(*args: Any) -> Any:
        found = load(*args)
        if found is None:
            _announce_compiling()
        return found

    dispatcher._cache.load_overload = load_overload
    return dispatcher


@functools.cache
def _announce_compiling() -> None:
    sys.stderr.write("cuckoo: compiling the game for this machine, once ...\n")
    sys.stderr.flush()


SLICE: Final = 256
"""Games in a slice: enough that taking one costs nothing, few enough that nobody waits long for the last."""
_WORTH_SHARING: Final = 1024
"""Fewer games than this a thread are not worth waking it."""
_TAKEN, _DONE = 0, 8
"""Where ``shares`` counts the games that were taken, and those that are done: in two cache lines."""
_PATIENCE: Final = 20_000
"""How often a thread looks whether the others are done, or have work for it, before it sleeps: some 50 µs."""
_bell: Final = np.zeros(1, np.int64)
"""How often threads have been given work."""


def _add_uncompiled(array: Any, at: int, number: int) -> int:
    before = int(array[at])
    array[at] += number
    return before


@intrinsic
def _add_atomically(_: Any, array: Any, at: Any, number: Any) -> Any:  # noqa: ARG001 - Numba's names
    """Add to an item of an int64 array in one step, whoever else adds; returns what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        items = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(items.data, [arguments[1]])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return int64(array, int64, int64), generate


_add: Final[Callable[..., Any]] = _add_uncompiled if INTERPRETED else _add_atomically


@helper
def take_slice(shares: Any) -> int:
    """The first game of a slice that no other thread has; beyond the last game when all are taken."""
    first: int = _add(shares, _TAKEN, SLICE)
    return first


@helper
def slice_done(shares: Any, games: int) -> None:
    """Note that so many games of a slice are done."""
    _add(shares, _DONE, games)


@entry
def _reaches(counts: Any, at: int, least: int, patience: int) -> bool:
    """Whether a count that others raise is at least so high, after looking at most so often."""
    while patience > 0 and _add(counts, at, 0) < least:
        patience -= 1
    return patience > 0


def available_cores() -> int:
    """Processor cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_slices(kernel: Callable[[Shares], object], games: int, threads: int) -> None:
    """Let this thread and others work through the games of one kernel together.

    Whoever is free takes the next slice, so nobody waits for a thread that is late, and for one that
    has to share its core no longer than until it has finished its slice.

    Args:
        kernel: is called with ``shares`` once on each thread, and works as long as there are slices::

            start = take_slice(shares)
            while start < games:
                ...  # the games from start to min(start + SLICE, games)
                slice_done(shares, ...)
                start = take_slice(shares)

            It must release the interpreter lock and may touch only the games of its slices.
        games: how many there are.
        threads: the most threads to use, with this one.
    """
    shares = np.zeros(2 * _DONE, np.int64)
    others = 0 if INTERPRETED else max(min(threads, games // _WORTH_SHARING) - 1, 0)
    returned: SimpleQueue[BaseException | None] = SimpleQueue()
    away, patience = 0, _PATIENCE
    try:
        for jobs in _workers(others):
            jobs.put((functools.partial(kernel, shares), returned))
            away += 1
        if away > 0:
            _bell[0] += 1
        kernel(shares)
        while away > 0 and not _reaches(shares, _DONE, games, patience):
            error = returned.get()
            away, patience = away - 1, 1
            if error is not None:
                raise error
    except BaseException:
        # Nobody takes another slice, and nobody still works at one when the caller hears of it.
        shares[_TAKEN] = games
        for _ in range(away):
            returned.get()
        raise


def _work(jobs: SimpleQueue[_Job]) -> None:
    while True:
        # Work often comes in quick succession, and waking up takes longer than many a job.
        rung = int(_bell[0])
        if jobs.empty():
            _reaches(_bell, 0, rung + 1, _PATIENCE)
        kernel, returned = jobs.get()
        error = None
        try:
            kernel()
        except BaseException as caught:  # noqa: BLE001 - raised again where it was called for
            error = caught
        returned.put(error)
        # What the job worked on is not to wait for the next job.
        del kernel, returned, error


_all_workers: Final[list[SimpleQueue[_Job]]] = []
"""The queues of this process's threads; they wait here from one job to the next."""
_workers_lock = threading.Lock()


def _workers(number: int) -> list[SimpleQueue[_Job]]:
    """So many threads' queues, started when they are first needed."""
    with _workers_lock:
        while len(_all_workers) < number:
            jobs: SimpleQueue[_Job] = SimpleQueue()
            threading.Thread(target=_work, args=(jobs,), name="cuckoo", daemon=True).start()
            _all_workers.append(jobs)
        return _all_workers[:number]


def _start_afresh() -> None:
    """A forked child inherits no threads."""
    _workers_lock._at_fork_reinit()  # type: ignore[attr-defined]
    _all_workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
