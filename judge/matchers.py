"""Where a text states a value.

Invariant: a matcher yields ranges of the original text (code points, end exclusive), first to last, and
never a range that cuts a word, a number or an original character in two.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from judge.normalize import Normalized, normalize

Range = tuple[int, int]
Matcher = Callable[[str, str], Iterator[Range]]

# Scripts that write words without spaces between them, or with particles attached, by Unicode name.
_SPACELESS = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "BOPOMOFO", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
# An apostrophe that only leans a clitic on a word: Ava's, she'll, l'eau. The one of can't is not among them.
_CLITIC = re.compile(r"'(?=(?:s|d|m|ll|re|ve)\b)|(?<=\b[cdjlmnst])'|(?<=\bqu)'")
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
    wanted, wanted_inner = _cut(value.strip())
    searched, inner = _cut(text)
    size = len(wanted.text)
    start = searched.text.find(wanted.text) if size else -1
    while start >= 0:
        end = start + size
        same_tokens = inner[start : end + 1] == wanted_inner
        if same_tokens and not searched.splits_original(start) and not searched.splits_original(end):
            yield searched.starts[start], searched.ends[end - 1]
        start = searched.text.find(wanted.text, start + 1)


MATCHERS: Mapping[str, Matcher] = {"text": find_text}


@lru_cache(maxsize=1024)
def _cut(text: str) -> tuple[Normalized, bytes]:
    """The normalised text, and for each of its positions, end included, whether a token spans it (0, 1)."""
    normalized = normalize(text)
    inner = bytearray(len(normalized.text) + 1)
    for token in _TOKEN.finditer(_shape(normalized)):
        start, end = token.span()
        inner[start + 1 : end] = b"\1" * (end - start - 1)
    return normalized, bytes(inner)


def _shape(normalized: Normalized) -> str:
    """The text with each character replaced by its kind, for `_TOKEN` to cut."""
    chars = _CLITIC.sub('"', normalized.text)
    return "".join(
        _kind(char, normalized.source[start:end])
        for char, start, end in zip(chars, normalized.starts, normalized.ends, strict=True)
    )


@lru_cache(maxsize=4096)
def _kind(char: str, original: str) -> str:
    if char == " ":
        return " " if len(original) == 1 and unicodedata.category(original) == "Zs" else "\n"
    if original in "™℠":
        return "™"
    if char.isnumeric():
        return "n"
    if char.isalpha() or unicodedata.category(char).startswith("M"):
        name = unicodedata.name(char, "")
        return "k" if name.startswith("KATAKANA") else "h" if name.startswith(_SPACELESS) else "l"
    if unicodedata.category(char) == "Sc":
        return "$"
    return {"٫": ".", "٬": ",", "⁄": "/"}.get(char, char)
