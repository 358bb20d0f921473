import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bundles import Store
from replay.stack import Stack

Redraft = Callable[..., Result]


def put(evaluated: Any) -> None:
    with Store.open(Path("redraft.duckdb")) as store:
        evaluated.stored(store)


def test_power_of_a_run_made_by_an_engine(redraft: Redraft, live: Stack) -> None:
    """The scripted engine repeats its sources, so its answers state the facts."""
    assert redraft("replay", "builtin:smoke", "--url", live.url, "--filter", "value").exit_code == 0
    result = redraft("power", "--json", "--resamples", "20")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert set(found["detection"]) >= {
        "stale_fact",
        "dropped_fact",
        "swapped_owner",
        "shifted_number",
        "negated",
    }
    assert set(found["false_alarms"]) == {"reworded", "reordered"}
    assert found["aa"] == {"resamples": 20, "failures": 0}
    assert found["detection"]["stale_fact"]["rate"] == 1.0
    assert found["detection"]["stale_fact"]["injected"] > 0
    assert result.stderr.splitlines() == ["single faults", "several faults at once", "plain against control"]


def test_table_picture_and_page(make: Any, redraft: Redraft) -> None:
    """Runs without an engine, and on attempts that nobody has judged."""
    put(make.evaluated(3))
    result = redraft("power", "last", "--resamples", "5", "--svg", "p.svg", "--html", "p.html")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].endswith("no A/A failure: met")
    assert Path("p.svg").read_text().startswith("<svg")
    assert Path("p.html").read_text().startswith("<!doctype html>")
    assert "written: p.svg" in result.stderr


def test_the_policy_is_the_one_whose_power_is_told(make: Any, redraft: Redraft) -> None:
    put(make.evaluated(3))
    Path("redraft.toml").write_text(
        '[gate]\ncanaries = "report"\nallowed_regressions = { critical = 9 }\narms = ["redraft"]\n'
    )
    assert redraft("power", "--resamples", "5").stdout.splitlines()[-1].endswith("NOT met")


def test_a_run_without_anything_to_fault_is_empty(make: Any, redraft: Redraft) -> None:
    evaluated = make.evaluated(1)
    for arm in evaluated.run.arms:
        evaluated = evaluated.changed("u0", arm, text="Nobody knows.")
    put(evaluated)
    result = redraft("power", "--resamples", "5")
    assert result.exit_code == 5
    assert "no fault could be injected" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["zzz"], "zzz"),
        (["--svg", "no/such/p.svg"], "no/such/p.svg"),
        (["--html", "redraft.duckdb"], "is what the report is made from"),
        (["--resamples", "0"], "--resamples"),
        (["--config", "none.toml"], "none.toml"),
    ],
)
def test_bad_input_is_one_line(make: Any, redraft: Redraft, arguments: list[str], said: str) -> None:
    put(make.evaluated(1))
    result = redraft("power", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
