"""Marked text: which words differ, which are evidence, which were held. Pure.

Invariant: the pieces of a text concatenate to it. What differs is found in bounded time and memory: of texts
too far apart to compare, all between what they begin and end with differs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rapidfuzz.distance import LCSseq

Range = tuple[int, int]
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
# The comparison takes a bit for every pair of words: 25 MB.
_MOST_PAIRS = 200_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text under the same marks, as a list of CSS classes; `left_out` characters precede it."""

    text: str
    marks: str
    left_out: int = 0


def pieces(text: str, marks: Mapping[str, Iterable[Range]]) -> list[Piece]:
    """The text cut wherever one of the marks' ranges (code points, end exclusive) begins or ends."""
    edges: dict[int, dict[str, int]] = {0: {}, len(text): {}}
    for name, found in marks.items():
        for start, end in found:
            if start < min(end, len(text)):
                for at, step in ((start, 1), (min(end, len(text)), -1)):
                    changes = edges.setdefault(at, {})
                    changes[name] = changes.get(name, 0) + step
    open_marks, cut = dict.fromkeys(marks, 0), []
    for start, end in pairwise(sorted(edges)):
        for name, step in edges[start].items():
            open_marks[name] += step
        cut.append(Piece(text[start:end], " ".join(name for name, count in open_marks.items() if count)))
    return cut


def differing(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """Ranges of both texts whose words are not in the other's place.

    Words that are the same but lie scattered between longer ones that are not count as differing: ranges are
    to be read, not only to be right.
    """
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    old_at, new_at = _starts(old_words), _starts(new_words)
    blocks = _joined(_changes(old_words, new_words))
    return (
        [(old_at[a], old_at[b]) for a, b, _, _ in blocks if a < b],
        [(new_at[a], new_at[b]) for _, _, a, b in blocks if a < b],
    )


def shortened(whole: Sequence[Piece], most: int) -> list[Piece]:
    """At most so many characters, from shortly before the first piece that differs or is evidence."""
    total = sum(len(piece.text) for piece in whole)
    if total <= most:
        return list(whole)
    before = sum(len(piece.text) for piece in whole[: _telling(whole)])
    start = min(max(0, before - most // 4), total - most)
    kept: list[Piece] = []
    at = 0
    for piece in whole:
        text = piece.text[max(0, start - at) : max(0, start + most - at)]
        if text:
            kept.append(Piece(text, piece.marks, 0 if kept else start))
        at += len(piece.text)
    rest = total - start - most
    return [*kept, Piece("", "", rest)] if rest else kept


Block = tuple[int, int, int, int]
"""Words `[a, b)` of the old text are replaced by words `[c, d)` of the new one."""


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    start = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )
    most = min(len(old), len(new)) - start
    same_end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    old_end, new_end = len(old) - same_end, len(new) - same_end
    if start == old_end and start == new_end:
        return []
    if (old_end - start) * (new_end - start) > _MOST_PAIRS:
        return [(start, old_end, start, new_end)]
    found = LCSseq.opcodes(old[start:old_end], new[start:new_end])
    return [
        (op.src_start + start, op.src_end + start, op.dest_start + start, op.dest_end + start)
        for op in found
        if op.tag != "equal"
    ]


def _joined(blocks: Iterable[Block]) -> list[Block]:
    """Blocks that no more words lie between than the smaller of them has are one."""
    joined: list[Block] = []
    for block in blocks:
        joined.append(block)
        while len(joined) > 1 and joined[-1][0] - joined[-2][1] <= min(map(_size, joined[-2:])):
            last = joined.pop()
            joined[-1] = (joined[-1][0], last[1], joined[-1][2], last[3])
    return joined


def _size(block: Block) -> int:
    return max(block[1] - block[0], block[3] - block[2])


def _telling(whole: Sequence[Piece]) -> int:
    """Where the first evidence is, else the first difference, else the beginning."""
    for mark in ("evidence", "differs"):
        for at, piece in enumerate(whole):
            if mark in piece.marks.split():
                return at
    return 0


def _starts(words: Iterable[str]) -> list[int]:
    """Where each word starts, and where the last one ends; every character is in a word."""
    return [0, *accumulate(map(len, words))]
