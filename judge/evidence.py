"""What a run's verdicts say, arm against plain generation.

Invariant: the run's plan is the denominator. What was planned and has no attempt is missing, and a fact
without a verdict of pass or fail on a finished attempt is unscored; neither ever counts as a pass.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bundles import Attempt, Fact, Outcome, Run, Severity, Unit, Verdict
from judge.canaries import CanaryCount, CanaryOutcome, count_canaries, judge_canary
from judge.errors import JudgeError

PLAIN, CONTROL = "plain", "control"
Attribution = Literal["held", "decoded"]
AttemptKey = tuple[str, str, int]
_WORST_FIRST: Mapping[Severity, int] = {"critical": 0, "supporting": 1, "advisory": 2}


@dataclass(frozen=True, slots=True)
class Flip:
    """A fact that an arm and plain generation judge differently at the same repeat.

    `before` is plain's outcome, `after` the arm's. `attribution` says whether the difference was taken
    over from the stale answer or decoded by the model itself.
    """

    unit_id: str
    fact_id: str
    arm: str
    repeat: int
    before: Outcome
    after: Outcome
    attribution: Attribution
    severity: Severity

    @property
    def is_loss(self) -> bool:
        """Whether plain has the fact right and the arm wrong."""
        return self.before == "pass"


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """Planned fact checks of one arm, over all units and repeats."""

    passed: int
    total: int
    unscored: int

    @property
    def failed(self) -> int:
        """Checks that were made and came out wrong."""
        return self.total - self.passed - self.unscored


@dataclass(frozen=True, slots=True)
class Assessment:
    """Everything a gate or a report needs to know of a judged run.

    `regressions` are the losses of arms under test that the control attempt did not suffer too.
    `canary_outcomes` is keyed by unit and arm; `missing` and `errors` are keys of planned attempts,
    `attempts` is how many of them exist. `telling_units` are the units of which plain generation gets a
    fact right, in every repeat and not an advisory one: no other shows a loss.
    """

    run_id: str
    arms: Mapping[str, ArmFacts]
    flips: tuple[Flip, ...]
    regressions: tuple[Flip, ...]
    canaries: Mapping[str, CanaryCount]
    canary_outcomes: Mapping[tuple[str, str], CanaryOutcome]
    missing: tuple[AttemptKey, ...]
    errors: tuple[AttemptKey, ...]
    attempts: int
    telling_units: int

    @property
    def arms_under_test(self) -> tuple[str, ...]:
        """The arms that a gate may fail: all but plain and control."""
        return tuple(arm for arm in self.arms if arm not in (PLAIN, CONTROL))

    @property
    def drift(self) -> tuple[Flip, ...]:
        """Losses of arms under test that the control attempt suffered too."""
        own = set(self.regressions)
        return tuple(flip for flip in self.flips if flip.is_loss and flip.arm != CONTROL and flip not in own)

    @property
    def blind_share(self) -> float:
        """Share of the canaries that plain generation gets wrong; 0 without canaries."""
        count = self.canaries[PLAIN]
        return count.blind / count.total if count.total else 0.0


def assess(
    run: Run, units: Sequence[Unit], attempts: Iterable[Attempt], verdicts: Iterable[Verdict]
) -> Assessment:
    """Compare every arm with plain, fact by fact.

    Attempts and verdicts of other runs or outside the plan are ignored.
    """
    if PLAIN not in run.arms:
        raise JudgeError(f"run {run.run_id}: no arm {PLAIN!r} to compare with")
    by_id = {unit.unit_id: unit for unit in units}
    if absent := [unit_id for unit_id in run.unit_ids if unit_id not in by_id]:
        raise JudgeError(f"run {run.run_id}: unit {absent[0]!r} of its plan is not among the units")
    results = _Results(run, [by_id[unit_id] for unit_id in dict.fromkeys(run.unit_ids)], attempts, verdicts)
    flips = sorted(results.flips(), key=lambda flip: (not flip.is_loss, _WORST_FIRST[flip.severity]))
    canaries = {
        (unit.unit_id, arm): results.canary(unit, arm)
        for unit in results.units
        if unit.canary
        for arm in run.arms
    }
    return Assessment(
        run_id=run.run_id,
        arms={arm: results.arm_facts(arm) for arm in run.arms},
        flips=tuple(flips),
        regressions=tuple(flip for flip in flips if results.is_regression(flip)),
        canaries={
            arm: count_canaries(outcome for (_, of_arm), outcome in canaries.items() if of_arm == arm)
            for arm in run.arms
        },
        canary_outcomes=canaries,
        missing=tuple(key for key in results.planned if key not in results.attempts),
        errors=tuple(key for key, attempt in results.attempts.items() if attempt.status != "ok"),
        attempts=len(results.attempts),
        telling_units=sum(results.is_telling(unit) for unit in results.units),
    )


class _Results:
    """Attempts and verdicts of a run's plan, by key."""

    def __init__(
        self, run: Run, units: Sequence[Unit], attempts: Iterable[Attempt], verdicts: Iterable[Verdict]
    ) -> None:
        self.units = units
        self.repeats = range(run.repeats)
        self.planned = [(u.unit_id, arm, n) for u in units for arm in run.arms for n in self.repeats]
        given = {attempt.key: attempt for attempt in attempts if attempt.run_id == run.run_id}
        self.attempts = {key: given[key] for key in self.planned if key in given}
        self._verdicts = {
            (v.unit_id, v.arm, v.repeat, v.fact_id): v
            for v in verdicts
            if v.run_id == run.run_id and v.outcome in ("pass", "fail")
        }

    def outcome(self, unit_id: str, arm: str, repeat: int, fact_id: str) -> Outcome:
        attempt = self.attempts.get((unit_id, arm, repeat))
        verdict = self._verdicts.get((unit_id, arm, repeat, fact_id))
        return verdict.outcome if verdict and attempt and attempt.status == "ok" else "unscored"

    def outcomes(self, unit: Unit, arm: str, facts: Iterable[Fact]) -> list[Outcome]:
        return [self.outcome(unit.unit_id, arm, n, fact.fact_id) for fact in facts for n in self.repeats]

    def arm_facts(self, arm: str) -> ArmFacts:
        outcomes = [outcome for unit in self.units for outcome in self.outcomes(unit, arm, unit.facts)]
        return ArmFacts(outcomes.count("pass"), len(outcomes), outcomes.count("unscored"))

    def canary(self, unit: Unit, arm: str) -> CanaryOutcome:
        """Advisory facts do not decide."""
        facts = [fact for fact in unit.facts if fact.severity != "advisory"]
        return judge_canary(self.outcomes(unit, PLAIN, facts), self.outcomes(unit, arm, facts))

    def is_telling(self, unit: Unit) -> bool:
        facts = [fact for fact in unit.facts if fact.severity != "advisory"]
        return any(set(self.outcomes(unit, PLAIN, [fact])) == {"pass"} for fact in facts)

    def flips(self) -> Iterator[Flip]:
        facts = {unit.unit_id: unit.facts for unit in self.units}
        for unit_id, arm, repeat in self.planned:
            for fact in facts[unit_id]:
                before = self.outcome(unit_id, PLAIN, repeat, fact.fact_id)
                after = self.outcome(unit_id, arm, repeat, fact.fact_id)
                if {before, after} == {"pass", "fail"}:
                    why = self._attribution(unit_id, arm, repeat, fact.fact_id)
                    yield Flip(unit_id, fact.fact_id, arm, repeat, before, after, why, fact.severity)

    def is_regression(self, flip: Flip) -> bool:
        if flip.arm == CONTROL or not flip.is_loss:
            return False
        return self.outcome(flip.unit_id, CONTROL, flip.repeat, flip.fact_id) != "fail"

    def _attribution(self, unit_id: str, arm: str, repeat: int, fact_id: str) -> Attribution:
        attempt = self.attempts[unit_id, arm, repeat]
        evidence = self._verdicts[unit_id, arm, repeat, fact_id].evidence
        if evidence is None:
            return attribute_absence(attempt, self.attempts[unit_id, PLAIN, repeat])
        return attribute_evidence(attempt, evidence)


def attribute_evidence(attempt: Attempt, evidence: tuple[int, int]) -> Attribution:
    """Held if any part of the evidence lies in a span taken over from the stale answer."""
    start, end = evidence
    return "held" if any(s.new_start < end and start < s.new_end for s in attempt.spans) else "decoded"


def attribute_absence(attempt: Attempt, plain: Attempt) -> Attribution:
    """Held if the first token that differs from plain generation's was taken over."""
    pairs = zip(attempt.token_ids, plain.token_ids, attempt.token_src, strict=False)
    return next(
        ("held" if src >= 0 else "decoded" for ours, theirs, src in pairs if ours != theirs), "decoded"
    )
