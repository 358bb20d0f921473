import hashlib
from dataclasses import replace

import httpx
import pytest

from daemon.client import Client
from daemon.errors import DaemonError
from daemon.wire import (
    CanaryReport,
    DeltaEvent,
    DoneEvent,
    Edit,
    EditsRequest,
    OpenRequest,
    RefreshRequest,
    Source,
)

pytestmark = pytest.mark.anyio


async def events_from(url: str) -> list:
    async with Client(url, retries=0) as client:
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


async def test_a_busy_daemon_is_asked_again_when_it_says(make_stack) -> None:
    stack = await make_stack({"queue_depth": 0})
    await stack.open("t/d/a")
    await stack.open("t/d/b")
    gate = stack.engine.gate("prefill")
    running = stack.start("t/d/a")
    await stack.reached(gate)
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            gate.open.set()
            await running

    async with Client(stack.url, retries=2, pause=pause) as client:
        events = [event async for event in client.refresh("t/d/b", RefreshRequest())]
    assert isinstance(events[-1], DoneEvent)
    assert waits == [1.0, 1.0]


async def test_a_daemon_that_stays_busy_refuses_in_the_end(serve_bytes) -> None:
    body = b'{"error": "busy", "detail": "later", "reason": "queue_full"}'
    for header, seconds in [(b"retry-after: 7\r\n", 7.0), (b"", 1.0), (b"retry-after: soon\r\n", 1.0)]:
        url = await serve_bytes(
            b"HTTP/1.1 429 Busy\r\n%scontent-length: %d\r\n\r\n%s" % (header, len(body), body)
        )
        waits: list[float] = []

        async def pause(wait_s: float, waits: list[float] = waits) -> None:
            waits.append(wait_s)

        async with Client(url, retries=3, pause=pause) as client:
            with pytest.raises(DaemonError, match="busy: later"):
                await client.state("t/d/s")
        assert waits == [seconds] * 3


async def test_a_token_is_sent_with_every_call(make_stack, tmp_path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"sha256:{hashlib.sha256(b'ada').hexdigest()} *")
    stack = await make_stack({"tokens_file": path})
    with pytest.raises(DaemonError, match="unauthorized"):
        await stack.open()
    async with Client(stack.url, token="ada") as client:
        await client.open("t/d/s", OpenRequest(instruction="Sum up.", sources=[]))
        events = [event async for event in client.refresh("t/d/s", RefreshRequest())]
        await client.report_canaries(CanaryReport(passed=1, failed=0))
        assert (await client.delete_under("t/")).deleted == 1
    assert isinstance(events[-1], DoneEvent)


def opening(**fields) -> OpenRequest:
    sources = [Source(name="a", text="costs 3"), Source(name="b", text="one\ntwo")]
    return OpenRequest(instruction="Sum up.", sources=sources, pinned=["P"], max_tokens=50, **fields)


def line(number: int, text: str, **target) -> Edit:
    return Edit(start=number, end=number + 1, lines=[text], **target)


SOURCE_EDIT = line(0, "costs 4", target="source", source="a")
HAND_EDIT = line(1, "by hand", target="derived")


async def forget(stack) -> None:
    """What a restart does to the daemon's sections."""
    await stack.client.delete_under("t/")


@pytest.mark.parametrize("edits", [[], [SOURCE_EDIT], [SOURCE_EDIT, HAND_EDIT], [HAND_EDIT]])
@pytest.mark.parametrize("derived", ["It is 3.\nSecond.", "\n", None])
async def test_a_kept_section_is_opened_again_just_as_it_was(make_stack, edits, derived: str | None) -> None:
    if derived is None:
        edits = [edit for edit in edits if edit.target == "source"]
    stack = await make_stack(answer="It is 4.")
    kept = await stack.client.keep("t/d/s", opening(derived=derived))
    if edits:
        await kept.edit(EditsRequest(edits=edits, pinned=["Q"]))
    before = replace(stack.service.table.get("t/d/s"), revision=0)
    await forget(stack)
    events = [event async for event in kept.refresh(RefreshRequest(baseline=True))]
    assert isinstance(events[-1], DoneEvent)
    after = stack.service.table.get("t/d/s")
    assert after == replace(before.refreshed("It is 4."), revision=after.revision) == kept.section
    assert events[0].kind == before.kind


async def test_a_kept_section_takes_an_edit_after_a_restart(make_stack) -> None:
    stack = await make_stack()
    kept = await stack.client.keep("t/d/s", opening(derived="x\ny"))
    async for _ in kept.refresh(RefreshRequest(sources=[Source(name="c", text="C")], instruction="Go.")):
        pass
    before = stack.service.table.get("t/d/s")
    await forget(stack)
    answer = await kept.edit(EditsRequest(edits=[HAND_EDIT]))
    after = stack.service.table.get("t/d/s")
    assert after == kept.section
    assert (after.instruction, after.sources, after.written) == ("Go.", before.sources, before.derived)
    assert answer.revision == after.revision


async def test_a_kept_section_raises_what_opening_again_cannot_mend(make_stack) -> None:
    stack = await make_stack()
    kept = await stack.client.keep("t/d/s", opening(derived="x"))
    await stack.client.edit("t/d/s", EditsRequest(edits=[]))
    with pytest.raises(DaemonError, match="stale_revision"):
        await kept.edit(EditsRequest(edits=[]))
    with pytest.raises(DaemonError, match="stale_revision"):
        async for _ in kept.refresh(RefreshRequest()):
            pass
