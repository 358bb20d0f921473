"""How a text is laid out: paragraphs, list items, table rows, and the sentences in them.

Invariant: passages and sentences are ranges of the original text, in its order and without overlap. Only
what separates them belongs to none: blank lines, markers of lists, fences, rules below a table's head.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from judge.matchers.words import listed
from judge.normalize import Range

_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_FENCE = re.compile(r"\s*(```+|~~~+)(?!.*\1)")
_QUOTE = re.compile(r"(?:\s{0,3}>)+ ?")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"(?:[-*+•‣◦▪–·]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))\s+(?:\[[ xX]\]\s+)?")
# A line that goes on in the next: long enough to have been wrapped, or ending in the midst of a phrase.
_WRAPPED = 60
_HANGING = re.compile(
    r"(?i:\b(?:the|a|an|of|on|in|at|by|to|for|from|with|and|or|nor|until|before|after|since|than|that|is|are|was"
    r"|were|be|been|has|have|will|not|its|their|our|your|his|her|dr|mr|mrs|prof"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d\d?,)?"
    r"|(?:on|by|until|before|since|from|after) (?:the )?\d\d?(?:st|nd|rd|th)?))[*_]*$"
)
_CELL = re.compile(r"(?:[^|\\]|\\.)+")
_MAY_END = re.compile(r"[.!?…。！？｡؟۔<]")
_END = re.compile(
    r"[.!?…]+(?:[\"'”’)\]*_~`]|\[\^?\w{1,4}\])*(?=\s)|[。！？｡]+[」』”’）]*|[؟۔](?=\s)|<(?:br|/?p|/?li|/tr)\s*/?>"
)
# Before a point, as they are written: no end of a sentence.
_NEVER_LAST = frozenset(
    listed(
        "e.g i.e cf Cf vs viz al approx ca Dr Mr Mrs Ms Prof St Jr Sr Gen Col Capt Rev Hon Mme z.B d.h bzw",
        "ggf incl excl",
    )
)
# In small letters: an end or not, as what follows begins with a capital or not.
_SELDOM_LAST = frozenset(
    listed(
        "no nos fig figs eq eqs sec ch vol p pp ed eds inc ltd co corp dept est min max avg tel ext mt",
        "resp jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun",
        "a.m p.m etc u.s u.k e.u",
    )
)
_TAIL = 4  # characters of a word
_TAILS = frozenset(word[-_TAIL:].lower() for word in _NEVER_LAST | _SELDOM_LAST if len(word) >= _TAIL)
_OPENING = "\"'“‘([*_`"


@dataclass(slots=True)
class Passage:
    """A paragraph, heading, line of code, list item without its sub-items, or table row.

    `context` are the passages it continues: the items an item is part of, or what introduces its list with a
    colon. `cells` are a row's, `head` those of its table's first row.
    """

    start: int
    end: int
    whole: bool
    context: tuple["Passage", ...] = ()
    cells: tuple[Range, ...] = ()
    head: tuple[Range, ...] = ()
    indent: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """The passages of a text and its sentences."""

    passages: tuple[Passage, ...]
    sentences: tuple[Range, ...]
    _passage_starts: tuple[int, ...]
    _sentence_starts: tuple[int, ...]

    def passage(self, position: int) -> Passage | None:
        """The passage that holds the character at `position`."""
        at = bisect_right(self._passage_starts, position) - 1
        return self.passages[at] if at >= 0 and position < self.passages[at].end else None

    def sentence(self, position: int) -> Range:
        """The sentence that holds the character at `position`; the character alone if none does."""
        at = bisect_right(self._sentence_starts, position) - 1
        inside = at >= 0 and position < self.sentences[at][1]
        return self.sentences[at] if inside else (position, position + 1)


@lru_cache(maxsize=256)
def layout(text: str) -> Layout:
    """The layout of a text in Markdown or plain lines."""
    passages = tuple(passage for passage in _Reader(text).passages if passage.start < passage.end)
    sentences = tuple(sentence for passage in passages for sentence in _sentences(text, passage))
    return Layout(passages, sentences, tuple(p.start for p in passages), tuple(s[0] for s in sentences))


def _sentences(text: str, passage: Passage) -> Iterator[Range]:
    if passage.cells:
        yield passage.start, passage.end
        return
    start = looked = passage.start
    codes = "`" in text
    for mark in _MAY_END.finditer(text, passage.start, passage.end):
        at = mark.start()
        if at <= looked or (end := _END.match(text, at, passage.end)) is None:
            continue
        looked = end.end() - 1
        if codes and text.count("`", start, at) % 2 and "`" in text[end.end() : passage.end]:
            continue  # within code
        if text[at] not in ".…" or not _goes_on(text, start, end, passage.end):
            yield start, end.end()
            start = end.end()
    if start < passage.end:
        yield start, passage.end


def _goes_on(text: str, start: int, end: re.Match[str], stop: int) -> bool:
    """Whether points that look like the end of a sentence are none."""
    at = end.start()
    ellipsis = end[0].startswith(("..", "…"))
    tail = text[max(start, at - _TAIL) : at]
    if not ellipsis and len(tail) == _TAIL and tail.isalpha() and tail.lower() not in _TAILS:
        return False  # a quick no in most cases
    word = text[max(start, text.rfind(" ", start, at) + 1) : at].rpartition("\n")[2].lstrip(_OPENING)
    if ellipsis or word.lower() in _SELDOM_LAST:
        rest = text[end.end() : min(stop, end.end() + 20)].lstrip().lstrip(_OPENING)
        return rest[:1].islower() or (rest[:1].isdigit() and not ellipsis)
    return word in _NEVER_LAST or (len(word) == 1 and word.isupper())


class _Reader:
    """Reads a text line by line; `passages` is the result."""

    def __init__(self, text: str) -> None:
        self.passages: list[Passage] = []
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._open: Passage | None = None
        self._items: list[Passage] = []
        self._head: tuple[Range, ...] | None = None  # of the table that is being read, if any
        self._fence = ""
        self._fenced = "```" in text or "~~~" in text
        at = 0
        for number, line in enumerate(self._lines):
            self._read(number, line, at)
            at += len(line)

    def _read(self, number: int, line: str, at: int) -> None:
        if self._fence or (self._fenced and _FENCE.match(line)):
            self._read_code(line, at)
            return
        if line[0].isalpha() and line[1:2] != ")" and "|" not in line and "\t" not in line:
            self._head = None
            self._read_line(number, at, at + len(line.rstrip()), 0)
            return
        quote = _QUOTE.match(line) if ">" in line else None
        skipped = quote.end() if quote else 0
        body = line[skipped:].strip()
        start = at + skipped + line[skipped:].index(body) if body else at
        indent = len(line[skipped:].expandtabs(4)) - len(line[skipped:].expandtabs(4).lstrip())
        if not self._is_row(number, body):
            self._head = None
        if not body:
            self._open = None
        elif self._is_row(number, body):
            self._read_row(body, start)
        elif _RULE.fullmatch(body) and len(body) > 2:
            self._open = None
        elif heading := _HEADING.match(body + " "):
            self._items, self._open = [], None
            self._add(start + min(heading.end(), len(body)), start + len(body), whole=False)
        elif marker := _ITEM.match(body):
            self._read_item(start + marker.end(), start + len(body), indent)
        else:
            self._read_line(number, start, start + len(body), indent)

    def _add(self, start: int, end: int, whole: bool, context: Sequence[Passage] = ()) -> Passage:
        passage = Passage(start, end, whole, tuple(context))
        self.passages.append(passage)
        return passage

    def _read_code(self, line: str, at: int) -> None:
        fence = _FENCE.match(line)
        if self._fence and not (fence and fence[1].startswith(self._fence)):
            self._add(at, at + len(line.rstrip()), whole=True)
        else:
            self._fence = "" if self._fence or fence is None else fence[1]
        self._open = None

    def _is_row(self, number: int, body: str) -> bool:
        if "|" not in body:
            return "\t" in body
        if body.startswith("|") or self._head is not None:
            return True
        following = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        return "|" in following and _RULE.fullmatch(following.strip()) is not None

    def _read_row(self, body: str, start: int) -> None:
        self._open = None
        if _RULE.fullmatch(body):
            if self._head == () and self.passages and self.passages[-1].cells:
                self._head = self.passages[-1].cells
            return
        found = re.finditer(r"[^\t]+", body) if "|" not in body else _CELL.finditer(body)
        cells = tuple((start + cell.start(), start + cell.end()) for cell in found)
        row = self._add(start, start + len(body), whole=True)
        row.cells, row.head = cells, self._head or ()
        self._head = row.head

    def _read_item(self, start: int, end: int, indent: int) -> None:
        while self._items and self._items[-1].indent >= indent:
            self._items.pop()
        context = [*self._items[-1].context, self._items[-1]] if self._items else self._introduction()
        self._open = self._add(start, end, whole=True, context=context)
        self._open.indent = indent
        self._items.append(self._open)

    def _introduction(self) -> list[Passage]:
        """The passage before, if it ends in a colon: what it says is said of each item."""
        if not self.passages or self.passages[-1].cells:
            return []
        last = self.passages[-1]
        if last.whole:  # an item of the same list: introduced alike
            return list(last.context[:1]) if last.context and not last.context[0].whole else []
        ends_in_colon = self._text[last.start : last.end].rstrip("*_ ").endswith((":", "："))
        return [last] if ends_in_colon else []

    def _read_line(self, number: int, start: int, end: int, indent: int) -> None:
        if self._open is not None and self._is_wrapped(number, start):
            self._open.end = end
            return
        item = self._items[-1] if self._items else None
        if item is not None and indent > item.indent:  # a further paragraph of the item
            self._open = self._add(start, end, whole=True, context=[*item.context, item])
        else:
            self._items = []
            self._open = self._add(start, end, whole=False)

    def _is_wrapped(self, number: int, start: int) -> bool:
        """Whether a line goes on with the sentence of the one before."""
        before = self._lines[number - 1].rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        if before.endswith(("  ", "\\")):
            return False
        if len(before) >= _WRAPPED or self._text[start].islower():
            return True
        return _HANGING.search(before, max(0, len(before) - 24)) is not None
