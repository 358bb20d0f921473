"""Pass or not: a run's assessment against a policy.

Invariant: a pass needs every planned attempt and every verdict of the arms it speaks of, and facts that
could have been lost, so taking any away never turns another verdict into a pass.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from bundles import Severity, brief
from judge.errors import PolicyError
from judge.evidence import CONTROL, PLAIN, Assessment, AttemptKey, Flip

GateVerdict = Literal["pass", "regression", "inconclusive", "error", "empty"]
EXIT_CODES: Mapping[GateVerdict, int] = {
    "pass": 0,
    "regression": 1,
    "inconclusive": 3,
    "error": 4,
    "empty": 5,
}
POLICY_VERSION = 1
_ALLOWED_BY_DEFAULT: Mapping[Severity, int] = {"critical": 0, "supporting": 0}
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What a release must hold to; see `decide`.

    `allowed_regressions` gives, per severity, how many facts an arm may lose; where it is silent, no
    critical or supporting fact, and any number of advisory ones. `canaries` is "all" (none may fail) or
    "report". `min_units` is how many units it takes of which plain generation gets at least one fact
    right, in every repeat and not an advisory one. `arms` narrows the arms that are gated; empty means
    every arm but plain and control.
    """

    version: int = POLICY_VERSION
    allowed_regressions: Mapping[Severity, int] = field(default_factory=dict)
    canaries: Literal["all", "report"] = "all"
    min_units: int = 1
    arms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check every value, as a policy mostly comes from a file."""
        if type(self.version) is not int or self.version != POLICY_VERSION:
            raise PolicyError(f"version: {brief(self.version)} is not {POLICY_VERSION}, the one known here")
        if not isinstance(self.allowed_regressions, Mapping):
            raise PolicyError("allowed_regressions: give a table such as { critical = 0, supporting = 0 }")
        for severity, allowed in self.allowed_regressions.items():
            if severity not in get_args(Severity):
                known = ", ".join(get_args(Severity))
                raise PolicyError(
                    f"allowed_regressions: {brief(severity)} is no severity, use one of {known}"
                )
            _require_count(f"allowed_regressions.{severity}", allowed, least=0)
        if self.canaries not in ("all", "report"):
            raise PolicyError(f'canaries: {brief(self.canaries)} is neither "all" nor "report"')
        _require_count("min_units", self.min_units, least=1)
        if not isinstance(self.arms, tuple) or not all(isinstance(arm, str) for arm in self.arms):
            raise PolicyError('arms: give a list of arm names such as ["redraft"]')
        if barred := {PLAIN, CONTROL} & set(self.arms):
            raise PolicyError(f"arms: {barred.pop()!r} is what others are compared with and is never gated")

    @classmethod
    def from_toml(cls, path: Path) -> "GatePolicy":
        """Read the `[gate]` table of a TOML file; what it leaves out keeps its default."""
        if "\0" in str(path):
            raise PolicyError(f"{brief(str(path))}: no path holds a NUL character")
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise PolicyError(f"{path}: {error.strerror}") from error
        except RecursionError as error:
            raise PolicyError(f"{path}: nested too deeply for a policy") from error
        except ValueError as error:
            raise PolicyError(f"{path}: not TOML: {str(error)[:200]}") from error
        table = document.get("gate")
        if not isinstance(table, dict):
            raise PolicyError(f"{path}: no [gate] table")
        try:
            return cls._from_table(table)
        except PolicyError as error:
            raise PolicyError(f"{path}: [gate] {error}") from error

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "GatePolicy":
        known = [entry.name for entry in fields(cls)]
        for key in table:
            if key not in known:
                raise PolicyError(f"{brief(key)}: unknown key; known are {', '.join(known)}")
        arms = table.get("arms", [])
        return cls(**{**table, "arms": tuple(arms) if isinstance(arms, list) else arms})


def _require_count(key: str, value: object, *, least: int) -> None:
    if type(value) is not int or not least <= value <= _MOST:
        raise PolicyError(f"{key}: {brief(value)} is not a whole number from {least} to {_MOST}")


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's word, its exit code, and one line for each thing that led to it."""

    verdict: GateVerdict
    exit_code: int
    reasons: tuple[str, ...]


