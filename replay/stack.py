"""Engine and daemon as child processes, for as long as a run needs them.

Invariant: the children live no longer than this process (they watch a pipe that it holds open), do
not see its Ctrl-C (they are told to stop), and a death is explained in one line from their own words.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

import httpx

from replay.client import Client
from replay.errors import ReplayError, ServiceDown, SettingsError

START_S, LOAD_S, STOP_S, POLL_S = 60.0, 600.0, 10.0, 0.1
_LISTENING = "listening on "
_NOT_INHERITED = {"REDRAFTD_RECORD", "REDRAFTD_RECORD_TENANTS", "REDRAFTD_TOKENS_FILE"}
"""What `redraft serve` hands on, and a run, whose sessions are nobody's, does not."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How to start the two services; port 0 takes any free one, None leaves the service's default.

    `fake_pass_ms` asks for scripted tokens instead of a model, at that pace. `cache_ram` (MiB) is for prompts
    that slots have lost; who measures wants 0, so that no attempt finds what another has computed. `record`
    names the journal of the daemon and `record_tenants` (`a,b`) who is recorded; without them nobody is.
    Without `tokens_file` everybody may use the daemon, which then serves loopback addresses only.
    """

    model: Path | None = None
    fake_pass_ms: int | None = None
    host: str = "127.0.0.1"
    port: int = 0
    engine_port: int = 0
    slots: int = 1
    ctx: int | None = None
    threads: int | None = None
    kv: str | None = None
    gpu_layers: int | None = None
    cache_ram: int | None = None
    verbose: bool = False
    record: Path | None = None
    record_tenants: str | None = None
    tokens_file: Path | None = None

    def engine_arguments(self) -> list[str]:
        """The command line of the engine."""
        optional = {
            "--model": self.model,
            "--ctx": self.ctx,
            "--threads": self.threads,
            "--kv": self.kv,
            "--gpu-layers": self.gpu_layers,
            "--cache-ram": self.cache_ram,
            "--fake-pass-ms": self.fake_pass_ms,
        }
        flags = {"--fake-model": self.fake_pass_ms is not None, "--verbose": self.verbose}
        chosen = [flag for flag, wanted in flags.items() if wanted]
        return [
            "--port",
            str(self.engine_port),
            "--slots",
            str(self.slots),
            "--watch-stdin",
            *_given(optional),
            *chosen,
        ]

    def daemon_arguments(self, engine_url: str) -> list[str]:
        """The command line of the daemon in front of it."""
        where = ["--engine", engine_url, "--host", self.host, "--port", str(self.port)]
        optional = {
            "--record": self.record,
            "--record-tenants": self.record_tenants,
            "--tokens-file": self.tokens_file,
        }
        open_to_all = [] if self.tokens_file else ["--no-auth"]
        return [*where, "--slots", str(self.slots), *open_to_all, "--watch-stdin", *_given(optional)]


def _given(options: Mapping[str, object]) -> list[str]:
    return [word for flag, value in options.items() if value is not None for word in (flag, str(value))]


class Child:
    """One service as a child process; its stderr goes to `log` and its last line is kept."""

    def __init__(self, module: str, name: str, arguments: Sequence[str], log: Say) -> None:
        self.name = name
        self._log = log
        self._last: deque[str] = deque(maxlen=1)
        self._first: SimpleQueue[str] = SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name not in _NOT_INHERITED},
        )
        readers = ((self._process.stdout, self._hear), (self._process.stderr, self._note))
        self._readers = [threading.Thread(target=read, args=(pipe,), daemon=True) for pipe, read in readers]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def url(self) -> str:
        """Where it listens, once it does."""
        try:
            line = self._first.get(timeout=START_S)
        except Empty:
            raise ServiceDown(f"{self.name} does not listen after {START_S:g} s") from None
        if line.startswith(_LISTENING):
            return line.removeprefix(_LISTENING).strip()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        raise self.death() or ServiceDown(f"{self.name} said {line!r} instead of where it listens")

    def death(self) -> ReplayError | None:
        """Why it is dead, in its own last words; None while it lives."""
        code = self._process.poll()
        if code is None:
            return None
        self._readers[1].join(STOP_S)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        words = f": {self._last[0]}" if self._last else ""
        if code == 2 and words:
            return SettingsError(self._last[0])
        return ServiceDown(f"{self.name} {how}{words}")

    def stop(self) -> None:
        """Asks it to end, then makes it."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(STOP_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _hear(self, pipe: IO[str]) -> None:
        self._first.put(pipe.readline())
        for _ in pipe:
            pass

    def _note(self, pipe: IO[str]) -> None:
        for line in pipe:
            if line.strip():
                self._last.append(line.strip())
                self._log(f"{self.name}: {line.rstrip()}")


