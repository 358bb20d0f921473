"""The command as a shell and a terminal see it."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

UNIT = {
    "id": "u",
    "question": "Who owns it?",
    "context_old": "Bo owns it.",
    "context_new": "Ava owns it.",
    "expect_new": ["Ava"],
}


@pytest.fixture
def suite(redraft: Any) -> str:
    (redraft.folder / "s.jsonl").write_text(json.dumps(UNIT))
    return "s.jsonl"


def test_bash_completes_commands_and_options() -> None:
    """With the line that docs/ci.md gives for ~/.bashrc."""
    script = """
    eval "$(_REDRAFT_COMPLETE=bash_source redraft)"
    complete_line() {
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
      _redraft_completion "$1"; echo "${COMPREPLY[*]}"
    }
    complete_line redraft re
    complete_line redraft baseline w
    complete_line redraft run --rep
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == ["replay report", "write", "--repeats"], done.stderr


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """What a command writes to a terminal that asks for no colour."""
    leader, follower = pty.openpty()
    environment = os.environ | {"NO_COLOR": "1", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "replay.cli.main", *arguments],
        cwd=folder, stdin=follower, stdout=follower, stderr=follower, env=environment,
    ):  # fmt: skip
        os.close(follower)
        written = b""
        try:
            while piece := os.read(leader, 65536):
                written += piece
        except OSError:
            pass  # how Linux says that nobody writes there any more
    os.close(leader)
    return written.decode()


def test_a_terminal_that_asks_for_none_gets_no_colour(redraft: Any, suite: str, daemon: Any) -> None:
    written = on_a_terminal(redraft.folder, "run", suite, "--url", daemon.url)
    assert "gate: pass" in written
    assert "attempts  [" in written  # the bar
    assert "\x1b[3" not in written
    assert "\x1b[9" not in written


_KILLED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
def watch(event, arguments):
    if event == "open" and ".redraft-report" in str(arguments[0]) and AT == "half":
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    if event == "os.rename" and ".redraft-report" in str(arguments[0]) and AT == "rename":
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from replay.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("at", "arguments"),
    [
        ("half", ["report", "last", "--html", "file"]),
        ("half", ["report", "last", "--format", "junit", "--output", "file"]),
        ("rename", ["report", "last", "--html", "file"]),
        ("half", ["baseline", "write", "last", "file", "--force"]),
    ],
)
def test_a_report_that_is_killed_while_written_leaves_the_old_one(
    redraft: Any, suite: str, daemon: Any, at: str, arguments: list[str]
) -> None:
    assert redraft("run", suite, "--url", daemon.url, "--arm", "redraft").returncode == 0
    old = '{"format": "redraft-baseline"}'
    (redraft.folder / "file").write_text(old)
    killed = subprocess.run(
        [sys.executable, "-c", f"AT = {at!r}\n{_KILLED}", *arguments], cwd=redraft.folder, timeout=60
    )
    assert killed.returncode == -(signal.SIGKILL if at == "rename" else signal.SIGXFSZ)
    assert (redraft.folder / "file").read_text() == old
    assert redraft(*arguments).returncode == 0
    assert len((redraft.folder / "file").read_text()) > 500
