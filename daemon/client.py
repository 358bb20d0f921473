"""The Python client of redraftd.

Invariant: every answer comes back typed; what the daemon refuses is raised as DaemonError with the
code, detail and fields that it sent. A KeptSection knows what the daemon knows of its section, so it can
open it again, just as it was, in a daemon that has been restarted.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from daemon.errors import DaemonError
from daemon.sections import Section
from daemon.wire import (
    CanaryReport,
    CancelledEvent,
    DeleteResponse,
    DeltaEvent,
    DoneEvent,
    Edit,
    EditsRequest,
    ErrorEvent,
    Health,
    OpenRequest,
    OpenResponse,
    RefreshEvent,
    RefreshRequest,
    Refusal,
    SectionState,
    SseDecoder,
    parse_event,
)

T = TypeVar("T")


class Client:
    """Talks to one daemon. Use as an async context manager; `session_id` is `tenant/document/section`.

    A daemon that is busy is asked again when it says, up to `retries` times. Raises DaemonError for
    refusals and httpx.HTTPError where the daemon cannot be reached.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retries: int = 5,
        silence_s: float = 120.0,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._retries = retries
        self._pause = pause
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        timeout = httpx.Timeout(silence_s, connect=5.0)
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout)

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

    async def keep(self, session_id: str, request: OpenRequest) -> "KeptSection":
        """Open or replace a section, to be worked on through what comes back."""
        opened = await self.open(session_id, request)
        return KeptSection(self, replace(Section.opened(session_id, request), revision=opened.revision))

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

    async def report_canaries(self, report: CanaryReport) -> None:
        """Show in the daemon's metrics how a canary check came out; needs a token for all tenants."""
        await self._call("PUT", "/v1/canaries", report)

    async def refresh(self, session_id: str, request: RefreshRequest) -> AsyncIterator[RefreshEvent]:
        """Events up to the terminal one; closing the iterator early cancels the refresh.

        `cancelled` is the only event of a refresh that was superseded before it got a slot.
        """
        decoder, event = SseDecoder(), None
        async with self._answer("POST", _path(session_id) + "/refresh", request) as response:
            async for chunk in response.aiter_bytes():
                for name, data in decoder.feed(chunk):
                    event = parse_event(name, data)
                    yield event
        if not isinstance(event, DoneEvent | CancelledEvent | ErrorEvent):
            raise httpx.RemoteProtocolError("the refresh ended without a terminal event")

    async def _call(self, method: str, path: str, request: BaseModel | None = None) -> bytes:
        async with self._answer(method, path, request) as response:
            return await response.aread()

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, request: BaseModel | None
    ) -> AsyncIterator[httpx.Response]:
        """The answer that is not `busy`, or the last."""
        body = request.model_dump_json() if request else None
        headers = {"content-type": "application/json"} if request else {}
        for left in reversed(range(self._retries + 1)):
            async with self._http.stream(method, path, content=body, headers=headers) as response:
                if response.status_code != HTTPStatus.TOO_MANY_REQUESTS or not left:
                    await _check(response)
                    yield response
                    return
                wait_s = response.headers.get("retry-after", "")
            await self._pause(float(wait_s) if wait_s.isascii() and wait_s.isdigit() else 1.0)


class KeptSection:
    """A section that is changed through this object alone: a change by another is a stale revision.

    A daemon that has forgotten it gets it again, with the edits that were not yet refreshed.
    """

    def __init__(self, client: Client, section: Section) -> None:
        self._client = client
        self.section = section
        """What the daemon has."""

    async def edit(self, request: EditsRequest) -> OpenResponse:
        """Change the section without generating."""
        try:
            return await self._edit(request)
        except DaemonError as error:
            await self._open_again(error)
            return await self._edit(request)

    async def refresh(self, request: RefreshRequest) -> AsyncIterator[RefreshEvent]:
        """Regenerate the derived text; its events."""
        try:
            async for event in self._refresh(request):
                yield event
        except DaemonError as error:
            await self._open_again(error)
            async for event in self._refresh(request):
                yield event

    async def _edit(self, request: EditsRequest) -> OpenResponse:
        section = self.section
        request = request.model_copy(update={"base_revision": section.revision})
        answer = await self._client.edit(section.session_id, request)
        self.section = section.changed(request)
        return answer

    async def _refresh(self, request: RefreshRequest) -> AsyncIterator[RefreshEvent]:
        section, texts = self.section, []
        request = request.model_copy(update={"base_revision": section.revision})
        async for event in self._client.refresh(section.session_id, request):
            if isinstance(event, DeltaEvent):
                texts.append(event.text)
            elif isinstance(event, DoneEvent):
                self.section = section.changed(request).refreshed("".join(texts))
            yield event

    async def _open_again(self, error: DaemonError) -> None:
        """As it was when its text was written, then what was edited since; raises any other error."""
        if error.code != "unknown_session":
            raise error
        section = self.section
        opening = OpenRequest(
            instruction=section.instruction,
            sources=list(section.written_from),
            derived=section.written,
            pinned=list(section.pinned),
            max_tokens=section.max_tokens,
        )
        edits = [
            _whole(old.text, new.text, target="source", source=old.name)
            for old, new in zip(section.written_from, section.sources, strict=True)
            if old != new
        ]
        if section.edited:
            edits.append(_whole(section.written or "", section.derived or "", target="derived"))
        kept = await self._client.keep(section.session_id, opening)
        if edits:
            await kept._edit(EditsRequest(edits=edits))
        self.section = kept.section


def _whole(old: str, new: str, **target: Any) -> Edit:
    return Edit(start=0, end=old.count("\n") + 1, lines=new.split("\n"), **target)


def _path(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id)}"


async def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    try:
        refusal = Refusal.model_validate_json(await response.aread())
    except ValidationError:  # not the daemon that answered
        response.raise_for_status()
        raise
    fields = refusal.model_extra or {}
    raise DaemonError(response.status_code, refusal.error, refusal.detail, **fields)
