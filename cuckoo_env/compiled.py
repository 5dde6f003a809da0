"""How this project compiles: a few decorators over Numba, and a cache that cannot go stale.

``helper`` marks a rule: a short function that other compiled functions call (``routine`` a longer one,
``inlined`` one that is handed whole arrays). ``entry`` marks what Python calls: its machine code is kept on
disk, so it is compiled once per machine. Numba's own cache looks only at the file of the cached function
and would go on playing *old rules* after an edit to a callee in another file; here a digest of every
compiled source is part of each entry's cache key.

All kernels are serial and release the interpreter lock. Large batches are cut into slices for a few
threads (:func:`in_slices`): unlike OpenMP's, those survive a fork, may be used from several Python
threads, and do not collapse beside a busy core.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Final, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

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


_MIN_SLICE: Final = 1024
"""Fewer games than this are not worth handing to another thread."""
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()


def available_cores() -> int:
    """Processor cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_slices(kernel: Callable[[int, int], object], games: int, threads: int) -> None:
    """Run ``kernel(start, stop)`` over slices of ``range(games)``, on this thread and others.

    The kernel must release the interpreter lock and may touch only its own slice.
    """
    slices = min(threads, games // _MIN_SLICE)
    if slices <= 1:
        kernel(0, games)
        return
    bounds = [games * k // slices for k in range(slices + 1)]
    pool = _pool(slices - 1)
    others = [pool.submit(kernel, *bounds[k : k + 2]) for k in range(1, slices)]
    kernel(*bounds[:2])
    for other in others:
        other.result()


def _pool(threads: int) -> ThreadPoolExecutor:
    """A pool of this process: a forked child starts its own, for it inherits no threads."""
    with _pools_lock:
        key = (os.getpid(), threads)
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="cuckoo")
        return _pools[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools_lock._at_fork_reinit)  # type: ignore[attr-defined]
