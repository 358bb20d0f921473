"""What a reader must know about where a bench was made.

Invariant: what the engine says of itself is taken from it, not guessed.
"""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from engine.wire import EngineFacts
from replay.bench.result import Machine

_CPUINFO = Path("/proc/cpuinfo")


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_of(
    model: str,
    engine: EngineFacts,
    loads: tuple[float | None, float | None],
    used_by_others: float | None,
) -> Machine:
    """This machine with this engine on it."""
    return Machine(
        cpu=cpu_name(_CPUINFO),
        cores=os.cpu_count() or 1,
        threads=engine.threads,
        load_start=loads[0],
        load_end=loads[1],
        used_by_others=used_by_others,
        os=platform.platform(),
        python=platform.python_version(),
        redraft=_version("redraft"),
        llama_cpp_python=_version("llama-cpp-python"),
        model=model,
        model_sha256=engine.model_fingerprint,
        quantisation=engine.quantisation,
        kv_type=engine.kv_type,
        exact_width=engine.exact_width,
        pass_cost_ms=engine.pass_cost_ms,
    )


def cpu_name(cpuinfo: Path) -> str:
    """The processor's name where the system tells it, else its architecture."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
