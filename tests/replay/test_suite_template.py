import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator

from bundles import read_suite, suite_schema
from replay.suite_check import check_suite
from replay.suite_template import TEMPLATE


def test_the_template_keeps_to_the_schema_that_it_names() -> None:
    Draft202012Validator(suite_schema()).validate(tomllib.loads(TEMPLATE))
    assert TEMPLATE.splitlines()[0] == "#:schema suite.schema.json"


def test_the_template_has_no_problem_and_shows_both_kinds_and_several_edits(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(TEMPLATE, encoding="utf-8")
    imported = read_suite(path, strict=True)
    assert check_suite(imported).problems == ()
    units = imported.bundle.units
    assert {unit.kind for unit in units} == {"rederive", "revise"}
    assert len(units) > len({unit.session_id for unit in units})
    assert any(unit.pinned for unit in units)
