"""The HTTP face of redraftd: routes that parse, call the service and answer.

Invariant: every refusal is JSON with an `error` code and a plain HTTP status; a session id or a prefix
reaches the service only once the caller's scope covers its tenant, so a refusal for that says nothing
about what exists.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials
from starlette.exceptions import HTTPException

from daemon import openapi
from daemon.auth import ALL, EVERYBODY, Scope, read_tokens
from daemon.boundary import SCOPE, Boundary, refusal
from daemon.config import VERSION, Config
from daemon.engine_client import EngineClient
from daemon.errors import DaemonError, InvalidRequest
from daemon.event_stream import EventStream
from daemon.metrics import CONTENT_TYPE
from daemon.openapi import body, refusals, segment
from daemon.recorder import Recorder
from daemon.sections import checked_prefix, checked_session_id, tenant_of
from daemon.service import Service
from daemon.wire import (
    CanaryReport,
    DeleteResponse,
    EditsRequest,
    Health,
    OpenRequest,
    OpenResponse,
    RefreshRequest,
    SectionState,
)

_Token = Annotated[HTTPAuthorizationCredentials | None, Security(openapi.bearer)]  # checked at the boundary


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _scope(request: Request, _: _Token) -> Scope:
    scope: Scope = request.scope[SCOPE]
    return scope


Sections = Annotated[Service, Depends(_service)]
Allowed = Annotated[Scope, Depends(_scope)]


async def _session_id(
    tenant: Annotated[str, segment("Whose it is.", "acme")],
    document: Annotated[str, segment("The document.", "plan")],
    section: Annotated[str, segment("The section of it.", "summary")],
    allowed: Allowed,
) -> str:
    session_id = checked_session_id(f"{tenant}/{document}/{section}")
    allowed.require(tenant)
    return session_id


async def _prefix(
    allowed: Allowed, prefix: Annotated[str, Query(description="`tenant/` or `tenant/document/`.")] = ""
) -> str:
    checked_prefix(prefix)
    allowed.require(tenant_of(prefix))
    return prefix


SessionId = Annotated[str, Depends(_session_id)]
Prefix = Annotated[str, Depends(_prefix)]
SECTIONS = "/v1/sessions"
SECTION = SECTIONS + "/{tenant}/{document}/{section}"
router = APIRouter()


def create_app(
    config: Config, engine: EngineClient | None = None, recorder: Recorder | None = None
) -> FastAPI:
    """The daemon as an ASGI application; `app.state.service` is its Service. ValueError for a tokens file
    that is not right."""
    access = read_tokens(config.tokens_file) if config.tokens_file else EVERYBODY
    client = engine or EngineClient(config.engine, config.engine_silence_s)
    service = Service(config, client, recorder)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.drain()
        await client.close()

    app = FastAPI(title="redraftd", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.config = config
    app.state.service = service
    app.include_router(router)
    app.add_middleware(Boundary, access=access)
    app.add_exception_handler(DaemonError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.openapi = partial(openapi.document, app)  # type: ignore[method-assign]
    return app


@router.get("/healthz", responses={503: {"model": Health, "description": "The engine cannot be reached."}})
async def health(sections: Sections, response: Response) -> Health:
    """How daemon and engine are; 503 when the engine cannot be reached."""
    answer = await sections.health()
    response.status_code = 503 if answer.status == "down" else 200
    return answer


@router.get("/metrics", response_class=Response, responses=openapi.METRICS)
async def metrics(sections: Sections) -> Response:
    """Figures for Prometheus."""
    return Response(sections.metrics.render(), media_type=CONTENT_TYPE)


@router.put("/v1/canaries", status_code=204, responses=refusals(401, 403, 413, 422))
async def canaries(
    report: Annotated[CanaryReport, body(openapi.CANARIES)], sections: Sections, allowed: Allowed
) -> None:
    """Show how a canary check came out in the metrics; needs a token for all tenants."""
    allowed.require(ALL)
    sections.metrics.canaries(report)


@router.post(SECTION + "/edits", responses=refusals(400, 401, 403, 404, 409, 413, 422, 503))
async def edit(
    session_id: SessionId, request: Annotated[EditsRequest, body(openapi.EDITING)], sections: Sections
) -> OpenResponse:
    """Apply edits without generating."""
    return await sections.edit(session_id, request)


@router.post(
    SECTION + "/refresh",
    status_code=200,
    response_class=EventStream,
    responses={**openapi.EVENTS, **refusals(400, 401, 403, 404, 409, 413, 422, 429, 503)},
)
async def refresh(
    session_id: SessionId,
    request: Annotated[RefreshRequest, body(openapi.REFRESHING)],
    sections: Sections,
    connection: Request,
) -> EventStream:
    """Regenerate the derived text, streamed."""
    running = await sections.refresh(session_id, request)
    return EventStream(running, connection.app.state.config.send_deadline_s)


@router.put(SECTION, responses=refusals(400, 401, 403, 413, 422, 503))
async def open_section(
    session_id: SessionId, request: Annotated[OpenRequest, body(openapi.OPENING)], sections: Sections
) -> OpenResponse:
    """Open or replace a section."""
    return await sections.open(session_id, request)


@router.get(SECTION, responses=refusals(400, 401, 403, 404))
async def state(session_id: SessionId, sections: Sections) -> SectionState:
    """The section as the next refresh would see it."""
    return sections.table.get(session_id).state()


@router.delete(SECTION, responses=refusals(400, 401, 403, 503))
async def delete(session_id: SessionId, sections: Sections) -> DeleteResponse:
    """Drop a section."""
    return await sections.delete(session_id)


@router.delete(SECTIONS, responses=refusals(400, 401, 403, 503))
async def delete_under(prefix: Prefix, sections: Sections) -> DeleteResponse:
    """Drop every section of a tenant or of a document."""
    return await sections.delete_under(prefix)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, DaemonError)
    return refusal(error)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"][1:])) or first["loc"][0]
    detail = " ".join(f"{where}: {first['msg']}".encode("utf-8", "backslashreplace").decode().split())
    return refusal(InvalidRequest("invalid_request", detail))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.BAD_REQUEST:  # FastAPI's own, for a body that it cannot read at all
        return refusal(InvalidRequest("invalid_request", error.detail))
    if error.status_code == HTTPStatus.NOT_FOUND and request.url.path.startswith(SECTIONS):
        return refusal(InvalidRequest("bad_session_id", "a section is tenant/document/section"))
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return JSONResponse({"error": code, "detail": error.detail}, error.status_code, error.headers)
