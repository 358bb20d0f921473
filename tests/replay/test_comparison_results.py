from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import IncomparableRuns
from replay.comparison_results import Judged, compare_runs
from replay.errors import SettingsError

OTHER = "20260102-120000-abcd"
STALE = {"text": "Bo owns it.", "token_ids": (1,), "token_src": (0,)}


@pytest.fixture(scope="module")
def judged(make: Any) -> Any:
    """An evaluated run as a side of a comparison, under another run id where one is given."""

    def of(evaluated: Any, run_id: str | None = None, **changes: Any) -> Judged:
        run = replace(evaluated.run, run_id=run_id or evaluated.run.run_id, **changes)
        attempts = [replace(attempt, run_id=run.run_id) for attempt in evaluated.attempts]
        verdicts = [replace(verdict, run_id=run.run_id) for verdict in evaluated.verdicts()]
        return Judged(run, make.bundle(evaluated.units), attempts, verdicts)

    return of


def test_facts_gained_and_lost_are_named_by_arm(make: Any, judged: Any) -> None:
    before = judged(make.evaluated(3).changed("u0", "redraft", **STALE))
    after = judged(make.evaluated(3).changed("u1", "redraft", **STALE), OTHER)
    found = compare_runs(before, after)
    arm = found.arms["redraft"]
    assert [(change.unit_id, change.fact_id) for change in arm.lost] == [("u1", "new"), ("u1", "old")]
    assert [(change.unit_id, change.fact_id) for change in arm.gained] == [("u0", "new"), ("u0", "old")]
    assert (arm.passed_before, arm.passed_after, arm.scored) == (4, 4, 6)
    assert (arm.sessions, arm.worse, arm.better, arm.p_value) == (3, 1, 1, 1.0)
    assert arm.identical == pytest.approx(1 / 3)
    assert (found.arms["plain"].lost, found.arms["plain"].identical) == ((), 1.0)
    assert (found.before.run_id, found.after.run_id, found.across, found.notes) == (
        before.run.run_id,
        OTHER,
        "",
        (),
    )


def test_evidence_is_counted_in_sessions(make: Any, judged: Any) -> None:
    worse = make.evaluated(8)
    for number in range(6):
        worse = worse.changed(f"u{number}", "redraft", **STALE)
    arm = compare_runs(judged(make.evaluated(8)), judged(worse, OTHER)).arms["redraft"]
    assert (arm.worse, arm.better, len(arm.lost)) == (6, 0, 12)
    assert arm.p_value == pytest.approx(2 / 2**6)
    assert arm.net == 0.75
    assert arm.net_low is not None
    assert arm.net_high is not None
    assert 0 < arm.net_low < 0.75 < arm.net_high <= 1

    def of_one_session(evaluated: Any) -> Any:
        units = tuple(replace(unit, session_id="s") for unit in evaluated.units)
        return replace(evaluated, units=units, run=make.run(units))

    one = compare_runs(judged(of_one_session(make.evaluated(8))), judged(of_one_session(worse), OTHER))
    assert (one.arms["redraft"].sessions, one.arms["redraft"].worse) == (1, 1)
    assert one.arms["redraft"].p_value == 1.0


def test_times_are_those_of_the_earlier_run_over_the_later_one_s(make: Any, judged: Any) -> None:
    faster = make.evaluated(7)
    for number in range(7):
        faster = faster.changed(f"u{number}", "redraft", wall_ms=20.0 + number)
    arm = compare_runs(judged(make.evaluated(7)), judged(faster, OTHER)).arms["redraft"]
    assert arm.speedup_median == pytest.approx(50 / 23)
    assert arm.speedup_low is not None
    assert arm.speedup_high is not None
    assert arm.speedup_low <= arm.speedup_median <= arm.speedup_high
    assert (arm.slowest, arm.slowest_unit) == (pytest.approx(50 / 26), "u6")


def test_contended_times_give_way_to_passes(make: Any, judged: Any) -> None:
    at_once = {"provenance": {**make.evaluated(1).run.provenance, "jobs": 2}}
    found = compare_runs(judged(make.evaluated(1)), judged(make.evaluated(1), OTHER, **at_once))
    assert found.speed_metric == "passes"
    assert "jobs None then, 2 now" in found.notes[0]


def test_a_fact_counts_by_its_worst_repeat(make: Any, judged: Any) -> None:
    evaluated = make.evaluated(1, repeats=2)
    second = replace(
        evaluated,
        attempts=tuple(
            replace(a, **STALE) if a.key == ("u0", "redraft", 1) else a for a in evaluated.attempts
        ),
    )
    arm = compare_runs(judged(evaluated), judged(second, OTHER)).arms["redraft"]
    assert len(arm.lost) == 2
    found = compare_runs(judged(make.evaluated(1)), judged(evaluated, OTHER))
    assert found.arms["redraft"].lost == ()
    assert "1 repeats then, 2 now" in found.notes[-1]


