import hashlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner, Result

from replay.cli.canary import Duration
from replay.cli.main import commands
from replay.stack import Stack

Canary = Callable[..., Result]
GONE = "http://127.0.0.1:1"


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Canary:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, ["canary", *arguments])


def suite(folder: Path, expected: str) -> str:
    unit = {
        "id": "fare",
        "canary": True,
        "instruction": "What is the fare?",
        "before": "The fare is 9 euros.",
        "after": "The fare is 14 euros.",
        "expect_new": [expected],
        "forbid_new": ["9 euros"],
    }
    path = folder / "fare.json"
    path.write_text(json.dumps({"suite": "fare", "units": [unit]}))
    return str(path)


def test_a_live_daemon_that_follows_edits_exits_0(canary: Canary, live: Stack, tmp_path: Path) -> None:
    before = httpx.get(f"{live.url}/healthz").json()["sessions"]
    result = canary("--url", live.url, "--suite", suite(tmp_path, "14 euros"))
    assert result.exit_code == 0, result.output
    assert re.search(r"^fare\s+passed\s+\d+%", result.stdout, re.MULTILINE)
    assert "canaries: 1 passed, 0 failed, 0 blind, 0 unscored, 0 error" in result.stdout
    assert httpx.get(f"{live.url}/healthz").json()["sessions"] == before


def shown(daemon: str) -> dict[str, float]:
    """The daemon's own canary gauges."""
    found = re.findall(r"^redraft_canary_(\w+) (\S+)$", httpx.get(f"{daemon}/metrics").text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_the_daemons_metrics_show_the_last_round_unless_that_is_not_wanted(
    canary: Canary, live: Stack, tmp_path: Path
) -> None:
    for expected, passed, blind in (("14 euros", 1, 0), ("15 euros", 0, 1)):
        result = canary("--url", live.url, "--suite", suite(tmp_path, expected))
        assert "metrics" not in result.stderr
        gauges = shown(live.url)
        assert (gauges["passed"], gauges["blind"], gauges["failed"], gauges["error"]) == (passed, blind, 0, 0)
    canary("--url", live.url, "--suite", suite(tmp_path, "14 euros"), "--no-report")
    assert shown(live.url) == gauges


def test_a_token_that_may_not_report_says_so_and_decides_nothing(
    canary: Canary, live: Stack, launch: Any, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"sha256:{hashlib.sha256(b'ada').hexdigest()} canary\n")
    arguments = ("--engine", live.engine_url, "--slots", "1", "--tokens-file", str(tokens))
    daemon = launch("daemon.main", *arguments, health="/healthz")
    result = canary("--url", daemon.url, "--suite", suite(tmp_path, "14 euros"), "--token", "ada", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["passed"] == 1
    (said,) = [line for line in result.stderr.splitlines() if "metrics" in line]
    assert "--no-report" in said
    assert "forbidden_tenant" in said


def test_only_blind_canaries_exit_3(canary: Canary, live: Stack, tmp_path: Path) -> None:
    result = canary("--url", live.url, "--suite", suite(tmp_path, "15 euros"), "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["exit_code"], document["blind"]) == (3, 3, 1)
    assert document["canaries"][0]["text"] == document["canaries"][0]["plain_text"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--url", GONE], 4, f"{GONE}/healthz"),
        (["--suite", "nix.toml"], 2, "nix.toml"),
        (["--suite", "nix"], 2, "nix: no such file"),
        (["--arm", "plain"], 2, "arm 'plain'"),
        (["--metrics-port", "0"], 2, "--watch"),
        (["--token", "a\nb"], 2, "access token"),
    ],
)
def test_bad_input_is_one_line_and_the_right_code(
    canary: Canary, arguments: list[str], code: int, said: str
) -> None:
    result = canary(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_suite_without_canaries_exits_5(canary: Canary, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps({"suite": "s", "units": [{"id": "u", "instruction": "i", "before": "a", "after": "b"}]})
    )
    result = canary("--suite", str(path))
    assert result.exit_code == 5
    assert "has no canary" in result.stderr


def watching(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "replay.cli.main", "canary", "--watch", "50ms", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stopped(process: "subprocess.Popen[str]") -> int:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    return process.returncode


def test_a_watch_says_a_line_a_round_until_it_is_interrupted(live: Stack, tmp_path: Path) -> None:
    before = httpx.get(f"{live.url}/healthz").json()["sessions"]
    with watching(
        "--url", live.url, "--suite", suite(tmp_path, "14 euros"), "--metrics-port", "0"
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(2)]
        url = process.stderr.readline().split()[-1]
        metrics = httpx.get(url).text
        assert stopped(process) == 130
    assert all(re.match(r"20\S+\+00:00 1 passed, 0 failed, 0 blind", line) for line in lines)
    assert 'redraft_canary_passed{arm="redraft"' in metrics
    assert httpx.get(f"{live.url}/healthz").json()["sessions"] == before


def test_a_watch_goes_on_while_the_daemon_is_gone() -> None:
    with watching("--url", GONE, "--json") as process:
        assert process.stdout is not None
        rounds: list[Any] = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert stopped(process) == 130
    assert [(done["exit_code"], done["error"]) for done in rounds] == [(4, 3), (4, 3)]
    assert "no daemon answers" in rounds[0]["canaries"][0]["reason"]


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30.0), ("5m", 300.0), ("1h", 3600.0), ("250ms", 0.25)])
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "-5m", "5 days", "1.5m", "5mm", "²m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time such as"):
        Duration().convert(text, None, None)
