"""A run's outcomes as a file that people review and commit, and a later run held against it.

Invariant: the same outcomes give the same bytes; a baseline is made of a complete run only and changes
only when somebody writes it; what the run and the baseline do not both have fails.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from bundles import Attempt, Fact, Outcome, Run, Severity, Unit, Verdict, brief
from judge.claim_verdicts import is_claim_verdict
from judge.comparability import Comparability, comparability, require_comparable
from judge.errors import BaselineError
from judge.gate import Findings
from judge.outcomes import CONTROL, PLAIN, Outcomes
from judge.policy import POLICY_VERSION, GatePolicy

VERSION = 1
_MOST_NAMED = 5
EntryKey = tuple[str, str]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Part):
    """How one unit came out in one arm: its facts over all repeats, and a hash of all token ids."""

    unit_id: str
    arm: str
    facts: Mapping[str, Outcome]
    tokens: str

    @property
    def key(self) -> EntryKey:
        """What identifies the entry within a baseline."""
        return self.unit_id, self.arm


class Baseline(_Part):
    """A run's outcomes, by unit and arm; control's are noise and left out."""

    format: Literal["redraft-baseline"] = "redraft-baseline"
    version: int = VERSION
    policy_version: int = POLICY_VERSION
    key: Comparability
    entries: tuple[Entry, ...]

    def to_json(self) -> str:
        """Sorted, a line for each entry, so that a review shows what changed."""
        head = self.model_dump(exclude={"entries"})
        lines = ",\n".join(f"  {_line(entry)}" for entry in sorted(self.entries, key=lambda entry: entry.key))
        return f'{json.dumps(head, indent=1, ensure_ascii=False)[:-2]},\n "entries": [\n{lines}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> "Baseline":
        """BaselineError, in one line, where the text is no baseline of this version."""
        try:
            data = json.loads(text, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError) as error:
            raise BaselineError(f"not JSON: {str(error)[:200]}") from error
        if not isinstance(data, dict) or data.get("format") != "redraft-baseline":
            raise BaselineError("no baseline: `redraft baseline write RUN FILE` makes one")
        for name, known in (("version", VERSION), ("policy_version", POLICY_VERSION)):
            if data.get(name) != known:
                given = brief(data.get(name))
                raise BaselineError(f"{name} {given} is not {known}, the one known here; write it anew")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise BaselineError(f"{where}: {first['msg']} (one of {error.error_count()} faults)") from error


def baseline_of(
    run: Run, units: Sequence[Unit], attempts: Iterable[Attempt], verdicts: Sequence[Verdict]
) -> Baseline:
    """The baseline that a run would be. BaselineError where the run is not complete."""
    outcomes = _outcomes(run, units, attempts, verdicts)
    unfinished = [
        key for key in outcomes.planned if not (found := outcomes.attempts.get(key)) or found.status != "ok"
    ]
    if unfinished or not outcomes.planned:
        raise BaselineError(
            f"run {run.run_id} is no baseline: {len(unfinished)} of {len(outcomes.planned)} attempts are not"
            f" there or failed; finish it with redraft run --resume {run.run_id}"
        )
    entries = tuple(_entries(run, outcomes))
    unscored = [entry for entry in entries if "unscored" in entry.facts.values()]
    if unscored:
        raise BaselineError(
            f"run {run.run_id} is no baseline: facts of unit {unscored[0].unit_id} are unscored in arm"
            f" {unscored[0].arm}, as in {len(unscored) - 1} other cases"
        )
    return Baseline(key=_key(run, verdicts), entries=entries)


def compare_with_baseline(
    baseline: Baseline,
    run: Run,
    units: Sequence[Unit],
    attempts: Iterable[Attempt],
    verdicts: Sequence[Verdict],
    policy: GatePolicy,
    *,
    across: bool = False,
) -> Findings:
    """What the run lost, gained or changed. IncomparableRuns where it is of another engine, model or judge.

    Another bundle is a failure that says which units it lacks or adds. Of the run's arms those count that
    the policy gates, and plain.
    """
    then, now = baseline.key, _key(run, verdicts)
    label = require_comparable(then, now, across=across, but=["bundle_id"])
    outcomes = _outcomes(run, units, attempts, verdicts)
    current = {entry.key: entry for entry in _entries(run, outcomes)}
    gated = {PLAIN, *policy.arms} if policy.arms else {entry.arm for entry in baseline.entries} | {*run.arms}
    recorded = {entry.key: entry for entry in baseline.entries if entry.arm in gated}
    facts = {unit.unit_id: {fact.fact_id: fact for fact in unit.facts} for unit in units}
    both = [(old, current[key]) for key, old in recorded.items() if key in current]
    return Findings(
        label=label,
        failures=(
            *_stale(then, now),
            *_named("missing from the run", recorded.keys() - current.keys()),
            *_named(
                "extra, not in the baseline", {key for key in current if key[1] in gated} - recorded.keys()
            ),
            *_named("in the baseline twice", _repeated(baseline.entries)),
            *_lost(both, facts, policy),
        ),
        doubts=tuple(_unknown(both)),
        notes=tuple(_notes(both)),
    )


def _key(run: Run, verdicts: Iterable[Verdict]) -> Comparability:
    """Claims are no part of a baseline, nor is who judged them."""
    return comparability(run, (verdict for verdict in verdicts if not is_claim_verdict(verdict)))


def _outcomes(
    run: Run, units: Sequence[Unit], attempts: Iterable[Attempt], verdicts: Iterable[Verdict]
) -> Outcomes:
    planned = set(run.unit_ids)
    return Outcomes(run, [unit for unit in units if unit.unit_id in planned], attempts, verdicts)


def _entries(run: Run, outcomes: Outcomes) -> Iterator[Entry]:
    for unit in sorted(outcomes.units, key=lambda unit: unit.unit_id):
        for arm in sorted(set(run.arms) - {CONTROL}):
            attempts = [outcomes.attempts.get((unit.unit_id, arm, repeat)) for repeat in outcomes.repeats]
            yield Entry(
                unit_id=unit.unit_id,
                arm=arm,
                facts={
                    fact.fact_id: _worst(outcomes.of(unit, arm, [fact]))
                    for fact in sorted(unit.facts, key=lambda fact: fact.fact_id)
                },
                tokens=_hash([attempt.token_ids if attempt else () for attempt in attempts]),
            )


def _worst(outcomes: Collection[Outcome]) -> Outcome:
    if "fail" in outcomes:
        return "fail"
    return "unscored" if "unscored" in outcomes else "pass"


def _hash(repeats: Sequence[Sequence[int]]) -> str:
    return hashlib.sha256(json.dumps(repeats).encode()).hexdigest()[:16]


def _line(entry: Entry) -> str:
    return json.dumps(entry.model_dump(), ensure_ascii=False, sort_keys=True)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"key {brief(name)} is given twice in one object")
    return found


def _repeated(entries: Iterable[Entry]) -> set[EntryKey]:
    return {key for key, count in Counter(entry.key for entry in entries).items() if count > 1}


def _stale(then: Comparability, now: Comparability) -> Iterator[str]:
    if then.bundle_id != now.bundle_id:
        yield (
            f"the baseline is stale: it was written for bundle {str(then.bundle_id)[:12]}, the run is of"
            f" {str(now.bundle_id)[:12]}, so units or facts have changed since; if the run is right, write"
            " the baseline anew"
        )


def _named(what: str, keys: Collection[EntryKey]) -> Iterator[str]:
    if keys:
        shown = [f"{unit_id} ({arm})" for unit_id, arm in sorted(keys)[:_MOST_NAMED]]
        rest = f" and {len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
        yield f"{what}: {', '.join(shown)}{rest}"


def _lost(
    both: Iterable[tuple[Entry, Entry]], facts: Mapping[str, Mapping[str, Fact]], policy: GatePolicy
) -> Iterator[str]:
    lost: dict[tuple[str, Severity], list[str]] = {}
    for old, new in both:
        for fact_id, outcome in new.facts.items():
            if outcome == "fail" and old.facts.get(fact_id) == "pass":
                severity = facts[new.unit_id][fact_id].severity
                line = f"{new.arm} lost {severity} fact {fact_id} of unit {new.unit_id} against the baseline"
                lost.setdefault((new.arm, severity), []).append(line)
    limits: Mapping[Severity, int] = {"critical": 0, "supporting": 0, **policy.allowed_regressions}
    for severity, allowed in limits.items():
        for arm in sorted({arm for arm, of in lost if of == severity}):
            if len(lost[arm, severity]) > allowed:
                yield from lost[arm, severity]


def _unknown(both: Iterable[tuple[Entry, Entry]]) -> Iterator[str]:
    for old, new in both:
        for fact_id in sorted(old.facts.keys() | new.facts.keys()):
            if fact_id not in old.facts or new.facts.get(fact_id, "unscored") == "unscored":
                yield f"fact {fact_id} of unit {new.unit_id} in {new.arm} cannot be held against the baseline"


def _notes(both: Sequence[tuple[Entry, Entry]]) -> Iterator[str]:
    gained = sum(
        outcome == "pass" and old.facts.get(fact_id) == "fail"
        for old, new in both
        for fact_id, outcome in new.facts.items()
    )
    if gained:
        yield f"{gained} facts are right that the baseline has wrong; write it anew to hold them"
    changed = sum(old.tokens != new.tokens for old, new in both)
    if changed:
        yield f"{changed} of {len(both)} answers have other tokens than in the baseline"
