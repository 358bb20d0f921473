"""The arms of a run over all its units, and over those of a category or a kind. Pure.

Invariant: a unit counts once in every share and speedup, whatever its repeats.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from judge import Assessment
from replay.arms import PLAIN
from replay.judged_run import JudgedRun
from replay.summary import ArmSummary, Canaries, CategorySummary, UnitSummary
from replay.timing import metric_of, speedup
from replay.unit_results import mean


def arm_summaries(
    judged: JudgedRun, units: Sequence[UnitSummary], assessment: Assessment
) -> dict[str, ArmSummary]:
    """Every arm of the run over these units, which the assessment is of."""
    return {arm: _arm(judged, arm, units, assessment) for arm in judged.run.arms}


def grouped(
    judged: JudgedRun,
    units: Sequence[UnitSummary],
    whole: dict[str, ArmSummary],
    group_of: Callable[[UnitSummary], str],
) -> Iterator[CategorySummary]:
    """The units' groups in the order of their first unit; `whole` are the arms over all of them."""
    members: dict[str, list[UnitSummary]] = {}
    for unit in units:
        members.setdefault(group_of(unit), []).append(unit)
    for name, part in members.items():
        if len(part) == len(units):
            arms = whole
        else:
            arms = arm_summaries(judged, part, judged.assess([unit.unit_id for unit in part]))
        yield CategorySummary(category=name, units=len(part), arms=arms)


def _arm(judged: JudgedRun, arm: str, units: Sequence[UnitSummary], assessment: Assessment) -> ArmSummary:
    unit_ids = [unit.unit_id for unit in units]
    ours = list(judged.finished(unit_ids, [arm]))
    plain = judged.finished(unit_ids, [PLAIN])
    speed = speedup(judged.units(unit_ids), plain, ours, judged.run.seed, metric_of(judged.run))
    facts = assessment.arms[arm]
    return ArmSummary(
        facts_passed=facts.passed,
        facts_total=facts.total,
        unscored=facts.unscored,
        speedup_median=speed.median,
        speedup_low=speed.low,
        speedup_high=speed.high,
        slowest=speed.slowest,
        slowest_unit=speed.slowest_unit,
        held=judged.held(ours),
        divergences=sum(attempt.divergences for attempt in ours),
        identical=mean([unit.arms[arm].identical for unit in units]),
        flips=sum(flip.arm == arm for flip in assessment.flips),
        regressions=sum(flip.arm == arm for flip in assessment.regressions),
        canaries=Canaries(**asdict(assessment.canaries[arm])),
        pinned_kept=assessment.pinned[arm].kept,
        pinned_total=assessment.pinned[arm].total,
        edit_distance=mean([unit.arms[arm].edit_distance for unit in units]),
        **_lost(arm, assessment),
    )


def _lost(arm: str, assessment: Assessment) -> Mapping[str, int]:
    lost = [flip.attribution for flip in assessment.flips if flip.arm == arm and flip.is_loss]
    return {"lost_held": lost.count("held"), "lost_decoded": lost.count("decoded")}
