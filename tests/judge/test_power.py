from collections.abc import Callable
from dataclasses import replace

import pytest

from bundles import Fact, Unit
from judge import GatePolicy, JudgeError, Power, Seen, measure_power
from judge.faults import FAULT_KINDS
from judge.harmless import HARMLESS_KINDS

FARE = (Fact("new", "expect", ("14 euros",)), Fact("old", "forbid", ("9 euros",)))
TEXTS = (
    "A day ticket costs 14 euros. It is sold on board.",
    "The price is now 14 euros because the ferry is new. Bring a bicycle.",
    "You pay 14 euros.",
)


def measured(
    judged: Callable,
    unit: Callable[..., Unit],
    policy: GatePolicy | None = None,
    count: int = 12,
    **options: object,
) -> Power:
    units = tuple(unit(f"u{index}", facts=FARE) for index in range(count))
    texts = {
        (made.unit_id, arm): TEXTS[index % len(TEXTS)]
        for index, made in enumerate(units)
        for arm in ("plain", "control", "redraft")
    }
    run = judged(texts, units=units)
    return measure_power(run.run, run.units, run.attempts, policy or GatePolicy(), resamples=20, **options)


def test_a_gate_that_allows_nothing_sees_every_fault_and_no_harmless_change(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    power = measured(judged, unit)
    assert power.unchanged == "pass"
    assert power.detection == {
        "stale_fact": Seen(12, 12),
        "dropped_fact": Seen(12, 12),
        "truncated": Seen(12, 12),
        "shifted_number": Seen(12, 12),
        "negated": Seen(24, 24),
        "swapped_owner": Seen(0, 0),
        "duplicated": Seen(0, 0),
    }
    assert power.in_canaries == power.detection
    assert power.false_alarms["reworded"].seen == power.false_alarms["reordered"].seen == 0
    assert power.false_alarms["reworded"].made > 40
    assert (power.resamples, power.failures, power.examples, power.suffices) == (20, 0, (), True)
    assert power.doses["stale_fact", 10] == Seen(20, 20)
    assert ("duplicated", 2) not in power.doses


def test_a_gate_that_allows_some_losses_sees_them_from_a_dose_on(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    lax = GatePolicy(canaries="report", allowed_regressions={"critical": 3})
    power = measured(judged, unit, lax)
    assert power.detection["dropped_fact"] == Seen(12, 0)
    assert power.doses["dropped_fact", 2] == Seen(20, 0)
    assert power.doses["dropped_fact", 5] == Seen(20, 20)
    assert power.suffices is False
    assert [example.kind for example in power.examples] == ["stale_fact"] * 10
    assert power.examples[0].verdict == "pass"


def test_what_faults_do_not_touch_is_left_out_of_the_policy(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    demanding = GatePolicy(
        arms=("redraft",), min_speedup={"wall": 9.0}, pinned_survival=1.0, require=("calibrated",)
    )
    assert measured(judged, unit, demanding, count=3).unchanged == "pass"


def test_the_same_seed_gives_the_same_figures(judged: Callable, unit: Callable[..., Unit]) -> None:
    assert measured(judged, unit, count=3, seed=3) == measured(judged, unit, count=3, seed=3)


def test_a_gate_that_is_inconclusive_anyway_still_sees_faults(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    power = measured(judged, unit, GatePolicy(min_units=99), count=3)
    assert power.unchanged == "inconclusive"
    assert power.detection["stale_fact"] == Seen(3, 3)
    assert power.false_alarms["reworded"].seen == 0


def test_what_cannot_be_told_is_not_told(judged: Callable, unit: Callable[..., Unit]) -> None:
    """No canary, no control, or nothing that states a fact."""
    no_canary = judged(units=(unit("u1", canary=False),))
    without_control = judged(arms=("plain", "redraft"))
    for run in (no_canary, without_control):
        power = measure_power(run.run, run.units, run.attempts, GatePolicy(), resamples=5)
        assert power.suffices is None
    assert (
        measure_power(
            without_control.run, without_control.units, without_control.attempts, GatePolicy()
        ).resamples
        == 0
    )
    silent = judged({(u, "plain"): "Nobody knows." for u in ("u1", "u2")})
    power = measure_power(silent.run, silent.units, silent.attempts, GatePolicy(), resamples=5)
    assert not any(seen.made for seen in power.detection.values())
    assert set(power.detection) == set(FAULT_KINDS)
    assert set(power.false_alarms) == set(HARMLESS_KINDS)


def test_a_rate_of_nothing_has_no_value() -> None:
    assert Seen(0, 0).rate.value is None
    assert Seen(4, 3).rate.value == 0.75


def test_a_run_without_answers_is_refused(judged: Callable) -> None:
    run = judged()
    with pytest.raises(JudgeError, match="run run: plain generation has no finished answer"):
        measure_power(run.run, run.units, (), GatePolicy())


def test_progress_is_told(judged: Callable, unit: Callable[..., Unit]) -> None:
    heard: list[str] = []
    measured(judged, unit, count=1, tell=heard.append)
    assert heard == ["single faults", "several faults at once", "plain against control"]


def test_a_plan_of_some_units_only_is_tried(judged: Callable) -> None:
    run = judged()
    part = replace(run.run, unit_ids=("u1",))
    power = measure_power(part, run.units, run.attempts, GatePolicy(), resamples=2)
    assert power.detection["truncated"] == Seen(1, 1)
