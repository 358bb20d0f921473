"""The layer around the routes: who may ask, and what a browser may do with the answer.

Invariant: pure ASGI; a request that names another host than this machine (a foreign name that was made to
point here) or that another page sends gets no further; every answer forbids whatever is not our own.
"""

from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
READING = {"GET", "HEAD"}
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def is_ours(host: str) -> bool:
    """Whether a Host header names this machine; the port may be a tunnel's."""
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False


class Boundary:
    """Wraps an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if not scope["path"].startswith("/static/"):
                    added.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *added]
            await send(message)

        refusal = _refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)


def _refusal(scope: Scope) -> PlainTextResponse | None:
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if not is_ours(host):
        return PlainTextResponse("redraft view answers on 127.0.0.1 and localhost only\n", 421)
    if scope["method"] not in READING and origin is not None and origin != f"{scope['scheme']}://{host}":
        return PlainTextResponse("another page may not send this\n", 403)
    return None
