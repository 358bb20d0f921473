"""The runs of one bundle over time. Pure.

Invariant: every run has its point, in the order the runs were stored; one that cannot be summed up says why
and has no figures. The JSON keys are a promise that SCHEMA_VERSION numbers, others may be added.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from bundles import Bundle, Run
from judge import GateVerdict, Metric
from replay.summary import ArmSummary, Canaries, Scalar, Summary

SCHEMA_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class HistoryArm(_Part):
    """One arm of one run; see `ArmSummary`."""

    facts_passed: int
    facts_total: int
    unscored: int
    regressions: int
    speedup_median: float | None
    speedup_low: float | None
    speedup_high: float | None
    held: float | None
    identical: float | None


class HistoryPoint(_Part):
    """One run. `verdict` is None where it has none, and `note` says why.

    `speed_metric` is what its speedups are of.
    """

    run_id: str
    started: str
    verdict: GateVerdict | None
    note: str
    units: int
    model: Scalar
    model_fingerprint: Scalar
    engine_version: Scalar
    redraft_version: Scalar
    speed_metric: Metric | None
    canaries: Canaries | None
    arms: dict[str, HistoryArm]


class History(_Part):
    """The points of one bundle, oldest first; `earlier` more runs are left out."""

    schema_version: int = SCHEMA_VERSION
    bundle_id: str
    bundle: str
    earlier: int
    points: tuple[HistoryPoint, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """Every arm that a run has, in the order of their first run."""
        return tuple(dict.fromkeys(arm for point in self.points for arm in point.arms))

    def to_json(self) -> str:
        """The stable form."""
        return self.model_dump_json(indent=2)


def history_of(bundle: Bundle, runs: Sequence[tuple[Run, Summary | str]], earlier: int = 0) -> History:
    """Each run with its summary, or with why it has none."""
    return History(
        bundle_id=bundle.bundle_id,
        bundle=bundle.name,
        earlier=earlier,
        points=tuple(_point(run, found) for run, found in runs),
    )


def _point(run: Run, found: Summary | str) -> HistoryPoint:
    summary, note = (None, found) if isinstance(found, str) else (found, "")
    return HistoryPoint(
        run_id=run.run_id,
        started=run.started,
        verdict=summary.verdict if summary else None,
        note=note,
        units=len(run.unit_ids),
        model=run.provenance.get("model"),
        model_fingerprint=run.provenance.get("model_fingerprint"),
        engine_version=run.provenance.get("engine_version"),
        redraft_version=run.provenance.get("redraft"),
        speed_metric=summary.speed_metric if summary else None,
        canaries=summary.canaries if summary else None,
        arms={name: _arm(arm) for name, arm in summary.arms.items()} if summary else {},
    )


def _arm(arm: ArmSummary) -> HistoryArm:
    return HistoryArm.model_validate(arm.model_dump(include=set(HistoryArm.model_fields)))
