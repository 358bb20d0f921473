"""Whatever is wrong with the input, the user gets one line that names it, and the right exit code."""

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

UNIT = {"id": "u", "question": "q", "context_old": "a", "context_new": "b"}
FAKE = ("--fake-pass-ms", "0")


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        pytest.param("none.jsonl", None, 2, "none.jsonl", id="missing file"),
        pytest.param("s.jsonl", f"{json.dumps(UNIT)[:-1]}", 2, "s.jsonl:1", id="broken JSON line"),
        pytest.param("s.json", "[{", 2, "s.json", id="broken JSON"),
        pytest.param("s.toml", "[[units]\n", 2, "s.toml", id="broken TOML"),
        pytest.param("s.jsonl", "", 5, "s.jsonl", id="empty suite"),
        pytest.param("s.jsonl", '{"id": "u"}\n', 2, "s.jsonl:1", id="broken unit"),
        pytest.param("s.csv", "a,b\n", 2, "s.csv", id="another format"),
        pytest.param("s.jsonl", "\x00\ud83d", 2, "s.jsonl", id="binary"),
    ],
)
def test_suite(redraft: Any, name: str, content: str | None, code: int, said: str) -> None:
    if content is not None:
        (redraft.folder / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    done = redraft("run", name, *FAKE)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_is_no_suite(redraft: Any) -> None:
    (redraft.folder / "suite").mkdir()
    done = redraft("run", "suite", *FAKE)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_a_broken_line_among_good_ones_stops_a_run_and_not_an_import(redraft: Any) -> None:
    (redraft.folder / "s.jsonl").write_text(f"{json.dumps(UNIT)}\n{{\n")
    done = redraft("run", "s.jsonl", *FAKE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("redraft: s.jsonl:2: ")
    assert len(done.stderr.splitlines()) == 1
    done = redraft("import", "s.jsonl")
    assert done.stderr.startswith("skipped s.jsonl:2: ")
    assert " s: 1 unit" in done.stdout


@pytest.mark.parametrize("content", [b"not a model", b"", b"GGUF", b"GGUF" + bytes(100)])
def test_model_that_is_none(redraft: Any, content: bytes) -> None:
    (redraft.folder / "m.gguf").write_bytes(content)
    done = redraft("run", "builtin:smoke", "--model", "m.gguf")
    assert done.returncode == 2
    assert "m.gguf" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_store_that_is_none(redraft: Any) -> None:
    (redraft.folder / "redraft.duckdb").write_text("not a store, but long enough to be looked at" * 100)
    for command in (("run", "builtin:smoke", *FAKE), ("report",)):
        done = redraft(*command)
        assert done.returncode == 4
        assert "redraft.duckdb" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_store_in_use(redraft: Any) -> None:
    with redraft.store():
        done = redraft("run", "builtin:smoke", *FAKE)
    assert done.returncode == 4
    assert "redraft.duckdb" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_port_in_use(redraft: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for ports in (("--port", port, "--engine-port", "0"), ("--port", "0", "--engine-port", port)):
            done = redraft("serve", *FAKE, *ports)
            assert (done.returncode, done.stdout) == (2, "")
            assert port in done.stderr.splitlines()[-1]


def test_a_tampered_attempt_fails_the_gate_by_unit_and_fact(redraft: Any) -> None:
    done = redraft("run", "builtin:smoke", "--filter", "ferry", "--arm", "redraft", *FAKE)
    assert done.returncode == 0
    run, attempts = redraft.last_run()
    tampered = replace(run, run_id="20990101-000000-0000", started="2099-01-01T00:00:00+00:00")
    with redraft.store() as store:
        store.create_run(tampered)
        for attempt in attempts.values():
            text = attempt.text.replace("14 euros", "9 euros") if attempt.arm == "redraft" else attempt.text
            store.add_attempt(replace(attempt, run_id=tampered.run_id, text=text))
    assert redraft("gate").returncode == 2
    assert redraft("judge").returncode == 0
    gate = redraft("gate")
    assert gate.returncode == 1
    assert "ferry-fare" in gate.stdout
    assert "expect-1" in gate.stdout
    report = redraft("report", "--html", "r.html")
    assert report.returncode == 0
    page = Path(redraft.folder / "r.html").read_text()
    assert "ferry-fare" in page
    assert "9 euros" in page
