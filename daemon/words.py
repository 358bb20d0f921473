"""The words of a text, and when two of them are the same.

Invariant: pure; a word never ends within a character as people see it, so combining marks stay with the
letter that they belong to.
"""

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import regex

_WORD = regex.compile(r"\w+|[\p{Sc}%‰]")
_VALUE = regex.compile(
    r"""(?i:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-\w+
    | \w+ (?: (?: \. | (?<=\d)[,:/-](?=\d) ) \w+ )*
    | [\p{Sc}%‰]""",
    regex.VERBOSE,
)
STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be been by for from has have in is it its of on or that the their these they "
        "this those to was were which will with"
    )
)
"""Words that state no fact by themselves. Negations are not among them."""


class Word(NamedTuple):
    """A word as it is spelled, composed, and its place in the text in characters, end exclusive."""

    text: str
    start: int
    stop: int

    @property
    def key(self) -> str:
        """Equal for words that differ in case alone."""
        return self.text.casefold()


def words(text: str) -> list[Word]:
    """The runs of letters, digits and their marks; a sign of currency or per cent is a word too."""
    return list(_found(_WORD, text))


def values(text: str) -> list[Word]:
    """Words, but `3.10`, `1,428`, `10:30`, `2026-03-05`, `twenty-five` and `app.run` are one each."""
    return list(_found(_VALUE, text))


def _found(pattern: "regex.Pattern[str]", text: str) -> Iterator[Word]:
    for match in pattern.finditer(text):
        yield Word(unicodedata.normalize("NFC", match.group()), match.start(), match.end())
