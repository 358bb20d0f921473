from dataclasses import replace
from pathlib import Path

import pytest

from judge import IncomparableRuns
from replay.comparison import RunComparison
from replay.errors import NothingToRun, SettingsError
from replay.view.comparisons import compared
from replay.view.library import Library

RUN = "20260101-120000-abcd"


@pytest.fixture
def keep_later(keep, make):
    """Stores the usual run, and one that is called later and differs as is told."""

    def keep_later(count: int = 2, **changes: object) -> None:
        keep(make.evaluated(2))
        later = make.evaluated(count)
        attempts = tuple(replace(attempt, run_id="later") for attempt in later.attempts)
        keep(replace(later, run=replace(later.run, run_id="later", **changes), attempts=attempts))

    return keep_later


def compare(path: Path, before: str, after: str, *, across: bool = False) -> RunComparison | IncomparableRuns:
    with Library(path) as library, library.reading() as reading:
        return compared(reading, before, after, across=across)


def test_the_later_run_is_held_against_the_earlier(path: Path, keep_later) -> None:
    keep_later()
    found = compare(path, RUN, "later")
    assert isinstance(found, RunComparison)
    assert (found.units, found.arms["redraft"].identical) == (2, 1.0)


def test_runs_that_do_not_compare_say_why(path: Path, keep_later) -> None:
    keep_later(provenance={"kv_type": "f16"})
    assert "kv_type" in str(compare(path, RUN, "later"))
    found = compare(path, RUN, "later", across=True)
    assert isinstance(found, RunComparison)
    assert "kv_type" in found.across


def test_a_run_is_not_compared_with_itself(path: Path, keep_later) -> None:
    keep_later()
    with pytest.raises(SettingsError, match="cannot be compared with itself"):
        compare(path, RUN, RUN)


def test_runs_without_a_common_unit_are_said(path: Path, keep_later) -> None:
    keep_later(unit_ids=())
    with pytest.raises(NothingToRun, match="no unit in common"):
        compare(path, RUN, "later", across=True)
