from pathlib import Path

import pytest

from bundles import Journal, StoreError
from bundles.journal_reader import contents, read_journal, segment_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of six records in three segments."""
    path = tmp_path / "prod"
    with Journal.open(path, segment_bytes=1) as journal:
        for number in range(0, 6, 2):
            journal.submit([b"%d" % number, b"%d" % (number + 1)]).result()
    return path


def payloads(folder: Path) -> list[bytes]:
    return [frame.payload for frame in read_journal(folder)]


def test_records_come_in_order_over_all_segments(folder: Path) -> None:
    assert payloads(folder) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    found = contents(folder)
    assert [(segment.first, segment.limit) for segment in found.segments] == [(1, 3), (3, 5), (5, None)]
    assert found.acknowledged == 6


def test_a_journal_that_is_being_written_is_read_up_to_its_last_whole_record(folder: Path) -> None:
    with segment_path(folder, 5).open("ab") as file:
        file.write(b"\xf5rfr half a frame")
    assert payloads(folder)[-1] == b"5"


@pytest.mark.parametrize(
    ("first", "length", "sequence"),
    [
        pytest.param(1, -1, 2, id="end of an early segment"),
        pytest.param(3, 70, 3, id="whole segment"),
        pytest.param(5, -1, 6, id="end of the last one"),
    ],
)
def test_a_missing_acknowledged_record_is_told(first: int, length: int, sequence: int, folder: Path) -> None:
    path = segment_path(folder, first)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(StoreError, match=rf"prod: the journal is damaged at record {sequence}: let"):
        payloads(folder)


def test_a_missing_segment_is_told(folder: Path) -> None:
    segment_path(folder, 1).unlink()
    with pytest.raises(StoreError, match="damaged at record 1:"):
        payloads(folder)


def test_what_is_no_journal_is_told_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such journal"):
        payloads(tmp_path / "none")
    (tmp_path / "letter.txt").touch()
    with pytest.raises(StoreError, match="a folder but not a journal"):
        payloads(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
