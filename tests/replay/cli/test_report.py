import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result

from bundles import Store
from replay.evaluation import judge_run

Redraft = Callable[..., Result]


@pytest.fixture
def put(make: Any, redraft: Redraft) -> Callable[..., None]:
    """Puts a run into the store of the folder, judged unless asked otherwise."""

    def stored(evaluated: Any, day: int = 1, *, judged: bool = True) -> None:
        run = replace(evaluated.run, run_id=f"2026010{day}-120000-abcd")
        with Store.open(Path("redraft.duckdb")) as store:
            store.add_bundle(make.bundle(evaluated.units))
            store.create_run(run)
            for attempt in evaluated.attempts:
                store.add_attempt(replace(attempt, run_id=run.run_id))
            if judged:
                judge_run(store, run)

    return stored


def lost(make: Any) -> Any:
    return make.evaluated(2).changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(0,))


def test_every_format_is_shown_and_written(make: Any, redraft: Redraft, put: Callable[..., None]) -> None:
    put(lost(make))
    begins = {
        "table": "run 2026",
        "json": "{",
        "md": "### redraft: regression",
        "junit": "<?xml",
        "github": "::error ",
    }
    for shape, beginning in begins.items():
        shown = redraft("report", "--format", shape)
        written = redraft("report", "--format", shape, "--output", f"r.{shape}")
        assert (shown.exit_code, written.exit_code, written.stdout) == (0, 0, "")
        assert shown.stdout.startswith(beginning)
        assert Path(f"r.{shape}").read_text() == shown.stdout[: len(Path(f"r.{shape}").read_text())]
        assert f"report: r.{shape}" in written.stderr
    assert redraft("report", "--format", "html", "--output", "r.html").stdout == ""
    assert Path("r.html").read_text().startswith("<!doctype html>")
    assert redraft("report", "--json").stdout == redraft("report", "--format", "json").stdout


def test_github_format_appends_the_step_summary(
    make: Any, redraft: Redraft, put: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(lost(make))
    Path("step.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    assert redraft("report", "--format", "md").exit_code == 0
    assert Path("step.md").read_text() == "before\n"
    assert redraft("report", "--format", "github").stdout.startswith("::error ")
    assert Path("step.md").read_text().startswith("before\n\n### redraft: regression\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "html"], "--output FILE"),
        (["--json", "--format", "md"], "give one of them"),
        (["--output", "no/such/folder.md"], "no/such/folder.md"),
        (["--output", "redraft.duckdb"], "is what the report is made from"),
        (["--history", "--format", "junit"], "table or json"),
        (["--history", "--html", "r.html"], "the HTML report shows all runs"),
        (["--history", "--format", "html", "--output", "r.html"], "the HTML report shows all runs"),
        (["--html", "r.html", "--output", "./r.html"], "is given for two reports"),
        (["--last", "3"], "belongs to --history"),
        (["last~1"], "last~1: the store holds 1 run"),
        (["2027"], "no run '2027'"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], said: str, make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    put(make.evaluated(1))
    result = redraft("report", *arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert said in result.stderr


def test_runs_are_named_by_place_and_by_the_start_of_their_id(
    make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    put(make.evaluated(1), 1)
    put(make.evaluated(1), 2)
    for ref, day in (("last", 2), ("last~0", 2), ("last~1", 1), ("20260101", 1)):
        found = json.loads(redraft("report", ref, "--json").stdout)
        assert found["run_id"] == f"2026010{day}-120000-abcd"


def test_history_shows_the_runs_of_the_bundle_oldest_first(
    make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    put(make.evaluated(2), 1)
    put(lost(make), 2)
    put(make.evaluated(3), 3)
    put(make.evaluated(2), 4, judged=False)
    found = json.loads(redraft("report", "--history", "--json").stdout)
    points = [(point["run_id"][:8], point["verdict"]) for point in found["points"]]
    assert points == [("20260101", "pass"), ("20260102", "regression"), ("20260104", None)]
    assert "redraft judge 20260104-120000-abcd" in found["points"][-1]["note"]
    newest = json.loads(redraft("report", "--history", "--last", "1", "--json").stdout)
    assert (newest["earlier"], len(newest["points"])) == (2, 1)
    other = redraft("report", "20260103", "--history")
    assert other.stdout.startswith("1 run of suite")


def test_history_goes_on_where_a_run_lacks_an_arm_of_the_policy(
    make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    put(make.evaluated(1, arms=("plain", "control")), 1)
    put(make.evaluated(1), 2)
    Path("redraft.toml").write_text('[gate]\narms = ["redraft"]\n')
    points = json.loads(redraft("report", "--history", "--json").stdout)["points"]
    assert [point["verdict"] for point in points] == [None, "pass"]
    assert "has no arm 'redraft'" in points[0]["note"]


def test_junit_of_the_command_is_well_formed(make: Any, redraft: Redraft, put: Callable[..., None]) -> None:
    put(lost(make))
    assert redraft("report", "--format", "junit", "--output", "j.xml").exit_code == 0
    assert ET.parse("j.xml").getroot().get("failures") == "2"


def test_help_shows_an_example(redraft: Redraft) -> None:
    assert "redraft report last --format junit --output junit.xml" in redraft("report", "--help").stdout


def test_html_shows_the_runs_of_the_bundle(make: Any, redraft: Redraft, put: Callable[..., None]) -> None:
    put(make.evaluated(6), 1)
    put(make.evaluated(6), 2)
    assert redraft("report", "--html", "r.html").exit_code == 0
    assert "20260101-120000-abcd" in Path("r.html").read_text()
    assert "20260102-120000-abcd" in Path("r.html").read_text()
