"""The claim judge's verdicts on a run's attempts, and what they say together.

Invariant: every attempt under judgement gets one verdict for each claim fact. Claim facts are never counted
among a unit's own; a run that was claim-judged is assessed a second time, on them alone. It notes that it
was, so taking verdicts away, be it all of them, leaves claims that are unscored.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bundles import Attempt, Fact, Run, Scalar, Source, Unit, Verdict
from judge.asking import Asker
from judge.claims import PairJudgement, judge_pair
from judge.errors import JudgeError
from judge.evaluate import STALE_ARM
from judge.evidence import Assessment, assess
from judge.facts import Finding
from judge.gate import Findings, decide
from judge.outcomes import PLAIN
from judge.policy import GatePolicy

CLAIM_JUDGE = "claims:"
LOST_FACTS, NEW_ERRORS = "claims/lost_facts", "claims/new_errors"
CLAIM_FACTS = tuple(Fact(fact_id, "expect", (), matcher="claims") for fact_id in (LOST_FACTS, NEW_ERRORS))
_NOTED = "claim_judge"
_ITSELF = Finding("pass", "plain generation is what the others are compared with")


@dataclass(frozen=True, slots=True)
class ClaimVerdicts:
    """Verdicts to store, and per attempt (unit, arm, repeat) plain's claims that it does not speak of."""

    verdicts: tuple[Verdict, ...]
    omitted: Mapping[tuple[str, str, int], tuple[str, ...]]


async def judge_claims(asker: Asker, units: Iterable[Unit], attempts: Collection[Attempt]) -> ClaimVerdicts:
    """Compare every attempt with plain generation's at the same repeat, the control's too."""
    by_id = {unit.unit_id: unit for unit in units}
    judged = [attempt for attempt in attempts if attempt.arm != STALE_ARM]
    if foreign := [attempt for attempt in judged if attempt.unit_id not in by_id]:
        raise JudgeError(
            f"run {foreign[0].run_id}: attempt of unit {foreign[0].unit_id!r}, which is not among the units"
        )
    plain = {(attempt.unit_id, attempt.repeat): attempt for attempt in judged if attempt.arm == PLAIN}
    pairs = await asyncio.gather(
        *(
            _judge(asker, by_id[attempt.unit_id], plain.get((attempt.unit_id, attempt.repeat)), attempt)
            for attempt in judged
        )
    )
    found = list(zip(judged, pairs, strict=True))
    return ClaimVerdicts(
        tuple(verdict for attempt, pair in found for verdict in _verdicts(asker, attempt, pair)),
        {attempt.key: pair.omitted for attempt, pair in found if pair.omitted},
    )


def is_claim_verdict(verdict: Verdict) -> bool:
    """Whether a claim judge gave it."""
    return verdict.judge.startswith(CLAIM_JUDGE)


def claim_note(verdicts: Sequence[Verdict]) -> Mapping[str, Scalar]:
    """What the provenance of a run gains with verdicts on claims: whose, and how many they were."""
    judges = sorted({verdict.judge.removeprefix(CLAIM_JUDGE) for verdict in verdicts})
    return {_NOTED: ", ".join(judges), "claim_verdicts": len(verdicts)}


def assess_claims(
    run: Run, units: Sequence[Unit], attempts: Iterable[Attempt], verdicts: Iterable[Verdict]
) -> Assessment | None:
    """The run's assessment on claim facts alone, None where no claim judge was asked.

    What was planned and has no claim verdict is unscored there, as any other fact is.
    """
    given = [verdict for verdict in verdicts if is_claim_verdict(verdict) and verdict.run_id == run.run_id]
    if not given and _NOTED not in run.provenance:
        return None
    asked = [replace(unit, facts=CLAIM_FACTS, canary=False) for unit in units]
    return assess(run, asked, attempts, given)


def claim_findings(claims: Assessment, policy: GatePolicy) -> Findings:
    """What a gate is to make of claims: their losses are regressions, what is unscored is a doubt.

    Of the policy, what limits losses and names arms applies to claims as well.
    """
    of_claims = replace(
        policy, canaries="report", min_units=1, min_speedup={}, pinned_survival=None, require=()
    )
    decision = decide(claims, of_claims)
    remedy = (
        f"; ask again, or a stronger judge: redraft judge {claims.run_id} --again --judge-url URL"
        " --judge-model MODEL"
    )
    reasons = tuple(
        f"claims: {reason}{remedy if reason.endswith('are unscored') else ''}" for reason in decision.reasons
    )
    match decision.verdict:
        case "pass":
            return Findings(notes=reasons)
        case "regression":
            return Findings(failures=reasons)
        case _:
            return Findings(doubts=reasons)


async def _judge(asker: Asker, unit: Unit, plain: Attempt | None, attempt: Attempt) -> PairJudgement:
    flaw = _flaw("the attempt", attempt) or _flaw("plain generation's attempt", plain)
    if plain is None or flaw:
        unscored = Finding("unscored", flaw)
        return PairJudgement(unscored, unscored)
    if attempt is plain:
        return PairJudgement(_ITSELF, _ITSELF)
    return await judge_pair(asker, _sources(unit), plain.text, attempt.text)


def _flaw(name: str, attempt: Attempt | None) -> str:
    if attempt is None:
        return f"{name} is missing"
    return (
        "" if attempt.status == "ok" else f"{name} ended in {attempt.status}: {attempt.error or 'no message'}"
    )


def _sources(unit: Unit) -> tuple[Source, ...]:
    """What the new text is to follow; a person's own edit of the text goes before what it was made from."""
    if unit.edited is None:
        return unit.sources_after
    return (
        Source("edited by a person, and right where it differs from the rest", unit.edited),
        *unit.sources_after,
    )


def _verdicts(asker: Asker, attempt: Attempt, pair: PairJudgement) -> Iterator[Verdict]:
    for fact_id, finding in ((LOST_FACTS, pair.lost_facts), (NEW_ERRORS, pair.new_errors)):
        yield Verdict(
            run_id=attempt.run_id,
            unit_id=attempt.unit_id,
            arm=attempt.arm,
            repeat=attempt.repeat,
            fact_id=fact_id,
            outcome=finding.outcome,
            judge=f"{CLAIM_JUDGE}{asker.model}",
            judge_version=asker.version,
            evidence=finding.evidence,
            reason=finding.reason,
        )
