"""Named events as a response of server-sent events.

Invariant: pure ASGI, so that a reader that goes away is noticed in every phase; whatever ends the response
(the last event, a reader that has gone, one that takes nothing, the server's stop) closes the events' source
before it returns.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

SEND_S = 30.0
Event = tuple[str, Mapping[str, object]]


def encoded(event: Event) -> bytes:
    """One SSE block; JSON escapes CR and LF, so the data is one line."""
    name, data = event
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


class EventStream(Response):
    """Sends events as they come, as long as somebody reads them and nobody calls `stop`."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[Event, None], open_streams: "set[EventStream]") -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._events = events
        self._open_streams = open_streams
        self._sending: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """End the response."""
        if self._sending:
            self._sending.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the one request."""
        self._sending = asyncio.create_task(self._send_all(send))
        gone = asyncio.create_task(_gone(receive))
        self._open_streams.add(self)
        try:
            await asyncio.wait({self._sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open_streams.discard(self)
            gone.cancel()
            self._sending.cancel()
            await asyncio.gather(gone, self._sending, return_exceptions=True)
        if not self._sending.cancelled():
            self._sending.result()

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for event in events:
                async with asyncio.timeout(SEND_S):
                    await send({"type": "http.response.body", "body": encoded(event), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
