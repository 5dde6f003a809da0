"""Run folders: where training leaves what it made, never on top of something else, and goes on from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from cuckoo_env.files import write_text
from cuckoo_env.train import checkpoint

FORMAT: Final = "cuckoo-run/1"
CONFIG_NAME: Final = "config.json"
SUMMARY_NAME: Final = "summary.json"
"""What several runs with a seed each came to; it is there when all are done."""
_NEW, _OLD = ".new", ".old"
"""What stands behind the name of a folder that is to take another's place, and of the one that gives way."""


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
            self.work = _beside(self.path, _NEW)
            if _has_content(self.work) and not is_run(self.work):
                raise RunError(
                    f"out: {self.work} is in the way: it holds something else than a run"
                )

    @classmethod
    def unfinished(cls, path: str | Path) -> Self:
        """The folder of a run that was stopped before its end, to go on with it.

        Args:
            path: where the run was to be found in the end.

        Raises:
            RunError: if there is no such run, or it is finished.
        """
        folder = cls.__new__(cls)
        folder.path = Path(path)
        # A run that was to replace this one, and was stopped, is the later of the two.
        folder.work = _beside(folder.path, _NEW)
        if not _can_go_on(folder.work):
            folder.work = folder.path
        if not is_run(folder.work):
            raise RunError(f"resume: {path} is refused: it is no run; accepted: a run's folder")
        if not _can_go_on(folder.work):
            raise RunError(
                f"resume: {path} is refused: that run is finished, or was stopped before it began; "
                "accepted: a run that was stopped on its way"
            )
        return folder

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

    def config(self) -> dict[str, Any]:
        """What the run was asked to do, as :meth:`begin` wrote it.

        Raises:
            RunError: if it is not there.
        """
        config = _config(self.work)
        if config is None:
            raise RunError(f"resume: {self.path} is refused: it is no run")
        return config

    def finish(self) -> None:
        """Put the run where it belongs."""
        if self.work != self.path:
            old = _beside(self.path, _OLD)
            if is_run(old):
                shutil.rmtree(old)
            self.path.rename(old)
            self.work.rename(self.path)
            shutil.rmtree(old)
            self.work = self.path


def is_run(path: Path) -> bool:
    """Whether a folder holds a run of this project."""
    return _config(path) is not None


def _config(path: Path) -> dict[str, Any] | None:
    try:
        config = json.loads((path / CONFIG_NAME).read_text())
    except (OSError, ValueError, RecursionError):
        return None
    right = isinstance(config, dict) and config.get("format") == FORMAT
    return config if right else None


def _can_go_on(path: Path) -> bool:
    """Whether a folder holds a run, or several with a seed each, that was stopped on its way."""
    config = _config(path)
    if config is None:
        return False
    if "seeds" in config:
        return not (path / SUMMARY_NAME).is_file()
    return (path / checkpoint.NAME).is_file()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_content(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())
