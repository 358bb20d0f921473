import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import httpx
import pytest

from engine.config import EngineConfig
from engine.main import bind, describe, load, prepare
from engine.model import LlamaModel
from engine.wire import Rule


def run(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "engine.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file or directory"), (b"PK\x03\x04", "not a GGUF file")],
    ids=["missing", "not a GGUF"],
)
def test_a_model_that_is_none_is_one_line_and_exit_2(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    done = run("--port", "0", "--model", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"redraft-engine: model {path}: {message}")
    assert done.stderr.count("\n") == 1


def test_a_damaged_model_ends_the_process_after_it_listened(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and nothing more")
    done = run("--port", "0", "--model", str(path))
    assert done.returncode == 2
    assert done.stdout.startswith("listening on http://127.0.0.1:")
    assert done.stderr.startswith(f"redraft-engine: model {path}: cannot be loaded: ")
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_is_one_line_and_exit_2() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        done = run("--fake-model", "--port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"redraft-engine: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port\n"
    )


def test_a_host_that_is_none_is_one_line_and_exit_2() -> None:
    done = run("--fake-model", "--host", "no such host")
    assert done.returncode == 2
    assert re.fullmatch(
        r"redraft-engine: cannot listen on no such host:8080: [^\n]*not known[^\n]*\n", done.stderr
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--slots", "0"],
        ["--port", "70000"],
        ["--kv", "q4"],
        ["--slot-save-path", "/nowhere"],
        ["--cache-ram", "-1"],
        ["--gpu-layers", "-1"],
        ["--frobnicate"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_wrong_option_is_named_with_exit_2(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr


def test_a_cache_folder_that_is_none_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("--fake-model", "--port", "0", "--cache-dir", str(tmp_path / "file"))
    assert done.returncode == 2
    assert (
        done.stderr
        == f"redraft-engine: --cache-dir {tmp_path}/file: File exists; give a folder to write to\n"
    )


def test_prefixes_outlive_the_process_in_a_cache_folder(launch: Callable, tmp_path: Path) -> None:
    prompt = {"prompt": [n % 200 for n in range(90)], "n_predict": 1}
    cached = []
    for _ in range(2):
        engine = launch("engine.main", "--fake-model", "--cache-ram", "0", "--cache-dir", str(tmp_path))
        for body in (prompt, {"prompt": [7] * 50, "n_predict": 1}):
            result = httpx.post(engine.url + "/completion", json=body).json()
            cached.append(result["timings"]["cache_n"])
        engine.process.stdin.close()
        engine.process.wait(10)
    assert cached == [0, 0, 89, 0]


def test_options_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDRAFT_ENGINE_SLOTS", "0")
    assert "--slots" in run("--fake-model", "--port", "0").stderr


def test_what_was_measured_and_what_can_be_asked_for_is_published(launch: Callable) -> None:
    facts = httpx.get(launch("engine.main", "--fake-model").url + "/props").json()["redraft"]
    assert (facts["deterministic"], facts["exact_width"]) == (True, 256)
    assert facts["algorithms"] == ["adaptive", "anchor"]
    assert facts["rules"] == list(get_args(Rule))
    assert (facts["draft_sources"], facts["draft_model"]) == (["stale", "lookup"], None)
    costs = {int(rows): cost for rows, cost in facts["pass_cost_ms"].items()}
    assert costs[64] > costs[8] > costs[1] > 0


def test_a_draft_model_is_loaded_checked_and_published(
    real_model: Path,
    without_layers: Callable,
    llama: LlamaModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.calibration.exact_width", lambda model: model.max_rows)
    monkeypatch.setattr("engine.calibration.pass_costs", lambda *_: {1: 7.5})
    config = EngineConfig(model=real_model, draft_model=without_layers(2), ctx=140)
    facts = describe(llama, prepare(llama, config))
    assert (facts.draft_sources, facts.draft_model) == (["stale", "lookup", "model"], "2-layers")
    assert facts.deterministic
    assert len([*(tmp_path / "redraft" / "calibration").iterdir()]) == 2


def test_a_model_that_cannot_roll_back_is_served_like_any_other(launch: Callable, tiny_models: Path) -> None:
    engine = launch("engine.main", "--model", str(tiny_models / "recurrent.gguf"), "--ctx", "640")
    with httpx.Client(base_url=engine.url, timeout=20) as client:
        facts = client.get("/props").json()["redraft"]
        assert (facts["deterministic"], facts["exact_width"]) == (True, 128)
        prompt = {"prompt": list(range(3, 250)), "n_predict": 40, "return_tokens": True}
        plain = client.post("/completion", json=prompt).json()["tokens"]
        draft = [*plain[:20], 7, *plain[21:]]
        body = {"old_output": draft, "tau": 0, "algorithm": "anchor"}
        result = client.post("/completion", json={**prompt, "redraft_stabilize": body}).json()
    assert result["tokens"] == plain
    assert result["redraft_wasted_rows"] > 0
    assert result["timings"]["cache_n"] == 246


def test_layers_for_a_gpu_that_cannot_be_used_are_one_line(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("engine.main.supports_gpu", lambda: False)
    monkeypatch.setattr("engine.model.supports_gpu", lambda: False)
    config = EngineConfig(model=tiny_models / "recurrent.gguf", ctx=64, gpu_layers=9)
    model = load(config)
    told = capsys.readouterr().err
    assert told.startswith(
        "warning: --gpu-layers is without effect: this llama.cpp was built for the CPU alone"
    )
    assert told.count("\n") == 1
    assert "GPU" not in model.facts.build_info
    load(config.model_copy(update={"gpu_layers": 0}))
    assert capsys.readouterr().err == ""


def test_layers_on_a_gpu_make_another_engine_of_it(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured or saved without them is not taken for what it is with them."""
    monkeypatch.setattr("engine.main.supports_gpu", lambda: True)
    monkeypatch.setattr("engine.model.supports_gpu", lambda: True)
    model = load(EngineConfig(model=tiny_models / "recurrent.gguf", ctx=64, gpu_layers=9))
    assert model.facts.build_info.endswith(", 9 layers on GPU")


def test_a_draft_model_with_another_tokenizer_is_one_line_and_exit_2(
    real_model: Path, without_layers: Callable
) -> None:
    other = without_layers(1, {5: "<other>"})
    done = run("--port", "0", "--model", str(real_model), "--draft-model", str(other), "--ctx", "140")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        f"redraft-engine: draft model {other}: its tokenizer is not that of {real_model}: "
        "token 5 is b'<other>', not b'"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_open_streams_and_exits_0(number: int, launch: Callable) -> None:
    running = launch("engine.main", "--fake-model", "--fake-pass-ms", "20")
    body = {"prompt": "<|im_start|>user\n" + "the plan " * 900 + "<|im_end|>\n<|im_start|>assistant\n"}
    with httpx.stream("POST", running.url + "/completion", json={**body, "stream": True}) as response:
        lines = response.iter_lines()
        assert '"stop":false' in next(lines)
        running.process.send_signal(number)
        last = [line for line in lines if line][-1]
    assert '"message": "the engine is shutting down"' in last
    assert running.process.wait(10) == 0


def test_a_signal_does_not_wait_for_a_request_that_its_sender_does_not_finish() -> None:
    command = [sys.executable, "-m", "engine.main", "--fake-model", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        host, port = process.stdout.readline().decode().split("//")[1].split(":")
        while httpx.get(f"http://{host}:{int(port)}/health").status_code != 200:
            pass
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"POST /completion HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
            assert httpx.get(f"http://{host}:{int(port)}/health").status_code == 200
            process.terminate()
            assert connection.recv(4096).startswith(b"HTTP/1.1 503 ")
        _, stderr = process.communicate(timeout=10)
    assert (process.returncode, stderr.count(b"\n")) == (0, 1), stderr


def test_a_signal_as_soon_as_it_listens_exits_0() -> None:
    command = [sys.executable, "-m", "engine.main", "--fake-model", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline().startswith(b"listening on ")
        process.terminate()
        assert process.wait(10) == 0


def test_a_signal_while_a_text_is_tokenized_exits_0(launch: Callable, real_model: Path) -> None:
    """The text takes longer than open requests are waited for; its vocabulary must still be there."""
    running = launch("engine.main", "--model", str(real_model), "--ctx", "8192")
    body = b'{"content": "' + b"<|im_end|>" * 65_000 + b'"}'
    head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /tokenize HTTP/1.1\r\nhost: x\r\n" + head + body)
        assert httpx.get(running.url + "/health").status_code == 200
        running.process.terminate()
        assert running.process.wait(10) == 0


def test_a_signal_during_the_download_ends_it_and_exits_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bind("127.0.0.1", 0) as registry:
        registry.settimeout(60)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{registry.getsockname()[1]}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        command = [sys.executable, "-m", "engine.main", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            pip, _ = registry.accept()
            with pip:
                pip.settimeout(10)
                assert pip.recv(4) == b"GET "
                process.terminate()
                assert process.wait(10) == 0
                while pip.recv(4096):
                    pass


def test_closed_standard_input_has_ended() -> None:
    command = ["sh", "-c", 'exec "$0" "$@" <&-', sys.executable, "-m", "engine.main", "--fake-model"]
    done = subprocess.run(
        [*command, "--port", "0", "--watch-stdin"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_end_of_standard_input_exits_0(launch: Callable) -> None:
    running = launch("engine.main", "--fake-model")
    running.process.stdin.close()
    assert running.process.wait(10) == 0


def test_bind_takes_a_name_and_any_free_port() -> None:
    with bind("localhost", 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("localhost", port)):
            assert port > 0


def test_asyncio_switches_nagles_delay_off() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
