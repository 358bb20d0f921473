"""Attempts and verdicts of a run's plan, by key, and how they differ from plain generation's.

Invariant: only what is planned is seen, and an outcome is pass or fail only where a finished attempt has a
verdict that says so; everything else is unscored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bundles import Attempt, Fact, Outcome, Run, Severity, Unit, Verdict

PLAIN, CONTROL = "plain", "control"
Attribution = Literal["held", "decoded"]
AttemptKey = tuple[str, str, int]


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

    @property
    def weighs(self) -> bool:
        """Whether it is more than advisory."""
        return self.severity != "advisory"


class Outcomes:
    """What the verdicts say of each planned fact check of a run."""

    def __init__(
        self, run: Run, units: Sequence[Unit], attempts: Iterable[Attempt], verdicts: Iterable[Verdict]
    ) -> None:
        self.units = units
        self.repeats = range(run.repeats)
        self.planned = [(u.unit_id, arm, n) for u in units for arm in run.arms for n in self.repeats]
        given = {attempt.key: attempt for attempt in attempts if attempt.run_id == run.run_id}
        self.attempts = {key: given[key] for key in self.planned if key in given}
        self._verdicts: Mapping[tuple[str, str, int, str], Verdict] = {
            (v.unit_id, v.arm, v.repeat, v.fact_id): v
            for v in verdicts
            if v.run_id == run.run_id and v.outcome in ("pass", "fail")
        }

    def of(self, unit: Unit, arm: str, facts: Iterable[Fact]) -> list[Outcome]:
        """Of these facts of a unit, each in every repeat."""
        return [self.one(unit.unit_id, arm, n, fact.fact_id) for fact in facts for n in self.repeats]

    def one(self, unit_id: str, arm: str, repeat: int, fact_id: str) -> Outcome:
        """Of one fact check."""
        attempt = self.attempts.get((unit_id, arm, repeat))
        verdict = self._verdicts.get((unit_id, arm, repeat, fact_id))
        return verdict.outcome if verdict and attempt and attempt.status == "ok" else "unscored"

    def flips(self) -> Iterator[Flip]:
        """In the order of the plan."""
        facts = {unit.unit_id: unit.facts for unit in self.units}
        for unit_id, arm, repeat in self.planned:
            for fact in facts[unit_id]:
                before = self.one(unit_id, PLAIN, repeat, fact.fact_id)
                after = self.one(unit_id, arm, repeat, fact.fact_id)
                if {before, after} == {"pass", "fail"}:
                    why = self._attribution(unit_id, arm, repeat, fact.fact_id)
                    yield Flip(unit_id, fact.fact_id, arm, repeat, before, after, why, fact.severity)

    def is_regression(self, flip: Flip) -> bool:
        """Whether an arm under test lost a fact that the control did not lose too."""
        if flip.arm == CONTROL or not flip.is_loss:
            return False
        return self.one(flip.unit_id, CONTROL, flip.repeat, flip.fact_id) != "fail"

    def is_telling(self, unit: Unit) -> bool:
        """Whether plain generation gets a weighing fact right in every repeat."""
        return any(set(self.of(unit, PLAIN, [fact])) == {"pass"} for fact in weighing(unit))

    def could_lose(self, unit: Unit, arm: str) -> bool:
        """Whether plain has a weighing fact right at a repeat at which the arm is scored."""
        facts = weighing(unit)
        pairs = zip(self.of(unit, PLAIN, facts), self.of(unit, arm, facts), strict=True)
        return any(plain == "pass" and ours != "unscored" for plain, ours in pairs)

    def is_same(self, unit: Unit, arm: str) -> bool:
        """Whether the arm gave plain's text, token by token, in every repeat."""
        for repeat in self.repeats:
            plain = self.attempts.get((unit.unit_id, PLAIN, repeat))
            ours = self.attempts.get((unit.unit_id, arm, repeat))
            if not plain or not ours or plain.status != "ok" or ours.status != "ok":
                return False
            if (plain.text, plain.token_ids) != (ours.text, ours.token_ids):
                return False
        return True

    def _attribution(self, unit_id: str, arm: str, repeat: int, fact_id: str) -> Attribution:
        attempt = self.attempts[unit_id, arm, repeat]
        evidence = self._verdicts[unit_id, arm, repeat, fact_id].evidence
        if evidence is None:
            return attribute_absence(attempt, self.attempts[unit_id, PLAIN, repeat])
        return attribute_evidence(attempt, evidence)


def weighing(unit: Unit) -> list[Fact]:
    """The unit's facts that are more than advisory."""
    return [fact for fact in unit.facts if fact.severity != "advisory"]


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
