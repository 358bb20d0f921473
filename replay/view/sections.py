"""The daemon as a race sees it: open a section, stream a refresh, drop the section.

Invariant: whatever the daemon does comes out as a ServiceError of one line; a refresh that is left early is
closed, which frees its slot.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import httpx
from pydantic import BaseModel, ValidationError

from daemon.wire import (
    CancelledEvent,
    DoneEvent,
    ErrorEvent,
    Health,
    OpenRequest,
    RefreshEvent,
    RefreshRequest,
    Refusal,
    SseDecoder,
    parse_event,
)
from replay.client import CONNECT_S, SILENCE_S, explained
from replay.errors import ServiceError


class Sections:
    """A connection to one daemon; an async context."""

    def __init__(self, url: str, token: str = "", transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(SILENCE_S, connect=CONNECT_S),
            trust_env=False,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def health(self) -> Health:
        """The daemon's health; raises ServiceError where it is down."""
        async with self._answer("GET", "/healthz", None) as answer:
            return Health.model_validate_json(await answer.aread())

    async def open(self, section: str, body: OpenRequest) -> None:
        """Open or replace a section."""
        async with self._answer("PUT", f"/v1/sessions/{section}", body) as answer:
            await answer.aread()

    async def delete(self, section: str) -> None:
        """Drop a section."""
        async with self._answer("DELETE", f"/v1/sessions/{section}", None) as answer:
            await answer.aread()

    async def refresh(self, section: str, body: RefreshRequest) -> AsyncGenerator[RefreshEvent, None]:
        """The events of a refresh up to `done`; closing the iterator ends the refresh."""
        decoder = SseDecoder()
        async with self._answer("POST", f"/v1/sessions/{section}/refresh", body) as answer:
            async for chunk in answer.aiter_bytes():
                for name, data in decoder.feed(chunk):
                    event = parse_event(name, data)
                    if isinstance(event, ErrorEvent):
                        raise ServiceError(f"the daemon gave up: {event.code} {event.detail}".strip())
                    if isinstance(event, CancelledEvent):
                        raise ServiceError("another request superseded the refresh")
                    yield event
                    if isinstance(event, DoneEvent):
                        return
        raise ServiceError("the daemon's stream ended without a result")

    @asynccontextmanager
    async def _answer(self, method: str, path: str, body: BaseModel | None) -> AsyncIterator[httpx.Response]:
        content = None if body is None else body.model_dump_json()
        headers = {} if body is None else {"content-type": "application/json"}
        where = f"{self._http.base_url}".rstrip("/") + path
        with explained(where):
            async with self._http.stream(method, path, content=content, headers=headers) as answer:
                if not answer.is_success:
                    raise ServiceError(f"{where}: {answer.status_code} {_said(await answer.aread())}")
                yield answer


def _said(body: bytes) -> str:
    try:
        refusal = Refusal.model_validate_json(body)
    except ValidationError:
        return body[:200].decode("utf-8", "replace")
    return f"{refusal.error} {refusal.detail}".strip()
