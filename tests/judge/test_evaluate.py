from collections.abc import Callable

import pytest

from bundles import Attempt, Unit
from judge import JUDGE, JUDGE_VERSION, JudgeError, judge_attempts


def test_every_fact_of_every_attempt_gets_a_verdict(
    unit: Callable[..., Unit], attempt: Callable[..., Attempt]
) -> None:
    stale_text = "Bo owns the launch on June 15."
    verdicts = judge_attempts([unit("u1")], [attempt("u1", "plain"), attempt("u1", "redraft", 1, stale_text)])
    assert [(v.unit_id, v.arm, v.repeat, v.fact_id, v.outcome, v.evidence) for v in verdicts] == [
        ("u1", "plain", 0, "owner", "pass", (0, 3)),
        ("u1", "plain", 0, "day", "pass", (23, 30)),
        ("u1", "plain", 0, "old-owner", "pass", None),
        ("u1", "redraft", 1, "owner", "fail", None),
        ("u1", "redraft", 1, "day", "pass", (22, 29)),
        ("u1", "redraft", 1, "old-owner", "fail", (0, 2)),
    ]
    assert {(v.judge, v.judge_version, v.run_id) for v in verdicts} == {(JUDGE, JUDGE_VERSION, "run")}


def test_stale_answers_are_input_and_not_judged(
    unit: Callable[..., Unit], attempt: Callable[..., Attempt]
) -> None:
    assert judge_attempts([unit("u1")], [attempt("u1", "stale")]) == []


@pytest.mark.parametrize("status", ["error", "timeout"])
def test_a_failed_attempt_is_unscored_whatever_it_had_written(
    unit: Callable[..., Unit], attempt: Callable[..., Attempt], status: str
) -> None:
    verdicts = judge_attempts([unit("u1")], [attempt("u1", "redraft", status=status, error="slot lost")])
    assert {(v.outcome, v.evidence) for v in verdicts} == {("unscored", None)}
    assert verdicts[0].reason == f"attempt ended in {status}: slot lost"


def test_an_attempt_of_an_unknown_unit_is_named(
    unit: Callable[..., Unit], attempt: Callable[..., Attempt]
) -> None:
    with pytest.raises(JudgeError, match="run run: attempt of unit 'u9', which is not among the units"):
        judge_attempts([unit("u1")], [attempt("u9", "plain")])
