"""The routes that OpenAI's clients call.

Invariant: each completion is the engine's own, written in OpenAI's shapes; a stream ends with `[DONE]`.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence

from fastapi import APIRouter
from fastapi.responses import Response

from engine import chat_template
from engine.answer import Answer
from engine.openai_wire import ChatRequest, OpenAiRequest, TextRequest
from engine.ready import Engine
from engine.wire import CompletionChunk, CompletionResult, Message, TokenProbability

router = APIRouter()
STARTED = int(time.time())
FINISH = {"eos": "stop", "word": "stop", "limit": "length"}
Json = dict[str, object]


@router.get("/v1/models")
async def models(engine: Engine) -> Json:
    """The one model that is served."""
    model = engine.model
    meta = {"n_ctx": model.ctx, "n_vocab": model.vocabulary_size, "fingerprint": model.facts.fingerprint}
    entry = {
        "id": model.facts.alias,
        "object": "model",
        "created": STARTED,
        "owned_by": "redraft",
        "meta": meta,
    }
    return {"object": "list", "data": [entry]}


@router.post("/v1/chat/completions", response_model=None)
async def chat_completions(body: ChatRequest, engine: Engine) -> Response:
    """Answer a chat."""
    messages = [
        Message(role="system", content=it.content) if it.role == "developer" else it for it in body.messages
    ]
    prompt = chat_template.render(engine.model.facts, messages, body.chat_template_kwargs)
    job, outcomes = await engine.start(body.to_native(prompt))
    return Answer(job, outcomes, ChatFormat(body, engine.model.facts.alias, body.top_logprobs or 0))


@router.post("/v1/completions", response_model=None)
async def completions(body: TextRequest, engine: Engine) -> Response:
    """Go on with a text."""
    job, outcomes = await engine.start(body.to_native())
    return Answer(job, outcomes, TextFormat(body, engine.model.facts.alias, body.logprobs or 0))


class OpenAiFormat:
    """What the two shapes share. See `engine.answer.Format`."""

    prefix: str
    kind: str
    chunk_kind: str

    def __init__(self, request: OpenAiRequest, model: str, likely: int) -> None:
        self._head: Json = {
            "id": f"{self.prefix}-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": "redraft",
        }
        self._includes_usage = request.includes_usage
        self._likely = likely
        """How many of the likeliest tokens are told at each place."""
        self._text_length = 0

    def whole(self, result: CompletionResult) -> str:
        """See `Format`."""
        return json.dumps(
            {
                **self._head,
                "object": self.kind,
                "choices": [
                    {
                        "index": 0,
                        **self.said(result.content),
                        "logprobs": self._logprobs(result.completion_probabilities),
                        "finish_reason": FINISH[result.stop_type],
                    }
                ],
                "usage": usage(result),
            }
        )

    def events(self, outcome: CompletionChunk | CompletionResult) -> Sequence[str]:
        """See `Format`."""
        return list(self._events(outcome))

    def _events(self, outcome: CompletionChunk | CompletionResult) -> Iterator[str]:
        if outcome.content or outcome.completion_probabilities:
            logprobs = self._logprobs(outcome.completion_probabilities)
            yield self._chunk({**self.grown(outcome.content), "logprobs": logprobs, "finish_reason": None})
        if isinstance(outcome, CompletionResult):
            yield self._chunk(
                {**self.grown(""), "logprobs": None, "finish_reason": FINISH[outcome.stop_type]}
            )
            if self._includes_usage:
                head = {**self._head, "object": self.chunk_kind}
                yield json.dumps({**head, "choices": [], "usage": usage(outcome)})
            yield "[DONE]"

    def _chunk(self, choice: Json) -> str:
        chunk: Json = {**self._head, "object": self.chunk_kind, "choices": [{"index": 0, **choice}]}
        return json.dumps({**chunk, "usage": None} if self._includes_usage else chunk)

    def _logprobs(self, probabilities: Sequence[TokenProbability] | None) -> Json | None:
        return None if probabilities is None else self.likely(probabilities)

    def said(self, text: str) -> Json:
        """The whole text, as part of a choice."""
        raise NotImplementedError

    def grown(self, text: str) -> Json:
        """What comes next of the text, as part of a choice."""
        raise NotImplementedError

    def likely(self, probabilities: Sequence[TokenProbability]) -> Json:
        """`logprobs` of some tokens."""
        raise NotImplementedError


class ChatFormat(OpenAiFormat):
    """`chat.completion`."""

    prefix, kind, chunk_kind = "chatcmpl", "chat.completion", "chat.completion.chunk"
    _started = False

    def said(self, text: str) -> Json:
        """See `OpenAiFormat`."""
        return {"message": {"role": "assistant", "content": text, "refusal": None}}

    def grown(self, text: str) -> Json:
        """See `OpenAiFormat`. The first one says whose turn it is."""
        role = {} if self._started else {"role": "assistant"}
        self._started = True
        return {"delta": {**role, **({"content": text} if text or role else {})}}

    def likely(self, probabilities: Sequence[TokenProbability]) -> Json:
        """See `OpenAiFormat`."""
        content = [
            {
                **it.model_dump(include={"token", "bytes", "logprob"}),
                "top_logprobs": [
                    top.model_dump(include={"token", "bytes", "logprob"})
                    for top in it.top_logprobs[: self._likely]
                ],
            }
            for it in probabilities
        ]
        return {"content": content, "refusal": None}


class TextFormat(OpenAiFormat):
    """`text_completion`."""

    prefix, kind, chunk_kind = "cmpl", "text_completion", "text_completion"

    def said(self, text: str) -> Json:
        """See `OpenAiFormat`."""
        return {"text": text}

    def grown(self, text: str) -> Json:
        """See `OpenAiFormat`."""
        return {"text": text}

    def likely(self, probabilities: Sequence[TokenProbability]) -> Json:
        """See `OpenAiFormat`."""
        offsets = []
        for it in probabilities:
            offsets.append(self._text_length)
            self._text_length += len(it.token)
        return {
            "tokens": [it.token for it in probabilities],
            "token_logprobs": [it.logprob for it in probabilities],
            "top_logprobs": [
                {top.token: top.logprob for top in it.top_logprobs[: self._likely]} for it in probabilities
            ],
            "text_offset": offsets,
        }


def usage(result: CompletionResult) -> Mapping[str, object]:
    """Counts of tokens."""
    prompt, answer = result.tokens_evaluated, result.tokens_predicted
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": result.timings.cache_n},
    }
