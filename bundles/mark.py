"""A number that only grows, in a side file: how much of a journal or store has been acknowledged.

Invariant: what is read is a number that was once written, the last or, where the file is damaged, the one
before; it is never more than was acknowledged. Writing it costs no wait for the disk: a kill does not lose
it, and after a power cut it may be behind, never ahead.
"""

import os
import struct
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self

_SLOT = struct.Struct("<8s16sQ")
_DIGEST_BYTES = 16
_SLOT_BYTES = _SLOT.size + _DIGEST_BYTES
_MAGIC = b"RDFTMARK"


@dataclass(frozen=True, slots=True)
class Marked:
    """What a mark says: of whom (16 bytes), and how much."""

    owner: bytes
    number: int


def read_mark(path: Path) -> Marked | None:
    """What the mark at `path` says; None where there is none or nothing in it can be believed."""
    if not path.exists():
        return None
    data = path.read_bytes()
    slots = [_decoded(data[start : start + _SLOT_BYTES]) for start in (0, _SLOT_BYTES)]
    return max((slot for slot in slots if slot), key=lambda slot: slot.number, default=None)


class Mark:
    """A mark that is being kept; two slots are written in turn, so that one is always whole."""

    def __init__(self, path: Path, said: Marked) -> None:
        """Make the mark at `path` say this; one of another owner, and what is none, is replaced whole."""
        self.owner = said.owner
        existing = read_mark(path)
        if existing is None or existing.owner != said.owner:
            new = path.with_name(path.name + ".new")
            new.write_bytes(_encoded(said) * 2)
            new.replace(path)
        self._file = os.open(path, os.O_RDWR)
        self._turn = 0
        self.advance(said.number)
        self.advance(said.number)

    def advance(self, number: int) -> None:
        """Note that this much is acknowledged."""
        os.pwrite(self._file, _encoded(Marked(self.owner, number)), self._turn * _SLOT_BYTES)
        self._turn = 1 - self._turn
        self.number = number

    def close(self) -> None:
        """Wait until the mark is on disk, and let go of it."""
        os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _encoded(said: Marked) -> bytes:
    head = _SLOT.pack(_MAGIC, said.owner, said.number)
    return head + blake2b(head, digest_size=_DIGEST_BYTES).digest()


def _decoded(slot: bytes) -> Marked | None:
    if len(slot) < _SLOT_BYTES:
        return None
    magic, owner, number = _SLOT.unpack_from(slot)
    said = Marked(owner, number)
    return said if magic == _MAGIC and slot == _encoded(said) else None
