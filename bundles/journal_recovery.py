"""Making a journal whole again when it is opened.

Invariant: afterwards its records are contiguous, those that were lost being stood for by a notice. What was
cut off or replaced is in the folder `quarantine` as it was, and said; nothing is deleted. A kill at any
moment leaves either the old file or the new one, and the next opening goes on from there.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from bundles.durable import replace, set_aside, sync
from bundles.journal_reader import MARK, Contents, Segment, segment_path
from bundles.segments import Damage, encode_header, encode_lost, scan

QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What opening a journal found: its last record, how many are lost, and a line for all that was done."""

    last: int
    lost: int
    said: tuple[str, ...]


def recover(folder: Path, found: Contents) -> Recovery:
    """Mend the journal that nobody else has open. Raises `OSError` where the disk does not let it."""
    for left_over in (*folder.glob("*.seg.new"), folder / f"{MARK}.new"):
        left_over.unlink(missing_ok=True)
    work = _Work(folder, found)
    for segment in found.segments:
        work.mend(segment)
    if work.last < found.acknowledged:
        work.lose(found.acknowledged)
    if not found.marked and (found.segments or (folder / MARK).exists()):
        work.set_aside_mark()
    return Recovery(work.last, work.lost, tuple(work.said))


class _Work:
    """A recovery under way; `last` is the last record that is accounted for."""

    def __init__(self, folder: Path, found: Contents) -> None:
        self._folder = folder
        self._found = found
        self.last = 0
        self.lost = 0
        self.said: list[str] = []

    def mend(self, segment: Segment) -> None:
        """Leave the segment as it is, cut its torn end, or write it anew from its whole frames."""
        if segment.first > self.last + 1:
            self.lose(segment.first - 1)
        before = self.last
        data = segment.path.read_bytes()
        whole = self._whole(segment, data)
        if data == whole:
            sync(segment.path)
        elif whole.startswith(data):
            replace(segment.path, whole)
        elif data.startswith(whole):
            self._cut(segment.path, data, len(whole))
        elif self.last == before and self._bound(segment) <= before:
            self._cut(segment.path, data, 0)
        else:
            kept = self._keep(segment.path.name, data)
            replace(segment.path, whole)
            self.said.append(
                f"{segment.path}: damaged: written anew from its whole records, kept as it was in {kept}"
            )

    def lose(self, last: int) -> None:
        """Stand for all up to `last` by a notice, in a segment of its own."""
        first = self.last + 1
        notice = self._lost(first, last)
        replace(segment_path(self._folder, first), encode_header(self._found.journal_id, first) + notice)

    def set_aside_mark(self) -> None:
        """Say that the end of the journal cannot be vouched for; keep what is no mark."""
        path = self._folder / MARK
        kept = f", kept in {self._keep(MARK, path.read_bytes())}" if path.exists() else ""
        self.said.append(
            f"{path}: missing or not this journal's{kept}: whether the last records are there is not known"
        )

    def _whole(self, segment: Segment, data: bytes) -> bytes:
        """What the segment should be: its whole frames, and notices for the rest; moves `last` on."""
        kept = [encode_header(self._found.journal_id, segment.first)]
        for piece in scan(data, self._found.journal_id):
            if isinstance(piece, Damage) or piece.sequence <= self.last:
                continue
            if segment.limit is not None and piece.sequence >= segment.limit:
                break
            if piece.sequence > self.last + 1:
                kept.append(self._lost(self.last + 1, piece.sequence - 1))
            kept.append(data[piece.start : piece.end])
            self.last = piece.last
        if self.last < self._bound(segment):
            kept.append(self._lost(self.last + 1, self._bound(segment)))
        return b"".join(kept)

    def _bound(self, segment: Segment) -> int:
        """The last record that must be in the segment."""
        return self._found.acknowledged if segment.limit is None else segment.limit - 1

    def _lost(self, first: int, last: int) -> bytes:
        self.last = last
        self.lost += last - first + 1
        which = f"record {first} is" if first == last else f"records {first} to {last} are"
        self.said.append(f"{self._folder}: {which} lost")
        return encode_lost(self._found.journal_id, first, last)

    def _cut(self, path: Path, data: bytes, end: int) -> None:
        kept = self._keep(f"{path.name}.{end}.torn", data[end:])
        if end:
            os.truncate(path, end)
            sync(path)
        else:
            path.unlink()
        self.said.append(
            f"{path}: the last {len(data) - end} bytes, after record {self.last}, were never acknowledged:"
            f" cut, kept in {kept}"
        )

    def _keep(self, name: str, data: bytes) -> Path:
        quarantine = self._folder / QUARANTINE
        quarantine.mkdir(exist_ok=True)
        return set_aside(quarantine / name, data)