def test_what_one_run_does_not_know_is_neither_gained_nor_lost(make: Any, judged: Any) -> None:
    failed = make.evaluated(2).changed("u0", "redraft", status="error", error="busy", text="")
    arm = compare_runs(judged(failed), judged(make.evaluated(2), OTHER)).arms["redraft"]
    assert (arm.gained, arm.lost, arm.scored, arm.unscored, arm.sessions) == ((), (), 2, 2, 1)


def test_advisory_facts_are_named_last_and_do_not_weigh(make: Any, judged: Any) -> None:
    evaluated = make.evaluated(1)
    first, second = evaluated.units[0].facts
    units = (replace(evaluated.units[0], facts=(replace(first, severity="advisory"), second)),)
    graded = replace(evaluated, units=units, run=make.run(units))
    lost = graded.changed("u0", "redraft", **STALE)
    arm = compare_runs(judged(graded), judged(lost, OTHER)).arms["redraft"]
    assert [change.severity for change in arm.lost] == ["critical", "advisory"]
    only = replace(units[0], facts=(replace(first, severity="advisory"),), canary=False)
    advisory = replace(evaluated, units=(only,), run=make.run((only,)))
    lost = advisory.changed("u0", "redraft", **STALE)
    arm = compare_runs(judged(advisory), judged(lost, OTHER)).arms["redraft"]
    assert (len(arm.lost), arm.sessions, arm.worse, arm.net) == (1, 0, 0, None)


@pytest.mark.parametrize("part", ["engine_version", "model_fingerprint", "quantisation"])
def test_another_model_or_engine_is_refused_unless_asked_for(part: str, make: Any, judged: Any) -> None:
    evaluated = make.evaluated(1)
    other = judged(evaluated, OTHER, provenance={**evaluated.run.provenance, part: "new"})
    with pytest.raises(IncomparableRuns, match=f"{part} .* then, 'new' now .*--across"):
        compare_runs(judged(evaluated), other)
    assert part in compare_runs(judged(evaluated), other, across=True).across


def test_another_judge_is_refused(make: Any, judged: Any) -> None:
    evaluated = make.evaluated(1)
    other = judged(evaluated, OTHER)
    other = replace(other, verdicts=[replace(verdict, judge_version=99) for verdict in other.verdicts])
    with pytest.raises(IncomparableRuns, match="judge"):
        compare_runs(judged(evaluated), other)


def test_only_units_that_are_the_same_are_compared(make: Any, judged: Any) -> None:
    evaluated = make.evaluated(3)
    changed = replace(evaluated.units[0], instruction="Who leads the launch?")
    labelled = replace(evaluated.units[1], category="rename", tags=("x",))
    units = (changed, labelled, make.unit("u9"))
    attempts = tuple(replace(a, unit_id="u9") if a.unit_id == "u2" else a for a in evaluated.attempts)
    other = replace(evaluated, units=units, run=make.run(units), attempts=attempts)
    with pytest.raises(IncomparableRuns, match="bundle_id"):
        compare_runs(judged(evaluated), judged(other, OTHER))
    found = compare_runs(judged(evaluated), judged(other, OTHER), across=True)
    assert (found.units, found.changed, found.only_before, found.only_after) == (1, 1, 1, 1)


def test_arms_that_one_run_lacks_are_said(make: Any, judged: Any) -> None:
    before, after = make.evaluated(1), make.evaluated(1, arms=("plain", "control", "anchor"))
    found = compare_runs(judged(before), judged(after, OTHER))
    assert found.arms_only_before == ("redraft", "redraft:tau=3,floor=1")
    assert (found.arms_only_after, list(found.arms)) == (("anchor",), ["plain", "control"])


def test_a_run_that_is_not_judged_is_refused(make: Any, judged: Any) -> None:
    before = judged(make.evaluated(1))
    with pytest.raises(SettingsError, match=f"redraft judge {OTHER}"):
        compare_runs(
            before, replace(judged(make.evaluated(1), OTHER), verdicts=before.verdicts[:0]), across=True
        )


@settings(max_examples=20)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_backwards_gains_are_losses(make: Any, judged: Any, wrong: list[tuple[bool, bool]]) -> None:
    old, new = make.evaluated(len(wrong)), make.evaluated(len(wrong))
    for number, (then, now) in enumerate(wrong):
        old = old.changed(f"u{number}", "redraft", **STALE) if then else old
        new = new.changed(f"u{number}", "redraft", **STALE) if now else new
    there = compare_runs(judged(old), judged(new, OTHER)).arms["redraft"]
    back = compare_runs(judged(new, OTHER), judged(old)).arms["redraft"]
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert (there.worse, there.better, there.p_value) == (back.better, back.worse, back.p_value)
    assert there.passed_after - there.passed_before == len(there.gained) - len(there.lost)
    if there.net is not None and back.net is not None:
        assert there.net == -back.net
