"""Files and folders on disk for good.

Invariant: a file that is replaced has its old content or the new one, whatever happens; what is set aside is
never written over.
"""

import os
from itertools import count
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Make this the file's content."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    sync(new)
    new.replace(path)
    sync(path.parent)


def set_aside(path: Path, data: bytes) -> Path:
    """Keep the data at `path` or, where other data is, under that name with a number; says where."""
    names = (path.with_name(f"{path.name}{f'.{number}' if number else ''}") for number in count())
    kept = next(name for name in names if not name.exists() or name.read_bytes() == data)
    replace(kept, data)
    return kept


def sync(path: Path) -> None:
    """Wait until the file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
