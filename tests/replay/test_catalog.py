import json
from pathlib import Path
from typing import Any

import pytest

from bundles import Store, SuiteError, export_bundle
from replay.catalog import add_path, load_bundle, suite_path
from replay.errors import SettingsError


def entry(unit_id: str) -> str:
    return json.dumps({"id": unit_id, "question": "q", "context_old": "a", "context_new": "b"})


def test_built_in_suites_are_found_and_named() -> None:
    path = suite_path("builtin:smoke")
    assert path is not None
    assert path.exists()
    with pytest.raises(SettingsError, match="there is builtin:edits, builtin:smoke"):
        suite_path("builtin:../smoke")


def test_a_file_is_imported_once(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(entry("u1") + "\n")
    bundle = load_bundle(store, str(path))
    assert load_bundle(store, str(path)) == bundle
    assert [info.bundle_id for info in store.bundles()] == [bundle.bundle_id]


def test_a_broken_unit_stops_a_run(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(entry("u1") + "\n{}\n")
    with pytest.raises(SuiteError, match=r"mine\.jsonl:2: "):
        load_bundle(store, str(path))
    assert store.bundles() == []


def test_what_looks_like_a_file_is_not_looked_up_as_a_bundle(store: Store) -> None:
    with pytest.raises(SuiteError, match=r"nix\.jsonl"):
        load_bundle(store, "nix.jsonl")


def test_a_stored_bundle_is_found_by_name_and_id(store: Store, make: Any) -> None:
    bundle = make.bundle([make.unit()], "mine")
    store.add_bundle(bundle)
    assert load_bundle(store, "mine") == bundle
    assert load_bundle(store, bundle.bundle_id[:8]) == bundle
    with pytest.raises(SettingsError, match="other: no such file, and no bundle"):
        load_bundle(store, "other")


def test_folders_count_where_they_hold_something_to_import(
    store: Store, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = make.bundle([make.unit()], "mine")
    store.add_bundle(bundle)
    Path("mine").mkdir()
    assert load_bundle(store, "mine") == bundle
    export_bundle(make.bundle([make.unit("other")], "other"), Path("exported"), "parquet")
    assert [unit.unit_id for unit in load_bundle(store, "exported").units] == ["other"]
    with pytest.raises(SettingsError, match=r"\.: no such file, and no bundle"):
        load_bundle(store, ".")


def test_what_is_there_already_is_named(store: Store, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text(entry("u1") + "\n")
    assert add_path(store, tmp_path / "one.jsonl").known_as is None
    assert add_path(store, tmp_path / "two.jsonl").known_as == "one"
