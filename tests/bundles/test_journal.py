import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bundles import Journal, JournalUnavailable, StoreError, StoreLocked
from bundles.journal_reader import read_journal
from bundles.segments import LOST


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prod"


def payloads(folder: Path) -> list[bytes]:
    return [frame.payload for frame in read_journal(folder) if frame.kind != LOST]


def error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, name: str, *numbers: int | None) -> Iterator[None]:
    """The next calls of this function of `os` fail so, in turn; None lets one through, the rest go well."""
    real: Callable[..., object] = getattr(os, name)
    left = list(numbers)

    def call(*arguments: object) -> object:
        if left and (number := left.pop(0)):
            raise error(number)
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, name, call)
        yield


def test_what_is_acknowledged_is_read_by_others_and_after_reopening(folder: Path) -> None:
    with Journal.open(folder) as journal:
        journal.submit([b"one", b"two"]).result()
        assert payloads(folder) == [b"one", b"two"]
        journal.submit([]).result()
        late = journal.submit([b"three"])
    assert late.done()
    with Journal.open(folder) as journal:
        assert journal.recovery.said == ()
        journal.submit([b"four"]).result()
        assert [frame.sequence for frame in journal.read()] == [1, 2, 3, 4]
    assert payloads(folder) == [b"one", b"two", b"three", b"four"]


def test_many_threads_share_few_waits_for_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, go = [], Event()
    wait = os.fsync

    def fsync(file: int) -> None:
        go.wait()
        waits.append(file)
        wait(file)

    with Journal.open(folder) as journal, ThreadPoolExecutor(8) as pool:
        journal.submit([b"first"]).result()
        with monkeypatch.context() as slow:
            slow.setattr(os, "fsync", fsync)
            futures = list(pool.map(lambda number: journal.submit([b"%d" % number] * 2), range(200)))
            go.set()
            for future in futures:
                future.result()
    assert len(waits) <= 3
    found = payloads(folder)[1:]
    assert found[::2] == found[1::2]
    assert sorted(found[::2]) == sorted(b"%d" % number for number in range(200))


def test_one_that_was_cancelled_while_it_waited_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Event()
    wait = os.fsync
    with Journal.open(folder) as journal:
        with monkeypatch.context() as slow:
            slow.setattr(os, "fsync", lambda file: (go.wait(), wait(file)))
            first = journal.submit([b"first"])
            while not first.running():
                pass
            second: Future[None] = journal.submit([b"second"])
            assert second.cancel()
            go.set()
            first.result()
        journal.submit([b"third"]).result()
    assert payloads(folder) == [b"first", b"third"]


