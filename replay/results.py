"""From a run's attempts and verdicts to its summary. Pure.

Invariant: only finished attempts of planned arms are counted, an attempt without verdicts is never
summed up, and a unit counts once in every share and speedup, whatever its repeats.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from bundles import Attempt, Bundle, Run, Verdict
from judge import Assessment, Findings, Flip, GatePolicy, assess, comparability
from replay.arms import CONTROL, PLAIN, parse_arm
from replay.errors import SettingsError
from replay.gating import NOTHING, decide_run, session_summaries
from replay.runs import COMPARABLE
from replay.summary import (
    ArmSummary,
    Canaries,
    CategorySummary,
    Comparison,
    FlipSummary,
    Passage,
    Summary,
)
from replay.timing import speedup


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
    results = Results(run, bundle, attempts, verdicts)
    assessment = results.assess(run.unit_ids)
    decision = decide_run(run, bundle.units, attempts, verdicts, assessment, policy, against)
    regressions = set(assessment.regressions)
    flips = [results.flip(flip, flip in regressions) for flip in assessment.flips]
    arms = results.arms(run.unit_ids, assessment)
    return Summary(
        run_id=run.run_id,
        bundle_id=run.bundle_id,
        bundle=bundle.name,
        started=run.started,
        finished=run.finished,
        units=len(run.unit_ids),
        repeats=run.repeats,
        seed=run.seed,
        attempts=assessment.attempts,
        errors=len(assessment.errors),
        missing=len(assessment.missing),
        verdict=decision.verdict,
        exit_code=decision.exit_code,
        reasons=decision.reasons,
        exact_match=results.identical(run.unit_ids, [arm for arm in run.arms if parse_arm(arm).exact]),
        control_match=arms[CONTROL].identical if CONTROL in arms else None,
        regressions=len(assessment.regressions),
        canaries=_worst_canaries(assessment),
        arms=arms,
        sessions=session_summaries(assessment, policy),
        categories=tuple(results.categories()),
        flips=tuple(flips),
        look_at=tuple(results.look_at(assessment, arms)),
        comparability={
            **{part: run.provenance.get(part) for part in COMPARABLE},
            **asdict(comparability(run, verdicts)),
        },
        provenance=dict(run.provenance),
        comparisons=tuple(results.comparisons(flips)),
    )


class Results:
    """A run's attempts and verdicts, by key."""

    def __init__(
        self, run: Run, bundle: Bundle, attempts: Sequence[Attempt], verdicts: Sequence[Verdict]
    ) -> None:
        self._run = run
        self._units = {unit.unit_id: unit for unit in bundle.units}
        self._attempts = {attempt.key: attempt for attempt in attempts if attempt.arm in run.arms}
        self._verdicts = {(v.unit_id, v.arm, v.repeat, v.fact_id): v for v in verdicts}
        for attempt in self._finished(run.unit_ids, run.arms):
            for fact in self._units[attempt.unit_id].facts:
                if (*attempt.key, fact.fact_id) not in self._verdicts:
                    raise SettingsError(
                        f"run {run.run_id} has attempts that are not judged: redraft judge {run.run_id}"
                    )

    def assess(self, unit_ids: Sequence[str]) -> Assessment:
        """What the judge says of some of the run's units."""
        part = replace(self._run, unit_ids=tuple(unit_ids))
        units = [self._units[unit_id] for unit_id in unit_ids]
        return assess(part, units, self._attempts.values(), self._verdicts.values())

    def arms(self, unit_ids: Sequence[str], assessment: Assessment) -> dict[str, ArmSummary]:
        """Every arm of the run over some of its units."""
        return {arm: self._arm(arm, unit_ids, assessment) for arm in self._run.arms}

    def identical(self, unit_ids: Iterable[str], arms: Sequence[str]) -> float | None:
        """Share of units whose token ids equal plain's in each of these arms; None without any to compare."""
        equal = []
        for unit_id in unit_ids:
            pairs = [
                (attempt.token_ids, plain.token_ids)
                for attempt in self._finished([unit_id], arms)
                if (plain := self._attempts.get((unit_id, PLAIN, attempt.repeat))) and plain.status == "ok"
            ]
            if pairs:
                equal.append(all(ours == plain for ours, plain in pairs))
        return sum(equal) / len(equal) if equal else None

    def categories(self) -> Iterator[CategorySummary]:
        """The run's categories in the order of their first unit."""
        members: dict[str, list[str]] = {}
        for unit_id in self._run.unit_ids:
            members.setdefault(self._units[unit_id].category, []).append(unit_id)
        for category, unit_ids in members.items():
            arms = self.arms(unit_ids, self.assess(unit_ids))
            yield CategorySummary(category=category, units=len(unit_ids), arms=arms)

    def flip(self, flip: Flip, regression: bool) -> FlipSummary:
        """A flip with what its fact says."""
        fact = next(fact for fact in self._units[flip.unit_id].facts if fact.fact_id == flip.fact_id)
        return FlipSummary(
            **asdict(flip), regression=regression, polarity=fact.polarity, values=tuple(fact.values)
        )

    def comparisons(self, flips: Iterable[FlipSummary]) -> Iterator[Comparison]:
        """Each attempt that has flips, beside plain generation's at the same repeat."""
        grouped: dict[tuple[str, str, int], list[FlipSummary]] = {}
        for flip in flips:
            grouped.setdefault((flip.unit_id, flip.arm, flip.repeat), []).append(flip)
        for (unit_id, arm, repeat), found in grouped.items():
            unit = self._units[unit_id]
            fact_ids = [flip.fact_id for flip in found]
            yield Comparison(
                unit_id=unit_id,
                category=unit.category,
                instruction=unit.instruction,
                arm=arm,
                repeat=repeat,
                plain=self._passage((unit_id, PLAIN, repeat), fact_ids),
                other=self._passage((unit_id, arm, repeat), fact_ids),
                flips=tuple(found),
            )

    def look_at(self, assessment: Assessment, arms: dict[str, ArmSummary]) -> Iterator[str]:
        """What a reader should do next, most pressing first."""
        for key in (*assessment.errors, *assessment.missing)[:1]:
            attempt = self._attempts.get(key)
            why = f": {attempt.error}" if attempt else " and has not run"
            count = len(assessment.errors) + len(assessment.missing)
            yield (
                f"{count} attempts are not there; {_named(key)} is one{why};"
                f" `redraft run --resume {self._run.run_id}` makes them"
            )
        for flip in assessment.regressions[:1]:
            yield (
                f"fact {flip.fact_id} of unit {flip.unit_id}, which {flip.arm} lost:"
                f" the difference was {_ATTRIBUTIONS[flip.attribution]}"
            )
        for name, arm in arms.items():
            if parse_arm(name).exact and arm.identical is not None and arm.identical < 1:
                yield (
                    f"{name}, which promises plain generation's tokens and gave others in"
                    f" {1 - arm.identical:.0%} of the units: is the engine deterministic?"
                )
        if assessment.blind_share > 0:
            blind = [unit for (unit, arm), how in assessment.canary_outcomes.items() if (arm, how) == _BLIND]
            yield f"{len(blind)} blind canaries, which plain generation gets wrong too, such as {blind[0]}"
        for name in assessment.arms_under_test:
            arm = arms[name]
            if arm.slowest is not None and arm.slowest < 1:
                yield f"unit {arm.slowest_unit}, where {name} is slower than plain: {arm.slowest:.2f}x"

    def _arm(self, arm: str, unit_ids: Sequence[str], assessment: Assessment) -> ArmSummary:
        ours = list(self._finished(unit_ids, [arm]))
        units = [self._units[unit_id] for unit_id in unit_ids]
        speed = speedup(units, self._finished(unit_ids, [PLAIN]), ours, self._run.seed)
        tokens = sum(len(attempt.token_ids) for attempt in ours)
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
            held=sum(attempt.held for attempt in ours) / tokens if tokens else None,
            divergences=sum(attempt.divergences for attempt in ours),
            identical=self.identical(unit_ids, [arm]),
            flips=sum(flip.arm == arm for flip in assessment.flips),
            regressions=sum(flip.arm == arm for flip in assessment.regressions),
            canaries=Canaries(**asdict(assessment.canaries[arm])),
            pinned_kept=assessment.pinned[arm].kept,
            pinned_total=assessment.pinned[arm].total,
        )

    def _finished(self, unit_ids: Iterable[str], arms: Iterable[str]) -> Iterator[Attempt]:
        for unit_id in unit_ids:
            for arm in arms:
                for repeat in range(self._run.repeats):
                    attempt = self._attempts.get((unit_id, arm, repeat))
                    if attempt and attempt.status == "ok":
                        yield attempt

    def _passage(self, key: tuple[str, str, int], fact_ids: Iterable[str]) -> Passage:
        attempt = self._attempts[key]
        evidence = [self._verdicts[(*key, fact_id)].evidence for fact_id in fact_ids]
        return Passage(
            text=attempt.text,
            held=tuple((span.new_start, span.new_end) for span in attempt.spans),
            evidence=tuple(found for found in evidence if found),
        )


_BLIND = (PLAIN, "blind")
_ATTRIBUTIONS = {"held": "taken over from the stale answer", "decoded": "decoded by the model itself"}


def _named(key: tuple[str, str, int]) -> str:
    unit_id, arm, repeat = key
    return f"{arm} of unit {unit_id}" + (f", repeat {repeat}" if repeat else "")


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
