"""Writing files whole or not at all: a temporary file beside the target, then a rename."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


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
