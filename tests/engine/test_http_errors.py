import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import httpx
import pytest
from pydantic import BaseModel

from engine.fake_model import FakeModel
from engine.http_errors import MAX_BODY_BYTES
from engine.openai_wire import ChatRequest, TextRequest
from engine.wire import (
    ApplyTemplateRequest,
    CompletionRequest,
    DetokenizeRequest,
    SlotFile,
    Stabilize,
    TokenizeRequest,
)


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
def test_a_body_that_is_too_large_is_413(declared: bool, client: httpx.Client, error: Callable) -> None:
    data = b'{"content": "' + b"a" * MAX_BODY_BYTES + b'"}'
    content = data if declared else iter([data[:1000], data[1000:]])
    response = client.post("/tokenize", content=content, headers={"content-type": "application/json"})
    status, kind, message = error(response)
    assert (status, kind) == (413, "invalid_request_error")
    assert message.startswith(f"body: above {MAX_BODY_BYTES} bytes")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b'{"prompt": NaN}', b'{"seed": ' + b"1" * 5000 + b"}"],
    ids=["empty", "cut", "deep", "no UTF-8", "null", "NaN", "a huge number"],
)
def test_a_body_that_is_no_json_object_is_400(content: bytes, client: httpx.Client, error: Callable) -> None:
    response = client.post("/completion", content=content, headers={"content-type": "application/json"})
    status, _, message = error(response)
    assert status == 400
    assert message.startswith(("body: ", "prompt: "))


@pytest.mark.parametrize("kind", [None, "application/x-www-form-urlencoded", "text/plain"])
def test_a_body_that_is_not_said_to_be_json_is_told_how(
    kind: str | None, client: httpx.Client, error: Callable
) -> None:
    """curl's -d without -H; taking it would let any web page send requests."""
    headers = {} if kind is None else {"content-type": kind}
    response = client.post("/completion", content=b'{"prompt": "a"}', headers=headers)
    assert error(response)[::2] == (
        400,
        "body: is not said to be JSON; send the header content-type: application/json",
    )


def test_only_the_field_that_is_wrong_is_named(client: httpx.Client, error: Callable) -> None:
    """What is made from it cannot be made then, and says nothing."""
    for wrong in ({"tau": -1}, {"tau": 1, "floor": 2}, {"strict": [[5, 1]]}):
        body = {"prompt": "a", "redraft_stabilize": wrong}
        status, _, message = error(client.post("/completion", json=body))
        assert status == 400
        assert message.startswith("redraft_stabilize")
        assert ";" not in message
        assert "Value error" not in message


def test_unknown_routes_have_the_same_error_shape(client: httpx.Client, error: Callable) -> None:
    assert error(client.get("/nope"))[:2] == (404, "not_found_error")
    assert error(client.get("/completion"))[0] == 405


VALID: dict[str, tuple[type[BaseModel], dict[str, object]]] = {
    "/completion": (CompletionRequest, {"prompt": "the plan", "n_predict": 3}),
    "/completion draft": (Stabilize, {"old_output": [5, 6], "max_tokens": 3}),
    "/tokenize": (TokenizeRequest, {"content": "the plan"}),
    "/detokenize": (DetokenizeRequest, {"tokens": [5]}),
    "/apply-template": (ApplyTemplateRequest, {"messages": [{"role": "user", "content": "a"}]}),
    "/slots/0?action=save": (SlotFile, {"filename": "a"}),
    "/slots/0?action=restore": (SlotFile, {"filename": "a"}),
    "/slots/1?action=erase": (SlotFile, {"filename": "a"}),
    "/v1/completions": (TextRequest, {"prompt": "the plan", "max_tokens": 3}),
    "/v1/chat/completions": (
        ChatRequest,
        {"messages": [{"role": "user", "content": "a"}], "max_tokens": 3},
    ),
}
JUNK = [
    None, True, False, 0, -1, 1, 3, 2**31, 2**64, -(10**30), 1.5, 1e308, float("nan"), float("inf"), "", "a",
    "\ud800", "\0", "../../a", "🧂" * 50, "root ::= [", "root ::= root root", [], [[]], [None], [1, -1],
    [2**40], ["a"], [[0, 1]], [[5, 1]], {}, {"a": {}}, {"type": "json_schema"}, {"type": "object"},
    {"$ref": "#/a"}, {"properties": {"a": 3}}, {"role": "user", "content": [{"type": "image"}]},
    [{"role": "assistant"}], [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
]  # fmt: skip


def malformed(route: str, random: Random) -> bytes:
    """A body that is right but for one to three fields, or cut somewhere."""
    model, valid = VALID[route]
    names = [field.alias or name for name, field in model.model_fields.items()] + ["tools", "unknown"]
    body = {**valid, **{name: random.choice(JUNK) for name in random.sample(names, random.randint(1, 3))}}
    if route == "/completion draft":
        body = {"prompt": "the plan", "n_predict": 3, "redraft_stabilize": body}
    data = json.dumps(body).encode()
    return data[: random.randrange(len(data))] if random.random() < 0.1 else data


@pytest.mark.parametrize("route", VALID)
def test_200_malformed_bodies_make_no_server_error_and_no_hang(
    route: str, in_process: Callable, tmp_path: Path
) -> None:
    model, random = FakeModel(slots=2, ctx=64), Random(f"malformed {route}")
    (tmp_path / "slots").mkdir()
    engine = in_process(model, slot_save_path=tmp_path / "slots")
    head = {"content-type": "application/json"}
    engine.ask(("POST", "/slots/0?action=save", {"json": {"filename": "a"}}))
    bodies = [malformed(route, random) for _ in range(200)]
    answers = engine.ask(
        *(("POST", route.partition(" ")[0], {"content": body, "headers": head}) for body in bodies)
    )
    assert {answer.status_code for answer in answers} <= {200, 400}
    assert len({answer.status_code for answer in answers}) == 2
    for answer in answers:
        if answer.status_code == 400:
            assert answer.json()["error"]["message"]
    assert engine.ask(("GET", "/health", {}))[0].status_code == 200
    assert not any(slot.generation for slot in engine.ready.worker.slots)
    folder = tmp_path / "slots"
    assert [path for path in tmp_path.rglob("*") if path.parent != folder and path != folder] == []


@pytest.mark.parametrize(
    "path",
    ["/slots/x?action=erase", "/slots/0", "/slots/-1?action=erase", "/slots/0?action=\ud800", "/slots/9"],
)
def test_a_slot_that_is_none_is_400(path: str, in_process: Callable) -> None:
    (answer,) = in_process(FakeModel(ctx=64)).ask(("POST", path.encode("utf-8", "replace").decode(), {}))
    assert answer.status_code == 400


def test_half_a_surrogate_pair_in_a_refused_value_is_spelt_out(in_process: Callable) -> None:
    body = b'{"prompt": "a", "json_schema": {"\\ud800": 1}}'
    head = {"content-type": "application/json"}
    (answer,) = in_process(FakeModel(ctx=64)).ask(("POST", "/completion", {"content": body, "headers": head}))
    assert answer.json()["error"]["message"] == r"json_schema: #: \ud800 is not supported"
