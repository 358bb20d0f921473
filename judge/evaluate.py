"""Verdicts on a run's attempts.

Invariant: every attempt that is under judgement gets exactly one verdict for each fact of its unit.
"""

from collections.abc import Iterable, Iterator

from bundles import Attempt, Fact, Unit, Verdict
from judge.errors import JudgeError
from judge.facts import Finding, check_fact

JUDGE = "fact-matcher"
JUDGE_VERSION = 2
STALE_ARM = "stale"


def judge_attempts(units: Iterable[Unit], attempts: Iterable[Attempt]) -> list[Verdict]:
    """Check every attempt but the stale answers, which are input; a failed attempt is unscored."""
    facts = {unit.unit_id: unit.facts for unit in units}
    return [
        verdict
        for attempt in attempts
        if attempt.arm != STALE_ARM
        for verdict in _verdicts(attempt, facts.get(attempt.unit_id))
    ]


def _verdicts(attempt: Attempt, facts: tuple[Fact, ...] | None) -> Iterator[Verdict]:
    if facts is None:
        raise JudgeError(
            f"run {attempt.run_id}: attempt of unit {attempt.unit_id!r}, which is not among the units"
        )
    for fact in facts:
        if attempt.status == "ok":
            finding = check_fact(fact, attempt.text)
        else:
            finding = Finding(
                "unscored", f"attempt ended in {attempt.status}: {attempt.error or 'no message'}"
            )
        yield Verdict(
            run_id=attempt.run_id,
            unit_id=attempt.unit_id,
            arm=attempt.arm,
            repeat=attempt.repeat,
            fact_id=fact.fact_id,
            outcome=finding.outcome,
            judge=JUDGE,
            judge_version=JUDGE_VERSION,
            evidence=finding.evidence,
            reason=finding.reason,
        )
