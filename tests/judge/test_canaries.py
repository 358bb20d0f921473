import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import Outcome
from judge.canaries import CanaryCount, CanaryOutcome, count_canaries, judge_canary


@pytest.mark.parametrize(
    ("plain", "arm", "outcome"),
    [
        pytest.param(["pass", "pass"], ["pass", "pass"], "passed", id="both-right"),
        pytest.param(["pass", "pass"], ["pass", "fail"], "failed", id="arm-wrong"),
        pytest.param(["pass", "fail"], ["fail", "fail"], "blind", id="plain-wrong-too"),
        pytest.param(["fail", "pass"], ["pass", "pass"], "blind", id="only-plain-wrong"),
        pytest.param(["pass", "unscored"], ["pass", "fail"], "unscored", id="plain-unknown"),
        pytest.param(["fail", "unscored"], ["pass", "pass"], "blind", id="plain-wrong-and-unknown"),
        pytest.param(["pass", "pass"], ["fail", "unscored"], "failed", id="arm-wrong-and-unknown"),
        pytest.param(["pass", "pass"], ["pass", "unscored"], "unscored", id="arm-unknown"),
        pytest.param([], [], "unscored", id="no-facts"),
    ],
)
def test_canary_outcome(plain: list[Outcome], arm: list[Outcome], outcome: CanaryOutcome) -> None:
    assert judge_canary(plain, arm) == outcome


OUTCOMES = st.lists(st.sampled_from(["pass", "fail", "unscored"]), max_size=4)


@given(OUTCOMES, OUTCOMES)
def test_a_canary_passes_only_when_all_is_known_and_right(plain: list[Outcome], arm: list[Outcome]) -> None:
    all_right = bool(plain and arm) and set(plain + arm) == {"pass"}
    assert (judge_canary(plain, arm) == "passed") == all_right


def test_count() -> None:
    count = count_canaries(["failed", "passed", "blind", "passed"])
    assert count == CanaryCount(passed=2, failed=1, blind=1)
    assert count.total == 4
    assert count_canaries([]) == CanaryCount()
