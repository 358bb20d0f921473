"""The layer around the routes.

Invariant: pure ASGI, so a client that goes away is still noticed; only whole bodies within the limit get
through, and no exception gets out: it is answered in JSON and logged without its message.
"""

import logging

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daemon.errors import Busy, DaemonError, InvalidRequest, TooLarge, trace

BODY_LIMIT_BYTES = 32 * 2**20
log = logging.getLogger(__name__)


def refusal(error: DaemonError) -> JSONResponse:
    """The answer that says so."""
    headers = {"retry-after": str(error.retry_after_s)} if isinstance(error, Busy) else None
    content = {"error": error.code, "detail": error.detail, **error.fields}
    return JSONResponse(content, error.status, headers)


class Boundary:
    """Wraps an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; of another kind, only lifespan, whose failure stops the start, comes by."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._serve(scope, receive, watched)
        except Exception as error:
            log.error("%s failed: %s", scope["method"], trace(error))
            if not started:  # else the server cuts the answer short
                internal = {"error": "internal_error", "detail": "redraftd failed: its log says where"}
                await JSONResponse(internal, 500)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if "\n" in scope["path"]:  # the routes' patterns overlook one at the end
                raise InvalidRequest("bad_session_id", "a path has no line break")
            body = await _whole_body(receive)
        except DaemonError as error:
            await refusal(error)(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replay(body, receive), send)


async def _whole_body(receive: Receive) -> bytes | None:
    """None when the client went away. What is over the limit is read all the same, and dropped: a server
    that closes the connection upon it loses its answer."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        if len(body) <= BODY_LIMIT_BYTES:
            body += message.get("body", b"")
        more = message.get("more_body", False)
    if len(body) > BODY_LIMIT_BYTES:
        detail = f"the body is over {BODY_LIMIT_BYTES} bytes: shorten its texts"
        raise TooLarge(detail, limit=BODY_LIMIT_BYTES)
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body as one message, then what the server says."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed
