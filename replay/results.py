"""From a run's attempts and verdicts to its summary. Pure.

Invariant: only finished attempts of planned arms are counted, an attempt without verdicts is never
summed up, and a unit counts once in every share and speedup, whatever its repeats.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from bundles import Attempt, Bundle, Run, Verdict
from judge import Assessment, Findings, Flip, GatePolicy, comparability
from replay.advice import advise
from replay.arms import CONTROL, PLAIN, parse_arm
from replay.claim_results import claim_summary
from replay.gating import NOTHING, decide_run, session_summaries
from replay.group_results import arm_summaries, grouped
from replay.judged_run import JudgedRun
from replay.runs import COMPARABLE
from replay.summary import Canaries, Comparison, FlipSummary, Summary
from replay.timing import metric_of
from replay.unit_results import unit_summaries


def summarise(
    run: Run,
    bundle: Bundle,
    attempts: Sequence[Attempt],
    verdicts: Sequence[Verdict],
    policy: GatePolicy,
    against: Findings = NOTHING,
) -> Summary:
    """Sums up a run. `against` are the findings of a comparison with a baseline.

    SettingsError where the run has finished attempts that are not judged.
    """
    judged = JudgedRun(run, bundle, attempts, verdicts)
    assessment = judged.assess(run.unit_ids)
    decision = decide_run(run, bundle.units, attempts, verdicts, assessment, policy, against)
    flips = list(_flips(judged, assessment))
    units = tuple(unit_summaries(judged, assessment))
    arms = arm_summaries(judged, units, assessment)
    return Summary(
        run_id=run.run_id,
        bundle_id=run.bundle_id,
        bundle=bundle.name,
        started=run.started,
        finished=run.finished,
        units=len(run.unit_ids),
        repeats=run.repeats,
        seed=run.seed,
        speed_metric=metric_of(run),
        attempts=assessment.attempts,
        errors=len(assessment.errors),
        missing=len(assessment.missing),
        verdict=decision.verdict,
        exit_code=decision.exit_code,
        reasons=decision.reasons,
        exact_match=judged.identical(run.unit_ids, [arm for arm in run.arms if parse_arm(arm).exact]),
        control_match=arms[CONTROL].identical if CONTROL in arms else None,
        regressions=len(assessment.regressions),
        canaries=_worst_canaries(assessment),
        arms=arms,
        sessions=session_summaries(assessment, policy),
        categories=tuple(grouped(judged, units, arms, lambda unit: unit.category)),
        modes=tuple(grouped(judged, units, arms, lambda unit: unit.kind)),
        document_kinds=tuple(grouped(judged, units, arms, lambda unit: unit.document_kind)),
        flips=tuple(flips),
        claims=claim_summary(run, bundle.units, attempts, verdicts),
        look_at=tuple(advise(judged, assessment, arms)),
        comparability={
            **{part: run.provenance.get(part) for part in COMPARABLE},
            **asdict(comparability(run, verdicts)),
        },
        provenance=dict(run.provenance),
        comparisons=tuple(_comparisons(judged, flips)),
        unit_results=units,
    )


def _flips(judged: JudgedRun, assessment: Assessment) -> Iterator[FlipSummary]:
    """Each with what its fact says."""
    regressions = set(assessment.regressions)
    for flip in assessment.flips:
        yield _flip(judged, flip, flip in regressions)


def _flip(judged: JudgedRun, flip: Flip, regression: bool) -> FlipSummary:
    fact = next(fact for fact in judged.unit(flip.unit_id).facts if fact.fact_id == flip.fact_id)
    return FlipSummary(
        **asdict(flip), regression=regression, polarity=fact.polarity, values=tuple(fact.values)
    )


def _comparisons(judged: JudgedRun, flips: Iterable[FlipSummary]) -> Iterator[Comparison]:
    """Each attempt that has flips, beside plain generation's at the same repeat."""
    by_attempt: dict[tuple[str, str, int], list[FlipSummary]] = {}
    for flip in flips:
        by_attempt.setdefault((flip.unit_id, flip.arm, flip.repeat), []).append(flip)
    for (unit_id, arm, repeat), found in by_attempt.items():
        unit = judged.unit(unit_id)
        fact_ids = [flip.fact_id for flip in found]
        yield Comparison(
            unit_id=unit_id,
            category=unit.category,
            instruction=unit.instruction,
            arm=arm,
            repeat=repeat,
            plain=judged.passage((unit_id, PLAIN, repeat), fact_ids),
            other=judged.passage((unit_id, arm, repeat), fact_ids),
            flips=tuple(found),
        )


def _worst_canaries(assessment: Assessment) -> Canaries:
    """Each canary once, by its worst outcome over the arms under test (control's where there is none)."""
    arms = assessment.arms_under_test or (CONTROL,)
    worst: dict[str, str] = {}
    for rank in ("passed", "unscored", "blind", "failed"):
        for (unit_id, arm), outcome in assessment.canary_outcomes.items():
            if outcome == rank and arm in arms:
                worst[unit_id] = rank
    counted = list(worst.values())
    return Canaries(**{rank: counted.count(rank) for rank in Canaries.model_fields})
