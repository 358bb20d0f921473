import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundles import Bundle, SuiteError, export_bundle
from bundles.manifest import hash_of, is_export, read_manifest
from bundles.schema import FORMAT_VERSION


@pytest.fixture
def folder(make_bundle: Callable[..., Bundle], tmp_path: Path) -> Path:
    export_bundle(make_bundle(), tmp_path / "x", "arrow")
    return tmp_path / "x"


def change(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    found = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in found.items() if value is not ...}))


def test_a_manifest_says_what_is_there(folder: Path, make_bundle: Callable[..., Bundle]) -> None:
    manifest = read_manifest(folder)
    bundle = make_bundle()
    assert (manifest.bundle_id, manifest.name, manifest.file_format) == (bundle.bundle_id, "plans", "arrow")
    assert (manifest.format, manifest.format_version) == ("redraft bundle", FORMAT_VERSION)
    assert {name: entry.rows for name, entry in manifest.tables.items()} == {
        "bundles": 1,
        "revisions": 3,
        "sessions": 1,
        "units": 1,
        "facts": 2,
        "events": 0,
    }
    assert all(hash_of(folder / entry.file) == entry.sha256 for entry in manifest.tables.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "cake"}, "not the manifest of a redraft bundle"),
        ({"format_version": 99}, f"format version 99, this redraft reads {FORMAT_VERSION}: use a newer one"),
        ({"format_version": 1}, "format version 1 is none that there is"),
        ({"format_version": "2"}, "format version '2' is none that there is"),
        ({"file_format": "csv"}, "files of kind 'csv', not one of: arrow, parquet"),
        ({"tables": {}}, "the manifest is damaged: its tables are not bundles, revisions,"),
        ({"tables": []}, "the manifest is damaged: "),
        ({"tables": {"units": {"file": "x"}}}, "the manifest is damaged: "),
        (
            {"tables": {"units": {"file": "x", "rows": "1", "sha256": ""}}},
            "the manifest is damaged: rows is '1'",
        ),
        ({"name": 7}, "the manifest is damaged: name is 7"),
        ({"bundle_id": ...}, "the manifest is damaged: "),
        ({"more": 1}, "the manifest is damaged: "),
    ],
)
def test_what_is_none_is_said(changes: dict[str, Any], message: str, folder: Path) -> None:
    change(folder, **changes)
    with pytest.raises(SuiteError) as refusal:
        read_manifest(folder)
    assert f"{folder}/manifest.json: {message}" in str(refusal.value)
    assert not is_export(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '"x"', "[" * 100_000, "\xff"])
def test_what_is_no_json_object_is_said(content: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(content, encoding="latin-1")
    with pytest.raises(SuiteError, match=r"manifest.json: not "):
        read_manifest(folder)


def test_an_export_has_its_files_and_no_others(folder: Path, tmp_path: Path) -> None:
    assert is_export(folder)
    (folder / "notes.txt").write_text("mine")
    assert not is_export(folder)
    assert not is_export(tmp_path)
    with pytest.raises(SuiteError, match=r"manifest.json: cannot read the manifest: No such file"):
        read_manifest(tmp_path)
