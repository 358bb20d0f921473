import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from daemon import boundary
from daemon.auth import EVERYBODY
from daemon.boundary import Boundary

pytestmark = pytest.mark.anyio
App = Callable[[Scope, Receive, Send], Awaitable[None]]
LIMIT = 8


@pytest.fixture
def post(monkeypatch: pytest.MonkeyPatch):
    """`answer = await post(app, body)`: through the boundary, with a limit of LIMIT bytes."""
    monkeypatch.setattr(boundary, "BODY_LIMIT_BYTES", LIMIT)

    async def post(app: App, body: bytes | AsyncIterator[bytes] = b"") -> httpx.Response:
        transport = httpx.ASGITransport(Boundary(app, EVERYBODY))
        async with httpx.AsyncClient(transport=transport, base_url="http://daemon") as http:
            return await http.post("/", content=body)

    return post


async def echo(_: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def pieces(*bodies: bytes) -> AsyncIterator[bytes]:
    for body in bodies:
        yield body


async def test_a_body_of_the_limit_comes_whole(post) -> None:
    assert (await post(echo, b"12345678")).content == b"12345678"
    assert (await post(echo, pieces(b"1234", b"", b"5678"))).content == b"12345678"


@pytest.mark.parametrize("chunks", [[b"123456789"], [b"12345678", b"9"], [b"1"] * 20])
async def test_a_body_over_the_limit_is_too_large(post, chunks: list[bytes]) -> None:
    for body in (b"".join(chunks), pieces(*chunks)):
        answer = await post(echo, body)
        assert (answer.status_code, answer.json()["error"], answer.json()["limit"]) == (
            413,
            "too_large",
            LIMIT,
        )


async def test_a_bug_is_answered_in_json_and_logged_without_its_message(post, caplog) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise KeyError("secret " + "text")

    answer = await post(broken)
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert "KeyError" in caplog.text
    assert "secret text" not in caplog.text + answer.text


async def test_a_bug_in_a_started_answer_is_logged_and_adds_nothing(post, caplog) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await echo(scope, receive, send)
        raise KeyError

    assert (await post(broken, b"1")).content == b"1"
    assert caplog.records[-1].levelno == logging.ERROR


async def test_the_layer_stays_out_of_a_disconnect() -> None:
    messages = [
        {"type": "http.request", "body": b"12", "more_body": True},
        {"type": "http.request", "body": b"3", "more_body": False},
        {"type": "http.disconnect"},
    ]
    for count in (1, 2):
        queue: asyncio.Queue = asyncio.Queue()
        for message in [*messages[:count], messages[-1]]:
            queue.put_nowait(message)
        heard: list[object] = []

        async def listen(_: Scope, receive: Receive, send: Send, heard: list[object] = heard) -> None:
            heard += [(await receive()).get("body"), (await receive())["type"]]

        await Boundary(listen, EVERYBODY)(
            {"type": "http", "path": "/", "method": "POST", "headers": []}, queue.get, echo
        )
        assert heard == ([] if count == 1 else [b"123", "http.disconnect"])


@pytest.mark.parametrize(("has_started", "statuses"), [(False, [503, None]), (True, [200])])
async def test_what_the_server_ends_is_answered_once(has_started: bool, statuses: list) -> None:
    sent: list[dict] = []
    hangs = asyncio.Event()

    async def keep(message: dict) -> None:
        sent.append(message)

    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        if has_started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        hangs.set()
        await asyncio.Event().wait()

    async def receive() -> dict:
        return {"type": "http.request", "body": b""}

    request = {"type": "http", "path": "/", "method": "POST", "headers": []}
    serving = asyncio.create_task(Boundary(hang, EVERYBODY)(request, receive, keep))
    await hangs.wait()
    serving.cancel()
    await serving
    assert [message.get("status") for message in sent] == statuses
