from judge import check_facts
from replay.report.marks import differing
from replay.view.example import EXAMPLE


def test_the_edit_changes_one_value() -> None:
    (source,) = EXAMPLE.sources
    before, after = differing(source.before, source.after)
    assert len(before) == len(after) == 1


def test_nothing_else_is_set() -> None:
    unit = EXAMPLE.unit()
    assert (unit.stale, unit.edited, unit.pinned) == (None, None, ())
    assert check_facts(unit) == []
