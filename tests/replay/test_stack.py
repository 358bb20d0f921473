import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from replay.errors import ServiceDown, SettingsError
from replay.stack import Child, Service, StackOptions, pull_model, serving

FAKE = StackOptions(fake_pass_ms=0)


def silent(line: str) -> None:
    pass


def test_children_serve_while_needed_and_are_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDRAFTD_RECORD", "/nowhere/prod")  # that is for services which are to be recorded
    with serving(FAKE, silent, silent) as stack:
        health = httpx.get(f"{stack.url}/healthz").json()
        assert (health["status"], health["recorder"]) == ("ok", "off")
        stack.check()
        pids = stack.engine.pid, stack.daemon.pid
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_death_of_a_child_is_told() -> None:
    with serving(FAKE, silent, silent) as stack:
        os.kill(stack.engine.pid, signal.SIGKILL)
        os.waitid(os.P_PID, stack.engine.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(ServiceDown, match="redraft-engine was killed by SIGKILL"):
            stack.check()


def test_a_lost_service_is_explained_by_the_child_that_died() -> None:
    def lose_the_daemon() -> None:
        others = children_running("daemon.main")
        with Service(None, FAKE).connected(silent, silent) as client:
            (pid,) = children_running("daemon.main") - others
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            client.must_be_alive()

    with pytest.raises(ServiceDown, match="redraftd was killed by SIGKILL"):
        lose_the_daemon()


def children_running(module: str) -> set[int]:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in children if module in Path(f"/proc/{pid}/cmdline").read_text()}


def test_what_the_daemon_says_of_its_journal_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "prod.journal"
    said: list[str] = []
    folder.mkdir()
    (folder / "mark").write_bytes(b"none")
    recording = replace(FAKE, record=tmp_path / "prod", record_tenants="a,b")
    with serving(recording, said.append, silent) as stack:
        assert httpx.get(f"{stack.url}/healthz").json()["recorder"] == "up"
        with pytest.raises(SettingsError, match="in use by process"), serving(recording, said.append, silent):
            pass
    (mended,) = (line for line in said if "loading" not in line)
    assert mended.startswith(f"redraftd: {folder}/mark: missing")


def test_a_port_in_use_is_a_setting_to_mend() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for options in (
            StackOptions(fake_pass_ms=0, port=port),
            StackOptions(fake_pass_ms=0, engine_port=port),
        ):
            with pytest.raises(SettingsError, match=str(port)), serving(options, silent, silent):
                pass


def test_a_model_that_is_none_is_a_setting_to_mend(tmp_path: Path) -> None:
    text = tmp_path / "model.gguf"
    text.write_text("not a model")
    for path in (text, tmp_path / "nowhere.gguf"):
        with pytest.raises(SettingsError, match=path.name), serving(StackOptions(model=path), silent, silent):
            pass


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules children can run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        ("print('hello')", ServiceDown, "ended with exit code 0"),
        ("raise ValueError('broken')", ServiceDown, "exit code 1: ValueError: broken"),
        (
            "import sys; print('first\\nbad --flag', file=sys.stderr); sys.exit(2)",
            SettingsError,
            "bad --flag",
        ),
    ],
)
def test_a_child_that_does_not_listen_is_explained(
    modules: Path, body: str, error: type[Exception], said: str
) -> None:
    (modules / "strange.py").write_text(body)
    child = Child("strange", "strange", [], silent)
    with pytest.raises(error) as raised:
        child.url()
    assert said in str(raised.value)
    child.stop()


def test_a_child_that_says_something_else_and_lives_on_is_explained(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (modules / "strange.py").write_text("import time; print('hello', flush=True); time.sleep(600)")
    monkeypatch.setattr("replay.stack.STOP_S", 0.2)
    child = Child("strange", "strange", [], silent)
    with pytest.raises(ServiceDown, match="said 'hello"):
        child.url()
    child.stop()


def test_a_child_that_ignores_the_request_to_end_is_killed(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (modules / "stubborn.py").write_text(
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('listening on http://127.0.0.1:1', flush=True)\n"
        "time.sleep(600)\n"
    )
    monkeypatch.setattr("replay.stack.STOP_S", 0.2)
    child = Child("stubborn", "stubborn", [], silent)
    assert child.url() == "http://127.0.0.1:1"
    child.stop()
    assert child.death() is not None


def test_pull_relays_progress_and_gives_the_path(modules: Path) -> None:
    (modules / "engine").mkdir()
    (modules / "engine" / "__init__.py").write_text("")
    (modules / "engine" / "pull.py").write_text(
        "import sys; print('one\\ntwo', file=sys.stderr); print('/models/m.gguf')"
    )
    told: list[str] = []
    assert pull_model(told.append) == Path("/models/m.gguf")
    assert told == ["one", "two"]


def test_pull_that_fails_is_one_line(modules: Path) -> None:
    (modules / "engine").mkdir()
    (modules / "engine" / "__init__.py").write_text("")
    (modules / "engine" / "pull.py").write_text("import sys; sys.exit('no network')")
    told: list[str] = []
    with pytest.raises(ServiceDown, match="cannot get the default model: no network"):
        pull_model(told.append)
    assert told == []


def test_what_the_engine_warns_of_is_said(modules: Path) -> None:
    (modules / "engine").mkdir()
    (modules / "engine" / "__init__.py").write_text("")
    (modules / "engine" / "main.py").write_text(
        "import sys\n"
        "for line in ('measuring', 'warning: --gpu-layers is without effect', 'wrong model'):\n"
        "    print(line, file=sys.stderr, flush=True)\n"
        "sys.exit(2)\n"
    )
    said: list[str] = []
    with pytest.raises(SettingsError, match="wrong model"), serving(FAKE, said.append, silent):
        pass
    assert said == ["redraft-engine: warning: --gpu-layers is without effect"]


def test_options_become_command_lines() -> None:
    options = StackOptions(
        model=Path("m.gguf"), ctx=99, threads=2, kv="f16", gpu_layers=5, cache_ram=0, slots=3, port=1
    )
    assert " ".join(options.engine_arguments()) == (
        "--port 0 --slots 3 --watch-stdin --model m.gguf --ctx 99 --threads 2 --kv f16 --gpu-layers 5"
        " --cache-ram 0"
    )
    assert " ".join(options.daemon_arguments("http://e")) == (
        "--engine http://e --host 127.0.0.1 --port 1 --slots 3 --no-auth --watch-stdin"
    )
    closed = replace(options, tokens_file=Path("tokens"))
    assert " ".join(closed.daemon_arguments("http://e")) == (
        "--engine http://e --host 127.0.0.1 --port 1 --slots 3 --watch-stdin --tokens-file tokens"
    )
