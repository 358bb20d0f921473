"""The engine's slots, lent to one refresh each.

Invariant: a slot has one holder at most; releasing never waits, so no cancellation can lose a slot; who
waits is served in order of arrival, and the queue is bounded in length and time.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from daemon.errors import Busy

RETRY_AFTER_MS = 1000


@dataclass(frozen=True)
class Lease:
    """A slot held. `reused`: it served this section last, so the engine may still have its prompt."""

    slot: int
    reused: bool
    queued_ms: float


class SlotPool:
    """`total` slots, at most `queue_depth` waiting for one, each for at most `queue_timeout_ms`."""

    def __init__(self, total: int, queue_depth: int, queue_timeout_ms: int) -> None:
        self.total = total
        self._queue_depth = queue_depth
        self._queue_timeout_ms = queue_timeout_ms
        self._free = list(range(total))  # longest idle first
        self._last: list[str | None] = [None] * total  # the section whose text the slot holds
        self._waiting: deque[asyncio.Future[int]] = deque()

    @property
    def busy(self) -> int:
        """How many slots are held."""
        return self.total - len(self._free)

    @property
    def queued(self) -> int:
        """How many wait for a slot."""
        return len(self._waiting)

    async def acquire(self, session_id: str) -> Lease:
        """The slot that served the section last when free, else the one longest idle, else wait."""
        start = time.perf_counter()
        if self._free:
            slot = min(self._free, key=lambda slot: self._last[slot] != session_id)
            self._free.remove(slot)
        else:
            slot = await self._wait()
        reused = self._last[slot] == session_id
        self._last[slot] = session_id
        return Lease(slot, reused, (time.perf_counter() - start) * 1000)

    async def _wait(self) -> int:
        if len(self._waiting) >= self._queue_depth:
            raise Busy("queue_full", RETRY_AFTER_MS)
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(self._queue_timeout_ms / 1000):
                return await turn
        except BaseException as error:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif turn.done() and not turn.cancelled():
                self.release(turn.result())
            if isinstance(error, TimeoutError):
                raise Busy("queue_timeout", RETRY_AFTER_MS) from None
            raise

    def release(self, slot: int, *, erased: bool = False) -> None:
        """Give a slot back; it goes to whoever waits longest. `erased`: it holds no section's text now."""
        if erased:
            self._last[slot] = None
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(slot)
                return
        self._free.append(slot)

    def claim(self, slot: int, gone: Callable[[str], bool]) -> bool:
        """Hold a slot that is free and whose last section is gone; False when it is not so."""
        last = self._last[slot]
        if slot not in self._free or last is None or not gone(last):
            return False
        self._free.remove(slot)
        return True
