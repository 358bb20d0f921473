"""The words of a text, so that a search for many of them need not read it again and again.

Invariant: words are runs of small ASCII letters of the normalised text, so every English word is among them.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache
from string import ascii_lowercase

_LETTERS = frozenset(ascii_lowercase)
_TO_SPACES = bytes(code if chr(code) in _LETTERS else ord(" ") for code in range(256))


@lru_cache(maxsize=1024)
def words_of(view: str) -> frozenset[str]:
    """The different words of a text in small letters."""
    return frozenset(view.encode("ascii", "replace").translate(_TO_SPACES).decode().split())


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


def runs_of(view: str, word: str) -> Iterator[int]:
    """Where the text has a word of small ASCII letters, with no other such letter beside it."""
    start = view.find(word)
    while start >= 0:
        end = start + len(word)
        if view[start - 1 : start] not in _LETTERS and view[end : end + 1] not in _LETTERS:
            yield start
        start = view.find(word, end)


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
