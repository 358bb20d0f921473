"""What a page shows of a run that may be too large for one. Pure.

Invariant: a page of details shows everything; a report that has one shows the first flips, in their order,
and the most telling units, within bounds that do not grow with the run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.report.files import size
from replay.report.marks import Piece, differing, pieces, shortened
from replay.summary import Comparison, Summary, UnitSummary

MOST_BYTES = 2_000_000
"""Of texts in one page; with more, there is a page of details."""
MOST_UNITS = 300
"""Of units in a report's table; with more, all of them are in the details."""
EXCERPT = 4_000
"""Characters of a text in a report that has details."""
_SHOWN_BYTES, _MOST_FLIPS = 400_000, 100


@dataclass(frozen=True, slots=True)
class ShownFlip:
    """A comparison as it is shown: under which anchor, with which texts marked."""

    anchor: str
    comparison: Comparison
    regression: bool
    plain: Sequence[Piece]
    other: Sequence[Piece]


def needs_details(summary: Summary) -> bool:
    """Whether there is more than one page should hold."""
    used = sum(size(text) for found in summary.comparisons for text in _texts(found))
    return len(summary.unit_results) > MOST_UNITS or used > MOST_BYTES


def shown_flips(comparisons: Iterable[Comparison], most: int | None = None) -> list[ShownFlip]:
    """Marked texts, of at most so many characters each."""
    found = []
    for place, comparison in enumerate(comparisons):
        plain, other = side_by_side(comparison)
        found.append(
            ShownFlip(
                anchor=f"flip-{place}",
                comparison=comparison,
                regression=any(flip.regression for flip in comparison.flips),
                plain=plain if most is None else shortened(plain, most),
                other=other if most is None else shortened(other, most),
            )
        )
    return found


def side_by_side(comparison: Comparison) -> tuple[list[Piece], list[Piece]]:
    """Plain generation's text and the arm's, with what differs, the evidence and what was held marked."""
    plain, other = comparison.plain, comparison.other
    plain_differs, other_differs = differing(plain.text, other.text)
    return (
        pieces(plain.text, {"held": plain.held, "differs": plain_differs, "evidence": plain.evidence}),
        pieces(other.text, {"held": other.held, "differs": other_differs, "evidence": other.evidence}),
    )


def first_flips(comparisons: Sequence[Comparison]) -> Sequence[Comparison]:
    """As many as excerpts of their texts fit a report, one at least."""
    used = 0
    for place, comparison in enumerate(comparisons[:_MOST_FLIPS]):
        used += sum(size(text[:EXCERPT]) for text in _texts(comparison))
        if used > _SHOWN_BYTES:
            return comparisons[: max(1, place)]
    return comparisons[:_MOST_FLIPS]


def telling_units(summary: Summary) -> list[UnitSummary]:
    """The units that flip or are slowest, in the order of the plan."""
    tested = summary.arms_under_test

    def rank(unit: UnitSummary) -> tuple[bool, float]:
        speeds = [speed for arm in tested if (speed := unit.arms[arm].speedup) is not None]
        return not any(unit.arms[arm].flips for arm in tested), min(speeds, default=0.0)

    chosen = {unit.unit_id for unit in sorted(summary.unit_results, key=rank)[:MOST_UNITS]}
    return [unit for unit in summary.unit_results if unit.unit_id in chosen]


def _texts(comparison: Comparison) -> tuple[str, str]:
    return comparison.plain.text, comparison.other.text
