"""What DuckDB writes over, kept until it is done.

Moving its log into the store, DuckDB 2.0 writes whole blocks of metadata in place, the old metadata still in
them, and only then the header that names the new ones; a kill within such a write leaves a block that neither
header can use. So these blocks are copied first, to a file beside the store.

Invariant: whenever that file is there, `settle` makes a store that opens: as it was before, with its log,
where no header was written, and as it became where one was.
"""

import os
import struct
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self

from bundles.durable import replace, sync

_HEADERS = slice(4096, 12288)
_DIGEST_BYTES = 16
_BLOCK = struct.Struct("<QQ")


class Undo:
    """The copies of a store that is open. The file is held open for reading from before DuckDB has it until
    after, for closing it drops DuckDB's own lock."""

    def __init__(self, path: Path) -> None:
        self._path = undo_path(path)
        self._file = os.open(path, os.O_RDONLY)

    def save(self, blocks: Iterable[int], block_bytes: int) -> None:
        """Copy the headers and these blocks, durably."""
        parts = [os.pread(self._file, _HEADERS.stop, 0)[_HEADERS]]
        for block in blocks:
            place = _HEADERS.stop + block * block_bytes
            data = os.pread(self._file, block_bytes, place)
            parts += [_BLOCK.pack(place, len(data)), data]
        whole = b"".join(parts)
        replace(self._path, whole + _digest(whole))

    def drop(self) -> None:
        """Forget the copies: DuckDB is done."""
        self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)


def settle(path: Path) -> None:
    """Put back what was written over, if no header names anything newer; for a store that nobody has open."""
    undo = undo_path(path)
    if not undo.exists():
        return
    data = undo.read_bytes()
    whole = data[:-_DIGEST_BYTES]
    if data[-_DIGEST_BYTES:] == _digest(whole):
        with path.open("r+b") as file:
            if file.read(_HEADERS.stop)[_HEADERS] == whole[: _HEADERS.stop - _HEADERS.start]:
                _put_back(file.fileno(), whole, _HEADERS.stop - _HEADERS.start)
    undo.unlink()
    sync(path.parent)


def undo_path(path: Path) -> Path:
    """Where the copies are."""
    return path.with_name(path.name + ".redraft-undo")


def _put_back(file: int, whole: bytes, start: int) -> None:
    while start < len(whole):
        place, length = _BLOCK.unpack_from(whole, start)
        start += _BLOCK.size
        os.pwrite(file, whole[start : start + length], place)
        start += length
    os.fsync(file)


def _digest(whole: bytes) -> bytes:
    return blake2b(whole, digest_size=_DIGEST_BYTES).digest()
