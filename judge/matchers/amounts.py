"""Amounts written in digits.

Invariant: amounts are exact, and digits that are written as no amount is (1.2.3, 15:30, 007) are none.
"""

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction

from judge.matchers.numerals import Amount
from judge.normalize import Normalized, Range

_DIGITS = re.compile(r"\d(?:\d{0,2}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d*(?:[.,:/'_⁄]\d+)*)")
# How amounts are written in digits, each with the characters that only part its digits.
_WRITTEN = (
    (re.compile(r"\d*\.\d+"), ""),
    (re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"), ","),
    (re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?"), ","),
    (re.compile(r"\d{1,3}(?:['_ ]\d{3})+(?:\.\d+)?"), "'_ "),
    (re.compile(r"\d{1,3}(?:['. ]\d{3})+,\d+"), "'. "),
    (re.compile(r"\d{1,3}(?:\.\d{3}){2}"), "."),
    (re.compile(r"\d+,\d{1,2}"), ""),
)
_LONGEST = 60
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_SIMPLE_SHARE = re.compile(r"(\d+)[/⁄](\d+)")
_NO_CENTS = re.compile(r"[.,]-+(?![\w-])")
_POWER_OF_TEN = re.compile(r"\^(-?\d{1,3})(?!\w)|([\ue010-\ue019]+)(?!\w)")
_POWER = re.compile(r"e([+-]?\d{1,3})(?!\w)| ?[x×*·] ?10(?:\^(-?\d{1,3})|([\ue010-\ue019]+))(?!\w)")
_MIXED = re.compile(rf" (\d+[/⁄]\d+)(?![\w/])| ?([{_VULGAR}])\ue001+")
_AND_HALF = re.compile(r" and (?:a (half|quarter|third)|(three) quarters)\b")
_MAY_EXTEND = frozenset(f" ex×*·^.,{_VULGAR}").union(map(chr, range(0xE010, 0xE01A)))
_MAY_EXTEND_AFTER_SPACE = frozenset(f"ax×*·0123456789{_VULGAR}")
_HALVES = {
    "half": Fraction(1, 2),
    "quarter": Fraction(1, 4),
    "third": Fraction(1, 3),
    "three": Fraction(3, 4),
}
_SHARE = re.compile(rf"(?<!\d)(?<!\d )([{_VULGAR}])\ue001+")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_UNLIKE_DIGITS = re.compile(f"[{_SUPERSCRIPTS}₀-₉¼-¾⅐-⅟①-⒛⓪-⓿❶-➓]")


def plain_digits(normalized: Normalized) -> str:
    """The normalised text, with digits that are no plain digits in the original told from those that are.

    As long as the normalised text; `⅔` stays with fillers after it, and raised digits are private characters.
    """
    view = normalized.lined
    if normalized.source.isascii():
        return view
    for mark in _UNLIKE_DIGITS.finditer(normalized.source):
        char, place = mark[0], normalized.position(mark.start())
        raised = char in _SUPERSCRIPTS
        if raised and view[place - 1 : place].isalpha():
            continue  # m²
        size = 1
        while normalized.splits_original(place + size):
            size += 1
        whole = "\ue002" if unicodedata.numeric(char) >= 1 else char
        shown = chr(0xE010 + _SUPERSCRIPTS.index(char)) if raised else whole
        view = view[:place] + shown + "\ue001" * (size - 1) + view[place + size :]
    return view.replace("٫", ".").replace("٬", ",")


def runs(view: str) -> Iterator[Range]:
    """Where digits stand, with what may separate them, in order but for vulgar fractions, which come last."""
    for digits in _DIGITS.finditer(view):
        start, end = digits.span()
        if view[start - 1 : start] == "." and not re.match(r"[\w.)\]]", view[start - 2 : start - 1]):
            start -= 1
        yield start, end
    if "\ue001" in view:
        for share in _SHARE.finditer(view):
            yield share.span()


def amount_of(written: str) -> Amount | None:
    """The amount that a run of digits says, None if it says something else."""
    if written.isdecimal() and len(written) <= _LONGEST:
        return None if written[0] in "0٠" and len(written) > 1 else int(written)
    if written[0] in _VULGAR:
        return _vulgar(written[0])
    if len(written) > _LONGEST or (written[0] in "0٠" and written[1:2].isdecimal()):
        return None
    for pattern, separators in _WRITTEN:
        if pattern.fullmatch(written):
            for separator in separators:
                written = written.replace(separator, "")
            whole, _, decimals = written.replace(",", ".").partition(".")
            return Fraction(int(whole + decimals), 10 ** len(decimals)) if decimals else int(whole)
    share = _SIMPLE_SHARE.fullmatch(written)
    return Fraction(int(share[1]), int(share[2])) if share and int(share[2]) else None


def extended(view: str, amount: Amount, end: int) -> tuple[Amount, int]:
    """Adds what goes on in digits: `1 1/2`, `2½`, `2 and a half`, `1e6`, `3 x 10^6`, `10^6`, `14.-`."""
    following = view[end : end + 2]
    if following[:1] not in _MAY_EXTEND or (
        following[:1] == " " and following[1:] not in _MAY_EXTEND_AFTER_SPACE
    ):
        return amount, end
    if half := _AND_HALF.match(view, end):
        return amount + _HALVES[half[1] or half[2]], half.end()
    if amount.denominator == 1 and (mixed := _MIXED.match(view, end)):
        share = _vulgar(mixed[2]) if mixed[2] else amount_of(mixed[1])
        if share is not None and share < 1:
            return amount + share, mixed.end()
    if power := _POWER.match(view, end):
        return amount * Fraction(10) ** int(power[1] or power[2] or _raised(power[3])), power.end()
    if amount == 10 and (power := _POWER_OF_TEN.match(view, end)):
        return Fraction(10) ** int(power[1] or _raised(power[2])), power.end()
    no_cents = _NO_CENTS.match(view, end)
    return amount, no_cents.end() if no_cents else end


def _raised(digits: str) -> str:
    return "".join(str(ord(char) - 0xE010) for char in digits[:3])


def _vulgar(char: str) -> Fraction:
    return Fraction(unicodedata.numeric(char)).limit_denominator(10)
