"""Each unit of a run, arm by arm. Pure.

Invariant: repeats of a unit are reduced to one figure, and what was not measured is None, never zero.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from rapidfuzz.distance import Levenshtein

from bundles import Attempt, Unit
from judge import Assessment, CanaryOutcome
from replay.arms import PLAIN
from replay.judged_run import JudgedRun
from replay.summary import UnitArm, UnitSummary
from replay.timing import metric_of, taken

# Two texts of this length take half a second; no answer of a model is as long.
LONGEST_COMPARED = 200_000


def unit_summaries(judged: JudgedRun, assessment: Assessment) -> Iterator[UnitSummary]:
    """In the order of the plan."""
    flips = Counter((flip.unit_id, flip.arm) for flip in assessment.flips)
    regressions = Counter((flip.unit_id, flip.arm) for flip in assessment.regressions)
    metric = metric_of(judged.run)
    for unit in judged.units():
        plain_takes = taken(judged.finished([unit.unit_id], [PLAIN]), metric).get(unit.unit_id)
        yield UnitSummary(
            unit_id=unit.unit_id,
            session_id=unit.session_id,
            category=unit.category,
            kind=unit.kind,
            document_kind=judged.session(unit).document_kind,
            tags=unit.tags,
            canary=unit.canary,
            arms={
                arm: _arm(
                    judged,
                    unit,
                    arm,
                    plain_takes=plain_takes,
                    flips=flips[unit.unit_id, arm],
                    regressions=regressions[unit.unit_id, arm],
                    canary=assessment.canary_outcomes.get((unit.unit_id, arm)),
                )
                for arm in judged.run.arms
            },
        )


def edit_distance(text: str, plain: str) -> float | None:
    """Levenshtein's, over the longer length, by code points; None where that would take too long."""
    if text == plain:
        return 0.0
    if max(len(text), len(plain)) > LONGEST_COMPARED:
        return None
    return Levenshtein.normalized_distance(text, plain)


def mean(values: Sequence[float | None]) -> float | None:
    """Of the values that are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _arm(
    judged: JudgedRun,
    unit: Unit,
    arm: str,
    *,
    plain_takes: float | None,
    flips: int,
    regressions: int,
    canary: CanaryOutcome | None,
) -> UnitArm:
    made = [judged.attempt((unit.unit_id, arm, repeat)) for repeat in range(judged.run.repeats)]
    failed = [attempt for attempt in made if attempt and attempt.status != "ok"]
    ours = [attempt for attempt in made if attempt and attempt.status == "ok"]
    facts = Counter(judged.verdict(a.key, fact.fact_id).outcome for a in ours for fact in unit.facts)
    checks = len(unit.facts) * judged.run.repeats
    took = taken(ours, metric_of(judged.run)).get(unit.unit_id)
    share = judged.identical([unit.unit_id], [arm])
    return UnitArm(
        finished=len(ours),
        failed=len(failed),
        error=(failed[0].error or failed[0].status) if failed else "",
        facts_passed=facts["pass"],
        facts_total=checks,
        unscored=checks - facts["pass"] - facts["fail"],
        flips=flips,
        regressions=regressions,
        canary=canary,
        speedup=plain_takes / took if plain_takes and took else None,
        wall_ms=taken(ours, "wall").get(unit.unit_id),
        prompt_ms=_median([attempt.prompt_ms for attempt in ours]),
        passes=_median([attempt.passes for attempt in ours]),
        rows=_median([attempt.rows for attempt in ours]),
        held=judged.held(ours),
        divergences=sum(attempt.divergences for attempt in ours),
        identical=None if share is None else share == 1,
        edit_distance=_median(_distances(judged, ours)),
    )


def _distances(judged: JudgedRun, ours: Sequence[Attempt]) -> list[float]:
    distances = [
        edit_distance(attempt.text, plain.text)
        for attempt in ours
        if (plain := judged.plain_of(attempt)) and plain.status == "ok"
    ]
    return [distance for distance in distances if distance is not None]


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
