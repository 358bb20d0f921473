"""The daemon's operations on sections, and who supersedes whom.

Invariant: at most one refresh runs per section, and whatever changes a section cancels the one that
runs in the same instant, so a superseded refresh can commit nothing. A refusal changes nothing; a newer
refresh supersedes once it has passed the checks that need no engine. Every change goes through the
recorder before it is made and before it is told, one at a time of a section; those of many sections go
through it together.
"""

import asyncio
import logging
from collections.abc import Container, Iterable

from daemon.config import VERSION, Config
from daemon.engine_client import EngineClient
from daemon.errors import STOPPING, DaemonError, Unavailable
from daemon.logs import event
from daemon.metrics import Metrics
from daemon.prompts import TEMPLATE_VERSION
from daemon.recorder import Deleted, Edited, Event, NoRecorder, Opened, Recorder, Refreshed
from daemon.refresh import Job, refresh
from daemon.running import Running
from daemon.section_locks import SectionLocks
from daemon.sections import Section, SectionTable
from daemon.slots import SlotPool
from daemon.wire import (
    DeleteResponse,
    DoneEvent,
    EditsRequest,
    Health,
    ModelHealth,
    OpenRequest,
    OpenResponse,
    RefreshRequest,
    SlotHealth,
)

log = logging.getLogger(__name__)
QUICK_S = 5.0
"""How long the engine may take for what needs no generating."""
_LOGGED = {"revision", "mode", "wall_ms", "queued_ms", "tokens", "reused", "divergences", "slot"}


