"""Small factories for runs, and a daemon that is scripted instead of generating."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from bundles import Attempt, Bundle, Fact, HeldSpan, Run, Source, Store, Unit, Verdict, bundle_of
from bundles import Session as UnitSession
from judge import GatePolicy, Prompt, judge_attempts
from judge.fake_ask import FakeAsk
from replay.client import Client
from replay.results import summarise
from replay.stack import Stack, StackOptions, serving
from replay.summary import Summary

ARMS = ("plain", "control", "redraft", "redraft:tau=3,floor=1")
PROVENANCE = {"model": "m", "model_fingerprint": "f", "quantisation": "Q8_0", "kv_type": "bf16", "slots": 1}


def make_unit(unit_id: str = "u", **changes: object) -> Unit:
    unit = Unit(
        unit_id=unit_id,
        session_id=unit_id,
        instruction="Who owns the launch?",
        sources_before=(Source("plan", "Bo owns it."),),
        sources_after=(Source("plan", "Ava owns it."),),
        category="value",
        facts=(Fact("new", "expect", ("Ava",)), Fact("old", "forbid", ("Bo",))),
        canary=True,
    )
    return replace(unit, **changes)


def make_bundle(units: Sequence[Unit], name: str = "suite") -> Bundle:
    sessions = [UnitSession(key, "suite") for key in dict.fromkeys(unit.session_id for unit in units)]
    return bundle_of(name, sessions, units)


def make_run(units: Sequence[Unit], **changes: object) -> Run:
    run = Run(
        run_id="20260101-120000-abcd",
        bundle_id=make_bundle(units).bundle_id,
        unit_ids=tuple(unit.unit_id for unit in units),
        arms=ARMS,
        repeats=1,
        seed=0,
        max_tokens=32,
        started="2026-01-01T12:00:00+00:00",
        provenance=PROVENANCE,
    )
    return replace(run, **changes)


def make_attempt(unit_id: str = "u", arm: str = "plain", repeat: int = 0, **changes: object) -> Attempt:
    text = str(changes.get("text", "Ava owns it."))
    ids = tuple(text.encode())
    attempt = Attempt(
        run_id="20260101-120000-abcd",
        unit_id=unit_id,
        arm=arm,
        repeat=repeat,
        order=1,
        status="ok",
        text=text,
        token_ids=ids,
        token_src=(-1,) * len(ids),
        wall_ms=100.0,
    )
    return replace(attempt, **changes)


@dataclass(frozen=True)
class Evaluated:
    """A run with its attempts; its verdicts are the judge's."""

    run: Run
    units: tuple[Unit, ...]
    attempts: tuple[Attempt, ...]

    def changed(self, unit_id: str, arm: str, **changes: object) -> "Evaluated":
        """The same run with the attempts of one unit and arm changed."""
        return replace(
            self,
            attempts=tuple(
                replace(a, **changes) if (a.unit_id, a.arm) == (unit_id, arm) else a for a in self.attempts
            ),
        )

    def verdicts(self) -> list[Verdict]:
        return judge_attempts(self.units, self.attempts)

    def summary(self, policy: GatePolicy | None = None) -> Summary:
        bundle = make_bundle(self.units)
        return summarise(self.run, bundle, self.attempts, self.verdicts(), policy or GatePolicy())

    def stored(self, store: Store) -> None:
        store.add_bundle(make_bundle(self.units))
        store.create_run(self.run)
        for attempt in self.attempts:
            store.add_attempt(attempt)


def make_evaluated(count: int = 1, arms: Sequence[str] = ARMS, repeats: int = 1) -> Evaluated:
    """A run in which every arm gives plain's text, redraft's twice as fast and held but for a byte."""
    units = tuple(make_unit(f"u{index}") for index in range(count))
    attempts = []
    for unit in units:
        for arm in arms:
            for repeat in range(repeats):
                attempt = make_attempt(unit.unit_id, arm, repeat)
                if arm.startswith("redraft"):
                    held = tuple(range(len(attempt.token_ids) - 1))
                    end = len(attempt.text) - 1
                    attempt = replace(
                        attempt, wall_ms=50.0, token_src=(*held, -1), spans=(HeldSpan(0, end, 0, end),)
                    )
                attempts.append(attempt)
    return Evaluated(make_run(units, arms=tuple(arms), repeats=repeats), units, tuple(attempts))


