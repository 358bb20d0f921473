"""Request bodies of the OpenAI-compatible routes, and what they ask of the engine.

Invariant: what a client sends is honoured or refused by its field's name; only fields that OpenAI's API does
not have are ignored. Defaults are OpenAI's: `temperature` 1 and no truncation of the distribution.
"""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from engine.wire import CompletionRequest, Message, Text, TokenIds, Wire

NOT_SERVED = (
    "tools",
    "functions",
    "logit_bias",
    "audio",
    "prediction",
    "suffix",
    "echo",
    "web_search_options",
)
"""Refused unless empty: an answer that left them aside would not be the one asked for."""


class StreamOptions(Wire):
    """`stream_options`."""

    include_usage: bool = False


class SchemaOfResponse(Wire):
    """`response_format.json_schema`."""

    schema_: dict[str, object] = Field(alias="schema")


class ResponseFormat(Wire):
    """`response_format`; beside "json_object" llama-server takes a `schema` too."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: SchemaOfResponse | None = None
    schema_: dict[str, object] | None = Field(default=None, alias="schema")

    @model_validator(mode="after")
    def _has_its_schema(self) -> "ResponseFormat":
        if self.type == "json_schema" and self.json_schema is None:
            raise ValueError("json_schema is missing")
        return self

    @property
    def schema_asked_for(self) -> dict[str, object] | None:
        """What the answer has to fit."""
        if self.type == "json_schema" and self.json_schema:
            return self.json_schema.schema_
        return (self.schema_ or {"type": "object"}) if self.type == "json_object" else None


class OpenAiRequest(Wire):
    """What the two completion routes share; llama-server's own sampling fields may be sent too."""

    model: Text | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    seed: int | None = None
    n: int | None = None
    best_of: int | None = None
    stop: Text | Annotated[list[Text], Field(max_length=64, fail_fast=True)] | None = None
    max_tokens: int | None = Field(default=None, ge=-1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    top_k: int = Field(default=0, ge=-1, lt=2**31)
    min_p: float = Field(default=0.0, ge=0, le=1)
    repeat_penalty: float = Field(default=1.0, ge=0.01, le=100)
    grammar: Text = ""
    cache_prompt: bool = True
    id_slot: int = Field(default=-1, ge=-1)

    @model_validator(mode="before")
    @classmethod
    def _asks_for_nothing_else(cls, body: object) -> object:
        if isinstance(body, dict):
            for name in NOT_SERVED:
                if body.get(name):
                    raise ValueError(f"{name} is not supported")
        return body

    @field_validator("n", "best_of")
    @classmethod
    def _one(cls, count: int | None) -> int | None:
        if count not in (None, 1):
            raise ValueError("only one answer is generated; send 1 or leave it out")
        return count

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with the counts of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def native(self, prompt: str | list[int], **more: object) -> CompletionRequest:
        """The same request to the engine."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        body = self.model_dump(
            include={"top_k", "min_p", "repeat_penalty", "grammar", "cache_prompt", "id_slot"}
        )
        return CompletionRequest.model_validate(
            {
                **body,
                "prompt": prompt,
                "temperature": 1.0 if self.temperature is None else self.temperature,
                "top_p": 1.0 if self.top_p is None else self.top_p,
                "presence_penalty": self.presence_penalty or 0.0,
                "frequency_penalty": self.frequency_penalty or 0.0,
                "repeat_last_n": -1 if self.presence_penalty or self.frequency_penalty else 64,
                "seed": -1 if self.seed is None else abs(self.seed),
                "stop": stops,
                "stream": bool(self.stream),
                **more,
            }
        )


class ChatRequest(OpenAiRequest):
    """Body of `POST /v1/chat/completions`."""

    messages: list[Message] = Field(min_length=1, fail_fast=True)
    max_completion_tokens: int | None = Field(default=None, ge=-1)
    response_format: ResponseFormat | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    chat_template_kwargs: dict[str, object] = Field(default_factory=dict)

    def to_native(self, prompt: str) -> CompletionRequest:
        """The same request to the engine, by the prompt that the messages make."""
        limits = [it for it in (self.max_completion_tokens, self.max_tokens) if it is not None]
        return self.native(
            prompt,
            n_predict=limits[0] if limits else -1,
            json_schema=self.response_format.schema_asked_for if self.response_format else None,
            n_probs=max(1, self.top_logprobs or 0) if self.logprobs else 0,
        )


class TextRequest(OpenAiRequest):
    """Body of `POST /v1/completions`."""

    prompt: Text | TokenIds | Annotated[list[Text], Field(min_length=1, max_length=1)]
    logprobs: int | None = Field(default=None, ge=0, le=5)

    def to_native(self) -> CompletionRequest:
        """The same request to the engine."""
        first = self.prompt[0] if isinstance(self.prompt, list) and self.prompt else self.prompt
        prompt = first if isinstance(first, str) else self.prompt
        n_predict = 16 if self.max_tokens is None else self.max_tokens
        n_probs = 0 if self.logprobs is None else max(1, self.logprobs)
        return self.native(prompt, n_predict=n_predict, n_probs=n_probs)  # type: ignore[arg-type]
