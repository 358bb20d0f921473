from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.unit_results import LONGEST_COMPARED, edit_distance, mean


def only(summary: Any) -> Any:
    (unit,) = summary.unit_results
    return unit


def test_a_clean_unit_has_its_figures(make: Any) -> None:
    unit = only(make.evaluated().summary())
    assert (unit.unit_id, unit.session_id, unit.category, unit.kind) == ("u0", "u0", "value", "rederive")
    assert (unit.document_kind, unit.tags, unit.canary) == ("", (), True)
    arm = unit.arms["redraft"]
    assert (arm.finished, arm.failed, arm.error) == (1, 0, "")
    assert (arm.facts_passed, arm.facts_total, arm.unscored) == (2, 2, 0)
    assert (arm.flips, arm.regressions, arm.canary) == (0, 0, "passed")
    assert (arm.speedup, arm.wall_ms) == (2.0, 50.0)
    assert arm.held == pytest.approx(11 / 12)
    assert (arm.identical, arm.edit_distance) == (True, 0.0)
    assert list(unit.arms) == ["plain", "control", "redraft", "redraft:tau=3,floor=1"]


def test_repeats_are_reduced_to_their_median(make: Any) -> None:
    evaluated = make.evaluated(1, arms=("plain", "redraft"), repeats=3)
    attempts = tuple(
        replace(a, wall_ms=(10.0, 40.0, 20.0)[a.repeat], passes=(1, 9, 4)[a.repeat])
        if a.arm != "plain"
        else a
        for a in evaluated.attempts
    )
    arm = only(replace(evaluated, attempts=attempts).summary()).arms["redraft"]
    assert (arm.finished, arm.wall_ms, arm.speedup, arm.passes) == (3, 20.0, 5.0, 4)
    assert arm.facts_total == 6


def test_what_failed_is_named_and_what_was_not_measured_is_unknown(make: Any) -> None:
    broken = make.evaluated().changed("u0", "redraft", status="error", error="slots are busy", text="")
    broken = broken.changed("u0", "control", status="timeout", error=None)
    unit = only(broken.summary())
    arm = unit.arms["redraft"]
    assert (arm.finished, arm.failed, arm.error) == (0, 1, "slots are busy")
    assert unit.arms["control"].error == "timeout"
    assert (arm.facts_passed, arm.facts_total, arm.unscored, arm.canary) == (0, 2, 2, "unscored")
    unmeasured = (arm.speedup, arm.wall_ms, arm.held, arm.identical, arm.edit_distance, arm.passes, arm.rows)
    assert unmeasured == (None,) * 7
    missing = only(replace(make.evaluated(), attempts=()).summary()).arms["plain"]
    assert (missing.finished, missing.failed, missing.error) == (0, 0, "")


def test_without_plain_generation_there_is_nothing_to_compare_with(make: Any) -> None:
    arm = only(make.evaluated().changed("u0", "plain", status="error", text="").summary()).arms["redraft"]
    assert (arm.speedup, arm.identical, arm.edit_distance, arm.wall_ms) == (None, None, None, 50.0)


def test_flips_belong_to_their_unit_and_arm(make: Any) -> None:
    summary = (
        make.evaluated(2)
        .changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(0,))
        .summary()
    )
    first, second = summary.unit_results
    assert [unit.arms["redraft"].flips for unit in (first, second)] == [0, 2]
    lost = second.arms["redraft"]
    assert (lost.facts_passed, lost.unscored, lost.regressions, lost.canary) == (0, 0, 2, "failed")
    assert lost.identical is False
    assert lost.edit_distance == pytest.approx(3 / 12)
    assert second.arms["redraft:tau=3,floor=1"].flips == 0


texts = st.text(st.sampled_from("ab 😀é"), max_size=12)


@given(one=texts, other=texts)
def test_the_distance_is_a_share_and_nothing_but_the_same_text_is_at_none(one: str, other: str) -> None:
    distance = edit_distance(one, other)
    assert distance is not None
    assert 0 <= distance <= 1
    assert (distance == 0) == (one == other)
    assert distance == edit_distance(other, one)


def test_texts_too_long_to_compare_are_at_an_unknown_distance_unless_they_are_the_same() -> None:
    long = "a" * (LONGEST_COMPARED + 1)
    assert edit_distance(long, "b") is None
    assert edit_distance(long, long) == 0.0


def test_a_mean_is_of_what_is_known() -> None:
    assert mean([None, 1.0, 0.0]) == 0.5
    assert mean([None]) is None
    assert mean([]) is None
