import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bundles import Bundle, SuiteError, export_bundle, read_suite, suite_schema, without_events


def test_any_bundle_survives_and_keeps_to_the_schema(full_bundle: st.SearchStrategy[Bundle]) -> None:
    validator = Draft202012Validator(suite_schema())

    @settings(max_examples=15)
    @given(bundle=full_bundle.map(without_events))
    def check(bundle: Bundle) -> None:
        with TemporaryDirectory() as folder:
            target = Path(folder) / "x.json"
            export_bundle(bundle, target, "suite")
            assert read_suite(target, strict=True).bundle == bundle
            validator.validate(json.loads(target.read_text(encoding="utf-8")))

    check()


def test_a_large_bundle_survives(large_bundle: Bundle, tmp_path: Path) -> None:
    export_bundle(large_bundle, tmp_path / "x.json", "suite")
    assert read_suite(tmp_path / "x.json").bundle == large_bundle


def test_only_an_earlier_export_is_replaced(large_bundle: Bundle, tmp_path: Path) -> None:
    bundle = Bundle("", "small", large_bundle.sessions[:1], large_bundle.units[:1])
    target = tmp_path / "x.json"
    for content in ('{"units": []}', "[]", "7", "", '"exported_from"', "\xff"):
        target.write_text(content, encoding="latin-1")
        with pytest.raises(SuiteError, match=r"x.json: is there already and no earlier export"):
            export_bundle(bundle, target, "suite")
        assert target.read_text(encoding="latin-1") == content
    target.unlink()
    export_bundle(bundle, target, "suite")
    export_bundle(bundle, target, "suite")
    with pytest.raises(SuiteError, match=r"x: a suite is written as JSON, let the name end in \.json"):
        export_bundle(bundle, tmp_path / "x", "suite")
