import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import HeldSpan
from daemon.wire import DeltaEvent, RefreshRequest, SpanEvent
from replay.client import Client, events, held_spans
from replay.errors import ServiceDown, ServiceError, ServiceTimeout, SettingsError

REFRESH = RefreshRequest(tau=3.0, floor=1.0)
SECTION = "t/d/s"
text = st.text(st.characters(exclude_categories=["Cs"]))


def answering(content: bytes, status: int = 200, **headers: str) -> Client:
    answer = httpx.MockTransport(lambda request: httpx.Response(status, content=content, headers=headers))
    return Client("http://daemon/", transport=answer)


@given(texts=st.lists(text, max_size=5), cut=st.integers(1, 7), end=st.sampled_from([b"\n", b"\r\n"]))
def test_events_arrive_whole_however_the_bytes_are_cut(
    make: Any, texts: list[str], cut: int, end: bytes
) -> None:
    stream = b"".join(make.sse("delta", text=part, kind="new") for part in texts).replace(b"\n", end)
    chunks = [stream[at : at + cut] for at in range(0, len(stream), cut)]
    assert [event.text for event in events(chunks) if isinstance(event, DeltaEvent)] == texts


@pytest.mark.parametrize("part", ["one\u2028two", "a\u0085b", "x\ry", "\x0b\x0c\x1c"])
def test_exotic_line_separators_do_not_cut_an_event(part: str) -> None:
    raw = f'event: delta\ndata: {{"text": "{part}", "kind": "new"}}\n\n'.encode()
    if part.isprintable() or "\u2028" in part or "\u0085" in part:
        assert [event.text for event in events([raw]) if isinstance(event, DeltaEvent)] == [part]
    else:
        with pytest.raises(ValueError, match="control character"):
            list(events([raw]))


def test_unknown_events_and_comments_are_passed_over(make: Any) -> None:
    raw = b": ping\n\n" + make.sse("novelty", x=1) + make.sse("delta", text="a", kind="new")
    assert [event.text for event in events([raw]) if isinstance(event, DeltaEvent)] == ["a"]


@given(parts=st.lists(text, min_size=1, max_size=6))
def test_utf16_spans_become_code_points(parts: list[str]) -> None:
    whole = "".join(parts)
    spans, expected, at, units = [], [], 0, 0
    for part in parts:
        end, end_units = at + len(part), units + len(part.encode("utf-16-le")) // 2
        spans.append(SpanEvent(kind="held", old=(units, end_units), new=(units, end_units)))
        expected.append(HeldSpan(at, end, at, end))
        at, units = end, end_units
    assert held_spans(spans, whole, whole) == tuple(expected)


@pytest.mark.parametrize("span", [(0, 1), (1, 2), (0, 9), (2, 0)])
def test_a_span_that_cuts_a_character_or_leaves_the_text_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(ServiceError, match="does not lie on characters"):
        held_spans([SpanEvent(kind="held", old=span, new=(0, 2))], "\U0001f600", "\U0001f600")


def test_a_token_goes_into_every_request_and_no_message() -> None:
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(401, json={"error": "unauthorized"})

    client = Client("http://daemon", token="secret", transport=httpx.MockTransport(answer))
    with pytest.raises(ServiceError, match="401") as raised:
        client.health()
    assert seen == ["Bearer secret"]
    assert "secret" not in str(raised.value)
    with pytest.raises(SettingsError, match="printable ASCII"):
        Client("http://daemon", token="se\ncret")


def test_refresh_gives_text_spans_and_figures(make: Any) -> None:
    stream = (
        make.sse("delta", text="Ava", kind="new")
        + make.sse("span", kind="replaced", old=[0, 2], new=[0, 3], text="Ava")
        + make.sse("delta", text=" owns", kind="held")
        + make.sse("span", kind="held", old=[2, 7], new=[3, 8])
        + make.done("Ava owns")
    )
    refreshed = answering(stream).refresh(SECTION, REFRESH, "Bo owns")
    assert refreshed.text == "Ava owns"
    assert refreshed.spans == (HeldSpan(2, 7, 3, 8),)
    assert refreshed.done.divergences == 1
    assert refreshed.wall_ms > 0


@pytest.mark.parametrize(
    ("stream", "said", "retryable"),
    [
        pytest.param(b"", "ended without a result", True, id="ends at once"),
        pytest.param(b'event: done\ndata: {"revision"', "ended without a result", True, id="cut in an event"),
        pytest.param(b"event: done\ndata: {}\n\n", "is this redraftd?", False, id="another done"),
        pytest.param(b"event: delta\ndata: {\n\n", "is this redraftd?", False, id="not JSON"),
        pytest.param(b"event: delta\ndata: \xff\n\n", "is this redraftd?", False, id="not UTF-8"),
        pytest.param(b'event: cancelled\ndata: {"revision": 3}\n\n', "superseded", True, id="cancelled"),
        pytest.param(
            b'event: error\ndata: {"code": "engine_failed", "detail": "boom"}\n\n',
            "engine_failed boom",
            True,
            id="engine failed",
        ),
    ],
)
def test_a_stream_without_a_good_end_is_an_error(stream: bytes, said: str, retryable: bool) -> None:
    with pytest.raises(ServiceError) as error:
        answering(stream).refresh(SECTION, REFRESH, "")
    assert said in str(error.value)
    assert error.value.retryable is retryable


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (413, False), (429, True), (503, True)])
def test_a_refusal_tells_status_reason_and_whether_to_try_again(status: int, retryable: bool) -> None:
    client = answering(b'{"error": "busy"}', status, **{"retry-after": "2"})
    with pytest.raises(ServiceError) as error:
        client.refresh(SECTION, REFRESH, "")
    assert str(status) in str(error.value)
    assert "busy" in str(error.value)
    assert (error.value.retryable, error.value.retry_after_s) == (retryable, 2.0)


def test_a_page_of_something_else_is_an_error_with_the_address() -> None:
    with pytest.raises(ServiceError, match="http://daemon/healthz: is this redraftd"):
        answering(b"<html>").health()


@pytest.mark.parametrize("url", ["daemon:8787", "http://", "nonsense", "http://[::1"])
def test_an_address_that_is_none_is_an_error(url: str) -> None:
    with pytest.raises((ServiceError, ServiceDown)):
        Client(url).must_be_alive()


def test_down_is_down_and_degraded_is_not(make: Any) -> None:
    make.daemon(health={"status": "degraded"}).client().must_be_alive()
    with pytest.raises(ServiceDown, match="lost its engine"):
        make.daemon(health={"status": "down"}).client().must_be_alive()


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_hangs_is_a_timeout(silent: str) -> None:
    client = Client(silent, silence_s=0.2)
    with pytest.raises(ServiceTimeout, match="no answer in time"):
        client.refresh(SECTION, REFRESH, "")
    client.close()


def test_a_stream_that_never_ends_is_a_timeout(make: Any) -> None:
    goes_on = threading.Event()

    def drip() -> Iterator[bytes]:
        while not goes_on.is_set():
            yield make.sse("delta", text="a", kind="new")

    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=drip()))
    client = Client("http://daemon", refresh_s=0.05, transport=transport)
    with pytest.raises(ServiceTimeout, match="not done after"):
        client.refresh(SECTION, REFRESH, "")
