from collections.abc import Callable
from pathlib import Path

import pytest

from bundles import Journal, JournalUnavailable, StoreError
from bundles.journal_reader import segment_path
from bundles.journal_recovery import QUARANTINE
from bundles.segments import LOST, VERSION, encode_header

RECORDS = [b"record %d" % number for number in range(1, 7)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of six records in two segments."""
    path = tmp_path / "prod"
    with Journal.open(path) as journal:
        for record in RECORDS[:3]:
            journal.submit([record]).result()
    with Journal.open(path, segment_bytes=1) as journal:
        journal.submit(RECORDS[3:]).result()
    return path


def opened(folder: Path) -> tuple[list[bytes], int, tuple[str, ...]]:
    """Records that are read, how many are lost, and what was said."""
    with Journal.open(folder) as journal:
        frames = list(journal.read())
        return [f.payload for f in frames if f.kind != LOST], journal.recovery.lost, journal.recovery.said


def kept(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / QUARANTINE).iterdir())]


def last_segment(folder: Path) -> Path:
    return max(folder.glob("*.seg"))


def test_a_whole_journal_is_left_as_it_is(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.glob("*.seg")}
    assert opened(folder) == (RECORDS, 0, ())
    assert {path: path.read_bytes() for path in folder.glob("*.seg")} == before
    assert not (folder / QUARANTINE).exists()


@pytest.mark.parametrize("torn", [b"\xf5", b"\xf5rfr\0", b"\0" * 4096, b"rubbish" * 99])
def test_a_torn_end_is_cut_kept_and_said(torn: bytes, folder: Path) -> None:
    path = last_segment(folder)
    with path.open("ab") as file:
        file.write(torn)
    records, lost, (said,) = opened(folder)
    assert (records, lost) == (RECORDS, 0)
    assert (
        f"{path}: the last {len(torn)} bytes, after record 6, were never acknowledged: cut, kept in " in said
    )
    assert kept(folder) == [torn]
    assert opened(folder) == (RECORDS, 0, ())


@pytest.mark.parametrize("content", [b"", b"RDFT"])
def test_a_journal_that_a_kill_left_half_made_is_made(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "prod").mkdir()
    (tmp_path / "prod" / "mark.new").write_bytes(content)
    assert opened(tmp_path / "prod") == ([], 0, ())
    assert [path.name for path in (tmp_path / "prod").iterdir()] == ["mark"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", 0, id="empty"),
        pytest.param(b"RDFTJRNL", 0, id="part of a header"),
        pytest.param(b"RDFTJRNL" + b"\0" * 99, 1, id="zeros"),
    ],
)
def test_a_segment_that_was_just_begun_costs_nothing(content: bytes, said: int, folder: Path) -> None:
    segment_path(folder, 7).write_bytes(content)
    records, lost, lines = opened(folder)
    assert (records, lost, len(lines)) == (RECORDS, 0, said)
    with Journal.open(folder) as journal:
        assert journal.recovery.said == ()
        journal.submit([b"record 7"]).result()
    assert opened(folder) == ([*RECORDS, b"record 7"], 0, ())


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_a_damaged_record_is_lost_alone_and_its_file_kept(number: int, folder: Path) -> None:
    path = max(path for path in folder.glob("*.seg") if int(path.stem) <= number)
    before = path.read_bytes()
    path.write_bytes(before.replace(b"record %d" % number, b"recorD %d" % number))
    damaged = path.read_bytes()
    records, lost, said = opened(folder)
    assert records == RECORDS[: number - 1] + RECORDS[number:]
    assert lost == 1
    assert said[0] == f"{folder}: record {number} is lost"
    assert said[1].startswith(f"{path}: damaged: written anew from its whole records, kept as it was in ")
    assert kept(folder) == [damaged]
    assert opened(folder) == (records, 0, ())


def test_a_damaged_header_costs_no_record(folder: Path) -> None:
    path = last_segment(folder)
    path.write_bytes(b"X" + path.read_bytes()[1:])
    records, lost, said = opened(folder)
    assert (records, lost, len(said)) == (RECORDS, 0, 1)


@pytest.mark.parametrize(("first", "lost"), [(1, [1, 2, 3]), (4, [4, 5, 6])])
def test_a_missing_segment_is_said(first: int, lost: list[int], folder: Path) -> None:
    segment_path(folder, first).unlink()
    records, count, said = opened(folder)
    assert records == [record for number, record in enumerate(RECORDS, 1) if number not in lost]
    assert count == len(lost)
    assert said == (f"{folder}: records {lost[0]} to {lost[-1]} are lost",)
    assert opened(folder) == (records, 0, ())


def test_a_lost_end_is_said_and_its_numbers_are_not_given_again(folder: Path) -> None:
    for path in folder.glob("*.seg"):
        path.unlink()
    records, lost, said = opened(folder)
    assert (records, lost, said) == ([], 6, (f"{folder}: records 1 to 6 are lost",))
    with Journal.open(folder) as journal:
        journal.submit([b"new"]).result()
        assert [frame.last for frame in journal.read()] == [6, 7]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"junk")])
def test_without_its_mark_a_journal_is_not_vouched_for(
    damage: Callable[[Path], object], folder: Path
) -> None:
    damage(folder / "mark")
    records, lost, (said,) = opened(folder)
    assert (records, lost) == (RECORDS, 0)
    assert "whether the last records are there is not known" in said
    assert opened(folder) == (RECORDS, 0, ())


def test_another_journals_segment_is_set_aside(folder: Path, tmp_path: Path) -> None:
    with Journal.open(tmp_path / "other") as other:
        other.submit([b"theirs"]).result()
    theirs = segment_path(tmp_path / "other", 1).read_bytes()
    segment_path(folder, 1).write_bytes(theirs)
    records, lost, _ = opened(folder)
    assert (records, lost) == (RECORDS[3:], 3)
    assert kept(folder) == [theirs]


def test_a_newer_journal_is_refused_and_left_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bundles.segments.VERSION", VERSION + 1)
    segment_path(folder, 7).write_bytes(encode_header(b"any journal's id", 7))
    before = {path: path.read_bytes() for path in folder.glob("*.seg")}
    with pytest.raises(StoreError, match=r"prod: journal format 2, this redraft reads 1: use a newer one"):
        Journal.open(folder)
    assert {path: path.read_bytes() for path in folder.glob("*.seg")} == before


def test_a_disk_that_cannot_be_written_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with last_segment(folder).open("ab") as file:
        file.write(b"torn")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.fsync", refuse)
        with pytest.raises(JournalUnavailable, match="cannot open the journal: No space left on device"):
            Journal.open(folder)
    assert opened(folder)[0] == RECORDS
    assert kept(folder) == [b"torn"]
