import asyncio
import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from engine.errors import Unavailable
from engine.server import EndWithServer, create_app
from engine.wire import EngineFacts


@pytest.fixture(scope="module")
def slow_engine(launch: Callable) -> str:
    """An engine with one slot that needs 25 ms a pass and queues one request."""
    url: str = launch("engine.main", "--fake-model", "--fake-pass-ms", "25", "--queue-depth", "1").url
    return url


def chat(text: str) -> str:
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def test_props_tell_what_is_served(client: httpx.Client) -> None:
    props = client.get("/props").json()
    assert (props["default_generation_settings"]["n_ctx"], props["total_slots"]) == (4096, 2)
    assert {"model_path", "model_alias", "chat_template", "bos_token", "eos_token", "build_info"} < set(props)
    facts = EngineFacts.model_validate(props["redraft"])
    assert (facts.deterministic, facts.algorithms) == (True, ["adaptive", "anchor"])


def test_pieces_are_text_or_bytes(client: httpx.Client) -> None:
    body = {"content": "the 🧂", "with_pieces": True}
    tokens = client.post("/tokenize", json=body).json()["tokens"]
    assert [token["piece"] for token in tokens] == ["the", " ", [0xF0], [0x9F], [0xA7], [0x82]]
    ids = [token["id"] for token in tokens]
    assert client.post("/tokenize", json={"content": "the 🧂"}).json() == {"tokens": ids}
    assert client.post("/detokenize", json={"tokens": ids}).json() == {"content": "the 🧂"}
    assert client.post("/detokenize", json={"tokens": ids[:-1]}).json() == {"content": "the \ufffd"}


