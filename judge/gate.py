"""Pass or not: a run's assessment against a policy.

Invariant: a pass needs every planned attempt and every verdict of the arms it speaks of, and facts that
could have been lost, so taking any away never turns another verdict into a pass.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bundles import Severity, brief
from judge.errors import PolicyError
from judge.evidence import Assessment
from judge.intervals import Estimate
from judge.outcomes import CONTROL, PLAIN, AttemptKey, Attribution, Flip
from judge.policy import GatePolicy, Metric
from judge.significance import MOST_SESSIONS, Weight, weigh

GateVerdict = Literal["pass", "regression", "inconclusive", "error", "empty"]
EXIT_CODES: Mapping[GateVerdict, int] = {
    "pass": 0,
    "regression": 1,
    "inconclusive": 3,
    "error": 4,
    "empty": 5,
}
_METRICS: Mapping[Metric, str] = {
    "wall": "wall time",
    "ms_per_token": "time per token",
    "passes": "number of passes",
}

_WHENCE: Mapping[Attribution, str] = {
    "held": "held from the stale answer",
    "decoded": "decoded by the model itself",
}


@dataclass(frozen=True, slots=True)
class Measures:
    """What a policy may ask for besides facts.

    `speedups` are medians with their intervals by arm and metric. `calibrated` says whether a claim judge
    that passed its calibration took part. `unknown` are the parts of the run's comparability key without a
    value, None where there is no key.
    """

    speedups: Mapping[str, Mapping[Metric, Estimate]] = field(default_factory=dict)
    calibrated: bool = False
    unknown: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What a comparison with something outside the run adds.

    `label` goes before everything else that is said; `notes` are only worth saying.
    """

    label: str = ""
    failures: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        """Both, this one's first."""
        return Findings(
            label="; ".join(filter(None, [self.label, other.label])),
            failures=self.failures + other.failures,
            doubts=self.doubts + other.doubts,
            notes=self.notes + other.notes,
        )


_UNMEASURED = Measures()
_NO_FINDINGS = Findings()


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's word, its exit code, and one line for each thing that led to it."""

    verdict: GateVerdict
    exit_code: int
    reasons: tuple[str, ...]


def decide(
    assessment: Assessment,
    policy: GatePolicy,
    measures: Measures = _UNMEASURED,
    against: Findings = _NO_FINDINGS,
) -> Decision:
    """The first that applies: nothing ran, a regression, attempts that are missing or failed, doubts, pass.

    What control lost as well is not the arm's doing, but neither does it speak for the arm. An arm's
    regressions are counted in facts: one lost in several repeats is still one. Attempts and verdicts of arms
    that are not gated do not matter, but for plain's and control's, which all compare with. `against` are
    findings of a comparison with a baseline.
    """
    gated = tuple(dict.fromkeys(policy.arms)) or assessment.arms_under_test
    if unknown := set(gated) - set(assessment.arms):
        raise PolicyError(f"arms: run {assessment.run_id} has no arm {brief(min(unknown))}")
    case = _Case(assessment, policy, measures, gated)
    verdict, reasons = _verdict(case, against) if assessment.attempts else ("empty", ["nothing ran"])
    return Decision(verdict, EXIT_CODES[verdict], tuple(filter(None, [against.label, *reasons])))


def _verdict(case: "_Case", against: Findings) -> tuple[GateVerdict, list[str]]:
    if failures := [*case.regressions(), *against.failures]:
        return "regression", failures
    if broken := list(case.broken()):
        return "error", broken
    if doubts := [*case.doubts(), *against.doubts]:
        return "inconclusive", doubts
    return "pass", [*case.grounds(), *against.notes]


