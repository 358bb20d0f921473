from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Attempt, Bundle, Run, Source, Unit, Verdict
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
from bundles.schema import TABLES


@settings(max_examples=50)
@given(data=st.data())
def test_bundle_survives_its_tables_in_any_row_order(
    any_bundle: st.SearchStrategy[Bundle], data: st.DataObject
) -> None:
    bundle = data.draw(any_bundle)
    tables = bundle_tables(bundle)
    assert {name: table.schema for name, table in tables.items()} == {name: TABLES[name] for name in tables}
    reversed_rows = {
        name: pa.Table.from_pylist(table.to_pylist()[::-1], schema=table.schema)
        for name, table in tables.items()
    }
    assert bundle_of_tables(reversed_rows) == bundle


def test_a_text_is_one_revision_however_often_it_is_used(
    make_unit: Callable[..., Unit], make_bundle: Callable[..., Bundle]
) -> None:
    units = [
        make_unit("u1", stale="Friday.", kind="revise", edited="Friday."),
        make_unit("u2", sources_before=(Source("plan", "Launch on Monday."),), stale="Friday."),
    ]
    revisions = bundle_tables(make_bundle(*units))["revisions"].to_pylist()
    assert sorted((row["kind"], row["text"]) for row in revisions) == [
        ("derived", "Friday."),
        ("instruction", "Summarise."),
        ("source", "Launch on Friday."),
        ("source", "Launch on Monday."),
    ]


def test_runs_survive(make_run: Callable[..., Run], make_bundle: Callable[..., Bundle]) -> None:
    run = make_run(make_bundle(), finished="2025-01-02T04:00:00Z")
    (found,) = runs_of_table(run_table(run))
    assert found == run
    assert [type(value) for value in found.provenance.values()] == [str, int, float, bool, type(None)]


@settings(max_examples=50)
@given(text=st.text(), ids=st.lists(st.integers(-(2**31), 2**31 - 1)), ms=st.floats(allow_nan=False))
def test_attempts_survive(make_attempt: Callable[..., Attempt], text: str, ids: list[int], ms: float) -> None:
    attempts = [
        make_attempt(text=text, token_ids=tuple(ids), wall_ms=ms),
        make_attempt(status="error", error=text, spans=(), token_src=()),
    ]
    table = pa.Table.from_pylist([attempt_row(attempt) for attempt in attempts], schema=TABLES["attempts"])
    assert attempts_of_table(table) == attempts


@pytest.mark.parametrize("evidence", [None, (0, 0), (3, 9)])
def test_verdicts_survive(evidence: tuple[int, int] | None) -> None:
    verdict = Verdict("r1", "u1", "plain", 0, "expect-1", "fail", "facts", 1, evidence, "why")
    assert verdicts_of_table(verdicts_table([verdict])) == [verdict]
