import os
import subprocess
import sys
from pathlib import Path

import pytest

from bundles import StoreLocked
from bundles.lock import locked

HOLDER = """
import sys
from pathlib import Path
from bundles.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_second_holder_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with (
        locked(path),
        pytest.raises(StoreLocked, match=f"{path}: in use by process {os.getpid()}, wait"),
        locked(path),
    ):
        pass
    with locked(path):
        assert (tmp_path / "store.redraft-lock").read_text() == f"{os.getpid()}\n"


def test_lock_survives_opening_the_store_and_goes_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "store"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        path.touch()
        path.read_bytes()
        with pytest.raises(StoreLocked, match=f"in use by process {child.pid}, "), locked(path):
            pass
        child.kill()
    with locked(path):
        assert path.exists()


def test_readers_share_it_and_keep_writers_out(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with (
        locked(path, shared=True),
        locked(path, shared=True),
        pytest.raises(StoreLocked, match="in use by process"),
        locked(path),
    ):
        pass
    with locked(path), pytest.raises(StoreLocked), locked(path, shared=True):
        pass
