"""What the pages show, put together from a reading of the store.

Invariant: a page costs what it shows: lists come from the store a page at a time, and a run is summed up as a
report does only where it is small; what was worked out is kept for as long as the store does not change.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bundles import (
    Attempt,
    Bundle,
    BundleError,
    RunInfo,
    Unit,
    UnitChoice,
    UnitFilter,
    UnitOrder,
    UnitPage,
    Verdict,
)
from judge import GatePolicy, JudgeError, Metric
from replay.arms import CONTROL, PLAIN, STALE
from replay.comparison_results import Judged
from replay.errors import ReplayError, SettingsError
from replay.report.marks import Piece, differing, pieces
from replay.results import summarise
from replay.summary import Summary
from replay.timing import metric_of, taken_by
from replay.view.library import Reading

RUNS_A_PAGE, UNITS_A_PAGE = 10, 50
LARGEST_SUMMARISED = 5_000
"""Attempts of a run up to which its verdict is worked out while somebody waits."""
LONGEST_COMPARED = 30_000
LONGEST_SHOWN = 200_000


class UnitsQuery(BaseModel):
    """Which of a run's units a page lists. An empty `arm` is the first under test."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    arm: str = Field(default="", max_length=200)
    show: UnitChoice = "all"
    q: str = Field(default="", max_length=200)
    order: UnitOrder = "plan"
    direction: Literal["up", "down"] = "up"
    page: int = Field(default=1, ge=1, le=1_000_000)

    def changed(self, **changes: object) -> dict[str, object]:
        """The parameters of a link, without those that are as they would be anyway."""
        values = self.model_dump() | changes
        return {name: value for name, value in values.items() if value != _AS_ALWAYS[name]}


_AS_ALWAYS = UnitsQuery().model_dump()


@dataclass(frozen=True, slots=True)
class ArmView:
    """One arm of a run in figures; None where nothing was measured."""

    name: str
    passed: int
    judged: int
    unscored: int
    errors: int
    speedup: float | None
    held: float | None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run; `done` counts attempts."""

    info: RunInfo
    done: int
    arms: tuple[ArmView, ...]

    @property
    def tested(self) -> tuple[str, ...]:
        """The arms but for plain and control; these where there are no others."""
        return tuple(arm for arm in self.info.arms if arm not in (PLAIN, CONTROL)) or self.info.arms


def run_view(reading: Reading, info: RunInfo) -> RunView:
    """A run in figures."""
    return reading.remembered(("run", info.run_id), lambda: _run_view(reading, info))


def summary_of(reading: Reading, info: RunInfo) -> tuple[Summary | None, str]:
    """The run summed up as a report does, by the default policy; or why it is not."""
    return reading.remembered(("summary", info.run_id), lambda: _summary(reading, info))


def _run_view(reading: Reading, info: RunInfo) -> RunView:
    totals = {total.arm: total for total in reading.store.arm_totals(info.run_id) if total.arm in info.arms}
    speedups = reading.store.speedups(info.run_id, PLAIN) if metric_of(info) == "wall" else {}
    arms = []
    for name in info.arms:
        total = totals.get(name)
        arms.append(
            ArmView(name, 0, 0, 0, 0, None, None)
            if total is None
            else ArmView(
                name,
                total.passed,
                total.passed + total.failed + total.unscored,
                total.unscored,
                total.errors + total.timeouts,
                speedups.get(name),
                total.held / total.tokens if total.tokens else None,
            )
        )
    done = sum(total.ok + total.errors + total.timeouts for total in totals.values())
    return RunView(info, done, tuple(arms))


def judged_of(reading: Reading, info: RunInfo) -> Judged:
    """The run with all its attempts and verdicts; SettingsError for one that is too large for that."""
    done = run_view(reading, info).done
    if done > LARGEST_SUMMARISED:
        raise SettingsError(
            f"a run of {done} attempts is too large to be summed up here; `redraft report {info.run_id}` does"
        )
    store = reading.store
    run = store.planned_run(info.run_id)
    bundle = Bundle(info.bundle_id, info.bundle, (), store.units(info.bundle_id, run.unit_ids))
    return Judged(run, bundle, store.attempts(run.run_id), store.verdicts(run.run_id))


def _summary(reading: Reading, info: RunInfo) -> tuple[Summary | None, str]:
    try:
        of = judged_of(reading, info)
        return summarise(of.run, of.bundle, of.attempts, of.verdicts, GatePolicy()), ""
    except (ReplayError, JudgeError, BundleError) as error:
        return None, str(error)


@dataclass(frozen=True, slots=True)
class UnitsView:
    """A page of a run's units, as seen from one arm; `speed_metric` is what speedups are of."""

    arm: str
    speed_metric: Metric
    page: UnitPage
    pages: int


