"""From two judged runs to what the later gained, lost and takes less time for. Pure.

Invariant: only units that are the same in both are compared, repeats of a unit count once, and a session is
one piece of evidence. Runs of another bundle, engine, model or judge are compared only when asked for, and
then it is said.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bundles import Attempt, Bundle, Fact, Outcome, Run, Severity, Unit, Verdict
from judge import (
    Comparability,
    Metric,
    SessionCounts,
    Weight,
    comparability,
    is_claim_verdict,
    require_comparable,
    weigh,
)
from replay.comparison import ArmComparison, FactChange, RunComparison, RunSide
from replay.judged_run import JudgedRun
from replay.timing import metric_of, speedup

CONFIDENCE = 0.95
_OF_TIMES = ("threads", "slots", "jobs", "machine", "cores")
_WORST_FIRST: Mapping[Severity, int] = {"critical": 0, "supporting": 1, "advisory": 2}


@dataclass(frozen=True, slots=True)
class Judged:
    """A run with what it is of, what was generated and what was judged."""

    run: Run
    bundle: Bundle
    attempts: Sequence[Attempt]
    verdicts: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class _Pair:
    """One fact of one unit in both runs."""

    unit: Unit
    fact: Fact
    before: Outcome
    after: Outcome

    @property
    def weighs(self) -> bool:
        return self.fact.severity != "advisory"


def compare_runs(before: Judged, after: Judged, *, across: bool = False) -> RunComparison:
    """The later run held against the earlier.

    IncomparableRuns where they are no measurements of the same thing, unless that is asked for, and
    SettingsError where one is not judged.
    """
    label = require_comparable(_key(before), _key(after), across=across)
    old, new = (JudgedRun(side.run, side.bundle, side.attempts, side.verdicts) for side in (before, after))
    ids = set(old.run.unit_ids) & set(new.run.unit_ids)
    units = [unit for unit in old.units() if unit.unit_id in ids and _same(unit, new.unit(unit.unit_id))]
    metric: Metric = "passes" if "passes" in (metric_of(old.run), metric_of(new.run)) else "wall"
    arms = [arm for arm in old.run.arms if arm in new.run.arms]
    return RunComparison(
        before=_side(before),
        after=_side(after),
        across=label,
        units=len(units),
        only_before=len(set(old.run.unit_ids) - ids),
        only_after=len(set(new.run.unit_ids) - ids),
        changed=len(ids) - len(units),
        speed_metric=metric,
        arms={arm: _arm(old, new, units, arm, metric) for arm in arms},
        arms_only_before=tuple(arm for arm in old.run.arms if arm not in arms),
        arms_only_after=tuple(arm for arm in new.run.arms if arm not in arms),
        notes=tuple(_notes(old.run, new.run)),
    )


def _key(side: Judged) -> Comparability:
    """Claims are no part of a comparison, nor is who judged them."""
    return comparability(side.run, [v for v in side.verdicts if not is_claim_verdict(v)])


def _side(side: Judged) -> RunSide:
    return RunSide(
        run_id=side.run.run_id,
        bundle_id=side.run.bundle_id,
        bundle=side.bundle.name,
        started=side.run.started,
        units=len(side.run.unit_ids),
        repeats=side.run.repeats,
    )


def _same(unit: Unit, other: Unit) -> bool:
    """Whether both ask for the same; labels and where a unit comes from do not matter."""
    return _bare(unit) == _bare(other)


def _bare(unit: Unit) -> Unit:
    return replace(unit, session_id="", category="", tags=(), attribution={}, reference=None)


def _arm(old: JudgedRun, new: JudgedRun, units: Sequence[Unit], arm: str, metric: Metric) -> ArmComparison:
    pairs = [
        _Pair(unit, fact, _outcome(old, unit, arm, fact), _outcome(new, unit, arm, fact))
        for unit in units
        for fact in unit.facts
    ]
    scored = [pair for pair in pairs if "unscored" not in (pair.before, pair.after)]
    counts = _sessions(scored)
    weight = _weight(counts)
    ids = [unit.unit_id for unit in units]
    speed = speedup(units, old.finished(ids, [arm]), new.finished(ids, [arm]), new.run.seed, metric)
    return ArmComparison(
        gained=_changes(pair for pair in scored if (pair.before, pair.after) == ("fail", "pass")),
        lost=_changes(pair for pair in scored if (pair.before, pair.after) == ("pass", "fail")),
        scored=len(scored),
        passed_before=sum(pair.before == "pass" for pair in scored),
        passed_after=sum(pair.after == "pass" for pair in scored),
        unscored=len(pairs) - len(scored),
        sessions=counts.sessions,
        worse=counts.worse,
        better=counts.better,
        p_value=weight.p_value,
        net=weight.excess.value,
        net_low=weight.excess.low,
        net_high=weight.excess.high,
        speedup_median=speed.median,
        speedup_low=speed.low,
        speedup_high=speed.high,
        slowest=speed.slowest,
        slowest_unit=speed.slowest_unit,
        identical=old.identical(ids, [arm], lambda attempt: new.attempt(attempt.key)),
    )


def _outcome(judged: JudgedRun, unit: Unit, arm: str, fact: Fact) -> Outcome:
    """The worst over the run's repeats; unscored where one of them did not finish."""
    finished = list(judged.finished([unit.unit_id], [arm]))
    found = {judged.verdict(attempt.key, fact.fact_id).outcome for attempt in finished}
    if "fail" in found:
        return "fail"
    return "pass" if found == {"pass"} and len(finished) == judged.run.repeats else "unscored"


def _sessions(scored: Iterable[_Pair]) -> SessionCounts:
    """Those that could show a change, and how they went; advisory facts do not weigh."""
    balance: Counter[str] = Counter()
    for pair in scored:
        if pair.weighs:
            balance[pair.unit.session_id] += (pair.before == "pass") - (pair.after == "pass")
    worse, better = sum(net > 0 for net in balance.values()), sum(net < 0 for net in balance.values())
    return SessionCounts(sessions=len(balance), worse=worse, better=better, lost_alone=worse, spared=better)


def _weight(counts: SessionCounts) -> Weight:
    """Each limit of an excess is one-sided, so that two of this confidence make an interval of CONFIDENCE."""
    return weigh(counts, None, (1 + CONFIDENCE) / 2)


def _changes(pairs: Iterable[_Pair]) -> tuple[FactChange, ...]:
    return tuple(
        FactChange(
            unit_id=pair.unit.unit_id,
            fact_id=pair.fact.fact_id,
            severity=pair.fact.severity,
            polarity=pair.fact.polarity,
            values=pair.fact.values,
        )
        for pair in sorted(pairs, key=lambda pair: _WORST_FIRST[pair.fact.severity])
    )


def _notes(before: Run, after: Run) -> Iterator[str]:
    differing = [
        f"{part} {then!r} then, {now!r} now"
        for part in _OF_TIMES
        if (then := before.provenance.get(part)) != (now := after.provenance.get(part))
    ]
    if differing:
        yield f"times are not of the same machine and settings: {'; '.join(differing)}"
    if before.repeats != after.repeats:
        yield f"{before.repeats} repeats then, {after.repeats} now: a fact counts by its worst repeat"
