"""The `redraft` command as a user runs it: a real process in an empty folder."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bundles import Attempt, Run, Store

COMMAND = (sys.executable, "-m", "replay.cli.main")


@dataclass
class Started:
    """A running command and the lines that it has said on stderr."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def read_until(self, text: str) -> None:
        """Waits for a line on stderr with this in it."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if text in line:
                return
        raise AssertionError(f"{text!r} was not said: {''.join(self.said)}")

    def child(self, module: str) -> int:
        """Its child that runs a module."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        (found,) = (child for child in children if module in Path(f"/proc/{child}/cmdline").read_text())
        return int(found)

    def ended(self) -> tuple[int, str]:
        """Exit code and everything said on stderr, once it has ended."""
        _, rest = self.process.communicate(timeout=60)
        return self.process.returncode, "".join([*self.said, rest])


@dataclass(frozen=True)
class Redraft:
    """The command, run in `folder`."""

    folder: Path

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300
        )

    def into(self, redirection: str, *arguments: str) -> int:
        """Its exit code when a shell redirects its output."""
        script = f'"$@" {redirection}; exit ${{PIPESTATUS[0]}}'
        command = ["bash", "-c", script, "redraft", *COMMAND, *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, timeout=300).returncode

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Started]:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # unlike in background jobs
        )
        with process:
            yield Started(process)
            process.kill()

    def store(self) -> Store:
        return Store.open(self.folder / "redraft.duckdb")

    def last_run(self) -> tuple[Run, dict[tuple[str, str, int], Attempt]]:
        """The newest run and its attempts."""
        with self.store() as store:
            run = store.run("last")
            return run, {attempt.key: attempt for attempt in store.attempts(run.run_id)}


@pytest.fixture
def redraft(tmp_path: Path) -> Redraft:
    return Redraft(tmp_path)


@pytest.fixture
def wait_for_end() -> Callable[[int], None]:
    """Waits until a process that is not our child has ended."""

    def wait(pid: int) -> None:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        ended, _, _ = select.select([handle], [], [], 20)
        os.close(handle)
        assert ended, f"process {pid} lives on"

    return wait


class ScriptedDaemon:
    """redraftd on a real socket as far as a run needs it, which says what a test wants.

    Plain generation repeats the first source. `says` may change an answer: it is given whether it is plain
    generation's, the first source before the edit, and the one now. `status` refuses every refresh, and while
    `holds` is set a refresh waits, until its section is dropped.
    """

    def __init__(self) -> None:
        self.says: Callable[[bool, str, str], str] = lambda plain, before, now: now
        self.status, self.slots = 200, 1
        self.engine: dict[str, object] = {
            "version": "e", "model_fingerprint": "f", "quantisation": "Q8_0", "kv_type": "bf16", "threads": 1,
        }  # fmt: skip
        self.go = threading.Event()
        self.go.set()
        self._before: dict[str, str] = {}
        daemon = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self.answer(200, json.dumps(daemon.health()).encode())

            def do_PUT(self) -> None:
                daemon.put(self.path, self.body())
                self.answer(200, b"{}")

            def do_POST(self) -> None:
                body = self.body()
                daemon.go.wait()
                self.answer(daemon.status, daemon.refreshed(self.path, body))

            def do_DELETE(self) -> None:
                daemon.go.set()
                self.answer(200, b"{}")

            def body(self) -> dict[str, Any]:
                body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
                return body

            def answer(self, status: int, payload: bytes) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a client that was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def health(self) -> Mapping[str, object]:
        return {
            "status": "ok", "version": "1", "template_version": 1, "sessions": 0, "engine": self.engine,
            "model": {"name": "m", "resident": True, "redraft": True},
            "slots": {"total": self.slots, "busy": 0, "queued": 0},
        }  # fmt: skip

    def put(self, path: str, body: Mapping[str, Any]) -> None:
        self._before[path] = body["sources"][0]["text"]

    def refreshed(self, path: str, body: Mapping[str, Any]) -> bytes:
        before = self._before[path.removesuffix("/refresh")]
        now = body["sources"][0]["text"] if body.get("sources") else before
        text = self.says(body["baseline"], before, now)
        ids = list(text.encode())
        done = {
            "revision": 2, "kind": "rederive", "mode": "baseline" if body["baseline"] else "redraft",
            "reused": 0.0, "reused_chars": 0, "wall_ms": 3.0, "prompt_ms": 1.0, "queued_ms": 0.0,
            "tokens": len(ids), "prompt_tokens": 9, "total_tokens": 9, "divergences": 0, "slot": 0,
            "slot_reused": True, "pinned_missing": [], "template_version": 1, "rows": len(ids),
            "passes": len(ids) if body["baseline"] else 1, "token_ids": ids, "token_src": [-1] * len(ids),
        }  # fmt: skip
        events = (("delta", {"text": text, "kind": "new"}), ("done", done))
        return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode()


@contextmanager
def scripted() -> Iterator[ScriptedDaemon]:
    """A scripted daemon that serves."""
    daemon = ScriptedDaemon()
    with daemon.server as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield daemon
        daemon.go.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def daemon() -> Iterator[ScriptedDaemon]:
    with scripted() as daemon:
        yield daemon


@pytest.fixture(scope="session")
def scripted_daemon() -> Callable[[], Any]:
    """Serves a scripted daemon within a `with`."""
    return scripted


_FORKING = """
import json, os, sys
from replay.cli import main
for line in sys.stdin:
    folder, arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), descriptor)
        sys.argv = ["redraft", *arguments]
        main.main()
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """A command that has ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def forked() -> Iterator[Callable[..., Ended]]:
    """The command in a process of its own, which is forked where everything is imported already."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", _FORKING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parent.parent.parent,
    ) as server:
        assert server.stdin
        assert server.stdout

        def run(folder: Path, *arguments: str) -> Ended:
            assert server.stdin
            assert server.stdout
            print(json.dumps([str(folder), arguments]), file=server.stdin, flush=True)
            code = int(server.stdout.readline())
            return Ended(code, (folder / "stdout").read_text(), (folder / "stderr").read_text())

        yield run
        server.stdin.close()
