from dataclasses import replace
from typing import Any

import pytest

from bundles import Fact
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
from replay.bench.measuring import LB0, Measured
from replay.bench.pass_costs import PassCosts
from replay.bench.result import UnitArm, UnitFigures

ARMS = ("plain", "control", "redraft")


def figured(bench: Any, *measured: Measured) -> list[UnitFigures]:
    return [unit_figures(one, ARMS, bench.oracle().limit(one)) for one in measured]


def test_repeats_are_reduced_to_their_median(bench: Any) -> None:
    (unit,) = figured(bench, bench.measured())
    redraft = unit.arms["redraft"]
    assert (redraft.wall_ms, redraft.speedup, redraft.prompt_ms) == (55.0, 2.0, 10.0)
    assert (redraft.tokens, redraft.passes, redraft.rows, redraft.wasted_rows) == (12, 3, 16, 5)
    assert (redraft.exact_match, redraft.error, redraft.host_ms) == (True, None, 2.0)
    assert unit.limits[LB0].wall_ms == 40.0
    assert unit.limits[LB0].speedup == 2.75


def test_lb1_takes_the_share_of_plain_s_answer_that_its_passes_cost(bench: Any) -> None:
    measured = bench.measured(stale="x owns it. y")
    limit = bench.oracle().limit(measured)
    # "A", "v", "a" decoded (10 each but the first), then " owns it." in one pass of 9 rows (24 to 40).
    assert limit.least.passes == 3
    assert limit.least.ms == pytest.approx(10 + 10 + 32)
    assert limit.modelled_ms == 110
    assert limit.answer_ms == 100
    assert limit.wall_ms == pytest.approx(10 + 100 * 52 / 110)


def test_lb1_lies_between_the_prompt_and_plain_however_wrong_the_calibration_is(bench: Any) -> None:
    measured = bench.measured(stale="Ava owns it.")
    for factor in (0.01, 1, 100):
        costs = PassCosts({1: 10 * factor, 4: 16 * factor, 16: 40 * factor})
        limit = Oracle(costs, 64).limit(measured)
        assert limit is not None
        assert 10 < limit.wall_ms < 110


def test_an_answer_of_one_decision_has_nothing_to_save(bench: Any) -> None:
    measured = bench.measured()
    one = replace(measured, attempts=tuple(replace(a, token_ids=(7,), passes=0) for a in measured.attempts))
    limit = bench.oracle().limit(one)
    assert limit is not None
    assert (limit.wall_ms, limit.least.passes) == (110.0, 0)
    (unit,) = figured(bench, one)
    assert unit.limits[LB1].speedup == 1
    empty = replace(measured, attempts=tuple(replace(a, token_ids=(), passes=0) for a in measured.attempts))
    assert arm_figures("redraft", figured(bench, empty), [empty], 0).ms_per_token is None


def test_shares_are_of_totals(bench: Any) -> None:
    measured = [bench.measured("a"), bench.measured("b", {"plain": 410.0, "redraft": 350.0, LB0: 110.0})]
    units = figured(bench, *measured)
    redraft = arm_figures("redraft", units, measured, 0)
    assert redraft.share_lb0 == pytest.approx((55 + 60) / (70 + 300))
    assert redraft.speedup_total == pytest.approx(520 / 405)
    assert redraft.speedup_median == pytest.approx((2 + 410 / 350) / 2)
    assert (redraft.slowest_unit, redraft.units) == ("b", 2)
    assert (redraft.passes, redraft.rows, redraft.wasted_rows, redraft.host_ms) == (6, 32, 10, 4.0)
    plain = arm_figures("plain", units, measured, 0)
    assert (plain.share_lb0, plain.share_lb1, plain.speedup_median) == (0, 0, 1)
    assert limit_figures(LB0, units, 0).speedup_total == pytest.approx(520 / 150)
    assert limit_figures(LB1, units, 0).units == 2


def test_a_share_of_nothing_is_none(bench: Any) -> None:
    measured = [bench.measured(wall_ms={LB0: 110.0})]
    assert arm_figures("redraft", figured(bench, *measured), measured, 0).share_lb0 is None


