import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from bundles import Store
from replay.cli.view import view
from replay.view.server import bind

REDRAFT = [sys.executable, "-m", "replay.cli.main", "view", "--port", "0"]
ASKED = {"instruction": "Say it.", "sources": [{"name": "a", "before": "Bo did.", "after": "Ava did."}]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.duckdb"
    with Store.open(path):
        pass
    return path


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_stops(path: Path, how: signal.Signals) -> None:
    with _started(path) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert "This store holds no run yet" in httpx.get(url).text
        process.send_signal(how)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "stopped\n")


def test_it_starts_an_engine_for_the_first_race_and_stops_it_in_the_middle_of_one(path: Path) -> None:
    with _started(path, "--fake-pass-ms", "20") as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        asked = ASKED | {"instruction": "word " * 50, "stale": "word " * 200}
        with httpx.stream("POST", f"{url}race", json=asked, timeout=60) as answer:
            for line in answer.iter_lines():
                if line == "event: deltas":
                    break
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err.splitlines() == ["loading the model", "stopped"]
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


def test_a_store_that_is_not_there_is_said(redraft: Callable[..., Result]) -> None:
    result = redraft("view", "--store", "none.duckdb")
    assert result.exit_code == 2
    assert "none.duckdb: no such store; `redraft run` and `redraft import` make one" in result.stderr


def test_what_is_no_store_is_said(redraft: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("no store")
    result = redraft("view", "--store", "x.duckdb", "--port", "0")
    assert result.exit_code == 4
    assert "not a redraft store" in result.stderr


def test_a_port_that_is_taken_is_said(redraft: Callable[..., Result], path: Path) -> None:
    with bind(0) as listener:
        port = listener.getsockname()[1]
        result = redraft("view", "--store", str(path), "--port", str(port))
    assert result.exit_code == 2
    assert f"port {port} is taken; choose another with --port, or 0 for any" in result.stderr


def test_a_daemon_s_engine_takes_no_options(redraft: Callable[..., Result], path: Path) -> None:
    result = redraft("view", "--store", str(path), "--url", "http://127.0.0.1:1", "--threads", "1")
    assert result.exit_code == 2
    assert "leave the engine's options out" in result.stderr


def test_the_commands_of_the_guide_are_understood() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "view.md").read_text(encoding="utf-8")
    commands = re.findall(r"^redraft view(.*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    for arguments in commands:
        view.make_context("view", arguments.split())


def _started(path: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*REDRAFT, "--store", str(path), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
