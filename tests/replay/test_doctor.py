import gzip
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bundles import Store
from engine.wire import EngineFacts
from replay import doctor
from replay.doctor import Check, Diagnosis, diagnose
from replay.errors import ServiceDown
from replay.stack import StackOptions

FAKE = StackOptions(fake_pass_ms=0)
FACTS = EngineFacts(
    version="0", model_fingerprint="f", quantisation="Q8_0", kv_type="bf16", threads=2, deterministic=True,
    algorithms=[], exact_width=128, pass_cost_ms={"16": 40, "1": 7.53},
)  # fmt: skip


def silent(line: str) -> None:
    pass


def found(name: str, diagnosis: Diagnosis) -> Check:
    (check,) = [check for check in diagnosis.checks if check.name == name]
    return check


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Diagnosis]:
    """Diagnose without starting services, which answer `FACTS`."""
    monkeypatch.setattr(doctor, "_where_the_default_model_is", lambda: tmp_path / "models" / "default.gguf")
    monkeypatch.setattr(doctor, "_engine", lambda *_: ([Check("engine", "ok", "started")], FACTS))

    def run(options: StackOptions = FAKE, store: Path = tmp_path / "s.duckdb") -> Diagnosis:
        return diagnose(options, store, silent, silent)

    return run


def test_a_working_installation_fails_nothing_and_makes_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    diagnosis = diagnose(FAKE, tmp_path / "s.duckdb", said.append, silent)
    assert diagnosis.works
    assert [check for check in diagnosis.checks if check.state == "ok" and check.advice] == []
    assert [check for check in diagnosis.checks if check.state != "ok" and not check.advice] == []
    assert diagnosis.engine is not None
    assert f"up to {diagnosis.engine.exact_width} rows" in found("deterministic", diagnosis).found
    assert found("ms of a pass by rows", diagnosis).found.startswith("1: 7.5, 4: 19.7")
    assert found("store", diagnosis).found.endswith("none yet")
    assert [*tmp_path.iterdir()] == []


def test_an_engine_that_does_not_start_is_told_and_stops_no_other_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise ServiceDown("redraft-engine ended with exit code 2: model m.gguf: cannot be loaded")

    monkeypatch.setattr(doctor, "serving", die)
    diagnosis = diagnose(FAKE, tmp_path / "s.duckdb", silent, silent)
    assert (diagnosis.works, diagnosis.engine) == (False, None)
    check = found("engine", diagnosis)
    assert (check.state, check.found.endswith("m.gguf: cannot be loaded")) == ("fail", True)
    assert found("store", diagnosis).state == "ok"


def test_a_model_that_is_not_there_is_not_fetched(look: Callable[..., Diagnosis], tmp_path: Path) -> None:
    diagnosis = look(StackOptions())
    assert found("model", diagnosis) == Check(
        "model",
        "fail",
        f"{tmp_path}/models/default.gguf: not there",
        "run redraft model pull, or give one with --model",
    )
    assert diagnosis.engine is None
    assert [*tmp_path.iterdir()] == []


def test_a_cached_model_is_named(look: Callable[..., Diagnosis], tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(bytes(3_000_000))
    diagnosis = look(StackOptions(model=model))
    assert found("model", diagnosis) == Check("model", "ok", f"{model}, 3 MB")
    assert diagnosis.engine == FACTS


@pytest.mark.parametrize("compiler", [None, "/usr/bin/c++"])
def test_a_binding_that_cannot_be_imported_says_what_it_needs(
    compiler: str | None, look: Callable[..., Diagnosis], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_where_the_default_model_is", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: compiler if name == "c++" else None)
    diagnosis = look(StackOptions())
    check = found("llama-cpp-python", diagnosis)
    assert (check.state, diagnosis.works, diagnosis.engine) == ("fail", False, None)
    assert check.advice.endswith(
        f"compiled with {compiler}" if compiler else "a C++ compiler first; none is here"
    )
    assert found("model", diagnosis).advice == "mend llama-cpp-python first"


def test_where_the_default_model_is_is_unknown_without_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    where = doctor._where_the_default_model_is()
    assert where == tmp_path / "redraft" / "models" / "SmolLM2-135M-Instruct.Q8_0.gguf"
    assert [*tmp_path.iterdir()] == []
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    assert doctor._where_the_default_model_is() is None


@pytest.mark.parametrize(
    ("threads", "load", "advice"),
    [(1, 0.5, ""), (9999, 0.5, "start with --threads "), (1, 9999.0, "times are not worth comparing")],
)
def test_cores_are_held_against_threads_and_load(
    threads: int,
    load: float,
    advice: str,
    look: Callable[..., Diagnosis],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    check = found("cores", look(replace(FAKE, threads=threads)))
    assert check.state == ("warn" if advice else "ok")
    assert check.advice.startswith(advice)


@pytest.mark.parametrize(("free", "state"), [(10**7, "fail"), (10**9, "warn"), (10**10, "ok")])
def test_free_space_is_that_of_the_nearest_folder(
    free: int, state: str, look: Callable[..., Diagnosis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage, asked = type(shutil.disk_usage("/")), []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or usage(0, 0, free))
    check = found("disk of the store", look(store=tmp_path / "not" / "yet" / "s.duckdb"))
    assert asked[0] == tmp_path
    assert check == Check(
        "disk of the store",
        state,  # type: ignore[arg-type]
        f"{free / 1e9:.1f} GB free at {tmp_path}/not/yet",
        "" if state == "ok" else "free some space",
    )


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({}, "ok", "up to 128 rows"),
        ({"deterministic": False, "exact_width": 31}, "warn", "up to 31 rows"),
        ({"deterministic": False, "exact_width": 1}, "warn", "exact mode does not draft"),
    ],
)
def test_how_exact_windows_are_is_told(changes: dict[str, Any], state: str, said: str) -> None:
    check = doctor._exactness(FACTS.model_copy(update=changes))
    assert (check.state, bool(check.advice)) == (state, state == "warn")
    assert said in check.found


def test_costs_are_in_the_order_of_rows() -> None:
    assert doctor._costs(FACTS).found == "1: 7.53, 16: 40"


class TestStore:
    def test_a_whole_one_is_counted(self, look: Callable[..., Diagnosis], make: Any, tmp_path: Path) -> None:
        path = tmp_path / "s.duckdb"
        unit = make.unit("a")
        with Store.open(path) as store:
            store.add_bundle(make.bundle([unit], "plans"))
        assert (
            found("store", look()).found == f"{path}: 1 bundles, 0 runs, 0 attempts, 0 verdicts, all readable"
        )

    def test_one_of_an_earlier_format_is_read(self, look: Callable[..., Diagnosis], tmp_path: Path) -> None:
        old = Path(__file__).parent.parent / "data" / "store-v1.duckdb.gz"
        (tmp_path / "s.duckdb").write_bytes(gzip.decompress(old.read_bytes()))
        assert found("store", look()).state == "ok"

    def test_one_in_use_is_no_fault(self, look: Callable[..., Diagnosis], tmp_path: Path) -> None:
        with Store.open(tmp_path / "s.duckdb"):
            diagnosis = look()
        assert (found("store", diagnosis).state, diagnosis.works) == ("warn", True)

    def test_a_file_that_is_none_fails(self, look: Callable[..., Diagnosis], tmp_path: Path) -> None:
        (tmp_path / "s.duckdb").write_text("not a store at all")
        diagnosis = look()
        assert (found("store", diagnosis).state, diagnosis.works) == ("fail", False)
