"""A bench from what was measured, and as a table.

Invariant: slow-downs are shown as plainly as speed-ups.
"""

from collections.abc import Iterator, Sequence

from replay.arms import CONTROL
from replay.bench.figures import (
    LB1,
    SLOW,
    Oracle,
    arm_figures,
    limit_figures,
    pass_model,
    slow_units,
    unit_figures,
)
from replay.bench.measuring import LB0, Measured, Plan
from replay.bench.result import ArmFigures, BenchResult, Machine, PeerFigures, Speed
from replay.report.figures import count, interval, percent, times
from replay.report.table import aligned, one_line

MOST_SLOW = 20
_UNEVEN = 0.03
_TIMES = ("arm", "speedup", "95% interval", "total", "slowest", "of LB1", "of LB0", "ms/token")
_PEERS = ("peer", "speedup", "95% interval", "total", "slowest", "of its own plain", "same text", "ms/token")
_WORK = ("arm", "same tokens", "facts", "passes", "rows", "wasted rows", "host ms")


def bench_result(
    suite: str,
    started: str,
    plan: Plan,
    measured: Sequence[Measured],
    oracle: Oracle,
    machine: Machine,
    noise: Sequence[str],
) -> BenchResult:
    """Sums it up; `noise` is what is known to have disturbed it."""
    names = [arm.name for arm in plan.arms]
    limits = [oracle.limit(one) for one in measured]
    units = [unit_figures(one, names, limit) for one, limit in zip(measured, limits, strict=True)]
    arms = {name: arm_figures(name, units, measured, plan.seed) for name in names}
    return BenchResult(
        suite=suite,
        started=started,
        units=len(units),
        units_planned=len(plan.units),
        repeats=plan.repeats,
        seed=plan.seed,
        max_tokens=plan.max_tokens,
        arms=arms,
        limits={name: limit_figures(name, units, plan.seed) for name in (LB1, LB0)},
        slow=tuple(slow_units(units)),
        pass_model=pass_model(limit for limit in limits if limit is not None),
        warnings=(*noise, *_doubts(arms)),
        machine=machine,
        per_unit=tuple(units),
    )


def _doubts(arms: dict[str, ArmFigures]) -> Iterator[str]:
    """What the measurement itself gives away."""
    control = arms[CONTROL]
    if control.speedup_median is not None and abs(control.speedup_median - 1) > _UNEVEN:
        yield (
            f"plain generation measured twice differs by {abs(control.speedup_median - 1):.0%}:"
            " differences of that size between arms mean nothing"
        )
    if control.slowest is not None and control.slowest < SLOW:
        yield (
            f"in unit {control.slowest_unit} plain generation measured twice differs by"
            f" {1 - control.slowest:.0%}: single units are that uncertain; --repeats makes them surer"
        )


def render_bench(result: BenchResult) -> str:
    """The table, then what slows down, then the machine and the warnings, where a terminal leaves the eye."""
    units = count(result.units_planned, "unit")
    part = units if result.units == result.units_planned else f"{result.units} of {units}"
    head = f"bench of {result.suite}: {part}, {count(result.repeats, 'repeat')}"
    times_table = [
        *((*_speed_cells(name, arm), *_share_cells(arm)) for name, arm in result.arms.items()),
        *((*_speed_cells(name.upper(), limit), "-", "-", "-") for name, limit in result.limits.items()),
    ]
    work_table = [
        *((name, *_work_cells(arm)) for name, arm in result.arms.items()),
        *(
            (name.upper(), "-", "-", limit.passes, limit.rows, "-", "-")
            for name, limit in result.limits.items()
        ),
    ]
    parts = [one_line(head), aligned(times_table, _TIMES), aligned(work_table, _WORK)]
    if result.peers:
        peers = [(*_speed_cells(name, peer), *_peer_cells(peer)) for name, peer in result.peers.items()]
        parts.append(aligned(peers, _PEERS))
    return "\n\n".join([*parts, "\n".join(map(one_line, _closing(result)))])


def _share_cells(arm: ArmFigures) -> tuple[str, ...]:
    return percent(arm.share_lb1), percent(arm.share_lb0), _ms(arm.ms_per_token)


def _peer_cells(peer: PeerFigures) -> tuple[str, ...]:
    return times(peer.over_own_plain), percent(peer.same_text), _ms(peer.ms_per_token)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _work_cells(arm: ArmFigures) -> tuple[str | int, ...]:
    facts = f"{arm.facts_passed}/{arm.facts_total}"
    figures = (arm.passes, arm.rows, arm.wasted_rows, f"{arm.host_ms:.0f}")
    return (percent(arm.exact_match), facts, *figures)


def _speed_cells(name: str, speed: Speed) -> tuple[str, ...]:
    return (
        name,
        times(speed.speedup_median),
        interval(speed.speedup_low, speed.speedup_high),
        times(speed.speedup_total),
        times(speed.slowest),
    )


def _closing(result: BenchResult) -> Iterator[str]:
    for name, arm in result.arms.items():
        if name not in ("plain", CONTROL) and arm.slowest is not None:
            yield f"worst of {name}: unit {arm.slowest_unit}, {times(arm.slowest)}"
    for slow in result.slow[:MOST_SLOW]:
        yield f"slower than plain: unit {slow.unit_id} in {slow.arm}, {times(slow.speedup)}"
    if len(result.slow) > MOST_SLOW:
        yield f"and {len(result.slow) - MOST_SLOW} more, all in the JSON"
    if not result.slow:
        yield "slower than plain by more than a twentieth: no unit in any arm"
    for unit in result.per_unit:
        for name, ours in unit.arms.items():
            if ours.error:
                yield f"failed: unit {unit.unit_id} in {name}: {ours.error}"
    for name, peer in result.peers.items():
        if peer.error:
            yield f"failed: {count(peer.errors, 'attempt')} of {name}, such as: {peer.error}"
    yield _machine(result)
    for warning in result.warnings:
        yield f"warning: {warning}"


def _machine(result: BenchResult) -> str:
    machine = result.machine
    loads = " to ".join(
        "?" if load is None else f"{load:g}" for load in (machine.load_start, machine.load_end)
    )
    others = "" if machine.used_by_others is None else f", {percent(machine.used_by_others)} used by others"
    model = f"{machine.model} ({machine.quantisation}, {machine.kv_type} cache)"
    fit = "" if result.pass_model is None else f", which explain {result.pass_model:.0%} of plain's time"
    costs = ", ".join(f"{rows}: {cost:g}" for rows, cost in machine.pass_cost_ms.items())
    return (
        f"{model} on {machine.cpu}, {machine.threads} of {machine.cores} cores; load {loads}{others};"
        f" ms of a pass by rows {costs}{fit}"
    )
