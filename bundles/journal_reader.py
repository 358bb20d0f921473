"""What a journal's folder holds, and its records, read without a lock and without changing anything.

Invariant: a record is given once and in order, and only after every record before it or the notice that
they were lost. Reading what a process is still writing ends at the last whole record; anything else that
is not whole is an error, for every acknowledged record must be there.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from os import urandom
from pathlib import Path

from bundles.errors import StoreError
from bundles.mark import read_mark
from bundles.segments import HEADER_BYTES, ID_BYTES, VERSION, Damage, Frame, Header, decode_header, scan

MARK = "mark"
_NAME = re.compile(r"([0-9]{20})\.seg")


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of a journal; `limit` is the number that the next file begins with, if there is one."""

    path: Path
    first: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Contents:
    """A journal's folder as it stands. `acknowledged` is 0 where no mark of this journal is there."""

    journal_id: bytes
    segments: tuple[Segment, ...]
    acknowledged: int
    marked: bool


def segment_path(folder: Path, first: int) -> Path:
    """Where the segment that begins with this number is."""
    return folder / f"{first:020}.seg"


def contents(folder: Path) -> Contents:
    """Look into the folder. Raises `StoreError` for a newer journal and for what is none."""
    if not folder.is_dir():
        raise StoreError(f"{folder}: no such journal")
    mark = read_mark(folder / MARK)  # before the segments: they may grow meanwhile, and it must not
    names = sorted(path.name for path in folder.iterdir())
    firsts = [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]
    if not firsts and MARK not in names and names not in ([], [MARK + ".new"]):
        raise StoreError(f"{folder}: a folder but not a journal, give another path")
    limits = [*firsts[1:], None] if firsts else []
    segments = [
        Segment(segment_path(folder, first), first, limit)
        for first, limit in zip(firsts, limits, strict=True)
    ]
    headers = [header for header in map(_header, segments) if header]
    for header in headers:
        if header.version > VERSION:
            raise StoreError(
                f"{folder}: journal format {header.version}, this redraft reads {VERSION}: use a newer one"
            )
    ids = Counter(header.journal_id for header in headers)
    if mark and (mark.owner in ids or not ids):
        journal_id = mark.owner
    else:
        journal_id = max(ids, key=ids.__getitem__, default=urandom(ID_BYTES))
    if mark and mark.owner != journal_id:
        mark = None
    return Contents(journal_id, tuple(segments), mark.number if mark else 0, mark is not None)


def read_journal(folder: Path) -> Iterator[Frame]:
    """Every record, and every notice of lost ones, from the first on.

    Raises `StoreError` where the journal is missing, damaged or newer.
    """
    try:
        yield from _read(folder)
    except OSError as error:
        raise StoreError(f"{folder}: cannot read the journal: {error.strerror}") from error


def _read(folder: Path) -> Iterator[Frame]:
    found = contents(folder)
    expected = 1
    for segment in found.segments:
        if segment.first == expected:
            for frame in _frames(segment, found.journal_id):
                if frame.sequence != expected:
                    break
                yield frame
                expected = frame.last + 1
        if segment.limit not in (None, expected):
            raise _not_whole(folder, expected)
    if expected <= found.acknowledged:
        raise _not_whole(folder, expected)


def _frames(segment: Segment, journal_id: bytes) -> Iterator[Frame]:
    """The frames up to the first damage, and before the limit."""
    for piece in scan(segment.path.read_bytes(), journal_id):
        if isinstance(piece, Damage) or (segment.limit is not None and piece.sequence >= segment.limit):
            return
        yield piece


def _not_whole(folder: Path, sequence: int) -> StoreError:
    return StoreError(
        f"{folder}: the journal is damaged at record {sequence}: let the service that records into it start"
        " once, it sets aside what is damaged and says what is lost"
    )


def _header(segment: Segment) -> Header | None:
    with segment.path.open("rb") as file:
        return decode_header(file.read(HEADER_BYTES))
