"""One process at a time has a store or journal open, or several read it and none writes.

Invariant: whoever is inside `locked` is alone with the store, or shares it with others that only read. The
lock is the kernel's, on a file beside the store, so it goes when its holder dies, and opening, hashing or
copying the store does not drop it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bundles.errors import StoreLocked


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of the store at `path`; raises `StoreLocked`, naming who has it."""
    with path.with_name(path.name + ".redraft-lock").open("a+", encoding="ascii") as side:
        try:
            fcntl.flock(side, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            side.seek(0)
            holder = side.read().strip() or "that is just opening it"
            raise StoreLocked(f"{path}: in use by process {holder}, wait for it or stop it") from None
        side.truncate(0)
        side.write(f"{os.getpid()}\n")
        side.flush()
        yield