class Service:
    """All sections, slots and running refreshes of one daemon."""

    def __init__(self, config: Config, engine: EngineClient, recorder: Recorder | None = None) -> None:
        self.metrics = Metrics()
        self.slots = SlotPool(config.slots, config.queue_depth, config.queue_timeout_ms)
        self._engine = engine
        self._recorder = recorder or NoRecorder()
        self._changing = SectionLocks()
        self._running: dict[str, Running] = {}
        busy = _Busy(self._changing, self._running)
        self.table = SectionTable(config.max_sessions, config.max_tenant_sessions, busy)
        self._recorder.restore(self.table)
        self._replays = False  # whether the engine's last answer to a draft was a replay
        self._stopping = False
        self.metrics.watch("sessions", "Open sections.", lambda: len(self.table))
        self.metrics.watch("queue_length", "Refreshes that wait for a slot.", lambda: self.slots.queued)
        self.metrics.watch("slots_busy", "Slots in use.", lambda: self.slots.busy)
        self.metrics.watch("slots", "Slots there are.", lambda: self.slots.total)
        if self._recorder.state != "off":
            self.metrics.watch(
                "recorder_up", "Whether the last record was made.", lambda: self._recorder.state == "up"
            )

    async def open(self, session_id: str, request: OpenRequest) -> OpenResponse:
        """Open or replace a section."""
        derived_tokens = len((await self._engine.draft(request.derived or "")).tokens)
        async with self._changing.hold(session_id):
            previous = self.table.get(session_id) if session_id in self.table else None
            section = Section.opened(session_id, request, previous)
            with self.table.room(session_id) as gone:
                async with self._changing.hold(*(other.session_id for other in gone)):  # they are idle
                    await self._record(Opened(section, gone))
                    self._drop(gone)
                    self.table.put(section)
                    self._supersede(session_id)
        return _opened(section, derived_tokens)

    async def edit(self, session_id: str, request: EditsRequest) -> OpenResponse:
        """Change a section without generating."""
        while True:
            before = self.table.get(session_id)
            section = before.changed(request)
            derived_tokens = len((await self._engine.draft(section.derived or "")).tokens)
            async with self._changing.hold(session_id):
                if self.table.get(session_id) is not before:
                    continue  # it changed while the engine counted: apply the edits to what it is now
                await self._record(Edited(section, request))
                self.table.put(section)
                self._supersede(session_id)
            return _opened(section, derived_tokens)

    async def refresh(self, session_id: str, request: RefreshRequest) -> Running:
        """Start a refresh."""
        await self._recorder.check(session_id)
        async with self._changing.hold(session_id):  # until then another one may be done
            if self._stopping:
                raise Unavailable(STOPPING)
            before = self.table.get(session_id)
            job = Job(before.changed(request), request, before.revision)
            previous = self._supersede(session_id)
            running = self._running[session_id] = Running(before.revision)
        running.start(self._run(job, running, previous))
        running.task.add_done_callback(lambda _: self._ended(job, running))
        return running

    async def _run(self, job: Job, running: Running, previous: Running | None) -> None:
        async def commit(section: Section, done: DoneEvent, engine: str) -> None:
            async with self._changing.hold(section.session_id):
                running.commits()
                await self._record(
                    Refreshed(section, job.request, job.base_revision, done, job.target.derived, engine)
                )
                self.table.put(section)
                running.emit(done)

        if previous:
            await asyncio.wait([previous.task])  # its slot is free before this one looks for a slot
        await refresh(job, self._engine, self.slots, running.emit, commit)

    def _ended(self, job: Job, running: Running) -> None:
        session_id, done = job.target.session_id, running.done
        if self._running.get(session_id) is running:
            del self._running[session_id]
        figures = {}
        if done:
            self.metrics.done(done)
            figures = done.model_dump(include=_LOGGED)
            if not job.request.baseline:
                self._replays = done.mode == "redraft"
        self.metrics.ended(running.outcome)
        event(log, "refresh", session_id=session_id, outcome=running.outcome, **figures)

    async def delete(self, session_id: str) -> DeleteResponse:
        """Drop a section."""
        return await self._delete({session_id})

    async def delete_under(self, prefix: str) -> DeleteResponse:
        """Drop every section under a prefix."""
        coming = {session_id for session_id in self._changing if session_id.startswith(prefix)}
        return await self._delete({*self.table.under(prefix), *coming})

    async def _delete(self, session_ids: set[str]) -> DeleteResponse:
        """Drop those that there are and clear every slot where text of a dropped section may be; any slot
        where the engine may have such text only beside them."""
        async with self._changing.hold(*session_ids):
            gone = tuple(self.table.get(it) for it in sorted(session_ids) if it in self.table)
            if gone:
                await self._record(Deleted(gone))
            self._drop(gone)
            cancelled = [running.task for it in gone if (running := self._supersede(it.session_id))]
        if cancelled:
            await asyncio.wait(cancelled)
        slots = [slot for slot in range(self.slots.total) if self._has_dropped(self.slots.texts(slot))]
        if not slots and self._has_dropped(self.slots.parked):
            slots = [self.slots.longest_idle]
        outcomes = [(slot, await self._erase(slot)) for slot in slots]
        return DeleteResponse(
            deleted=len(gone),
            slots_erased=[slot for slot, erased in outcomes if erased],
            slots_unerased=[slot for slot, erased in outcomes if not erased],
        )

    def _has_dropped(self, session_ids: Iterable[str]) -> bool:
        return any(session_id not in self.table for session_id in session_ids)

    async def _erase(self, slot: int) -> bool:
        """Whether the slot could be cleared."""
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
        replays = props is not None and (props.redraft is not None or self._replays)
        fits = props is not None and props.total_slots == self.slots.total
        recorder = self._recorder.state
        is_ok = replays and fits and recorder != "down"
        return Health(
            status="down" if props is None else "ok" if is_ok else "degraded",
            version=VERSION,
            template_version=TEMPLATE_VERSION,
            model=ModelHealth(
                name=props.model_name if props else "", resident=props is not None, redraft=replays
            ),
            slots=SlotHealth(total=self.slots.total, busy=self.slots.busy, queued=self.slots.queued),
            sessions=len(self.table),
            recorder=recorder,
            engine=(props.redraft or {}) if props else {},
        )

    def stop(self) -> None:
        """Cancel every refresh and start no more, so that each open stream gets its terminal event."""
        self._stopping = True
        for session_id in list(self._running):
            self._supersede(session_id)

    async def drain(self) -> None:
        """Wait for what is being committed."""
        if tasks := [running.task for running in self._running.values()]:
            await asyncio.wait(tasks)

    async def _record(self, event: Event) -> None:
        self.metrics.recorded(await self._recorder.record(event))

    def _drop(self, sections: tuple[Section, ...]) -> None:
        for section in sections:
            self.table.drop(section.session_id)

    def _supersede(self, session_id: str) -> Running | None:
        """Cancel the section's refresh, if one runs."""
        running = self._running.get(session_id)
        if running:
            running.cancel()
        return running


class _Busy(Container[str]):
    """The sections that are being changed or refreshed."""

    def __init__(self, *parts: Container[str]) -> None:
        self._parts = parts

    def __contains__(self, session_id: object) -> bool:
        return any(session_id in part for part in self._parts)


def _opened(section: Section, derived_tokens: int) -> OpenResponse:
    return OpenResponse(
        session_id=section.session_id, revision=section.revision, derived_tokens=derived_tokens
    )
