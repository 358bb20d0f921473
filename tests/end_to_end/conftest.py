"""The `redraft` command as a user runs it: a real process in an empty folder."""

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

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