def test_intervals_need_sessions(bench: Any) -> None:
    measured = [bench.measured(f"u{n}", {"redraft": 50.0 + n}) for n in range(8)]
    units = figured(bench, *measured)
    figures = arm_figures("redraft", units, measured, 0)
    assert figures.speedup_low is not None
    assert figures.speedup_high is not None
    assert figures.speedup_low <= 110 / 53.5 <= figures.speedup_high
    alike = [bench.measured(f"u{n}", {"redraft": 50.0 + n}, session_id="one") for n in range(8)]
    assert arm_figures("redraft", figured(bench, *alike), alike, 0).speedup_low is None


def test_same_tokens_and_facts_count_only_where_every_repeat_has_them(bench: Any) -> None:
    good, bad = bench.measured("good"), bench.measured("bad")
    last = next(a for a in bad.attempts if (a.arm, a.repeat) == ("redraft", 4))
    bad = replace(
        bad,
        attempts=tuple(
            replace(a, text="Bo owns it.", token_ids=tuple(b"Bo owns it.")) if a is last else a
            for a in bad.attempts
        ),
    )
    redraft = arm_figures("redraft", figured(bench, good, bad), [good, bad], 0)
    assert redraft.exact_match == 0.5
    assert (redraft.facts_passed, redraft.facts_total) == (2, 4)
    control = arm_figures("control", figured(bench, good, bad), [good, bad], 0)
    assert (control.exact_match, control.facts_passed) == (1.0, 4)


def test_units_without_facts_have_none(bench: Any) -> None:
    measured = [bench.measured(facts=())]
    figures = arm_figures("redraft", figured(bench, *measured), measured, 0)
    assert (figures.facts_passed, figures.facts_total) == (0, 0)


def test_what_failed_is_counted_as_an_error_and_measured_nowhere(bench: Any) -> None:
    good, bad = bench.measured("good"), bench.measured("bad")
    failed = replace(
        bad,
        attempts=tuple(
            replace(a, status="error", error="refused", text="", token_ids=()) if a.arm == "redraft" else a
            for a in bad.attempts
        ),
    )
    units = figured(bench, good, failed)
    redraft = arm_figures("redraft", units, [good, failed], 0)
    assert (redraft.units, redraft.errors, redraft.facts_passed, redraft.facts_total) == (1, 5, 2, 4)
    assert units[1].arms["redraft"].error == "refused"
    assert units[1].arms["redraft"].wall_ms is None
    assert arm_figures("plain", units, [good, failed], 0).units == 2


def test_without_plain_there_is_nothing_to_hold_against(bench: Any) -> None:
    one = bench.measured()
    alone = replace(one, attempts=(replace(one.attempts[0], status="error", error="too large"),))
    units = figured(bench, alone)
    assert units[0].limits == {}
    assert units[0].arms["plain"].error == "too large"
    assert units[0].arms["redraft"] == UnitArm()
    figures = arm_figures("redraft", units, [alone], 0)
    assert (figures.units, figures.speedup_median, figures.share_lb1, figures.passes) == (0, None, None, 0)
    assert limit_figures(LB1, units, 0).units == 0


def test_every_slow_down_is_listed_worst_first(bench: Any) -> None:
    measured = [
        bench.measured("a", {"redraft": 110 / SLOW + 1}),
        bench.measured("b", {"redraft": 220.0}),
        bench.measured("c", {"redraft": 110 / SLOW - 1}),
        bench.measured("d", {"control": 130.0}),
    ]
    found = [(slow.unit_id, slow.arm) for slow in slow_units(figured(bench, *measured))]
    assert found == [("b", "redraft"), ("d", "control"), ("a", "redraft")]


def test_how_far_the_calibration_explains_plain_s_time(bench: Any) -> None:
    assert pass_model([bench.oracle().limit(bench.measured())]) == pytest.approx(1.1)
    assert pass_model([]) is None


def test_the_facts_of_a_unit_are_judged_by_the_judge(bench: Any) -> None:
    facts = (Fact("new", "expect", ("Ava",)), Fact("never", "expect", ("Zoe",)))
    measured = [bench.measured(facts=facts)]
    figures = arm_figures("redraft", figured(bench, *measured), measured, 0)
    assert (figures.facts_passed, figures.facts_total) == (1, 2)
