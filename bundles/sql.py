"""What the parts of the store share: a cursor, and moving Arrow tables through it.

Invariant: a statement is a constant; values go in as parameters, tables as Arrow.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from bundles.errors import UnknownRef
from bundles.schema import TABLES


class Cursor(Protocol):
    """The part of a DuckDB cursor that is used here."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run a statement; the rows are fetched from what it returns."""

    def sql(self, query: str, /, *, params: Any = ...) -> Any:
        """A query whose result is taken as an Arrow table."""

    def register(self, name: str, table: Any, /) -> Any:
        """Let statements read an Arrow table, or a reader of batches, under this name."""

    def unregister(self, name: str, /) -> Any:
        """Forget that name."""


class Part(ABC):
    """A part of the store: works on cursors that the store gives it."""

    @abstractmethod
    def _cursor(self) -> AbstractContextManager[Cursor]:
        """A cursor of its own for one call: a shared one mixes up threads."""

    @abstractmethod
    def _transaction(self, *, small: bool = False) -> AbstractContextManager[Cursor]:
        """A cursor whose work, `small` or large, is committed and so on disk when the block ends well."""


def select(cursor: Cursor, table: str, query: str, **values: object) -> pa.Table:
    """The rows of a query, with the columns and types that the table's schema promises."""
    schema = TABLES[table]
    found: pa.Table = cursor.sql(query, params=values).to_arrow_table()
    return found.select(schema.names).cast(schema)


def insert(cursor: Cursor, statement: str, incoming: Any) -> None:
    """Run a statement that reads the table `incoming`."""
    cursor.register("incoming", incoming)
    cursor.execute(statement)
    cursor.unregister("incoming")


def column(cursor: Cursor, query: str, *values: object) -> list[Any]:
    """The values of a query of one column."""
    return [value for (value,) in cursor.execute(query, values).fetchall()]


def require_run(cursor: Cursor, run_id: str) -> None:
    """Raise `UnknownRef` unless there is this run."""
    if not column(cursor, "SELECT count(*) FROM runs WHERE run_id = ?", run_id)[0]:
        raise UnknownRef(f"run {run_id} is not in the store")
