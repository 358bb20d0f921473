"""The Python client of redraftd.

Invariant: every answer comes back typed; what the daemon refuses is raised as DaemonError with the
code, detail and fields that it sent.
"""

from collections.abc import AsyncIterator
from typing import Any, Self
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from daemon.errors import DaemonError
from daemon.wire import (
    CancelledEvent,
    DeleteResponse,
    DoneEvent,
    EditsRequest,
    ErrorEvent,
    Health,
    OpenRequest,
    OpenResponse,
    RefreshEvent,
    RefreshRequest,
    SectionState,
    SseDecoder,
    parse_event,
)


class Client:
    """Talks to one daemon. Use as an async context manager; `session_id` is `tenant/document/section`.

    Raises DaemonError for refusals and httpx.HTTPError where the daemon cannot be reached.
    """

    def __init__(self, url: str, *, silence_s: float = 120.0) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(silence_s, connect=5.0))

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._http.__aexit__(*exception)

    async def health(self) -> Health:
        """How daemon and engine are; an answer also when they are down."""
        return Health.model_validate_json((await self._http.get("/healthz")).content)

    async def open(self, session_id: str, request: OpenRequest) -> OpenResponse:
        """Open or replace a section."""
        return OpenResponse.model_validate_json(await self._call("PUT", _path(session_id), request))

    async def state(self, session_id: str) -> SectionState:
        """The section as the next refresh would see it."""
        return SectionState.model_validate_json(await self._call("GET", _path(session_id)))

    async def edit(self, session_id: str, request: EditsRequest) -> OpenResponse:
        """Change a section without generating."""
        return OpenResponse.model_validate_json(
            await self._call("POST", _path(session_id) + "/edits", request)
        )

    async def delete(self, session_id: str) -> DeleteResponse:
        """Drop a section."""
        return DeleteResponse.model_validate_json(await self._call("DELETE", _path(session_id)))

    async def delete_under(self, prefix: str) -> DeleteResponse:
        """Drop every section under `tenant/` or `tenant/document/`."""
        return DeleteResponse.model_validate_json(
            await self._call("DELETE", f"/v1/sessions?prefix={quote(prefix)}")
        )

    async def refresh(self, session_id: str, request: RefreshRequest) -> AsyncIterator[RefreshEvent]:
        """Events up to the terminal one; closing the iterator early cancels the refresh.

        `cancelled` is the only event of a refresh that was superseded before it got a slot.
        """
        decoder, event = SseDecoder(), None
        async with self._http.stream("POST", _path(session_id) + "/refresh", **_body(request)) as response:
            await _check(response)
            async for chunk in response.aiter_bytes():
                for name, data in decoder.feed(chunk):
                    event = parse_event(name, data)
                    yield event
        if not isinstance(event, DoneEvent | CancelledEvent | ErrorEvent):
            raise httpx.RemoteProtocolError("the refresh ended without a terminal event")

    async def _call(self, method: str, path: str, request: BaseModel | None = None) -> bytes:
        response = await self._http.request(method, path, **_body(request) if request else {})
        await _check(response)
        return response.content


class _Refusal(BaseModel):
    model_config = ConfigDict(extra="allow")
    error: str
    detail: str = ""


def _path(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id)}"


def _body(request: BaseModel) -> dict[str, Any]:
    return {"content": request.model_dump_json(), "headers": {"content-type": "application/json"}}


async def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    try:
        refusal = _Refusal.model_validate_json(await response.aread())
    except ValidationError:  # not the daemon that answered
        response.raise_for_status()
        raise
    fields = refusal.model_extra or {}
    raise DaemonError(response.status_code, refusal.error, refusal.detail, **fields)
