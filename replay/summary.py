"""The one summary of a judged run that every report projects.

Invariant: a report computes nothing, it shows what is here; the JSON keys are a promise that
SCHEMA_VERSION numbers, others may be added.
"""

from pydantic import BaseModel, ConfigDict, Field

from bundles import Outcome, Polarity, Severity, UnitKind
from judge import Attribution, CanaryOutcome, GateVerdict, Metric, Ruling
from replay.arms import CONTROL, PLAIN

SCHEMA_VERSION = 1
Scalar = str | int | float | bool | None


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Canaries(_Part):
    """How many canaries ended how; blind ones plain generation gets wrong too."""

    passed: int = 0
    failed: int = 0
    blind: int = 0
    unscored: int = 0


class ArmSummary(_Part):
    """One arm, over the attempts that finished.

    Speedups are plain's wall time over the arm's, a unit counting once: the median over units with a
    95% interval (bootstrap over sessions; None for too few), and the slowest unit. `held` is the share
    of tokens taken over, `divergences` their number of interruptions, `identical` the share of units
    whose token ids equal plain's. Of `pinned_total` lines to keep, `pinned_kept` are there.
    """

    facts_passed: int
    facts_total: int
    unscored: int
    speedup_median: float | None
    speedup_low: float | None
    speedup_high: float | None
    slowest: float | None
    slowest_unit: str | None
    held: float | None
    divergences: int
    identical: float | None
    flips: int
    regressions: int
    canaries: Canaries
    pinned_kept: int = 0
    pinned_total: int = 0
    edit_distance: float | None = None
    lost_held: int = 0
    lost_decoded: int = 0


class SessionSummary(_Part):
    """What an arm's sessions, each one piece of evidence, say at the policy's confidence.

    `sessions` are those that could show a loss. `p_value` is the exact sign test of `worse` against `better`
    ones. `loss_rate` is the share in which the arm lost a fact, with a two-sided interval; `excess` how
    much that is more than the control's, with limits that are one-sided each. `ruling` says on which side
    of the `margin` the excess is, `sessions_needed` how many more sessions would tell. `identical_units`
    gave plain's text and tokens in every repeat: where all do, nothing can be lost and all of it is zero.
    """

    sessions: int
    worse: int
    better: int
    p_value: float
    lost: int
    loss_rate: float | None
    loss_rate_low: float | None
    loss_rate_high: float | None
    lost_alone: int
    spared: int
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    confidence: float
    margin: float | None
    ruling: Ruling | None
    sessions_needed: int | None
    identical_units: int


class FlipSummary(_Part):
    """A fact that an arm and plain generation judge differently."""

    unit_id: str
    fact_id: str
    arm: str
    repeat: int
    before: Outcome = Field(serialization_alias="from")
    after: Outcome = Field(serialization_alias="to")
    attribution: Attribution
    severity: Severity
    regression: bool
    polarity: Polarity
    values: tuple[str, ...]


class ClaimArm(_Part):
    """How one arm's checks of claims came out, two an attempt."""

    passed: int
    failed: int
    unscored: int


class ClaimFlip(_Part):
    """A check of claims that an arm and plain generation come out of differently.

    `check` is `claims/lost_facts` or `claims/new_errors`. `reason` names the claims, `said` is the passage of
    the arm's text that they rest on, `evidence` its range; empty and None where the text does not say it.
    """

    unit_id: str
    arm: str
    repeat: int
    check: str
    before: Outcome = Field(serialization_alias="from")
    after: Outcome = Field(serialization_alias="to")
    attribution: Attribution
    regression: bool
    reason: str
    said: str
    evidence: tuple[int, int] | None


class ClaimSummary(_Part):
    """What the claim judge `judge` found; empty where none of its verdicts is left."""

    judge: str
    arms: dict[str, ClaimArm]
    regressions: int
    flips: tuple[ClaimFlip, ...]


class Passage(_Part):
    """A text with the ranges (code points, end exclusive) that were held and that verdicts rest on."""

    text: str
    held: tuple[tuple[int, int], ...]
    evidence: tuple[tuple[int, int], ...]


class Comparison(_Part):
    """One attempt whose facts flipped, beside plain generation's."""

    unit_id: str
    category: str
    instruction: str
    arm: str
    repeat: int
    plain: Passage
    other: Passage
    flips: tuple[FlipSummary, ...]


class UnitArm(_Part):
    """One arm's attempts at one unit, repeats reduced to their median; None where nothing was measured.

    `facts_total` are the planned fact checks; `error` is the first failed attempt's, or empty. `speedup` is
    plain's time over the arm's, in the run's metric. `held` is the share of tokens taken over, `divergences`
    their number of interruptions over all repeats, `identical` whether the token ids are plain's in every
    repeat. `edit_distance` is how far the text is from plain's, 0 (the same) to 1, by code points.
    """

    finished: int
    failed: int
    error: str
    facts_passed: int
    facts_total: int
    unscored: int
    flips: int
    regressions: int
    canary: CanaryOutcome | None
    speedup: float | None
    wall_ms: float | None
    prompt_ms: float | None
    passes: float | None
    rows: float | None
    held: float | None
    divergences: int
    identical: bool | None
    edit_distance: float | None


class UnitSummary(_Part):
    """One unit, arm by arm."""

    unit_id: str
    session_id: str
    category: str
    kind: UnitKind
    document_kind: str
    tags: tuple[str, ...]
    canary: bool
    arms: dict[str, UnitArm]


class CategorySummary(_Part):
    """The units of one category, or of one kind."""

    category: str
    units: int
    arms: dict[str, ArmSummary]


class Summary(_Part):
    """A judged run in numbers; `comparisons` and `unit_results` are left out of the JSON.

    `modes` are the units by their kind, `document_kinds` by what kind of document they are from. Speedups are
    of `speed_metric`: passes where attempts were made at once, so that wall times are contended. `claims`
    is None where no claim judge was asked.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: str
    bundle_id: str
    bundle: str
    started: str
    finished: str | None
    units: int
    repeats: int
    seed: int
    speed_metric: Metric = "wall"
    attempts: int
    errors: int
    missing: int
    verdict: GateVerdict
    exit_code: int
    reasons: tuple[str, ...]
    exact_match: float | None
    control_match: float | None
    regressions: int
    canaries: Canaries
    arms: dict[str, ArmSummary]
    sessions: dict[str, SessionSummary]
    categories: tuple[CategorySummary, ...]
    modes: tuple[CategorySummary, ...] = ()
    document_kinds: tuple[CategorySummary, ...] = ()
    flips: tuple[FlipSummary, ...]
    claims: ClaimSummary | None = None
    look_at: tuple[str, ...]
    comparability: dict[str, Scalar]
    provenance: dict[str, Scalar]
    comparisons: tuple[Comparison, ...] = Field((), exclude=True)
    unit_results: tuple[UnitSummary, ...] = Field((), exclude=True)

    @property
    def arms_under_test(self) -> tuple[str, ...]:
        """All but plain and control."""
        return tuple(arm for arm in self.arms if arm not in (PLAIN, CONTROL))

    def to_json(self) -> str:
        """The stable form."""
        return self.model_dump_json(by_alias=True, indent=2)
