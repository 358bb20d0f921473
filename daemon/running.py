"""A refresh under way, as its reader sees it.

Invariant: the events end after exactly one terminal event, or one refusal that came instead of all of
them. Cancelling works until the new text is being committed; from then on the refresh is done.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine

from daemon.errors import DaemonError, trace
from daemon.metrics import Outcome
from daemon.wire import CancelledEvent, DoneEvent, ErrorEvent, RefreshEvent

log = logging.getLogger(__name__)


class Running:
    """Iterates over the events of a refresh, or raises the refusal."""

    def __init__(self, base_revision: int) -> None:
        self._base_revision = base_revision
        self._events: asyncio.Queue[RefreshEvent | BaseException | None] = asyncio.Queue()
        self._opened = False
        self._committing = False
        self.outcome: Outcome = "done"
        self.done: DoneEvent | None = None

    def start(self, step: Coroutine[None, None, None]) -> None:
        """Run the step as a task; its end, however it comes, ends the events."""
        self.task = asyncio.create_task(step)
        self.task.add_done_callback(self._end)

    def cancel(self) -> None:
        """End the step where it waits; without effect once it commits."""
        if not self._committing:
            self.task.cancel()

    def commits(self) -> None:
        """From now on the step cannot be cancelled."""
        self._committing = True

    def emit(self, event: RefreshEvent) -> None:
        """Hand an event to the reader."""
        self._opened = True
        if isinstance(event, DoneEvent):
            self.done = event
        self._events.put_nowait(event)

    async def __aiter__(self) -> AsyncIterator[RefreshEvent]:
        while (event := await self._events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event

    def _end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self.outcome = "cancelled"
            self.emit(CancelledEvent(revision=self._base_revision))
        elif error := task.exception():
            self._fail(error)
        self._events.put_nowait(None)

    def _fail(self, error: BaseException) -> None:
        if not self._opened:
            self.outcome = "refused"
            self._events.put_nowait(error)
            return
        self.outcome = "failed"
        if isinstance(error, DaemonError) and error.code == "recorder_unavailable":
            self.emit(ErrorEvent(code="recorder_unavailable", detail=error.detail))
        elif isinstance(error, DaemonError):
            self.emit(ErrorEvent(code="engine_failed", detail=error.detail))
        else:
            log.error("a refresh failed: %s", trace(error))
            self.emit(ErrorEvent(code="engine_failed", detail="internal error"))
