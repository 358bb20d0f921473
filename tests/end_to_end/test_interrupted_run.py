"""A run that is stopped in the middle, by whatever, is continued and repeats nothing."""

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from bundles import Attempt

ENGINE = ("--fake-pass-ms", "0")
RUN = (
    "run",
    "mine.jsonl",
    "--arm",
    "redraft",
    "--fake-pass-ms",
    "20",
)  # so that it is still there to be stopped


@pytest.fixture(autouse=True)
def suite(redraft: Any) -> None:
    """Three short units: 12 attempts with their stale answers."""
    units = [
        {
            "id": f"u{number}",
            "question": "Who owns it?",
            "context_old": f"Bo owns number {number}.",
            "context_new": f"Ava owns number {number}.",
            "expect_new": ["Ava"],
            "forbid_new": ["Bo"],
            "canary": True,
        }
        for number in range(3)
    ]
    (redraft.folder / "mine.jsonl").write_text("\n".join(map(json.dumps, units)))


def counts(attempt: Attempt) -> bool:
    return attempt.arm != "warmup"


def continued(redraft: Any) -> None:
    """Continues the newest run: what was there stays as it is, the rest is made."""
    run, before = redraft.last_run()
    finished = {key: attempt for key, attempt in before.items() if counts(attempt) and attempt.status == "ok"}
    assert 0 < len(finished) < 12
    done = redraft("run", "--resume", run.run_id, *ENGINE, "--json")
    assert done.returncode == 0, done.stderr
    assert f"{len(finished)} of them done" in done.stderr
    _, after = redraft.last_run()
    assert {key: after[key] for key in finished} == finished
    assert sum(map(counts, after.values())) == 12
    summary = json.loads(done.stdout)
    assert (summary["run_id"], summary["attempts"], summary["missing"]) == (run.run_id, 9, 0)
    assert (summary["exact_match"], summary["control_match"]) == (1.0, 1.0)


def test_killed_run_is_continued_and_its_children_die_with_it(
    redraft: Any, wait_for_end: Callable[[int], None]
) -> None:
    with redraft.started(*RUN) as started:
        started.read_until("/12 attempts")
        children = started.child("engine.main"), started.child("daemon.main")
        os.kill(started.process.pid, signal.SIGKILL)
        assert started.ended()[0] == -signal.SIGKILL
    for child in children:
        wait_for_end(child)
    continued(redraft)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_lost_engine_ends_the_run_with_4_and_how_to_continue(redraft: Any, jobs: str) -> None:
    with redraft.started(*RUN, "-j", jobs) as started:
        started.read_until("/12 attempts")
        os.kill(started.child("engine.main"), signal.SIGKILL)
        code, said = started.ended()
    run, _ = redraft.last_run()
    assert code == 4
    assert "redraft-engine was killed by SIGKILL" in said.splitlines()[-1]
    assert f"--resume {run.run_id}" in said.splitlines()[-1]
    continued(redraft)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_run_ends_with_130_and_how_to_continue(
    redraft: Any, wait_for_end: Callable[[int], None], jobs: str
) -> None:
    with redraft.started(*RUN, "-j", jobs) as started:
        started.read_until("/12 attempts")
        engine = started.child("engine.main")
        started.process.send_signal(signal.SIGINT)
        code, said = started.ended()
    assert code == 130
    assert "--resume" in said
    assert "Traceback" not in said
    wait_for_end(engine)
    continued(redraft)
