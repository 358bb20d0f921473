"""Reports as they were looked at and found right; `--write-golden` writes them anew."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from replay.report.github import annotations
from replay.report.junit import render_junit
from replay.report.markdown import render_markdown
from replay.report.table import render_table
from replay.summary import Summary

GOLDEN = Path(__file__).parent / "golden"
FORMATS: Mapping[str, Callable[[Summary], str]] = {
    "table.txt": render_table,
    "json": Summary.to_json,
    "md": render_markdown,
    "junit.xml": render_junit,
    "github.txt": annotations,
}


@pytest.mark.parametrize("shape", FORMATS)
def test_report_is_as_it_was_looked_at(
    case_name: str, shape: str, summaries: Mapping[str, Summary], request: pytest.FixtureRequest
) -> None:
    shown = FORMATS[shape](summaries[case_name])
    if (case_name, shape) == ("hostile_text", "json"):
        shown = shown.replace("x" * 1_000_000, "(a million x)")
    _hold(GOLDEN / f"{case_name}.{shape}", shown, request)


@pytest.mark.parametrize("shape", ["table.txt", "github.txt"])
def test_report_of_10_000_units_is_as_it_was_looked_at(
    shape: str, large: Summary, request: pytest.FixtureRequest
) -> None:
    _hold(GOLDEN / f"large.{shape}", FORMATS[shape](large), request)


def _hold(file: Path, shown: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--write-golden", default=False):
        file.write_text(f"{shown}\n", encoding="utf-8", newline="\n")
    assert shown + "\n" == file.read_bytes().decode()
