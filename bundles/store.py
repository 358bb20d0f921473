"""The DuckDB file that holds bundles and runs.

Invariant: what a method has returned from is on disk and is there once. While a store is open, or after a
kill, part of it is in a log beside it (`.wal`); DuckDB does not notice when others remove or cut that log, so
every commit is counted in the store and, once made, in a mark beside it, and a store that is behind its mark
is refused. One process has the store open, by a lock of our own, for DuckDB's is dropped by any open and
close of the file within the process; others read snapshots. No index and no key is declared (their recovery
has had bugs); uniqueness is kept here, by one writer at a time. Every call uses a cursor of its own.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from bundles.brief import brief
from bundles.durable import sync
from bundles.errors import StoreError
from bundles.lock import locked
from bundles.mark import Mark
from bundles.migrate import OLDEST_VERSION
from bundles.schema import FORMAT_VERSION, TABLES
from bundles.sql import column
from bundles.store_bundles import StoredBundles
from bundles.store_guard import (
    check_magic,
    checked_mark,
    keep_log,
    log_bytes,
    log_of,
    new_id,
    real_path,
    remove_left_over,
)
from bundles.store_reports import StoredReports
from bundles.store_run_pages import StoredRunPages
from bundles.store_runs import StoredRuns
from bundles.store_tables import create_tables, migrate_tables
from bundles.store_undo import Undo, settle, undo_path
from bundles.store_units import StoredUnits

LONGEST_LOG_BYTES = 16 * 2**20
_SIGNS_OF_DAMAGE = ("Corrupt", "Could not read enough bytes", "Failure while replaying WAL", "Serialization")


class Store(StoredBundles, StoredRuns, StoredReports, StoredRunPages, StoredUnits):
    """An open store; threads may share it. Use `Store.open`, and close it or use it in `with`."""

    def __init__(
        self,
        path: Path,
        connection: duckdb.DuckDBPyConnection,
        opened: ExitStack,
        mark: Mark | None = None,
        undo: Undo | None = None,
    ) -> None:
        self.path = path
        self._connection = connection
        self._opened = opened
        self._mark, self._undo = mark, undo
        self._writing = threading.Lock()
        self._copying = threading.Lock()
        self._failure: str | None = None

    @classmethod
    def open(cls, path: Path, *, create: bool = True, read_only: bool = False) -> Self:
        """Open the store at `path`, made on first use unless `create` is false.

        `read_only` is for snapshots: several processes may have one open so. Raises `StoreLocked` while
        another process has it open otherwise, `StoreError` where there is none, it cannot be read, it is
        of another kind or format, or it does not have all that was acknowledged.
        """
        path = real_path(path)
        with _reported(path), ExitStack() as opened:
            if os.path.lexists(path):
                check_magic(path)  # before a lock file is put beside what is none of ours
            elif read_only or not create:
                raise StoreError(f"{path}: no such store, import or run a suite first")
            opened.enter_context(locked(path, shared=read_only))
            if not os.path.lexists(path):
                _create(path)
            if read_only:
                if undo_path(path).exists():
                    raise StoreError(f"{path}: left by a process that was killed, open it once for writing")
                connection = opened.enter_context(duckdb.connect(path, read_only=True, config=_MEMORY))
                _check_format(path, connection)
                return cls(path, connection, opened.pop_all())
            settle(path)
            kept = keep_log(path)
            opened.callback(settle, path)
            undo = opened.enter_context(Undo(path))
            connection = opened.enter_context(duckdb.connect(path, config=_ONLY_WHEN_TOLD))
            connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            if old := _check_format(path, connection, may_be_older=True):
                with _undone(undo, connection):
                    migrate_tables(connection, old)
            mark = opened.enter_context(checked_mark(path, connection, kept))
            return cls(path, connection, opened.pop_all(), mark, undo)

    def close(self) -> None:
        """Write everything into the one file, where there is room, and let other processes in.

        Raises `StoreError` where the store had stopped before.
        """
        self._let_go()
        if self._failure:
            raise StoreError(self._failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._let_go()

    def snapshot(self, target: Path) -> None:
        """Copy the store as it is now to `target`, for others to open `read_only`; it appears whole.

        An earlier snapshot is replaced, and whoever reads that goes on reading it.
        """
        target = real_path(target)
        if target == self.path:
            raise StoreError(f"{target}: a store cannot be a snapshot of itself, give another path")
        new = target.with_name(target.name + ".new")
        with _reported(target), self._copying, locked(target, shared=True), self._cursor() as cursor:
            if target.exists():
                check_magic(target)
            remove_left_over(new)
            cursor.execute("ATTACH ? AS snapshot", [str(new)])
            try:
                self._copy_to_snapshot()
                cursor.execute("CHECKPOINT snapshot")
            except duckdb.Error:
                with suppress(duckdb.Error):  # the same again
                    cursor.execute("DETACH snapshot")
                raise
            cursor.execute("DETACH snapshot")
            sync(new)
            new.replace(target)
            sync(target.parent)

    def _copy_to_snapshot(self) -> None:
        with self._cursor() as cursor:
            cursor.begin()
            for name in ("redraft_store", *TABLES):
                cursor.execute(f'CREATE TABLE snapshot."{name}" AS FROM "{name}"')
            cursor.execute("UPDATE snapshot.redraft_store SET store_id = ?", [new_id()])
            cursor.commit()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        if self._failure:
            raise StoreError(self._failure)
        with _reported(self.path):
            try:
                with self._connection.cursor() as cursor:
                    yield cursor
            except duckdb.FatalException as error:
                # Mostly a full disk: the commit went well, and moving the log into the store did not.
                reason = str(error).splitlines()[0].rpartition("because of error: ")[2]
                self._failure = (
                    f"{self.path}: the store stopped: {reason}; what was stored is kept: free space if the"
                    " disk is full, then resume the run"
                )
                raise StoreError(self._failure) from error

    @contextmanager
    def _transaction(self, *, small: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose work is committed, and so on disk, when the block ends well.

        A `small` one only adds to the log; DuckDB moves the log into the store when others are committed.
        """
        if self._mark is None or self._undo is None:
            raise StoreError(f"{self.path}: opened for reading only")
        with self._writing, self._cursor() as cursor:
            cursor.begin()
            yield cursor  # closing the cursor rolls back what was not committed
            ((commits,),) = cursor.execute(_COUNT_COMMIT).fetchall()
            with nullcontext() if small else _undone(self._undo, cursor):
                cursor.commit()
            self._mark.advance(commits)
            if log_bytes(self.path) > LONGEST_LOG_BYTES:
                self._move_log()

    def _move_log(self) -> None:
        """Move the log into the store, where there is room for what that takes."""
        if self._undo is None or log_bytes(self.path) == 0:
            return
        with suppress(OSError), self._connection.cursor() as cursor, _undone(self._undo, cursor):
            cursor.execute("CHECKPOINT")

    def _let_go(self) -> None:
        with suppress(duckdb.Error):
            self._move_log()
        with _reported(self.path):
            self._opened.close()


