"""The engine's slots, lent to one refresh each.

Invariant: a slot has one holder at most; releasing never waits, so no cancellation can lose a slot; who
waits is served in order of arrival, and the queue is bounded in length and time. A slot may hold the text
of every section that it was lent to since the engine last answered there or erased it. What a slot held
before, the engine may have parked elsewhere; erasing any slot forgets all of that.
"""

import asyncio
import time
from collections import deque
from collections.abc import Set
from dataclasses import dataclass

from daemon.errors import Busy
from daemon.sections import tenant_of

RETRY_AFTER_MS = 1000
MOST_PARKED = 10_000
UNKNOWN = ""
"""Stands for sections too many to remember."""


@dataclass(frozen=True)
class Lease:
    """A slot held. `reused`: the engine may still have this section's prompt there; `foreign`: it may have
    another tenant's text there, and what of it a prompt shares must not show in counts and times."""

    slot: int
    reused: bool
    foreign: bool
    queued_ms: float


class SlotPool:
    """`total` slots, at most `queue_depth` waiting for one, each for at most `queue_timeout_ms`."""

    def __init__(self, total: int, queue_depth: int, queue_timeout_ms: int) -> None:
        self.total = total
        self._queue_depth = queue_depth
        self._queue_timeout_ms = queue_timeout_ms
        self._free = list(range(total))  # longest idle first
        self._texts: list[frozenset[str]] = [frozenset()] * total  # sections whose text may be there
        self._parked: set[str] = set()
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
        """The slot that may have the section's prompt when free, else the one longest idle, else wait."""
        start = time.perf_counter()
        if self._free:
            slot = min(self._free, key=lambda slot: session_id not in self._texts[slot])
            self._free.remove(slot)
        else:
            slot = await self._wait()
        texts = self._texts[slot]
        self._texts[slot] = texts | {session_id}
        foreign = any(tenant_of(other) != tenant_of(session_id) for other in texts)
        return Lease(slot, session_id in texts, foreign, (time.perf_counter() - start) * 1000)

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

    def texts(self, slot: int) -> frozenset[str]:
        """The sections whose text the engine may have in the slot."""
        return self._texts[slot]

    @property
    def parked(self) -> Set[str]:
        """The sections whose text the engine may have beside its slots."""
        return self._parked

    @property
    def longest_idle(self) -> int:
        """A slot whose text is needed least; any, where none is free."""
        return self._free[0] if self._free else 0

    def answered(self, slot: int, session_id: str) -> None:
        """The engine answers a section there, so the text of every other one is gone from it."""
        self._parked |= self._texts[slot] - {session_id}
        if len(self._parked) > MOST_PARKED:
            self._parked = {UNKNOWN}
        self._texts[slot] = frozenset({session_id})

    def erased(self, slot: int) -> None:
        """The engine has nothing there any more, and nothing beside its slots."""
        self._texts[slot] = frozenset()
        self._parked.clear()

    def release(self, slot: int) -> None:
        """Give a slot back; it goes to whoever waits longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(slot)
                return
        self._free.append(slot)

    def claim(self, slot: int) -> bool:
        """Hold this very slot; False when it is not free."""
        if slot not in self._free:
            return False
        self._free.remove(slot)
        return True
