"""The quantities that a text states, whatever way they are written.

Invariant: digits of a name, version, date, time or code are no quantity, nor is one end of a range.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from judge.matchers.amounts import amount_of, extended, plain_digits, runs
from judge.matchers.date import Date, dates
from judge.matchers.numerals import SCALES, Amount, numerals
from judge.matchers.ranges import Quantity, compounds, ranges
from judge.matchers.units import (
    CURRENCY_SIGNS,
    FIRST_UNIT_WORDS,
    MONEY,
    SHARE,
    TIME,
    UNIT_WORDS,
    Unit,
    currency_before,
    per,
    units_named,
)
from judge.matchers.words import words_of
from judge.normalize import Normalized, normalize

_SCALE = re.compile(rf"[ -]?({'|'.join(SCALES)}|mio|mn|bn|tn)(?!\w)|( ?)([kmb])(?!\w)|([万萬億亿千百만억])")
_SCALES = SCALES | {"k": 10**3, "m": 10**6, "mio": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9, "tn": 10**12}
_MYRIADS = {**dict.fromkeys("万萬만", 10**4), **dict.fromkeys("億亿억", 10**8), "千": 1000, "百": 100}
_SCALE_WORDS = frozenset({*_SCALES, "a", "an", "of"})
_NEXT_WORD = re.compile(r"[ -]([a-z]+)(?![^\W_])")
_COMPACT = re.compile(r"\d{1,2}(?:m|min|s)(?!\w)")  # what follows 1h in 1h30m
_UNIT = re.compile(
    rf"( (?:of )?an?)?([ -]?)((?:[^\W\d_]+[23]?(?![^\W_])|[dhm](?={_COMPACT.pattern}))"
    r"|(?<!-)(?:[%‰°][cf]?(?![^\W\d_])|[$€£¥₹₩₽₿](?! ?\d)|[¢×٪]))"
)
_SECOND_WORD = re.compile(r"[ -]([^\W\d_]+)(?!\w)")
_PER = re.compile(r" ?(?:/|per |an? )(s|sec|second|min|minute|h|hr|hour|day|week)(?!\w)")
_SLASH = re.compile(r"/([^\W\d_]+[23]?)(?!\w)")
_NO_RATE = frozenset((TIME, SHARE, *MONEY))
_AND_HALF = re.compile(r" and a (half|quarter)\b(?!-| (?:hour|day|week|month|year|dozen|million))")
_HALVES = {"half": Fraction(1, 2), "quarter": Fraction(1, 4)}
# `an hour and a half`, `an hour and ten minutes`; without more, `an hour` may mean every one.
_SPANS = frozenset(("minute", "hour", "day", "week", "month", "year"))
_ONE_SPAN = re.compile(
    rf"\ban? ({'|'.join(sorted(_SPANS))})"
    r"(?= and (?:a (?:half|quarter)\b|[\da-z-]+ (?:second|minute|hour|day)s?\b))"
)
_PREFIX = re.compile(r"(?:(?<![^\W\d_])([a-z]{0,2}[$]|[€£¥₹₩₽₿])|(?<!\w)([a-z]{3})) ?$")
_HEADS = frozenset({*CURRENCY_SIGNS, "minus", "negative"})
_MINUS = re.compile(r"(?:(?<![\w)\]%°$€£-])-|\b(?:minus|negative) )$")
# What holds digits to a name before them: gpt-4, file.15, issues/15; a prefix like sub- does not.
_LETTER = (
    r"(?![\u0e00-\u0eff\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af])[^\W\d_]"  # of a script that spaces words
)
_NAME = re.compile(rf"{_LETTER}_*$|(?<![\w./:-]){_LETTER}[\w./:-]*(?<!-)[-./]$")
_PREPOSED = re.compile(r"\b(?:sub|under|over|top|pre|post|mid|non)-$")
_MEASURED = re.compile(r"\d ([^\W\d_]+)-$")
_HOURS = re.compile(r"\d[dhm]$")
_VERSION = re.compile(r"\b(?:versions?|releases?|ver|v)\.? $")
_LONGER = re.compile(rf"{_LETTER}|_?\d|_+{_LETTER}|[\ue001-\ue019]|\.x\b")
_CLOCK = re.compile(r" ?(?:[ap]\.?m\b|o'clock|uhr\b)|[時时点](?!間|间)")
_CLOCK_STARTS = frozenset("apou時时点")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?!\w)")
_ORDINAL_STARTS = frozenset("snrt")
_MARKER = re.compile(r"[.)](?=[ \n]\S)")


@lru_cache(maxsize=1024)
def quantities(text: str) -> tuple[Quantity, ...]:
    """All quantities of the text, in order."""
    reader = _Reader(normalize(text), dates(text))
    found: list[Quantity] = []
    for quantity in sorted((*reader.in_digits(), *reader.in_words()), key=lambda q: (q.start, -q.end)):
        if not found or quantity.start >= found[-1].end:
            found.append(quantity)
    if len(found) < 2:
        return tuple(found)
    return tuple(ranges(compounds(found, reader.view), reader.view))


class _Reader:
    """Reads one text for amounts and what belongs to them."""

    def __init__(self, normalized: Normalized, days: Sequence[Date]) -> None:
        self.normalized = normalized
        self.view = plain_digits(normalized)
        said = [day for day in days if day.month or day.decades or day.weekday]
        self._days = [day.start for day in said], [day.end for day in said]

    def in_digits(self) -> Iterator[Quantity]:
        item = 0  # of a numbered list
        for start, end in runs(self.view):
            if self._is_time(start, end) or (amount := amount_of(self.view[start:end])) is None:
                continue
            if self._is_marker(start, end) and amount in (0, 1, item, item + 1):
                item = int(amount)
            elif found := self._quantity(start, end, amount):
                yield found

    def in_words(self) -> Iterator[Quantity]:
        for numeral in numerals(self.view):
            if self._is_time(numeral.start, numeral.end):
                continue
            if numeral.ordinal:
                yield Quantity(numeral.start, numeral.end, numeral.amount, numeral.amount, ordinal=True)
            else:
                head, _, sign = self._head(numeral.start)
                yield self._measured(head, numeral.end, sign * numeral.amount, ())
        for span in () if words_of(self.view).isdisjoint(_SPANS) else _ONE_SPAN.finditer(self.view):
            yield self._measured(span.start(), span.start(1) - 1, 1, ())

    def _quantity(self, start: int, end: int, amount: Amount) -> Quantity | None:
        view = self.view
        head, currency, sign = self._head(start)
        if (not currency and self._is_name(head, start)) or self._is_version(head):
            return None
        if view[end : end + 1] in _ORDINAL_STARTS and (ordinal := _ORDINAL.match(view, end)):
            whole = not _LONGER.match(view, ordinal.end())
            return Quantity(start, ordinal.end(), amount, amount, ordinal=True) if whole else None
        if view[end : end + 1] not in ("\n", "") and view[end : end + 2] not in (". ", ", "):
            amount, end = extended(view, amount, end)
        found = self._measured(head, end, sign * amount, currency)
        if _LONGER.match(view, found.end) and not (found.units and found.units[0].dimension == TIME):
            return None
        return found

    def _is_time(self, start: int, end: int) -> bool:
        """Whether the amount belongs to a date or is the time of a day."""
        starts, ends = self._days
        at = bisect_left(starts, end) - 1
        if at >= 0 and ends[at] > start:
            return True
        following = self.view[end : end + 2].strip(" ")[:1]
        return following in _CLOCK_STARTS and _CLOCK.match(self.view, end) is not None

    def _is_marker(self, start: int, end: int) -> bool:
        """Whether the digits number an item of a list."""
        at_line_start = start == 0 or self.view[start - 1] == "\n"
        return at_line_start and end - start <= 3 and _MARKER.match(self.view, end) is not None

    def _is_name(self, head: int, start: int) -> bool:
        """Whether what stands before makes the digits part of a name."""
        if head == 0 or self.view[head - 1] in " \n(":
            return False
        first = max(0, head - 60)
        if not _NAME.search(self.view, first, head) or _PREPOSED.search(self.view, first, head):
            return False
        if (measured := _MEASURED.search(self.view, first, head)) and units_named(measured[1]):
            return False
        return not (_HOURS.search(self.view, first, head) and _COMPACT.match(self.view, start))

    def _is_version(self, head: int) -> bool:
        ends = self.view.endswith(("ion ", "ions ", "ease ", "eases ", "er ", "v ", ". "), 0, head)
        return ends and _VERSION.search(self.view, max(0, head - 10), head) is not None

    def _head(self, start: int) -> tuple[int, tuple[Unit, ...], int]:
        """Where an amount begins with its currency and sign, and these."""
        currency: tuple[Unit, ...] = ()
        sign = 1
        while start > 0 and self.view[start - 1] not in "(\n":
            if self.view[start - 1] == " " and self._word_before(start - 1) not in _HEADS:
                break
            if sign == 1 and (minus := _MINUS.search(self.view, max(0, start - 10), start)):
                sign, start = -1, minus.start()
                continue
            prefix = None if currency else _PREFIX.search(self.view, max(0, start - 5), start)
            currency = currency_before(prefix[1] or prefix[2]) if prefix else currency
            if not prefix or not currency:
                break
            start = prefix.start()
        return start, currency, sign

    def _word_before(self, end: int) -> str:
        return self.view[max(0, end - 9) : end].rpartition(" ")[2].lstrip("(\n")

    def _measured(self, head: int, end: int, amount: Amount, currency: tuple[Unit, ...]) -> Quantity:
        """The quantity with the scale and the unit that follow it."""
        scale = 1
        if not self._may_be_measured(end):
            return Quantity(head, end, amount, amount, currency)
        while found := _SCALE.match(self.view, end):
            if found[3] and not self._is_scale(found, bool(currency)):
                break
            scale *= _MYRIADS[found[4]] if found[4] else _SCALES[found[1] or found[3]]
            end = found.end()
        units, end = self._unit(end, amount, currency)
        amount *= scale
        if units and not currency and (half := _AND_HALF.match(self.view, end)):
            amount, end = amount + _HALVES[half[1]], half.end()
        return Quantity(head, end, amount, amount, units, scale=scale)

    def _may_be_measured(self, end: int) -> bool:
        """Whether what follows the amount may be a scale or a unit; most words are neither."""
        following = self.view[end : end + 1]
        if following in ("", "\n", ".", ",", ";", ":", ")", "|"):
            return False
        word = _NEXT_WORD.match(self.view, end)
        return word is None or word[1] in UNIT_WORDS or word[1] in _SCALE_WORDS

    def _is_scale(self, letter: re.Match[str], currency: bool) -> bool:
        """Whether `k`, `m` or `b` is a scale: 15k, 15M and $15m, but not 15 m."""
        if currency:
            return True
        return not letter[2] and (letter[3] == "k" or self._written(letter.start(3), letter.end(3)).isupper())

    def _unit(self, end: int, amount: Amount, currency: tuple[Unit, ...]) -> tuple[tuple[Unit, ...], int]:
        """What the unit after the amount may mean, and where it ends."""
        word = _UNIT.match(self.view, end)
        if word is None or (word[1] and amount >= 1):
            return currency, end
        stop = word.end()
        second = _SECOND_WORD.match(self.view, stop) if word[3] in FIRST_UNIT_WORDS else None
        units = units_named(f"{word[3]} {second[1]}") if second else ()
        if units and second:
            stop = second.end()
        else:
            attached = word[2] != " " and not word[1]
            units = units_named(self._written(word.start(3), stop), attached=attached)
        if not units or (currency and units[0].dimension not in MONEY):
            return currency, end
        if units[0].dimension in ("length", "data") and (time := _PER.match(self.view, stop)):
            (second_unit,) = units_named(time[1])
            return tuple(per(unit, second_unit) for unit in units), time.end()
        slash = None if units[0].dimension in _NO_RATE else _SLASH.match(self.view, stop)
        other = units_named(self._written(*slash.span(1))) if slash else ()
        if slash and other:
            return tuple(per(unit, other[0]) for unit in units), slash.end()
        return units, stop

    def _written(self, start: int, end: int) -> str:
        """A part of the text with its capitals."""
        return unicodedata.normalize(
            "NFKC", self.normalized.source[slice(*self.normalized.original(start, end))]
        )
