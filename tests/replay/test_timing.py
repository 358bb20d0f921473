import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.timing import FEWEST_SESSIONS, interval, metric_of, speedup

values = st.lists(st.floats(0.1, 10), min_size=FEWEST_SESSIONS, max_size=40)


def test_a_unit_counts_once_whatever_its_repeats(make: Any) -> None:
    units = [make.unit("a"), make.unit("b"), make.unit("c")]
    plain = [make.attempt(unit.unit_id, wall_ms=100.0) for unit in units]
    arm = [make.attempt("a", "redraft", repeat, wall_ms=10.0) for repeat in range(9)]
    arm += [make.attempt("b", "redraft", wall_ms=50.0), make.attempt("c", "redraft", wall_ms=200.0)]
    found = speedup(units, plain, arm, seed=0)
    assert (found.median, found.slowest, found.slowest_unit) == (2.0, 0.5, "c")


def test_repeats_are_reduced_to_their_median(make: Any) -> None:
    arm = [make.attempt("u", "redraft", repeat, wall_ms=wall) for repeat, wall in enumerate((10, 50, 999))]
    assert speedup([make.unit()], [make.attempt(wall_ms=100.0)], arm, seed=0).median == 2.0


def test_failed_attempts_and_unpaired_units_are_not_timed(make: Any) -> None:
    failed = make.attempt("u", "redraft", status="error", wall_ms=1.0)
    assert speedup([make.unit()], [make.attempt()], [failed], seed=0).median is None
    assert speedup([make.unit()], [], [make.attempt("u", "redraft")], seed=0).median is None


def test_too_few_sessions_give_no_interval() -> None:
    assert interval([1.0] * 99, ["one session"] * 99, seed=0) == (None, None)


@given(values=values, seed=st.integers(0, 2**32))
def test_interval_is_seeded_ordered_and_within_the_data(values: list[float], seed: int) -> None:
    sessions = [str(index) for index in range(len(values))]
    low, high = interval(values, sessions, seed)
    assert low is not None
    assert high is not None
    assert min(values) <= low <= high <= max(values)
    assert interval(values, sessions, seed) == (low, high)


@given(values=values)
def test_interval_holds_the_median_of_many_sessions(values: list[float]) -> None:
    low, high = interval(values, [str(index) for index in range(len(values))], seed=1)
    assert low is not None
    assert high is not None
    assert low <= statistics.median(values) <= high


def test_units_of_one_session_are_one_piece_of_evidence() -> None:
    ratios = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    apart = interval(ratios * 20, [str(index) for index in range(140)], seed=0)
    together = interval(ratios * 20, [str(index % 7) for index in range(140)], seed=0)
    assert apart[0] is not None
    assert together[0] is not None
    assert together[1] - together[0] > apart[1] - apart[0]


def test_resampled_median_is_the_one_of_the_drawn_values() -> None:
    assert interval([2.0] * 6, list("abcdef"), seed=3) == (2.0, pytest.approx(2.0))


def test_speed_is_of_passes_where_attempts_contended(make: Any) -> None:
    units = [make.unit()]
    assert metric_of(make.run(units)) == "wall"
    assert metric_of(make.run(units, provenance={"jobs": 1})) == "wall"
    assert metric_of(make.run(units, provenance={"jobs": 2})) == "passes"
