import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bundles import Store
from replay.stack import Stack

Redraft = Callable[..., Result]


@pytest.fixture
def stored(make: Any, redraft: Redraft) -> Callable[..., str]:
    """Puts an evaluated run into the store of the folder; gives its id."""

    def put(evaluated: Any) -> str:
        with Store.open(Path("redraft.duckdb")) as store:
            evaluated.stored(store)
        return str(evaluated.run.run_id)

    return put


def test_run_does_everything_and_ends_with_the_verdict(redraft: Redraft, live: Stack) -> None:
    result = redraft(
        "run", "builtin:smoke", "--url", live.url, "--html", "r.html", "--sample", "2", "--arm", "redraft"
    )
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2] == "gate: pass"
    assert "2 units x 3 arms, 8 attempts" in result.stderr
    assert "8/8 attempts" in result.stderr
    assert Path("r.html").read_text().startswith("<!doctype html>")


def test_json_is_the_only_thing_on_stdout(redraft: Redraft, live: Stack) -> None:
    result = redraft("run", "builtin:smoke", "--url", live.url, "--sample", "1", "--json")
    summary = json.loads(result.stdout)
    assert (summary["exact_match"], summary["control_match"], summary["exit_code"]) == (1.0, 1.0, 0)
    assert (summary["units"], summary["attempts"]) == (1, 4)


def test_parts_make_the_same_as_the_whole(redraft: Redraft, live: Stack) -> None:
    made = redraft("replay", "builtin:smoke", "--url", live.url, "--sample", "1", "--arm", "redraft")
    run_id = made.stdout.strip()
    assert made.exit_code == 0
    unjudged = redraft("gate", run_id)
    assert unjudged.exit_code == 2
    assert f"redraft judge {run_id}" in unjudged.stderr
    assert "0 unscored" in redraft("judge").stdout
    assert redraft("gate", run_id[:-2]).exit_code == 0
    assert json.loads(redraft("report", "last", "--json").stdout)["run_id"] == run_id
    assert redraft("report", "--format", "json").stdout == redraft("report", "--json").stdout


def test_a_regression_exits_1_and_names_unit_and_fact(
    make: Any, redraft: Redraft, stored: Callable[..., str]
) -> None:
    run_id = stored(make.evaluated(3).changed("u1", "redraft", text="Bo owns it."))
    assert redraft("judge", run_id).exit_code == 0
    result = redraft("gate", run_id)
    assert result.exit_code == 1
    assert "u1" in result.stdout
    assert "new" in result.stdout
    assert redraft("gate", "--exit-zero").exit_code == 0
    assert json.loads(redraft("gate", "--json").stdout)["verdict"] == "regression"
    assert redraft("report").exit_code == 0


def test_strict_makes_inconclusive_a_regression(
    make: Any, redraft: Redraft, stored: Callable[..., str]
) -> None:
    stored(make.evaluated(2, arms=("plain", "control")))
    redraft("judge")
    assert redraft("gate").exit_code == 3
    assert redraft("gate", "--strict").exit_code == 1


def test_policy_comes_from_the_file_in_the_folder_or_by_flag(
    make: Any, redraft: Redraft, stored: Callable[..., str]
) -> None:
    stored(make.evaluated(2).changed("u1", "redraft", text="Bo owns it."))
    redraft("judge")
    Path("redraft.toml").write_text('[gate]\narms = ["redraft:tau=3,floor=1"]\n')
    assert redraft("gate").exit_code == 0
    Path("other.toml").write_text("[gate]\nmin_units = 1\n")
    assert redraft("gate", "--config", "other.toml").exit_code == 1
    Path("redraft.toml").write_text("[gate]\nmin_unit = 1\n")
    broken = redraft("gate")
    assert broken.exit_code == 2
    assert "min_unit" in broken.stderr


def test_resume_takes_the_run_s_own_settings(redraft: Redraft, live: Stack) -> None:
    made = redraft(
        "replay", "builtin:smoke", "--url", live.url, "--filter", "value", "--arm", "redraft", "--seed", "3"
    )
    run_id = made.stdout.strip()
    same = redraft("run", "--resume", run_id, "--url", live.url)
    assert same.exit_code == 0
    assert "all its attempts are there already" in same.stderr
    repeated = redraft("run", "builtin:smoke", "--filter", "value", "--resume", "last", "--url", live.url)
    assert repeated.exit_code == 0
    other = redraft("run", "--resume", run_id, "--seed", "4", "--url", live.url)
    assert other.exit_code == 2
    assert "--seed 3, not 4" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run"], 2, "name a suite or a bundle"),
        (["run", "nix.jsonl"], 2, "nix.jsonl"),
        (["run", "nix"], 2, "nix: no such file"),
        (["run", "builtin:nix"], 2, "there is builtin:"),
        (["run", "builtin:smoke", "--filter", "zzz"], 5, "'zzz'"),
        (["run", "builtin:smoke", "--arm", "fast"], 2, "arm 'fast'"),
        (["run", "builtin:smoke", "--url", "http://127.0.0.1:1"], 4, "http://127.0.0.1:1/healthz"),
        (["run", "builtin:smoke", "--url", "http://127.0.0.1:1", "--kv", "f16"], 2, "--url"),
        (["run", "builtin:smoke", "--html", "no/such/folder.html"], 2, "no/such/folder.html"),
        (["run", "builtin:smoke", "--config", "none.toml"], 2, "none.toml"),
        (["run", "--resume", "zzz"], 2, "no such store"),
        (["report"], 2, "no such store"),
        (["gate", "zzz"], 2, "no such store"),
    ],
)
def test_bad_input_is_one_line_and_the_right_code(
    redraft: Redraft, arguments: list[str], code: int, said: str
) -> None:
    result = redraft(*arguments)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
