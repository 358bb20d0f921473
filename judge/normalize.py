"""One spelling for texts that read alike.

Invariant: every character of a normalised text knows the range of the original it came from, and texts
that differ only in composition, width, case, format characters, Markdown's marks of emphasis, code and
escape, or the style of quotes, dashes and spaces are equal once normalised.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

Range = tuple[int, int]

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼʹ′´‹›", "'"),
        **dict.fromkeys("“”„‟″«»〝〞〟", '"'),
        "\N{MINUS SIGN}": "-",
    }
)
_MARKS = {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"}
# Characters that become one other at most, in single spaces; what follows the last one may compose with it.
_KEPT = r"!-~À-ÖØ-Þà-öø-ÿ\u0410-\u044f\u0621-\u064a\u3001\u3002\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff‘’“”–—"
_PLAIN = re.compile(rf"[{_KEPT}]+(?: [{_KEPT}]+)*(?![^\x00-\x7f{_KEPT}])")
_OTHER = re.compile(rf"[{_KEPT}]?[^{_KEPT}]+")
CODE = re.compile(r"(?<![\w`\\])(`{1,2})(?!`)([^`\n]+)\1(?![\w`])")
# Marks on both sides of what they mark; `__init__` is a name.
_MARKED = (
    CODE,
    re.compile(r"(?<![\w*\\])(\*{1,3})(?![\s*])([^*\n]*[^\s*\\])\1(?![\w*])"),
    re.compile(r"(?<![\w\\])(_{1,2})(?![\s_]|(?<=__)[a-zA-Z]\w*__)([^_\n]*[^\s_\\])\1(?!\w)"),
)
_MARKS_ALONE = re.compile(r"</?(?:b|i|u|em|strong|mark)>|\\(?=[!-/:-@\[-`{-~\n])")
_QUOTE_GOES_ON = re.compile(r"(?<=\n) {0,3}>(?: {0,3}>)*")
_SIGNS_OF_MARKS = ("*", "_", "`", "\\", "<", ">")


@dataclass(frozen=True, slots=True)
class Normalized:
    """`text` stands for `source` piece by piece; positions count code points, ends are exclusive.

    `lined` is `text` with a line feed for each gap that is more than one space: a line break, a tab,
    several spaces.
    """

    source: str
    text: str
    lined: str
    _places: tuple[int, ...]
    _firsts: tuple[int, ...]
    _lasts: tuple[int, ...]
    _plain: tuple[bool, ...]

    def original(self, start: int, end: int) -> Range:
        """The range of the source that `text[start:end]`, which is not empty, stands for."""
        at = bisect_right(self._places, start) - 1
        begin = self._firsts[at] + start - self._places[at] if self._plain[at] else self._firsts[at]
        at = bisect_right(self._places, end - 1) - 1
        return begin, self._firsts[at] + end - self._places[at] if self._plain[at] else self._lasts[at]

    def original_of(self, start: int, end: int) -> Range | None:
        """The same, None where the range begins or ends within one original character."""
        at = bisect_right(self._places, start) - 1
        last = bisect_right(self._places, end - 1, at) - 1
        place, first = self._places[at], self._firsts[at]
        if self._plain[at]:
            first += start - place
        elif place < start:
            return None
        if self._plain[last]:
            return first, self._firsts[last] + end - self._places[last]
        following = self._places[last + 1] if last + 1 < len(self._places) else len(self.text)
        return (first, self._lasts[last]) if end == following else None

    def splits_original(self, position: int) -> bool:
        """Whether the place before `text[position]` lies within one original character."""
        if not 0 < position < len(self.text):
            return False
        at = bisect_right(self._places, position) - 1
        return self._places[at] < position and not self._plain[at]

    def position(self, index: int) -> int:
        """Where the character at `source[index]`, or the first kept one after it, stands in `text`."""
        at = bisect_right(self._firsts, index) - 1
        if at < 0:
            return 0
        if index < self._lasts[at]:
            return self._places[at] + index - self._firsts[at] if self._plain[at] else self._places[at]
        return self._places[at + 1] if at + 1 < len(self._places) else len(self.text)


@lru_cache(maxsize=1024)  # every fact of a unit asks for the same answers
def normalize(source: str) -> Normalized:
    """NFKC and case folding without format characters; quotes and dashes of one style, spaces single."""
    pieces = list(
        _pieces_of(_without_marks(source) if any(sign in source for sign in _SIGNS_OF_MARKS) else source)
    )
    texts = [text for _, _, text, _ in pieces]
    lined = "".join(texts)
    return Normalized(
        source=source,
        text=lined.replace("\n", " "),
        lined=lined,
        _places=tuple(accumulate(map(len, texts), initial=0))[:-1],
        _firsts=tuple(start for start, _, _, _ in pieces),
        _lasts=tuple(end for _, end, _, _ in pieces),
        _plain=tuple(plain for _, _, _, plain in pieces),
    )


def _without_marks(source: str) -> str:
    """The text with its marks made format characters, those of a quote that goes on made spaces."""
    for pattern in _MARKED:
        source = pattern.sub(lambda found: f"{_unseen(found[1])}{found[2]}{_unseen(found[1])}", source)
    source = _MARKS_ALONE.sub(lambda found: _unseen(found[0]), source)
    return _QUOTE_GOES_ON.sub(
        lambda found: " " * len(found[0]) if _is_quoted(found.string, found.start() - 1) else found[0], source
    )


def _unseen(marks: str) -> str:
    return "\N{ZERO WIDTH SPACE}" * len(marks)


def _is_quoted(source: str, end: int) -> bool:
    """Whether the line that ends here belongs to a quote."""
    line = source.rfind("\n", 0, end) + 1
    return source[line : line + 4].lstrip().startswith(">")


def _pieces_of(source: str) -> Iterator[tuple[int, int, str, bool]]:
    """Start, end and normalised text of the pieces, and whether it is character by character."""
    at = 0
    while at < len(source):
        if found := _PLAIN.match(source, at):
            yield at, found.end(), _small(found[0]), True
        else:
            found = _OTHER.match(source, at)
            assert found is not None  # between them they match any character
            for start, end, cluster in _clusters(source, at, found.end()):
                if text := _gap(cluster, end - start) if cluster.isspace() else _fold(cluster):
                    yield start, end, text, False
        at = found.end()


def _small(text: str) -> str:
    text = text.lower()
    if not text.isascii():
        for mark, folded in _MARKS.items():
            text = text.replace(mark, folded)
    return text


def _clusters(source: str, begin: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """Start, end and kept characters of the pieces that normalise independently of their neighbours."""
    start = end = begin
    cluster = ""
    for index in range(begin, stop):
        char = source[index]
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


def _gap(spaces: str, width: int) -> str:
    return " " if width == 1 and unicodedata.category(spaces) == "Zs" else "\n"


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


@lru_cache(maxsize=4096)
def _fold(cluster: str) -> str:
    composed = unicodedata.normalize("NFKC", _fold_punctuation(cluster)).casefold()
    return _fold_punctuation(unicodedata.normalize("NFKC", composed))


def _fold_punctuation(text: str) -> str:
    return "".join("-" if unicodedata.category(char) == "Pd" else char for char in text.translate(_FOLDED))
