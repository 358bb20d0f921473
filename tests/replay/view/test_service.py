import os
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from replay.errors import ServiceDown
from replay.stack import StackOptions
from replay.view.service import Service

FAKE = StackOptions(fake_pass_ms=0)


def quiet(line: str) -> None:
    pass


def started(service: Service, wait_until: Callable[[Callable[[], bool]], None]) -> str:
    wait_until(lambda: service.poll() is not None)
    url = service.poll()
    assert url
    return url


def test_a_daemon_that_runs_already_is_used() -> None:
    service = Service("http://127.0.0.1:1", FAKE, quiet, quiet)
    assert service.poll() == "http://127.0.0.1:1"
    service.close()


def test_engine_and_daemon_are_started_when_asked_for_and_again_when_one_has_died(wait_until) -> None:
    others = _engines()
    service = Service(None, FAKE, quiet, quiet)
    assert service.poll() is None
    assert service.said == "starting engine and daemon"
    url = started(service, wait_until)
    assert service.said == "loading the model"
    (engine,) = _engines() - others
    os.kill(engine, signal.SIGKILL)
    with pytest.raises(ServiceDown, match=r"redraft-engine was killed by SIGKILL.*press Run"):
        wait_until(lambda: service.poll() is None)
    again = started(service, wait_until)
    assert again != url
    assert httpx.get(f"{again}/healthz").json()["status"] == "ok"
    service.close()
    for gone in (url, again):
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{gone}/healthz")


def test_a_start_that_fails_is_told_and_tried_again(wait_until) -> None:
    service = Service(None, StackOptions(model=Path("nowhere.gguf")), quiet, quiet)
    for _ in range(2):
        with pytest.raises(ServiceDown, match=r"nowhere\.gguf"):
            wait_until(lambda: service.poll() is not None)


def _engines() -> set[int]:
    """This process's own children that are engines."""
    task = f"/proc/{os.getpid()}/task"
    pids = [pid for thread in os.listdir(task) for pid in _read(f"{task}/{thread}/children").split()]
    return {int(pid) for pid in pids if "engine.main" in _read(f"/proc/{pid}/cmdline")}


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