def decide(assessment: Assessment, policy: GatePolicy) -> Decision:
    """The first that applies: nothing ran, a regression, attempts that are missing or failed, too little
    known, pass. What control lost as well is not the arm's doing, but neither does it speak for the arm.

    An arm's regressions are counted in facts: one lost in several repeats is still one. Attempts and
    verdicts of arms that are not gated do not matter, but for plain's and control's, which all compare with.
    """
    gated = tuple(dict.fromkeys(policy.arms)) or assessment.arms_under_test
    if unknown := set(gated) - set(assessment.arms):
        raise PolicyError(f"arms: run {assessment.run_id} has no arm {brief(min(unknown))}")
    if not assessment.attempts:
        return _decision("empty", ["nothing ran"])
    involved = {PLAIN, CONTROL, *gated}
    if failures := [*_lost_facts(assessment, policy, gated), *_failed_canaries(assessment, policy, gated)]:
        return _decision("regression", failures)
    if broken := [
        *_incomplete("missing", assessment.missing, involved),
        *_incomplete("failed", assessment.errors, involved),
    ]:
        return _decision("error", broken)
    if doubts := list(_doubts(assessment, policy, gated, involved)):
        return _decision("inconclusive", doubts)
    checks = sum(assessment.arms[arm].total for arm in gated)
    return _decision("pass", [f"no regression in {checks} fact checks of {', '.join(gated)}"])


def _decision(verdict: GateVerdict, reasons: Collection[str]) -> Decision:
    return Decision(verdict, EXIT_CODES[verdict], tuple(reasons))


def _limits(policy: GatePolicy) -> Mapping[Severity, int]:
    return {**_ALLOWED_BY_DEFAULT, **policy.allowed_regressions}


def _lost_facts(assessment: Assessment, policy: GatePolicy, gated: Collection[str]) -> Iterator[str]:
    for arm in gated:
        for severity, allowed in _limits(policy).items():
            lost: dict[tuple[str, str], Flip] = {}
            for flip in assessment.regressions:
                if flip.arm == arm and flip.severity == severity:
                    lost.setdefault((flip.unit_id, flip.fact_id), flip)
            if len(lost) > allowed:
                for (unit_id, fact_id), flip in lost.items():
                    yield f"{arm} lost {severity} fact {fact_id} of unit {unit_id} ({flip.attribution})"


def _failed_canaries(assessment: Assessment, policy: GatePolicy, gated: Collection[str]) -> Iterator[str]:
    if policy.canaries == "all":
        for (unit_id, arm), outcome in assessment.canary_outcomes.items():
            if outcome == "failed" and arm in gated:
                yield f"{arm} failed canary {unit_id}"


def _incomplete(what: str, keys: Collection[AttemptKey], involved: Collection[str]) -> Iterator[str]:
    concerned = [key for key in keys if key[1] in involved]
    if concerned:
        unit_id, arm, repeat = concerned[0]
        yield f"attempts {what}: {len(concerned)}, the first: unit {unit_id}, arm {arm}, repeat {repeat}"


def _doubts(
    assessment: Assessment, policy: GatePolicy, gated: Collection[str], involved: Collection[str]
) -> Iterator[str]:
    if not gated:
        yield "the run has no arm under test"
    for arm, facts in assessment.arms.items():
        if facts.unscored and arm in involved:
            yield f"{facts.unscored} of {facts.total} fact checks of {arm} are unscored"
        count = assessment.canaries[arm]
        if count.unscored and arm in involved and policy.canaries == "all":
            yield f"{count.unscored} of {count.total} canaries of {arm} are unscored"
    yield from _drift(assessment, policy, gated)
    if assessment.blind_share > 0.5:
        count = assessment.canaries[PLAIN]
        yield f"{count.blind} of {count.total} canaries are blind: plain generation fails them too"
    if assessment.telling_units < policy.min_units:
        yield (
            f"units of which plain generation gets a fact right: {assessment.telling_units}, while the"
            f" policy asks for {policy.min_units}"
        )


def _drift(assessment: Assessment, policy: GatePolicy, gated: Collection[str]) -> Iterator[str]:
    for arm in gated:
        if shared := sum(flip.arm == arm and flip.severity in _limits(policy) for flip in assessment.drift):
            lost = sum(flip.arm == CONTROL and flip.is_loss for flip in assessment.flips)
            yield (
                f"{shared} losses of {arm} are shared by the control: the engine's own drift; plain against"
                f" control lost {lost} of {assessment.arms[CONTROL].total} facts"
            )
