"""One request and its answer, which may be given up at any moment.

Invariant: an exchange that is given up leaves nothing behind, however often whoever waits for it is
cancelled. httpcore loses a connection, with its socket, when it is cancelled while it makes that connection
or is done with it. So every exchange has a task of its own, which is cancelled once, and only in between.
"""

import asyncio
from types import TracebackType
from typing import Any, ClassVar, Self

import httpx

HAS_CONNECTION = "http11.send_request_headers.started"
IS_DONE = "http11.response_closed.started"
"""What httpcore says of a request, between which it can be given up."""


class Exchange:
    """Iterates over the blocks of the answer's body. Raises what httpx raises. Refers to none of httpx's
    objects, which refer to it: that would be a circle, and lie about until they are collected."""

    _running: ClassVar[set["asyncio.Task[None]"]] = set()  # asyncio itself may forget them

    def __init__(self, http: httpx.AsyncClient, method: str, path: str, **arguments: Any) -> None:
        """Send the request."""
        self._heard: asyncio.Queue[int | bytes | Exception | None] = asyncio.Queue()
        self._is_given_up = self._can_be_cut = False
        self._task = asyncio.create_task(self._exchange(http, method, path, arguments))
        self._running.add(self._task)
        self._task.add_done_callback(self._running.discard)

    async def __aenter__(self) -> Self:
        """Wait for the head of the answer, with its `status`."""
        try:
            status = await self._next()
        except BaseException:
            self._give_up()
            raise
        assert isinstance(status, int)
        self.status = status
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give up what has not come yet."""
        self._give_up()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        block = await self._next()
        if not isinstance(block, bytes):
            raise StopAsyncIteration
        return block

    async def body(self) -> bytes:
        """All of it, or what is left."""
        return b"".join([block async for block in self])

    async def _next(self) -> int | bytes | None:
        heard = await self._heard.get()
        if isinstance(heard, Exception):
            raise heard
        return heard

    def _give_up(self) -> None:
        if self._can_be_cut and not self._is_given_up:
            self._task.cancel()
        self._is_given_up = True

    async def _trace(self, event: str, _: object) -> None:
        if event == HAS_CONNECTION and self._is_given_up:
            raise asyncio.CancelledError
        self._can_be_cut = event == HAS_CONNECTION or (self._can_be_cut and event != IS_DONE)

    async def _exchange(
        self, http: httpx.AsyncClient, method: str, path: str, arguments: dict[str, Any]
    ) -> None:
        try:
            request = http.build_request(method, path, extensions={"trace": self._trace}, **arguments)
            response = await http.send(request, stream=True)
            try:
                self._heard.put_nowait(response.status_code)
                async for block in response.aiter_bytes():
                    self._heard.put_nowait(block)
            finally:
                await response.aclose()
            self._heard.put_nowait(None)
        except Exception as error:
            self._heard.put_nowait(error)
