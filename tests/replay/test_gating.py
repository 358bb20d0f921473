from dataclasses import replace
from typing import Any

import pytest

from bundles import Verdict
from judge import Findings, GatePolicy, assess
from replay.gating import decide_run, session_summaries

PROVENANCE = {
    "engine_version": "e", "model_fingerprint": "f", "quantisation": "Q8_0", "kv_type": "bf16",
    "sampling": "greedy", "template_version": 1,
}  # fmt: skip


def decided(evaluated: Any, policy: GatePolicy, **options: Any) -> Any:
    attempts, verdicts = evaluated.attempts, options.pop("verdicts", evaluated.verdicts())
    assessment = assess(evaluated.run, evaluated.units, attempts, verdicts)
    return decide_run(evaluated.run, evaluated.units, attempts, verdicts, assessment, policy, **options)


@pytest.mark.parametrize(("least", "verdict"), [(1.9, "pass"), (2.0, "pass"), (2.1, "regression")])
@pytest.mark.parametrize("metric", ["wall", "ms_per_token"])
def test_a_least_speedup_is_held_to_what_was_measured(
    make: Any, metric: str, least: float, verdict: str
) -> None:
    """The arms of this run take half of plain's time."""
    assert decided(make.evaluated(8), GatePolicy(min_speedup={metric: least})).verdict == verdict


def test_passes_that_nobody_counted_are_no_speedup(make: Any) -> None:
    evaluated = make.evaluated(8)
    assert decided(evaluated, GatePolicy(min_speedup={"passes": 0.1})).verdict == "inconclusive"
    counted = replace(
        evaluated,
        attempts=tuple(
            replace(a, passes=12 if a.arm in ("plain", "control") else 4) for a in evaluated.attempts
        ),
    )
    assert decided(counted, GatePolicy(min_speedup={"passes": 3.0})).verdict == "pass"
    assert decided(counted, GatePolicy(min_speedup={"passes": 3.1})).verdict == "regression"


def test_too_few_sessions_are_inconclusive_about_speed(make: Any) -> None:
    assert decided(make.evaluated(5), GatePolicy(min_speedup={"wall": 1.0})).verdict == "inconclusive"


def test_units_outside_the_plan_are_not_timed(make: Any) -> None:
    evaluated = make.evaluated(8).changed("u7", "redraft", wall_ms=10_000.0)
    part = replace(evaluated, run=replace(evaluated.run, unit_ids=tuple(f"u{n}" for n in range(7))))
    assert decided(part, GatePolicy(min_speedup={"wall": 2.0})).verdict == "pass"


def test_a_run_of_which_everything_is_known_is_comparable(make: Any) -> None:
    evaluated, policy = make.evaluated(2), GatePolicy(require=("comparable",))
    assert decided(evaluated, policy).verdict == "inconclusive"
    known = replace(evaluated, run=replace(evaluated.run, provenance=PROVENANCE))
    assert decided(known, policy).verdict == "pass"


def test_claims_and_a_baseline_take_part(make: Any) -> None:
    evaluated = make.evaluated(2, arms=("plain", "control", "redraft"))
    calibrated = GatePolicy(require=("calibrated",))
    assert decided(evaluated, calibrated).verdict == "inconclusive"
    claims = [
        Verdict(a.run_id, a.unit_id, a.arm, a.repeat, fact_id, outcome, "claims:j", 1)
        for a in evaluated.attempts
        for fact_id in ("claims/lost_facts", "claims/new_errors")
        for outcome in ["pass"]
    ]
    judged = [*evaluated.verdicts(), *claims]
    assert decided(evaluated, calibrated, verdicts=judged).verdict == "pass"
    lost = [replace(v, outcome="fail") if (v.unit_id, v.arm) == ("u1", "redraft") else v for v in judged]
    assert any(
        reason.startswith("claims: ") for reason in decided(evaluated, calibrated, verdicts=lost).reasons
    )
    failing = decided(evaluated, GatePolicy(), against=Findings(failures=("b.json: lost",)))
    assert (failing.verdict, failing.reasons) == ("regression", ("b.json: lost",))


def test_sessions_are_summed_up_at_the_policy_s_margin(make: Any) -> None:
    evaluated = make.evaluated(6).changed("u1", "redraft", text="Bo owns it.", token_ids=(1,))
    assessment = assess(evaluated.run, evaluated.units, evaluated.attempts, evaluated.verdicts())
    found = session_summaries(assessment, GatePolicy(margin=0.1, confidence=0.9))
    assert set(found) == {"control", "redraft", "redraft:tau=3,floor=1"}
    redraft = found["redraft"]
    assert (redraft.sessions, redraft.worse, redraft.lost, redraft.identical_units) == (6, 1, 1, 5)
    assert (redraft.confidence, redraft.margin, redraft.ruling) == (0.9, 0.1, "undecided")
    assert redraft.loss_rate == pytest.approx(1 / 6)
    assert redraft.sessions_needed is not None
    tolerant = found["redraft:tau=3,floor=1"]
    assert (tolerant.ruling, tolerant.excess_high, tolerant.identical_units) == ("within", 0.0, 6)
