"""Where a text states a number.

Invariant: a number is compared as an exact amount, in its unit where the wanted one has a unit; a share (`%`)
is another number than the one before the sign.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from judge.matchers.quantities import quantities
from judge.matchers.ranges import Quantity
from judge.matchers.units import SHARE
from judge.normalize import Range, normalize

_REST = re.compile(r"[ -]?[^\W\d][^\d]*|/[^\W\d][^\d]*")


@dataclass(frozen=True, slots=True)
class Number:
    """A wanted quantity, and the word that must follow it where that is no unit known here."""

    quantity: Quantity
    word: str = ""


@lru_cache(maxsize=4096)
def parse_number(value: str) -> Number | None:
    """The one number that the value is, `40 %`, `a tenth`, `610 ms` or `8 workers`; None if it is none."""
    value = value.strip()
    found = quantities(value)
    if len(found) != 1 or found[0].start:
        return None
    rest = normalize(value).text[found[0].end :]
    if rest and (found[0].ordinal or not _REST.fullmatch(rest)):
        return None
    return Number(found[0], _plain_word(rest))


def find_number(wanted: Number, text: str, fraction: bool = False) -> Iterator[Range]:
    """Where the text states the number; with `fraction`, 40%, 0.4 and two fifths are one."""
    normalized = normalize(text)
    for found in quantities(text):
        if _equal(wanted.quantity, found, fraction):
            end = found.end
            if wanted.word:
                follows = _plain_word(normalized.text[end : end + len(wanted.word) + 12])
                if not re.match(rf"{re.escape(wanted.word)}(?:e?s)?(?!\w)", follows):
                    continue
            yield normalized.original(found.start, end)
    for part, whole in pairwise(quantities(text)) if fraction else ():
        gap = normalized.text[part.end : whole.start]
        if gap in (" out of ", " in ") and whole.low and not (part.ordinal or whole.ordinal):
            share = Fraction(part.low) / whole.low
            if _is_plain(wanted.quantity) and _share(wanted.quantity) == (share, share):
                yield normalized.original(part.start, whole.end)


def _plain_word(text: str) -> str:
    """A word after a number, without what joins it and its plural: per for a slash."""
    word = text.replace("/", " per ").strip(" -").replace("  ", " ")
    return re.sub(r"(?<=\w\w)s$", "", word)


def _equal(wanted: Quantity, found: Quantity, fraction: bool) -> bool:
    if wanted.ordinal != found.ordinal:
        return False
    if fraction:
        return _share(wanted) == _share(found) and _is_plain(wanted) and _is_plain(found)
    if not wanted.units:
        return (wanted.low, wanted.high) == (found.low, found.high) and not _is_share(found)
    return any(
        unit.dimension == other.dimension
        and unit.base(wanted.low) == other.base(found.low)
        and unit.base(wanted.high) == other.base(found.high)
        for unit in wanted.units
        for other in found.units
    )


def _is_share(quantity: Quantity) -> bool:
    return any(unit.dimension == SHARE for unit in quantity.units)


def _is_plain(quantity: Quantity) -> bool:
    return not quantity.units or _is_share(quantity)


def _share(quantity: Quantity) -> tuple[Fraction, Fraction]:
    factor = next((unit.factor for unit in quantity.units if unit.dimension == SHARE), Fraction(1))
    return quantity.low * factor, quantity.high * factor
