"""The journal: records that are on disk when they are acknowledged.

Invariant: a future that `submit` gave is done only when its records, and all before them, are on disk, file
and folder; one that failed left nothing behind that will be read. Records of many threads share one wait
for the disk. A failed write is cut off again and writing goes on by itself once the disk lets it; after a
failed wait for the disk nothing of that file's end is believed, and the records go into a new file.

A journal is a folder of segment files (`segments.py`), a mark of how much is acknowledged, and what was set
aside (`quarantine`). One process has it open for writing; `read_journal` reads it meanwhile.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from bundles.durable import sync
from bundles.errors import JournalUnavailable, StoreError
from bundles.journal_reader import MARK, contents, read_journal, segment_path
from bundles.journal_recovery import Recovery, recover
from bundles.lock import locked
from bundles.mark import Mark, Marked
from bundles.segments import Frame, encode_header, encode_record

SEGMENT_BYTES = 16 * 2**20
LONGEST_RECORD_BYTES = 2**30
_BATCH_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class _Submission:
    payloads: tuple[bytes, ...]
    done: "Future[None]"


class Journal:
    """An open journal; threads may share it. Use `Journal.open`, and close it or use it in `with`."""

    def __init__(self, folder: Path, writer: "_Writer", recovery: Recovery, opened: ExitStack) -> None:
        self.folder = folder
        self.recovery = recovery
        self._writer = writer
        self._opened = opened
        self._queue: SimpleQueue[_Submission | None] = SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"journal {folder.name}", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, folder: Path, *, segment_bytes: int = SEGMENT_BYTES) -> Self:
        """Open the journal at `folder`, made on first use; see `recovery` for what had to be mended.

        Raises `StoreLocked` while another process has it open, `StoreError` where it is none or newer,
        `JournalUnavailable` where the disk does not let it.
        """
        folder = Path(os.path.realpath(folder))
        try:
            with ExitStack() as opened:
                opened.enter_context(locked(folder))
                folder.mkdir(exist_ok=True)
                sync(folder.parent)
                found = contents(folder)
                recovery = recover(folder, found)
                mark = opened.enter_context(Mark(folder / MARK, Marked(found.journal_id, recovery.last)))
                sync(folder)
                writer = opened.enter_context(_Writer(folder, mark, segment_bytes))
                return cls(folder, writer, recovery, opened.pop_all())
        except OSError as error:
            raise JournalUnavailable(f"{folder}: cannot open the journal: {error.strerror}") from error

    def submit(self, payloads: Sequence[bytes]) -> "Future[None]":
        """Record these together and in order; the future is done when they are on disk.

        It fails with `JournalUnavailable` where they cannot be written; they may be submitted again.
        """
        submission = _Submission(tuple(payloads), Future())
        if (longest := max(map(len, payloads), default=0)) > LONGEST_RECORD_BYTES:
            raise StoreError(
                f"{self.folder}: a record of {longest} bytes, at most {LONGEST_RECORD_BYTES} are possible"
            )
        with self._closing:
            if self._closed:
                raise StoreError(f"{self.folder}: the journal is closed")
            self._queue.put(submission)
        return submission.done

    def read(self) -> Iterator[Frame]:
        """Every record, and every notice of lost ones, from the first on."""
        return read_journal(self.folder)

    def close(self) -> None:
        """Write what was submitted, and let other processes in."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _work(self) -> None:
        while batch := self._next_batch():
            submissions = [item for item in batch if item.done.set_running_or_notify_cancel()]
            try:
                self._writer.write([payload for item in submissions for payload in item.payloads])
            except OSError as error:
                reason = f"{self.folder}: cannot record: {error.strerror}: free space or mend the disk"
                for item in submissions:
                    item.done.set_exception(JournalUnavailable(reason))
            else:
                for item in submissions:
                    item.done.set_result(None)

    def _next_batch(self) -> list[_Submission]:
        """Everything that waits, up to a size; nothing when the journal is closing."""
        batch, size = [], 0
        item = self._queue.get()
        while item:
            batch.append(item)
            size += sum(map(len, item.payloads))
            if size >= _BATCH_BYTES:
                return batch
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch
        if batch:
            self._queue.put(None)
        return batch


class _Writer:
    """Puts batches on disk; what it returned from is acknowledged.

    `_size` is how much of the file is acknowledged. `_file` is None where there is none to go on with.
    """

    def __init__(self, folder: Path, mark: Mark, segment_bytes: int) -> None:
        self._folder = folder
        self._mark = mark
        self._segment_bytes = segment_bytes
        self._file: int | None = None
        self._size = 0
        if segments := contents(folder).segments:
            self._file = os.open(segments[-1].path, os.O_WRONLY)
            self._size = os.fstat(self._file).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave_segment()

    def write(self, payloads: Sequence[bytes]) -> None:
        """Write the batch and wait for the disk. Raises `OSError` where it did not get there."""
        if not payloads:
            return
        first = self._mark.number + 1
        frames = b"".join(
            encode_record(self._mark.owner, sequence, payload)
            for sequence, payload in enumerate(payloads, first)
        )
        if self._file is None or self._size >= self._segment_bytes:
            self._file = self._start_segment(first)
        try:
            self._append(self._file, frames)
        except OSError:
            if self._has_file():
                raise
            self._file = self._start_segment(first)
            self._append(self._file, frames)
        try:
            self._mark.advance(first + len(payloads) - 1)
        except OSError:
            self._take_back(self._file)
            raise
        self._size += len(frames)

    def _has_file(self) -> bool:
        return self._file is not None

    def _append(self, file: int, frames: bytes) -> None:
        """Write after what is acknowledged; failing, take it back or leave the file for good."""
        try:
            written = 0
            while written < len(frames):
                written += os.pwrite(file, frames[written:], self._size + written)
        except OSError:
            self._take_back(file)
            raise
        try:
            os.fsync(file)
        except OSError:
            # The kernel may have dropped what it could not write and says so only once.
            self._take_back(file)
            self._leave_segment()
            raise

    def _take_back(self, file: int) -> None:
        try:
            os.ftruncate(file, self._size)
        except OSError:
            self._leave_segment()

    def _start_segment(self, first: int) -> int:
        """A file for the records from `first` on, of which none is acknowledged."""
        self._leave_segment()
        path = segment_path(self._folder, first)
        path.unlink(missing_ok=True)  # left when this was tried before
        header = encode_header(self._mark.owner, first)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            if os.pwrite(file, header, 0) < len(header):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            sync(self._folder)
        except OSError:
            os.close(file)
            path.unlink()
            raise
        self._size = len(header)
        return file

    def _leave_segment(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
