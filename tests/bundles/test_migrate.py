from collections.abc import Callable

import pyarrow as pa
import pytest

from bundles import Attempt
from bundles.migrate import OLDEST_VERSION, STEPS, migrated
from bundles.run_codec import attempt_row, attempts_of_table
from bundles.schema import FORMAT_VERSION, TABLES


def test_there_is_one_step_a_version() -> None:
    assert OLDEST_VERSION + len(STEPS) == FORMAT_VERSION


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_today_is_left_as_it_is(name: str) -> None:
    table = TABLES[name].empty_table()
    assert migrated(name, table, FORMAT_VERSION).equals(table, check_metadata=True)


def test_attempts_of_version_1_get_their_counts(make_attempt: Callable[..., Attempt]) -> None:
    attempts = [make_attempt(token_src=(0, -1, 2)), make_attempt("r2", token_src=(), token_ids=())]
    now = pa.Table.from_pylist([attempt_row(attempt) for attempt in attempts], schema=TABLES["attempts"])
    later = ["wasted_rows", "host_ms", "patched_tokens", "strict_tokens", "tokens", "held"]
    table = migrated("attempts", now.drop_columns(later), 1)
    assert table.schema == TABLES["attempts"]
    assert table.select(["tokens", "held"]).to_pylist() == [
        {"tokens": 3, "held": 2},
        {"tokens": 0, "held": 0},
    ]
    assert attempts_of_table(table) == attempts
