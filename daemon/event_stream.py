"""One refresh as an HTTP response of server-sent events.

Invariant: pure ASGI, so that a client that goes away is noticed in every phase and cancels its refresh;
a reader that takes nothing for the deadline is dropped.
"""

import asyncio
import logging

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from daemon.running import Running
from daemon.wire import encode_event

log = logging.getLogger(__name__)
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream(Response):
    """Sends the events of a running refresh; a refusal is raised before the response starts."""

    media_type = "text/event-stream"

    def __init__(self, running: Running, send_deadline_s: float) -> None:
        super().__init__()
        self._running = running
        self._send_deadline_s = send_deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events as they come, as long as somebody reads them."""
        watch = asyncio.create_task(self._cancel_when_gone(receive))
        head: list[Message] = [{"type": "http.response.start", "status": 200, "headers": HEADERS}]
        try:
            async for event in self._running:
                await self._send(send, *head, _body(encode_event(event), more=True))
                head = []
            await self._send(send, _body(b"", more=False))
        except _StalledReader:
            log.warning("dropped a reader that took nothing for %g s", self._send_deadline_s)
        finally:
            watch.cancel()
            self._running.cancel()

    async def _send(self, send: Send, *messages: Message) -> None:
        try:
            async with asyncio.timeout(self._send_deadline_s):
                for message in messages:
                    await send(message)
                await asyncio.sleep(0)  # sending need not wait, and whoever hangs up must be heard
        except TimeoutError:
            raise _StalledReader from None

    async def _cancel_when_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._running.cancel()


class _StalledReader(Exception):
    pass


def _body(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
