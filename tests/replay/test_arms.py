import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.arms import parse_arm, parse_arms
from replay.errors import SettingsError

nats = st.floats(0, 50, allow_nan=False)


@pytest.mark.parametrize(
    ("spec", "name", "baseline", "mode"),
    [
        ("plain", "plain", True, "exact"),
        ("control", "control", True, "exact"),
        ("redraft", "redraft", False, "exact"),
        ("redraft:tau=3,floor=1", "redraft:tau=3,floor=1", False, "tolerant"),
        ("redraft: floor=1.0 , tau=3.00", "redraft:tau=3,floor=1", False, "tolerant"),
        ("redraft:tau=2.5", "redraft:tau=2.5,floor=1", False, "tolerant"),
        ("redraft:tau=0.5", "redraft:tau=0.5,floor=0.5", False, "tolerant"),
        ("redraft:tau=0", "redraft", False, "exact"),
        ("anchor", "anchor", False, "exact"),
        ("anchor:tau=3,floor=1", "anchor:tau=3,floor=1", False, "tolerant"),
        ("lookup", "lookup", True, "exact"),
        ("model", "model", True, "exact"),
        ("redraft:rule=tau", "redraft:tau=3,rule=tau", False, "tolerant"),
        ("redraft:rule=exact", "redraft", False, "exact"),
        (
            "redraft:rule=gated_entropy,p_cut=0.8",
            "redraft:tau=3,floor=1,rule=gated_entropy,p_cut=0.8",
            False,
            "tolerant",
        ),
        ("redraft:patch=off,sources=lookup+stale", "redraft:sources=stale+lookup,patch=off", False, "exact"),
        ("redraft:tau=3,guard=off", "redraft:tau=3,floor=1,guard=off", False, "tolerant"),
        ("redraft:tau=3,guard=on,patch=on", "redraft:tau=3,floor=1", False, "tolerant"),
        pytest.param("redraft:tau=0,floor=0", "redraft", False, "exact", id="no tolerance is exact mode"),
    ],
)
def test_spec_gives_the_canonical_arm(spec: str, name: str, baseline: bool, mode: str) -> None:
    arm = parse_arm(spec)
    assert (arm.name, arm.baseline, arm.mode) == (name, baseline, mode)


@given(tau=nats, floor=nats)
def test_canonical_name_reads_back_as_the_same_arm(tau: float, floor: float) -> None:
    arm = parse_arm(f"redraft:tau={max(tau, floor)!r},floor={min(tau, floor)!r}")
    assert parse_arm(arm.name) == arm


@pytest.mark.parametrize(
    "spec", ["lookup", "anchor:patch=off", "redraft:tau=1,rule=entropy_scaled,guard=off"]
)
def test_a_canonical_name_is_its_own_spec(spec: str) -> None:
    assert parse_arm(spec).name == spec
    assert parse_arm(parse_arm(spec).name) == parse_arm(spec)


def test_only_arms_that_draft_must_equal_plain() -> None:
    exact = [arm.name for arm in parse_arms(["redraft", "anchor", "lookup", "redraft:tau=3"]) if arm.exact]
    assert exact == ["redraft", "anchor", "lookup"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "unknown"),
        ("stale", "unknown"),
        ("plain:tau=1", "unknown"),
        ("redraft:", "unknown option ''"),
        ("redraft:tua=1", "unknown option 'tua'"),
        ("redraft:tau", "tau must be a number of nats, 0 or more, not ''"),
        ("redraft:tau=x", "not 'x'"),
        ("redraft:tau=nan", "not 'nan'"),
        ("redraft:tau=-1", "not '-1'"),
        ("redraft:tau=inf", "not 'inf'"),
        ("redraft:tau=1,tau=2", "tau is given twice"),
        ("redraft:tau=1,floor=2", "floor 2 is above tau 1"),
        ("redraft:rule=argmax", "rule must be one of exact, tau, "),
        ("redraft:rule=tau,floor=1", "rule tau has no floor"),
        ("redraft:p_cut=0.5", "rule entropy_floor has no confidence gate"),
        ("redraft:rule=confidence_gated,p_cut=0", "p_cut must be above 0 and at most 1"),
        ("redraft:sources=stale+web", "sources must be some of stale+lookup+model"),
        ("redraft:sources=", "sources must be some of"),
        ("redraft:patch=yes", "patch must be one of on, off, not 'yes'"),
        ("redraft:guard=off", "exact mode needs none"),
        ("anchor:sources=lookup", "drafts from the old answer only"),
        ("lookup:tau=1", "unknown"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said(spec: str, said: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_arm(spec)
    assert said in str(error.value)
    assert repr(spec) in str(error.value)


def test_plain_and_control_are_always_there_and_nothing_twice() -> None:
    arms = parse_arms(["redraft", "redraft:tau=3", "control", "redraft:floor=1"])
    assert [arm.name for arm in arms] == ["plain", "control", "redraft", "redraft:tau=3,floor=1"]
