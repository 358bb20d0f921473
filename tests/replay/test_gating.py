from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles import Verdict
from judge import Findings, GatePolicy, assess, claim_note
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


@pytest.mark.parametrize(("least", "verdict"), [(3.0, "pass"), (3.1, "regression")])
@pytest.mark.parametrize("metric", ["wall", "ms_per_token", "passes"])
def test_where_attempts_contended_a_least_speedup_is_asked_of_passes(
    make: Any, metric: str, least: float, verdict: str
) -> None:
    evaluated = make.evaluated(8)
    contended = replace(
        evaluated,
        run=replace(evaluated.run, provenance={**evaluated.run.provenance, "jobs": 4}),
        attempts=tuple(
            replace(a, passes=12 if a.arm in ("plain", "control") else 4) for a in evaluated.attempts
        ),
    )
    decision = decided(contended, GatePolicy(min_speedup={metric: least}))
    assert decision.verdict == verdict
    said = "attempts were made 4 at once: min_speedup of times is asked of passes"
    assert (said in decision.reasons) == (metric != "passes")


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # factories only
@given(data=st.data())
def test_taking_verdicts_of_any_judge_away_never_yields_a_pass(make: Any, data: st.DataObject) -> None:
    evaluated = make.evaluated(2, arms=("plain", "control", "redraft"))
    lost = data.draw(st.sampled_from([(), ("redraft",), ("redraft", "control")]))
    for arm in lost:
        evaluated = evaluated.changed("u1", arm, text="Bo owns it.", token_ids=(1,))
    claims = [
        Verdict(a.run_id, a.unit_id, a.arm, a.repeat, fact_id, "pass", "claims:j", 1)
        for a in evaluated.attempts
        for fact_id in ("claims/lost_facts", "claims/new_errors")
    ]
    claims[-1] = replace(claims[-1], outcome=data.draw(st.sampled_from(["pass", "fail", "unscored"])))
    noted = replace(evaluated, run=replace(evaluated.run, provenance={**PROVENANCE, **claim_note(claims)}))
    policy = data.draw(
        st.sampled_from([GatePolicy(), GatePolicy(allowed_regressions={"critical": 3}, canaries="report")])
    )
    verdicts = [*evaluated.verdicts(), *claims]
    gone = set(data.draw(st.sampled_from([claims, evaluated.verdicts()]))) | data.draw(
        st.sets(st.sampled_from(verdicts))
    )
    kept = [verdict for verdict in verdicts if verdict not in gone]
    assert decided(noted, policy, verdicts=kept).verdict != "pass"


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
