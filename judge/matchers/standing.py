"""How a text states what stands at a place: as it is now, denied, or as the old value.

Invariant: every place has exactly one standing, and `current` is the one where nothing speaks against it.
"""

import re
from functools import lru_cache
from typing import Literal

from judge.matchers import negation, quotation
from judge.matchers.layout import layout
from judge.matchers.words import words_in
from judge.normalize import CODE, Range, normalize

Standing = Literal["current", "negated", "old"]
# No word further away than this, in characters, changes the standing of a place.
_BEFORE, _AFTER = 80, 50
# A character of each sign that may deny or give as old: without any, there is no need to look for them.
_SIGN = re.compile("[('\\[:=>❌✗✘→➔➜⟶]")


@lru_cache(maxsize=8192)
def standing(text: str, place: Range) -> Standing:
    """The standing of a place of the text."""
    normalized = normalize(text)
    whole = normalized.text
    start, end = normalized.position(place[0]), normalized.position(place[1])
    before, after = whole[max(0, start - _BEFORE) : start], whole[end : end + _AFTER]
    words, words_after = words_in(before), words_in(after)
    signs = _SIGN.search(before) or _SIGN.search(after)
    denies = (
        not negation.WORDS_BEFORE.isdisjoint(words)
        or not negation.WORDS_AFTER.isdisjoint(words_after)
        or (signs and any(sign in before or sign in after for sign in negation.SIGNS))
    )
    quotes = (
        not quotation.WORDS_BEFORE.isdisjoint(words)
        or not quotation.WORDS_AFTER.isdisjoint(words_after)
        or (signs and any(sign in before or sign in after for sign in quotation.SIGNS))
    )
    if denies or quotes:
        first, last = layout(text).sentence(place[0])
        before = whole[max(start - _BEFORE, normalized.position(first)) : start].lstrip()
        reach = end + _AFTER if whole.startswith("?", end) else normalized.position(max(last, place[1]))
        after = whole[end : min(end + _AFTER, reach)]  # the answer to a question is said of it
        if denies and negation.is_negated(_without_code(text, before, start), after):
            return "negated"
        if quotes and quotation.is_old(before, whole[start:end], after):
            return "old"
    strikes, tables = _marks(text)
    if strikes and quotation.is_struck(normalized.lined, start, end):
        return "old"
    return "old" if tables and _in_old_column(text, place) else "current"


def _without_code(text: str, before: str, end: int) -> str:
    """What stands before `end` in the normalised text with names for code, which says nothing itself."""
    first = end - len(before)
    for start, stop in reversed(_code(text)):
        if first <= start and stop <= end:
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
