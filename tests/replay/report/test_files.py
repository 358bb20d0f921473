import subprocess
import sys
from pathlib import Path

import pytest

from replay.report.files import write_whole

SIZE = 3_000_000
WRITER = f"""
import sys
from itertools import cycle
from pathlib import Path
from replay.report.files import write_whole
for letter in cycle("ab"):
    write_whole(Path(sys.argv[1]), letter * {SIZE})
    print(letter, flush=True)
"""


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def disk_full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("replay.report.files.os.fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_no_file_can_hold_is_written_all_the_same(tmp_path: Path) -> None:
    write_whole(tmp_path / "r.html", "a\ud800b")
    assert (tmp_path / "r.html").read_text() == "a?b"


def test_a_kill_while_writing_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    for rounds in range(1, 5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout
        for _ in range(rounds):
            writer.stdout.readline()
        writer.kill()
        writer.communicate()
        assert path.read_text() in ("a" * SIZE, "b" * SIZE)
