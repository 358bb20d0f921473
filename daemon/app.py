"""The HTTP face of redraftd: routes that parse, call the service and answer.

Invariant: every refusal is JSON with an `error` code and a plain HTTP status.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from daemon.boundary import Boundary, refusal
from daemon.config import VERSION, Config
from daemon.engine_client import EngineClient
from daemon.errors import DaemonError, InvalidRequest
from daemon.event_stream import EventStream
from daemon.sections import checked_prefix, checked_session_id
from daemon.service import Service
from daemon.wire import (
    DeleteResponse,
    EditsRequest,
    Health,
    OpenRequest,
    OpenResponse,
    RefreshRequest,
    SectionState,
)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _session_id(session_id: str) -> str:
    return checked_session_id(session_id)


async def _prefix(prefix: str = "") -> str:
    return checked_prefix(prefix)


Sections = Annotated[Service, Depends(_service)]
SessionId = Annotated[str, Depends(_session_id)]
Prefix = Annotated[str, Depends(_prefix)]
SECTION = "/v1/sessions/{session_id:path}"
router = APIRouter()


def create_app(config: Config) -> FastAPI:
    """The daemon as an ASGI application; `app.state.service` is its Service."""
    engine = EngineClient(config.engine, config.engine_silence_s)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await engine.close()

    app = FastAPI(title="redraftd", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.config = config
    app.state.service = Service(config, engine)
    app.include_router(router)
    app.add_middleware(Boundary)
    app.add_exception_handler(DaemonError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    return app


@router.get("/healthz")
async def health(sections: Sections, response: Response) -> Health:
    """How daemon and engine are; 503 when the engine cannot be reached."""
    answer = await sections.health()
    response.status_code = 503 if answer.status == "down" else 200
    return answer


@router.post(SECTION + "/edits")
async def edit(session_id: SessionId, body: EditsRequest, sections: Sections) -> OpenResponse:
    """Apply edits without generating."""
    return await sections.edit(session_id, body)


@router.post(SECTION + "/refresh", response_model=None)
async def refresh(
    session_id: SessionId, body: RefreshRequest, sections: Sections, request: Request
) -> EventStream:
    """Regenerate the derived text, streamed."""
    return EventStream(sections.refresh(session_id, body), request.app.state.config.send_deadline_s)


@router.put(SECTION)
async def open_section(session_id: SessionId, body: OpenRequest, sections: Sections) -> OpenResponse:
    """Open or replace a section."""
    return await sections.open(session_id, body)


@router.get(SECTION)
async def state(session_id: SessionId, sections: Sections) -> SectionState:
    """The section as the next refresh would see it."""
    return sections.table.get(session_id).state()


@router.delete(SECTION)
async def delete(session_id: SessionId, sections: Sections) -> DeleteResponse:
    """Drop a section."""
    return await sections.delete([session_id])


@router.delete("/v1/sessions")
async def delete_under(prefix: Prefix, sections: Sections) -> DeleteResponse:
    """Drop every section of a tenant or of a document."""
    return await sections.delete(sections.table.under(prefix))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, DaemonError)
    return refusal(error)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"][1:])) or first["loc"][0]
    detail = " ".join(f"{where}: {first['msg']}".encode("utf-8", "backslashreplace").decode().split())
    return refusal(InvalidRequest("invalid_request", detail))


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.BAD_REQUEST:  # FastAPI's own, for a body that it cannot read at all
        return refusal(InvalidRequest("invalid_request", error.detail))
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return JSONResponse({"error": code, "detail": error.detail}, error.status_code, error.headers)
