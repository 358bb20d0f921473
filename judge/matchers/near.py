"""Where several things are said together: in one sentence, list item or table row.

Invariant: each of the things is at a place of the same passage; what introduces it, an outer item or the head
of a table, may add to it but never makes it up.
"""

import re
from collections.abc import Iterator, Sequence

from judge.matchers.layout import Layout, Passage, layout
from judge.normalize import Range

_TICK = re.compile(r"\s*(?:[✓✔✅☑●•x]\ufe0f?|yes|true)\s*", re.IGNORECASE)


def find_near(text: str, parts: Sequence[Sequence[Range]]) -> Iterator[Range]:
    """The ranges that hold a place of every part together, given the places of each part in the text."""
    if not all(parts):
        return
    laid_out = layout(text)
    units = {
        unit: passage for places in parts for place in places for unit, passage in _unit(laid_out, place)
    }
    for (start, end), passage in sorted(units.items(), key=lambda item: item[0]):
        own = [[place for place in places if start <= place[0] < end] for places in parts]
        if all(own) or all(
            found or _is_given(text, passage, own, places) for found, places in zip(own, parts, strict=True)
        ):
            held = [places[0] for places in own if places]
            yield min(held)[0], max(end for _, end in held)


def _unit(laid_out: Layout, place: Range) -> Iterator[tuple[Range, Passage]]:
    """What must hold the other things too, and the passage it is of."""
    passage = laid_out.passage(place[0])
    if passage is not None:
        yield (passage.start, passage.end) if passage.whole else laid_out.sentence(place[0]), passage


def _is_given(text: str, passage: Passage, own: Sequence[Sequence[Range]], places: Sequence[Range]) -> bool:
    """Whether what the passage continues says the part: an outer item, or a held or ticked cell's head."""
    if any(outer.start <= place[0] < outer.end for outer in passage.context for place in places):
        return True
    columns = zip(passage.cells, passage.head, strict=False)
    return any(
        head[0] <= place[0] < head[1]
        and (
            any(cell[0] <= held[0] < cell[1] for found in own for held in found)
            or _TICK.fullmatch(text, *cell) is not None
        )
        for cell, head in columns
        for place in places
    )
