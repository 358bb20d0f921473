"""The DuckDB file that holds bundles and runs.

Invariant: what a method has returned from is on disk and is there once, as far as DuckDB keeps its word:
while a store is open, or after a kill, part of it is in a log beside it (`.wal`), and a log that others
removed or cut short is not noticed. One process has the store open, by a lock of our own, for DuckDB's is
dropped by any open and close of the file within the process. No index and no key is declared (their
recovery has had bugs); uniqueness is kept here, by one writer at a time. Every call uses a cursor of its
own, for a shared one mixes up threads.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from bundles.brief import brief
from bundles.codec import (
    attempt_row,
    attempts_of_table,
    bundle_of_tables,
    bundle_tables,
    run_table,
    runs_of_table,
    verdicts_of_table,
    verdicts_table,
)
from bundles.errors import DuplicateAttempt, StoreError, UnknownRef
from bundles.lock import locked
from bundles.records import Attempt, Bundle, Run, Verdict
from bundles.schema import FORMAT_VERSION, TABLES


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """A stored bundle in brief, with its numbers of sessions and units."""

    bundle_id: str
    name: str
    sessions: int
    units: int


class Store:
    """An open store; threads may share it. Use `Store.open`, and close it or use it in `with`."""

    def __init__(self, path: Path, connection: duckdb.DuckDBPyConnection, opened: ExitStack) -> None:
        self.path = path
        self._connection = connection
        self._opened = opened
        self._writing = threading.Lock()
        self._failure: str | None = None

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Self:
        """Open the store at `path`, made on first use unless `create` is false.

        Raises `StoreLocked` while another process has it open, `StoreError` where there is none, it
        cannot be read, or it is of another kind or format.
        """
        if "\0" in str(path) or not _is_unicode(str(path)):
            raise StoreError(f"{brief(str(path))}: a store's path must be Unicode without NUL characters")
        path = Path(os.path.realpath(path))
        with _reported(path), ExitStack() as opened:
            if os.path.lexists(path):
                _check_magic(path)  # before a lock file is put beside what is none of ours
            elif not create:
                raise StoreError(f"{path}: no such store, import or run a suite first")
            opened.enter_context(locked(path))
            if not os.path.lexists(path):
                _create(path)
            connection = opened.enter_context(duckdb.connect(path))
            _check_format(path, connection)
            return cls(path, connection, opened.pop_all())

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

    # Bundles

    def add_bundle(self, bundle: Bundle) -> bool:
        """Store a bundle; False where one of the same content is there already."""
        with self._transaction() as cursor:
            if bundle.bundle_id in _column(cursor, "SELECT bundle_id FROM bundles"):
                return False
            tables = bundle_tables(bundle)
            _insert(cursor, _INSERT_NEW_REVISIONS, tables["revisions"])
            _insert(cursor, "INSERT INTO bundles BY NAME SELECT * FROM incoming", tables["bundles"])
            _insert(cursor, "INSERT INTO sessions BY NAME SELECT * FROM incoming", tables["sessions"])
            _insert(cursor, "INSERT INTO units BY NAME SELECT * FROM incoming", tables["units"])
            _insert(cursor, "INSERT INTO facts BY NAME SELECT * FROM incoming", tables["facts"])
        return True

    def bundle(self, ref: str) -> Bundle:
        """The bundle of this id, of this name or with an id that begins so; raises `UnknownRef`."""
        found = _the_one("bundle", ref, {info.bundle_id: info.name for info in self.bundles()})
        with self._cursor() as cursor:
            return bundle_of_tables(
                {name: _select(cursor, name, _OF_BUNDLE[name], found) for name in _OF_BUNDLE}
            )

    def bundles(self) -> list[BundleInfo]:
        """All bundles, by name."""
        with self._cursor() as cursor:
            rows = cursor.execute(
                "SELECT bundle_id, name,"
                " (SELECT count(*) FROM sessions WHERE sessions.bundle_id = bundles.bundle_id),"
                " (SELECT count(*) FROM units WHERE units.bundle_id = bundles.bundle_id)"
                " FROM bundles ORDER BY name, bundle_id"
            ).fetchall()
        return [BundleInfo(*row) for row in rows]

    # Runs

    def create_run(self, run: Run) -> None:
        """Store a run before its first attempt."""
        with self._transaction() as cursor:
            if run.bundle_id not in _column(cursor, "SELECT bundle_id FROM bundles"):
                raise UnknownRef(
                    f"run {run.run_id}: bundle {run.bundle_id} is not in the store, add it first"
                )
            if run.run_id in _column(cursor, "SELECT run_id FROM runs"):
                raise StoreError(f"run {run.run_id} is already in the store, give the new one another id")
            _insert(cursor, "INSERT INTO runs BY NAME SELECT * FROM incoming", run_table(run))

    def finish_run(self, run_id: str, finished: str) -> None:
        """Note when the run ended (ISO 8601, UTC)."""
        with self._transaction() as cursor:
            _require_run(cursor, run_id)
            cursor.execute("UPDATE runs SET finished = ? WHERE run_id = ?", [finished, run_id])

    def run(self, ref: str) -> Run:
        """The run whose id begins so, or for "last" the one stored last; raises `UnknownRef`."""
        runs = self.runs()
        if ref == "last" and runs:
            return runs[-1]
        found = _the_one("run", ref, {run.run_id: run.run_id for run in runs})
        return next(run for run in runs if run.run_id == found)

    def runs(self) -> list[Run]:
        """All runs, in the order they were stored."""
        with self._cursor() as cursor:
            query = cursor.sql("SELECT * FROM runs ORDER BY rowid")
            return runs_of_table(_typed(query.to_arrow_table(), "runs"))

    # Attempts and verdicts

    def add_attempt(self, attempt: Attempt) -> None:
        """Store an attempt, in place of an earlier one of the same key that did not go well and its verdicts.

        Raises `DuplicateAttempt` where the earlier one did, `UnknownRef` for an unknown run, and
        `StoreError` where it cannot be written; where that stops the store, it may be in it all the same.
        """
        with self._transaction() as cursor:
            _require_run(cursor, attempt.run_id)
            key = [attempt.run_id, *attempt.key]
            (earlier,) = cursor.execute(_STATUS_OF_ATTEMPT, key).fetchone() or (None,)
            if earlier == "ok":
                unit_id, arm, repeat = attempt.key
                place = f"unit {unit_id!r}, arm {arm!r}, repeat {repeat}"
                raise DuplicateAttempt(f"run {attempt.run_id}: {place} is already stored")
            if earlier is not None:
                cursor.execute(_DELETE_ATTEMPT, key)
                cursor.execute(_DELETE_VERDICTS, key)
            cursor.execute(_INSERT_ATTEMPT, attempt_row(attempt))

    def attempts(self, run_id: str) -> list[Attempt]:
        """All attempts of a run, by unit, repeat and order."""
        with self._cursor() as cursor:
            _require_run(cursor, run_id)
            return attempts_of_table(_select(cursor, "attempts", _ATTEMPTS_OF_RUN, run_id))

    def replace_verdicts(self, run_id: str, verdicts: Sequence[Verdict]) -> None:
        """Put these verdicts in place of all that the run has; all of them or, failing, none."""
        if foreign := {verdict.run_id for verdict in verdicts} - {run_id}:
            raise StoreError(f"run {run_id}: a verdict of run {min(foreign)} is not one of its own")
        keys = Counter(
            (verdict.unit_id, verdict.arm, verdict.repeat, verdict.fact_id) for verdict in verdicts
        )
        for (unit_id, arm, repeat, fact_id), count in keys.items():
            if count > 1:
                place = f"unit {unit_id!r}, arm {arm!r}, repeat {repeat}, fact {fact_id!r}"
                raise StoreError(f"run {run_id}: {count} verdicts of {place}, one is allowed")
        with self._transaction() as cursor:
            _require_run(cursor, run_id)
            cursor.execute("DELETE FROM verdicts WHERE run_id = ?", [run_id])
            _insert(cursor, "INSERT INTO verdicts BY NAME SELECT * FROM incoming", verdicts_table(verdicts))

    def verdicts(self, run_id: str) -> list[Verdict]:
        """All verdicts of a run, by unit, repeat, arm and fact."""
        with self._cursor() as cursor:
            _require_run(cursor, run_id)
            return verdicts_of_table(_select(cursor, "verdicts", _VERDICTS_OF_RUN, run_id))

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
        with self._writing, self._cursor() as cursor:
            cursor.begin()
            yield cursor  # closing the cursor rolls back what was not committed
            cursor.commit()


# Opening


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Failures of DuckDB, of the disk and of values that no table holds, as this package's error."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OverflowError, UnicodeError) as error:
        raise StoreError(f"{path}: {str(error).splitlines()[0]}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}: {error.filename}") from error


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _create(path: Path) -> None:
    """Make an empty store beside `path` and move it there whole, so that a kill leaves none or all."""
    if (log := path.with_name(path.name + ".wal")).exists():
        raise StoreError(f"{path}: missing, but its log {log} is there: put the store back or remove the log")
    new = path.with_name(path.name + ".new")
    for left_over in (new, new.with_name(new.name + ".wal")):
        left_over.unlink(missing_ok=True)
    with duckdb.connect(new) as connection:
        connection.execute("CREATE TABLE redraft_store (format_version INTEGER)")
        connection.execute("INSERT INTO redraft_store VALUES (?)", [FORMAT_VERSION])
        for name, schema in TABLES.items():
            connection.from_arrow(schema.empty_table()).create(name)
    new.rename(path)


def _check_magic(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise StoreError(f"{path}: not a redraft store, give another path")


def _check_format(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    try:
        versions = _column(connection, "SELECT format_version FROM redraft_store")
    except (duckdb.CatalogException, duckdb.BinderException):
        raise StoreError(f"{path}: a DuckDB file but not a redraft store, give another path") from None
    match versions:
        case [int(found)] if found == FORMAT_VERSION:
            return
        case [int(found)] if found > FORMAT_VERSION:
            advice = "use a newer one"
        case _:
            advice = "give another path"
    shown = ", ".join(map(brief, versions)) or "unknown"
    raise StoreError(f"{path}: store format {shown}, this redraft reads {FORMAT_VERSION}: {advice}")


# Queries

_OF_BUNDLE = {
    "bundles": "SELECT * FROM bundles WHERE bundle_id = $ref",
    "sessions": "SELECT * FROM sessions WHERE bundle_id = $ref",
    "units": "SELECT * FROM units WHERE bundle_id = $ref",
    "facts": "SELECT * FROM facts WHERE bundle_id = $ref",
    "revisions": """
        SELECT * FROM revisions SEMI JOIN (
            SELECT unnest([instruction, stale, edited]) AS revision_id FROM units WHERE bundle_id = $ref
            UNION ALL
            SELECT unnest(sources_before).revision_id FROM units WHERE bundle_id = $ref
            UNION ALL
            SELECT unnest(sources_after).revision_id FROM units WHERE bundle_id = $ref
        ) USING (revision_id)""",
}
_ATTEMPTS_OF_RUN = 'SELECT * FROM attempts WHERE run_id = $ref ORDER BY unit_id, repeat, "order", arm'
_VERDICTS_OF_RUN = "SELECT * FROM verdicts WHERE run_id = $ref ORDER BY unit_id, repeat, arm, fact_id"
_INSERT_NEW_REVISIONS = """
    INSERT INTO revisions BY NAME SELECT * FROM incoming ANTI JOIN revisions USING (revision_id)"""


_STATUS_OF_ATTEMPT = "SELECT status FROM attempts WHERE run_id = ? AND unit_id = ? AND arm = ? AND repeat = ?"
_DELETE_ATTEMPT = "DELETE FROM attempts WHERE run_id = ? AND unit_id = ? AND arm = ? AND repeat = ?"
_DELETE_VERDICTS = "DELETE FROM verdicts WHERE run_id = ? AND unit_id = ? AND arm = ? AND repeat = ?"
_INSERT_ATTEMPT = """
    INSERT INTO attempts (
        run_id, unit_id, arm, repeat, "order", status, error, text, token_ids, token_src, spans,
        wall_ms, queued_ms, prompt_ms, prompt_tokens, divergences, passes, rows
    ) VALUES (
        $run_id, $unit_id, $arm, $repeat, $order, $status, $error, $text, $token_ids, $token_src, $spans,
        $wall_ms, $queued_ms, $prompt_ms, $prompt_tokens, $divergences, $passes, $rows
    )"""


def _select(cursor: duckdb.DuckDBPyConnection, table: str, query: str, ref: str) -> pa.Table:
    return _typed(cursor.sql(query, params={"ref": ref}).to_arrow_table(), table)


def _typed(result: pa.Table, table: str) -> pa.Table:
    """The result with the columns and types that the table's schema promises."""
    schema = TABLES[table]
    return result.select(schema.names).cast(schema)


def _insert(cursor: duckdb.DuckDBPyConnection, statement: str, incoming: pa.Table) -> None:
    cursor.register("incoming", incoming)
    cursor.execute(statement)
    cursor.unregister("incoming")


def _column(cursor: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    return [value for (value,) in cursor.execute(query).fetchall()]


def _require_run(cursor: duckdb.DuckDBPyConnection, run_id: str) -> None:
    if run_id not in _column(cursor, "SELECT run_id FROM runs"):
        raise UnknownRef(f"run {run_id} is not in the store")


def _the_one(what: str, ref: str, names: dict[str, str]) -> str:
    """The id that `ref` means: the same, or else the one of that name, or else the one that begins so."""
    if ref in names:
        return ref
    found = [key for key, name in names.items() if name == ref]
    found = found or [key for key in names if ref and key.startswith(ref)]
    if len(found) == 1:
        return found[0]
    shown = ", ".join((found or list(names.values()))[-5:]) or "none"
    if found:
        raise UnknownRef(f"{what} {brief(ref)} is ambiguous, there are: {shown}")
    raise UnknownRef(f"no {what} {brief(ref)} in the store, there are: {shown}")