def units_view(reading: Reading, run: RunView, query: UnitsQuery) -> UnitsView:
    """Some of the run's units; SettingsError for an arm that the run does not have."""
    arm = query.arm or run.tested[0]
    if arm not in run.info.arms:
        raise SettingsError(f"run {run.info.run_id} has no arm {arm!r}; it has {', '.join(run.info.arms)}")
    page = reading.store.units_page(
        run.info,
        UnitFilter(arm, PLAIN, query.show, query.q.strip()),
        order=query.order,
        descending=query.direction == "down",
        limit=UNITS_A_PAGE,
        offset=(query.page - 1) * UNITS_A_PAGE,
    )
    return UnitsView(arm, metric_of(run.info), page, max(1, -(-page.total // UNITS_A_PAGE)))


@dataclass(frozen=True, slots=True)
class TextView:
    """A text as pieces with their marks; `cut` counts the code points that are not shown."""

    pieces: tuple[Piece, ...]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt: its text, its verdicts by fact, and whether its tokens are plain's.

    `speed_metric` is what its speedup is of.
    """

    attempt: Attempt
    text: TextView
    verdicts: dict[str, Verdict]
    speed_metric: Metric
    speedup: float | None
    identical: bool | None

    @property
    def held(self) -> float | None:
        """The share of tokens that were held."""
        count = len(self.attempt.token_ids)
        return self.attempt.held / count if count else None


@dataclass(frozen=True, slots=True)
class UnitView:
    """A unit and its attempts in one repeat. `draft` is the old answer, None where there is none."""

    unit: Unit
    repeat: int
    sources: tuple[tuple[str, TextView | None, TextView | None], ...]
    draft: TextView | None
    attempts: tuple[AttemptView, ...]


def unit_view(reading: Reading, info: RunInfo, unit_id: str, repeat: int) -> UnitView:
    """One unit of a run; `UnknownRef` where it has none of that id."""
    (unit,) = reading.store.units(info.bundle_id, [unit_id])
    attempts = {attempt.arm: attempt for attempt in reading.store.unit_attempts(info.run_id, unit_id, repeat)}
    verdicts: dict[str, dict[str, Verdict]] = {}
    for verdict in reading.store.unit_verdicts(info.run_id, unit_id, repeat):
        verdicts.setdefault(verdict.arm, {})[verdict.fact_id] = verdict
    plain = attempts.get(PLAIN)
    metric = metric_of(info)
    shown = [
        _attempt_view(attempts[arm], plain, verdicts.get(arm, {}), metric)
        for arm in info.arms
        if arm in attempts
    ]
    draft = stale_of(reading, info, unit)
    return UnitView(unit, repeat, _sources(unit), None if draft is None else marked(draft), tuple(shown))


def stale_of(reading: Reading, info: RunInfo, unit: Unit) -> str | None:
    """The old answer: the unit's own, or the one that the run made."""
    if unit.stale is not None:
        return unit.stale
    made = [a for a in reading.store.unit_attempts(info.run_id, unit.unit_id) if a.arm == STALE]
    return made[0].text if made and made[0].status == "ok" else None


def _attempt_view(
    attempt: Attempt, plain: Attempt | None, verdicts: dict[str, Verdict], metric: Metric
) -> AttemptView:
    marks = {
        "held": [(span.new_start, span.new_end) for span in attempt.spans],
        "evidence": [verdict.evidence for verdict in verdicts.values() if verdict.evidence],
    }
    compared = plain if plain and plain.status == attempt.status == "ok" and attempt.arm != PLAIN else None
    if compared:
        marks["differs"] = changed(compared.text, attempt.text)[1]
    plain_took = taken_by(compared, metric) if compared else None
    took = taken_by(attempt, metric)
    return AttemptView(
        attempt=attempt,
        text=marked(attempt.text, marks),
        verdicts=verdicts,
        speed_metric=metric,
        speedup=plain_took / took if plain_took and took else None,
        identical=attempt.token_ids == compared.token_ids if compared else None,
    )


def _sources(unit: Unit) -> tuple[tuple[str, TextView | None, TextView | None], ...]:
    before = {source.name: source.text for source in unit.sources_before}
    after = {source.name: source.text for source in unit.sources_after}
    shown = []
    for name in dict.fromkeys([*before, *after]):
        gone, come = changed(before.get(name, ""), after.get(name, ""))
        shown.append(
            (
                name,
                marked(before[name], {"differs": gone}) if name in before else None,
                marked(after[name], {"differs": come}) if name in after else None,
            )
        )
    return tuple(shown)


Ranges = list[tuple[int, int]]


def changed(old: str, new: str) -> tuple[Ranges, Ranges]:
    """The ranges of both texts in which they differ; none are told of very long ones."""
    if old == new or len(old) + len(new) > LONGEST_COMPARED:
        return [], []
    return differing(old, new)


def marked(text: str, marks: dict[str, Ranges] | None = None) -> TextView:
    """A text to be shown, cut where it is very long."""
    shown = text[:LONGEST_SHOWN]
    within = {name: _within(ranges, len(shown)) for name, ranges in (marks or {}).items()}
    return TextView(tuple(pieces(shown, within)), len(text) - len(shown))


def _within(ranges: Iterable[tuple[int, int]], length: int) -> Ranges:
    return [(start, min(end, length)) for start, end in ranges if start < length]
