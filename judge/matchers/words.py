"""The words of a text, so that a search for many of them need not read it again and again.

Invariant: words are runs of small ASCII letters of the normalised text, so every English word is among them.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=1024)
def words_of(view: str) -> frozenset[str]:
    """The different words of a text in small letters."""
    return frozenset(words_in(view))


def words_in(passage: str) -> list[str]:
    """The words of a passage, in order."""
    return _WORD.findall(passage)


def places_of(view: str, wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    """Where the text has any of the wanted words by itself, in order."""
    found = [place for word in words_of(view).intersection(wanted) for place in _places(view, word)]
    yield from sorted(found)


def _places(view: str, word: str) -> Iterator[tuple[int, int]]:
    start = view.find(word)
    while start >= 0:
        end = start + len(word)
        if not _is_inner(view[start - 1 : start]) and not _is_inner(view[end : end + 1]):
            yield start, end
        start = view.find(word, end)


def _is_inner(char: str) -> bool:
    return char.isalnum() or char == "_"


def listed(*lists: str) -> list[str]:
    """The words of lists in strings, `_` for a space within one."""
    return [word.replace("_", " ") for words in lists for word in words.split()]


def one_of(*lists: str) -> str:
    """The pattern of any word of such lists."""
    return f"(?:{'|'.join(listed(*lists))})"


def forms(stems: str) -> frozenset[str]:
    """The forms of English words, given what they begin with: `chang` for change, changes, changing."""
    endings = listed("e s es ed ing ly ies ied y ying")
    return frozenset(stem + ending for stem in listed(stems) for ending in ["", *endings])