def sse(name: str, **data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def done(text: str, **changes: object) -> bytes:
    ids = list(text.encode())
    values: dict[str, object] = {
        "revision": 2, "kind": "rederive", "mode": "redraft", "reused": 0.0, "reused_chars": 0,
        "wall_ms": 3.0, "prompt_ms": 1.0, "queued_ms": 0.5, "tokens": len(ids), "prompt_tokens": 9,
        "total_tokens": 9, "divergences": 1, "slot": 0, "slot_reused": True, "pinned_missing": [],
        "template_version": 1, "passes": 4, "rows": 8, "token_ids": ids, "token_src": [-1] * len(ids),
    }  # fmt: skip
    return sse("done", **(values | changes))


@dataclass
class ScriptedDaemon:
    """Answers a refresh with the after-state's first source; `refuse` may answer in its place."""

    refuse: Callable[[httpx.Request], httpx.Response | None] = lambda request: None
    health: dict[str, object] = field(default_factory=dict)
    calls: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)

    def handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content or b"{}")
        self.calls.append((request.method, request.url.path, body))
        if refusal := self.refuse(request):
            return refusal
        if request.url.path == "/healthz":
            return httpx.Response(200, json=self.health_answer())
        if request.url.path.endswith("/refresh"):
            text = body["sources"][0]["text"] if body.get("sources") else "Bo owns it."
            return httpx.Response(200, content=sse("delta", text=text, kind="new") + done(text))
        return httpx.Response(200, json={})

    def health_answer(self) -> dict[str, object]:
        answer: dict[str, object] = {
            "status": "ok", "version": "1", "template_version": 1, "sessions": 0,
            "model": {"name": "m", "resident": True, "redraft": True},
            "slots": {"total": 1, "busy": 0, "queued": 0},
            "engine": {"version": "e", "model_fingerprint": "f", "kv_type": "bf16", "algorithms": ["anchor"]},
        }  # fmt: skip
        return answer | self.health

    def client(self) -> Client:
        return Client("http://daemon", transport=httpx.MockTransport(self.handle))


@dataclass(frozen=True)
class ChatAnswer:
    """What a chat-completions server sends; `hangs` never sends it."""

    content: str = ""
    finish_reason: str | None = "stop"
    refusal: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hangs: bool = False

    def payload(self) -> bytes:
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        whole = {"object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(whole).encode() if self.body is None else self.body


Script = Callable[[Prompt, str, int], ChatAnswer | None]


class ScriptedJudge:
    """A chat-completions server on a real socket that judges as the labelled cases say.

    `script` is given each prompt, the good reply and how many requests came before; what it returns is
    sent instead. `get` are answers to GET, by path.
    """

    def __init__(self) -> None:
        self.fake = FakeAsk()
        self.script: Script = lambda prompt, reply, before: None
        self.get: dict[str, object] = {}
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.over = threading.Event()
        judge, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                found = judge.get.get(self.path)
                self.answer(404 if found is None else 200, {}, json.dumps(found).encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    before = len(judge.requests)
                    judge.requests.append((dict(self.headers), body))
                sent = judge.answer(body, before)
                if sent.hangs:
                    judge.over.wait()
                else:
                    self.answer(sent.status, sent.headers, sent.payload())

            def answer(self, status: int, headers: Mapping[str, str], payload: bytes) -> None:
                self.send_response(status)
                for name, value in ({"content-length": str(len(payload))} | dict(headers)).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a client that has hung up

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, body: dict[str, Any], before: int) -> ChatAnswer:
        system, user = (message["content"] for message in body["messages"])
        asked = body.get("response_format", {}).get("json_schema", {"name": "extraction", "schema": {}})
        prompt = Prompt(system, user, asked["name"], asked["schema"], body.get("max_tokens", 0))
        reply = json.dumps(self.fake.reply(prompt))
        return self.script(prompt, reply, before) or ChatAnswer(reply)


@pytest.fixture
def judge_server() -> Iterator[ScriptedJudge]:
    judge = ScriptedJudge()
    with judge.server as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield judge
        judge.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.duckdb") as opened:
        yield opened


@pytest.fixture(scope="session")
def live() -> Iterator[Stack]:
    """Engine and daemon on real sockets, with scripted tokens."""
    with serving(StackOptions(fake_pass_ms=0), lambda line: None, lambda line: None) as stack:
        yield stack


class Make:
    """The factories, for test modules, which cannot import this one."""

    unit = staticmethod(make_unit)
    bundle = staticmethod(make_bundle)
    run = staticmethod(make_run)
    attempt = staticmethod(make_attempt)
    evaluated = staticmethod(make_evaluated)
    sse = staticmethod(sse)
    done = staticmethod(done)
    daemon = ScriptedDaemon
    chat = ChatAnswer


@pytest.fixture(scope="session")
def make() -> type[Make]:
    return Make