def test_a_chat_becomes_a_prompt(client: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": "one\u2028two"}]}
    prompt = chat("one\u2028two")
    assert client.post("/apply-template", json=body).json() == {"prompt": prompt}
    whole = {"content": prompt, "add_special": True, "parse_special": True}
    tokens = client.post("/tokenize", json=whole).json()["tokens"]
    answer = client.post("/apply-template", json={**body, "redraft_tokens": True}).json()
    assert answer == {"prompt": prompt, "tokens": tokens}


def test_a_chat_that_no_context_holds_is_not_tokenized(client: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": "a" * 100_000}]}
    assert client.post("/apply-template", json=body).is_success
    refused = client.post("/apply-template", json={**body, "redraft_tokens": True})
    assert refused.status_code == 400
    assert refused.json()["error"]["type"] == "exceed_context_size_error"
    assert refused.json()["error"]["message"].startswith("messages: ")


def test_a_stream_carries_what_the_whole_answer_carries(client: httpx.Client, stream: Callable) -> None:
    text = "the plan 🧂\u2028 of\x85 the\r team"
    draft = client.post("/tokenize", json={"content": text}).json()["tokens"]
    body = {"prompt": chat(text), "redraft_stabilize": {"old_output": draft, "tau": 0, "floor": 0}}
    whole = client.post("/completion", json={**body, "return_tokens": True}).json()
    chunks = stream(client, **body)
    assert "".join(chunk["content"] for chunk in chunks) == whole["content"] == text
    assert [token for chunk in chunks for token in chunk["tokens"]] == whole["tokens"] == draft
    assert [source for chunk in chunks for source in chunk["redraft_src"]] == whole["redraft_src"]
    assert [chunk["stop"] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1]["redraft_emitted"] == draft
    assert whole["redraft_held_fraction"] == 1.0


def test_a_plain_answer_has_no_redraft_fields(client: httpx.Client, stream: Callable) -> None:
    chunks = stream(client, prompt=chat("the plan"))
    assert not [key for chunk in chunks for key in chunk if key.startswith("redraft")]


def test_two_short_streams_leave_the_engine_well(client: httpx.Client, stream: Callable) -> None:
    for _ in range(2):
        assert stream(client, prompt=chat("the plan"), n_predict=2)[-1]["stop_type"] == "limit"
    assert client.get("/health").json() == {"status": "ok"}


def test_no_text_crosses_between_clients(client: httpx.Client, stream: Callable) -> None:
    def ask(number: int) -> bool:
        marker = ("KIWI-1", "PLUM-2")[number % 2]
        text = f"the {marker} report {number}"
        return all(
            said == text
            for said in (
                client.post("/completion", json={"prompt": chat(text)}).json()["content"],
                "".join(chunk["content"] for chunk in stream(client, prompt=chat(text))),
            )
        )

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(ask, range(40)))


def test_erasing_a_slot_tells_how_much_it_forgot(client: httpx.Client, error: Callable) -> None:
    client.post("/completion", json={"prompt": chat("the plan"), "id_slot": 1})
    held = client.get("/slots").json()[1]["n_cached"]
    assert client.post("/slots/1?action=erase").json() == {"id_slot": 1, "n_erased": held}
    assert client.get("/slots").json()[1]["n_cached"] == 0
    assert error(client.post("/slots/2?action=erase"))[0] == 400
    assert error(client.post("/slots/0?action=explode"))[0] == 400


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("phase", ["queued", "prompt", "answer"])
def test_a_client_that_hangs_up_frees_its_slot(
    phase: str, streamed: bool, slow_engine: str, wait_until: Callable
) -> None:
    def busy() -> bool:
        return any(slot["is_processing"] for slot in httpx.get(slow_engine + "/slots").json())

    def post(body: dict[str, object]) -> socket.socket:
        data = json.dumps({"n_predict": 2000, "stream": streamed, **body}).encode()
        host, port = slow_engine.removeprefix("http://").split(":")
        connection = socket.create_connection((host, int(port)))
        head = f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode()
        connection.sendall(b"POST /completion HTTP/1.1\r\nhost: x\r\n" + head + data)
        return connection

    answer = {"prompt": chat("the plan " * 1200)}
    first = post({"prompt": [9] * 4000} if phase == "prompt" else answer)
    wait_until(busy)
    second = post(answer) if phase == "queued" else None
    if phase == "answer" and streamed:
        assert b"data: " in first.recv(4096) + first.recv(4096)
    for connection in (second, first):
        if connection:
            connection.close()
    wait_until(lambda: not busy())
    assert httpx.get(slow_engine + "/slots").json()[0]["n_cached"] < 4000
    assert httpx.post(slow_engine + "/completion", json={"prompt": "a", "n_predict": 1}).status_code == 200


def test_a_full_queue_is_503(slow_engine: str, wait_until: Callable, error: Callable) -> None:
    async def fill() -> list[int]:
        async with httpx.AsyncClient(base_url=slow_engine, timeout=20) as client:
            body = {"prompt": chat("the plan " * 20)}
            answers = await asyncio.gather(*(client.post("/completion", json=body) for _ in range(12)))
            full = [answer for answer in answers if answer.status_code == 503]
            assert all(error(answer)[1] == "unavailable_error" for answer in full)
            return [answer.status_code for answer in answers]

    assert set(asyncio.run(fill())) == {200, 503}


def test_while_loading_every_route_is_503(error: Callable) -> None:
    def loading() -> Any:
        raise Unavailable("loading model")

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(loading))
        async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
            return [
                await client.get("/health"),
                await client.get("/props"),
                await client.post("/completion", json={"prompt": "a"}),
            ]

    for response in asyncio.run(ask()):
        assert error(response) == (503, "unavailable_error", "loading model")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/completion", {}, "prompt: "),
        ("/completion", {"prompt": "a", "n_predict": "many"}, "n_predict: "),
        ("/completion", {"prompt": "a", "redraft_stabilize": {"eos": ["b"]}}, "redraft_stabilize.eos[0]: "),
        ("/completion", {"prompt": [1, None]}, "prompt"),
        ("/completion", {"prompt": "a", "temperature": -1}, "temperature: "),
        ("/completion", {"prompt": "a", "temperature": 1, "redraft_stabilize": {}}, "temperature: "),
        ("/completion", {"prompt": "a", "top_p": 1.5}, "top_p: "),
        ("/completion", {"prompt": "a", "grammar": "root ::= x"}, "grammar: rule x "),
        ("/completion", {"prompt": "a", "json_schema": {"type": 1}}, "json_schema: #: type "),
        ("/completion", {"prompt": "\ud800"}, "prompt: "),
        ("/tokenize", {"content": 5}, "content: "),
        ("/tokenize", {"content": "a" * (2**20 + 1)}, "content: "),
        ("/detokenize", {"tokens": [461, 10**9]}, "tokens[1]: "),
        ("/apply-template", {"messages": []}, "messages: "),
        ("/apply-template", {"messages": [{"role": "user", "content": "\ud800"}]}, "messages[0].content: "),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(
    path: str, body: object, field: str, client: httpx.Client, error: Callable
) -> None:
    response = client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    status, kind, message = error(response)
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith(field)


