"""Two judged runs held against each other, as values that every report of it projects.

Invariant: the JSON keys are a promise that SCHEMA_VERSION numbers, others may be added.
"""

from pydantic import BaseModel, ConfigDict

from bundles import Polarity, Severity
from judge import Metric

SCHEMA_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class FactChange(_Part):
    """A fact that comes out otherwise in the later run, each run's worst repeat deciding."""

    unit_id: str
    fact_id: str
    severity: Severity
    polarity: Polarity
    values: tuple[str, ...]


class ArmComparison(_Part):
    """One arm that both runs have, over the units that both have.

    `passed` of the `scored` facts, those with an outcome in both runs, are right in a run. Of the `sessions`
    with such a fact, `worse` and `better` ones lost more facts than they gained, or fewer, advisory ones left
    out; `p_value` is their exact sign test, and `net` the share of sessions that got worse less that of those
    that got better, with a 95% interval. `speedup_median` is what the earlier run takes over what the later
    one takes, the median over units, with a 95% interval (bootstrap over sessions). `identical` is the share
    of units whose token ids are the same in both.
    """

    gained: tuple[FactChange, ...]
    lost: tuple[FactChange, ...]
    scored: int
    passed_before: int
    passed_after: int
    unscored: int
    sessions: int
    worse: int
    better: int
    p_value: float
    net: float | None
    net_low: float | None
    net_high: float | None
    speedup_median: float | None
    speedup_low: float | None
    speedup_high: float | None
    slowest: float | None
    slowest_unit: str | None
    identical: float | None


class RunSide(_Part):
    """One of the two runs."""

    run_id: str
    bundle_id: str
    bundle: str
    started: str
    units: int
    repeats: int


class RunComparison(_Part):
    """Two runs: `before` and `after`.

    `across` says in what they differ where they are no measurements of the same thing. `units` are those
    compared; `changed` ones have the same id in both but another state or other facts.
    """

    schema_version: int = SCHEMA_VERSION
    before: RunSide
    after: RunSide
    across: str
    units: int
    only_before: int
    only_after: int
    changed: int
    speed_metric: Metric
    arms: dict[str, ArmComparison]
    arms_only_before: tuple[str, ...]
    arms_only_after: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> str:
        """The stable form."""
        return self.model_dump_json(indent=2)
