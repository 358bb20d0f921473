"""A scripted engine on a real socket, and a daemon in front of it, both in the test's event loop."""

import asyncio
import codecs
import difflib
import json
import os
import re
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from daemon.app import create_app
from daemon.client import Client
from daemon.config import Config
from daemon.engine_client import Draft, Props
from daemon.main import Server, bind
from daemon.recorder import Recorder
from daemon.service import Service
from daemon.wire import OpenRequest, RefreshEvent, RefreshRequest, Source
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult

PATIENCE_S = 20


@dataclass
class Gate:
    """A place where the engine stops until it is let on. `reached` counts who came."""

    reached: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        self.reached += 1
        await self.open.wait()


@dataclass
class FakeEngine:
    """llama-server as far as redraftd uses it; the answer is scripted.

    Tokens are words and, beyond ASCII, bytes. `{prompt}` in the answer is the prompt. `speaks` our
    extension with all that it tells, the `published` one, or is `plain` llama-server.
    """

    answer: str = "Alpha beta.\nGamma delta."
    slots: int = 1
    context: int = 4096
    speaks: Literal["ours", "published", "plain"] = "ours"
    fail: dict[str, int] = field(default_factory=dict)
    """Paths that answer with a status; `stream`: the chunk after which the connection breaks."""
    gates: dict[str, Gate] = field(default_factory=dict)
    """Gates by path, and `prefill` and `decode` within a completion."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    erased: list[int] = field(default_factory=list)
    raw_stream: str | None = None
    streams: int = 0
    pieces: list[bytes] = field(default_factory=list)
    _all_gates: list[Gate] = field(default_factory=list)

    def gate(self, place: str) -> Gate:
        """Stop at a place from now on. Removing it from `gates` keeps those who stand there."""
        self.gates[place] = Gate()
        self._all_gates.append(self.gates[place])
        return self.gates[place]

    def open_gates(self) -> None:
        for gate in self._all_gates:
            gate.open.set()

    async def reached(self, gate: Gate, count: int = 1) -> None:
        await eventually(lambda: gate.reached >= count)

    def tokenize(self, text: str) -> list[int]:
        pieces = re.findall(rb" ?[\x21-\x7e]+|[\x00-\xff]", text.encode())
        self.pieces += [piece for piece in dict.fromkeys(pieces) if piece not in self.pieces]
        return [self.pieces.index(piece) for piece in pieces]

    async def props(self, _: Request) -> Response:
        props = {
            "default_generation_settings": {"n_ctx": self.context},
            "total_slots": self.slots,
            "model_path": "/models/fake.gguf",
            "model_alias": "fake",
        }
        ours = {"redraft": {"version": "fake"}} if self.speaks == "ours" else {}
        return JSONResponse({**props, **ours})

    async def template(self, request: Request) -> Response:
        prompt = "<user>" + (await request.json())["messages"][0]["content"] + "<assistant>"
        self.prompts.append(prompt)
        at_once = self.speaks == "ours" and (await request.json()).get("redraft_tokens")
        return JSONResponse({"prompt": prompt, **({"tokens": self.tokenize(prompt)} if at_once else {})})

    async def tokens(self, request: Request) -> Response:
        body = await request.json()
        ids = self.tokenize(body["content"])
        if body.get("with_pieces"):
            return JSONResponse({"tokens": [{"id": id_, "piece": self._piece(id_)} for id_ in ids]})
        return JSONResponse({"tokens": ids})

    def _piece(self, token: int) -> str | list[int]:
        try:
            return self.pieces[token].decode()
        except UnicodeDecodeError:
            return list(self.pieces[token])

    async def slot(self, request: Request) -> Response:
        self.erased.append(int(request.path_params["slot"]))
        return JSONResponse({"id_slot": self.erased[-1], "n_erased": 1})

    async def completion(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        return StreamingResponse(self._stream(body), media_type="text/event-stream")

    async def _stream(self, body: dict[str, Any]) -> AsyncIterator[str]:
        self.streams += 1
        try:
            if self.raw_stream is not None:
                yield self.raw_stream
                return
            await self._pass("prefill")
            for index, item in enumerate(self.answered(body)):
                yield _event(item)
                if item["stop"]:
                    return
                if self.fail.get("stream") == index:
                    raise ConnectionAbortedError
                await self._pass("decode")
        finally:
            self.streams -= 1

    def answered(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The chunks of a completion, and its result."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        prompt = b"".join(self.pieces[token] for token in body["prompt"]).decode()
        tokens = self.tokenize(self.answer.replace("{prompt}", prompt))[: body["n_predict"]]
        stabilize = None if self.speaks == "plain" else body.get("redraft_stabilize")
        for ids, src in _chunks(tokens, stabilize["old_output"] if stabilize else []):
            content = decoder.decode(b"".join(self.pieces[id_] for id_ in ids))
            chunk = {"content": content, "tokens": ids, "stop": False}
            yield {**chunk, "redraft_src": src} if stabilize else chunk
        extra: dict[str, Any] = {"redraft_divergences": 1} if stabilize else {}
        if stabilize and self.speaks == "ours":
            extra |= {"redraft_passes": 2, "redraft_rows": 9, "redraft_wasted_rows": 4}
            extra |= {"redraft_host_ms": 0.5, "redraft_drafted": {"stale": 3}}
        yield {**_result(body, tokens), **extra}

    async def _pass(self, place: str) -> None:
        if place in self.gates:
            await self.gates[place].wait()

    def app(self) -> Starlette:
        def at(path: str, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Any]:
            async def answer(request: Request) -> Response:
                await self._pass(path)
                if path in self.fail:
                    return JSONResponse({"error": {"message": f"{path} fails"}}, self.fail[path])
                return await handler(request)

            return answer

        routes = {"/tokenize": self.tokens, "/apply-template": self.template, "/completion": self.completion}
        return Starlette(
            routes=[
                Route("/props", at("/props", self.props)),
                Route("/slots/{slot}", at("/slots", self.slot), methods=["POST"]),
                *(Route(path, at(path, handler), methods=["POST"]) for path, handler in routes.items()),
            ]
        )


def _chunks(tokens: list[int], old: list[int]) -> list[tuple[list[int], list[int]]]:
    """A chunk per held run with the token after it, and per other new token, as passes come."""
    src = [-1] * len(tokens)
    for block in difflib.SequenceMatcher(None, old, tokens, autojunk=False).get_matching_blocks():
        src[block.b : block.b + block.size] = range(block.a, block.a + block.size)
    chunks: list[tuple[list[int], list[int]]] = [([], [])]
    for token, source in zip(tokens, src, strict=True):
        chunks[-1][0].append(token)
        chunks[-1][1].append(source)
        if source == -1:
            chunks.append(([], []))
    return [chunk for chunk in chunks if chunk[0]]


def _result(body: dict[str, Any], tokens: list[int]) -> dict[str, Any]:
    timings = {"cache_n": 0, "prompt_n": len(body["prompt"]), "prompt_ms": 1.5, "predicted_n": len(tokens)}
    return {
        "content": "",
        "tokens": [],
        "stop": True,
        "stop_type": "limit" if len(tokens) == body["n_predict"] else "eos",
        "id_slot": body["id_slot"],
        "tokens_predicted": len(tokens),
        "tokens_evaluated": len(body["prompt"]),
        "tokens_cached": len(body["prompt"]),
        "timings": {**timings, "predicted_ms": 2.0, "predicted_per_second": 1.0},
    }


class EngineInProcess:
    """What redraftd calls of an EngineClient, on a scripted engine without sockets."""

    def __init__(self, fake: FakeEngine) -> None:
        self.fake = fake

    async def props(self) -> Props:
        return Props.model_validate_json((await self.fake.props(Request({"type": "http"}))).body)

    async def prompt_tokens(self, message: str) -> list[int]:
        return self.fake.tokenize(f"<user>{message}<assistant>")

    async def draft(self, text: str) -> Draft:
        tokens = self.fake.tokenize(text)
        return Draft(tokens, [self.fake.pieces[token] for token in tokens])

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionChunk | CompletionResult]:
        for item in self.fake.answered(request.model_dump()):
            yield (CompletionResult if item["stop"] else CompletionChunk).model_validate(item)

    async def erase(self, slot: int) -> None:
        self.fake.erased.append(slot)

    async def close(self) -> None:
        pass


def _event(fields: dict[str, Any]) -> str:
    return f"data: {json.dumps(fields)}\n\n"


class _NoSignals:
    """The signal handlers stay pytest's."""

    def capture_signals(self) -> AbstractContextManager[None]:
        return nullcontext()


