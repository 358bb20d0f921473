"""Report files.

Invariant: a file is the old one or the new one, never half of it.
"""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replaces a file, or what a link leads to, as a whole; on disk before this returns."""
    path = path.resolve()
    temporary = path.with_name(f".redraft-report.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(encoded(text))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def encoded(text: str) -> bytes:
    """As it is written to a file."""
    return text.encode("utf-8", "replace")


def size(text: str) -> int:
    """In bytes, as written to a file."""
    return len(encoded(text))
