import asyncio
import logging

import pytest

from daemon.errors import Busy, Unavailable
from daemon.running import Running
from daemon.wire import CancelledEvent, DeltaEvent, ErrorEvent

pytestmark = pytest.mark.anyio
DELTA = DeltaEvent(text="a", kind="new")


async def wait() -> None:
    await asyncio.get_running_loop().create_future()


async def heard(running: Running) -> list:
    return [event async for event in running]


async def test_cancelling_ends_the_events_with_cancelled() -> None:
    running = Running(3)
    running.start(wait())
    running.emit(DELTA)
    running.cancel()
    assert await heard(running) == [DELTA, CancelledEvent(revision=3)]
    assert running.outcome == "cancelled"


async def test_cancelling_before_the_step_begins_still_ends_the_events() -> None:
    running = Running(4)

    async def step() -> None:
        raise AssertionError("never runs")

    running.start(step())
    running.cancel()
    assert await heard(running) == [CancelledEvent(revision=4)]


async def test_what_commits_can_not_be_cancelled() -> None:
    running, durable = Running(1), asyncio.Event()

    async def step() -> None:
        running.commits()
        await durable.wait()
        running.emit(DELTA)

    running.start(step())
    await asyncio.sleep(0)
    running.cancel()
    durable.set()
    assert await heard(running) == [DELTA]
    assert running.outcome == "done"


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (Busy("queue_full", 1), ErrorEvent(code="engine_failed", detail=Busy("queue_full", 1).detail)),
        (
            Unavailable("disk full", "recorder_unavailable"),
            ErrorEvent(code="recorder_unavailable", detail="disk full"),
        ),
        (KeyError("secret"), ErrorEvent(code="engine_failed", detail="internal error")),
    ],
)
async def test_a_failure_is_a_refusal_before_the_first_event_and_an_event_after_it(
    error: Exception, event: ErrorEvent, caplog
) -> None:
    async def step() -> None:
        raise error

    refused, failed = Running(1), Running(1)
    refused.start(step())
    with pytest.raises(type(error)):
        await heard(refused)
    with caplog.at_level(logging.ERROR):
        failed.start(step())
        failed.emit(DELTA)
        assert await heard(failed) == [DELTA, event]
    assert (refused.outcome, failed.outcome) == ("refused", "failed")
    assert "secret" not in caplog.text
