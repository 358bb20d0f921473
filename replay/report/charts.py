"""Where things lie in the report's pictures. Pure.

Invariant: a picture shows what its table says; what is too much to draw is drawn together, never left out
unsaid. Across, places are percentages of the picture's width, so that it fits any page and its letters keep
their size; down, they are pixels.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from replay.history import History
from replay.report.figures import count, percent, times
from replay.summary import CategorySummary, Summary

SCATTER_HEIGHT, LANE, HEADING, AXIS, TIMELINE_HEIGHT = 300, 20, 22, 26, 220
MOST_POINTS, MOST_GROUPS = 1500, 20
_CELL = 1.5
"""Side of the cells, in percent, in which points are drawn together where there are more than MOST_POINTS."""
_TICKS = (0.1, 0.2, 0.25, 0.33, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0)
_MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Point:
    """Something at a place: `arm` is the arm's place among those under test, `label` says what it is."""

    x: float
    y: float
    arm: int
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the picture, and what it is called."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Units by the share of their tokens that was held, and by how much faster they are."""

    points: tuple[Point, ...]
    ticks: tuple[Tick, ...]
    even: float
    units: int
    merged: bool
    height: int = SCATTER_HEIGHT


@dataclass(frozen=True, slots=True)
class Lane:
    """One arm in one group: its units, median, interval and worst; None where they are not known."""

    arm: int
    y: float
    units: tuple[float, ...]
    median: float
    low: float | None
    high: float | None
    worst: float
    label: str


@dataclass(frozen=True, slots=True)
class Group:
    """The lanes of one category under its name."""

    name: str
    units: int
    y: float
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """How much faster each category's units are."""

    groups: tuple[Group, ...]
    ticks: tuple[Tick, ...]
    even: float
    height: float
    left_out: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """An arm's speedups over the runs of a bundle, oldest first, with each run's verdict."""

    points: tuple[Point, ...]
    bars: tuple[tuple[float, float, float], ...]
    ticks: tuple[Tick, ...]
    even: float
    runs: tuple[tuple[float, str, str], ...]
    height: int = TIMELINE_HEIGHT


