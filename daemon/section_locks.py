"""Who may change which section.

Invariant: a section has one holder at most, and who waits for it gets it in order of arrival; several are
taken in the order of their ids, so that no two holders wait for each other.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager


class SectionLocks:
    """Locks by session id. Iterates over those that somebody holds or waits for."""

    def __init__(self) -> None:
        self._locks: dict[str, _Lock] = {}

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._locks

    def __iter__(self) -> Iterator[str]:
        return iter(self._locks)

    @asynccontextmanager
    async def hold(self, *session_ids: str) -> AsyncIterator[None]:
        """Be the only one to change these. Does not wait where nobody holds any of them."""
        async with AsyncExitStack() as held:
            for session_id in sorted(set(session_ids)):
                await held.enter_async_context(self._one(session_id))
            yield

    @asynccontextmanager
    async def _one(self, session_id: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(session_id, _Lock())
        lock.users += 1
        try:
            async with lock:
                yield
        finally:
            lock.users -= 1
            if not lock.users:
                del self._locks[session_id]


class _Lock(asyncio.Lock):
    """A lock that knows how many hold it or wait for it."""

    users = 0
