import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from replay.cli.main import commands

ENTRY = {"id": "u1", "question": "q", "context_old": "a", "context_new": "b"}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(ENTRY) + "\n{}\n")
    return path


def test_import_names_bundle_units_and_what_was_skipped(suite: Path, tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "s.duckdb")]
    first = CliRunner().invoke(commands, ["import", str(suite), *store])
    assert first.exit_code == 0
    assert "mine: 1 units" in first.stdout
    assert "mine.jsonl:2" in first.stderr
    assert "was there already" in CliRunner().invoke(commands, ["import", str(suite), *store]).stdout
    listed = CliRunner().invoke(commands, ["bundles", "--json", *store])
    assert [(info["name"], info["units"]) for info in json.loads(listed.stdout)] == [("mine", 1)]
    assert "mine" in CliRunner().invoke(commands, ["bundles", *store]).stdout


def test_strict_import_refuses_a_broken_unit(suite: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(commands, ["import", str(suite), "--strict", "--store", str(tmp_path / "s")])
    assert result.exit_code == 2
    assert "mine.jsonl:2" in result.stderr


def test_builtin_suites_are_imported_by_name(tmp_path: Path) -> None:
    result = CliRunner().invoke(commands, ["import", "builtin:smoke", "--store", str(tmp_path / "s")])
    assert "smoke: 8 units" in result.stdout


def test_bundles_of_no_store_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(commands, ["bundles", "--store", str(tmp_path / "none")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no such store" in result.stderr