class _Case:
    """What speaks against a pass, by what it leads to."""

    def __init__(
        self, assessment: Assessment, policy: GatePolicy, measures: Measures, gated: Collection[str]
    ) -> None:
        self._assessment, self._policy, self._measures, self._gated = assessment, policy, measures, gated
        self._involved = {PLAIN, CONTROL, *gated}
        self._weights = {
            arm: weigh(assessment.sessions[arm], policy.margin, policy.confidence) for arm in gated
        }

    def regressions(self) -> Iterator[str]:
        for arm in self._gated:
            for severity, allowed in self._policy.limits.items():
                yield from self._lost(arm, severity, allowed)
        yield from self._failed_canaries()
        for arm in self._gated:
            yield from self._over_control(arm)
            if self._weights[arm].ruling == "beyond":
                yield self._rate(arm)
            for metric, least, speed in self._speeds(arm):
                if speed.high is not None and speed.high < least:
                    yield f"{arm} is too slow: {_speed(metric, speed)}; min_speedup asks for {least:g}x"
            pinned, share = self._assessment.pinned[arm], self._policy.pinned_survival
            if share is not None and pinned.total and pinned.kept / pinned.total < share:
                what = f"{pinned.kept} of {pinned.total} pinned lines"
                yield f"{arm} kept {what}; pinned_survival asks for {100 * share:g}%"

    def broken(self) -> Iterator[str]:
        yield from self._incomplete("missing", self._assessment.missing)
        yield from self._incomplete("failed", self._assessment.errors)

    def doubts(self) -> Iterator[str]:
        if not self._gated:
            yield "the run has no arm under test, only plain and control; run again with --arm redraft"
        yield from self._unscored()
        yield from self._drift()
        yield from self._without_power()
        for arm in self._gated:
            if self._weights[arm].ruling == "undecided":
                yield f"{self._rate(arm)}; {_needed(self._weights[arm])}"
            for metric, least, speed in self._speeds(arm):
                if speed.low is None or speed.low < least:
                    yield f"{arm} may be too slow: {_speed(metric, speed)}; min_speedup asks for {least:g}x"
            if self._policy.pinned_survival is not None and not self._assessment.pinned[arm].total:
                yield f"no unit pins a line, so nothing is known of what pinned_survival asks of {arm}"
        yield from self._requirements()

    def grounds(self) -> Iterator[str]:
        checks = sum(self._assessment.arms[arm].total for arm in self._gated)
        losses = sum(flip.arm in self._gated for flip in self._assessment.regressions)
        what = f"{losses} regressions, none more than is allowed," if losses else "no regression"
        yield f"{what} in {checks} fact checks of {', '.join(self._gated)}"
        for arm, weight in self._weights.items():
            if weight.ruling == "within":
                yield self._rate(arm)

    def _lost(self, arm: str, severity: Severity, allowed: int) -> Iterator[str]:
        lost: dict[tuple[str, str], Flip] = {}
        for flip in self._assessment.regressions:
            if flip.arm == arm and flip.severity == severity:
                lost.setdefault((flip.unit_id, flip.fact_id), flip)
        if len(lost) > allowed:
            for (unit_id, fact_id), flip in lost.items():
                yield f"{arm} lost {severity} fact {fact_id} of unit {unit_id} ({_WHENCE[flip.attribution]})"

    def _failed_canaries(self) -> Iterator[str]:
        if self._policy.canaries == "all":
            for (unit_id, arm), outcome in self._assessment.canary_outcomes.items():
                if outcome == "failed" and arm in self._gated:
                    yield f"{arm} failed canary {unit_id}"

    def _over_control(self, arm: str) -> Iterator[str]:
        allowed = self._policy.max_regressions_over_control
        ours, theirs = (self._assessment.lost_facts(name) for name in (arm, CONTROL))
        if allowed is not None and ours - theirs > allowed:
            yield (
                f"{arm} lost {ours} facts and the control {theirs};"
                f" max_regressions_over_control allows {allowed} more"
            )

    def _rate(self, arm: str) -> str:
        counts, excess = self._assessment.sessions[arm], self._weights[arm].excess
        if counts.identical:
            return (
                f"{arm} is identical to plain in {counts.same} of {counts.units} units: nothing can be lost"
            )
        if excess.low is None or excess.high is None:
            return f"{arm} has no session that could show a loss"
        return (
            f"only {arm} lost facts in {counts.lost_alone} and only the control in {counts.spared} of"
            f" {counts.sessions} sessions, so {arm} loses {100 * excess.low:+.1f} to {100 * excess.high:+.1f}"
            f" points more; the margin is {100 * (self._policy.margin or 0):g} points"
        )

    def _speeds(self, arm: str) -> Iterator[tuple[Metric, float, Estimate]]:
        for metric, least in self._policy.min_speedup.items():
            yield metric, least, self._measures.speedups.get(arm, {}).get(metric, Estimate())

    def _incomplete(self, what: str, keys: Collection[AttemptKey]) -> Iterator[str]:
        concerned = [key for key in keys if key[1] in self._involved]
        if concerned:
            unit_id, arm, repeat = concerned[0]
            yield (
                f"attempts {what}: {len(concerned)}, the first: unit {unit_id}, arm {arm}, repeat {repeat};"
                f" make them with: redraft run --resume {self._assessment.run_id}"
            )

    def _unscored(self) -> Iterator[str]:
        for arm, facts in self._assessment.arms.items():
            if facts.unscored and arm in self._involved:
                yield f"{facts.unscored} of {facts.total} fact checks of {arm} are unscored"
            count = self._assessment.canaries[arm]
            if count.unscored and arm in self._involved and self._policy.canaries == "all":
                yield f"{count.unscored} of {count.total} canaries of {arm} are unscored"

    def _drift(self) -> Iterator[str]:
        """Only of what is counted by itself: a comparison with the control knows of drift."""
        for arm in self._gated:
            limits = self._policy.limits
            if shared := sum(flip.arm == arm and flip.severity in limits for flip in self._assessment.drift):
                lost = sum(flip.arm == CONTROL and flip.is_loss for flip in self._assessment.flips)
                yield (
                    f"{shared} losses of {arm} are shared by the control: the engine's own drift;"
                    f" plain against control lost {lost} of {self._assessment.arms[CONTROL].total} facts;"
                    " a margin in [gate] weighs one against the other"
                )

    def _without_power(self) -> Iterator[str]:
        assessment = self._assessment
        if assessment.blind_share > 0.5:
            count = assessment.canaries[PLAIN]
            yield (
                f"{count.blind} of {count.total} canaries are blind: plain generation fails them too, so they"
                " cannot show a stale fact; a better model (--model) or easier questions can"
            )
        if assessment.telling_units < self._policy.min_units:
            yield (
                f"units of which plain generation gets a fact right: {assessment.telling_units}, and no other"
                f" could show a loss; min_units asks for {self._policy.min_units}"
            )
        if self._policy.max_regressions_over_control is not None and CONTROL not in assessment.arms:
            yield "the run has no control, with which max_regressions_over_control compares"

    def _requirements(self) -> Iterator[str]:
        if "calibrated" in self._policy.require and not self._measures.calibrated:
            yield (
                "the policy requires a calibrated claim judge, and none took part; ask one with:"
                f" redraft judge {self._assessment.run_id} --judge-url URL --judge-model MODEL"
            )
        if "comparable" in self._policy.require and self._measures.unknown != ():
            unknown = ", ".join(self._measures.unknown or ("all of it",))
            yield f"the policy requires a run that others can be compared with; not known of it: {unknown}"


def _speed(metric: Metric, speed: Estimate) -> str:
    if speed.value is None:
        return f"its speedup by {_METRICS[metric]} is not known"
    limits = "too few sessions for an interval, 6 are needed"
    if speed.low is not None and speed.high is not None:
        limits = f"{speed.low:.2f}x to {speed.high:.2f}x"
    return f"{speed.value:.2f}x plain's speed by {_METRICS[metric]} ({limits})"


def _needed(weight: Weight) -> str:
    if weight.sessions_needed is None:
        return (
            f"at these rates {MOST_SESSIONS} sessions would not tell either: the margin is too close to them"
        )
    return f"some {weight.sessions_needed} more sessions would tell"
