from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.history import history_of
from replay.report.charts import (
    MOST_GROUPS,
    MOST_POINTS,
    SCATTER_HEIGHT,
    LogAxis,
    distribution,
    scatter,
    timeline,
)
from replay.summary import Summary

Case = Callable[[str], Summary]
speeds = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


@given(values=speeds)
def test_an_axis_holds_all_its_values_and_one_in_their_order(values: list[float]) -> None:
    axis = LogAxis(values, 0, 100)
    places = [axis.at(value) for value in sorted([*values, 1.0])]
    assert places == sorted(places)
    assert places[0] >= 0
    assert places[-1] <= 100
    labels = [tick.label for tick in axis.ticks()]
    assert "1x" in labels
    assert len(labels) <= 9
    assert all(0 <= tick.at <= 100 for tick in axis.ticks())


def test_an_axis_puts_half_and_double_at_the_same_distance_from_even() -> None:
    axis = LogAxis([0.25, 4.0], 0, 100)
    assert axis.at(2) - axis.at(1) == pytest.approx(axis.at(1) - axis.at(0.5), abs=0.02)


def test_every_measured_unit_is_a_point_that_names_it(case: Case) -> None:
    summary = case("various")
    picture = scatter(summary)
    assert picture is not None
    assert (len(picture.points), picture.units, picture.merged) == (24, 24, False)
    unit = summary.unit_results[3].arms["redraft"]
    (label,) = (point.label for point in picture.points if point.label.startswith("u3, redraft: "))
    assert label == f"u3, redraft: {unit.speedup:.2f}x, 50% held"
    assert {point.arm for point in picture.points} == {0, 1}
    assert all(0 <= point.x <= 100 and 0 <= point.y <= SCATTER_HEIGHT for point in picture.points)


def test_faster_is_higher_and_more_held_is_further_right(case: Case) -> None:
    summary = case("various")
    picture = scatter(summary)
    assert picture is not None
    for point in picture.points:
        unit_id, arm = point.label.split(": ")[0].split(", ", 1)
        unit = next(unit for unit in summary.unit_results if unit.unit_id == unit_id).arms[arm]
        assert unit.speedup is not None
        assert unit.held is not None
        assert (point.y < picture.even) == (unit.speedup > 1)
        assert point.x == pytest.approx(100 * unit.held, abs=0.01)


def test_points_too_many_to_draw_are_drawn_together_and_none_is_dropped(case: Case) -> None:
    small = case("various")
    units = [
        unit.model_copy(update={"unit_id": f"{unit.unit_id}-{n}"})
        for n in range(100)
        for unit in small.unit_results
    ]
    picture = scatter(small.model_copy(update={"unit_results": tuple(units)}))
    assert picture is not None
    assert (picture.units, picture.merged) == (2400, True)
    assert len(picture.points) <= MOST_POINTS
    more = [
        int(point.label.split(" and ")[1].split()[0]) for point in picture.points if " and " in point.label
    ]
    assert len(picture.points) + sum(more) == 2400


def test_nothing_measured_is_no_picture(case: Case) -> None:
    assert scatter(case("empty_run")) is None
    assert distribution(case("empty_run")) is None


def test_each_category_has_a_lane_for_each_arm(case: Case) -> None:
    summary = case("various")
    picture = distribution(summary)
    assert picture is not None
    assert [(group.name, group.units, len(group.lanes)) for group in picture.groups] == [
        ("value", 4, 2), ("rename", 4, 2), ("append", 4, 2),
    ]  # fmt: skip
    arm = summary.categories[0].arms["redraft"]
    lane = picture.groups[0].lanes[0]
    assert lane.label == f"redraft: median {arm.speedup_median:.2f}x, slowest {arm.slowest:.2f}x"
    assert lane.worst == min(lane.units)
    assert (lane.low, lane.high) == (None, None)  # four sessions are too few
    ys = [lane.y for group in picture.groups for lane in group.lanes]
    assert ys == sorted(set(ys))
    assert ys[-1] < picture.height


def test_an_interval_is_drawn_where_there_is_one(case: Case) -> None:
    picture = distribution(case("all_identical"))
    assert picture is not None
    lane = picture.groups[0].lanes[0]
    assert (lane.low, lane.high) == (lane.median, lane.median)
    assert "95% interval 2.00 to 2.00" in lane.label


def test_more_categories_than_a_picture_holds_are_counted(case: Case) -> None:
    summary = case("various")
    parts = [summary.categories[0].model_copy(update={"category": f"c{n}", "units": n}) for n in range(25)]
    picture = distribution(summary.model_copy(update={"categories": tuple(parts)}))
    assert picture is not None
    assert (len(picture.groups), picture.left_out) == (MOST_GROUPS, 5)
    assert picture.groups[0].name == "c24"


def test_runs_follow_each_other_and_one_without_a_verdict_is_not_drawn(make: Any, case: Case) -> None:
    evaluated = make.evaluated(6)
    summary = case("all_identical")
    found = [(make.run(evaluated.units, run_id=f"r{n}"), summary) for n in range(2)]
    history = history_of(
        make.bundle(evaluated.units), [*found, (make.run(evaluated.units, run_id="x"), "not judged")]
    )
    picture = timeline(history, summary.arms_under_test)
    assert picture is not None
    assert [(x, verdict, run_id) for x, verdict, run_id in picture.runs] == [
        (25.0, "pass", "r0"),
        (75.0, "pass", "r1"),
    ]
    assert [point.label for point in picture.points][:2] == [
        "r0, redraft: 2.00x",
        "r0, redraft:tau=3,floor=1: 2.00x",
    ]
    assert len(picture.bars) == 4
    assert timeline(history, ("absent",)) is None
