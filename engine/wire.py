"""What the engine's clients and the engine agree on: request bodies and stream chunks.

Invariant: field names are llama-server's, plus the `redraft_*` extensions of the published patches;
nothing is renamed or removed, unknown request fields are ignored as llama-server does, and values
that cannot be right are refused here with the field's name.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def _whole_characters(text: str) -> str:
    """JSON can carry half a surrogate pair, UTF-8 and tokenizers cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds half a surrogate pair") from error
    return text


FIRST_ERROR = Field(fail_fast=True)
"""For lists of any length: a million wrong items must not become a million messages."""
Text = Annotated[str, AfterValidator(_whole_characters)]
TokenId = Annotated[int, Field(ge=0, strict=True)]
TokenIds = Annotated[list[TokenId], FIRST_ERROR]
Algorithm = Literal["anchor"]
MAX_TEXT_LENGTH = 2**20
"""Characters that `/tokenize` takes in one call."""


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Stabilize(_Wire):
    """`redraft_stabilize`: replay `old_output` (token ids) as the draft of this completion.

    `tau` and `floor` (nats) set the tolerance; with both 0 a token is held only if it is the argmax,
    so the output equals plain generation (exact mode). A floor that is not given is 1, or tau where that
    is less. `strict` lists draft ranges, end exclusive, that are held only on an exact match.
    """

    old_output: TokenIds = []
    tau: float = Field(default=3.0, ge=0)
    floor: float = Field(default_factory=lambda given: min(1.0, given["tau"]), ge=0)
    horizon: int = Field(default=64, ge=1, le=512)
    anchor_len: int = Field(default=3, ge=1, le=64)
    max_tokens: int = Field(default=512, ge=1)
    eos: TokenIds = []
    algorithm: Algorithm = "anchor"
    strict: Annotated[list[tuple[TokenId, TokenId]], FIRST_ERROR] = []

    @model_validator(mode="after")
    def _floor_is_below_tau(self) -> "Stabilize":
        if self.floor > self.tau:
            raise ValueError(f"floor {self.floor} is above tau {self.tau}")
        return self

    @model_validator(mode="after")
    def _strict_ranges_are_ordered(self) -> "Stabilize":
        for a, b in self.strict:
            if a > b:
                raise ValueError(f"strict range [{a}, {b}) ends before it starts")
        return self

    @property
    def exact(self) -> bool:
        """Whether only argmax tokens are held."""
        return self.tau == 0


class CompletionRequest(_Wire):
    """Body of `POST /completion`."""

    prompt: Text | TokenIds
    n_predict: int = Field(default=-1, ge=-1)
    temperature: float = Field(default=0.0, ge=0)
    seed: int = -1
    stop: list[Text] = Field(default=[], max_length=64, fail_fast=True)
    stream: bool = False
    cache_prompt: bool = True
    id_slot: int = Field(default=-1, ge=-1)
    return_tokens: bool = False
    redraft_stabilize: Stabilize | None = None


class TokenizeRequest(_Wire):
    """Body of `POST /tokenize`."""

    content: Text = Field(max_length=MAX_TEXT_LENGTH)
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeRequest(_Wire):
    """Body of `POST /detokenize`."""

    tokens: TokenIds


class Message(_Wire):
    """One chat message."""

    role: Text
    content: Text


class ApplyTemplateRequest(_Wire):
    """Body of `POST /apply-template`."""

    messages: list[Message] = Field(min_length=1, fail_fast=True)
    chat_template_kwargs: dict[str, object] = {}


class Timings(_Wire):
    """Times (milliseconds) and counts of one completion, as llama-server reports them."""

    cache_n: int
    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float
    predicted_per_second: float


class CompletionChunk(_Wire):
    """One SSE event of a streamed completion, not its last.

    `content` holds whole characters only: bytes of a split character wait for the token that
    completes them, so a chunk's text need not be its tokens' text. `redraft_src` gives, per token,
    the draft index it was held from, or -1.
    """

    content: str
    tokens: list[int]
    stop: Literal[False] = False
    redraft_src: list[int] | None = None


class CompletionResult(_Wire):
    """The last SSE event of a stream (`content` is then what was still held back) or the whole answer."""

    content: str
    tokens: list[int]
    stop: Literal[True] = True
    stop_type: Literal["eos", "limit", "word"]
    id_slot: int
    tokens_predicted: int
    tokens_evaluated: int
    tokens_cached: int
    truncated: bool = False
    timings: Timings
    redraft_src: list[int] | None = None
    redraft_emitted: list[int] | None = None
    redraft_held_fraction: float | None = None
    redraft_divergences: int | None = None
    redraft_passes: int | None = None
    redraft_rows: int | None = None
    redraft_wasted_rows: int | None = None


class EngineFacts(_Wire):
    """`/props` key `redraft`: what a measurement must know about the engine to be compared."""

    version: str
    model_fingerprint: str
    quantisation: str
    kv_type: str
    threads: int
    deterministic: bool
    algorithms: list[str]
