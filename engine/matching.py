"""How far the end of a growing text matches back from each place of a source, kept token by token.

Invariant: `lengths[i]` is the length of the longest common suffix of `source[:i]` and the text so far; for
a text that is its own source, places before its end alone. One token costs a few vector operations.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]
Lengths = NDArray[np.int32]
LOOK_BACK = 8
"""Tokens of a start that count in matches of the text that grows from it."""


class SourceMatches:
    """Matches of a growing text in a source that does not change."""

    def __init__(self, source: Sequence[int]) -> None:
        self._source = np.array(source, np.int32)
        self.lengths: Lengths = np.zeros(len(source) + 1, np.int32)

    def push(self, token: int) -> None:
        """The text grows by `token`."""
        _extend(self.lengths, self._source, token)


class SelfMatches:
    """Matches of a growing text in itself."""

    def __init__(self, start: Sequence[int], most: int) -> None:
        """A text that begins with `start`, whose end alone matches look back on, and grows by `most`."""
        self.size = max(0, len(start) - LOOK_BACK)
        self._text = np.empty(len(start) + most, np.int32)
        self._text[: self.size] = start[: self.size]
        self._lengths: Lengths = np.zeros(len(start) + most + 1, np.int32)
        for token in start[self.size :]:
            self.push(token)

    @property
    def text(self) -> Tokens:
        """The text so far."""
        return self._text[: self.size]

    @property
    def lengths(self) -> Lengths:
        """One for each place before the end."""
        return self._lengths[: self.size]

    def push(self, token: int) -> None:
        """The text grows by `token`."""
        _extend(self._lengths[: self.size + 1], self._text[: self.size], token)
        self._text[self.size] = token
        self.size += 1


def _extend(lengths: Lengths, source: Tokens, token: int) -> None:
    np.multiply(lengths[:-1] + 1, source == token, out=lengths[1:])
