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
Algorithm = Literal["adaptive", "anchor"]
Rule = Literal["exact", "tau", "entropy_scaled", "entropy_floor", "confidence_gated", "gated_entropy"]
"""When a draft token that is not the argmax stands; see `engine.acceptance`."""
DraftSource = Literal["stale", "lookup", "model"]
"""Where draft tokens come from: the old answer, n-grams of context and output, a smaller model."""
MAX_TEXT_LENGTH = 2**20
"""Characters that `/tokenize` takes in one call."""
MAX_PROBS = 100
"""Likeliest tokens that are told at one place."""


class Wire(BaseModel):
    """What all bodies share."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Stabilize(Wire):
    """`redraft_stabilize`: replay `old_output` (token ids) as the draft of this completion.

    `tau` and `floor` (nats) set the tolerance; with both 0 a token is held only if it is the argmax,
    so the output equals plain generation (exact mode). A floor that is not given is 1, or tau where that
    is less. `rule` names the acceptance rule, `p_cut` is the confidence gate's probability. `strict` lists
    draft ranges, end exclusive, that are held only on an exact match. `draft_sources` says what may be
    drafted from; where it is not given, the old answer and lookup, or nothing where there is no old answer.
    """

    old_output: TokenIds = []
    tau: float = Field(default=3.0, ge=0)
    floor: float = Field(default_factory=lambda given: min(1.0, given["tau"]), ge=0)
    horizon: int = Field(default=64, ge=1, le=512)
    anchor_len: int = Field(default=3, ge=1, le=64)
    max_tokens: int = Field(default=512, ge=1)
    eos: TokenIds = []
    algorithm: Algorithm = "adaptive"
    rule: Rule = "entropy_floor"
    p_cut: float = Field(default=0.9, gt=0, le=1)
    draft_sources: Annotated[list[DraftSource], FIRST_ERROR] | None = None
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
        return self.tau == 0 or self.rule == "exact"


class CompletionRequest(Wire):
    """Body of `POST /completion`.

    The default is greedy generation; `seed` below 0 is any. `grammar` (GBNF) or `json_schema` holds the
    answer to it. `n_probs` tells as many of the likeliest tokens at each place of the answer (at most
    MAX_PROBS), `prompt_probs_tail` at each of the prompt's last places. What is cached of a prompt is used
    for those of the same `cache_salt` only, so that no count or time tells one user of another's prompts.
    """

    prompt: Text | TokenIds
    n_predict: int = Field(default=-1, ge=-1)
    temperature: float = Field(default=0.0, ge=0)
    top_k: int = Field(default=40, ge=-1, lt=2**31)
    top_p: float = Field(default=0.95, ge=0, le=1)
    min_p: float = Field(default=0.05, ge=0, le=1)
    repeat_penalty: float = Field(default=1.0, ge=0.01, le=100)
    repeat_last_n: int = Field(default=64, ge=-1, lt=2**31)
    presence_penalty: float = Field(default=0.0, ge=-100, le=100)
    frequency_penalty: float = Field(default=0.0, ge=-100, le=100)
    seed: int = -1
    grammar: Text = ""
    json_schema: dict[str, object] | None = None
    n_probs: int = Field(default=0, ge=0)
    prompt_probs_tail: int = Field(default=0, ge=0)
    stop: list[Text] = Field(default=[], max_length=64, fail_fast=True)
    stream: bool = False
    cache_prompt: bool = True
    cache_salt: Text = Field(default="", max_length=1024)
    id_slot: int = Field(default=-1, ge=-1)
    return_tokens: bool = False
    redraft_stabilize: Stabilize | None = None


class SlotFile(Wire):
    """Body of `POST /slots/{id}?action=save|restore|erase`; erasing needs none."""

    filename: Text = ""


class TokenizeRequest(Wire):
    """Body of `POST /tokenize`."""

    content: Text = Field(max_length=MAX_TEXT_LENGTH)
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeRequest(Wire):
    """Body of `POST /detokenize`."""

    tokens: TokenIds


class TextPart(Wire):
    """A part of a chat message; other types than text are not understood."""

    type: Literal["text"]
    text: Text


class Message(Wire):
    """One chat message. Parts are joined with line breaks; an assistant's content may be null or missing."""

    role: Text
    content: Text | Annotated[list[TextPart], FIRST_ERROR] | None = None

    @model_validator(mode="after")
    def _only_an_assistant_says_nothing(self) -> "Message":
        if self.content is None and self.role != "assistant":
            raise ValueError("content is missing")
        return self

    @property
    def text(self) -> str:
        """What the chat template gets for the content."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class ApplyTemplateRequest(Wire):
    """Body of `POST /apply-template`. `redraft_tokens` asks for the prompt's token ids too, as `tokens`."""

    messages: list[Message] = Field(min_length=1, fail_fast=True)
    chat_template_kwargs: dict[str, object] = {}
    redraft_tokens: bool = False


class Timings(Wire):
    """Times (milliseconds) and counts of one completion, as llama-server reports them."""

    cache_n: int
    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float
    predicted_per_second: float


class LikelyToken(Wire):
    """A token and the natural logarithm of its chance."""

    id: int
    token: str
    bytes: list[int]
    logprob: float


class TokenProbability(LikelyToken):
    """A token of the answer or the prompt, and the likeliest tokens at its place, best first."""

    top_logprobs: list[LikelyToken]


class CompletionChunk(Wire):
    """One SSE event of a streamed completion, not its last.

    `content` holds whole characters only: bytes of a split character wait for the token that
    completes them, so a chunk's text need not be its tokens' text. `redraft_src` gives, per token,
    the draft index it was held from, or -1.
    """

    content: str
    tokens: list[int]
    stop: Literal[False] = False
    completion_probabilities: list[TokenProbability] | None = None
    redraft_src: list[int] | None = None


class CompletionResult(Wire):
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
    completion_probabilities: list[TokenProbability] | None = None
    prompt_probabilities: list[TokenProbability] | None = None
    redraft_src: list[int] | None = None
    redraft_emitted: list[int] | None = None
    redraft_held_fraction: float | None = None
    redraft_divergences: int | None = None
    redraft_passes: int | None = None
    redraft_rows: int | None = None
    redraft_wasted_rows: int | None = None
    redraft_drafted: dict[DraftSource, int] | None = None
    """Emitted tokens that each source had drafted rightly."""
    redraft_host_ms: float | None = None
    """Time of the answer outside the model's passes."""


class EngineFacts(Wire):
    """`/props` key `redraft`: what a measurement must know about the engine to be compared."""

    version: str
    model_fingerprint: str
    quantisation: str
    kv_type: str
    threads: int
    deterministic: bool
    algorithms: list[str]
    exact_width: int = 1
    """Rows of the widest pass that is bit-identical to serial decoding."""
    pass_cost_ms: dict[str, float] = {}
    """Measured milliseconds of a pass in an empty sequence by its rows, all with logits."""
    deep_pass_cost_ms: dict[str, float] = {}
    """The same behind `pass_cost_depth` cells; in between and beyond, costs grow with the cells."""
    pass_cost_depth: int = 0
    context: int = 0
    """Tokens that a slot holds."""
    rules: list[str] = []
    draft_sources: list[str] = []
    draft_model: str | None = None
