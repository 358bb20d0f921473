"""Where a text has a value in its own words.

Invariant: a place is a range of the original text (code points, end exclusive) that never cuts a word, a
number or an original character in two; places come first to last.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase

from judge.normalize import Normalized, Range, normalize

# Scripts that write words without spaces between them, or with particles attached, by Unicode name.
_SPACELESS = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "BOPOMOFO", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
# An apostrophe that only leans a clitic on a word: Ava's, she'll, l'eau. The one of can't is not among them.
_CLITIC = re.compile(r"'(?=(?:s|d|m|ll|re|ve)\b)|(?<=\b[cdjlmnst])'|(?<=\bqu)'")
_LONGEST = 200  # no token is longer, so what stands further away says nothing of a place
_STOPS = frozenset(".,;:!?)")
_GAPS = frozenset(' \n"')  # no token has one, but for the space before a group of three digits
_LETTERS = frozenset(ascii_lowercase)
_TRADE_MARKS = ("™", "℠")  # normalised, they are letters
_TRADE_MARK = re.compile("[™℠]")
# Tokens of a shape as `_shape` draws it: l letter, n digit, k katakana, h other spaceless letter.
_TOKEN = re.compile(
    r"""
      k+
    | (?: (?<![lnkh)\]%$°-]) - (?=\$?\.?n) \$? )?  # a minus sign, not the dash of F-15 or 10%-15%
      (?: (?<![lnkh.)]) \. (?=n) )?                # .15
      (?: n{1,3} (?:\ nnn)+ (?!n) [ln]*            # 1 500
        | n+ (?:-n+){2,} [ln]*                     # 2026-03-15
        | [ln]+ )
      (?: (?<=n)[.,:/](?=n) [ln]+                  # 15.0  1,500  15:30  15/16
        | ' [ln]+                                  # can't  1'500
        | _+ [ln]+ )*                              # snake_case
    """,
    re.VERBOSE,
)


def find_text(value: str, text: str) -> Iterator[Range]:
    """Where the text has the value as whole words and numbers, both normalised.

    A word is a run of letters, digits and inner underscores: `Ava` is not in `available`, `AvaBot` or
    `Ava_2`, nor `15` in `v15`, `15th` or `15ms`. Hyphens, dots and slashes part words (`Ava-led`,
    `requests.get`), and so does the apostrophe of `Ava's` or `l'eau`, but not that of `can't` or `O'Neil`.
    A number goes on over `.` `,` `'` `:` `/` between two digits, over a single space before groups of three
    digits and over the hyphens of three or more groups, and a minus or leading point is part of it: `15`
    is not in `15.0`, `1,500`, `15 000`, `15:30`, `15/16`, `2026-03-15`, `-15`, `-$15` or `.15`. It ends at
    anything else: `15` is in `15.`, `(15)`, `$15`, `15%`, `15-year` and, as one end of a range, `10-15`.
    In scripts without spaces only numerals (`十` in `二十`, `15` in `15万`) and runs of katakana hold
    together.
    """
    wanted, wanted_lined, wanted_inner = _value(value.strip())
    searched = normalize(text)
    size = len(wanted)
    start = searched.text.find(wanted) if size else -1
    while start >= 0:
        end = start + size
        apart = _stands_apart(searched.lined, start, end, wanted_lined)
        if (
            apart or (not _is_cut(searched, start, end) and _inner(searched, start, end) == wanted_inner)
        ) and (place := searched.original_of(start, end)):
            yield place
        start = searched.text.find(wanted, start + 1)


@lru_cache(maxsize=4096)
def _value(value: str) -> tuple[str, str, bytes]:
    normalized = normalize(value)
    return normalized.text, normalized.lined, _inner(normalized, 0, len(normalized.text))


def _stands_apart(lined: str, start: int, end: int, wanted: str) -> bool:
    """Whether gaps part the very characters of the value from all others: a quick yes in most cases."""
    before, after = lined[max(0, start - 2) : start], lined[end : end + 2]
    if after[:1] in _STOPS:
        after = after[1:]
    gaps = (before == "" or before[-1] in _GAPS) and (after == "" or after[0] in _GAPS)
    return (
        gaps
        and not before[:1].isnumeric()
        and not lined[end + 1 : end + 2].isnumeric()
        and lined[start:end] == wanted
    )


def _is_cut(normalized: Normalized, start: int, end: int) -> bool:
    """Whether the place begins or ends within a word of small letters: a quick no to it in most cases."""
    lined = normalized.lined
    begins = start > 0 and lined[start - 1] in _LETTERS and lined[start] in _LETTERS
    ends = end < len(lined) and lined[end - 1] in _LETTERS and lined[end] in _LETTERS
    return (begins or ends) and not any(mark in normalized.source for mark in _TRADE_MARKS)


def _inner(normalized: Normalized, start: int, end: int) -> bytes:
    """For each position from start to end, both included, whether a token spans it (0, 1)."""
    left, right = start, end
    first, last = max(0, start - _LONGEST), min(end + _LONGEST, len(normalized.lined))
    while left > first and _may_be_inner(normalized.lined, left - 1):
        left -= 1
    while right < last and _may_be_inner(normalized.lined, right):
        right += 1
    inner = bytearray(right + 1 - left)
    for token in _TOKEN.finditer(_shape(normalized, left, right)):
        first, last = token.span()
        inner[first + 1 : last] = b"\1" * (last - first - 1)
    return bytes(inner[start - left : end + 1 - left])


def _may_be_inner(lined: str, position: int) -> bool:
    """Whether a token may hold this character: no gap, but a single space before a group of three digits."""
    char = lined[position]
    if char not in " \n":
        return True
    group = lined[position + 1 : position + 5]
    is_group = group[:3].isnumeric() and len(group) > 2 and not group[3:].isnumeric()
    return char == " " and is_group and lined[position - 1 : position].isnumeric()


def _shape(normalized: Normalized, left: int, right: int) -> str:
    """The text from left to right, with each character replaced by its kind, for `_TOKEN` to cut."""
    chars = normalized.lined[left:right]
    if "'" in chars:
        chars = _CLITIC.sub('"', chars)
    shape = chars.translate(_KINDS)
    for mark in _TRADE_MARK.finditer(normalized.source) if "tm" in chars or "sm" in chars else ():
        place = normalized.position(mark.start()) - left
        if 0 <= place < len(shape):
            shape = f"{shape[:place]}™™{shape[place + 2 :]}"
    return shape


class _Kinds(dict[int, str]):
    """Each character's kind, worked out when it is first met."""

    def __missing__(self, key: int) -> str:
        kind = self[key] = _kind(chr(key))
        return kind


def _kind(char: str) -> str:
    if char.isnumeric():
        return "n"
    if char.isalpha() or unicodedata.category(char).startswith("M"):
        name = unicodedata.name(char, "")
        return "k" if name.startswith("KATAKANA") else "h" if name.startswith(_SPACELESS) else "l"
    if unicodedata.category(char) == "Sc":
        return "$"
    return {"٫": ".", "٬": ",", "⁄": "/"}.get(char, char)


_KINDS = _Kinds()