@dataclass(frozen=True, slots=True)
class Stack:
    """A running engine and the daemon in front of it."""

    engine: Child
    daemon: Child
    engine_url: str
    url: str

    def check(self) -> None:
        """Raises why one of the two is dead, if one is."""
        for child in (self.engine, self.daemon):
            if error := child.death():
                raise error


@contextmanager
def serving(options: StackOptions, say: Say, log: Say) -> Iterator[Stack]:
    """Starts both, waits until they are ready, and stops both at the end, the daemon first.

    The default model is fetched where none is named. What the daemon says of its journal is said, and what
    the engine warns of.
    """

    def told(line: str) -> None:
        if options.record is None or line.startswith("redraftd: redraftd: "):  # this one is raised
            log(line)
        else:
            say(line)

    def warned(line: str) -> None:
        (say if line.startswith("redraft-engine: warning: ") else log)(line)

    if options.model is None and options.fake_pass_ms is None:
        options = replace(options, model=pull_model(say))
    with ExitStack() as children:
        engine = Child("engine.main", "redraft-engine", options.engine_arguments(), warned)
        children.callback(engine.stop)
        engine_url = engine.url()
        daemon = Child("daemon.main", "redraftd", options.daemon_arguments(engine_url), told)
        children.callback(daemon.stop)
        stack = Stack(engine, daemon, engine_url, daemon.url())
        say(f"loading {options.model.name if options.model else 'the model'}")
        for ready in (f"{engine_url}/health", f"{stack.url}/healthz"):
            _wait(ready, stack)
        yield stack


def _wait(url: str, stack: Stack) -> None:
    """Until `url` answers 200, a child dies or LOAD_S have passed."""
    deadline = time.monotonic() + LOAD_S
    while time.monotonic() < deadline:
        stack.check()
        try:
            if httpx.get(url, timeout=POLL_S * 50, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(POLL_S)
    raise ServiceDown(f"{url} is not ready after {LOAD_S:g} s")


def pull_model(say: Say) -> Path:
    """The default model's file, fetched in a child process where it is not there yet."""
    with subprocess.Popen(
        [sys.executable, "-m", "engine.pull"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as child:
        last = ""
        for line in child.stderr or ():
            if last:
                say(last)
            last = line.strip() or last
        path = child.stdout.read().strip() if child.stdout else ""
    if child.returncode != 0:
        raise ServiceDown(f"cannot get the default model: {last or f'exit code {child.returncode}'}")
    if last:
        say(last)
    return Path(path)


@contextmanager
def client_of(stack: Stack) -> Iterator[Client]:
    """A client of what was started here; where it is gone, the error says which child died of what."""
    client = Client(stack.url)
    try:
        yield client
    except ServiceDown:
        stack.check()
        raise
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class Service:
    """Where attempts are made: a daemon that runs already, or children started for the run.

    `token` is for a daemon that asks for one; it must cover the tenant `replay`.
    """

    url: str | None
    options: StackOptions
    token: str = ""

    @contextmanager
    def connected(self, say: Say, log: Say) -> Iterator[Client]:
        """A client of it; children are stopped at the end."""
        if self.url is not None:
            client = Client(self.url, token=self.token)
            try:
                client.must_be_alive()
                yield client
            finally:
                client.close()
            return
        with serving(self.options, say, log) as stack, client_of(stack) as client:
            yield client
