"""From measured attempts to figures. Pure, and seeded where it draws.

Invariant: a unit counts once, whatever its repeats, and only where plain generation and the arm or limit
that is held against it have both finished.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from bundles import Attempt
from judge import judge_attempts
from replay.arms import PLAIN
from replay.bench.copy_oracle import Answer, Cost, cheapest, plain_cost
from replay.bench.measuring import LB0, Measured
from replay.bench.pass_costs import PassCosts
from replay.bench.result import ArmFigures, LimitFigures, SlowUnit, Speed, UnitArm, UnitFigures, UnitLimit
from replay.timing import speedup_of

LB1 = "lb1"
SLOW = 1 / 1.05
"""Below this an arm slows a unit down by more than what repeats differ in."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """What LB1 is computed from: the engine's calibration, and the widest pass that is exact."""

    costs: PassCosts
    most_rows: int

    def limit(self, measured: Measured) -> "Limit | None":
        """LB1 at a unit; None where plain generation has not finished."""
        plain = _finished(measured, PLAIN)
        if not plain:
            return None
        first = plain[0]
        answer = Answer(first.token_ids, first.passes >= len(first.token_ids), first.prompt_tokens)
        wall_ms = median(attempt.wall_ms for attempt in plain)
        answer_ms = wall_ms - median(attempt.prompt_ms for attempt in plain)
        modelled = plain_cost(answer, self.costs)
        least = cheapest(answer, measured.stale_tokens, self.costs, self.most_rows)
        share = least.ms / modelled.ms if modelled.ms else 1.0
        return Limit(wall_ms - answer_ms * (1 - share), least, modelled.ms, answer_ms)


@dataclass(frozen=True, slots=True)
class Limit:
    """LB1's time at a unit and its passes; what plain's passes should take and what they took."""

    wall_ms: float
    least: Cost
    modelled_ms: float
    answer_ms: float


def unit_figures(measured: Measured, arms: Sequence[str], limit: Limit | None) -> UnitFigures:
    """One unit's figures."""
    unit = measured.unit
    plain = _finished(measured, PLAIN)
    plain_ms = median(attempt.wall_ms for attempt in plain) if plain else None
    limits = {}
    if plain_ms is not None:
        if limit is not None:
            speedup = plain_ms / limit.wall_ms
            limits[LB1] = UnitLimit(
                wall_ms=limit.wall_ms, speedup=speedup, passes=limit.least.passes, rows=limit.least.rows
            )
        if replayed := _finished(measured, LB0):
            wall_ms = median(attempt.wall_ms for attempt in replayed)
            limits[LB0] = UnitLimit(
                wall_ms=wall_ms,
                speedup=plain_ms / wall_ms,
                passes=median_low(attempt.passes for attempt in replayed),
                rows=median_low(attempt.rows for attempt in replayed),
            )
    return UnitFigures(
        unit_id=unit.unit_id,
        session_id=unit.session_id,
        category=unit.category,
        arms={arm: _unit_arm(measured, arm, plain) for arm in arms},
        limits=limits,
    )


def arm_figures(
    name: str, units: Sequence[UnitFigures], measured: Iterable[Measured], seed: int
) -> ArmFigures:
    """One arm's figures over all units."""
    measured = list(measured)
    timed = {unit.unit_id: arm.wall_ms for unit in units if (arm := unit.arms[name]).wall_ms is not None}
    done = [unit.arms[name] for unit in units if unit.unit_id in timed]
    tokens = sum(arm.tokens or 0 for arm in done)
    passed, total = _facts(name, measured)
    equal = [arm.exact_match for arm in done if arm.exact_match is not None]
    return ArmFigures(
        **speed_of(units, timed, seed).model_dump(),
        passes=sum(arm.passes or 0 for arm in done),
        rows=sum(arm.rows or 0 for arm in done),
        exact_match=sum(equal) / len(equal) if equal else None,
        share_lb1=_share(name, LB1, units),
        share_lb0=_share(name, LB0, units),
        ms_per_token=sum(timed.values()) / tokens if tokens else None,
        wasted_rows=sum(arm.wasted_rows or 0 for arm in done),
        host_ms=sum(arm.host_ms or 0.0 for arm in done),
        facts_passed=passed,
        facts_total=total,
        errors=sum(a.arm == name and a.status != "ok" for one in measured for a in one.attempts),
    )


