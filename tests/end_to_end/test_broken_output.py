"""Where the output goes nowhere, or to a wrong place, the verdict stays and nothing else is harmed."""

import json
import os
from typing import Any

import pytest

UNIT = {
    "id": "u",
    "question": "Who owns it?",
    "context_old": "Bo owns it.",
    "context_new": "Ava owns it.",
    "expect_new": ["Ava"],
}
FAKE = ("--fake-pass-ms", "0")


@pytest.fixture(autouse=True)
def suite(redraft: Any) -> None:
    (redraft.folder / "s.jsonl").write_text(json.dumps(UNIT))


@pytest.mark.parametrize(
    "redirection",
    ["| true", "2>&1 | head -1", "2>/dev/full", ">&-", "2>&-", ">&- 2>&-"],
)
def test_a_passing_run_passes_whoever_listens(redraft: Any, redirection: str) -> None:
    assert redraft.into(redirection, "run", "s.jsonl", "--html", "r.html", *FAKE) == 0
    assert (redraft.folder / "r.html").exists()
    run, attempts = redraft.last_run()
    assert len(attempts) == 2 + len(run.arms)  # with the stale answer and the warm-up


def test_a_failing_gate_fails_whoever_listens(redraft: Any) -> None:
    (redraft.folder / "redraft.toml").write_text("[gate]\nmin_units = 2\n")
    assert redraft.into("| true", "run", "s.jsonl", "--strict", *FAKE) == 1
    assert redraft.into("| true", "gate", "last") == 3


def test_a_wrong_flag_is_2_whoever_listens(redraft: Any) -> None:
    assert redraft.into("2>/dev/full", "run", "--nonsense") == 2


def test_a_full_disk_under_stdout_is_no_verdict(redraft: Any) -> None:
    assert redraft.into(">/dev/full", "run", "s.jsonl", *FAKE) == 4


@pytest.mark.parametrize("place", ["redraft.duckdb", "s.jsonl", "folder", "", "nowhere/r.html", "pipe"])
def test_a_report_replaces_nothing_but_a_report(redraft: Any, place: str) -> None:
    (redraft.folder / "folder").mkdir()
    os.mkfifo(redraft.folder / "pipe")
    redraft("import", "s.jsonl")
    before = {path: path.stat() for path in redraft.folder.iterdir()}
    done = redraft("run", "s.jsonl", "--html", place, *FAKE)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert {path: path.stat().st_ino for path in redraft.folder.iterdir()} == {
        path: stat.st_ino for path, stat in before.items()
    }


def test_a_report_goes_where_a_link_leads(redraft: Any) -> None:
    (redraft.folder / "link.html").symlink_to("real.html")
    assert redraft("run", "s.jsonl", "--html", "link.html", *FAKE).returncode == 0
    assert (redraft.folder / "link.html").is_symlink()
    assert "<html" in (redraft.folder / "real.html").read_text()


def test_a_policy_for_another_arm_is_refused_before_the_work(redraft: Any) -> None:
    (redraft.folder / "redraft.toml").write_text('[gate]\narms = ["redraft:tau=2"]\n')
    done = redraft("run", "s.jsonl", *FAKE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "redraft:tau=2,floor=1" in done.stderr
    (redraft.folder / "redraft.toml").write_text('[gate]\narms = ["redraft:floor=1,tau=3.0"]\n')
    assert redraft("run", "s.jsonl", *FAKE).returncode == 0
