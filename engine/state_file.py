"""A slot's state as a file: what tokens it stands for, and what the model remembers of them.

Invariant: a file is read back whole and only by the model, cache type and library that wrote it; anything
else is an InvalidRequest that says why. A file is replaced whole or not at all.
"""

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.errors import InvalidRequest
from engine.language_model import ModelFacts

MAGIC = b"redraft slot state 1\n"
HEAD = struct.Struct("<IQQ")
"""Bytes of the identity, number of tokens, bytes of the data."""
DIGEST_BYTES = 32


class SlotState(NamedTuple):
    """The tokens of a sequence and what `LanguageModel.state` gave for it."""

    tokens: Sequence[int]
    data: bytes


class _Header(NamedTuple):
    identity: bytes
    tokens: list[int]
    data_bytes: int
    raw: bytes


def identity(facts: ModelFacts) -> bytes:
    """What must be equal for a state to mean the same."""
    names = {"model": facts.fingerprint, "kv_type": facts.kv_type, "build": facts.build_info}
    return json.dumps(names, sort_keys=True).encode()


def write(path: Path, state: SlotState, facts: ModelFacts) -> int:
    """Write a state; how many bytes that were. Raises OSError, and leaves what was there."""
    who, tokens = identity(facts), np.array(state.tokens, "<i4").tobytes()
    head = MAGIC + HEAD.pack(len(who), len(state.tokens), len(state.data)) + who + tokens
    digest = hashlib.sha256(head)
    digest.update(state.data)
    number, name = tempfile.mkstemp(prefix=".", suffix=".writing", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.writelines((head, state.data, digest.digest()))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return len(head) + len(state.data) + DIGEST_BYTES


def read(path: Path, facts: ModelFacts) -> tuple[SlotState, int]:
    """A state and the size of its file. Raises OSError and InvalidRequest."""
    with path.open("rb") as file:
        header = _read_header(file, facts)
        data = file.read(header.data_bytes)
        digest = hashlib.sha256(header.raw)
        digest.update(data)
        if file.read(DIGEST_BYTES + 1) != digest.digest():
            raise InvalidRequest("the file is damaged: its checksum is another")
    return SlotState(header.tokens, data), len(header.raw) + len(data) + DIGEST_BYTES


def read_tokens(path: Path, facts: ModelFacts) -> list[int]:
    """Only what tokens a file stands for. Raises OSError and InvalidRequest."""
    with path.open("rb") as file:
        return _read_header(file, facts).tokens


def _read_header(file: BinaryIO, facts: ModelFacts) -> _Header:
    size = os.fstat(file.fileno()).st_size
    start = file.read(len(MAGIC) + HEAD.size)
    if len(start) < len(MAGIC) + HEAD.size or not start.startswith(MAGIC):
        raise InvalidRequest("the file holds no slot state")
    identity_bytes, token_count, data_bytes = HEAD.unpack(start[len(MAGIC) :])
    if size != len(start) + identity_bytes + 4 * token_count + data_bytes + DIGEST_BYTES:
        raise InvalidRequest("the file is damaged: its size is another")
    who, tokens = file.read(identity_bytes), file.read(4 * token_count)
    if who != identity(facts):
        raise InvalidRequest(
            f"the state is not of this engine: it is of {who[:200].decode('utf-8', 'replace')}, "
            f"this is {identity(facts).decode()}"
        )
    return _Header(who, np.frombuffer(tokens, "<i4").tolist(), data_bytes, start + who + tokens)
