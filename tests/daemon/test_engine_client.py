import pytest

from daemon.engine_client import Draft, EngineClient
from daemon.errors import InvalidRequest, TooLarge, Unavailable
from engine.wire import CompletionRequest, CompletionResult, Stabilize

pytestmark = pytest.mark.anyio


@pytest.fixture
def connect(exits, serve_engine):
    """`fake, client = await connect(answer=...)`: a scripted engine and a client of it."""

    async def connect(**script):
        served = await serve_engine(**script)
        client = EngineClient(served.url, silence_s=20)
        exits.push_async_callback(client.close)
        return served.fake, client

    return connect


async def completed(client: EngineClient, **fields) -> list:
    prompt = await client.prompt_tokens("hello")
    request = CompletionRequest(prompt=prompt, n_predict=50, stream=True, id_slot=0, **fields)
    return [item async for item in client.complete(request)]


async def test_props_name_the_model_and_its_room(connect) -> None:
    _, client = await connect(context=777, slots=3)
    props = await client.props()
    assert (props.context, props.total_slots, props.model_name, props.redraft) == (
        777,
        3,
        "fake",
        {"version": "fake"},
    )


@pytest.mark.parametrize(
    ("speaks", "fail"),
    [
        pytest.param("ours", {"/tokenize": 500}, id="in one call"),
        pytest.param("plain", {}, id="of a llama-server in two"),
    ],
)
async def test_a_message_goes_through_the_models_template(connect, speaks: str, fail) -> None:
    fake, client = await connect(speaks=speaks, fail=fail)
    assert await client.prompt_tokens("hello") == fake.tokenize("<user>hello<assistant>")


async def test_a_draft_keeps_the_bytes_of_split_characters(connect) -> None:
    _, client = await connect()
    draft = await client.draft("a 🧂")
    assert draft.pieces == [b"a", b" ", b"\xf0", b"\x9f", b"\xa7", b"\x82"]
    assert len(draft.tokens) == 6
    assert await client.draft("") == Draft([], [])


async def test_a_completion_ends_with_its_result(connect) -> None:
    _, client = await connect(answer="one two\u2028three")
    items = await completed(client, redraft_stabilize=Stabilize(old_output=[]))
    assert "".join(item.content for item in items) == "one two\u2028three"
    assert [isinstance(item, CompletionResult) for item in items] == [False] * (len(items) - 1) + [True]


@pytest.mark.parametrize("path", ["/apply-template", "/tokenize", "/completion"])
async def test_what_the_engine_refuses_is_unavailable_and_says_why(connect, path: str) -> None:
    _, client = await connect(fail={path: 500}, speaks="published")
    with pytest.raises(Unavailable, match=f"{path} answered 500: .*{path} fails"):
        await completed(client)


@pytest.mark.parametrize("path", ["/apply-template", "/tokenize", "/completion"])
@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (400, InvalidRequest),
        (404, InvalidRequest),
        (413, TooLarge),
        (408, Unavailable),
        (429, Unavailable),
    ],
)
async def test_a_retry_is_advised_only_where_it_can_help(connect, path: str, status: int, refusal) -> None:
    _, client = await connect(fail={path: status}, speaks="published")
    with pytest.raises(refusal, match=f"answered {status}: {path} fails"):
        await completed(client)


async def test_a_context_that_is_exceeded_is_too_large(serve_bytes) -> None:
    body = b'{"error": {"code": 400, "message": "9 do\\nnot fit", "type": "exceed_context_size_error"}}'
    url = await serve_bytes(b"HTTP/1.1 400 Bad Request\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    client = EngineClient(url, silence_s=20)
    with pytest.raises(TooLarge, match="answered 400: 9 do not fit"):
        await client.props()
    await client.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://" + "a" * 64, "http://a..b"])
async def test_an_address_that_the_socket_refuses_is_unavailable(url: str) -> None:
    client = EngineClient(url, silence_s=20)
    with pytest.raises(Unavailable) as caught:
        await client.props()
    assert "\n" not in caught.value.detail
    await client.close()


async def test_an_engine_that_loads_is_unavailable(connect) -> None:
    _, client = await connect(fail={"/props": 503})
    with pytest.raises(Unavailable, match="/props answered 503"):
        await client.props()


async def test_a_stream_that_breaks_is_unavailable(connect) -> None:
    _, client = await connect(fail={"stream": 1})
    with pytest.raises(Unavailable, match="RemoteProtocolError"):
        await completed(client)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            'data: {"error": {"code": 500, "message": "out of memory"}}\n\n',
            "the engine failed: out of memory",
        ),
        ('data: {"error": "gone"}\n\n', "the engine failed: gone"),
        ('data: {"content": 1, "stop": false}\n\n', "answered what no engine answers"),
        ("data: {\n\n", "answered what no engine answers"),
        ("data: 7\n\n", "answered what no engine answers"),
        ("", "ended its stream early"),
    ],
)
async def test_what_is_no_chunk_is_unavailable(connect, line: str, what: str) -> None:
    _, client = await connect(raw_stream=line)
    with pytest.raises(Unavailable, match=what) as caught:
        await completed(client)
    assert "\n" not in caught.value.detail


async def test_a_closed_port_is_unavailable(free_port: int) -> None:
    client = EngineClient(f"http://127.0.0.1:{free_port}", silence_s=20)
    with pytest.raises(Unavailable, match=f"127.0.0.1:{free_port}: ConnectError"):
        await client.props()
    await client.close()


async def test_a_slot_is_erased(connect) -> None:
    fake, client = await connect()
    await client.erase(0)
    assert fake.erased == [0]
