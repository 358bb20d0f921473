"""A judged run before the gate: facts, claims, speed and a baseline, held to one policy. Pure.

Invariant: everything that a policy can ask about is brought along, so nothing passes because nobody measured
it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bundles import Attempt, Run, Unit, Verdict
from judge import (
    Assessment,
    Decision,
    Estimate,
    Findings,
    GatePolicy,
    Measures,
    Metric,
    assess_claims,
    claim_findings,
    comparability,
    decide,
    weigh,
)
from replay.arms import PLAIN
from replay.runs import jobs_of
from replay.summary import SessionSummary
from replay.timing import metric_of, speedup

NOTHING = Findings()


def decide_run(
    run: Run,
    units: Sequence[Unit],
    attempts: Sequence[Attempt],
    verdicts: Sequence[Verdict],
    assessment: Assessment,
    policy: GatePolicy,
    against: Findings = NOTHING,
) -> Decision:
    """The gate's word on a run; `against` are the findings of a comparison with a baseline."""
    claims = assess_claims(run, units, attempts, verdicts)
    policy, against = _fair(run, policy, against)
    measures = Measures(
        speedups={
            arm: _speedups(run, units, attempts, arm, policy.min_speedup)
            for arm in assessment.arms_under_test
        },
        calibrated=claims is not None,  # an unfit judge's verdicts are never stored
        unknown=comparability(run, verdicts).unknown,
    )
    return decide(
        assessment, policy, measures, against + (claim_findings(claims, policy) if claims else NOTHING)
    )


def _fair(run: Run, policy: GatePolicy, against: Findings) -> tuple[GatePolicy, Findings]:
    """The policy with what it asks of times asked of passes, where attempts contended for the machine."""
    least = policy.min_speedup
    if metric_of(run) == "wall" or not {"wall", "ms_per_token"} & least.keys():
        return policy, against
    said = Findings(f"attempts were made {jobs_of(run)} at once: min_speedup of times is asked of passes")
    return replace(policy, min_speedup={"passes": max(least.values())}), said + against


def session_summaries(assessment: Assessment, policy: GatePolicy) -> dict[str, SessionSummary]:
    """What the sessions of every arm but plain say at the policy's margin and confidence."""
    return {arm: _session_summary(assessment, arm, policy) for arm in assessment.sessions}


def _speedups(
    run: Run, units: Sequence[Unit], attempts: Sequence[Attempt], arm: str, metrics: Iterable[Metric]
) -> Mapping[Metric, Estimate]:
    planned = set(run.unit_ids)
    members = [unit for unit in units if unit.unit_id in planned]
    plain, ours = ([attempt for attempt in attempts if attempt.arm == name] for name in (PLAIN, arm))
    measured = {metric: speedup(members, plain, ours, run.seed, metric) for metric in metrics}
    return {metric: Estimate(found.median, found.low, found.high) for metric, found in measured.items()}


def _session_summary(assessment: Assessment, arm: str, policy: GatePolicy) -> SessionSummary:
    counts = assessment.sessions[arm]
    weight = weigh(counts, policy.margin, policy.confidence)
    return SessionSummary(
        sessions=counts.sessions,
        worse=counts.worse,
        better=counts.better,
        p_value=weight.p_value,
        lost=counts.lost,
        loss_rate=weight.loss_rate.value,
        loss_rate_low=weight.loss_rate.low,
        loss_rate_high=weight.loss_rate.high,
        lost_alone=counts.lost_alone,
        spared=counts.spared,
        excess=weight.excess.value,
        excess_low=weight.excess.low,
        excess_high=weight.excess.high,
        confidence=policy.confidence,
        margin=policy.margin,
        ruling=weight.ruling,
        sessions_needed=weight.sessions_needed,
        identical_units=counts.same,
    )
