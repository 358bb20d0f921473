"""A copy of a store that another process may have open, made without its lock.

Invariant: a copy holds all that was acknowledged before it was begun, whatever is written meanwhile, or it is
not made; nobody is kept from opening the store, and nothing is written to it or beside it. This rests on the
store's own rule: its file's headers change only while a log is moved into it, with an undo file there before
and after; until then the log only grows, and DuckDB leaves out what stands unfinished at its end.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bundles.errors import StoreError, StoreLocked
from bundles.store_guard import check_magic, log_bytes, log_of, real_path
from bundles.store_undo import undo_path

TRIES = 20
_PAUSE_S = 0.05
_HEADER_BYTES = 12288


@dataclass(frozen=True, slots=True)
class StoreState:
    """What tells whether a store has changed since: its headers, and how long its log is."""

    headers: bytes
    log_bytes: int


def store_state(path: Path) -> StoreState:
    """The state of the store at `path`; raises `StoreError` where there is none."""
    path = real_path(path)
    try:
        check_magic(path)
        with path.open("rb") as file:
            headers = file.read(_HEADER_BYTES)
        return StoreState(headers, log_bytes(path))
    except FileNotFoundError:
        raise StoreError(f"{path}: no such store, import or run a suite first") from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def copy_store(path: Path, target: Path, *, pause: Callable[[float], None] = time.sleep) -> StoreState:
    """Copy the store at `path` to `target`, which is then opened as any store; gives the state copied.

    Raises `StoreLocked` while so much is written to the store that none of TRIES copies is whole.
    """
    path = real_path(path)
    for _ in range(TRIES):
        before = store_state(path)
        if not undo_path(path).exists():
            try:
                _copy(path, target)
            except OSError as error:
                raise StoreError(f"{error.filename}: {error.strerror}") from error
            if not undo_path(path).exists() and store_state(path).headers == before.headers:
                return before
        pause(_PAUSE_S)
    raise StoreLocked(
        f"{path}: it is being written, try again; if nothing writes it, a process was killed as it did:"
        " open it once, with `redraft bundles`"
    )


def _copy(path: Path, target: Path) -> None:
    # The log first: what it says of the file is in the file by then.
    log, log_of_target = log_of(path), log_of(target)
    log_of_target.unlink(missing_ok=True)
    with suppress(FileNotFoundError):  # moved into the store, or gone just now
        shutil.copyfile(log, log_of_target)
    shutil.copyfile(path, target)
