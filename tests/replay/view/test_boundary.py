import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from replay.view.boundary import Boundary, is_ours


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.add_middleware(Boundary)
    app.get("/page")(lambda: "shown")
    app.post("/race")(lambda: "raced")
    return TestClient(app, base_url="http://127.0.0.1:8790")


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1:8790", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("[::1]:8790", True),
        ("evil.example:8790", False),
        ("127.0.0.1.evil.example", False),
        ("evil.example@127.0.0.1:80", True),
        ("127.0.0.1@evil.example", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_only_this_machine_s_names_are_ours(host: str, ours: bool) -> None:
    assert is_ours(host) is ours


def test_a_foreign_name_that_points_here_is_refused(client: TestClient) -> None:
    answer = client.get("/page", headers={"host": "evil.example:8790"})
    assert (answer.status_code, answer.text) == (
        421,
        "redraft view answers on 127.0.0.1 and localhost only\n",
    )


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        pytest.param({}, 200, id="none"),
        pytest.param({"origin": "http://127.0.0.1:8790"}, 200, id="ours"),
        pytest.param({"origin": "http://evil.example"}, 403, id="foreign"),
        pytest.param({"origin": "http://127.0.0.1:9999"}, 403, id="another port"),
        pytest.param({"origin": "https://127.0.0.1:8790"}, 403, id="another scheme"),
        pytest.param({"origin": "null"}, 403, id="null"),
    ],
)
def test_another_page_may_look_but_not_send(client: TestClient, origin: dict, status: int) -> None:
    assert client.post("/race", headers=origin).status_code == status
    assert client.get("/page", headers=origin).status_code == 200


def test_every_answer_forbids_what_is_not_ours(client: TestClient) -> None:
    for answer in (client.get("/page"), client.get("/nowhere"), client.get("/", headers={"host": "x"})):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
