import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from daemon.exchange import Exchange

pytestmark = pytest.mark.anyio
COMPLETION = {"prompt": [0], "n_predict": 50, "id_slot": 0}


@pytest.fixture
async def served(serve_engine):
    served = await serve_engine()
    served.fake.tokenize("word")
    return served


@pytest.fixture
async def http(served) -> AsyncIterator[httpx.AsyncClient]:
    """A client that closes each connection that it is done with."""
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=served.url, limits=limits, trust_env=False) as http:
        yield http


async def asked(http: httpx.AsyncClient) -> tuple[int, bytes]:
    async with Exchange(http, "POST", "/completion", json=COMPLETION) as answer:
        return answer.status, await answer.body()


async def cut(work: Awaitable, steps: int, times: int) -> bool:
    """Cancel it after so many steps of the loop, once or in several steps; whether it was over by then."""
    task = asyncio.ensure_future(work)
    for _ in range(steps):
        await asyncio.sleep(0)
    was_over = task.done()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([task])
    return was_over


async def test_an_answer_comes_with_its_status_in_blocks(http) -> None:
    status, body = await asked(http)
    async with Exchange(http, "POST", "/completion", json=COMPLETION) as answer:
        blocks = [block async for block in answer]
    assert (status, b"".join(blocks)) == (200, body)
    assert body.startswith(b"data: {")


async def test_what_httpx_raises_comes_out(http, served) -> None:
    served.fake.fail["stream"] = 0
    with pytest.raises(httpx.RemoteProtocolError):
        await asked(http)
    await served.stop()
    with pytest.raises(httpx.ConnectError):
        await asked(http)


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_given_up_at_any_moment_it_leaves_no_connection(
    http, served, until: Callable, times: int
) -> None:
    steps = 0
    while not await cut(asked(http), steps, times):
        steps += 1
    assert steps > 10
    await until(lambda: served.fake.streams == len(http._transport._pool.connections) == 0)
    assert served.connections == 0


async def test_given_up_before_it_has_a_connection_it_asks_for_nothing(http, served, until) -> None:
    await cut(asked(http), 2, 1)
    await asked(http)
    await until(lambda: not http._transport._pool.connections)
    assert len(served.fake.requests) == 1
