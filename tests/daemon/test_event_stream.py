import asyncio
import logging

import pytest

from daemon.event_stream import EventStream
from daemon.running import Running
from daemon.wire import DeltaEvent, DoneEvent, RefreshRequest

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", ["/apply-template", "/completion", "prefill", "decode", "queue"])
async def test_a_client_that_goes_away_frees_its_slot(make_stack, place: str) -> None:
    stack = await make_stack()
    await stack.open(derived="old")
    await stack.open("t/d/other")
    gate = stack.engine.gate("prefill" if place == "queue" else place)
    other = stack.start("t/d/other") if place == "queue" else None
    if other:
        await stack.reached(gate)
    leaving = stack.start()
    if other:
        await stack.queued(1)
    else:
        await stack.reached(gate)
    leaving.cancel()
    if other:
        await stack.queued(0)
        gate.open.set()
        assert isinstance((await other)[-1], DoneEvent)
    await stack.idle()
    assert (await stack.client.state("t/d/s")).revision == 1
    stack.engine.gates.clear()
    assert isinstance((await stack.refresh())[-1], DoneEvent)


class Connection:
    """The server's side of one: what was sent, until the reader stalls."""

    def __init__(self, stalls_after: int) -> None:
        self.sent: list[dict] = []
        self.stalls_after = stalls_after

    async def receive(self) -> dict:
        return await asyncio.get_running_loop().create_future()

    async def send(self, message: dict) -> None:
        if len(self.sent) == self.stalls_after:
            await asyncio.get_running_loop().create_future()
        self.sent.append(message)


async def test_a_reader_that_stalls_is_dropped_and_its_refresh_cancelled(caplog) -> None:
    running, connection = Running(1), Connection(stalls_after=2)

    async def step() -> None:
        running.emit(DeltaEvent(text="a", kind="new"))
        running.emit(DeltaEvent(text="b", kind="new"))
        await asyncio.get_running_loop().create_future()

    running.start(step())
    with caplog.at_level(logging.WARNING):
        await EventStream(running, send_deadline_s=0.01)({}, connection.receive, connection.send)
    assert len(connection.sent) == 2
    assert "dropped a reader" in caplog.text
    await asyncio.wait([running.task])
    assert running.task.cancelled()


async def test_a_stalled_reader_holds_no_slot(make_stack) -> None:
    """The events of a refresh wait in memory; the section has its text before anybody reads it."""
    stack = await make_stack(answer="word " * 400)
    await stack.open()
    running = await stack.service.refresh("t/d/s", RefreshRequest())
    await stack.until(lambda: stack.service.table.get("t/d/s").derived == "word " * 400)
    assert stack.service.slots.busy == 0
    events = [event async for event in running]
    assert isinstance(events[-1], DoneEvent)