def limit_figures(name: str, units: Sequence[UnitFigures], seed: int) -> LimitFigures:
    """One limit's figures over the units that have it."""
    limits = {unit.unit_id: unit.limits[name] for unit in units if name in unit.limits}
    wall_ms = {unit_id: limit.wall_ms for unit_id, limit in limits.items()}
    return LimitFigures(
        **speed_of(units, wall_ms, seed).model_dump(),
        passes=sum(limit.passes for limit in limits.values()),
        rows=sum(limit.rows for limit in limits.values()),
    )


def slow_units(units: Iterable[UnitFigures]) -> Iterator[SlowUnit]:
    """Every unit that an arm slows down, the worst first."""
    found = [
        SlowUnit(arm=name, unit_id=unit.unit_id, speedup=arm.speedup)
        for unit in units
        for name, arm in unit.arms.items()
        if arm.speedup is not None and arm.speedup < SLOW
    ]
    yield from sorted(found, key=lambda slow: slow.speedup)


def pass_model(limits: Iterable[Limit]) -> float | None:
    """What plain's passes should take by the calibration, over what they took."""
    limits = list(limits)
    took_ms = sum(limit.answer_ms for limit in limits)
    return sum(limit.modelled_ms for limit in limits) / took_ms if took_ms > 0 else None


def speed_of(units: Sequence[UnitFigures], wall_ms: Mapping[str, float], seed: int) -> Speed:
    """Plain's time over `wall_ms`, by unit, over the units that have both."""
    plain_ms = {unit.unit_id: took for unit in units if (took := unit.arms[PLAIN].wall_ms) is not None}
    timed = [unit_id for unit_id in plain_ms if unit_id in wall_ms]
    if not timed:
        return Speed()
    found = speedup_of(plain_ms, wall_ms, {unit.unit_id: unit.session_id for unit in units}, seed)
    return Speed(
        units=len(timed),
        speedup_median=found.median,
        speedup_low=found.low,
        speedup_high=found.high,
        speedup_total=sum(map(plain_ms.__getitem__, timed)) / sum(map(wall_ms.__getitem__, timed)),
        slowest=found.slowest,
        slowest_unit=found.slowest_unit,
    )


def _unit_arm(measured: Measured, name: str, plain: Sequence[Attempt]) -> UnitArm:
    ours = _finished(measured, name)
    error = next((a.error for a in measured.attempts if a.arm == name and a.status != "ok"), None)
    if not ours:
        return UnitArm(error=error)
    wall_ms = median(attempt.wall_ms for attempt in ours)
    return UnitArm(
        error=error,
        speedup=median(attempt.wall_ms for attempt in plain) / wall_ms if plain else None,
        wall_ms=wall_ms,
        prompt_ms=median(attempt.prompt_ms for attempt in ours),
        tokens=median_low(len(attempt.token_ids) for attempt in ours),
        passes=median_low(attempt.passes for attempt in ours),
        rows=median_low(attempt.rows for attempt in ours),
        wasted_rows=median_low(attempt.wasted_rows for attempt in ours),
        host_ms=median(attempt.host_ms for attempt in ours),
        exact_match=all(a.token_ids == plain[0].token_ids for a in ours) if plain else None,
    )


def _share(arm: str, limit: str, units: Iterable[UnitFigures]) -> float | None:
    """Of the time that the limit saves, on totals; None where it saves none."""
    saved = possible = 0.0
    for unit in units:
        plain_ms, ours_ms = unit.arms[PLAIN].wall_ms, unit.arms[arm].wall_ms
        if limit in unit.limits and plain_ms is not None and ours_ms is not None:
            saved += plain_ms - ours_ms
            possible += plain_ms - unit.limits[limit].wall_ms
    return saved / possible if possible > 0 else None


def _facts(arm: str, measured: Iterable[Measured]) -> tuple[int, int]:
    """Facts that every repeat passes, of all facts."""
    passed = total = 0
    for one in measured:
        ours = [attempt for attempt in one.attempts if attempt.arm == arm]
        outcomes: dict[str, set[str]] = {fact.fact_id: set() for fact in one.unit.facts}
        for verdict in judge_attempts([one.unit], ours):
            outcomes[verdict.fact_id].add(verdict.outcome)
        passed += sum(found == {"pass"} for found in outcomes.values())
        total += len(outcomes)
    return passed, total


def _finished(measured: Measured, arm: str) -> list[Attempt]:
    return [a for a in measured.attempts if a.arm == arm and a.status == "ok" and a.wall_ms > 0]