# Opening


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Failures of DuckDB, of the disk and of values that no table holds, as this package's error."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OverflowError, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        if any(sign in reason for sign in _SIGNS_OF_DAMAGE):
            reason = f"damaged, put a copy in its place; its files are left as they are: {reason}"
        raise StoreError(f"{path}: {reason}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}: {error.filename}") from error


def _create(path: Path) -> None:
    """Make an empty store beside `path` and move it there whole, so that a kill leaves none or all."""
    if (log := log_of(path)).exists():
        raise StoreError(f"{path}: missing, but its log {log} is there: put the store back or remove the log")
    new = path.with_name(path.name + ".new")
    remove_left_over(new)
    with duckdb.connect(new) as connection:
        create_tables(connection)
    new.rename(path)


def _check_format(
    path: Path, connection: duckdb.DuckDBPyConnection, *, may_be_older: bool = False
) -> int | None:
    """The version that a store has to be brought up from, if it has to; refuses what is none or newer."""
    try:
        versions = column(connection, "SELECT format_version FROM redraft_store")
    except (duckdb.CatalogException, duckdb.BinderException):
        raise StoreError(f"{path}: a DuckDB file but not a redraft store, give another path") from None
    match versions:
        case [int(found)] if found == FORMAT_VERSION:
            return None
        case [int(found)] if OLDEST_VERSION <= found < FORMAT_VERSION and may_be_older:
            return found
        case [int(found)] if OLDEST_VERSION <= found < FORMAT_VERSION:
            advice = "open it once for writing, or make a new snapshot"
        case [int(found)] if found > FORMAT_VERSION:
            advice = "use a newer one"
        case _:
            advice = "give another path"
    shown = ", ".join(map(brief, versions)) or "unknown"
    raise StoreError(f"{path}: store format {shown}, this redraft reads {FORMAT_VERSION}: {advice}")


@contextmanager
def _undone(undo: Undo, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Whatever DuckDB moves from its log into the store in this block, a kill does no harm."""
    (block_bytes,) = column(cursor, _BLOCK_BYTES)
    undo.save(column(cursor, "SELECT block_id FROM pragma_metadata_info()"), block_bytes)
    yield
    undo.drop()


_MEMORY: dict[str, Any] = {"memory_limit": "512MB"}  # more goes to a folder beside the store
_ONLY_WHEN_TOLD = _MEMORY | {"checkpoint_threshold": "1TB"}
_BLOCK_BYTES = "SELECT block_size FROM pragma_database_size() WHERE database_name = current_database()"
_COUNT_COMMIT = "UPDATE redraft_store SET commits = commits + 1 RETURNING commits"
