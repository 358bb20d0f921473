"""Numbers that are spelled out in English.

Invariant: a numeral is the longest run of number words that reads as one number; vague words (`hundreds`,
`a few`) are none.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from judge.matchers.words import listed, places_of

Amount = int | Fraction

_SMALL = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen",
    "seventeen eighteen nineteen",
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = listed(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth",
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
)
_CARDINAL = dict(zip([*_SMALL, *_TENS], [*range(20), *range(20, 100, 10)], strict=True))
_BIG_ORDINAL = {"hundredth": 100, "thousandth": 1000, "millionth": 10**6}
_SMALL_ORDINAL = dict(
    zip(
        [*_ORDINALS, *(f"{word[:-1]}ieth" for word in _TENS)],
        [*range(1, 20), *range(20, 100, 10)],
        strict=True,
    )
)
_ORDINAL = _SMALL_ORDINAL | _BIG_ORDINAL
SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "lakh": 10**5,
    "crore": 10**7,
}
_SHARE = {"half": 2, "quarter": 4} | {word: n for word, n in _ORDINAL.items() if n > 2}
_SHARES = {"halves": 2} | {f"{word}s": n for word, n in _SHARE.items() if word != "half"}
_STARTS = frozenset({*_CARDINAL, *_ORDINAL, *SCALES, *_SHARE})
# `a third option` and `the first half` are no shares; `a third of it` and `half the price` are.
_AFTER_SHARE = frozenset(
    listed(
        "of the a an as its their our his her that this these those less more fewer higher lower faster",
        "slower smaller larger bigger cheaper longer shorter off to in and or but by from on at for since",
        "per when if than is was are were has have million billion thousand dozen percent",
    )
)
_NO_HALF_AFTER = frozenset(listed("last other better latter next previous top bottom")).union(_ORDINALS)
_MEASURES = frozenset(listed("second minute day week month year decade mile litre liter pint inch ounce"))
_NO_ONE_WITH = frozenset(listed("off on to size sided way time shot stop liner by"))
_NO_ONE_AFTER = frozenset(listed("no this that the which each every any another some"))
_BEFORE = re.compile(r"([a-z]+)[ -]$")
_NEXT = re.compile(r"([ -])([a-z]+)(?![^\W_])")
_NEXT_GROUP = re.compile(r"(, )([a-z]+)(?= hundred\b)")
_GROUPED = frozenset(("thousand", "million", "billion", "trillion"))


class Numeral(NamedTuple):
    """A number in words and its place."""

    start: int
    end: int
    amount: Amount
    ordinal: bool = False


def numerals(view: str) -> Iterator[Numeral]:
    """The numerals of a text in small letters, in order."""
    done = 0
    for start, end in places_of(view, _STARTS):
        if start < done or view[start - 1 : start] == "'":
            continue
        first = view[start:end]
        if first in _ORDINAL and not view.endswith(("a ", "an "), 0, start):
            yield Numeral(start, end, _ORDINAL[first], ordinal=True)
            done = end
            continue
        found = _BEFORE.search(view, max(0, start - 12), start)
        before = found[1] if found else ""
        run = _Run(view, start, end)
        if found and before in ("a", "an") and found.start() >= done:
            run.article, run.start = True, found.start()
        numeral = _half(run, before) if run.first == "half" else _numeral(run, before)
        if numeral is not None:
            yield numeral
            done = numeral.end


class _Run:
    """Words that follow one another, read as far as asked for.

    Only a space or a hyphen is between them, or a comma before hundreds: one thousand, two hundred.
    """

    def __init__(self, view: str, start: int, end: int) -> None:
        self.view, self.start = view, start
        self.first = view[start:end]
        self.article = False
        self._words = [self.first]
        self._gaps = [""]
        self._ends = [end]

    def word(self, at: int) -> str:
        """The word at this place of the run, or nothing where the run is shorter."""
        while len(self._words) <= at:
            found = _NEXT.match(self.view, self._ends[-1]) if self._words[-1] else None
            if found is None and self._words[-1] in _GROUPED:
                found = _NEXT_GROUP.match(self.view, self._ends[-1])
            self._words.append(found[2] if found else "")
            self._gaps.append(found[1] if found else "")
            self._ends.append(found.end() if found else self._ends[-1])
        return self._words[at]

    def hyphen(self, at: int) -> bool:
        """Whether a hyphen joins the word to the one before."""
        return self.word(at) != "" and self._gaps[at] == "-"

    def numeral(self, amount: Amount, at: int, ordinal: bool = False) -> Numeral:
        """The numeral that ends before word `at`, times the scale that follows: half a million."""
        for between in () if ordinal else ((), ("a",), ("of", "a")):
            if all(self.word(at + n) == word for n, word in enumerate(between)):
                scale = SCALES.get(self.word(at + len(between)))
                if scale and (between or amount.denominator > 1):
                    return self.numeral(amount * scale, at + len(between) + 1)
        self.word(at)
        return Numeral(self.start, self._ends[at - 1], amount, ordinal)


def _half(run: _Run, before: str) -> Numeral | None:
    if before in _NO_HALF_AFTER or not (_is_measure(run, 1) or _allows_share(run, 1)):
        return None
    return run.numeral(Fraction(1, 2), 1)


def _is_measure(run: _Run, at: int) -> bool:
    """Whether half of it is an amount: half hour, half-hour, half mile; a half-day is a kind of day."""
    return run.word(at) == "hour" or (run.word(at) in _MEASURES and not run.hyphen(at))


def _numeral(run: _Run, before: str) -> Numeral | None:
    """The numeral that the run begins with."""
    if run.first == "one" and _is_pronoun(run, before):
        return None
    if run.article and run.first in _SHARE and _allows_share(run, 1):
        return run.numeral(Fraction(1, _SHARE[run.first]), 1)
    if run.first in _ORDINAL:
        run.start += len(before) + 1 if run.article else 0
        return run.numeral(_ORDINAL[run.first], 1, ordinal=True)
    if run.first in _CARDINAL:
        run.start += len(before) + 1 if run.article else 0
        whole, at = _whole(run, None)
    elif run.article and run.first in SCALES:
        whole, at = _whole(run, 1)
    else:
        return None
    return _share(run, whole, at) or _ordinal(run, whole, at) or _with_fraction(run, whole, at)


def _is_pronoun(run: _Run, before: str) -> bool:
    if run.hyphen(1) and run.word(1) in _NO_ONE_WITH:
        return True
    return before in _NO_ONE_AFTER or run.word(1) == "another" or run.view.startswith("'", run.start + 3)


def _whole(run: _Run, group: int | None) -> tuple[int, int]:
    """The whole number that the run begins with (after an article, `group` is 1), and the word after it."""
    total, lowest, at = 0, 10**15, 0
    while True:
        here = at + 1 if run.word(at) == "and" and group != 1 and (total or (group or 0) >= 100) else at
        value, scale = _CARDINAL.get(run.word(here)), SCALES.get(run.word(here))
        if value is not None and here == at + 1 and group is not None and group % 100:
            break
        if value is not None and group is None:
            group = value
        elif value is not None and group and _goes_on(group, value):
            group += value
        elif value is not None and group and 10 <= group < 100 and value >= 10:  # nineteen ninety
            group = group * 100 + value
        elif scale == 100 and group and group < 100 and here == at:
            group *= 100
        elif scale and scale != 100 and group and scale < lowest and here == at:
            total, lowest, group = total + group * scale, scale, None
        else:
            break
        at = here + 1
    return total + (group or 0), at


def _goes_on(group: int, value: int) -> bool:
    """Whether a number goes on with a smaller one: twenty-one, one hundred five."""
    return group % 100 == 0 or (group % 100 >= 20 and group % 10 == 0 and 0 < value < 10)


def _share(run: _Run, whole: int, at: int) -> Numeral | None:
    """Two thirds, one-fifth, three quarters of."""
    part = run.word(at)
    if whole > 1 and part in _SHARES and (part != "quarters" or _allows_share(run, at + 1)):
        return run.numeral(Fraction(whole, _SHARES[part]), at + 1)
    if whole == 1 and not run.article and part in _SHARE and (run.hyphen(at) or _allows_share(run, at + 1)):
        return run.numeral(Fraction(1, _SHARE[part]), at + 1)
    return None


def _allows_share(run: _Run, at: int) -> bool:
    """Whether a share may end before this word."""
    return run.word(at) == "" or (run.word(at) in _AFTER_SHARE and not run.hyphen(at))


def _ordinal(run: _Run, whole: int, at: int) -> Numeral | None:
    """Twenty-first, one hundred and fifth; not twenty second delays."""
    here = at + 1 if run.word(at) == "and" and whole % 100 == 0 else at
    place = _SMALL_ORDINAL.get(run.word(here))
    if place is None or run.article or not whole or (run.word(here) == "second" and not run.hyphen(here)):
        return None
    fits = whole % 100 == 0 or (whole % 100 >= 20 and whole % 10 == 0 and place < 10)
    return run.numeral(whole + place, here + 1, ordinal=True) if fits else None


def _with_fraction(run: _Run, whole: int, at: int) -> Numeral:
    """Adds `point five` or `and a half`."""
    if run.word(at) == "point":
        stop = at + 1
        while _CARDINAL.get(run.word(stop), 10) < 10:
            stop += 1
        decimals = "".join(str(_CARDINAL[run.word(n)]) for n in range(at + 1, stop))
        if decimals:
            return run.numeral(whole + Fraction(int(decimals), 10 ** len(decimals)), stop)
    if run.word(at) == "and":
        count = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}.get(run.word(at + 1), 0)
        part = _SHARES.get(run.word(at + 2)) or {"half": 2, "quarter": 4, "third": 3}.get(run.word(at + 2))
        if count and part:
            return run.numeral(whole + Fraction(count, part), at + 3)
    return run.numeral(whole, at)
