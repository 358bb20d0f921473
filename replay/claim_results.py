"""What a claim judge found in a run, for every report to show. Pure.

Invariant: what was planned is counted, and a check without a verdict is unscored; a run that no claim judge
was asked about has no part on claims at all.
"""

from collections.abc import Sequence

from bundles import Attempt, Run, Unit, Verdict
from judge import assess_claims, is_claim_verdict
from replay.summary import ClaimArm, ClaimFlip, ClaimSummary


def claim_summary(
    run: Run, units: Sequence[Unit], attempts: Sequence[Attempt], verdicts: Sequence[Verdict]
) -> ClaimSummary | None:
    """The checks of claims by arm, and each that plain generation and another arm come out of differently."""
    given = [verdict for verdict in verdicts if is_claim_verdict(verdict)]
    assessment = assess_claims(run, units, attempts, given)
    if assessment is None:
        return None
    texts = {attempt.key: attempt.text for attempt in attempts}
    by_place = {(v.unit_id, v.arm, v.repeat, v.fact_id): v for v in given}
    regressions = set(assessment.regressions)
    flips = []
    for flip in assessment.flips:
        verdict = by_place[flip.unit_id, flip.arm, flip.repeat, flip.fact_id]
        start, end = verdict.evidence or (0, 0)
        flips.append(
            ClaimFlip(
                unit_id=flip.unit_id,
                arm=flip.arm,
                repeat=flip.repeat,
                check=flip.fact_id,
                before=flip.before,
                after=flip.after,
                attribution=flip.attribution,
                regression=flip in regressions,
                reason=verdict.reason,
                said=texts[flip.unit_id, flip.arm, flip.repeat][start:end],
                evidence=verdict.evidence,
            )
        )
    return ClaimSummary(
        judge=", ".join(sorted({verdict.judge for verdict in given})),
        arms={
            arm: ClaimArm(passed=facts.passed, failed=facts.failed, unscored=facts.unscored)
            for arm, facts in assessment.arms.items()
        },
        regressions=len(regressions),
        flips=tuple(flips),
    )