class LogAxis:
    """Puts ratios on a line, as far from 1 above it as below."""

    def __init__(self, values: Iterable[float], start: float, end: float) -> None:
        known = [*values, 1.0]
        low, high = math.log(min(known)), math.log(max(known))
        room = max(high - low, math.log(1.5)) * 0.08
        self._low, self._high = low - room, max(high, low + math.log(1.5)) + room
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        """The place of a value."""
        share = (math.log(value) - self._low) / (self._high - self._low)
        return round(self._start + share * (self._end - self._start), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """Round values in between, 1 among them."""
        inside = [tick for tick in _TICKS if self._low <= math.log(tick) <= self._high]
        inside = inside or [1.0]
        even = inside.index(1.0)
        step = math.ceil(len(inside) / _MOST_TICKS)
        return tuple(Tick(self.at(tick), f"{tick:g}x") for tick in inside[even % step :: step])


def scatter(summary: Summary) -> Scatter | None:
    """None without a unit that has both figures."""
    found = [
        (
            arm.held,
            arm.speedup,
            place,
            f"{unit.unit_id}, {name}: {times(arm.speedup)}, {percent(arm.held)} held",
        )
        for unit in summary.unit_results
        for place, name in enumerate(summary.arms_under_test)
        if (arm := unit.arms[name]).held is not None and arm.speedup is not None
    ]
    if not found:
        return None
    axis = LogAxis([speed for _, speed, _, _ in found if speed is not None], SCATTER_HEIGHT - 8, 8)
    points = [
        Point(round(100 * held, 2), axis.at(speed), place, label)
        for held, speed, place, label in found
        if held is not None and speed is not None
    ]
    merged = len(points) > MOST_POINTS
    return Scatter(
        points=tuple(_merged(points) if merged else points),
        ticks=axis.ticks(),
        even=axis.at(1.0),
        units=len(found),
        merged=merged,
    )


def distribution(summary: Summary) -> Distribution | None:
    """Of the categories with the most units; None without any speedup."""
    arms = summary.arms_under_test
    timed = [
        part for part in summary.categories if any(part.arms[arm].speedup_median is not None for arm in arms)
    ]
    if not timed:
        return None
    shown = sorted(timed, key=lambda part: -part.units)[:MOST_GROUPS]
    speeds: dict[tuple[str, str], list[float]] = {}
    for unit in summary.unit_results:
        for name in arms:
            if (speed := unit.arms[name].speedup) is not None:
                speeds.setdefault((unit.category, name), []).append(speed)
    axis = LogAxis(
        (s for part in shown for name in arms for s in speeds.get((part.category, name), ())), 1, 99
    )
    groups: list[Group] = []
    y = float(AXIS)
    for part in shown:
        lanes = tuple(_lanes(part, arms, speeds, axis, y + HEADING))
        groups.append(Group(part.category, part.units, y, lanes))
        y += HEADING + LANE * len(lanes) + 8
    return Distribution(tuple(groups), axis.ticks(), axis.at(1.0), y, len(timed) - len(shown))


def timeline(history: History, arms: Sequence[str]) -> Timeline | None:
    """Of the arms that a report is on; None where no run has a speedup of any."""
    runs = [point for point in history.points if point.verdict is not None]
    found = [
        (at, place, arm, point.run_id)
        for at, point in enumerate(runs)
        for place, name in enumerate(arms)
        if (arm := point.arms.get(name)) and arm.speedup_median is not None
    ]
    limits = [
        limit for _, _, arm, _ in found for limit in (arm.speedup_median, arm.speedup_low, arm.speedup_high)
    ]
    if not found:
        return None
    axis = LogAxis((limit for limit in limits if limit is not None), TIMELINE_HEIGHT - 8, 8)
    places = [round(100 * (at + 0.5) / len(runs), 2) for at in range(len(runs))]
    return Timeline(
        points=tuple(
            Point(
                places[at],
                axis.at(arm.speedup_median),
                place,
                f"{run_id}, {arms[place]}: {times(arm.speedup_median)}",
            )
            for at, place, arm, run_id in found
            if arm.speedup_median is not None
        ),
        bars=tuple(
            (places[at], axis.at(arm.speedup_high), axis.at(arm.speedup_low))
            for at, _, arm, _ in found
            if arm.speedup_low is not None and arm.speedup_high is not None
        ),
        ticks=axis.ticks(),
        even=axis.at(1.0),
        runs=tuple((places[at], str(point.verdict), point.run_id) for at, point in enumerate(runs)),
    )


def _merged(points: Iterable[Point]) -> Iterator[Point]:
    """One point for those of an arm that lie in the same cell."""
    cells: dict[tuple[int, int, int], list[Point]] = {}
    for point in points:
        cell = (int(point.x / _CELL), int(point.y / (_CELL * SCATTER_HEIGHT / 100)), point.arm)
        cells.setdefault(cell, []).append(point)
    for together in cells.values():
        first = together[0]
        more = f" and {count(len(together) - 1, 'more unit')} near it" if len(together) > 1 else ""
        yield Point(first.x, first.y, first.arm, first.label + more)


def _lanes(
    part: CategorySummary,
    arms: Sequence[str],
    speeds: dict[tuple[str, str], list[float]],
    axis: LogAxis,
    top: float,
) -> Iterator[Lane]:
    row = 0
    for place, name in enumerate(arms):
        arm = part.arms[name]
        if arm.speedup_median is None or arm.slowest is None:
            continue
        known = arm.speedup_low is not None and arm.speedup_high is not None
        spread = f", 95% interval {arm.speedup_low:.2f} to {arm.speedup_high:.2f}" if known else ""
        dots = sorted({axis.at(speed) for speed in speeds.get((part.category, name), ())})
        yield Lane(
            arm=place,
            y=top + LANE * (row + 0.5),
            units=tuple(dots[:: math.ceil(len(dots) / 100) or 1]),
            median=axis.at(arm.speedup_median),
            low=axis.at(arm.speedup_low) if arm.speedup_low is not None else None,
            high=axis.at(arm.speedup_high) if arm.speedup_high is not None else None,
            worst=axis.at(arm.slowest),
            label=f"{name}: median {times(arm.speedup_median)}{spread}, slowest {times(arm.slowest)}",
        )
        row += 1
