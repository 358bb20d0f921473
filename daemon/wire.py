"""What redraftd's clients and the daemon agree on: request bodies, answers and SSE events.

Invariant: the published contract's names and shapes; additions only. Text offsets on the wire are
UTF-16 code units, as browsers count.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.wire import Algorithm

Mode = Literal["exact", "tolerant"]
Kind = Literal["rederive", "revise"]
Range = tuple[int, int]
PositiveTokens = Annotated[int, Field(ge=1, le=8192)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Source(_Body):
    """A named source text."""

    name: str = Field(min_length=1, max_length=256)
    text: str


class OpenRequest(_Body):
    """Body of `PUT .../{section}`: open or replace. `derived` is the next refresh's draft."""

    instruction: str
    sources: list[Source]
    derived: str | None = None
    pinned: list[str] = []
    max_tokens: PositiveTokens = 512


class Edit(_Body):
    """Replaces lines `[start, end)` of a text, split on `\\n`, by `lines`."""

    target: Literal["source", "derived"]
    source: str | None = None
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    lines: list[str]


class EditsRequest(_Body):
    """Body of `POST .../{section}/edits`: apply without generating."""

    base_revision: int | None = None
    edits: list[Edit]
    pinned: list[str] | None = None


class RefreshRequest(_Body):
    """Body of `POST .../{section}/refresh`. `baseline` asks for plain generation.

    `tau` and `floor` (nats) apply in tolerant mode. `return_tokens` adds token ids and their
    sources to `done`.
    """

    base_revision: int | None = None
    edits: list[Edit] = []
    sources: list[Source] | None = None
    instruction: str | None = None
    pinned: list[str] | None = None
    baseline: bool = False
    mode: Mode = "exact"
    tau: float = Field(3.0, ge=0)
    floor: float = Field(1.0, ge=0)
    algorithm: Algorithm = "anchor"
    return_tokens: bool = False


class OpenResponse(_Answer):
    """Answer to PUT and to an edit without refresh (there `derived_tokens` is the current draft's)."""

    session_id: str
    revision: int
    derived_tokens: int


class SectionState(_Answer):
    """Answer to GET: the section as the next refresh would see it."""

    session_id: str
    revision: int
    instruction: str
    sources: list[Source]
    derived: str | None
    pinned: list[str]
    max_tokens: int


class DeleteResponse(_Answer):
    """Answer to DELETE: how many sections went, which slots were cleared and which could not be."""

    deleted: int
    slots_erased: list[int]
    slots_unerased: list[int]


class ModelHealth(_Answer):
    """The model behind the engine; `redraft` says whether it can replay a stale answer."""

    name: str
    resident: bool
    redraft: bool


class SlotHealth(_Answer):
    """Slot counts."""

    total: int
    busy: int
    queued: int


class Health(_Answer):
    """Answer to `GET /healthz`. `engine` repeats the engine's own facts (its `/props` key `redraft`)."""

    status: Literal["ok", "degraded", "down"]
    version: str
    template_version: int
    model: ModelHealth
    slots: SlotHealth
    sessions: int
    engine: dict[str, object] = {}


class OpenEvent(_Answer):
    """First event of a refresh."""

    session_id: str
    revision: int
    kind: Kind
    slot: int
    slot_reused: bool
    queued_ms: float


class DeltaEvent(_Answer):
    """A piece of the new text; the deltas concatenate to it."""

    text: str
    kind: Literal["held", "new"]


class SpanEvent(_Answer):
    """Spans tile both texts in order; a held span's old and new text are equal."""

    kind: Literal["held", "replaced"]
    old: Range
    new: Range
    text: str | None = None


class DoneEvent(_Answer):
    """Terminal event of a complete refresh. Times in milliseconds; `reused` is held over emitted tokens.

    `tokens` are the emitted ones, `prompt_tokens` those of the prompt that had to be computed and
    `total_tokens` the whole prompt and answer. `stop_type` is the engine's.
    """

    revision: int
    kind: Kind
    mode: Literal["redraft", "baseline"]
    reused: float
    reused_chars: int
    wall_ms: float
    prompt_ms: float
    queued_ms: float
    tokens: int
    prompt_tokens: int
    total_tokens: int
    divergences: int
    slot: int
    slot_reused: bool
    pinned_missing: list[str]
    template_version: int
    algorithm: str | None = None
    exact: bool | None = None
    passes: int | None = None
    rows: int | None = None
    stop_type: str = ""
    token_ids: list[int] | None = None
    token_src: list[int] | None = None


class CancelledEvent(_Answer):
    """Terminal event: a newer refresh, edit, PUT or DELETE superseded this one."""

    revision: int


class ErrorEvent(_Answer):
    """Terminal event: the engine failed after the stream had started."""

    code: Literal["engine_failed"]
    detail: str = ""


RefreshEvent = OpenEvent | DeltaEvent | SpanEvent | DoneEvent | CancelledEvent | ErrorEvent
EVENT_NAMES: dict[str, type[RefreshEvent]] = {
    "open": OpenEvent,
    "delta": DeltaEvent,
    "span": SpanEvent,
    "done": DoneEvent,
    "cancelled": CancelledEvent,
    "error": ErrorEvent,
}
