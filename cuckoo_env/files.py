"""Writing files whole or not at all: a temporary file beside the target, then a rename."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; whoever opens ``path`` sees the old content or the new, never half of it.

    Raises:
        OSError: if it cannot be written; what was there before is left.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # A temporary file is private; what we write is as open as any new file.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        os.replace(temporary, path)  # noqa: PTH105 - the one call that says what this is about
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file as :func:`write_bytes` does, in UTF-8."""
    write_bytes(path, text.encode())
