"""What a published figure was made with: commit, versions, the class of machine."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cuckoo_env.compiled import available_cores

ROOT: Final = Path(__file__).resolve().parent.parent
LIBRARIES: Final = (
    "cuckoo-env", "numpy", "numba", "gymnasium", "pettingzoo", "stable-baselines3", "torch",
)  # fmt: skip
_CODE: Final = (
    "cuckoo_env", "agents", "evaluate", "train", "play", "benchmarks", "constraints.txt",
)  # fmt: skip


def made_with(command: str, *, libraries: Sequence[str] = ()) -> dict[str, Any]:
    """What a result depends on beside the seeds.

    Args:
        command: the command that measures it again.
        libraries: what it depends on beside the libraries of this project.
    """
    return {
        "command": command,
        **commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "machine": machine(),
        "versions": versions((*LIBRARIES, *libraries)),
    }


def machine() -> str:
    """The kind of machine, never its name."""
    model = platform.processor()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    kind = ", ".join(part for part in (platform.machine(), model, platform.system()) if part)
    return f"{available_cores()} cores, {kind}"


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Of those libraries that are installed."""
    found = {}
    for name in libraries:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def commit() -> dict[str, Any]:
    """The commit that is checked out, and whether the code differs from it."""
    git = shutil.which("git")
    if git is None:
        return {"commit": None, "changed": None}

    def ask(*arguments: str) -> str:
        run = subprocess.run(
            [git, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return run.stdout.strip()

    changed = ask("status", "--porcelain", "--", *_CODE)
    return {"commit": ask("rev-parse", "--short", "HEAD") or None, "changed": bool(changed)}
