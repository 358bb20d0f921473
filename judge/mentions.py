"""Where a text literally has a value, and which sentence or line that is.

Invariant: nothing here asks a matcher. Faults that are made to measure the judge must be known to be faults
without it, so what is found here is what anybody would underline, and what is doubtful is not found.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from bundles import Condition, Unit

Range = tuple[int, int]
PLAIN_MATCHERS = ("text", "number", "date")
"""Matchers whose values are spellings of what a text states."""
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"} | {
    "nine": "ninth",
    "twelve": "twelfth",
}
_LARGE = ("half", "quarter", "dozen", "hundred", "thousand", "million", "billion")
_DENIED_BEFORE = re.compile(
    r"(?i)(?:\b(?:not|no|never|neither|nor|without|hardly|from|previously|formerly|originally|once|instead of"
    r"|rather than|than|unlike|replac\w+|if|unless)|n['’]t)(?:\W+\w+)?\W*$"
)
_DENIED_AFTER = re.compile(r"(?i)^\W*(?:\w+\W+)?(?:not|no longer|never|\w+n['’]t)\b")
_SENTENCE_END = re.compile(r"""(?<=[.!?])["'”’)\]*_]*\s+(?=["'“‘(\[*_-]*[A-Z0-9])""")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")


def mentions(text: str, value: str) -> list[Range]:
    """Where the text has the value as whole words and numbers, whatever the case."""
    return [found.span() for found in _pattern(value).finditer(text)]


@lru_cache(maxsize=4096)
def _pattern(value: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, value.split()))
    return re.compile(rf"(?<![\w€$£])(?<!\d[.,:/'-])(?<!-){words}(?!\w)(?![.,:/'-]\d)", re.IGNORECASE)


def all_mentions(text: str, values: Iterable[str]) -> list[Range]:
    """Mentions of any of the values, first to last, none within another."""
    found = sorted(
        (place for value in values if value.strip() for place in mentions(text, value)),
        key=lambda place: (place[0], -place[1]),
    )
    kept: list[Range] = []
    for start, end in found:
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def replaced(text: str, places: Iterable[Range], by: str) -> str:
    """The text with each of these places, which do not overlap, replaced."""
    for start, end in sorted(places, reverse=True):
        text = text[:start] + by + text[end:]
    return text


def segments(text: str) -> list[Range]:
    """Sentences and list items, each without the blanks around it; together they are all that is written."""
    found: list[Range] = []
    for line in re.finditer(r"[^\n]+", text):
        ends = [] if _ITEM.match(line.group()) else list(_SENTENCE_END.finditer(line.group()))
        starts = [0, *(end.end() for end in ends)]
        stops = [*(end.end() for end in ends), len(line.group())]
        for start, stop in zip(starts, stops, strict=True):
            piece = line.group()[start:stop]
            if piece.strip():
                begin = line.start() + start + len(piece) - len(piece.lstrip())
                found.append((begin, begin + len(piece.strip())))
    return found


def is_item(text: str) -> bool:
    """Whether a segment is an item of a list."""
    return _ITEM.match(text) is not None


def segment_of(text: str, place: Range) -> Range:
    """The segment that a mention begins in."""
    return next((start, end) for start, end in segments(text) if start <= place[0] < end)


def is_asserted(text: str, place: Range) -> bool:
    """Whether a mention is plainly stated: not denied, asked, compared with or given as what was before."""
    start, end = segment_of(text, place)
    before, after = text[start : place[0]], text[place[1] : end]
    return not (_DENIED_BEFORE.search(before) or _DENIED_AFTER.match(after) or after.rstrip().endswith("?"))


def has_trace(text: str, values: Iterable[str]) -> bool:
    """Whether the text may still state one of the values in some other form."""
    for value in values:
        digits = re.findall(r"\d+", value)
        if digits:
            words = [word for number in digits for word in _in_words(int(number))]
            if any(re.search(rf"(?<!\d)0*{int(number)}(?!\d)", text) for number in digits):
                return True
        else:
            words = re.findall(r"\w{3,}", value) or [value]
        if any(re.search(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", text) for word in words):
            return True
    return False


def _in_words(number: int) -> Iterator[str]:
    """Words of which a text has one where it has the number in words, or as a share."""
    yield from _LARGE
    if number < 100:
        last = (
            _SMALL[number] if number < 20 else _SMALL[number % 10] if number % 10 else _TENS[number // 10 - 2]
        )
        yield last
        yield _ORDINALS.get(last, last.removesuffix("y") + ("ieth" if last.endswith("y") else "th"))


def spelt_values(unit: Unit) -> Iterator[str]:
    """Every value of every fact of the unit."""
    for fact in unit.facts:
        yield from _values(fact.condition)


def _values(condition: Condition) -> Iterator[str]:
    yield from condition.values
    for part in condition.of:
        yield from _values(part)


def stated_parts(condition: Condition) -> tuple[tuple[str, ...], ...]:
    """What a text must have for the condition to hold, of each part one spelling; empty where unclear."""
    parts = [((value,),) for value in condition.values] + [stated_parts(part) for part in condition.of]
    if condition.matcher in PLAIN_MATCHERS:
        return () if condition.fraction else (condition.values,)
    if condition.matcher not in ("any", "all", "near") or any(len(part) != 1 for part in parts):
        return ()
    if condition.matcher == "any":
        return (tuple(value for part in parts for value in part[0]),)
    return tuple(part[0] for part in parts)


def is_stated(text: str, condition: Condition) -> bool:
    """Whether the text literally has every part of a condition, if `near` then in one segment."""
    parts = stated_parts(condition)
    pieces = [text[start:end] for start, end in segments(text)] if condition.matcher == "near" else [text]
    return bool(parts) and any(has_parts(piece, parts) for piece in pieces)


def has_parts(text: str, parts: Iterable[tuple[str, ...]]) -> bool:
    """Whether the text mentions, of each part, one of its spellings."""
    return all(all_mentions(text, spellings) for spellings in parts)
