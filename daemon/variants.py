"""Other spellings of a value, so that a stale `twelve` is known where the source said `12`.

Invariant: pure; every variant is the key of one of `daemon.words`, so a value of several words comes out as
its parts. English only, and generous: a variant too many makes one more word be held exactly.
"""

import re
from collections.abc import Iterator

_WORD = re.compile(r"[a-z]+")
_ONES = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_ORDINAL_ONES = _WORD.findall(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_TENS = _WORD.findall("twenty thirty forty fifty sixty seventy eighty ninety")
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_TEN_OF = {word: 10 * number for number, word in enumerate(_TENS, start=2)}
_ONE_OF = {word: number for names in (_ONES, _ORDINAL_ONES) for number, word in enumerate(names)}
_NUMBER_OF = _TEN_OF | {word[:-1] + "ieth": number for word, number in _TEN_OF.items()} | _ONE_OF | _LARGE

_MONTHS = _WORD.findall(
    "january february march april may june july august september october november december"
)
_DAYS = _WORD.findall("monday tuesday wednesday thursday friday saturday sunday")
_LONG = {name[:3]: name for name in _MONTHS + _DAYS}
_LONG |= {"sept": "september", "tues": "tuesday", "thur": "thursday", "thurs": "thursday"}
_UNITS = [{"%", "percent"}, {"$", "dollar", "usd"}, {"€", "euro", "eur"}, {"£", "pound", "gbp"}]
_NUMERAL = re.compile(r"(\d{1,3}(?:[,.]\d{3})+|\d{1,18})(?:st|nd|rd|th)?", re.ASCII)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}", re.ASCII)


def variants(value: str) -> frozenset[str]:
    """The keys that spell the value another way. `value` is a key, or two such as `twenty-five`."""
    forms = {value, *_of_number(value), *_of_calendar(value)}
    forms.update(*(unit for unit in _UNITS if forms & {word for name in unit for word in _inflected(name)}))
    return frozenset(word for form in forms for word in _inflected(form)) - {value}


def _of_number(value: str) -> Iterator[str]:
    number = _number(value)
    if number is None:
        return
    yield from (str(number), f"{number:02}", f"{number:,}", f"{number:,}".replace(",", "."))
    yield from f"{number:,}".split(",")
    yield from (f"{number}{suffix}" for suffix in ("st", "nd", "rd", "th"))
    tens, ones = number - number % 10, number % 10
    parts = {number} if number < 20 or ones == 0 else {tens, ones}
    if number < 100 or number in _LARGE.values():
        yield from (word for word, of in _NUMBER_OF.items() if of in parts)


def _number(value: str) -> int | None:
    """What a numeral, an ordinal or a number word says."""
    if match := _NUMERAL.fullmatch(value):
        return int(re.sub("[,.]", "", match[1]))
    tens, hyphen, ones = value.partition("-")
    if hyphen and tens in _TEN_OF and ones in _ONE_OF:
        return _TEN_OF[tens] + _ONE_OF[ones]
    return _NUMBER_OF.get(value)


def _of_calendar(value: str) -> Iterator[str]:
    """Long and short names of months and days; the month in a date of numbers, by name, and back."""
    name = _LONG.get(value, value)
    if name in _MONTHS:
        yield f"{_MONTHS.index(name) + 1:02}"
    names = [name] if name in _LONG.values() else []
    if date := _DATE.fullmatch(value):
        numbers = [int(part) for part in value.split(date[1])]
        names = [_MONTHS[number - 1] for number in numbers if 1 <= number <= 12]
    for name in names:
        yield name
        yield from (short for short, long in _LONG.items() if long == name)


def _inflected(word: str) -> Iterator[str]:
    """The word and, of a noun, its other number."""
    yield word
    if word.isalpha() and len(word) > 2:
        yield from (word + "s", word + "es")
        if word.endswith("y"):
            yield word[:-1] + "ies"
        if word.endswith("ies"):
            yield word[:-3] + "y"
        if word.endswith("s"):
            yield word[:-1]
        if word.endswith("es"):
            yield word[:-2]
