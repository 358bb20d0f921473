import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from bundles import EmptySuite, Reference, Session, Source, SuiteError, read_loom


def revision(key: str, text: str, kind: str = "source", name: str = "plan", **more: Any) -> dict[str, Any]:
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    row = {"revision_id": key, "input_id": f"in-{name}", "input_kind": kind, "name": name, "text": text}
    return row | {"sha256": sha256} | more


REVISIONS = [
    revision("i", "Sum up.", "instruction", ""),
    revision("i2", "Sum it up.", "instruction", ""),
    revision("p1", "On Friday."),
    revision("p2", "On Monday."),
    revision("t", "Ava.", name="team"),
    revision("d", "It is on Friday.", "derived", ""),
]
REFRESH: dict[str, Any] = {
    "refresh_id": "r1",
    "ts": "2025-01-02T03:04:05Z",
    "document_id": "launch",
    "document_kind": "plan",
    "section_id": "when",
    "kind": "rederive",
    "mode": "tolerant",
    "input_revisions_before": {"a": "p1", "b": "t", "instruction": "i"},
    "input_revisions_after": {"instruction": "i", "a": "p2", "b": "t"},
    "source_order": ["b", "a"],
    "pinned": ["Ava"],
    "derived_before": "d",
    "derived_after": "It is on Monday.",
    "wall_ms": 120,
    "engine": {"anything": 1},
}
CORRECTION: dict[str, Any] = {
    "correction_id": "c1",
    "document_id": "launch",
    "document_kind": "plan",
    "section_id": "when",
    "input_revisions": {"a": "p2", "instruction": "i"},
    "source_order": ["a"],
    "pinned": None,
    "derived_before": "It is on Monday.",
    "derived_after": "It is on Monday, at noon.",
}


def loom(
    folder: Path, refreshes: list[Any], corrections: list[Any], revisions: list[Any] | None = None
) -> Path:
    files = (
        ("revisions", REVISIONS if revisions is None else revisions),
        ("refreshes", refreshes),
        ("corrections", corrections),
    )
    for name, rows in files:
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_refreshes_and_corrections_become_units(tmp_path: Path) -> None:
    found = read_loom(loom(tmp_path, [REFRESH], [CORRECTION]), name="mine")
    assert found.bundle.name == "mine"
    assert found.bundle.sessions == (
        Session("launch/when", "loom", "", "launch", "when", "plan", "2025-01-02T03:04:05Z"),
    )
    refresh, correction = found.bundle.units
    assert (refresh.unit_id, refresh.kind, refresh.instruction) == ("r1", "rederive", "Sum up.")
    assert refresh.sources_before == (Source("team", "Ava."), Source("plan", "On Friday."))
    assert refresh.sources_after == (Source("team", "Ava."), Source("plan", "On Monday."))
    assert (refresh.stale, refresh.pinned) == ("It is on Friday.", ("Ava",))
    assert refresh.reference == Reference("It is on Monday.", "tolerant", 120.0)
    assert (correction.kind, correction.stale) == ("revise", "It is on Monday.")
    assert correction.edited == "It is on Monday, at noon."
    assert correction.sources_before == correction.sources_after == (Source("plan", "On Monday."),)
    assert correction.reference is None


def test_other_refreshes_are_counted(tmp_path: Path) -> None:
    more = [REFRESH | {"refresh_id": f"x{number}", "kind": "polish"} for number in range(3)]
    found = read_loom(loom(tmp_path, [REFRESH, *more], []))
    assert found.summary == "1 imported, 3 skipped because: 3 refresh of kind 'polish'"
    assert found.bundle.name == tmp_path.name


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not JSON"),
        ([], "refresh: must be an object"),
        (REFRESH | {"refresh_id": None}, "refresh: `refresh_id` is missing"),
        (REFRESH, "unit 'r1': the id is taken"),
        (REFRESH | {"refresh_id": "r2", "input_revisions_after": {"a": "p2"}}, "names no instruction"),
        (
            REFRESH | {"refresh_id": "r2", "input_revisions_after": {"instruction": "i2", "a": "p2"}},
            "the instruction changed with the sources",
        ),
        (
            REFRESH | {"refresh_id": "r2", "input_revisions_before": {"instruction": "i", "a": "gone"}},
            "revision 'gone' is not in revisions.jsonl, or not right there",
        ),
        (REFRESH | {"refresh_id": "r2", "wall_ms": "fast"}, "`wall_ms` must be a number, not 'fast'"),
        (REFRESH | {"refresh_id": "r2", "wall_ms": -1}, "reference wall_ms is -1.0"),
        (REFRESH | {"refresh_id": "r2", "derived_after": 7}, "`derived_after` must be a text"),
    ],
)
def test_a_broken_row_is_named_and_skipped(row: Any, message: str, tmp_path: Path) -> None:
    folder = loom(tmp_path, [REFRESH, row, REFRESH | {"refresh_id": "r9"}], [])
    found = read_loom(folder)
    assert [unit.unit_id for unit in found.bundle.units] == ["r1", "r9"]
    (skipped,) = found.skipped
    assert skipped.startswith(f"{folder}/refreshes.jsonl:2: ")
    assert message in skipped
    with pytest.raises(SuiteError, match=r"refreshes.jsonl:2: "):
        read_loom(folder, strict=True)


def test_a_damaged_revision_is_named_and_what_needs_it_left_out(tmp_path: Path) -> None:
    revisions = [*REVISIONS, revision("p3", "On Tuesday.", sha256="0" * 64)]
    row = REFRESH | {"refresh_id": "r2", "input_revisions_after": {"instruction": "i", "a": "p3"}}
    found = read_loom(loom(tmp_path, [REFRESH, row], [], revisions))
    assert len(found.bundle.units) == 1
    assert "revisions.jsonl:7: revision 'p3': damaged" in found.skipped[0]
    assert "refreshes.jsonl:2: refresh: revision 'p3' is not in" in found.skipped[1]


def test_what_is_no_such_directory_is_said(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"revisions.jsonl: cannot read it: No such file"):
        read_loom(tmp_path)
    with pytest.raises(EmptySuite, match=r"no usable unit$"):
        read_loom(loom(tmp_path, [], []))
    for about in ('{"format": "cake"}', '{"format": "redraft loom", "version": 2}', "[]", "{"):
        (tmp_path / "redraft.json").write_text(about)
        with pytest.raises(SuiteError, match=r"redraft.json: |not JSON"):
            read_loom(tmp_path)
