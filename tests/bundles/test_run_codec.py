from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Attempt, Bundle, Run, Verdict
from bundles.run_codec import (
    attempt_row,
    attempts_of_table,
    run_table,
    runs_of_table,
    verdicts_of_table,
    verdicts_table,
)
from bundles.schema import TABLES


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
