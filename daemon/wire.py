"""What redraftd's clients and the daemon agree on: request bodies, answers and SSE events.

Invariant: the published contract's names and shapes; additions only. Text offsets on the wire are
UTF-16 code units, as browsers count.
"""

from collections.abc import Iterator
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.wire import FIRST_ERROR, Algorithm, DraftSource, Rule, Text

Mode = Literal["exact", "tolerant"]
Kind = Literal["rederive", "revise"]
RecorderState = Literal["off", "up", "down"]
Range = tuple[int, int]
PositiveTokens = Annotated[int, Field(ge=1, le=8192)]

Item = TypeVar("Item")
Items = Annotated[list[Item], FIRST_ERROR]


class _Body(BaseModel):
    model_config = ConfigDict(
        frozen=True, allow_inf_nan=False, json_schema_extra={"additionalProperties": False}
    )

    @model_validator(mode="before")
    @classmethod
    def _knows_every_field(cls, fields: object) -> object:
        """What `extra="forbid"` does, but it would report each of a million."""
        for name in fields if isinstance(fields, dict) else ():
            if name not in cls.model_fields:
                raise ValueError(f"unknown field {name[:80]!r}")
        return fields


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Source(_Body):
    """A named source text."""

    name: Text = Field(min_length=1, max_length=256)
    text: Text


class OpenRequest(_Body):
    """Body of `PUT .../{section}`: open or replace. `derived` is the next refresh's draft."""

    instruction: Text
    sources: Items[Source]
    derived: Text | None = None
    pinned: Items[Text] = []
    max_tokens: PositiveTokens = 512


class Edit(_Body):
    """Replaces lines `[start, end)` of a text, split on `\\n`, by `lines`."""

    target: Literal["source", "derived"]
    source: Text | None = None
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    lines: Items[Text]


class EditsRequest(_Body):
    """Body of `POST .../{section}/edits`: apply without generating."""

    base_revision: int | None = None
    edits: Items[Edit]
    pinned: Items[Text] | None = None


class RefreshRequest(_Body):
    """Body of `POST .../{section}/refresh`. `baseline` asks for plain generation.

    `tau` and `floor` (nats), `rule` and `p_cut` apply in tolerant mode; without a floor it is 1, or tau where
    that is less. `draft_sources` is the engine's; with `baseline` it makes plain generation draft from
    the new context (`lookup`) or a smaller model. `patch` puts the edit's new values into the draft,
    `guard` keeps tolerance off the draft's opening and what the edit removed, and off all of it where it has
    no place for what the edit brought or the instruction is another. `return_tokens` adds token ids and
    their sources to `done`.
    """

    base_revision: int | None = None
    edits: Items[Edit] = []
    sources: Items[Source] | None = None
    instruction: Text | None = None
    pinned: Items[Text] | None = None
    baseline: bool = False
    mode: Mode = "exact"
    tau: float = Field(default=3.0, ge=0)
    floor: float = Field(default_factory=lambda given: min(1.0, given["tau"]), ge=0)
    rule: Rule = "entropy_floor"
    p_cut: float = Field(default=0.9, gt=0, le=1)
    algorithm: Algorithm = "adaptive"
    draft_sources: Items[DraftSource] | None = None
    patch: bool = True
    guard: bool = True
    return_tokens: bool = False

    @model_validator(mode="after")
    def _floor_is_below_tau(self) -> "RefreshRequest":
        if self.mode == "tolerant" and self.floor > self.tau:
            raise ValueError(f"floor {self.floor} is above tau {self.tau}")
        return self


class CanaryReport(_Body):
    """Body of `PUT /v1/canaries`: how a canary check against this daemon came out."""

    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    blind: int = Field(default=0, ge=0)
    unscored: int = Field(default=0, ge=0)
    error: int = Field(default=0, ge=0)


class Refusal(BaseModel):
    """Every answer that is none: a code, a line that says what to do, and what the code brings with it."""

    model_config = ConfigDict(extra="allow", frozen=True)
    error: str
    detail: str = ""


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
    """Answer to `GET /healthz`. `engine` repeats the engine's own facts (its `/props` key `redraft`);
    `recorder` is `off` where nothing is recorded and `down` after what could not be."""

    status: Literal["ok", "degraded", "down"]
    version: str
    template_version: int
    model: ModelHealth
    slots: SlotHealth
    sessions: int
    recorder: RecorderState = "off"
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
    `total_tokens` the whole prompt and answer. `strict_tokens` of the draft were guarded: held on an
    exact match only. `stop_type` is the engine's.
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
    wasted_rows: int | None = None
    host_ms: float | None = None
    drafted: dict[str, int] | None = None
    patched_tokens: int | None = None
    strict_tokens: int | None = None
    stop_type: str = ""
    token_ids: list[int] | None = None
    token_src: list[int] | None = None


class CancelledEvent(_Answer):
    """Terminal event: a newer refresh, edit, PUT or DELETE superseded this one. It may be the only event."""

    revision: int


class ErrorEvent(_Answer):
    """Terminal event: the engine failed after the stream had started, or the new text cannot be recorded.
    The section is as it was."""

    code: Literal["engine_failed", "recorder_unavailable"]
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


def encode_event(event: RefreshEvent) -> bytes:
    """The event as one SSE block. JSON escapes CR and LF, so the data is always one line."""
    name = next(name for name, kind in EVENT_NAMES.items() if type(event) is kind)
    return f"event: {name}\ndata: {event.model_dump_json(exclude_none=True)}\n\n".encode()


def parse_event(name: str, data: str) -> RefreshEvent:
    """The event that an SSE block carries; ValueError when the name or the data is not one of ours."""
    if name not in EVENT_NAMES:
        raise ValueError(f"unknown refresh event {name!r}")
    return EVENT_NAMES[name].model_validate_json(data)


class SseDecoder:
    """Cuts a byte stream into SSE blocks, at LF and CRLF only: U+2028, U+0085 and a lone CR are text."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = "message"
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[tuple[str, str]]:
        """The `(event name, data)` of each block that the chunk completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode()
            field, _, value = text.partition(":")
            if field == "event":
                self._name = value.removeprefix(" ")
            elif field == "data":
                self._data.append(value.removeprefix(" "))
            elif not text:
                if self._data:
                    yield self._name, "\n".join(self._data)
                self._name, self._data = "message", []
