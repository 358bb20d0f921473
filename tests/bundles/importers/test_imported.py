from collections.abc import Callable

import pytest

from bundles import EmptySuite, Session, SuiteError, Unit
from bundles.importers.imported import Collector
from bundles.importers.parsing import parse

SESSION = Session("s1", "suite")


def test_what_is_right_is_kept_and_the_rest_is_named_or_counted(make_unit: Callable[..., Unit]) -> None:
    collector = Collector("mine")
    collector.take("f:1", lambda: ([SESSION], [make_unit("a")]))
    collector.take("f:2", lambda: ([SESSION], [make_unit("b"), make_unit("a")]))
    collector.take("f:3", lambda: ([SESSION], [make_unit("b", kind="redo")]))
    collector.leave_out("too short", 2)
    collector.leave_out("badges")
    collector.leave_out("badges")
    collector.leave_out("badges")
    found = collector.done("f")
    assert [unit.unit_id for unit in found.bundle.units] == ["a"]
    assert found.bundle.sessions == (SESSION,)
    assert found.skipped == (
        "f:2: unit 'a': the id is taken, see f:1",
        "f:3: unit 'b': kind 'redo' is unknown, use one of: rederive, revise",
    )
    assert found.reasons == {"badges": 3, "too short": 2}
    assert found.summary == "1 imported, 7 skipped because: 2 not right, 3 badges, 2 too short"


def test_a_strict_import_stops_at_the_first_that_is_not_right(make_unit: Callable[..., Unit]) -> None:
    collector = Collector("mine", strict=True)
    with pytest.raises(SuiteError, match=r"^f:1: unit 'a': instruction is empty"):
        collector.take("f:1", lambda: ([SESSION], [make_unit("a", instruction="")]))


def test_nothing_is_no_bundle() -> None:
    collector = Collector("mine")
    collector.leave_out("too short")
    with pytest.raises(EmptySuite, match=r"^f: no usable unit, 1 skipped because: 1 too short$"):
        collector.done("f")
    collector.take("f:1", lambda: parse(b"{"))
    with pytest.raises(SuiteError, match=r"^f:1: not JSON: Expecting"):
        collector.done("f")


def test_a_bundle_has_a_name() -> None:
    with pytest.raises(SuiteError, match="bundle name '' must be one line"):
        Collector("")
