"""The store's tables as they are made, and as they are brought up from earlier versions.

Invariant: afterwards the store has the tables of `schema.py`, and one row that says its format, its id and
how many commits it has seen.
"""

from typing import Any

import pyarrow as pa

from bundles.migrate import migrated
from bundles.schema import FORMAT_VERSION, TABLES
from bundles.sql import column
from bundles.store_guard import new_id

_MIGRATED_ROWS = 4096


def create_tables(connection: Any) -> None:
    """Make the tables in an empty DuckDB file."""
    connection.execute("CREATE TABLE redraft_store (format_version INTEGER)")
    connection.execute("INSERT INTO redraft_store VALUES (?)", [FORMAT_VERSION])
    _add_commit_counter(connection)
    for name, schema in TABLES.items():
        connection.from_arrow(schema.empty_table()).create(name)


def migrate_tables(connection: Any, version: int) -> None:
    """Rewrite the tables of this earlier version, all of them or, killed, none; rows stay in their order."""
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


def _add_commit_counter(cursor: Any) -> None:
    cursor.execute("ALTER TABLE redraft_store ADD COLUMN store_id VARCHAR")
    cursor.execute("ALTER TABLE redraft_store ADD COLUMN commits BIGINT")
    cursor.execute("UPDATE redraft_store SET store_id = ?, commits = 0", [new_id()])
