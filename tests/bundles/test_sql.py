from collections.abc import Iterator

import duckdb
import pytest

from bundles import UnknownRef
from bundles.schema import TABLES
from bundles.sql import column, insert, require_run, select


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, schema in TABLES.items():
            connection.from_arrow(schema.empty_table()).create(name)
        yield connection


@pytest.mark.parametrize("name", TABLES)
def test_a_table_goes_in_and_comes_out_with_its_schema(name: str, cursor: duckdb.DuckDBPyConnection) -> None:
    insert(cursor, f"INSERT INTO {name} BY NAME SELECT * FROM incoming", TABLES[name].empty_table())
    found = select(cursor, name, f"SELECT * FROM {name}")
    assert found.schema.equals(TABLES[name], check_metadata=True)


def test_values_are_never_part_of_a_statement(cursor: duckdb.DuckDBPyConnection) -> None:
    assert column(cursor, "SELECT ?", "'; DROP TABLE runs; --") == ["'; DROP TABLE runs; --"]
    with pytest.raises(UnknownRef, match="run '; DROP TABLE runs is not in the store"):
        require_run(cursor, "'; DROP TABLE runs")
