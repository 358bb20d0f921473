import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Bundle, Reference, Session, Source, SuiteError, Unit, bundle_of, export_bundle, read_loom
from bundles.export import without_events


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_any_bundle_survives(full_bundle: st.SearchStrategy[Bundle]) -> None:
    @settings(max_examples=15)
    @given(bundle=full_bundle.map(without_events))
    def check(bundle: Bundle) -> None:
        with TemporaryDirectory() as folder:
            target = Path(folder) / "x"
            export_bundle(bundle, target, "loom")
            found = read_loom(target, strict=True)
            assert (found.bundle.bundle_id, found.bundle.name) == (bundle.bundle_id, bundle.name)
            assert found.bundle.sessions == bundle.sessions
            assert {unit.unit_id for unit in found.bundle.units} == {unit.unit_id for unit in bundle.units}

    check()


def test_a_large_bundle_survives(large_bundle: Bundle, tmp_path: Path) -> None:
    export_bundle(large_bundle, tmp_path / "x", "loom")
    assert read_loom(tmp_path / "x").bundle == large_bundle


def test_rows_are_those_of_the_published_format(tmp_path: Path) -> None:
    plan, team = Source("plan", "On Friday."), Source("team", "Ava.")
    served = Reference("On Monday, Ava.", "tolerant", 12.5)
    unit = Unit("u1", "s", "Sum up.", (plan, team), (team, Source("plan", "On Monday.")), pinned=("Ava",))
    unit = Unit(
        **{name: getattr(unit, name) for name in unit.__slots__} | {"stale": "Was.", "reference": served}
    )
    revised = Unit("u2", "s", "Sum up.", (plan,), (plan,), "revise", stale="Was.", edited="Is.")
    session = Session("s", "recorder", "t", "d", "x", "plan", "2025-01-02T03:04:05Z")
    export_bundle(bundle_of("b", [session], [unit, revised]), tmp_path / "x", "loom")
    revisions = {row["revision_id"]: row for row in rows(tmp_path / "x" / "revisions.jsonl")}
    (refresh,) = rows(tmp_path / "x" / "refreshes.jsonl")
    (correction,) = rows(tmp_path / "x" / "corrections.jsonl")
    assert {
        key: refresh[key] for key in ("refresh_id", "ts", "document_id", "document_kind", "section_id")
    } == {
        "refresh_id": "u1",
        "ts": "2025-01-02T03:04:05Z",
        "document_id": "d",
        "document_kind": "plan",
        "section_id": "x",
    }
    assert (refresh["kind"], refresh["mode"], refresh["wall_ms"]) == ("rederive", "tolerant", 12.5)
    assert (refresh["derived_before"], refresh["derived_after"]) == ("Was.", "On Monday, Ava.")
    assert refresh["pinned"] == ["Ava"]
    texts = [revisions[refresh["input_revisions_after"][name]]["text"] for name in refresh["source_order"]]
    assert texts == ["Ava.", "On Monday."]
    assert revisions[refresh["input_revisions_before"]["instruction"]]["text"] == "Sum up."
    assert {row["input_kind"] for row in revisions.values()} == {"instruction", "source"}
    assert (correction["correction_id"], correction["derived_after"]) == ("u2", "Is.")
    assert correction["input_revisions"].keys() == {"instruction", "source:plan"}


def test_only_an_earlier_export_is_replaced(large_bundle: Bundle, tmp_path: Path) -> None:
    bundle = Bundle("", "small", large_bundle.sessions[:1], large_bundle.units[:1])
    target = tmp_path / "x"
    target.mkdir()
    with pytest.raises(SuiteError, match="x: is there already and no earlier export"):
        export_bundle(bundle, target, "loom")
    target.rmdir()
    export_bundle(bundle, target, "loom")
    export_bundle(bundle, target, "loom")
    (target / "notes.txt").write_text("mine")
    with pytest.raises(SuiteError, match="x: is there already and no earlier export"):
        export_bundle(bundle, target, "loom")
    assert (target / "notes.txt").exists()
