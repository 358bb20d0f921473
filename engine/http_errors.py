"""Errors as llama-server writes them, and the limit on a body's size.

Invariant: whatever goes wrong, the answer is JSON with `error.code`, `error.message` and `error.type`.
"""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import EngineError, InvalidRequest

MAX_BODY_BYTES = 32 * 2**20
NOT_READABLE = "body: cannot be read as JSON in UTF-8; or it nests too deeply, or a number is too long"
KINDS = {404: "not_found_error", 501: "not_supported_error", 503: "unavailable_error"}


def install(app: FastAPI) -> None:
    """Make an application answer so."""
    app.add_middleware(BodyLimit)
    app.add_exception_handler(EngineError, _engine_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _server_error)


class BodyLimit:
    """Middleware: reading more than MAX_BODY_BYTES of a request's body is a 413."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        size = 0

        async def receive_limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY_BYTES:
                raise HTTPException(413, f"body: above {MAX_BODY_BYTES} bytes; send a smaller one")
            return message

        await self._app(scope, receive_limited, send)


async def _engine_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, EngineError)
    return JSONResponse(error.body(), error.status)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [it for it in error.errors() if it["type"] != "default_factory_not_called"]
    lines = [f"{_field(it['loc'])}: {it['msg'].removeprefix('Value error, ')}" for it in problems[:3]]
    if problems[0]["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        lines = ["body: is not said to be JSON; send the header content-type: application/json"]
    invalid = InvalidRequest("; ".join(lines))
    return JSONResponse(invalid.body(), invalid.status)


def _field(location: tuple[str | int, ...]) -> str:
    """`redraft_stabilize.old_output[3]`, without the names that pydantic gives to a union's members."""
    names = [part for part in location[1:] if isinstance(part, int) or not (part == "str" or "[" in part)]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in names)
    return str(location[0]) if path.startswith("[") or not path else path.removeprefix(".")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = KINDS.get(error.status_code, "invalid_request_error")
    message = NOT_READABLE if error.status_code == 400 else error.detail
    return JSONResponse(
        {"error": {"code": error.status_code, "message": message, "type": kind}}, error.status_code
    )


async def _server_error(_: Request, error: Exception) -> Response:
    return JSONResponse(EngineError(f"internal error: {type(error).__name__}").body(), 500)
