"""Run folders: where training leaves what it made, and never on top of something else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cuckoo_env.files import write_text

FORMAT: Final = "cuckoo-run/1"
CONFIG_NAME: Final = "config.json"


class RunError(ValueError):
    """A run folder that is refused; the message names it and what is accepted."""


class RunFolder:
    """The folder of one run.

    A new run works in its own folder from the start, so that it can be watched. One that replaces
    another works beside it, and takes its place only when :meth:`finish` is called.

    Attributes:
        path: where the run can be found in the end.
        work: where it is written to until then.
    """

    def __init__(self, path: str | Path, *, force: bool) -> None:
        """Look at what is there; nothing is touched yet.

        Args:
            path: the folder.
            force: whether it may take the place of an earlier run.

        Raises:
            RunError: if something is there that may not be replaced.
        """
        self.path = Path(path)
        self.work = self.path
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_dir()):
            raise RunError(f"out: {path} is refused; accepted: a folder")
        if _has_content(self.path):
            if not is_run(self.path):
                raise RunError(
                    f"out: {path} is refused: it holds something else than a run; "
                    "accepted: a new folder"
                )
            if not force:
                raise RunError(
                    f"out: {path} is refused: it holds a run; accepted: a new folder, or --force"
                )
            self.work = self.path.with_name(self.path.name + ".new")
            if _has_content(self.work) and not is_run(self.work):
                raise RunError(
                    f"out: {self.work} is in the way: it holds something else than a run"
                )

    def begin(self, config: Mapping[str, Any]) -> None:
        """Make the folder and write what the run was asked to do.

        Raises:
            RunError: if the folder cannot be made.
        """
        try:
            if self.work != self.path and self.work.exists():
                shutil.rmtree(self.work)  # left behind by a run that was stopped
            self.work.mkdir(parents=True, exist_ok=True)
            write_text(
                self.work / CONFIG_NAME, json.dumps({"format": FORMAT, **config}, indent=2) + "\n"
            )
        except OSError as error:
            raise RunError(
                f"out: {self.path} cannot be written: {error.strerror or error}"
            ) from error

    def finish(self) -> None:
        """Put the run where it belongs."""
        if self.work != self.path:
            old = self.path.with_name(self.path.name + ".old")
            if is_run(old):
                shutil.rmtree(old)
            self.path.rename(old)
            self.work.rename(self.path)
            shutil.rmtree(old)
            self.work = self.path


def is_run(path: Path) -> bool:
    """Whether a folder holds a run of this project."""
    try:
        config = json.loads((path / CONFIG_NAME).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def _has_content(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())
