"""A race: plain generation and redraft, one after the other from the same state, as events for a browser.

Invariant: each lane starts as an attempt of a run does, with its slot holding the prompt of the state before
the edit, and finds nothing that the other has left in the engine's caches, for these are kept by tenant and
each lane is one of its own (unless all are to be of one). One race runs at a time; however a race ends, its
refresh is closed and its sections are dropped.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict

from pydantic import ValidationError

from daemon.wire import DeltaEvent, DoneEvent, OpenEvent, RefreshEvent, RefreshRequest, SpanEvent
from replay.arms import Arm
from replay.driver import opening, refreshing
from replay.errors import ReplayError, ServiceError
from replay.view.event_stream import Event
from replay.view.race_values import Lane, LaneResult, RaceRequest, lane_result, outcome
from replay.view.sections import Sections
from replay.view.service import Service

POLL_S = 0.05
SHOW_MS = 100.0
_PLAIN = RefreshRequest(baseline=True, return_tokens=True)


class Racer:
    """Runs races on a service. `token` is the daemon's access token; where that covers one `tenant` alone,
    all lanes are its, and the second finds the edited prompt in the engine's cache."""

    def __init__(self, service: Service, *, tenant: str | None = None, token: str = "") -> None:
        self._service = service
        self._tenant, self._token = tenant, token
        self._one = asyncio.Lock()
        self._warm: set[str] = set()
        self._dropping: set[asyncio.Task[None]] = set()

    async def race(self, asked: RaceRequest) -> AsyncGenerator[Event, None]:
        """`status`, `begin`, `stale`, per lane `lane`, `deltas`, `spans`, `result`; `outcome` or `failed`."""
        try:
            if self._one.locked():
                yield "status", {"text": "another race is on, waiting for it"}
            async with self._one, aclosing(self._events(asked)) as events:
                async for event in events:
                    yield event
        except ReplayError as error:
            yield "failed", {"text": str(error)}
        except ValidationError as error:
            yield "failed", {"text": f"the daemon cannot take this: {' '.join(str(error).split())[:300]}"}

    async def close(self) -> None:
        """Wait until the sections of races that were left are dropped."""
        await asyncio.gather(*self._dropping, return_exceptions=True)

    async def _events(self, asked: RaceRequest) -> AsyncGenerator[Event, None]:
        said = None
        while (url := self._service.poll()) is None:
            if self._service.said != said:
                said = self._service.said
                yield "status", {"text": said}
            await asyncio.sleep(POLL_S)
        async with Sections(url, self._token) as sections:
            health = await sections.health()
        yield "begin", {"model": health.model.name}
        draft = asked.stale
        if draft is None:
            yield "status", {"text": "writing the old answer by plain generation, untimed"}
            draft = await self._old_answer(url, asked)
        yield "stale", {"text": draft, "edited": asked.edited}
        if url not in self._warm:
            yield "status", {"text": "first race on this engine: a warm-up that does not count"}
            async for _ in self._lane(url, asked, draft, *asked.lanes()[0]):
                pass
            self._warm.add(url)
        results: dict[Lane, LaneResult] = {}
        for lane, arm in asked.lanes():
            yield "lane", {"lane": lane, "arm": arm.name}
            async with aclosing(self._lane(url, asked, draft, lane, arm)) as made:
                async for event in made:
                    if isinstance(event, LaneResult):
                        results[lane] = event
                        yield "result", {"lane": lane, **event.shown()}
                    else:
                        yield event
        yield "outcome", asdict(outcome(results["plain"], results["redraft"], asked.mode))

    async def _old_answer(self, url: str, asked: RaceRequest) -> str:
        texts = []
        async with self._section(url) as (sections, section):
            await sections.open(section, opening(asked.unit(), None, asked.max_tokens))
            async for event in sections.refresh(section, _PLAIN):
                if isinstance(event, DeltaEvent):
                    texts.append(event.text)
        return "".join(texts)

    async def _lane(
        self, url: str, asked: RaceRequest, draft: str, lane: Lane, arm: Arm
    ) -> AsyncGenerator[Event | LaneResult, None]:
        """The race step: what one lane streams, then its figures."""
        unit = asked.unit()
        body = refreshing(unit, arm, draft)
        async with self._section(url) as (sections, section):
            await sections.open(section, opening(unit, None, 1))
            async for _ in sections.refresh(section, _PLAIN):
                pass
            await sections.open(section, opening(unit, draft, asked.max_tokens))
            refresh = sections.refresh(section, body)
            async with aclosing(refresh), aclosing(_told(refresh, lane)) as told:
                async for event in told:
                    yield event

    @asynccontextmanager
    async def _section(self, url: str) -> AsyncIterator[tuple[Sections, str]]:
        """A section of its own, dropped also where the race is cancelled."""
        name = f"race-{secrets.token_hex(4)}"
        section = f"{self._tenant or name}/{name}/section"
        sections = Sections(url, self._token)
        try:
            yield sections, section
        finally:
            task = asyncio.create_task(_drop(sections, section))
            self._dropping.add(task)
            task.add_done_callback(self._dropping.discard)
            await asyncio.shield(task)


async def _told(
    events: AsyncGenerator[RefreshEvent, None], lane: Lane
) -> AsyncGenerator[Event | LaneResult, None]:
    """A refresh as a page shows it; showing text a token at a time would take the engine's cores."""
    started, first_ms, shown_ms = time.perf_counter(), None, -SHOW_MS
    pieces: list[dict[str, object]] = []
    spans: list[dict[str, object]] = []
    async for event in events:
        at_ms = (time.perf_counter() - started) * 1000
        match event:
            case OpenEvent():
                started += event.queued_ms / 1000
            case DeltaEvent(text=text, kind=kind):
                first_ms = at_ms if first_ms is None else first_ms
                pieces.append({"at_ms": at_ms, "text": text, "kind": kind})
                if at_ms - shown_ms >= SHOW_MS:
                    yield "deltas", {"lane": lane, "pieces": pieces}
                    shown_ms, pieces = at_ms, []
            case SpanEvent(kind=kind, old=old, new=new):
                spans.append({"kind": kind, "old": old, "new": new})
            case DoneEvent():
                yield "deltas", {"lane": lane, "pieces": pieces}
                yield "spans", {"lane": lane, "spans": spans}
                yield lane_result(event, at_ms, first_ms)


async def _drop(sections: Sections, section: str) -> None:
    async with sections:
        with suppress(ServiceError):
            await sections.delete(section)
