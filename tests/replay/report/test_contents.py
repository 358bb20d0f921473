from typing import Any

from bundles import Fact
from replay.report.contents import contents_of, render_contents, render_units


def test_counts_leave_out_what_there_is_none_of(make: Any) -> None:
    bundle = make.bundle([make.unit("a"), make.unit("b")], "plans")
    found = contents_of(bundle, ["r1", "r2"])
    assert (found["units"], found["events"], found["runs"]) == (2, 0, ["r1", "r2"])
    lines = render_contents(found).splitlines()
    assert lines[0].split() == ["bundle", "id", bundle.bundle_id]
    assert lines[-1].split(maxsplit=1) == ["runs", "r1, r2"]
    assert not any(line.startswith("runs") for line in render_contents(contents_of(bundle, [])).splitlines())


def test_each_unit_is_listed_with_all_its_facts(make: Any) -> None:
    facts = (
        Fact("e", "expect", ("14 euros", "fourteen euros"), origin="edit"),
        Fact("f", "forbid", ("9\neuros\x1b",), severity="supporting"),
    )
    units = [make.unit("fare", facts=facts, canary=True, category="value"), make.unit("plain", facts=())]
    first, second = render_units(units).split("\n\n")
    assert first.splitlines() == [
        "fare",
        f"  value, canary: {units[0].instruction}",
        "  expects '14 euros' or 'fourteen euros' (critical)",
        "  forbids '9\\neuros\\x1b' (supporting)",
    ]
    assert second.splitlines()[2:] == ["  no facts: tells only how fast, and whether the text is plain's"]


def test_no_units_are_said_to_be_none() -> None:
    assert render_units(()) == "no units"
