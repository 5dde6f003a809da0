"""Writing files whole or not at all, and reading files that may be anything."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write what ``path`` is to hold: it takes its place when the block ends.

    Whoever opens ``path`` sees the old content or the new, never half of it; an error in the block leaves
    what was there before.

    Raises:
        OSError: if it cannot be written.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", str(path))
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", str(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # A temporary file is private; what we write is as open as any new file.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        os.replace(temporary, path)  # noqa: PTH105 - the one call that says what this is about
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file as :func:`replacing` does.

    Raises:
        OSError: if it cannot be written; what was there before is left.
    """
    with replacing(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a text file as :func:`replacing` does, in UTF-8."""
    write_bytes(path, text.encode())


def json_text(value: Any) -> str:
    """A value as indented JSON. JSON has no NaN: what could not be measured is null.

    Example:
        >>> print(json_text({"rate": float("nan")}))
        {
          "rate": null
        }
    """
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_at_most(path: Path, most: int) -> bytes:
    """The bytes of a file that somebody else may have put there.

    Only a regular file is read: a pipe or a device could keep us waiting, or never end.

    Args:
        path: the file; links are followed.
        most: how many bytes it may have.

    Raises:
        OSError: if it cannot be read, or is no regular file.
        ValueError: if it is larger; no more than ``most + 1`` bytes have been read then.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it is larger than {most:,} bytes, so it is no such file")
    return data


def printable(text: str, most: int = 400) -> str:
    """A text about what a file holds, as one line that a terminal can print, whatever is in it."""
    told = text if len(text) <= most else text[: most - 3] + "..."
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in told)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe is opened at once, even if nobody writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
