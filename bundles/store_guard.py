"""What is checked around a store's files, because DuckDB does not.

Invariant: nothing that is not a store is written to or beside; a store that has less than was acknowledged is
not opened, and its log is kept as it was found.
"""

import os
from pathlib import Path

from bundles.brief import brief
from bundles.durable import set_aside
from bundles.errors import StoreError
from bundles.mark import Mark, Marked, read_mark
from bundles.sql import Cursor

_ID_BYTES = 16


def real_path(path: Path) -> Path:
    """Where the path leads; raises `StoreError` for one that DuckDB would not understand."""
    if "\0" in str(path) or any("\ud800" <= character <= "\udfff" for character in str(path)):
        raise StoreError(f"{brief(str(path))}: a store's path must be Unicode without NUL characters")
    return Path(os.path.realpath(path))


def check_magic(path: Path) -> None:
    """Raise `StoreError` unless this is a DuckDB file."""
    with path.open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise StoreError(f"{path}: not a redraft store, give another path")


def remove_left_over(new: Path) -> None:
    """Remove what a kill left of a store that was being made."""
    for left_over in (new, log_of(new)):
        left_over.unlink(missing_ok=True)


def new_id() -> str:
    """An id for a store, so that a mark is not taken for another one's."""
    return os.urandom(_ID_BYTES).hex()


def log_of(path: Path) -> Path:
    """Where DuckDB keeps what is not in the store's file yet."""
    return _beside(path, ".wal")


def log_bytes(path: Path) -> int:
    """The size of the store's log."""
    log = log_of(path)
    return log.stat().st_size if log.exists() else 0


def keep_log(path: Path) -> Path | None:
    """Copy the log that a kill left: opening it, DuckDB cuts off and drops what it cannot read."""
    log = log_of(path)
    return set_aside(_beside(path, ".wal.kept"), log.read_bytes()) if log.exists() else None


def checked_mark(path: Path, cursor: Cursor, kept: Path | None) -> Mark:
    """The store's mark, and the log that was kept removed, if the store has all that was acknowledged."""
    ((store_id, commits),) = cursor.execute("SELECT store_id, commits FROM redraft_store").fetchall()
    mark = _beside(path, ".redraft-mark")
    said = read_mark(mark)
    if said and said.owner.hex() == store_id and said.number > commits:
        log = f" (kept as it was in {kept})" if kept else ""
        raise StoreError(
            f"{path}: {said.number - commits} acknowledged commits are missing: its log{log} was removed or"
            f" damaged, or an older copy is in its place: put the right files back, or remove {mark} to go on"
            " with what is there"
        )
    if kept:
        kept.unlink()
    return Mark(mark, Marked(bytes.fromhex(store_id), commits))


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
