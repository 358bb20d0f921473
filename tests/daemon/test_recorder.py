"""Nothing is acknowledged, and nothing has happened, before it is recorded."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from daemon.errors import DaemonError, Unavailable
from daemon.recorder import Deleted, Edited, Event, NoRecorder, Opened, Refreshed
from daemon.sections import SectionTable
from daemon.wire import (
    CancelledEvent,
    DoneEvent,
    Edit,
    EditsRequest,
    ErrorEvent,
    OpenRequest,
    RecorderState,
    RefreshRequest,
    SpanEvent,
)

pytestmark = pytest.mark.anyio
OPEN = OpenRequest(instruction="Sum up.", sources=[], derived="old")
EDIT = EditsRequest(edits=[Edit(target="derived", start=0, end=1, lines=["by hand"])])


@dataclass
class Journal:
    """Keeps events in memory; `open` is what a write waits for, `broken` whether it then fails."""

    events: list[Event] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    writing: int = 0
    broken: bool = False
    state: RecorderState = "up"

    def restore(self, table: SectionTable) -> None:
        pass

    async def check(self, session_id: str) -> None:
        pass

    async def record(self, event: Event) -> int:
        self.writing += 1
        await self.open.wait()
        self.writing -= 1
        if self.broken:
            raise Unavailable("the disk is full", "recorder_unavailable")
        self.events.append(event)
        return 1


@pytest.fixture
def recorded(make_app) -> Callable[[], SimpleNamespace]:
    """A service whose journal is open, and the journal."""

    def make() -> SimpleNamespace:
        journal = Journal()
        journal.open.set()
        service = make_app({"no_auth": True}, journal, answer="new").state.service
        return SimpleNamespace(service=service, journal=journal)

    return make


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


async def events(service, **fields: object) -> list:
    running = await service.refresh("t/d/s", RefreshRequest(**fields))
    return [event async for event in running]


async def test_every_change_is_recorded_in_order_with_what_it_made(recorded) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    await it.service.edit("t/d/s", EDIT)
    done = (await events(it.service, baseline=True))[-1]
    await it.service.delete("t/d/none")
    await it.service.delete_under("t/")
    opened, edited, refreshed, deleted = it.journal.events
    assert isinstance(opened, Opened)
    assert (opened.section.derived, opened.section.revision) == ("old", 1)
    assert isinstance(edited, Edited)
    assert (edited.section.derived, edited.request) == ("by hand", EDIT)
    assert isinstance(refreshed, Refreshed)
    assert (refreshed.section.derived, refreshed.section.revision) == ("new", 3)
    assert (refreshed.request, refreshed.base_revision) == (RefreshRequest(baseline=True), 2)
    assert (refreshed.done, refreshed.draft, refreshed.engine) == (done, "by hand", "fake")
    assert deleted == Deleted((refreshed.section,))


CHANGES = [
    pytest.param(lambda service: service.open("t/d/s", OPEN), id="open"),
    pytest.param(lambda service: service.edit("t/d/s", EDIT), id="edit"),
    pytest.param(lambda service: service.delete("t/d/s"), id="delete"),
    pytest.param(lambda service: service.delete_under("t/d/"), id="delete_under"),
    pytest.param(events, id="refresh"),
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_neither_told_nor_seen_before_it_is_recorded(recorded, change) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    before = it.service.table.get("t/d/s")
    it.journal.open.clear()
    changing = asyncio.create_task(change(it.service))
    await until(lambda: it.journal.writing)
    assert not changing.done()
    assert it.service.table.get("t/d/s") is before
    it.journal.open.set()
    await changing
    assert len(it.journal.events) == 2


@pytest.mark.parametrize("change", CHANGES[:-1])
async def test_what_cannot_be_recorded_is_refused_and_has_not_happened(recorded, change) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    before = it.service.table.get("t/d/s")
    it.journal.broken = True
    with pytest.raises(DaemonError, match="the disk is full") as caught:
        await change(it.service)
    assert caught.value.status == 503
    assert it.service.table.get("t/d/s") is before
    it.journal.broken = False
    await change(it.service)
    assert len(it.journal.events) == 2


async def test_a_refresh_that_cannot_be_recorded_fails_and_has_not_happened(recorded) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    it.journal.broken = True
    assert (await events(it.service))[-1] == ErrorEvent(
        code="recorder_unavailable", detail="the disk is full"
    )
    assert it.service.table.get("t/d/s").derived == "old"


@pytest.mark.parametrize("supersede", CHANGES)
async def test_what_comes_while_a_refresh_is_recorded_comes_after_it(recorded, supersede) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    it.journal.open.clear()
    refreshing = asyncio.create_task(events(it.service))
    await until(lambda: it.journal.writing)
    superseding = asyncio.create_task(supersede(it.service))
    await asyncio.sleep(0)
    it.journal.open.set()
    assert isinstance((await refreshing)[-1], DoneEvent)
    await superseding
    assert [type(event) for event in it.journal.events[:2]] == [Opened, Refreshed]
    assert len(it.journal.events) == 3


@pytest.mark.parametrize("change", CHANGES[:-1])
async def test_a_refresh_that_ends_while_a_change_is_recorded_is_superseded(recorded, change) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    running = await it.service.refresh("t/d/s", RefreshRequest())
    it.journal.open.clear()
    changing = asyncio.create_task(change(it.service))
    await until(lambda: it.journal.writing)
    heard = [await anext(aiter(running))]
    while not isinstance(heard[-1], SpanEvent):  # the last thing before the refresh commits
        heard.append(await anext(aiter(running)))
    it.journal.open.set()
    await changing
    assert [event async for event in running] == [CancelledEvent(revision=1)]
    assert not any(isinstance(event, Refreshed) for event in it.journal.events)


async def test_stopping_waits_for_what_is_being_recorded(recorded) -> None:
    it = recorded()
    await it.service.open("t/d/s", OPEN)
    it.journal.open.clear()
    refreshing = asyncio.create_task(events(it.service))
    await until(lambda: it.journal.writing)
    it.service.stop()
    draining = asyncio.create_task(it.service.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    it.journal.open.set()
    await draining
    assert isinstance((await refreshing)[-1], DoneEvent)
    assert isinstance(it.journal.events[-1], Refreshed)


async def test_without_a_store_nothing_is_waited_for() -> None:
    recording = NoRecorder().record(Deleted(()))
    with pytest.raises(StopIteration):
        recording.send(None)