class _EngineServer(_NoSignals, uvicorn.Server):
    pass


class _DaemonServer(_NoSignals, Server):
    pass


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.002)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """`await until(condition)`."""
    return eventually


RunServer = Callable[[uvicorn.Server, socket.socket], Awaitable[asyncio.Task[None]]]


class ServedEngine:
    """A scripted engine on its port, that can be stopped and started again."""

    def __init__(self, fake: FakeEngine, run_server: RunServer) -> None:
        self.fake = fake
        self._run_server = run_server
        self._port = 0

    async def start(self) -> None:
        listener, self.url = bind("127.0.0.1", self._port)
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(self.fake.app(), log_level="critical", lifespan="off")
        self._server = _EngineServer(config)
        self._task = await self._run_server(self._server, listener)

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._server.server_state.connections)

    async def stop(self) -> None:
        self._server.should_exit = True
        await self._task


@dataclass
class Daemon:
    """A daemon and a client of it."""

    service: Service
    url: str
    client: Client

    async def open(self, session_id: str = "t/d/s", **fields: Any) -> int:
        """Open a section; its revision."""
        sources = [Source(name="doc", text="one\ntwo")]
        request = OpenRequest(**{"instruction": "Sum up.", "sources": sources, **fields})
        return (await self.client.open(session_id, request)).revision

    async def refresh(self, session_id: str = "t/d/s", **fields: Any) -> list[RefreshEvent]:
        """All events of a refresh."""
        return [event async for event in self.client.refresh(session_id, RefreshRequest(**fields))]

    def start(self, session_id: str = "t/d/s", **fields: Any) -> asyncio.Task[list[RefreshEvent]]:
        """A refresh in the background."""
        return asyncio.create_task(self.refresh(session_id, **fields))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition."""
        await eventually(condition)

    async def queued(self, count: int) -> None:
        """Until so many refreshes wait for a slot."""
        await eventually(lambda: self.service.slots.queued == count)


@dataclass
class Stack(Daemon):
    """The same, with the scripted engine behind it."""

    engine: FakeEngine
    served: ServedEngine

    async def reached(self, gate: Gate, count: int = 1) -> None:
        """Until so many came to the gate."""
        await self.engine.reached(gate, count)

    async def idle(self) -> None:
        """Until no slot is held, nobody waits and the engine streams nothing."""
        slots = self.service.slots
        await eventually(lambda: slots.busy == slots.queued == self.engine.streams == 0)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def ending() -> AsyncIterator[list[asyncio.Task[None]]]:
    """Servers told to stop; they take their time for it while other tests run."""
    tasks: list[asyncio.Task[None]] = []
    yield tasks
    await asyncio.gather(*tasks)


@pytest.fixture
async def exits() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def run_server(exits: AsyncExitStack, ending: list[asyncio.Task[None]]) -> RunServer:
    """`task = await run_server(server, listener)`: started; told to stop when the test ends."""

    async def run(server: uvicorn.Server, listener: socket.socket) -> asyncio.Task[None]:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        ending.append(task)
        exits.callback(setattr, server, "should_exit", True)
        await eventually(lambda: server.started)
        return task

    return run


@pytest.fixture
def serve_engine(exits: AsyncExitStack, run_server: RunServer) -> Callable[..., Awaitable[ServedEngine]]:
    """`served = await serve_engine(answer=...)`."""

    async def serve(**script: Any) -> ServedEngine:
        served = ServedEngine(FakeEngine(**script), run_server)
        exits.callback(served.fake.open_gates)
        await served.start()
        return served

    return serve


@pytest.fixture
def make_daemon(exits: AsyncExitStack, run_server: RunServer) -> Callable[..., Awaitable[Daemon]]:
    """`daemon = await make_daemon(engine_url, slots=2)`: a daemon of this config and a client of it."""

    async def make(engine_url: str, **config: Any) -> Daemon:
        listener, url = bind("127.0.0.1", 0)
        no_auth = "tokens_file" not in config
        server = _DaemonServer(create_app(Config(engine_url, **{"no_auth": no_auth, **config})), url)
        await run_server(server, listener)
        client = await exits.enter_async_context(Client(url, retries=0))
        return Daemon(server.service, url, client)

    return make


@pytest.fixture
def make_stack(serve_engine: Any, make_daemon: Any) -> Callable[..., Awaitable[Stack]]:
    """`stack = await make_stack({"queue_depth": 1}, answer=...)`: daemon's config, engine's script."""

    async def make(config: dict[str, Any] | None = None, **script: Any) -> Stack:
        served = await serve_engine(**script)
        daemon = await make_daemon(served.url, **{"slots": served.fake.slots, **(config or {})})
        return Stack(daemon.service, daemon.url, daemon.client, served.fake, served)

    return make


@pytest.fixture(scope="session")
def make_app() -> Callable[..., FastAPI]:
    """`app = make_app({"no_auth": True}, recorder, answer=...)`: a daemon without sockets on a scripted
    engine."""

    def make(config: dict[str, Any], recorder: Recorder | None = None, **script: Any) -> FastAPI:
        fake = FakeEngine(**script)
        settings = Config("http://in.process", slots=fake.slots, **config)
        return create_app(settings, EngineInProcess(fake), recorder)

    return make


@pytest.fixture
def start(exits: AsyncExitStack) -> Callable[..., Awaitable[tuple[Process, str]]]:
    """`process, url = await start("--flag", ...)`: a real redraftd on any free port."""

    async def start(*arguments: str, closed_stdin: bool = False, **environment: str) -> tuple[Process, str]:
        auth = [] if "--tokens-file" in arguments else ["--no-auth"]
        command = [sys.executable, "-m", "daemon.main", "--port", "0", *auth, *arguments]
        if closed_stdin:
            command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
        env = {**os.environ, **environment}
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env
        )

        async def kill() -> None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

        exits.push_async_callback(kill)
        line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on http://"), (await process.stderr.read()).decode()
        return process, line.removeprefix("listening on ").strip()

    return start


@pytest.fixture
def serve_bytes(exits: AsyncExitStack) -> Callable[[bytes], Awaitable[str]]:
    """`url = await serve_bytes(b"...")`: a server that answers everything with these bytes, then closes."""

    async def serve(content: bytes) -> str:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(content)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        await exits.enter_async_context(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    return serve


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port that is taken but where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
