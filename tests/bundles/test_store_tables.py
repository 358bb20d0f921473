import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from bundles.schema import FORMAT_VERSION, TABLES
from bundles.store_tables import create_tables, migrate_tables

OLD_STORE = Path(__file__).parents[1] / "data" / "store-v1.duckdb.gz"


def create(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path)
    create_tables(connection)
    return connection


def migrate(path: Path) -> duckdb.DuckDBPyConnection:
    path.write_bytes(gzip.decompress(OLD_STORE.read_bytes()))
    connection = duckdb.connect(path)
    migrate_tables(connection, 1)
    return connection


@pytest.mark.parametrize("make", [create, migrate])
def test_new_and_migrated_stores_have_the_same_tables(
    make: Callable[[Path], duckdb.DuckDBPyConnection], tmp_path: Path
) -> None:
    with make(tmp_path / "s.duckdb") as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert {name for (name,) in names} == {"redraft_store", *TABLES}
        for name, schema in TABLES.items():
            assert connection.table(name).to_arrow_table().schema.names == schema.names
        ((version, store_id, commits),) = connection.execute("FROM redraft_store").fetchall()
        assert (version, len(store_id), commits) == (FORMAT_VERSION, 32, 0)


def test_rows_of_a_migrated_table_stay_in_their_order(tmp_path: Path) -> None:
    with migrate(tmp_path / "s.duckdb") as connection:
        runs = connection.execute("SELECT run_id FROM runs ORDER BY rowid").fetchall()
        assert runs == [("r1",), ("a0",)]


def test_a_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(gzip.decompress(OLD_STORE.read_bytes()))
    monkeypatch.setitem(TABLES, "verdicts", TABLES["runs"])
    with duckdb.connect(path) as connection:
        with pytest.raises(duckdb.Error, match="bundle_id"):
            migrate_tables(connection, 1)
        assert connection.execute("FROM redraft_store").fetchall() == [(1,)]
        assert "wasted_rows" not in connection.table("attempts").columns
