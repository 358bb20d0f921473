from dataclasses import fields

import pytest

from bundles import Attempt, Event, Fact, Run, Session, Unit, Verdict
from bundles.schema import FORMAT_VERSION, TABLES


@pytest.mark.parametrize("table", TABLES)
def test_every_table_says_its_format_version(table: str) -> None:
    assert TABLES[table].metadata == {b"format_version": str(FORMAT_VERSION).encode()}


@pytest.mark.parametrize(
    ("table", "record", "elsewhere"),
    [
        pytest.param("sessions", Session, set(), id="sessions"),
        pytest.param("units", Unit, {"facts"}, id="units"),
        pytest.param("facts", Fact, set(), id="facts"),
        pytest.param("events", Event, set(), id="events"),
        pytest.param("runs", Run, set(), id="runs"),
        pytest.param("attempts", Attempt, set(), id="attempts"),
        pytest.param("verdicts", Verdict, {"evidence"}, id="verdicts"),
    ],
)
def test_table_has_a_column_for_every_field(table: str, record: type, elsewhere: set[str]) -> None:
    assert {field.name for field in fields(record)} - elsewhere <= set(TABLES[table].names)
