"""One spelling for texts that read alike.

Invariant: every character of a normalised text knows the range of the original it came from, and texts
that differ only in composition, width, case, format characters or the style of quotes, dashes and spaces
are equal once normalised.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼʹ′´‹›", "'"),
        **dict.fromkeys("“”„‟″«»〝〞〟", '"'),
        "\N{MINUS SIGN}": "-",
    }
)


@dataclass(frozen=True, slots=True)
class Normalized:
    """`text[i]` stands for `source[starts[i]:ends[i]]` (code points, end exclusive)."""

    source: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def splits_original(self, position: int) -> bool:
        """Whether the place before `text[position]` lies within one original character."""
        return 0 < position < len(self.text) and self.starts[position] == self.starts[position - 1]


@lru_cache(maxsize=1024)  # every fact of a unit asks for the same answers
def normalize(source: str) -> Normalized:
    """NFKC and case folding without format characters; quotes and dashes of one style, spaces single."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end, cluster in _clusters(source):
        piece = " " if cluster.isspace() else _fold(cluster)
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return Normalized(source, "".join(pieces), tuple(starts), tuple(ends))


def _clusters(source: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kept characters of the pieces that normalise independently of their neighbours."""
    start = end = 0
    cluster = ""
    for index, char in enumerate(source):
        if _is_ignorable(char):
            continue
        if cluster and (_extends(char) or (char.isspace() and cluster[-1].isspace())):
            cluster += char
        else:
            if cluster:
                yield start, end, cluster
            start, cluster = index, char
        end = index + 1
    if cluster:
        yield start, end, cluster


def _is_ignorable(char: str) -> bool:
    """Format characters and variation selectors: they change how a text looks, not what it says."""
    if char.isascii():
        return False
    return (
        unicodedata.category(char) == "Cf"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _extends(char: str) -> bool:
    """Whether NFKC may merge or reorder the character with the one before: marks and inner Hangul jamo."""
    if char < "\u0300":
        return False
    first = unicodedata.normalize("NFKD", char)[0]
    return unicodedata.category(first).startswith("M") or "\u1160" <= first <= "\u11ff"


def _fold(cluster: str) -> str:
    composed = unicodedata.normalize("NFKC", _fold_punctuation(cluster)).casefold()
    return _fold_punctuation(unicodedata.normalize("NFKC", composed))


def _fold_punctuation(text: str) -> str:
    return "".join("-" if unicodedata.category(char) == "Pd" else char for char in text.translate(_FOLDED))
