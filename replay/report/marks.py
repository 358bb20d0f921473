"""Marked text: which words differ, which are evidence, which were held. Pure.

Invariant: the pieces of a text concatenate to it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

Range = tuple[int, int]
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text under the same marks, as a list of CSS classes."""

    text: str
    marks: str


def pieces(text: str, marks: Mapping[str, Iterable[Range]]) -> list[Piece]:
    """The text cut wherever one of the marks' ranges (code points, end exclusive) begins or ends."""
    ranges = [(name, start, end) for name, found in marks.items() for start, end in found if start < end]
    cuts = sorted(
        {0, len(text), *(edge for _, start, end in ranges for edge in (start, end) if edge < len(text))}
    )
    return [
        Piece(text[a:b], " ".join(dict.fromkeys(name for name, start, end in ranges if start <= a < end)))
        for a, b in pairwise(cuts)
    ]


def differing(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """Ranges of both texts whose words are not in the other's place."""
    old_words, new_words = _words(old), _words(new)
    matcher = SequenceMatcher(
        None, [old[a:b] for a, b in old_words], [new[a:b] for a, b in new_words], autojunk=False
    )
    changed = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    return (
        [(old_words[a][0], old_words[b - 1][1]) for _, a, b, _, _ in changed if a < b],
        [(new_words[a][0], new_words[b - 1][1]) for _, _, _, a, b in changed if a < b],
    )


def _words(text: str) -> list[Range]:
    return [match.span() for match in _WORDS.finditer(text)]
