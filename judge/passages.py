"""A text as numbered pieces, its sentences, so that a judge can point at one.

Invariant: the pieces are in order, do not overlap and are not empty; a text that is not white space has one.
"""

from dataclasses import dataclass

from judge.matchers.layout import layout
from judge.normalize import Range


@dataclass(frozen=True, slots=True)
class Passages:
    """A text and the ranges of its pieces (code points, end exclusive)."""

    text: str
    ranges: tuple[Range, ...]

    @property
    def pieces(self) -> tuple[str, ...]:
        """The pieces, each on one line."""
        return tuple(" ".join(self.text[start:end].split()) for start, end in self.ranges)

    def numbered(self) -> str:
        """One line a piece: `[1] The first.`"""
        return "\n".join(f"[{number}] {piece}" for number, piece in enumerate(self.pieces, start=1))


def cut(text: str) -> Passages:
    """The sentences of a text; where it has nothing but marks and rules, these are one piece."""
    stripped = [_stripped(text, *sentence) for sentence in layout(text).sentences]
    ranges = tuple((start, end) for start, end in stripped if start < end)
    whole = _stripped(text, 0, len(text))
    return Passages(text, ranges or ((whole,) if whole[0] < whole[1] else ()))


def _stripped(text: str, start: int, end: int) -> Range:
    """The range without white space at its ends."""
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, begin + len(piece.strip())
