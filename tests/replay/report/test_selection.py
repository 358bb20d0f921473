from collections.abc import Callable

import pytest

from replay.report import selection
from replay.report.selection import (
    EXCERPT,
    MOST_UNITS,
    first_flips,
    needs_details,
    shown_flips,
    side_by_side,
    telling_units,
)
from replay.summary import Passage, Summary

Case = Callable[[str], Summary]


def test_a_text_is_marked_and_cut_only_where_it_must_be(case: Case) -> None:
    (comparison,) = case("long_line").comparisons
    plain, other = side_by_side(comparison)
    assert "".join(piece.text for piece in plain) == comparison.plain.text
    assert "".join(piece.text for piece in other) == comparison.other.text
    (whole,) = shown_flips([comparison])
    (cut,) = shown_flips([comparison], EXCERPT)
    assert whole.other == other
    assert sum(len(piece.text) for piece in cut.other) == EXCERPT
    assert (cut.anchor, cut.regression) == ("flip-0", True)


def test_details_are_needed_for_many_units_or_much_text(case: Case, large: Summary) -> None:
    assert not needs_details(case("various"))
    assert not needs_details(case("long_line"))
    assert needs_details(large)
    (comparison,) = case("long_line").comparisons
    twice = case("long_line").model_copy(update={"comparisons": (comparison,) * 2})
    assert needs_details(twice)
    few = large.model_copy(update={"unit_results": large.unit_results[:MOST_UNITS], "comparisons": ()})
    assert not needs_details(few)


def test_a_report_with_details_shows_the_first_flips(large: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = first_flips(large.comparisons)
    assert list(shown) == list(large.comparisons[: len(shown)])
    assert len(shown) == 100
    monkeypatch.setattr(selection, "_SHOWN_BYTES", 100)
    assert 1 < len(first_flips(large.comparisons)) < 10
    wide = large.comparisons[0].model_copy(update={"other": Passage(text="é" * 90, held=(), evidence=())})
    assert first_flips([wide, wide]) == [wide]
    assert list(first_flips([])) == []


def test_telling_units_flip_or_are_slow_and_keep_their_order(large: Summary) -> None:
    slow = large.unit_results[7_777]
    arms = {**slow.arms, "redraft": slow.arms["redraft"].model_copy(update={"speedup": 0.01})}
    units = tuple(
        unit.model_copy(update={"arms": arms}) if unit is slow else unit
        for unit in large.unit_results
        if not unit.arms["redraft"].flips or unit.unit_id.endswith("9")
    )
    chosen = telling_units(large.model_copy(update={"unit_results": units}))
    ids = [unit.unit_id for unit in chosen]
    assert len(ids) == MOST_UNITS
    assert slow.unit_id in ids
    assert {unit.unit_id for unit in units if unit.arms["redraft"].flips} <= set(ids)
    assert ids == [unit.unit_id for unit in units if unit.unit_id in set(ids)]
