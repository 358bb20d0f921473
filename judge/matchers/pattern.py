"""Where a text matches a regular expression.

Invariant: a search ends, by itself or by its time limit, and a pattern that cannot be used says why.
"""

from collections.abc import Iterator
from functools import lru_cache

import regex

from judge.errors import FactError
from judge.normalize import Range

LIMIT_S = 1.0


@lru_cache(maxsize=1024)
def compile_pattern(value: str) -> "regex.Pattern[str]":
    """The compiled pattern; raises `FactError` where it is none or matches where there is nothing."""
    try:
        pattern = regex.compile(value)
    except (regex.error, OverflowError, RecursionError) as error:
        raise FactError(f"{value!r} is not a regular expression: {error}") from None
    if pattern.search("", timeout=LIMIT_S):
        raise FactError(f"pattern {value!r} matches the empty text, so it matches everywhere")
    return pattern


def find_pattern(value: str, text: str) -> Iterator[Range]:
    """Where the text, as it is written, matches; raises `FactError` where that takes too long."""
    pattern = compile_pattern(value)
    try:
        for found in pattern.finditer(text, timeout=LIMIT_S):
            if found.start() < found.end():
                yield found.span()
    except TimeoutError:
        raise FactError(f"pattern {value!r} takes more than {LIMIT_S:g} s on this text") from None
