"""What the holder of one tenant's token can find out about another's: nothing."""

import asyncio
import hashlib
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.anyio
OPEN = {"instruction": "Sum up.", "sources": [{"name": "doc", "text": "KIWI-1"}], "derived": "KIWI-1"}
EDIT = {"edits": []}


@pytest.fixture
def tokens_file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    lines = [("all", "*"), ("ada", "t"), ("eve", "e")]
    path.write_text(
        "\n".join(f"sha256:{hashlib.sha256(name.encode()).hexdigest()} {it}" for name, it in lines)
    )
    return path


@pytest.fixture
def callers(make_app, tokens_file: Path):
    """An HTTP client per token, of one daemon."""
    app = make_app({"tokens_file": tokens_file}, answer="{prompt}")

    def caller(token: str | None) -> httpx.AsyncClient:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        transport = httpx.ASGITransport(app)
        return httpx.AsyncClient(transport=transport, base_url="http://daemon", headers=headers)

    return caller


ROUTES = [
    ("PUT", "", OPEN),
    ("GET", "", None),
    ("DELETE", "", None),
    ("POST", "/edits", EDIT),
    ("POST", "/refresh", {}),
]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        *((method, "/v1/sessions/t/d/s" + path, body) for method, path, body in ROUTES),
        ("DELETE", "/v1/sessions?prefix=t/", None),
        ("PUT", "/v1/canaries", {"passed": 1, "failed": 0}),
        ("GET", "/openapi.json", None),
        ("GET", "/nowhere", None),
        ("GET", "/v1/sessions/t/d", None),
        ("PUT", "/healthz/", None),
    ],
)
@pytest.mark.parametrize("token", [None, "", "other", "ad", "adaa"])
async def test_without_a_token_of_ours_every_route_but_two_is_closed(
    callers, method, path, body, token
) -> None:
    answer = await callers(token).request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
async def test_two_routes_are_open(callers, path: str) -> None:
    assert (await callers(None).get(path)).status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
async def test_a_foreign_section_answers_as_one_that_is_not_there(callers, method, path, body) -> None:
    ada, eve = callers("ada"), callers("eve")
    assert (await ada.put("/v1/sessions/t/d/s", json=OPEN)).status_code == 200
    answers = [
        await eve.request(method, f"/v1/sessions/{session_id}{path}", json=body)
        for session_id in ("t/d/s", "t/d/guess", "other/d/s")
    ]
    assert [answer.status_code for answer in answers] == [403] * 3
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].json()["error"] == "forbidden_tenant"
    assert (await ada.get("/v1/sessions/t/d/s")).json()["revision"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"), [("PUT", "", {}), ("POST", "/edits", {}), ("POST", "/refresh", {"x": 1})]
)
async def test_the_scope_comes_before_the_body(callers, method, path, body) -> None:
    answer = await callers("eve").request(method, "/v1/sessions/t/d/s" + path, json=body)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("prefix=t/", 403),
        ("prefix=t/d/", 403),
        ("prefix=e/&prefix=t/", 403),
        ("prefix=t/&prefix=e/", 200),
        ("prefix=e", 400),
        ("prefix=", 400),
        ("", 400),
        ("prefix=%2A/", 400),
        ("prefix=e/../t/", 400),
        ("prefix=e%2Ft/", 200),
    ],
)
async def test_a_prefix_reaches_no_further_than_the_scope(callers, query: str, status: int) -> None:
    ada, eve = callers("ada"), callers("eve")
    await ada.put("/v1/sessions/t/d/s", json=OPEN)
    answer = await eve.delete(f"/v1/sessions?{query}")
    assert answer.status_code == status
    assert status != 200 or answer.json()["deleted"] == 0
    assert (await ada.get("/v1/sessions/t/d/s")).status_code == 200


@pytest.mark.parametrize(
    "path", ["e%2F..%2Ft/d/s", "e/../t/d/s", "e%2Fd%2Fs/../../t", "%65/%2E%2E/t", "E/d/s"]
)
async def test_no_spelling_of_a_path_leads_elsewhere(callers, path: str) -> None:
    await callers("ada").put("/v1/sessions/t/d/s", json=OPEN)
    url = httpx.URL("http://daemon", raw_path=f"/v1/sessions/{path}".encode())
    answer = await callers("eve").get(url)
    assert answer.status_code in {400, 403, 404}
    assert "KIWI" not in answer.text


async def test_a_prefix_ends_at_its_slash(callers) -> None:
    all_tenants = callers("all")
    for session_id in ("t/doc-1/s", "t/doc-10/s", "t1/doc-1/s"):
        await all_tenants.put(f"/v1/sessions/{session_id}", json=OPEN)
    assert (await all_tenants.delete("/v1/sessions?prefix=t/doc-1/")).json()["deleted"] == 1
    assert (await all_tenants.get("/v1/sessions/t/doc-10/s")).status_code == 200
    assert (await all_tenants.delete("/v1/sessions?prefix=t/")).json()["deleted"] == 1
    assert (await all_tenants.get("/v1/sessions/t1/doc-1/s")).status_code == 200


async def test_canaries_are_for_who_may_see_all(callers) -> None:
    report = {"passed": 3, "failed": 1}
    assert (await callers("ada").put("/v1/canaries", json=report)).status_code == 403
    assert (await callers("all").put("/v1/canaries", json=report)).status_code == 204
    assert "redraft_canary_failed 1.0" in (await callers(None).get("/metrics")).text


async def test_what_a_slot_holds_of_one_tenant_does_not_show_in_anothers_counts(make_stack) -> None:
    stack = await make_stack()
    for session_id in ("a/d/s", "a/d/r", "b/d/s", "b/d/s"):
        await stack.open(session_id)
        await stack.refresh(session_id)
    assert [request["cache_prompt"] for request in stack.engine.requests] == [True, True, False, True]
    assert [request["cache_salt"] for request in stack.engine.requests] == ["a", "a", "b", "b"]


async def test_nothing_of_a_tenant_is_in_metrics_or_logs(callers, caplog) -> None:
    ada = callers("ada")
    with caplog.at_level("DEBUG", logger="daemon"):
        await ada.put("/v1/sessions/t/secret-plan/s", json=OPEN)
        answer = await ada.post("/v1/sessions/t/secret-plan/s/refresh", json={})
        await asyncio.sleep(0)
    assert "KIWI-1" in answer.text
    assert "event: done" in answer.text
    figures = (await callers(None).get("/metrics")).text
    assert 'redraftd_refreshes_total{outcome="done"} 1.0' in figures
    assert "secret-plan" not in figures
    records = [record for record in caplog.records if record.name.startswith("daemon")]
    assert {record.getMessage() for record in records} >= {"request", "refresh"}
    assert "KIWI" not in repr([record.__dict__ for record in records])
    assert "ada" not in repr([record.__dict__ for record in records])
