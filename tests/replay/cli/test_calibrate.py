import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from judge import calibration_cases
from replay.cli.main import commands

Redraft = Callable[..., Result]
CASES = len(calibration_cases())


@pytest.fixture
def calibrate(judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Redraft:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("REDRAFT_JUDGE_KEY", "sk-secret")
    where = ["calibrate", "--judge-url", judge_server.url, "--judge-model", "big"]
    return lambda *more: CliRunner().invoke(commands, [*where, *more])


def test_a_fit_judge_gets_a_table_and_exit_0(calibrate: Redraft) -> None:
    result = calibrate()
    assert result.exit_code == 0
    assert f"judge big: {CASES} of {CASES} cases right: it may judge" in result.stdout
    assert all(case.case_id in result.stdout for case in calibration_cases())
    assert "sk-secret" not in result.output


def test_what_was_answered_well_is_not_asked_again(calibrate: Redraft, judge_server: Any) -> None:
    first = calibrate()
    asked = len(judge_server.requests)
    second = calibrate()
    assert (second.exit_code, second.stdout) == (0, first.stdout)
    assert len(judge_server.requests) == asked
    assert "0 replies," in second.stderr
    calibrate("--again")
    assert len(judge_server.requests) == 2 * asked


def test_an_unfit_judge_exits_4_and_the_table_says_why(
    calibrate: Redraft, judge_server: Any, make: Any
) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat(reply.replace("contradicted", "supported"))
    result = calibrate()
    assert result.exit_code == 4
    assert "lost_facts is unscored, not fail" in " ".join(result.stdout.split())
    assert "no verdict of it is written" in result.stdout
    document = json.loads(calibrate("--json").stdout)
    assert document["passed"] is False
    wrong = {case["case_id"] for case in document["cases"] if case["flaws"]}
    assert {"stale-owner-kept", "date-swap"} <= wrong


def test_a_price_makes_a_cost(calibrate: Redraft, judge_server: Any) -> None:
    result = calibrate("--judge-price", "10", "20")
    requests = len(judge_server.requests)
    assert f"{requests * 100} tokens in, {requests * 10} out, cost {requests * 0.0012:.4f}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "give both --judge-url and --judge-model"),
        (["--judge-url", "http://127.0.0.1:1"], 2, "give both"),
        (["--judge-url", "http://127.0.0.1:1", "--judge-model", "m"], 4, "no judge answers"),
        (["--judge-url", "file:///x", "--judge-model", "m"], 2, "--judge-url"),
        (["--judge-url", "http://h", "--judge-model", " "], 2, "--judge-model"),
    ],
)
def test_bad_input_is_said_in_a_line(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(commands, ["calibrate", *arguments, "--judge-cache", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
