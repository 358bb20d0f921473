"""The layer around the routes.

Invariant: pure ASGI, so a client that goes away is still noticed; but for the open routes nobody gets
through without an access token, whose scope the routes find at SCOPE; only whole bodies within the limit
do, and no exception gets out: it is answered in JSON and logged without its message. A request that the
server ends, since it stops and has waited long enough, is answered too.
"""

import asyncio
import logging
import time

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daemon.auth import Access
from daemon.errors import STOPPING, Busy, DaemonError, InvalidRequest, TooLarge, Unavailable, trace
from daemon.logs import event

BODY_LIMIT_BYTES = 32 * 2**20
OPEN_PATHS = {"/healthz", "/metrics"}
SCOPE = "redraft.scope"
log = logging.getLogger(__name__)


def refusal(error: DaemonError) -> JSONResponse:
    """The answer that says so."""
    headers = {"retry-after": str(error.retry_after_s)} if isinstance(error, Busy) else {}
    if error.code == "unauthorized":
        headers["www-authenticate"] = "Bearer"
    content = {"error": error.code, "detail": error.detail, **error.fields}
    return JSONResponse(content, error.status, headers)


class Boundary:
    """Wraps an application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; of another kind, only lifespan, whose failure stops the start, comes by."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        since, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._serve(scope, receive, watched)
        except asyncio.CancelledError:
            if not status:
                await refusal(Unavailable(STOPPING))(scope, receive, watched)
        except Exception as error:
            log.error("%s failed: %s", scope["method"], trace(error))
            if not status:  # else the server cuts the answer short
                internal = {"error": "internal_error", "detail": "redraftd failed: its log says where"}
                await JSONResponse(internal, 500)(scope, receive, watched)
        wall_ms = round((time.perf_counter() - since) * 1000, 1)
        event(log, "request", method=scope["method"], path=scope["path"], status=status, wall_ms=wall_ms)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] not in OPEN_PATHS:
                scope[SCOPE] = self._access.scope(dict(scope["headers"]).get(b"authorization"))
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
