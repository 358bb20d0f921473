"""llama.cpp's batch over numpy arrays of our own, so that filling it is a few slice writes.

Invariant: never more rows than its capacity: llama.cpp's own arrays are overrun silently.
"""

import ctypes
from typing import Any

import numpy as np

from engine.errors import DecodeFailed
from engine.language_model import Part


class Batch:
    """The parts of one pass; `struct` is what `llama_decode` takes."""

    def __init__(self, binding: Any, capacity: int) -> None:
        self._token = np.zeros(capacity, np.int32)
        self._position = np.zeros(capacity, np.int32)
        self._sequence_count = np.ones(capacity, np.int32)
        self._sequence = np.zeros(capacity, np.int32)
        self._sequence_pointer = self._sequence.ctypes.data + 4 * np.arange(capacity, dtype=np.uintp)
        self._wanted = np.zeros(capacity, np.int8)
        int32, pointer = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))
        self.struct = binding.llama_batch(
            n_tokens=0,
            token=self._token.ctypes.data_as(int32),
            embd=None,
            pos=self._position.ctypes.data_as(int32),
            n_seq_id=self._sequence_count.ctypes.data_as(int32),
            seq_id=self._sequence_pointer.ctypes.data_as(pointer),
            logits=self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def clear(self) -> None:
        """Make it empty."""
        self.struct.n_tokens = 0

    def add(self, part: Part, position: int) -> None:
        """Put a part behind the others, its first token at `position`. Raises DecodeFailed."""
        start, end = self.struct.n_tokens, self.struct.n_tokens + len(part.tokens)
        if end > len(self._token):
            raise DecodeFailed(f"a pass of {end} rows is above the limit of {len(self._token)}")
        self._token[start:end] = part.tokens
        self._position[start:end] = np.arange(position, position + len(part.tokens))
        self._sequence[start:end] = part.slot
        self._wanted[start:end] = 0
        self._wanted[end - part.outputs : end] = 1
        self.struct.n_tokens = end
