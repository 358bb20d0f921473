import json

import httpx
import pytest

pytestmark = pytest.mark.anyio

SECTION = "/v1/sessions/t/d/s"
OPEN = {"instruction": "Sum up.", "sources": [{"name": "doc", "text": "one\ntwo"}], "derived": "old text"}


@pytest.fixture
async def http(exits, make_stack):
    stack = await make_stack()
    return await exits.enter_async_context(httpx.AsyncClient(base_url=stack.url, trust_env=False))


async def test_the_published_exchange(http: httpx.AsyncClient) -> None:
    answer = await http.put(SECTION, json=OPEN)
    assert (answer.status_code, answer.json()) == (
        200,
        {"session_id": "t/d/s", "revision": 1, "derived_tokens": 2},
    )
    edit = {"target": "source", "source": "doc", "start": 1, "end": 2, "lines": ["2"]}
    answer = await http.post(SECTION + "/edits", json={"base_revision": 1, "edits": [edit]})
    assert answer.json() == {"session_id": "t/d/s", "revision": 2, "derived_tokens": 2}
    answer = await http.get(SECTION)
    assert answer.json() == {
        "session_id": "t/d/s",
        "revision": 2,
        "instruction": "Sum up.",
        "sources": [{"name": "doc", "text": "one\n2"}],
        "derived": "old text",
        "pinned": [],
        "max_tokens": 512,
    }
    answer = await http.post(SECTION + "/refresh", json={"base_revision": 2})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    events = [block.split("\n") for block in answer.text.split("\n\n")[:-1]]
    assert [name.removeprefix("event: ") for name, _ in events][:: len(events) - 1] == ["open", "done"]
    assert all(json.loads(data.removeprefix("data: ")) for _, data in events)
    answer = await http.delete(SECTION)
    assert answer.json() == {"deleted": 1, "slots_erased": [0], "slots_unerased": []}
    assert (await http.get(SECTION)).json()["error"] == "unknown_session"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        pytest.param("GET", "/v1/sessions/t/d", None, 400, "bad_session_id", id="two segments"),
        pytest.param("GET", "/v1/sessions/t/d/s%20x", None, 400, "bad_session_id", id="a space"),
        pytest.param("POST", "/v1/sessions/t//s/refresh", {}, 400, "bad_session_id", id="an empty segment"),
        pytest.param("PUT", SECTION + "%0A", OPEN, 400, "bad_session_id", id="a newline at the end"),
        pytest.param("PUT", "/v1/sessions/t/d%0A/s", OPEN, 400, "bad_session_id", id="a newline within"),
        pytest.param("POST", SECTION + "/edits%0A", {}, 400, "bad_session_id", id="a newline after the verb"),
        pytest.param("PUT", "/v1/sessions/t/%2E%2E/s", OPEN, 400, "bad_session_id", id="dots"),
        pytest.param("DELETE", "/v1/sessions?prefix=t/d", None, 400, "bad_prefix", id="no last slash"),
        pytest.param("DELETE", "/v1/sessions", None, 400, "bad_prefix", id="no prefix"),
        pytest.param("GET", SECTION, None, 404, "unknown_session", id="get nothing"),
        pytest.param("POST", SECTION + "/refresh", {}, 404, "unknown_session", id="refresh nothing"),
        pytest.param("POST", SECTION + "/edits", {"edits": []}, 404, "unknown_session", id="edit nothing"),
        pytest.param("GET", "/v2", None, 404, "not_found", id="no route"),
        pytest.param("POST", "/healthz", {}, 405, "method_not_allowed", id="no method"),
        pytest.param("PUT", SECTION, {}, 422, "invalid_request", id="empty body"),
        pytest.param("PUT", SECTION, {**OPEN, "extra": 1}, 422, "invalid_request", id="unknown field"),
        pytest.param("PUT", SECTION, {**OPEN, "max_tokens": 0}, 422, "invalid_request", id="no tokens"),
        pytest.param(
            "PUT", SECTION, {**OPEN, "sources": OPEN["sources"] * 2}, 422, "invalid_request", id="twins"
        ),
        pytest.param(
            "POST",
            SECTION + "/refresh",
            {"mode": "tolerant", "tau": 0.5, "floor": 1},
            422,
            "invalid_request",
            id="floor above tau",
        ),
    ],
)
async def test_refusals_have_a_code_and_one_line(http, method, path, body, status: int, error: str) -> None:
    answer = await http.request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"instruction": "\\ud800", "sources": []}',
        b'{"instruction": "", "sources": [], "pinned": ["\\udfff"]}',
        b'{"instruction": "", "sources": [], "a\\nb\\ud800": 1}',
        b'{"instruction": "", "sources": [], "max_tokens": NaN}',
        b"[" * 100_000,
    ],
)
async def test_a_body_that_cannot_be_right_is_refused_in_one_line(http, content: bytes) -> None:
    answer = await http.put(SECTION, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert "\n" not in answer.json()["detail"]
    assert (await http.get("/healthz")).json()["sessions"] == 0


async def test_an_invalid_field_is_named(http: httpx.AsyncClient) -> None:
    sources = [{"name": "a"}, {"text": "b"}]
    answer = await http.put(SECTION, json={"instruction": "x", "sources": sources})
    assert answer.json()["detail"] == "sources.0.text: Field required"
    answer = await http.put(SECTION, json={**OPEN, "extra": 1})
    assert answer.json()["detail"] == "body: Value error, unknown field 'extra'"


async def test_bad_ranges_and_stale_revisions_apply_nothing(http: httpx.AsyncClient) -> None:
    await http.put(SECTION, json=OPEN)
    edits = [
        {"target": "derived", "start": 0, "end": 1, "lines": ["applied?"]},
        {"target": "derived", "start": 0, "end": 5, "lines": []},
    ]
    for route in ("/edits", "/refresh"):
        answer = await http.post(SECTION + route, json={"edits": edits})
        assert (answer.status_code, answer.json()["error"]) == (422, "bad_range")
        answer = await http.post(SECTION + route, json={"edits": edits[:1], "base_revision": 9})
        assert (answer.status_code, answer.json()["error"]) == (409, "stale_revision")
        assert answer.json()["revision"] == 1
    assert (await http.get(SECTION)).json()["derived"] == "old text"


async def test_busy_says_when_to_come_back(make_stack) -> None:
    stack = await make_stack({"queue_depth": 0})
    await stack.open("t/d/a")
    await stack.open("t/d/b")
    gate = stack.engine.gate("prefill")
    running = stack.start("t/d/a")
    await stack.reached(gate)
    async with httpx.AsyncClient(base_url=stack.url, trust_env=False) as http:
        answer = await http.post("/v1/sessions/t/d/b/refresh", json={})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json()["retry_after_ms"] == 1000
    gate.open.set()
    await running


async def test_health_is_503_only_when_down(make_stack) -> None:
    stack = await make_stack({"slots": 2})
    async with httpx.AsyncClient(base_url=stack.url, trust_env=False) as http:
        answer = await http.get("/healthz")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        stack.engine.fail["/props"] = 503
        answer = await http.get("/healthz")
        assert (answer.status_code, answer.json()["status"]) == (503, "down")
