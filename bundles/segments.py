"""The bytes of a journal: a header, then frames. Pure.

Invariant: no frame is read that was not written whole by the journal of this id, with this sequence number
and kind; whatever else stands in a segment is reported as damage, up to the next such frame. The layout of
the header is the same for all versions, so that a newer journal is told from a damaged one.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

VERSION = 1
RECORD, LOST = 0, 1
ID_BYTES = 16

_DIGEST_BYTES = 16
_HEADER = struct.Struct("<8sI16sQ12x")
_HEADER_MAGIC = b"RDFTJRNL"
HEADER_BYTES = _HEADER.size + _DIGEST_BYTES
_FRAME = struct.Struct("<4sBQI")
_FRAME_MAGIC = b"\xf5rfr"
_OVERHEAD_BYTES = _FRAME.size + _DIGEST_BYTES
_LAST_LOST = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Header:
    """What a segment says of itself; `first` is the sequence number of its first frame."""

    version: int
    journal_id: bytes
    first: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole frame, and where it stands. `payload` of `LOST` is read by `last_lost`."""

    kind: int
    sequence: int
    payload: bytes
    start: int
    end: int

    @property
    def last(self) -> int:
        """The last sequence number that the frame accounts for."""
        return _LAST_LOST.unpack(self.payload)[0] if self.kind == LOST else self.sequence


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no frame."""

    start: int
    end: int


def encode_header(journal_id: bytes, first: int) -> bytes:
    """The header of a new segment."""
    head = _HEADER.pack(_HEADER_MAGIC, VERSION, journal_id, first)
    return head + _digest(head)


def decode_header(data: bytes) -> Header | None:
    """The header of a segment, of any version; None where it is damaged."""
    if len(data) < HEADER_BYTES:
        return None
    head = data[: _HEADER.size]
    magic, version, journal_id, first = _HEADER.unpack(head)
    if magic != _HEADER_MAGIC or data[_HEADER.size : HEADER_BYTES] != _digest(head):
        return None
    return Header(version, journal_id, first)


def encode_record(journal_id: bytes, sequence: int, payload: bytes) -> bytes:
    """A frame that holds a record."""
    return _encode_frame(journal_id, RECORD, sequence, payload)


def encode_lost(journal_id: bytes, first: int, last: int) -> bytes:
    """A frame that stands for records that were lost, so that what follows is contiguous again."""
    return _encode_frame(journal_id, LOST, first, _LAST_LOST.pack(last))


def scan(data: bytes, journal_id: bytes) -> Iterator[Frame | Damage]:
    """Everything after the header, in order and without gaps."""
    start = HEADER_BYTES
    while start < len(data):
        if frame := _frame_at(data, start, journal_id):
            yield frame
            start = frame.end
        else:
            end = _next_frame(data, start + 1, journal_id)
            yield Damage(start, end)
            start = end


def _encode_frame(journal_id: bytes, kind: int, sequence: int, payload: bytes) -> bytes:
    head = _FRAME.pack(_FRAME_MAGIC, kind, sequence, len(payload))
    return head + _digest(head, payload, key=journal_id) + payload


def _frame_at(data: bytes, start: int, journal_id: bytes) -> Frame | None:
    body = start + _OVERHEAD_BYTES
    if body > len(data) or data[start : start + len(_FRAME_MAGIC)] != _FRAME_MAGIC:
        return None
    head = data[start : start + _FRAME.size]
    _, kind, sequence, length = _FRAME.unpack(head)
    payload = data[body : body + length]
    whole = len(payload) == length
    if whole and data[start + _FRAME.size : body] == _digest(head, payload, key=journal_id):
        return Frame(kind, sequence, payload, start, body + length)
    return None


def _next_frame(data: bytes, start: int, journal_id: bytes) -> int:
    """Where the next whole frame begins, or else the data ends."""
    while (start := data.find(_FRAME_MAGIC, start)) >= 0:
        if _frame_at(data, start, journal_id):
            return start
        start += 1
    return len(data)


def _digest(*parts: bytes, key: bytes = b"") -> bytes:
    digest = blake2b(digest_size=_DIGEST_BYTES, key=key)
    for part in parts:
        digest.update(part)
    return digest.digest()
