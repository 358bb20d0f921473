"""The engine's error tree.

EngineError
├── InvalidRequest       400: the request cannot be right
│   └── PromptTooLong    400: it does not fit into a slot's context
├── Unavailable          503: loading, queue full, shutting down
├── ModelError           the model file cannot be served; the process exits 2
│   └── PullFailed       the default model could not be fetched
└── DecodeFailed         500: llama.cpp refused a pass

Invariant: a message is one line that says what, where and what to do; `status` and `kind` are what
an HTTP client sees.
"""


class EngineError(Exception):
    """Anything this package raises on purpose."""

    status = 500
    kind = "server_error"

    def __str__(self) -> str:
        """The message; half a surrogate pair that a request brought in is spelt out."""
        return super().__str__().encode("utf-8", "backslashreplace").decode()

    def body(self) -> dict[str, object]:
        """The error as llama-server writes it."""
        return {"error": {"code": self.status, "message": str(self), "type": self.kind}}


class InvalidRequest(EngineError):
    """The message starts with the name of the field that is wrong."""

    status = 400
    kind = "invalid_request_error"


class PromptTooLong(InvalidRequest):
    """The prompt leaves no room for an answer in a slot's context."""

    kind = "exceed_context_size_error"

    def __init__(
        self, prompt_tokens: int, ctx: int, *, field: str = "prompt", at_least: bool = False
    ) -> None:
        super().__init__(
            f"{field}: {'at least ' if at_least else ''}{prompt_tokens} tokens do not fit "
            f"into a context of {ctx}; shorten it to {ctx - 1} or start the engine with a larger --ctx"
        )
        self.prompt_tokens = prompt_tokens
        self.ctx = ctx

    def body(self) -> dict[str, object]:
        """llama-server's shape, with the two sizes."""
        sizes = {"n_prompt_tokens": self.prompt_tokens, "n_ctx": self.ctx}
        return {"error": {"code": self.status, "message": str(self), "type": self.kind, **sizes}}


class Unavailable(EngineError):
    """Nothing is wrong with the request: try again later."""

    status = 503
    kind = "unavailable_error"


class ModelError(EngineError):
    """The model cannot be loaded."""


class PullFailed(ModelError):
    """The default model could not be fetched, checked or converted."""


class DecodeFailed(EngineError):
    """llama.cpp refused a pass or a roll-back; the slots it concerned are emptied."""
