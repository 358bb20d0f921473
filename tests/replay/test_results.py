from dataclasses import replace
from typing import Any

import pytest

from judge import JUDGE, JUDGE_VERSION, GatePolicy
from replay.errors import SettingsError
from replay.results import summarise


def test_a_clean_run_passes_with_its_figures(make: Any) -> None:
    summary = make.evaluated(8).summary()
    assert (summary.verdict, summary.exit_code) == ("pass", 0)
    assert (summary.units, summary.attempts, summary.errors, summary.missing) == (8, 32, 0, 0)
    assert (summary.exact_match, summary.control_match) == (1.0, 1.0)
    assert summary.canaries.model_dump() == {"passed": 8, "failed": 0, "blind": 0, "unscored": 0}
    arm = summary.arms["redraft"]
    assert (arm.facts_passed, arm.facts_total) == (16, 16)
    assert (arm.speedup_median, arm.speedup_low, arm.speedup_high, arm.slowest) == (2.0, 2.0, 2.0, 2.0)
    assert arm.held == pytest.approx(11 / 12)
    assert summary.arms["plain"].held == 0.0
    assert summary.flips == ()
    assert summary.comparability["model_fingerprint"] == "f"
    assert summary.comparability["judge"] == f"{JUDGE}/{JUDGE_VERSION}"


def test_a_lost_fact_is_a_regression_with_both_texts(make: Any) -> None:
    evaluated = make.evaluated(2).changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(0,))
    summary = evaluated.summary()
    assert summary.verdict == "regression"
    assert (summary.regressions, summary.arms["redraft"].regressions) == (2, 2)
    assert {(flip.unit_id, flip.fact_id, flip.before, flip.after) for flip in summary.flips} == {
        ("u1", "new", "pass", "fail"),
        ("u1", "old", "pass", "fail"),
    }
    assert {flip.attribution for flip in summary.flips} == {"held"}
    assert summary.exact_match == 0.5
    assert summary.canaries.failed == 1
    comparison = summary.comparisons[0]
    assert (comparison.plain.text, comparison.other.text) == ("Ava owns it.", "Bo owns it.")
    assert comparison.plain.evidence == ((0, 3),)
    assert comparison.other.evidence == ((0, 2),)
    assert "u1" in summary.look_at[0]


def test_exact_match_takes_every_repeat_and_no_tolerant_arm(make: Any) -> None:
    evaluated = make.evaluated(2, repeats=2)
    tolerant = evaluated.changed("u0", "redraft:tau=3,floor=1", token_ids=(9,), token_src=(-1,))
    assert tolerant.summary().exact_match == 1.0
    assert tolerant.summary().arms["redraft:tau=3,floor=1"].identical == 0.5
    second = next(a for a in evaluated.attempts if a.key == ("u0", "redraft", 1))
    one_repeat = replace(
        evaluated,
        attempts=tuple(
            replace(a, token_ids=(9,), token_src=(-1,)) if a is second else a for a in evaluated.attempts
        ),
    )
    summary = one_repeat.summary()
    assert summary.exact_match == 0.5
    assert any("redraft, which promises" in advice and "50%" in advice for advice in summary.look_at)


def test_blind_canaries_are_counted_and_pointed_at(make: Any) -> None:
    evaluated = make.evaluated(3)
    for arm in evaluated.run.arms:
        evaluated = evaluated.changed("u2", arm, text="Nobody knows.")
    summary = evaluated.summary()
    assert summary.canaries.model_dump() == {"passed": 2, "failed": 0, "blind": 1, "unscored": 0}
    assert any("blind" in advice and "u2" in advice for advice in summary.look_at)


def test_errors_and_missing_attempts_are_an_error_that_says_how_to_go_on(make: Any) -> None:
    evaluated = make.evaluated(2).changed("u0", "redraft", status="error", error="busy", text="")
    without = replace(evaluated, attempts=evaluated.attempts[:-1])
    summary = without.summary()
    assert (summary.verdict, summary.exit_code) == ("error", 4)
    assert (summary.attempts, summary.errors, summary.missing) == (7, 1, 1)
    assert "busy" in summary.look_at[0]
    assert summary.run_id in summary.look_at[0]


def test_a_run_without_attempts_is_empty(make: Any) -> None:
    summary = replace(make.evaluated(), attempts=()).summary()
    assert (summary.verdict, summary.exit_code) == ("empty", 5)
    assert summary.exact_match is None
    assert summary.arms["redraft"].speedup_median is None


def test_attempts_that_are_not_judged_are_not_summed_up(make: Any) -> None:
    evaluated = make.evaluated()
    with pytest.raises(SettingsError, match=f"redraft judge {evaluated.run.run_id}"):
        summarise(evaluated.run, make.bundle(evaluated.units), evaluated.attempts, [], GatePolicy())


def test_a_slower_unit_is_pointed_at(make: Any) -> None:
    summary = make.evaluated(3).changed("u1", "redraft", wall_ms=400.0).summary()
    assert (summary.arms["redraft"].slowest, summary.arms["redraft"].slowest_unit) == (0.25, "u1")
    assert any("u1" in advice and "0.25x" in advice for advice in summary.look_at)


def test_categories_sum_up_their_own_units(make: Any) -> None:
    evaluated = make.evaluated(3)
    units = (evaluated.units[0], replace(evaluated.units[1], category="rename"), evaluated.units[2])
    run = make.run(units)
    changed = replace(evaluated, units=units, run=run).changed("u1", "redraft", text="Bo owns it.")
    parts = {part.category: part for part in changed.summary().categories}
    assert [(part.units, part.arms["redraft"].flips) for part in parts.values()] == [(2, 0), (1, 2)]
    assert parts["rename"].arms["plain"].facts_passed == 2


def test_modes_and_document_kinds_are_summed_up_like_categories(make: Any) -> None:
    evaluated = make.evaluated(3)
    units = (*evaluated.units[:2], replace(evaluated.units[2], kind="revise", edited="Ava owns it!"))
    summary = replace(evaluated, units=units, run=make.run(units)).summary()
    assert [(part.category, part.units) for part in summary.modes] == [("rederive", 2), ("revise", 1)]
    assert [(part.category, part.units) for part in summary.document_kinds] == [("", 3)]
    assert summary.document_kinds[0].arms == summary.arms


def test_units_are_summed_up_one_by_one_in_the_order_of_the_plan(make: Any) -> None:
    summary = make.evaluated(3).changed("u1", "redraft", text="Bo owns it.").summary()
    assert [unit.unit_id for unit in summary.unit_results] == ["u0", "u1", "u2"]
    assert summary.unit_results[1].arms["redraft"].regressions == 2
    assert "unit_results" not in summary.model_dump()


def test_stale_answers_are_not_counted(make: Any) -> None:
    evaluated = make.evaluated()
    stale = make.attempt("u0", "stale", text="Bo owns it.")
    assert replace(evaluated, attempts=(*evaluated.attempts, stale)).summary().attempts == 4
