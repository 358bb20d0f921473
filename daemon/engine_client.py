"""The engine over HTTP, ours or a patched llama-server.

Invariant: what the engine refuses comes out as TooLarge or InvalidRequest, which no retry helps, and
whatever else goes wrong between here and the engine as Unavailable, each with one line; nothing
about the engine is remembered, so one that was restarted is simply used again.
"""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from daemon.errors import DaemonError, InvalidRequest, TooLarge, Unavailable
from daemon.exchange import Exchange
from daemon.wire import SseDecoder
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult

CONNECT_S = 5.0
RETRY_LATER = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
KEEPALIVE_S = 2.0
"""Shorter than engines keep an idle connection (llama-server: 5 s), else a request meets one just closed."""


class _Generation(BaseModel):
    n_ctx: int


class Props(BaseModel):
    """The engine's `/props`; `redraft` is missing where it cannot replay a stale answer."""

    default_generation_settings: _Generation
    total_slots: int
    model_path: str
    model_alias: str = ""
    redraft: dict[str, object] | None = None

    @property
    def context(self) -> int:
        """Tokens that fit into one slot."""
        return self.default_generation_settings.n_ctx

    @property
    def model_name(self) -> str:
        """What to call the model: its alias, or its file's name."""
        return self.model_alias or self.model_path.rsplit("/", 1)[-1]

    @property
    def fingerprint(self) -> str:
        """What tells the model from others: its fingerprint, or its name where the engine has none."""
        return str((self.redraft or {}).get("model_fingerprint", self.model_name))


@dataclass(frozen=True)
class Draft:
    """A text as token ids, and each token's bytes."""

    tokens: list[int]
    pieces: list[bytes]


class _Error(BaseModel):
    message: str
    type: str = ""


class _Refusal(BaseModel):
    """What the engine's 4xx and 5xx answers hold."""

    error: _Error


class EngineClient:
    """Calls one engine. `silence_s`: how long it may say nothing before it counts as lost."""

    def __init__(self, url: str, silence_s: float) -> None:
        self._url = url
        self._http = httpx.AsyncClient(
            base_url=url,
            timeout=httpx.Timeout(silence_s, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE_S),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def props(self) -> Props:
        """The engine's facts."""
        with self._failures():
            return Props.model_validate(await self._call("GET", "/props"))

    async def prompt_tokens(self, message: str) -> list[int]:
        """One user message as a prompt: through the model's chat template, then as token ids.

        Our engine takes both steps in one call.
        """
        with self._failures():
            asked = {"messages": [{"role": "user", "content": message}], "redraft_tokens": True}
            rendered = await self._call("POST", "/apply-template", json=asked)
            if "tokens" in rendered:
                at_once: list[int] = rendered["tokens"]
                return at_once
            body = {"content": rendered["prompt"], "add_special": True, "parse_special": True}
            tokens: list[int] = (await self._call("POST", "/tokenize", json=body))["tokens"]
            return tokens

    async def draft(self, text: str) -> Draft:
        """A text as tokens; what looks like a special token in it is only text."""
        if not text:
            return Draft([], [])
        with self._failures():
            body = {"content": text, "add_special": False, "parse_special": False, "with_pieces": True}
            tokens = (await self._call("POST", "/tokenize", json=body))["tokens"]
            pieces = [
                piece.encode() if isinstance(piece := token["piece"], str) else bytes(piece)
                for token in tokens
            ]
            return Draft([token["id"] for token in tokens], pieces)

    async def complete(
        self, request: CompletionRequest
    ) -> AsyncGenerator[CompletionChunk | CompletionResult]:
        """Stream a completion; the last item, and only the last, is a CompletionResult."""
        decoder, item = SseDecoder(), None
        with self._failures():
            body = request.model_dump(exclude_unset=True)
            async with Exchange(self._http, "POST", "/completion", json=body) as answer:
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    raise self._refusal("/completion", answer.status, await answer.body())
                async for block in answer:
                    for _, data in decoder.feed(block):
                        item = _stream_item(data)
                        yield item
        if not isinstance(item, CompletionResult):
            raise Unavailable(f"{self._url} ended its stream early")

    async def erase(self, slot: int) -> None:
        """Drop what a slot has in its cache."""
        with self._failures():
            await self._call("POST", f"/slots/{slot}", params={"action": "erase"})

    async def _call(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        async with Exchange(self._http, method, path, **arguments) as answer:
            body = await answer.body()
            if answer.status >= HTTPStatus.BAD_REQUEST:
                raise self._refusal(path, answer.status, body)
        fields: dict[str, Any] = json.loads(body)
        return fields

    def _refusal(self, path: str, status: int, body: bytes) -> DaemonError:
        try:
            error = _Refusal.model_validate_json(body).error
        except ValidationError:  # a page of whatever stands between here and the engine
            error = _Error(message=body.decode(errors="replace"))
        url, said = self._url.rstrip("/") + path, " ".join(error.message.split())[:200]
        line = f"{url} answered {status}: {said}"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in RETRY_LATER:
            return Unavailable(line)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or error.type == "exceed_context_size_error":
            return TooLarge(line)
        return InvalidRequest("invalid_request", line)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except DaemonError:
            raise
        except Exception as error:
            line = " ".join(f"{type(error).__name__} {error}".split())
            answered = isinstance(error, KeyError | TypeError | ValueError)
            what = " answered what no engine answers" if answered else ""
            raise Unavailable(f"{self._url}{what}: {line}") from error


def _stream_item(data: str) -> CompletionChunk | CompletionResult:
    fields = json.loads(data)
    if "error" in fields:
        error = fields["error"]
        raise Unavailable(f"the engine failed: {error.get('message') if isinstance(error, dict) else error}")
    return (CompletionResult if fields["stop"] else CompletionChunk).model_validate(fields)
