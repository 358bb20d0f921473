"""Quantities that stand side by side and are one: the two ends of a range, the parts of a time.

Invariant: no amount is lost or invented; what is joined keeps the place of all its parts.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from judge.matchers.numerals import Amount
from judge.matchers.quotation import moves
from judge.matchers.units import TIME, Unit, units_named

_BOUNDS = frozenset(("-", " - ", " to ", " through ", " and "))
_LONGEST_GAP = max(map(len, _BOUNDS))
_METRE, _MINUTE = Unit("length"), units_named("min")[0]


class Quantity(NamedTuple):
    """An amount, or a range of them, with what its unit may mean; its place in the normalised text."""

    start: int
    end: int
    low: Amount
    high: Amount
    units: tuple[Unit, ...] = ()
    ordinal: bool = False
    scale: int = 1


def compounds(found: Sequence[Quantity], view: str) -> list[Quantity]:
    """Adds up what is one time: 2 hours and 30 minutes, 1h 5m 3s."""
    joined: list[Quantity] = []
    for quantity in found:
        before = joined[-1] if joined else None
        if before and before.units and before.units[0].dimension == TIME and quantity.units:
            large, small = before.units[0], quantity.units[0]
            if small == _METRE and large.factor == 3600:
                small = _MINUTE
            gap = _gap(before, quantity, view)
            fits = small.dimension == TIME and small.factor < large.factor
            if fits and gap in ("", " ", ", ", " and ", ", and ") and small.base(quantity.low) < large.factor:
                total = small.base(quantity.low) / large.factor
                joined[-1] = before._replace(
                    end=quantity.end, low=before.low + total, high=before.high + total
                )
                continue
        joined.append(quantity)
    return joined


def ranges(found: Sequence[Quantity], view: str) -> Iterator[Quantity]:
    """Joins the two ends of a range; amounts in a chain of three or more are a code."""
    gaps = [*(_gap(before, after, view) for before, after in pairwise(found)), ""]
    at = 0
    while at < len(found):
        chain = 1
        while gaps[at + chain - 1] == "-":
            chain += 1
        if chain > 2:
            at += chain
            continue
        ends = _range(found[at], found[at + 1], gaps[at], view) if gaps[at] in _BOUNDS else None
        yield ends or found[at]
        at += 2 if ends else 1


def _gap(before: Quantity, after: Quantity, view: str) -> str:
    """What stands between two quantities, if it is short."""
    return view[before.end : after.start] if after.start - before.end <= _LONGEST_GAP else "..."


def _range(low: Quantity, high: Quantity, gap: str, view: str) -> Quantity | None:
    if low.ordinal or high.ordinal:
        return None
    before = view[max(0, low.start - 80) : low.start]
    if (gap == " and " and not before.endswith("between ")) or ("-" not in gap and moves(before)):
        return None
    if low.units and not high.units and "-" not in gap:
        return None
    units = high.units or low.units
    if (
        low.units
        and high.units
        and {u.dimension for u in low.units}.isdisjoint(u.dimension for u in high.units)
    ):
        return None
    if low.units and high.units and low.units != high.units:  # 500 ms to 2 s: as what the first is counted in
        amount = high.units[0].base(high.low) / low.units[0].factor - low.units[0].offset
        return low._replace(end=high.end, high=amount)
    scale = high.scale if low.scale == 1 and not low.units and low.low < high.scale else 1
    if low.low * scale > high.low and "-" not in gap:
        return None  # from 120 to 95 ms: a change
    return Quantity(low.start, high.end, low.low * scale, high.low, units)
