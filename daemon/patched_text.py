"""A text in which places were replaced, and the way back to what it was.

Invariant: outside its patches the text is the original, character for character and in order.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Patch(NamedTuple):
    """Replaces characters `[start, stop)` of the original by `text`."""

    start: int
    stop: int
    text: str


class PatchedText:
    """An original with its patches, which are in order and do not overlap, applied."""

    def __init__(self, original: str, patches: Sequence[Patch] = ()) -> None:
        self.original = original
        self.places: list[range] = []
        """Where the patches are in the text."""
        self._starts: list[int] = []  # of the pieces that the text is made of
        self._origins: list[int | None] = []  # where each starts in the original, if it is from there
        texts: list[str] = []
        length = kept = 0
        for patch in [*patches, Patch(len(original), len(original), "")]:
            for text, origin in ((original[kept : patch.start], kept), (patch.text, None)):
                if text:
                    self._starts.append(length)
                    self._origins.append(origin)
                    texts.append(text)
                    length += len(text)
            if patch.text:
                self.places.append(range(length - len(patch.text), length))
            kept = patch.stop
        self.text = "".join(texts)

    def pieces(self, part: range) -> Iterator[tuple[range, range | None]]:
        """The part of the text cut where patches start and end; each piece with the characters of the
        original that it is, or None where it is of a patch."""
        index = bisect_right(self._starts, part.start) - 1
        start = part.start
        while start < part.stop:
            after = self._starts[index + 1] if index + 1 < len(self._starts) else part.stop
            piece = range(start, min(after, part.stop))
            origin = self._origins[index]
            shift = 0 if origin is None else origin - self._starts[index]
            yield piece, None if origin is None else range(piece.start + shift, piece.stop + shift)
            start, index = piece.stop, index + 1
