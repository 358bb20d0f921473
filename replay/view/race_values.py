"""What a race is of, and what came out of it. Pure.

Invariant: both lanes are the same unit, made as a run makes it; a figure that was not measured is None, and
what is said of the two follows from their figures alone.
"""

from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bundles import Source, Unit
from daemon.wire import DoneEvent
from replay.arms import PLAIN, Arm, parse_arm

Lane = Literal["plain", "redraft"]
LANES: tuple[Lane, Lane] = ("plain", "redraft")
ARMS = {"exact": "redraft", "tolerant": "redraft:tau=3,floor=1"}
EVEN = 0.03
"""Times that differ by no more than this share are called the same: one try tells no more."""
LONGEST = 200_000


class RaceSource(BaseModel):
    """A source before and after the edit; where it is empty it is not there."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=256)
    before: str = Field(max_length=LONGEST)
    after: str = Field(max_length=LONGEST)


class RaceRequest(BaseModel):
    """What a browser sends. Without `stale` the old answer is made first, by plain generation."""

    model_config = ConfigDict(extra="forbid")
    instruction: str = Field(max_length=LONGEST)
    sources: list[RaceSource] = Field(min_length=1, max_length=100)
    stale: str | None = Field(default=None, max_length=LONGEST)
    edited: str | None = Field(default=None, max_length=LONGEST)
    pinned: list[str] = Field(default=[], max_length=100)
    max_tokens: int = Field(default=160, ge=1, le=8192)
    mode: Literal["exact", "tolerant"] = "exact"
    first: Lane = "plain"

    def unit(self) -> Unit:
        """The edit as a unit."""
        return Unit(
            unit_id="race",
            session_id="race",
            instruction=self.instruction,
            sources_before=tuple(Source(s.name, s.before) for s in self.sources if s.before),
            sources_after=tuple(Source(s.name, s.after) for s in self.sources if s.after),
            stale=self.stale,
            edited=self.edited,
            pinned=tuple(self.pinned),
            max_tokens=self.max_tokens,
        )

    def lanes(self) -> list[tuple[Lane, Arm]]:
        """Both lanes, in the order in which they are run."""
        arms: dict[Lane, Arm] = {"plain": parse_arm(PLAIN), "redraft": parse_arm(ARMS[self.mode])}
        return [(lane, arms[lane]) for lane in (LANES if self.first == "plain" else LANES[::-1])]


def request_of(unit: Unit, stale: str | None, max_tokens: int) -> RaceRequest:
    """A unit as a race; `stale` is its old answer, `max_tokens` for where it sets none itself.

    Texts are taken over as they are, also such as no browser may send.
    """
    before = {source.name: source.text for source in unit.sources_before}
    after = {source.name: source.text for source in unit.sources_after}
    return RaceRequest.model_construct(
        instruction=unit.instruction,
        sources=[
            RaceSource.model_construct(name=name, before=before.get(name, ""), after=after.get(name, ""))
            for name in dict.fromkeys([*before, *after])
        ],
        stale=stale,
        edited=unit.edited,
        pinned=list(unit.pinned),
        max_tokens=unit.max_tokens or max_tokens,
    )


@dataclass(frozen=True, slots=True)
class LaneResult:
    """One lane's figures. `wall_ms` and `first_ms` (to the first text) are as seen from here, from sending
    the edit on and without the wait for a slot. `held` is the share of tokens taken over; `patched` counts
    those that the edit had replaced in the old answer."""

    wall_ms: float
    first_ms: float | None
    prompt_ms: float
    prompt_tokens: int
    queued_ms: float
    tokens: int
    passes: int | None
    held: float
    divergences: int
    patched: int
    token_ids: tuple[int, ...]

    def shown(self) -> dict[str, object]:
        """All but the tokens."""
        values = asdict(self)
        del values["token_ids"]
        return values


def lane_result(done: DoneEvent, wall_ms: float, first_ms: float | None) -> LaneResult:
    """The figures of a lane that has ended."""
    return LaneResult(
        wall_ms=wall_ms,
        first_ms=first_ms,
        prompt_ms=done.prompt_ms,
        prompt_tokens=done.prompt_tokens,
        queued_ms=done.queued_ms,
        tokens=done.tokens,
        passes=done.passes,
        held=done.reused,
        divergences=done.divergences,
        patched=done.patched_tokens or 0,
        token_ids=tuple(done.token_ids or ()),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: `speedup` is plain's time over redraft's, `differs_at` the first other token."""

    identical: bool
    differs_at: int | None
    speedup: float
    won: Literal["redraft", "plain", "neither"]
    headline: str
    tokens: str


def outcome(plain: LaneResult, redraft: LaneResult, mode: str) -> Outcome:
    """Compare the two lanes of a race."""
    differs_at = _first_difference(plain.token_ids, redraft.token_ids)
    speedup = plain.wall_ms / redraft.wall_ms
    won: Literal["redraft", "plain", "neither"] = "neither"
    if abs(1 - speedup) > EVEN:
        won = "redraft" if speedup > 1 else "plain"
    return Outcome(
        identical=differs_at is None,
        differs_at=differs_at,
        speedup=speedup,
        won=won,
        headline=_headline(plain.wall_ms, redraft.wall_ms, won),
        tokens=_tokens(len(plain.token_ids), differs_at, mode),
    )


def _headline(plain_ms: float, redraft_ms: float, won: str) -> str:
    times = f"{_seconds(redraft_ms)} against {_seconds(plain_ms)}"
    match won:
        case "redraft":
            return f"redraft was {plain_ms / redraft_ms:.2f} times as fast: {times}."
        case "plain":
            return f"redraft lost: {times} by plain generation, {plain_ms / redraft_ms:.2f} times as fast."
    return f"No real difference: {times}."


def _tokens(count: int, differs_at: int | None, mode: str) -> str:
    if differs_at is None:
        return f"Identical: the same {count} token ids as plain generation."
    place = f"Not identical: token {differs_at + 1} is the first that differs from plain generation's."
    if mode == "exact":
        return f"{place} Exact mode promises the same: is the engine deterministic?"
    return f"{place} Tolerant mode may; read both."


def _first_difference(ours: tuple[int, ...], theirs: tuple[int, ...]) -> int | None:
    if ours == theirs:
        return None
    shared = zip(ours, theirs, strict=False)
    return next((place for place, (a, b) in enumerate(shared) if a != b), min(len(ours), len(theirs)))


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.2f} s" if ms >= 100 else f"{ms:.0f} ms"
