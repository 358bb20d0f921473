"""Which units flip in which arm. Pure.

Invariant: only units with flips have a row, and every flip of theirs is counted in it once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from replay.arms import PLAIN
from replay.summary import FlipSummary, Summary

Kind = Literal["regression", "drift", "gain", "same"]
KINDS: Mapping[Kind, str] = {
    "regression": "facts lost",
    "drift": "facts lost, as in the control",
    "gain": "facts gained",
    "same": "as in plain",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One unit: what its flips are in each arm but plain, with their number, and where they are shown."""

    unit_id: str
    category: str
    href: str
    cells: tuple[tuple[tuple[Kind, int], ...], ...]


def kind_of(flip: FlipSummary) -> Kind:
    """What a flip is; what the control itself loses is drift."""
    if flip.regression:
        return "regression"
    return "drift" if flip.before == "pass" else "gain"


def rows(summary: Summary, shown: int, details: str) -> list[Row]:
    """In the order of the flips. The first `shown` comparisons are on the page, the others in `details`."""
    arms = [arm for arm in summary.arms if arm != PLAIN]
    first: dict[str, tuple[int, str]] = {}
    counts: dict[tuple[str, str], Counter[Kind]] = {}
    for place, comparison in enumerate(summary.comparisons):
        first.setdefault(comparison.unit_id, (place, comparison.category))
        kinds = counts.setdefault((comparison.unit_id, comparison.arm), Counter())
        kinds.update(kind_of(flip) for flip in comparison.flips)
    return [
        Row(
            unit_id=unit_id,
            category=category,
            href=f"{'' if place < shown else details}#flip-{place}",
            cells=tuple(_cell(counts.get((unit_id, arm))) for arm in arms),
        )
        for unit_id, (place, category) in first.items()
    ]


def _cell(counts: Counter[Kind] | None) -> tuple[tuple[Kind, int], ...]:
    order: Sequence[Kind] = ("regression", "drift", "gain")
    return tuple((kind, counts[kind]) for kind in order if counts[kind]) if counts else (("same", 0),)
