from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from replay.cli.summaries import Outputs, deliver, taken_outputs
from replay.errors import SettingsError
from replay.stack import Stack

Redraft = Callable[..., Result]
NOWHERE = {"html": None, "junit": None, "md": None, "github": False}


def test_run_writes_every_report_and_keeps_stdout_pure(
    redraft: Redraft, live: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    files = ["--html", "r.html", "--junit", "r.xml", "--md", "r.md"]
    result = redraft("run", "builtin:smoke", "--url", live.url, "--sample", "1", "--json", "--github", *files)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("{\n")
    assert result.stdout.endswith("}\n")
    assert "::notice title=redraft%3A pass::0 regressions in 1 unit." in result.stderr
    assert Path("r.html").read_text().startswith("<!doctype html>")
    assert Path("r.xml").read_text().startswith("<?xml")
    assert Path("r.md").read_text().startswith("### redraft: pass")
    assert "### redraft: pass" in Path("step.md").read_text()


def test_nothing_is_annotated_unless_asked_for(
    make: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    deliver(make.evaluated(1).summary(), Outputs(), False)
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "step.md").exists()


def test_outside_of_a_job_only_the_annotations_are_made(
    make: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    deliver(make.evaluated(1).summary(), Outputs(github=True), False)
    shown = capsys.readouterr()
    assert shown.err.startswith("::notice title=redraft")
    assert "::notice" not in shown.out


def test_two_reports_in_one_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"x\.md: is given for two reports"):
        taken_outputs({**NOWHERE, "junit": Path("x.md"), "md": tmp_path / "x.md"})


def test_options_are_taken_out_of_those_given(tmp_path: Path) -> None:
    given = {**NOWHERE, "md": tmp_path / "x.md", "resume": None}
    outputs = taken_outputs(given)
    assert (outputs.files, given) == ([tmp_path / "x.md"], {"resume": None})
