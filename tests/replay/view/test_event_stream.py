import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import replay.view.event_stream
from daemon.wire import SseDecoder
from replay.view.event_stream import Event, EventStream, encoded

pytestmark = pytest.mark.anyio


class Source:
    """Events that never end; knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def events(self) -> AsyncGenerator[Event, None]:
        try:
            yield "first", {}
            await asyncio.get_running_loop().create_future()
        finally:
            self.closed.set()


class Connection:
    """The server's side of one; the reader goes when it is told to."""

    def __init__(self, *, stalls: bool = False) -> None:
        self.sent: list[dict] = []
        self.gone = asyncio.Event()
        self.got_one = asyncio.Event()
        self._stalls = stalls

    async def receive(self) -> dict:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict) -> None:
        self.sent.append(message)
        if message.get("body"):
            self.got_one.set()
            if self._stalls:
                await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("how", ["reader goes", "server stops"])
async def test_whatever_ends_the_response_closes_the_source(how: str) -> None:
    source, connection, streams = Source(), Connection(), set()
    stream = EventStream(source.events(), streams)
    serving = asyncio.create_task(stream({}, connection.receive, connection.send))
    await connection.got_one.wait()
    assert streams == {stream}
    if how == "reader goes":
        connection.gone.set()
    else:
        stream.stop()
    await serving
    assert source.closed.is_set()
    assert streams == set()


async def test_a_reader_that_takes_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.view.event_stream, "SEND_S", 0.01)
    source, connection = Source(), Connection(stalls=True)
    with pytest.raises(TimeoutError):
        await EventStream(source.events(), set())({}, connection.receive, connection.send)
    assert source.closed.is_set()


async def test_events_that_end_end_the_response() -> None:
    async def events() -> AsyncGenerator[Event, None]:
        yield "a", {"text": "x"}

    connection = Connection()
    await EventStream(events(), set())({}, connection.receive, connection.send)
    head, *_, last = connection.sent
    assert (b"content-type", b"text/event-stream; charset=utf-8") in head["headers"]
    assert last == {"type": "http.response.body", "body": b"", "more_body": False}


@given(text=st.text())
async def test_any_text_arrives_whole(text: str) -> None:
    ((name, data),) = SseDecoder().feed(encoded(("delta", {"text": text})))
    assert (name, json.loads(data)) == ("delta", {"text": text})