def test_segments_are_ended_at_their_size(folder: Path) -> None:
    with Journal.open(folder, segment_bytes=1000) as journal:
        for number in range(30):
            journal.submit([b"%090d" % number]).result()
    sizes = [path.stat().st_size for path in folder.glob("*.seg")]
    assert len(sizes) == 4
    assert max(sizes) < 1200
    assert payloads(folder) == [b"%090d" % number for number in range(30)]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_what_cannot_be_written_is_refused_and_writing_goes_on(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(folder) as journal:
        journal.submit([b"one"]).result()
        with failing(monkeypatch, "pwrite", number):
            refused = journal.submit([b"two"])
            with pytest.raises(JournalUnavailable, match=f"prod: cannot record: {os.strerror(number)}"):
                refused.result()
        assert payloads(folder) == [b"one"]
        journal.submit([b"three"]).result()
    with Journal.open(folder) as journal:
        assert journal.recovery.said == ()
        assert payloads(folder) == [b"one", b"three"]


def test_a_failed_wait_is_never_repeated_on_the_same_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports a lost page once; a second wait would go well without it."""
    with Journal.open(folder) as journal:
        journal.submit([b"one"]).result()
        with failing(monkeypatch, "fsync", errno.EIO):
            journal.submit([b"two"]).result()
        assert [path.name for path in sorted(folder.glob("*.seg"))] == [f"{1:020}.seg", f"{2:020}.seg"]
        with failing(monkeypatch, "fsync", errno.EIO, None, errno.EIO):
            refused = journal.submit([b"three"])
            with pytest.raises(JournalUnavailable, match="Input/output error"):
                refused.result()
        journal.submit([b"four"]).result()
    with Journal.open(folder) as journal:
        assert journal.recovery.said == ()
        assert payloads(folder) == [b"one", b"two", b"four"]


def test_what_cannot_be_cut_off_is_left_behind_unread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite

    def half(file: int, data: bytes, place: int) -> int:
        if place < 100:
            return real(file, data, place)
        real(file, data[:9], place)
        raise error(errno.ENOSPC)

    with Journal.open(folder) as journal:
        journal.submit([b"one"]).result()
        with monkeypatch.context() as broken, failing(monkeypatch, "ftruncate", errno.EIO):
            broken.setattr(os, "pwrite", half)
            refused = journal.submit([b"two" * 99])
            assert refused.exception() is None  # it went into a new segment
        journal.submit([b"three"]).result()
        assert payloads(folder) == [b"one", b"two" * 99, b"three"]
    with Journal.open(folder) as journal:
        assert len(journal.recovery.said) == 1
        assert "the last 9 bytes, after record 1, were never acknowledged" in journal.recovery.said[0]
        assert payloads(folder) == [b"one", b"two" * 99, b"three"]


def test_a_mark_that_cannot_be_moved_refuses_the_record(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(folder) as journal:
        journal.submit([b"one"]).result()
        with failing(monkeypatch, "pwrite", None, errno.EIO):
            refused = journal.submit([b"two"])
            with pytest.raises(JournalUnavailable):
                refused.result()
        journal.submit([b"three"]).result()
        assert payloads(folder) == [b"one", b"three"]


FILLER = """
import resource, sys
from itertools import count
from pathlib import Path
from bundles import Journal, JournalUnavailable
with Journal.open(Path(sys.argv[1])) as journal:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    for number in count():
        try:
            journal.submit([b"%d " % number + b"x" * 2_000]).result()
        except JournalUnavailable as error:
            print(error, file=sys.stderr)
            break
        print(number)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.submit([b"%d" % number]).result()
    print(number)
"""


def test_a_full_disk_is_told_and_recording_resumes_when_there_is_space(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILLER, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stderr == f"{folder}: cannot record: File too large: free space or mend the disk\n"
    acknowledged = [int(line) for line in done.stdout.splitlines()]
    assert len(acknowledged) > 100
    assert [int(payload.split()[0]) for payload in payloads(folder)] == acknowledged


def test_a_disk_of_8_mb_fills_up_and_recording_resumes_when_there_is_space(small_disk: Path) -> None:
    other, folder = small_disk / "other", small_disk / "prod"
    other.write_bytes(b"x" * 4_000_000)
    acknowledged = []
    with Journal.open(folder, segment_bytes=1_000_000) as journal:

        def fill() -> None:
            while True:
                record = b"%d " % len(acknowledged) * 5_000
                journal.submit([record]).result()
                acknowledged.append(record)

        with pytest.raises(JournalUnavailable, match="cannot record: No space left on device"):
            fill()
        before = len(acknowledged)
        assert before > 50
        assert payloads(folder) == acknowledged
        other.unlink()
        with pytest.raises(JournalUnavailable, match="cannot record: No space left on device"):
            fill()
        assert len(acknowledged) > before + 50
    assert payloads(folder) == acknowledged


def test_second_process_is_refused_whatever_the_first_opens(folder: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from bundles import Journal; Journal.open(Path(sys.argv[1]))"
    )
    with Journal.open(folder) as journal:
        journal.submit([b"one"]).result()
        for path in folder.iterdir():
            path.read_bytes()
        done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True)
        assert f"StoreLocked: {folder}: in use by process {os.getpid()}" in done.stderr
        with pytest.raises(StoreLocked):
            Journal.open(folder)


def test_a_closed_journal_says_so(folder: Path) -> None:
    journal = Journal.open(folder)
    journal.close()
    journal.close()
    with pytest.raises(StoreError, match="prod: the journal is closed"):
        journal.submit([b"late"])


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    with pytest.raises(StoreError, match="a folder but not a journal"):
        Journal.open(tmp_path)
    with pytest.raises(JournalUnavailable, match="No such file or directory"):
        Journal.open(tmp_path / "nowhere" / "prod")
    with pytest.raises(JournalUnavailable, match="cannot open the journal: File exists"):
        Journal.open(tmp_path / "letter.txt")


class Journals(RuleBasedStateMachine):
    """Records, failures, damage at the end and reopening in any order: what is acknowledged stays."""

    @initialize()
    def begin(self) -> None:
        self.home = TemporaryDirectory()
        self.folder = Path(self.home.name, "prod")
        self.journal = Journal.open(self.folder, segment_bytes=300)
        self.acknowledged: list[bytes] = []

    @rule(records=st.lists(st.binary(max_size=200), max_size=3))
    def record(self, records: list[bytes]) -> None:
        self.journal.submit(records).result()
        self.acknowledged += records

    @rule(
        records=st.lists(st.binary(max_size=200), min_size=1, max_size=3),
        name=st.sampled_from(["pwrite", "fsync", "ftruncate"]),
        numbers=st.lists(st.sampled_from([None, errno.ENOSPC, errno.EIO]), max_size=5),
    )
    def fail(self, records: list[bytes], name: str, numbers: list[int | None]) -> None:
        with pytest.MonkeyPatch.context() as patch, failing(patch, name, *numbers):
            refusal = self.journal.submit(records).exception()
        if refusal is None:
            self.acknowledged += records
        else:
            assert isinstance(refusal, JournalUnavailable)

    @rule(torn=st.binary(max_size=60))
    def reopen(self, torn: bytes) -> None:
        self.journal.close()
        segments = sorted(self.folder.glob("*.seg"))
        if segments:
            with segments[-1].open("ab") as file:
                file.write(torn)
        self.journal = Journal.open(self.folder, segment_bytes=300)
        assert self.journal.recovery.lost == 0

    @invariant()
    def nothing_is_lost_or_repeated(self) -> None:
        assert payloads(self.folder) == self.acknowledged

    def teardown(self) -> None:
        self.journal.close()
        self.home.cleanup()


TestJournals = Journals.TestCase
TestJournals.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
