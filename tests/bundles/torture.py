"""Kills at seeded points, and what is left of a journal and a store: run by hand, or a few points by a test.

    python tests/bundles/torture.py [--points 1000] [--seed 1]

Every point is a SIGKILL of a process that records, recovers, ingests, imports, checkpoints, takes a snapshot
or migrates: before, within or after its n-th call that changes a file. DuckDB's own calls are seen by a
library that is preloaded; where there is no C compiler to make it, kills of DuckDB come after a time. Another
process then opens what is left. Prints a table; exits with 1 if anything acknowledged was lost or repeated,
or anything is not as it must be.
"""

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from tabulate import tabulate
from torture_scenarios import SCENARIOS, Say, Scenario, Verdict

CALLS = ("pwrite", "fsync", "ftruncate", "truncate", "open", "close", "replace", "unlink", "mkdir")
PHASES = ("before", "within", "after")
Place = tuple[int, str] | float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not sees_duckdb() and (compiler := shutil.which("cc")):
        return main_that_sees_duckdb(compiler)
    began, rows, wrong = time.monotonic(), [], []
    shares = sum(scenario.share for scenario in SCENARIOS.values())
    with scratch("torture-") as home:
        for name, scenario in SCENARIOS.items():
            points = max(1, round(options.points * scenario.share / shares))
            killed, total = torture(scenario, Path(home, name), points, Random(f"{options.seed} {name}"))
            rows.append([name, killed, total.acknowledged, total.lost, total.repeated, len(total.wrong)])
            wrong += [f"{name}: {line}" for line in total.wrong]
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["killed while", "kills", "acknowledged", "lost", "repeated", "wrong"]))
    print(f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    print(*wrong[:20], sep="\n", end="")
    return int(any(rows[-1][3:]))


def main_that_sees_duckdb(compiler: str) -> int:
    """Run this script again, with the library preloaded."""
    with tempfile.TemporaryDirectory() as folder:
        library, source = Path(folder, "kill_points.so"), Path(__file__).with_name("kill_points.c")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        environment = os.environ | {"LD_PRELOAD": str(library)}
        return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


def sees_duckdb() -> bool:
    """Whether the library is there that sees DuckDB's calls."""
    return hasattr(ctypes.CDLL(None), "kill_at")


def scratch(name: str) -> "tempfile.TemporaryDirectory[str]":
    """A folder in memory where there is such: a kill spares what was written, and waiting is for nothing."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    return tempfile.TemporaryDirectory(prefix=name, dir=memory)


def torture(scenario: Scenario, home: Path, points: int, chance: Random) -> tuple[int, Verdict]:
    """Kill the scenario's process until it was killed so often before its end, and sum up the checks."""
    template, folder = home / "template", home / "folder"
    template.mkdir(parents=True)
    in_child(lambda say: scenario.prepare(template))
    shutil.copytree(template, folder)
    began = time.monotonic()
    calls = int(in_child(counting(scenario, folder))[-1])
    took = time.monotonic() - began
    killed, total = 0, Verdict()
    for _ in range(points * 3):
        shutil.rmtree(folder)
        shutil.copytree(template, folder)
        place = (chance.randint(1, calls), chance.choice(PHASES)) if calls else chance.uniform(0, took)
        said, was_killed = kill(scenario, folder, place)
        add(total, check(scenario, folder, said), place)
        killed += was_killed
        if killed == points:
            break
    shutil.rmtree(home)
    return killed, total


def kill(scenario: Scenario, folder: Path, place: Place) -> tuple[list[str], bool]:
    """Act in a process that is killed there; what it said, and whether it came so far."""
    if isinstance(place, tuple):
        return run(killing_itself(scenario, folder, *place), None)
    return run(lambda say: scenario.act(folder, say), place)


def check(scenario: Scenario, folder: Path, said: list[str]) -> Verdict:
    """What another process makes of what is left."""

    def work(say: Say) -> None:
        try:
            found = scenario.check(folder, said)
        except Exception:
            found = Verdict(wrong=[" ".join(traceback.format_exc().split())[-300:]])
        say(json.dumps(asdict(found)))

    return Verdict(**json.loads(in_child(work)[-1]))


def add(total: Verdict, found: Verdict, place: Place) -> None:
    total.acknowledged += found.acknowledged
    total.lost += found.lost
    total.repeated += found.repeated
    total.wrong += [f"{line} ({place})" for line in found.wrong]


def counting(scenario: Scenario, folder: Path) -> Callable[[Say], None]:
    """Act, and say at the end how many calls there were; none, where they cannot be seen."""

    def act(say: Say) -> None:
        count = watch(scenario, 0, "")
        scenario.act(folder, lambda line: None)
        say(str(count()))

    return act


def killing_itself(scenario: Scenario, folder: Path, number: int, phase: str) -> Callable[[Say], None]:
    """Act until this phase of the call of this number."""

    def act(say: Say) -> None:
        watch(scenario, number, phase)
        scenario.act(folder, say)

    return act


def watch(scenario: Scenario, number: int, phase: str) -> Callable[[], int]:
    """Count the calls from now on, and end this process at that phase of that one."""
    if not scenario.is_duckdb:
        return watch_python(lambda *place: place == (number, phase) and os.kill(os.getpid(), signal.SIGKILL))
    if not sees_duckdb():
        return lambda: 0
    library = ctypes.CDLL(None)
    library.kill_at(ctypes.c_long(number), PHASES.index(phase) if phase else 0)
    return lambda: int(library.calls_made())


def watch_python(pause: Callable[[int, str], object]) -> Callable[[], int]:
    """Call `pause` around every call of `os` that changes a file, writes being half done within."""
    count, lock = 0, Lock()

    def wrapped(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: Any, **named: Any) -> object:
            nonlocal count
            with lock:
                count += 1
                number = count
            pause(number, "before")
            if name == "pwrite":
                file, data, place = arguments
                real(file, data[: len(data) // 2], place)
            pause(number, "within")
            result = real(*arguments, **named)
            pause(number, "after")
            return result

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))
    return lambda: count


def in_child(work: Callable[[Say], None]) -> list[str]:
    """What a process of its own says, which ends by itself: DuckDB and threads do not outlive it."""
    said, killed = run(work, None)
    assert not killed
    return said


def run(work: Callable[[Say], None], seconds: float | None) -> tuple[list[str], bool]:
    """What a process of its own says until it ends or is killed after a time, and whether it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(writing)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading) as pipe:
        said = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return said, os.WIFSIGNALED(status)


if __name__ == "__main__":
    sys.exit(main())
