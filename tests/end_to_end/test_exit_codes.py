"""Every exit code, reached through the real command in a process of its own."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bundles import Store
from replay.cli.main import commands

GONE = "http://127.0.0.1:1"
UNITS = [
    {
        "id": f"u{number}",
        "question": "Who owns it?",
        "context_old": f"Bo owns number {number}.",
        "context_new": f"Ava owns number {number}.",
        "expect_new": ["Ava"],
        "forbid_new": ["Bo"],
        "canary": True,
    }
    for number in range(2)
]


@dataclass(frozen=True)
class World:
    """A folder with suites, a store with a run of each kind, and a daemon for each."""

    folder: Path
    words: dict[str, str]

    def arguments(self, line: str) -> list[str]:
        """A command line with the names of daemons and runs put in."""
        return line.format(**self.words).split()


def write_suites(folder: Path) -> None:
    (folder / "s.jsonl").write_text("\n".join(map(json.dumps, UNITS)))
    (folder / "calm.jsonl").write_text(json.dumps({**UNITS[0], "canary": False}))
    (folder / "empty.jsonl").write_text("")
    (folder / "garbage.duckdb").write_text("this is no store")


def refuse(daemon: Any) -> None:
    daemon.status = 413


def lose(daemon: Any) -> None:
    daemon.says = lambda plain, before, now: now if plain else before


def be_blind(daemon: Any) -> None:
    daemon.says = lambda plain, before, now: before


DAEMONS: dict[str, Callable[[Any], None]] = {
    "good": lambda daemon: None,
    "loses": lose,
    "blind": be_blind,
    "refuses": refuse,
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, scripted_daemon: Callable[[], Any]) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    write_suites(folder)
    words = {}
    opened = [scripted_daemon() for _ in DAEMONS]
    before = Path.cwd()
    os.chdir(folder)
    try:
        for (name, prepare), manager in zip(DAEMONS.items(), opened, strict=True):
            daemon = manager.__enter__()
            prepare(daemon)
            words[name] = daemon.url
            made = CliRunner().invoke(commands, ["run", "s.jsonl", "--arm", "redraft", "--url", daemon.url])
            assert made.exit_code in (0, 1, 3, 4), made.output
            with Store.open(Path("redraft.duckdb")) as store:
                words[f"{name}_run"] = store.run("last").run_id
        runner = CliRunner()
        assert runner.invoke(commands, ["baseline", "write", words["good_run"], "base.json"]).exit_code == 0
    finally:
        os.chdir(before)
    yield World(folder, words)
    for manager in opened:
        manager.__exit__(None, None, None)


CASES = [
    ("run s.jsonl --url {good} --store new.duckdb", 0, "gate: pass"),
    ("run s.jsonl --url {loses}", 1, "redraft lost critical fact"),
    ("run s.jsonl --arm fast", 2, "arm 'fast'"),
    ("run s.jsonl --url {blind}", 3, "2 of 2 canaries are blind"),
    ("run s.jsonl --url {refuses}", 4, "attempts failed"),
    ("run s.jsonl --url " + GONE, 4, "no daemon answers"),
    ("run s.jsonl --filter zzz", 5, "nothing to run: no unit has 'zzz'"),
    ("run empty.jsonl", 5, "empty.jsonl"),
    ("run s.jsonl --url {loses} --exit-zero", 0, "gate: regression"),
    ("replay s.jsonl --url {good}", 0, ""),
    ("replay s.jsonl --url {refuses}", 4, "attempts failed; try them again with --resume"),
    ("gate {good_run}", 0, "gate: pass"),
    ("gate {loses_run}", 1, "gate: regression"),
    ("gate zzz", 2, "zzz"),
    ("gate {blind_run}", 3, "gate: inconclusive"),
    ("gate {blind_run} --strict", 1, "gate: inconclusive"),
    ("gate {refuses_run}", 4, "gate: error"),
    ("gate {good_run} --store garbage.duckdb", 4, "garbage.duckdb"),
    ("report {loses_run}", 0, "gate: regression"),
    ("report zzz", 2, "zzz"),
    ("report {good_run} --store garbage.duckdb", 4, "garbage.duckdb"),
    ("baseline check {good_run} base.json", 0, "baseline: pass"),
    ("baseline check {loses_run} base.json", 1, "lost critical fact"),
    ("baseline check {good_run} s.jsonl", 2, "s.jsonl"),
    ("baseline check {refuses_run} base.json", 3, "cannot be held against the baseline"),
    ("baseline check {good_run} base.json --store garbage.duckdb", 4, "garbage.duckdb"),
    ("canary --suite s.jsonl --url {good}", 0, "2 passed"),
    ("canary --suite s.jsonl --url {loses}", 1, "2 failed"),
    ("canary --suite s.jsonl --arm plain", 2, "arm 'plain'"),
    ("canary --suite s.jsonl --url {blind}", 3, "2 blind"),
    ("canary --suite s.jsonl --url " + GONE, 4, GONE),
    ("canary --suite calm.jsonl", 5, "has no canary"),
    ("import s.jsonl", 0, "2 units"),
    ("import none.jsonl", 2, "none.jsonl"),
    ("import s.jsonl --store garbage.duckdb", 4, "garbage.duckdb"),
    ("import empty.jsonl", 5, "empty.jsonl"),
    ("judge {good_run}", 0, "0 unscored"),
    ("judge zzz", 2, "zzz"),
    ("judge {good_run} --judge-url " + GONE + " --judge-model m", 4, GONE),
]


@pytest.mark.parametrize(("line", "code", "said"), CASES, ids=[line for line, _, _ in CASES])
def test_exit_code(world: World, forked: Callable[..., Any], line: str, code: int, said: str) -> None:
    done = forked(world.folder, *world.arguments(line))
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if code not in (0, 1, 3) and not done.stdout:
        assert done.stderr.splitlines()[-1].startswith("redraft: ")


def test_a_run_killed_before_its_first_attempt_is_empty_and_is_continued(redraft: Any, daemon: Any) -> None:
    write_suites(redraft.folder)
    daemon.go.clear()
    with redraft.started("run", "s.jsonl", "--url", daemon.url) as started:
        started.read_until("if it stops, continue with")
        started.process.send_signal(signal.SIGKILL)
        assert started.ended()[0] == -signal.SIGKILL
    run, attempts = redraft.last_run()
    assert attempts == {}
    empty = redraft("gate", "last")
    assert (empty.returncode, empty.stdout) == (5, "gate: empty\n  nothing ran\n")
    daemon.go.set()
    assert redraft("run", "--resume", run.run_id, "--url", daemon.url).returncode == 0
    assert len(redraft.last_run()[1]) == 1 + 2 + 2 * 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupted_is_130_at_once_and_says_how_to_continue(redraft: Any, daemon: Any, jobs: int) -> None:
    write_suites(redraft.folder)
    daemon.go.clear()
    daemon.slots = 2
    with redraft.started("run", "s.jsonl", "--url", daemon.url, "-j", str(jobs)) as started:
        started.read_until("if it stops, continue with")
        started.process.send_signal(signal.SIGINT)
        code, said = started.ended()
    assert code == 130
    assert "interrupted; continue with: redraft run --store" in said.strip().splitlines()[-1]
    assert "Traceback" not in said


def test_a_watch_ends_with_130(redraft: Any, daemon: Any) -> None:
    write_suites(redraft.folder)
    with redraft.started("canary", "--suite", "s.jsonl", "--url", daemon.url, "--watch", "1h") as started:
        assert started.process.stdout
        assert "2 passed" in started.process.stdout.readline()
        started.process.send_signal(signal.SIGINT)
        assert started.ended()[0] == 130
