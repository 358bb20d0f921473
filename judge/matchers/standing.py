"""How a text states what stands at a place: as it is now, denied, or as the old value.

Invariant: every place has exactly one standing, and `current` is the one where nothing speaks against it.
"""

import re
from bisect import bisect_left
from functools import lru_cache
from typing import Literal, NamedTuple

from judge.matchers import negation, quotation
from judge.matchers.layout import layout
from judge.matchers.words import runs_of, words_of
from judge.normalize import CODE, Range, normalize

Standing = Literal["current", "negated", "old"]
# No word further away than this, in characters, changes the standing of a place.
_BEFORE, _AFTER = 80, 50
# What denies places after it, and before it; what gives them as old.
_DENIALS = negation.WORDS_BEFORE.union(negation.SIGNS), negation.WORDS_AFTER.union(negation.SIGNS)
_CHANGES = quotation.WORDS_BEFORE.union(quotation.SIGNS), quotation.WORDS_AFTER.union(quotation.SIGNS)
_SIGNS = (*negation.SIGNS, *quotation.SIGNS)
_WORDS = frozenset().union(*_DENIALS, *_CHANGES).difference(_SIGNS)


class _Cues(NamedTuple):
    """Where the normalised text has what may speak against places after it, or before it, in order."""

    before: list[int]
    after: list[int]

    def speak(self, begin: int, start: int, end: int, stop: int) -> bool:
        """Whether any does that stands from `begin` to `start`, or from `end` to `stop`."""
        at = bisect_left(self.before, begin)
        if at < len(self.before) and self.before[at] < start:
            return True
        at = bisect_left(self.after, end)
        return at < len(self.after) and self.after[at] < stop


@lru_cache(maxsize=8192)
def standing(text: str, place: Range) -> Standing:
    """The standing of a place of the text."""
    normalized = normalize(text)
    start, end = normalized.position(place[0]), normalized.position(place[1])
    denials, changes = _cues(text)
    window = start - _BEFORE, start, end, end + _AFTER
    if denials.speak(*window) or changes.speak(*window):
        whole = normalized.text
        first, last = layout(text).sentence(place[0])
        begin = max(0, start - _BEFORE, normalized.position(first))
        reach = end + _AFTER if whole.startswith("?", end) else normalized.position(max(last, place[1]))
        stop = min(end + _AFTER, reach)  # the answer to a question is said of it
        before, after = whole[begin:start].lstrip(), whole[end:stop]
        if denials.speak(begin, start, end, stop) and negation.is_negated(
            _without_code(text, before, start), after
        ):
            return "negated"
        if changes.speak(begin, start, end, stop) and quotation.is_old(before, whole[start:end], after):
            return "old"
    strikes, tables = _marks(text)
    if strikes and quotation.is_struck(normalized.lined, start, end):
        return "old"
    return "old" if tables and _in_old_column(text, place) else "current"


@lru_cache(maxsize=1024)
def _cues(text: str) -> tuple[_Cues, _Cues]:
    """What may deny places of the text, and what may give them as old."""
    normalized = normalize(text)
    whole = normalized.text
    places = {word: list(runs_of(whole, word)) for word in _WORDS.intersection(words_of(normalized.lined))}
    places |= {sign: _occurrences(whole, sign) for sign in _SIGNS if sign in whole}
    denials, changes = (
        _Cues(
            *(sorted(at for cue, found in places.items() if cue in wanted for at in found) for wanted in both)
        )
        for both in (_DENIALS, _CHANGES)
    )
    return denials, changes


def _occurrences(whole: str, sign: str) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(sign), whole)]


def _without_code(text: str, before: str, end: int) -> str:
    """What stands before `end` in the normalised text with names for code, which says nothing itself."""
    first = end - len(before)
    code = _code(text)
    for start, stop in reversed(code[bisect_left(code, (first, first)) : bisect_left(code, (end, end))]):
        if stop <= end:
            before = f"{before[: start - first]}x{before[stop - first :]}"
    return before


@lru_cache(maxsize=1024)  # whether a long text has any takes long to find out
def _code(text: str) -> tuple[Range, ...]:
    """The places of code in the normalised text."""
    normalized = normalize(text)
    return tuple(
        (normalized.position(code.start(2)), normalized.position(code.end(2))) for code in CODE.finditer(text)
    )


@lru_cache(maxsize=1024)
def _marks(text: str) -> tuple[bool, bool]:
    """Whether anything may be struck out in the text, and whether it may have a table."""
    return "~~" in text or "</" in text, "|" in text or "\t" in text


def _in_old_column(text: str, place: Range) -> bool:
    passage = layout(text).passage(place[0])
    if passage is None or not passage.head:
        return False
    column = next((n for n, (start, end) in enumerate(passage.cells) if start <= place[0] < end), None)
    if column is None or column >= len(passage.head):
        return False
    return quotation.is_old_column(normalize(text[slice(*passage.head[column])]).text)
