"""A document cut at its headings.

Invariant: the sections of a text, joined, are its lines but for blank space at the ends of sections; what
looks like a heading within code or a literal block is none; and no two sections have the same key.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markdown_it import MarkdownIt

DocumentKind = Literal["markdown", "rst", "text"]
# Line, level (1 is the highest) and title of a heading.
_Heading = tuple[int, int, str]

_SUFFIXES: Mapping[str, DocumentKind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".rst": "rst",
}
_BLOCKS = MarkdownIt("commonmark")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])  # where headings stand, not what they hold

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*\Z")
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)[.)]?\s+(?=[^\W\d_])")
_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what follows it up to the next one; `key` is the path of headings that leads to it."""

    key: tuple[str, ...]
    text: str


def document_kind(path: str) -> DocumentKind:
    """How headings are written in a document of this name."""
    return _SUFFIXES.get(path[path.rfind(".") :].lower() if "." in path else "", "text")


def sections_of(text: str, kind: DocumentKind) -> tuple[Section, ...]:
    """The sections of a text that show anything, in order; what precedes the first heading has no key."""
    lines = re.split(r"\r\n?|\n", text)
    headings = list(_FINDERS[kind](lines))
    starts = [0, *(line for line, _, _ in headings)]
    ends = [*starts[1:], len(lines)]
    sections: dict[tuple[str, ...], Section] = {}
    again: Counter[tuple[str, ...]] = Counter()
    for key, start, end in zip(_keys(headings), starts, ends, strict=True):
        if body := "\n".join(lines[start:end]).strip("\n").rstrip():
            unique = key
            while unique in sections:
                again[key] += 1
                unique = (*key, f"({again[key] + 1})")
            sections[unique] = Section(unique, body)
    return tuple(sections.values())


def _keys(headings: Sequence[_Heading]) -> Iterator[tuple[str, ...]]:
    yield ()
    path: list[tuple[int, str]] = []
    for _, level, title in headings:
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, " ".join(title.split())[:_LONGEST_TITLE]))
        yield tuple(title for _, title in path)


def _markdown_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    front = _front_matter(lines)
    tokens = _BLOCKS.parse("\n".join(["", *[""] * (front - 1), *lines[front:]] if front else lines))
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            yield token.map[0], int(token.tag[1:]), inline.content


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines at the start are settings of a site generator, whose last line reads as a heading."""
    if lines[0].rstrip() not in ("---", "+++"):
        return 0
    ends = (number for number, line in enumerate(lines[1:], 2) if line.rstrip() == lines[0].rstrip())
    return next(ends, 0)


def _rst_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    styles: list[tuple[str, bool]] = []
    for start, title, style in _underlined(lines):
        if style not in styles:
            styles.append(style)
        yield start, styles.index(style) + 1, title


def _underlined(lines: Sequence[str]) -> Iterator[tuple[int, str, tuple[str, bool]]]:
    """First line, title and style (character, and whether also overlined) of each underlined title."""
    for number, title in enumerate(lines[:-1]):
        below, above = lines[number + 1], lines[number - 1] if number else ""
        if not title.strip() or _ADORNMENT.match(title) or not _ADORNMENT.match(below):
            continue
        if len(below.rstrip()) < min(len(title.strip()), 4):
            continue
        if above.strip() and above.rstrip() == below.rstrip():
            yield number - 1, title.strip(), (below[0], True)
        elif not above.strip() and not title[0].isspace() and len(below.rstrip()) >= len(title.rstrip()):
            yield number, title.strip(), (below[0], False)


def _text_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Titles that are underlined, numbered or in capitals, and alone in their paragraph."""
    underlined = {start: (start, 1, title) for start, title, _ in _underlined(lines)}
    for number, line in enumerate(lines):
        if number in underlined:
            yield underlined[number]
            continue
        alone = (
            not (number and lines[number - 1].strip()) and not "".join(lines[number + 1 : number + 2]).strip()
        )
        title = line.strip()
        if not alone or not 2 < len(title) <= _LONGEST_TITLE or line[0].isspace() or title[-1] in ".,;:!?":
            continue
        if found := _NUMBERED.match(title):
            yield number, found[1].count(".") + 1, title
        elif title.isupper():
            yield number, 1, title


_FINDERS: Mapping[DocumentKind, Callable[[Sequence[str]], Iterator[_Heading]]] = {
    "markdown": _markdown_headings,
    "rst": _rst_headings,
    "text": _text_headings,
}
