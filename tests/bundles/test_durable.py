import os
from pathlib import Path

import pytest

from bundles.durable import replace, set_aside


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    replace(path, b"old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="No space"):
            replace(path, b"new")
    assert path.read_bytes() == b"old"
    replace(path, b"new")
    assert path.read_bytes() == b"new"


def test_what_is_set_aside_is_kept_once_and_never_written_over(tmp_path: Path) -> None:
    kept = [set_aside(tmp_path / "log", data) for data in (b"one", b"two", b"one", b"three")]
    assert [path.name for path in kept] == ["log", "log.1", "log", "log.2"]
    assert [path.read_bytes() for path in kept] == [b"one", b"two", b"one", b"three"]
