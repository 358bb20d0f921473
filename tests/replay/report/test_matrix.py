from collections.abc import Callable

from replay.report.matrix import KINDS, kind_of, rows
from replay.summary import Summary

Case = Callable[[str], Summary]


def test_only_units_that_flip_have_a_row_in_the_order_of_their_flips(case: Case) -> None:
    found = rows(case("various"), shown=99, details="")
    assert [row.unit_id for row in found] == ["u3", "u7", "u5"]
    assert [row.href for row in found] == ["#flip-0", "#flip-1", "#flip-3"]
    assert [row.category for row in found] == ["value", "rename", "append"]
    assert rows(case("all_identical"), shown=99, details="") == []


def test_a_cell_says_what_the_flips_of_a_unit_are_in_an_arm(case: Case) -> None:
    cells = {row.unit_id: row.cells for row in rows(case("various"), shown=99, details="")}
    same = (("same", 0),)
    assert cells["u3"] == (same, (("regression", 2),), same)
    assert cells["u5"] == (same, (("gain", 1),), (("gain", 1),))
    assert cells["u7"] == ((("drift", 2),), same, (("drift", 2),))


def test_every_flip_is_counted_once_and_each_kind_has_words(case: Case) -> None:
    summary = case("various")
    counted = sum(number for row in rows(summary, 99, "") for cell in row.cells for _, number in cell)
    assert counted == len(summary.flips)
    assert {kind_of(flip) for flip in summary.flips} <= KINDS.keys()


def test_what_is_not_on_the_page_is_in_the_details(case: Case) -> None:
    found = rows(case("various"), shown=1, details="r.details.html")
    assert [row.href for row in found] == ["#flip-0", "r.details.html#flip-1", "r.details.html#flip-3"]
