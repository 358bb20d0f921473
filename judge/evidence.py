"""What a run's verdicts say, arm against plain generation.

Invariant: the run's plan is the denominator. What was planned and has no attempt is missing, and a fact
without a verdict of pass or fail on a finished attempt is unscored; neither ever counts as a pass. What
is counted in sessions counts a session once, whatever its units, facts and repeats.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bundles import Attempt, Run, Severity, Unit, Verdict
from judge.canaries import CanaryCount, CanaryOutcome, count_canaries, judge_canary
from judge.errors import JudgeError
from judge.outcomes import CONTROL, PLAIN, AttemptKey, Flip, Outcomes, weighing
from judge.significance import SessionCounts

_WORST_FIRST: Mapping[Severity, int] = {"critical": 0, "supporting": 1, "advisory": 2}


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
class PinnedLines:
    """How many of the lines that an arm's finished attempts had to keep they kept, each as a whole line."""

    kept: int
    total: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """Everything a gate or a report needs to know of a judged run.

    `regressions` are the losses of arms under test that the control attempt did not suffer too.
    `canary_outcomes` is keyed by unit and arm; `missing` and `errors` are keys of planned attempts,
    `attempts` is how many of them exist. `telling_units` are the units of which plain generation gets a
    fact right, in every repeat and not an advisory one: no other shows a loss. `sessions` has every arm but
    plain, advisory facts left out.
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
    sessions: Mapping[str, SessionCounts]
    pinned: Mapping[str, PinnedLines]

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

    def lost_facts(self, arm: str) -> int:
        """Facts that an arm lost against plain: one lost in several repeats once, advisory ones left out."""
        return len({(f.unit_id, f.fact_id) for f in self.flips if f.arm == arm and f.is_loss and f.weighs})


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
    planned = [by_id[unit_id] for unit_id in dict.fromkeys(run.unit_ids)]
    outcomes = Outcomes(run, planned, attempts, verdicts)
    flips = sorted(outcomes.flips(), key=lambda flip: (not flip.is_loss, _WORST_FIRST[flip.severity]))
    canaries = {
        (unit.unit_id, arm): _canary(outcomes, unit, arm)
        for unit in planned
        if unit.canary
        for arm in run.arms
    }
    return Assessment(
        run_id=run.run_id,
        arms={arm: _arm_facts(outcomes, arm) for arm in run.arms},
        flips=tuple(flips),
        regressions=tuple(flip for flip in flips if outcomes.is_regression(flip)),
        canaries={
            arm: count_canaries(outcome for (_, of_arm), outcome in canaries.items() if of_arm == arm)
            for arm in run.arms
        },
        canary_outcomes=canaries,
        missing=tuple(key for key in outcomes.planned if key not in outcomes.attempts),
        errors=tuple(key for key, attempt in outcomes.attempts.items() if attempt.status != "ok"),
        attempts=len(outcomes.attempts),
        telling_units=sum(outcomes.is_telling(unit) for unit in planned),
        sessions={arm: _sessions(outcomes, arm, flips) for arm in run.arms if arm != PLAIN},
        pinned={arm: _pinned(outcomes, arm) for arm in run.arms},
    )


def _arm_facts(outcomes: Outcomes, arm: str) -> ArmFacts:
    found = [outcome for unit in outcomes.units for outcome in outcomes.of(unit, arm, unit.facts)]
    return ArmFacts(found.count("pass"), len(found), found.count("unscored"))


def _canary(outcomes: Outcomes, unit: Unit, arm: str) -> CanaryOutcome:
    """Advisory facts do not decide."""
    facts = weighing(unit)
    return judge_canary(outcomes.of(unit, PLAIN, facts), outcomes.of(unit, arm, facts))


def _sessions(outcomes: Outcomes, arm: str, flips: Iterable[Flip]) -> SessionCounts:
    session_of = {unit.unit_id: unit.session_id for unit in outcomes.units}
    telling = {unit.session_id for unit in outcomes.units if outcomes.could_lose(unit, arm)}
    lost: dict[str, set[str]] = {arm: set(), CONTROL: set()}
    balance: Counter[str] = Counter()
    for flip in flips:
        session_id = session_of[flip.unit_id]
        if flip.weighs and flip.is_loss and flip.arm in lost:
            lost[flip.arm].add(session_id)
        if flip.weighs and flip.arm == arm:
            balance[session_id] += 1 if flip.is_loss else -1
    return SessionCounts(
        sessions=len(telling),
        worse=sum(net > 0 for net in balance.values()),
        better=sum(net < 0 for net in balance.values()),
        lost=len(lost[arm]),
        lost_alone=len(lost[arm] - lost[CONTROL]),
        spared=len((lost[CONTROL] - lost[arm]) & telling),
        same=sum(outcomes.is_same(unit, arm) for unit in outcomes.units),
        units=len(outcomes.units),
    )


def _pinned(outcomes: Outcomes, arm: str) -> PinnedLines:
    pinned = {unit.unit_id: unit.pinned for unit in outcomes.units}
    kept = [
        _has_line(attempt.text, line)
        for (unit_id, of_arm, _), attempt in outcomes.attempts.items()
        if of_arm == arm and attempt.status == "ok"
        for line in pinned[unit_id]
    ]
    return PinnedLines(sum(kept), len(kept))


def _has_line(text: str, line: str) -> bool:
    """Blanks around a line do not matter."""
    return f"\n{_stripped(line)}\n" in f"\n{_stripped(text)}\n"


def _stripped(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())
