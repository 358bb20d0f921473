import platform
from pathlib import Path

import pytest

from engine.wire import EngineFacts
from replay.bench import machine
from replay.bench.machine import cpu_name, machine_of, usable_cores


def test_the_engine_s_own_facts_are_taken_over() -> None:
    facts = EngineFacts(
        version="1", model_fingerprint="abc", quantisation="Q4_0", kv_type="f16", threads=3,
        deterministic=False, algorithms=[], exact_width=8, pass_cost_ms={"1": 7.5, "4": 19.7},
    )  # fmt: skip
    found = machine_of("m.gguf", facts, (None, 2.0), None)
    assert (found.model, found.model_sha256, found.quantisation, found.kv_type) == (
        "m.gguf", "abc", "Q4_0", "f16",
    )  # fmt: skip
    assert (found.threads, found.exact_width, found.pass_cost_ms) == (3, 8, {"1": 7.5, "4": 19.7})
    assert (found.load_start, found.load_end, found.used_by_others) == (None, 2.0, None)
    assert found.redraft
    assert found.llama_cpp_python


def test_a_package_that_is_not_installed_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise machine.PackageNotFoundError(package)

    monkeypatch.setattr(machine, "version", absent)
    facts = EngineFacts(
        version="1", model_fingerprint="", quantisation="", kv_type="", threads=1, deterministic=True,
        algorithms=[],
    )  # fmt: skip
    assert machine_of("m", facts, (None, None), None).llama_cpp_python == "not installed"


def test_the_processor_s_name(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast: 9000\n\nprocessor\t: 1\n")
    assert cpu_name(cpuinfo) == "Fast: 9000"
    cpuinfo.write_text("Hardware : x\n")
    assert cpu_name(cpuinfo) == (platform.processor() or platform.machine())
    assert cpu_name(tmp_path / "no") == (platform.processor() or platform.machine())


def test_cores_that_this_process_may_not_use_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {3}, raising=False)
    assert usable_cores() == 1
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert usable_cores() == 1
