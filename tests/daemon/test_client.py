import httpx
import pytest

from daemon.client import Client
from daemon.errors import DaemonError
from daemon.wire import DeltaEvent, DoneEvent, OpenRequest, RefreshRequest

pytestmark = pytest.mark.anyio


async def events_from(url: str) -> list:
    async with Client(url) as client:
        return [event async for event in client.refresh("t/d/s", RefreshRequest())]


@pytest.mark.parametrize("text", ["one\u2028two", "a\u0085b", "x\ry", "p\r\nq\n\nr", "🧂\x1c\x0b"])
async def test_exotic_line_separators_arrive_whole(make_stack, text: str) -> None:
    stack = await make_stack(answer=text)
    await stack.open(derived=text)
    events = await stack.refresh()
    assert "".join(event.text for event in events if isinstance(event, DeltaEvent)) == text
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reused == 1.0
    assert (await stack.client.state("t/d/s")).derived == text


async def test_a_refusal_is_raised_with_what_the_daemon_sent(make_stack) -> None:
    stack = await make_stack()
    await stack.open()
    with pytest.raises(DaemonError, match="stale_revision: base_revision is 9") as caught:
        await stack.refresh(base_revision=9)
    assert (caught.value.status, caught.value.fields) == (409, {"revision": 1})


async def test_an_id_is_quoted(make_stack) -> None:
    stack = await make_stack()
    for call in (stack.client.state, stack.client.delete, stack.client.delete_under):
        with pytest.raises(DaemonError, match=r"bad_session_id|bad_prefix"):
            await call("t/d?/#s")
    with pytest.raises(DaemonError, match="bad_session_id"):
        await stack.client.open("t/d/é ", OpenRequest(instruction="", sources=[]))


async def test_an_answer_that_is_not_the_daemons_is_an_http_error(serve_bytes) -> None:
    url = await serve_bytes(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\noops")
    with pytest.raises(httpx.HTTPStatusError, match="502"):
        await events_from(url)


@pytest.mark.parametrize(
    "framing", [b"\r\nevent: delta\n", b"transfer-encoding: chunked\r\n\r\n5\r\nevent\r\n0\r\n\r\n"]
)
async def test_a_stream_without_terminal_event_is_an_error(serve_bytes, framing: bytes) -> None:
    url = await serve_bytes(b"HTTP/1.1 200 OK\r\n" + framing)
    with pytest.raises(httpx.RemoteProtocolError, match="without a terminal event"):
        await events_from(url)


async def test_no_daemon_is_a_connection_error(free_port: int) -> None:
    with pytest.raises(httpx.ConnectError):
        await events_from(f"http://127.0.0.1:{free_port}")
