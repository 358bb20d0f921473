"""A completion on its way to the client: one JSON body, or server-sent events.

Invariant: a client that goes away cancels its job, wherever its answer is. A reader that stalls holds no
slot: outcomes wait in a queue that the answer's own limit bounds.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Protocol

from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from engine.errors import EngineError
from engine.generation import Job, Outcome
from engine.wire import CompletionChunk, CompletionResult


class Format(Protocol):
    """How one API writes a completion."""

    def whole(self, result: CompletionResult) -> str:
        """The JSON body."""

    def events(self, outcome: CompletionChunk | CompletionResult) -> Sequence[str]:
        """The `data:` of the events that an outcome becomes."""


class NativeFormat:
    """llama-server's own API."""

    def whole(self, result: CompletionResult) -> str:
        """See `Format`."""
        return result.model_dump_json(exclude_none=True)

    def events(self, outcome: CompletionChunk | CompletionResult) -> Sequence[str]:
        """See `Format`."""
        return [outcome.model_dump_json(exclude_none=True)]


class Answer(Response):
    """A job's outcomes."""

    def __init__(self, job: Job, outcomes: "asyncio.Queue[Outcome | None]", form: Format) -> None:
        self._job = job
        self._outcomes = outcomes
        self._format = form
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them; however this ends, the job ends too."""
        watch = asyncio.create_task(self._watch(receive))
        try:
            if self._job.request.stream:
                await self._stream(send)
            else:
                await self._send_whole(scope, receive, send)
        finally:
            self._job.cancelled.set()
            watch.cancel()

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._job.cancelled.set()
        self._outcomes.put_nowait(None)

    async def _send_whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        outcome = await self._outcomes.get()
        if isinstance(outcome, EngineError):
            await JSONResponse(outcome.body(), outcome.status)(scope, receive, send)
        elif isinstance(outcome, CompletionResult):
            body = self._format.whole(outcome)
            await Response(body, media_type="application/json")(scope, receive, send)

    async def _stream(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        last = False
        while not last:
            outcome = await self._outcomes.get()
            if outcome is None:
                return
            last = not isinstance(outcome, CompletionChunk)
            lines = self._lines(outcome)
            body = "".join(f"data: {line}\n\n" for line in lines).encode()
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _lines(self, outcome: Outcome) -> Sequence[str]:
        if isinstance(outcome, EngineError):
            return [json.dumps(outcome.body())]
        return self._format.events(outcome)
