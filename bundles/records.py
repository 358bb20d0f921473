"""What edit sessions, replays and judgements are, as plain values.

Invariant: every value is immutable and complete in itself. Ids come from a suite's author or from
content, never from a clock, so the same sessions give the same ids on every machine; only a run,
which is an event, carries a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

UnitKind = Literal["rederive", "revise"]
Polarity = Literal["expect", "forbid"]
Severity = Literal["critical", "supporting", "advisory"]
FactOrigin = Literal["annotated", "edit"]
SessionOrigin = Literal["recorder", "suite", "git", "loom", "chat"]
EventType = Literal["opened", "edited", "refreshed", "deleted", "evicted"]
AttemptStatus = Literal["ok", "error", "timeout"]
Outcome = Literal["pass", "fail", "unscored"]
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Source:
    """A named text that a derived text is written from."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """Something to look for in a text: a matcher with its values, or a combination of conditions.

    `values` are alternative spellings, one of which is enough; to `near` and `all` they are what must all
    be there. `of` are the parts of `near`, `all`, `any` and `count`, where a plain value would say too
    little. `at_least` and `at_most` belong to `count`; `fraction` lets a `number` be a share of one.
    """

    matcher: str = "text"
    values: tuple[str, ...] = ()
    of: tuple["Condition", ...] = ()
    at_least: int | None = None
    at_most: int | None = None
    fraction: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the new text must say (`expect`) or must not say (`forbid`).

    `matcher`, `values`, `of`, `at_least`, `at_most` and `fraction` are a `Condition`'s. `as_current`
    forbids the value only where the text states it as the present one, not where it is quoted as the
    old one.
    """

    fact_id: str
    polarity: Polarity
    values: tuple[str, ...]
    matcher: str = "text"
    severity: Severity = "critical"
    origin: FactOrigin = "annotated"
    as_current: bool = False
    of: tuple[Condition, ...] = ()
    at_least: int | None = None
    at_most: int | None = None
    fraction: bool = False

    @property
    def condition(self) -> Condition:
        """What is looked for, without what its presence means."""
        return Condition(self.matcher, self.values, self.of, self.at_least, self.at_most, self.fraction)


@dataclass(frozen=True, slots=True)
class Reference:
    """What was served when a unit was recorded; times in milliseconds."""

    text: str
    mode: str = ""
    wall_ms: float = 0.0
    prompt_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Unit:
    """One replayable edit: the state before, the edit, the stale answer and the facts.

    `stale` is None where the answer must first be made by plain generation on the before-state.
    `edited` is the derived text after a person's edit, given for `revise` units only.
    `reference` is the answer that was served when the edit was recorded. `attribution` says where a text
    comes from and under which licence.
    """

    unit_id: str
    session_id: str
    instruction: str
    sources_before: tuple[Source, ...]
    sources_after: tuple[Source, ...]
    kind: UnitKind = "rederive"
    category: str = ""
    stale: str | None = None
    edited: str | None = None
    pinned: tuple[str, ...] = ()
    canary: bool = False
    tags: tuple[str, ...] = ()
    max_tokens: int | None = None
    facts: tuple[Fact, ...] = ()
    attribution: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A section's session: the units that share it are not independent evidence.

    `opened_at` (ISO 8601, UTC) is when the recorded session began, or when its first revision was made.
    """

    session_id: str
    origin: SessionOrigin
    tenant: str = ""
    document_id: str = ""
    section_id: str = ""
    document_kind: str = ""
    opened_at: str = ""


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Replaces lines `[start, end)` of a text, split on line feeds, by `lines`."""

    target: Literal["source", "derived"]
    start: int
    end: int
    lines: tuple[str, ...]
    source: str | None = None


@dataclass(frozen=True, slots=True)
class SectionState:
    """A section as its next refresh would see it."""

    instruction: str
    sources: tuple[Source, ...]
    derived: str | None = None
    pinned: tuple[str, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a section, in its session's order.

    `ts` is ISO 8601, UTC. `before` is None for a section's first event and where what came before was
    lost, `after` where the section is gone. `numbers` is what the daemon said of a refresh, `engine` what
    generated it.
    """

    session_id: str
    seq: int
    ts: str
    type: EventType
    revision: int
    before: SectionState | None = None
    after: SectionState | None = None
    edits: tuple[LineEdit, ...] = ()
    numbers: Mapping[str, Scalar] = field(default_factory=dict)
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A content-addressed set of sessions and units; `name` is a label and not part of the id."""

    bundle_id: str
    name: str
    sessions: tuple[Session, ...]
    units: tuple[Unit, ...]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One replay: which units, which arms, on what, and when (ISO 8601, UTC).

    `provenance` holds engine and model fingerprint, quantisation, KV type, threads, slots, sampling,
    template version, package versions and host, as reported by what ran.
    """

    run_id: str
    bundle_id: str
    unit_ids: tuple[str, ...]
    arms: tuple[str, ...]
    repeats: int
    seed: int
    max_tokens: int
    started: str
    finished: str | None = None
    provenance: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldSpan:
    """A piece of the new text taken over from the stale answer; ends exclusive, in code points."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One generation: unit x arm x repeat. `order` is its place in the unit's block.

    `token_src` gives, per token of `token_ids`, the draft index it was held from, or -1 where the
    model decoded it. Times are milliseconds; `wall_ms` is the whole refresh as its caller saw it,
    `prompt_ms` and `queued_ms` are parts of it.
    """

    run_id: str
    unit_id: str
    arm: str
    repeat: int
    order: int
    status: AttemptStatus
    error: str | None = None
    text: str = ""
    token_ids: tuple[int, ...] = ()
    token_src: tuple[int, ...] = ()
    spans: tuple[HeldSpan, ...] = ()
    wall_ms: float = 0.0
    queued_ms: float = 0.0
    prompt_ms: float = 0.0
    prompt_tokens: int = 0
    divergences: int = 0
    passes: int = 0
    rows: int = 0
    wasted_rows: int = 0
    host_ms: float = 0.0
    patched_tokens: int = 0
    strict_tokens: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies the attempt within its run."""
        return (self.unit_id, self.arm, self.repeat)

    @property
    def held(self) -> int:
        """Number of tokens taken over from the draft."""
        return sum(src >= 0 for src in self.token_src)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one attempt and one fact.

    `evidence` is the range of the attempt's text (code points, end exclusive) the verdict rests on;
    None where it rests on an absence.
    """

    run_id: str
    unit_id: str
    arm: str
    repeat: int
    fact_id: str
    outcome: Outcome
    judge: str
    judge_version: int
    evidence: tuple[int, int] | None = None
    reason: str = ""