def test_the_default_model_is_deterministic_and_replays_over_http(real_engine: str, stream: Callable) -> None:
    with httpx.Client(base_url=real_engine, timeout=60) as client:
        props = client.get("/props").json()
        assert props["redraft"]["deterministic"]
        assert (props["redraft"]["quantisation"], props["redraft"]["kv_type"]) == ("Q8_0", "bf16")
        messages = [{"role": "user", "content": "Repeat exactly: 🧂🧂🧂 salt"}]
        prompt = client.post("/apply-template", json={"messages": messages}).json()["prompt"]
        plain = client.post(
            "/completion", json={"prompt": prompt, "n_predict": 24, "return_tokens": True}
        ).json()
        draft = {"old_output": plain["tokens"][:15], "tau": 0, "floor": 0}
        chunks = stream(client, prompt=prompt, n_predict=24, redraft_stabilize=draft)
        assert "".join(chunk["content"] for chunk in chunks) == plain["content"]
        assert chunks[-1]["redraft_emitted"] == plain["tokens"]
        assert chunks[-1]["redraft_held_fraction"] > 0.5


def test_a_prompt_that_does_not_fit_is_400_with_both_sizes(client: httpx.Client, error: Callable) -> None:
    response = client.post("/completion", json={"prompt": [9] * 4096})
    assert error(response)[:2] == (400, "exceed_context_size_error")
    assert (response.json()["error"]["n_prompt_tokens"], response.json()["error"]["n_ctx"]) == (4096, 4096)


def test_a_text_that_no_context_holds_is_refused_unread(client: httpx.Client, error: Callable) -> None:
    text = "the plan " * 6000
    for path, field in ("/completion", "prompt"), ("/tokenize", "content"):
        status, kind, message = error(client.post(path, json={field: text}))
        assert (status, kind) == (400, "exceed_context_size_error")
        assert message.startswith(f"{field}: at least 4154 tokens do not fit into a context of 4096;")
    only_text = {"content": text, "parse_special": False}
    assert client.post("/tokenize", json=only_text).status_code == 200


@pytest.mark.parametrize(("has_started", "statuses"), [(False, [503, None]), (True, [200])])
def test_what_the_server_ends_is_answered_once(has_started: bool, statuses: list) -> None:
    sent: list[Any] = []

    async def keep(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def end() -> None:
        hangs = asyncio.Event()

        async def hang(scope: Any, receive: Any, send: Any) -> None:
            if has_started:
                await send({"type": "http.response.start", "status": 200, "headers": []})
            hangs.set()
            await asyncio.Event().wait()

        serving = asyncio.create_task(EndWithServer(hang)({"type": "http"}, receive, keep))
        await hangs.wait()
        serving.cancel()
        await serving

    asyncio.run(end())
    assert [message.get("status") for message in sent] == statuses


def test_who_hangs_up_is_heard_between_two_messages() -> None:
    heard: list[str] = []

    async def send(message: Any) -> None:
        asyncio.get_running_loop().call_soon(heard.append, "gone")
        heard.append("sent")

    async def talk(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            await send({"type": "http.response.body", "body": b"", "more_body": True})

    asyncio.run(EndWithServer(talk)({"type": "http"}, None, send))
    assert heard == ["sent", "gone"] * 2
