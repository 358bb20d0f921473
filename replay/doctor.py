"""Whether redraft can work here: what was looked at, what was found, and what to do about it.

Invariant: a check that fails stops no other, and nothing is fetched or made for one. The engine is started as
any run starts it, and what it says about itself is what is shown.
"""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import httpx

from bundles import BundleError, Store, StoreLocked, verify_stored
from engine.wire import EngineFacts
from replay.errors import ReplayError
from replay.stack import Say, StackOptions, serving

State = Literal["ok", "warn", "fail"]
LITTLE_BYTES, LEAST_BYTES = 2 * 10**9, 2 * 10**8
BINDING = "llama-cpp-python"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `advice` where it is not ok."""

    name: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, and what the engine says about itself if it starts."""

    checks: tuple[Check, ...]
    engine: EngineFacts | None

    @property
    def works(self) -> bool:
        """Whether no check failed."""
        return all(check.state != "fail" for check in self.checks)


def diagnose(options: StackOptions, store: Path, say: Say, log: Say) -> Diagnosis:
    """Look at everything. A store that is not there yet is no fault."""
    where = _where_the_default_model_is()
    needed = [_binding(where)]
    if options.fake_pass_ms is None:
        options = replace(options, model=options.model or where)
        needed.append(_model(options.model))
    checks = [_python(), *needed, _cores(options.threads), _disk("disk of the store", store.resolve().parent)]
    if where is not None:
        checks.append(_disk("disk of the models", where.parent))
    facts = None
    if all(check.state == "ok" for check in needed):
        engine, facts = _engine(options, say, log)
        checks += engine
    checks.append(_store(store))
    return Diagnosis(tuple(checks), facts)


def _where_the_default_model_is() -> Path | None:
    """None where the engine's code cannot be imported."""
    command = [sys.executable, "-m", "engine.pull", "--where"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return None if done.returncode else Path(done.stdout.strip())


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} at {sys.executable}")


def _binding(where: Path | None) -> Check:
    try:
        found = version(BINDING)
    except PackageNotFoundError:
        found = "not installed"
    if where is not None:
        return Check(BINDING, "ok", found)
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    need = f"it is compiled with {compiler}" if compiler else "it needs a C++ compiler first; none is here"
    return Check(BINDING, "fail", f"{found}; cannot be imported", f"run pip install {BINDING}: {need}")


def _cores(threads: int | None) -> Check:
    all_cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else all_cores
    load = os.getloadavg()[0]
    found = f"{usable} of {all_cores}, load {load:.1f}"
    if (threads or all_cores) > usable:
        return Check("cores", "warn", found, f"start with --threads {usable}")
    if load > usable:
        return Check("cores", "warn", found, "times are not worth comparing until other work has ended")
    return Check("cores", "ok", found)


def _disk(name: str, folder: Path) -> Check:
    """The file system that a folder is on, or will be."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / 1e9:.1f} GB free at {folder}"
    if free >= LITTLE_BYTES:
        return Check(name, "ok", found)
    return Check(name, "warn" if free >= LEAST_BYTES else "fail", found, "free some space")


def _model(path: Path | None) -> Check:
    if path is None:
        return Check("model", "fail", "unknown", f"mend {BINDING} first")
    if not path.is_file():
        return Check(
            "model", "fail", f"{path}: not there", "run redraft model pull, or give one with --model"
        )
    return Check("model", "ok", f"{path}, {path.stat().st_size / 1e6:.0f} MB")


def _engine(options: StackOptions, say: Say, log: Say) -> tuple[list[Check], EngineFacts | None]:
    try:
        with serving(options, say, log) as stack:
            props = httpx.get(f"{stack.engine_url}/props", timeout=10, trust_env=False).json()
    except ReplayError as error:
        return [Check("engine", "fail", str(error), "redraft doctor -v shows its log")], None
    facts = EngineFacts.model_validate(props["redraft"])
    how = f"{facts.quantisation}, {facts.kv_type} cache, {facts.threads} threads"
    started = Check("engine", "ok", f"{how}, sha256 {facts.model_fingerprint}")
    return [started, _exactness(facts), _costs(facts)], facts


def _exactness(facts: EngineFacts) -> Check:
    found = f"windows of up to {facts.exact_width} rows equal single tokens bit for bit"
    if facts.deterministic:
        return Check("deterministic", "ok", found)
    advice = "use --kv bf16 and a model with Q8_0 or Q4_0 weights on the CPU"
    if facts.exact_width == 1:
        found = "no window equals single tokens: exact mode does not draft"
    return Check("deterministic", "warn", found, advice)


def _costs(facts: EngineFacts) -> Check:
    costs = {int(rows): cost for rows, cost in facts.pass_cost_ms.items()}
    found = ", ".join(f"{rows}: {costs[rows]:.3g}" for rows in sorted(costs))
    return Check("ms of a pass by rows", "ok", found)


def _store(path: Path) -> Check:
    """Opened as any command opens it, and every bundle, attempt and verdict read."""
    if not path.exists():
        return Check("store", "ok", f"{path}: none yet")
    try:
        with Store.open(path, create=False) as store:
            bundles = [verify_stored(store, info.bundle_id) for info in store.bundles()]
            runs = store.runs()
            attempts = sum(len(store.attempts(run.run_id)) for run in runs)
            verdicts = sum(len(store.verdicts(run.run_id)) for run in runs)
    except StoreLocked as error:
        return Check("store", "warn", str(error), "look again when that has ended")
    except BundleError as error:
        return Check("store", "fail", str(error), "put a copy of the store in its place")
    found = (
        f"{len(bundles)} bundles, {len(runs)} runs, {attempts} attempts, {verdicts} verdicts, all readable"
    )
    return Check("store", "ok", f"{path}: {found}")
