import json

import httpx
import pytest

from daemon.wire import DeltaEvent, DoneEvent, OpenRequest, RefreshRequest, Source
from replay.errors import ServiceError
from replay.view.sections import Sections

pytestmark = pytest.mark.anyio
OPENING = OpenRequest(instruction="Say it.", sources=[Source(name="a", text="Bo")])


def sections(answer) -> Sections:
    return Sections("http://daemon", "secret", httpx.MockTransport(answer))


async def refreshed(answer) -> list:
    async with sections(answer) as daemon:
        return [event async for event in daemon.refresh("t/d/s", RefreshRequest())]


async def test_requests_carry_the_token_and_the_body() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    async with sections(answer) as daemon:
        await daemon.open("t/d/s", OPENING)
        await daemon.delete("t/d/s")
    opened, deleted = seen
    assert (opened.method, opened.url.path) == ("PUT", "/v1/sessions/t/d/s")
    assert json.loads(opened.content)["instruction"] == "Say it."
    assert deleted.method == "DELETE"
    assert opened.headers["authorization"] == "Bearer secret"


async def test_a_refresh_gives_its_events_up_to_done(make) -> None:
    body = (
        make.sse("delta", text="a\u2028b", kind="new")
        + make.done("a")
        + make.sse("delta", text="late", kind="new")
    )
    delta, done = await refreshed(lambda request: httpx.Response(200, content=body))
    assert delta == DeltaEvent(text="a\u2028b", kind="new")
    assert isinstance(done, DoneEvent)


def _no_daemon(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


def _silent(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("silent")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(_no_daemon, "http://daemon/v1/sessions/t/d/s/refresh: refused", id="no daemon"),
        pytest.param(_silent, "no answer in time", id="silent"),
        pytest.param(
            lambda r: httpx.Response(429, json={"error": "busy", "detail": "try later"}),
            "429 busy try later",
            id="busy",
        ),
        pytest.param(lambda r: httpx.Response(404, text="<h1>no"), "404 <h1>no", id="something else"),
        pytest.param(
            lambda r: httpx.Response(200, content=b"event: what\ndata: {}\n\n"),
            "is this redraftd",
            id="no event",
        ),
        pytest.param(lambda r: httpx.Response(200, content=b""), "ended without a result", id="cut short"),
        pytest.param(
            lambda r: httpx.Response(200, content=b'event: error\ndata: {"code":"engine_failed"}\n\n'),
            "the daemon gave up: engine_failed",
            id="engine failed",
        ),
        pytest.param(
            lambda r: httpx.Response(200, content=b'event: cancelled\ndata: {"revision":2}\n\n'),
            "another request superseded",
            id="superseded",
        ),
    ],
)
async def test_what_goes_wrong_is_one_line(answer, said: str) -> None:
    with pytest.raises(ServiceError, match=said) as caught:
        await refreshed(answer)
    assert "\n" not in str(caught.value)


async def test_health_tells_the_model(make) -> None:
    daemon = make.daemon()
    async with sections(daemon.handle) as client:
        assert (await client.health()).model.name == "m"
