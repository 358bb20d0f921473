"""Fixtures that several packages' tests share: engines as real processes, on the fake and the real model."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import httpx
import pytest
from hypothesis import settings

from engine.pull import default_model

pytest_plugins = ["tests.browser", "tests.heap"]

ROOT = Path(__file__).parent.parent
START_SECONDS = 60

settings.register_profile("untimed", settings.default, deadline=None)  # no test depends on a clock
settings.load_profile("untimed")


@dataclass(frozen=True)
class Running:
    """A started service: where it listens, and its process."""

    url: str
    process: "subprocess.Popen[str]"


Launch = Callable[..., Running]


@pytest.fixture(scope="session")
def launch() -> Iterator[Launch]:
    """Start `python -m MODULE ARGS --port 0 --watch-stdin` and wait until HEALTH answers 200.

    Whatever is still running at the end of the session is ended by closing its standard input.
    """
    started: list[Running] = []

    def start(module: str, *arguments: str, health: str = "/health") -> Running:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments, "--port", "0", "--watch-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert process.stdout
        line = process.stdout.readline().strip()
        assert line.startswith("listening on http://"), line
        running = Running(line.removeprefix("listening on "), process)
        started.append(running)
        wait_until(lambda: httpx.get(running.url + health).status_code == 200)
        return running

    yield start
    for running in started:
        stop(running.process)


def stop(process: "subprocess.Popen[str]") -> None:
    if process.stdin:
        process.stdin.close()
    process.wait(timeout=15)
    if process.stdout:
        process.stdout.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll a condition of another process or thread; fails after START_SECONDS."""
    pause = Event()
    for _ in range(START_SECONDS * 50):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError(f"still not so after {START_SECONDS} s")


@pytest.fixture(name="wait_until", scope="session")
def wait_until_() -> Callable[[Callable[[], bool]], None]:
    return wait_until


@pytest.fixture(scope="session")
def fake_engine(launch: Launch) -> str:
    """URL of an engine with the fake model and two slots, shared by the whole session."""
    return launch("engine.main", "--fake-model", "--slots", "2").url


@pytest.fixture(scope="session")
def real_model() -> Path:
    """The default model; fetched on first use."""
    return default_model(lambda line: print(line, file=sys.stderr))


@pytest.fixture(scope="session")
def real_engine(launch: Launch, real_model: Path) -> str:
    """URL of an engine with the default model and two slots, shared by the whole session."""
    return launch("engine.main", "--model", str(real_model), "--slots", "2").url
