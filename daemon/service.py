"""The daemon's operations on sections, and who supersedes whom.

Invariant: at most one refresh runs per section, and whatever changes a section cancels the one that
runs in the same instant, so a superseded refresh can commit nothing. A refusal changes nothing; a newer
refresh supersedes once it has passed the checks that need no engine.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine

from daemon.config import VERSION, Config
from daemon.engine_client import EngineClient
from daemon.errors import DaemonError, EngineUnavailable, trace
from daemon.prompts import TEMPLATE_VERSION
from daemon.refresh import Job, refresh
from daemon.sections import Section, SectionTable
from daemon.slots import SlotPool
from daemon.wire import (
    CancelledEvent,
    DeleteResponse,
    EditsRequest,
    ErrorEvent,
    Health,
    ModelHealth,
    OpenRequest,
    OpenResponse,
    RefreshEvent,
    RefreshRequest,
    SlotHealth,
)

log = logging.getLogger(__name__)
QUICK_S = 5.0
"""How long the engine may take for what needs no generating."""


class Running:
    """A refresh under way: iterates over its events, or raises the refusal that came instead of them."""

    def __init__(self, base_revision: int) -> None:
        self._base_revision = base_revision
        self._events: asyncio.Queue[RefreshEvent | BaseException | None] = asyncio.Queue()
        self._opened = False

    def start(self, step: Coroutine[None, None, None]) -> None:
        """Run the step as a task; its end, however it comes, ends the events."""
        self.task = asyncio.create_task(step)
        self.task.add_done_callback(self._end)

    def cancel(self) -> None:
        """End the step where it waits; without effect once it is through."""
        self.task.cancel()

    def emit(self, event: RefreshEvent) -> None:
        """Hand an event to the reader."""
        self._opened = True
        self._events.put_nowait(event)

    async def __aiter__(self) -> AsyncIterator[RefreshEvent]:
        while (event := await self._events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event

    def _end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self.emit(CancelledEvent(revision=self._base_revision))
        elif error := task.exception():
            if not self._opened:
                self._events.put_nowait(error)
            elif isinstance(error, DaemonError):
                self.emit(ErrorEvent(code="engine_failed", detail=error.detail))
            else:
                log.error("a refresh failed: %s", trace(error))
                self.emit(ErrorEvent(code="engine_failed", detail="internal error"))
        self._events.put_nowait(None)


class Service:
    """All sections, slots and running refreshes of one daemon."""

    def __init__(self, config: Config, engine: EngineClient) -> None:
        self.table = SectionTable()
        self.slots = SlotPool(config.slots, config.queue_depth, config.queue_timeout_ms)
        self._engine = engine
        self._running: dict[str, Running] = {}
        self._stopping = False

    async def open(self, session_id: str, request: OpenRequest) -> OpenResponse:
        """Open or replace a section."""
        derived_tokens = len((await self._engine.draft(request.derived or "")).tokens)
        section = self.table.open(session_id, request)
        self._supersede(session_id)
        return _opened(section, derived_tokens)

    async def edit(self, session_id: str, request: EditsRequest) -> OpenResponse:
        """Change a section without generating."""
        while True:
            before = self.table.get(session_id)
            section = before.changed(request)
            derived_tokens = len((await self._engine.draft(section.derived or "")).tokens)
            if self.table.get(session_id) is before:
                break  # else it changed while the engine counted: apply the edits to what it is now
        self.table.put(section)
        self._supersede(session_id)
        return _opened(section, derived_tokens)

    def refresh(self, session_id: str, request: RefreshRequest) -> Running:
        """Start a refresh."""
        if self._stopping:
            raise EngineUnavailable("redraftd is stopping")
        before = self.table.get(session_id)
        job = Job(before.changed(request), request, before.revision)
        previous = self._supersede(session_id)
        running = self._running[session_id] = Running(before.revision)
        running.start(self._run(job, running, previous))
        running.task.add_done_callback(lambda _: self._forget(session_id, running))
        return running

    async def _run(self, job: Job, running: Running, previous: Running | None) -> None:
        if previous:
            await asyncio.wait([previous.task])  # its slot is free before this one looks for a slot
        await refresh(job, self._engine, self.slots, running.emit, self.table.put)

    def _forget(self, session_id: str, running: Running) -> None:
        if self._running.get(session_id) is running:
            del self._running[session_id]

    async def delete(self, session_ids: list[str]) -> DeleteResponse:
        """Drop sections and clear every slot where text of a dropped section may be."""
        deleted = sum(self.table.drop(session_id) for session_id in session_ids)
        cancelled = [running.task for session_id in session_ids if (running := self._supersede(session_id))]
        if cancelled:
            await asyncio.wait(cancelled)
        outcomes = [(slot, await self._erase(slot)) for slot in range(self.slots.total)]
        return DeleteResponse(
            deleted=deleted,
            slots_erased=[slot for slot, erased in outcomes if erased is True],
            slots_unerased=[slot for slot, erased in outcomes if erased is False],
        )

    async def _erase(self, slot: int) -> bool | None:
        """Whether the slot could be cleared; None when there is nothing of a dropped section in it."""
        if all(session_id in self.table for session_id in self.slots.texts(slot)):
            return None
        if not self.slots.claim(slot):
            return False
        try:
            async with asyncio.timeout(QUICK_S):
                await self._engine.erase(slot)
            self.slots.erased(slot)
        except (DaemonError, TimeoutError) as error:
            log.warning("slot %d was not erased: %r", slot, error)
            return False
        finally:
            self.slots.release(slot)
        return True

    async def health(self) -> Health:
        """What the daemon and the engine behind it are up to."""
        try:
            async with asyncio.timeout(QUICK_S):
                props = await self._engine.props()
        except (DaemonError, TimeoutError):
            props = None
        fits = props is not None and props.redraft is not None and props.total_slots == self.slots.total
        return Health(
            status="down" if props is None else "ok" if fits else "degraded",
            version=VERSION,
            template_version=TEMPLATE_VERSION,
            model=ModelHealth(
                name=props.model_name if props else "",
                resident=props is not None,
                redraft=props is not None and props.redraft is not None,
            ),
            slots=SlotHealth(total=self.slots.total, busy=self.slots.busy, queued=self.slots.queued),
            sessions=len(self.table),
            engine=(props.redraft or {}) if props else {},
        )

    def stop(self) -> None:
        """Cancel every refresh and start no more, so that each open stream gets its terminal event."""
        self._stopping = True
        for session_id in list(self._running):
            self._supersede(session_id)

    def _supersede(self, session_id: str) -> Running | None:
        """Cancel the section's refresh, if one runs."""
        running = self._running.get(session_id)
        if running:
            running.cancel()
        return running


def _opened(section: Section, derived_tokens: int) -> OpenResponse:
    return OpenResponse(
        session_id=section.session_id, revision=section.revision, derived_tokens=derived_tokens
    )
