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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from bundles.brief import brief
from bundles.durable import sync
from bundles.errors import StoreError
from bundles.lock import locked
from bundles.mark import Mark
from bundles.migrate import OLDEST_VERSION, migrated
from bundles.schema import FORMAT_VERSION, TABLES
from bundles.sql import column
from bundles.store_bundles import StoredBundles
from bundles.store_guard import check_magic, checked_mark, keep_log, new_id, real_path, remove_left_over
from bundles.store_reports import StoredReports
from bundles.store_runs import StoredRuns

_MIGRATED_ROWS = 4096
_SIGNS_OF_DAMAGE = ("Corrupt", "Could not read enough bytes", "Failure while replaying WAL", "Serialization")


class Store(StoredBundles, StoredRuns, StoredReports):
    """An open store; threads may share it. Use `Store.open`, and close it or use it in `with`."""

    def __init__(
        self, path: Path, connection: duckdb.DuckDBPyConnection, mark: Mark | None, opened: ExitStack
    ) -> None:
        self.path = path
        self._connection = connection
        self._mark = mark
        self._opened = opened
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
            kept = None if read_only else keep_log(path)
            connection = opened.enter_context(duckdb.connect(path, read_only=read_only))
            _bring_to_format(path, connection, read_only)
            if read_only:
                return cls(path, connection, None, opened.pop_all())
            mark = opened.enter_context(checked_mark(path, connection, kept))
            return cls(path, connection, mark, opened.pop_all())

    def close(self) -> None:
        """Write everything into the one file, where there is room, and let other processes in.

        Raises `StoreError` where the store had stopped before.
        """
        self._opened.close()
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
            self._opened.close()

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
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose work is committed, and so on disk, when the block ends well."""
        if self._mark is None:
            raise StoreError(f"{self.path}: opened for reading only")
        with self._writing, self._cursor() as cursor:
            cursor.begin()
            yield cursor  # closing the cursor rolls back what was not committed
            ((commits,),) = cursor.execute(_COUNT_COMMIT).fetchall()
            cursor.commit()
            self._mark.advance(commits)


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
    if (log := path.with_name(path.name + ".wal")).exists():
        raise StoreError(f"{path}: missing, but its log {log} is there: put the store back or remove the log")
    new = path.with_name(path.name + ".new")
    remove_left_over(new)
    with duckdb.connect(new) as connection:
        connection.execute("CREATE TABLE redraft_store (format_version INTEGER)")
        connection.execute("INSERT INTO redraft_store VALUES (?)", [FORMAT_VERSION])
        _add_commit_counter(connection)
        for name, schema in TABLES.items():
            connection.from_arrow(schema.empty_table()).create(name)
    new.rename(path)


def _bring_to_format(path: Path, connection: duckdb.DuckDBPyConnection, read_only: bool) -> None:
    """Rewrite a store of an earlier format, all of it or, killed, nothing; refuse what is none or newer."""
    try:
        versions = column(connection, "SELECT format_version FROM redraft_store")
    except (duckdb.CatalogException, duckdb.BinderException):
        raise StoreError(f"{path}: a DuckDB file but not a redraft store, give another path") from None
    match versions:
        case [int(found)] if found == FORMAT_VERSION:
            return
        case [int(found)] if OLDEST_VERSION <= found < FORMAT_VERSION and not read_only:
            _migrate(connection, found)
            return
        case [int(found)] if OLDEST_VERSION <= found < FORMAT_VERSION:
            advice = "open it once for writing, or make a new snapshot"
        case [int(found)] if found > FORMAT_VERSION:
            advice = "use a newer one"
        case _:
            advice = "give another path"
    shown = ", ".join(map(brief, versions)) or "unknown"
    raise StoreError(f"{path}: store format {shown}, this redraft reads {FORMAT_VERSION}: {advice}")


def _migrate(connection: duckdb.DuckDBPyConnection, version: int) -> None:
    with connection.cursor() as reader, connection.cursor() as writer:
        old = column(reader, "SELECT table_name FROM duckdb_tables()")
        writer.begin()
        for name, schema in TABLES.items():
            if name not in old:
                writer.from_arrow(schema.empty_table()).create(name)
                continue
            rows = reader.table(name).to_arrow_reader(_MIGRATED_ROWS)
            tables = (migrated(name, pa.Table.from_batches([batch]), version) for batch in rows)
            batches = (batch for table in tables for batch in table.to_batches())
            writer.register("incoming", pa.RecordBatchReader.from_batches(schema, batches))
            writer.execute(f'CREATE TABLE "{name}_new" AS SELECT * FROM incoming')
            writer.unregister("incoming")
            writer.execute(f'DROP TABLE "{name}"')
            writer.execute(f'ALTER TABLE "{name}_new" RENAME TO "{name}"')
        if version == 1:
            _add_commit_counter(writer)
        writer.execute("UPDATE redraft_store SET format_version = ?", [FORMAT_VERSION])
        writer.commit()


def _add_commit_counter(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute("ALTER TABLE redraft_store ADD COLUMN store_id VARCHAR")
    cursor.execute("ALTER TABLE redraft_store ADD COLUMN commits BIGINT")
    cursor.execute("UPDATE redraft_store SET store_id = ?, commits = 0", [new_id()])


_COUNT_COMMIT = "UPDATE redraft_store SET commits = commits + 1 RETURNING commits"
