"""Where a text states a date, in whole or in part.

Invariant: a date says what is written and nothing more. It states a wanted one if it gives every part that
the wanted one gives, alike: `14 March` is in `14 March 2026`, `14 March 2026` is not in `14 March`.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from judge.matchers.layout import layout
from judge.matchers.units import units_named
from judge.matchers.words import listed, places_of, words_of
from judge.normalize import Normalized, Range, normalize

_MONTHS = listed("january february march april may june july august september october november december")
_WEEKDAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
_DECADES = listed("twenties thirties forties fifties sixties seventies eighties nineties")
_UNITS = listed("first second third fourth fifth sixth seventh eighth ninth")
_DAYS_IN_WORDS = {  # the longer ones first
    **{f"twenty{gap}{unit}": 20 + n for gap in "- " for n, unit in enumerate(_UNITS, 1)},
    **{f"thirty{gap}first": 31 for gap in "- "},
    **{
        word: n
        for n, word in enumerate(
            [
                *_UNITS,
                *listed("tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth"),
                *listed("eighteenth nineteenth twentieth"),
            ],
            1,
        )
    },
    "thirtieth": 30,
}
_MONTH_NUMBERS = {name: n for n, full in enumerate(_MONTHS, 1) for name in (full, full[:3])} | {"sept": 9}
_WEEKDAY_NUMBERS = {
    name: n for n, full in enumerate(_WEEKDAYS, 1) for name in (full, f"{full}s", full[:3])
} | {"tues": 2, "thur": 4, "thurs": 4}
# Words with another meaning unless they are written with a capital, and those that have one even then.
_NEED_CAPITAL = frozenset(listed("may march mar dec jan mon wed fri sat sun"))
_NEED_MORE = re.compile(
    r"(?:sat|sun)(?= [a-z])|may(?= (?:i|we|you|he|she|it|they|the|this|that|be|all|not)\b)"
)

_NAMES = frozenset({*_MONTH_NUMBERS, *_WEEKDAY_NUMBERS})
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_DAYS = rf"({_DAY}(?:(?:, ?{_DAY})*,? (?:and|or|to|until|till|through) {_DAY}| ?[-/] ?{_DAY})?)"
_DAYS_BEFORE = re.compile(rf"(?<![\w.,:/$€£#-]){_DAYS}(?:[ \n]of)?[ \n-]$")
_DAY_ENDS = frozenset("0123456789tdhf")  # 14, 1st, 2nd, 4th, of
_DAYS_AFTER = re.compile(rf"\.?(?:[ \n]the)?[ \n-]{_DAYS}(?![\w%]|[.,:/]\d)")
_YEAR_AFTER = re.compile(r"\.?(?:,?[ \n]of|,)?[ \n-]\(?([12]\d{3})(?![\w%]|[.,:/-]\d)")
_WORDED = rf"({'|'.join(_DAYS_IN_WORDS)})"
_WORDED_BEFORE = re.compile(rf"(?<!\ba )(?<!\bone )\b{_WORDED}[ \n]of[ \n]$")
_WORDED_AFTER = re.compile(
    rf"(?:[ \n]the)?[ \n]{_WORDED}"
    r"(?=[.,;:!?)]|$|\n|,? [12]\d\d\d| (?:at|in|and|or|is|was|to|for|with|as|by)\b)"
)
_DIGITS = re.compile(r"\d(?:\d*(?=[-/.月年])|\d{3})")
_NUMERIC = re.compile(
    r"(?:(?<![\w.,:/$€£¥#-])|(?<=mid-)|(?<=pre-)|(?<=post-))(?:"
    r"(?P<y>[12]\d{3})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d|-\d)"
    r"|(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})(?P=t)(?P<z>[12]\d{3})(?!\w|[-/.]\d)"
    r"|(?P<ym>[12]\d{3})-(?P<mm>0[1-9]|1[0-2])(?!\w|[-/.]\d)"
    r"|(?P<my>0?[1-9]|1[0-2])/(?P<yy>(?:19|20)\d\d)(?!\w|[-/.]\d)"
    r"|(?:(?P<cy>[12]\d{3})年 ?)?(?P<cm>\d{1,2})月(?: ?(?P<cd>\d{1,2})日)?"
    r"|(?P<ty>[12]\d{3})年"
    r"|(?P<decade>[12]\d\d0)'?s(?!\w)"
    r"|(?P<year>[12]\d{3})(?:-(?P<until>[12]\d{3}))?(?![\w%‰°$€£¥]|[.,:/]\d|-\d)"
    r")"
)
_WEEKDAY_GAP = re.compile(r"\.?,?[ \n](?:the )?")
_IN_YEAR = re.compile(r"\b(?:in|since|by|until|till|from|during|year|early|late|before|after) $|\bmid[ -]$")
_DECADE_HINT = re.compile(r"0'?s")
_SHORT_DECADE = re.compile(
    r"(?:\b(?:the|mid|early|late)[ -]'?|(?<!\w)'|(?<=0s and )|(?<=0s or ))(\d0)'?s(?!\w)"
)
_SPELLED_DECADE = re.compile(
    rf"\b(?:the|mid|early|late|nineteen|eighteen)[ -](?:nineteen[ -])?({'|'.join(_DECADES)})\b"
)


class Date(NamedTuple):
    """The parts of a date that are given; `start` and `end` are its place in the normalised text.

    `decades` are the first years of the decades it may mean.
    """

    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    decades: tuple[int, ...] = ()

    def states(self, wanted: "Date") -> bool:
        """Whether all parts of `wanted` are given and alike; beside a day, a weekday may be left out."""
        if wanted.decades:
            return not set(wanted.decades).isdisjoint(self.decades)
        for part in ("year", "month", "day"):
            needed = getattr(wanted, part)
            if needed is not None and getattr(self, part) != needed:
                return False
        if wanted.weekday is None or self.weekday == wanted.weekday:
            return not self.decades
        return wanted.day is not None and self.weekday is None


def find_date(wanted: Date, text: str) -> Iterator[Range]:
    """Where the text states the date."""
    normalized = normalize(text)
    for found in dates(text):
        if found.states(wanted):
            yield normalized.original(found.start, found.end)


@lru_cache(maxsize=4096)
def parse_date(value: str) -> Date | None:
    """The one date that the value is; None if it is none, several, or may be read in two ways."""
    text = normalize(value.strip()).text
    found = dates(value.strip())
    if len(found) != 1:
        return None
    rest = text[: found[0].start] + text[found[0].end :]
    return found[0] if re.fullmatch(r"(?:in |on )?(?:the )?[.)]?", rest) else None


@lru_cache(maxsize=1024)
def dates(text: str) -> tuple[Date, ...]:
    """All dates of the text, in order."""
    normalized = normalize(text)
    view = normalized.lined
    found: list[Date] = []
    for date in sorted((*_named(normalized), *_numeric(view), *_decades(view)), key=_longest_first):
        if not found or date.start >= found[-1].end:
            found.append(date)
    return tuple(_with_weekdays(found, normalized))


def _longest_first(date: Date) -> tuple[int, int]:
    return date.start, -date.end


def _named(normalized: Normalized) -> Iterator[Date]:
    """Weekdays, and months with the days and year beside them."""
    view = normalized.lined
    for start, end in places_of(view, _NAMES):
        name = view[start:end]
        capital = normalized.source[normalized.original(start, end)[0]].isupper()
        if name in _MONTH_NUMBERS:
            yield from _month(normalized, start, end, capital)
        elif (capital or name not in _NEED_CAPITAL) and not _NEED_MORE.match(view, start):
            yield Date(start, end, weekday=_WEEKDAY_NUMBERS[name])


def _month(normalized: Normalized, start: int, end: int, capital: bool) -> Iterator[Date]:
    view = normalized.lined
    name = view[start:end]
    near = view[max(0, start - 2) : start]
    days = None
    if near[:1] in _DAY_ENDS and near[1:]:
        days = _DAYS_BEFORE.search(view, max(0, start - 30), start)
        days = days or _WORDED_BEFORE.search(view, max(0, start - 24), start)
        days = days if days and _is_joined(normalized, days.start(), start) else None
    if days is not None:
        start = days.start()
    elif days := _DAYS_AFTER.match(view, end) or _WORDED_AFTER.match(view, end):
        days = days if _is_joined(normalized, end, days.end()) else None
        end = days.end() if days else end
    year = _YEAR_AFTER.match(view, end)
    year = year if year and _is_joined(normalized, end, year.end()) else None
    if year:
        end = year.end()
    beside = (days is not None) + (year is not None)
    if not capital and name in _NEED_CAPITAL and beside < (2 if name == "may" else 1):
        return
    if not beside and _NEED_MORE.match(view, start):
        return
    whole = Date(start, end, int(year[1]) if year else None, _MONTH_NUMBERS[name])
    if days is None:
        yield whole
        return
    if days[1] in _DAYS_IN_WORDS:
        yield whole._replace(day=_DAYS_IN_WORDS[days[1]])
        return
    each = list(re.compile(r"\d+").finditer(view, *days.span(1)))
    for number, day in enumerate(each):  # in 12 to 14 March, 12 is a place of its own
        yield whole._replace(
            start=whole.start if number == 0 else day.start(),
            end=whole.end if number == len(each) - 1 else day.end(),
            day=int(day[0]),
        )


def _is_joined(normalized: Normalized, start: int, end: int) -> bool:
    """Whether the gaps from start to end are spaces, or a line break within a paragraph."""
    at = normalized.lined.find("\n", start, end)
    while at >= 0:
        first, last = normalized.original(at, at + 1)
        laid_out = layout(normalized.source)
        if "\t" in normalized.source[first:last] or laid_out.passage(first - 1) is not laid_out.passage(last):
            return False
        at = normalized.lined.find("\n", at + 1, end)
    return True


def _numeric(view: str) -> Iterator[Date]:
    """Dates in digits, those alone that can be read in one way only."""
    for digits in _DIGITS.finditer(view):
        found = _NUMERIC.match(view, digits.start())
        if found is None:
            continue
        start, end = found.span()
        part = {
            name: int(digits) for name, digits in found.groupdict().items() if digits and digits.isdecimal()
        }
        if "y" in part:
            readings: set[tuple[int | None, int, int]] = {(part["y"], part["m"], part["d"])}
        elif "z" in part:
            readings = {(part["z"], part["a"], part["b"]), (part["z"], part["b"], part["a"])}
        elif "cm" in part and "cd" in part:
            readings = {(part.get("cy"), part["cm"], part["cd"])}
        else:
            yield from _year(view, start, end, part)
            continue
        real = [(y, m, d) for y, m, d in readings if _exists(y, m, d)]
        if len(real) == 1:
            yield Date(start, end, *real[0])


def _year(view: str, start: int, end: int, part: dict[str, int]) -> Iterator[Date]:
    """A year, with its month or as a decade or a span of years."""
    if "decade" in part:
        yield Date(start, end, decades=(part["decade"],))
    elif "year" not in part:
        year = part.get("ym") or part.get("yy") or part.get("cy") or part.get("ty")
        yield Date(start, end, year, part.get("mm") or part.get("my") or part.get("cm"))
    elif 1900 <= part["year"] < 2100 or _IN_YEAR.search(view, max(0, start - 8), start):
        unit = re.compile(r"[ -]?([^\W\d_]+)").match(view, end)
        if "until" in part:
            yield Date(start, start + 4, part["year"])
            yield Date(end - 4, end, part["until"])
        elif not (unit and units_named(unit[1])):
            yield Date(start, end, part["year"])


def _decades(view: str) -> Iterator[Date]:
    for found in _SHORT_DECADE.finditer(view) if _DECADE_HINT.search(view) else ():
        short = int(found[1])
        both = (1900 + short, 2000 + short) if short <= 20 else (1900 + short,)
        yield Date(*found.span(), decades=both)
    for found in () if words_of(view).isdisjoint(_DECADES) else _SPELLED_DECADE.finditer(view):
        century = 1800 if "eighteen" in found[0] else 1900
        yield Date(*found.span(), decades=(century + 10 * (_DECADES.index(found[1]) + 2),))


def _exists(year: int | None, month: int, day: int) -> bool:
    """Whether there is such a day; in a year that is not given, 29 February is one."""
    if not 1 <= month <= 12 or day < 1:
        return False
    return day <= monthrange(year or 2000, month)[1]


def _with_weekdays(found: list[Date], normalized: Normalized) -> Iterator[Date]:
    """The dates, a weekday joined to the day beside it."""
    at, view = 0, normalized.lined
    while at < len(found):
        here, after = found[at], found[at + 1] if at + 1 < len(found) else None
        gap = view[here.end : after.start] if after else ""
        if after and here.weekday and after.day and not here.day and _WEEKDAY_GAP.fullmatch(gap):
            yield after._replace(start=here.start, weekday=here.weekday)
            at += 2
        elif (
            after
            and here.day
            and not here.weekday
            and after.weekday
            and not after.day
            and gap in (" (", ", ")
        ):
            yield here._replace(end=after.end, weekday=after.weekday)
            at += 2
        else:
            yield here
            at += 1
