"""Text of a growing answer: whole characters only, and nothing that may turn out to be a stop string.

Invariant: what was given out is never taken back, and the text depends on the sequence of pieces
alone, not on how they were grouped into chunks.
"""

import codecs
from collections.abc import Sequence


class TextStream:
    """Pieces in, one token at a time; text that is certain out."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = [stop for stop in stops if stop]
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False
        """Whether a stop string was met; it and what follows it are not part of the text."""

    def push(self, piece: bytes) -> str:
        """Take one token's bytes; the text that is certain now.

        Bytes of an unfinished character wait; bytes that can never be UTF-8 become U+FFFD.
        """
        self._held += self._decoder.decode(piece)
        found = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if found:
            self.stopped = True
            certain, self._held = self._held[: min(found)], ""
            return certain
        wait = max((_overlap(self._held, stop) for stop in self._stops), default=0)
        certain, self._held = self._held[: len(self._held) - wait], self._held[len(self._held) - wait :]
        return certain

    def finish(self) -> str:
        """What waited for a stop string that never came; an unfinished character is dropped."""
        rest, self._held = self._held, ""
        return rest


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
