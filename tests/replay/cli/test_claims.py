import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bundles import Store
from judge.calibration import Case
from judge.fake_ask import FakeAsk
from replay.cli.main import commands
from replay.stack import Stack

PLAIN = "Ava owns it."
REWORDED = "It is Ava who owns it, and not she."
Redraft = Callable[..., Result]


@pytest.fixture
def redraft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Redraft:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_JUDGE_CACHE", "cache")
    return lambda *arguments: CliRunner().invoke(commands, list(arguments))


@pytest.fixture
def stored(make: Any, redraft: Redraft) -> str:
    """A run whose facts are all right, in which one attempt says something that only claims show."""
    evaluated = make.evaluated(2).changed("u1", "redraft", text=REWORDED)
    with Store.open(Path("redraft.duckdb")) as store:
        evaluated.stored(store)
    return str(evaluated.run.run_id)


@pytest.fixture
def asked(judge_server: Any) -> tuple[str, ...]:
    judge_server.fake = FakeAsk([Case("run", PLAIN, PLAIN, REWORDED, True, True, False, False)])
    return ("--judge-url", judge_server.url, "--judge-model", "big")


def verdicts(judge: str) -> list[Any]:
    with Store.open(Path("redraft.duckdb")) as store:
        run = store.run("last")
        return [verdict for verdict in store.verdicts(run.run_id) if verdict.judge.startswith(judge)]


def test_claims_are_judged_beside_facts_and_fail_the_gate(
    redraft: Redraft, stored: str, asked: tuple[str, ...]
) -> None:
    redraft("judge")
    assert redraft("gate").exit_code == 0
    result = redraft("judge", stored, "--again", *asked)
    assert result.exit_code == 0
    assert f"run {stored}: 16 facts pass, 0 fail, 0 unscored" in result.stdout
    assert "claims by big: 14 pass, 2 fail, 0 unscored; 0 supported claims omitted" in result.stdout
    assert "fail: unit u1, redraft: claims/lost_facts: contradicts 'Ava owns it.'" in result.stdout
    assert len(verdicts("fact")) == len(verdicts("claims:big")) == 16
    gate = redraft("gate")
    assert gate.exit_code == 1
    assert "claims: redraft lost critical fact claims/lost_facts of unit u1" in gate.stdout
    summary = json.loads(redraft("report", "--json").stdout)
    assert summary["arms"]["redraft"]["facts_total"] == 4
    assert "claims:big/1" in summary["comparability"]["judge"]


def test_judging_the_facts_again_does_not_forget_the_claims(
    redraft: Redraft, stored: str, asked: tuple[str, ...]
) -> None:
    redraft("judge", *asked)
    redraft("judge")
    assert len(verdicts("claims:")) == 16
    assert redraft("gate").exit_code == 1


def test_an_unfit_judge_writes_nothing_and_exits_4(
    redraft: Redraft, stored: str, asked: tuple[str, ...], judge_server: Any, make: Any
) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat('{"reason": "bad"}')
    result = redraft("judge", *asked)
    assert result.exit_code == 4
    assert "fails its calibration" in result.stderr
    assert "no claim verdict is written" in result.stderr
    assert len(verdicts("fact")) == 16
    assert verdicts("claims:") == []


def test_pairs_without_an_answer_keep_the_gate_from_passing(
    redraft: Redraft, stored: str, asked: tuple[str, ...], judge_server: Any, make: Any
) -> None:
    def script(prompt: Any, reply: str, before: int) -> Any:
        return make.chat('{"reason": "bad"}') if REWORDED in prompt.user else None

    judge_server.script = script
    result = redraft("judge", *asked)
    assert result.exit_code == 0
    assert "2 unscored" in result.stdout
    assert redraft("gate").exit_code == 3
    judge_server.script = lambda prompt, reply, before: None
    assert "0 unscored; " in redraft("judge", *asked).stdout


def test_a_policy_may_require_a_calibrated_judge(
    redraft: Redraft, stored: str, asked: tuple[str, ...]
) -> None:
    Path("redraft.toml").write_text('[gate]\nrequire = ["calibrated"]\narms = ["redraft:tau=3,floor=1"]\n')
    redraft("judge")
    assert redraft("gate").exit_code == 3
    redraft("judge", *asked)
    assert redraft("gate").exit_code == 0


def test_a_judge_that_is_gone_says_so(redraft: Redraft, stored: str) -> None:
    result = redraft("judge", "--judge-url", "http://127.0.0.1:1", "--judge-model", "big")
    assert result.exit_code == 4
    assert "no judge answers" in result.stderr


def test_a_model_without_a_url_is_a_mistake(redraft: Redraft, stored: str) -> None:
    assert redraft("judge", "--judge-model", "big").exit_code == 2
    assert redraft("run", "builtin:smoke", "--judge-model", "big").exit_code == 2


def test_run_asks_a_claim_judge_too(redraft: Redraft, judge_server: Any, live: Stack) -> None:
    """The arms say the same here, so there is nothing to ask but the judge's calibration."""
    asked = ("--judge-url", judge_server.url, "--judge-model", "big")
    result = redraft("run", "builtin:smoke", "--url", live.url, "--sample", "1", "--json", *asked)
    summary = json.loads(result.stdout)
    assert summary["claims"]["arms"]["plain"] == {"passed": 2, "failed": 0, "unscored": 0}
    assert summary["provenance"]["claim_judge"] == "big"
    assert f"if it fails, continue with: redraft judge {summary['run_id']} --judge-url" in result.stderr
    assert "claims by big: 8 pass, 0 fail" in result.stderr


def test_without_its_claim_verdicts_a_run_does_not_pass(
    redraft: Redraft, stored: str, asked: tuple[str, ...]
) -> None:
    Path("redraft.toml").write_text('[gate]\narms = ["redraft:tau=3,floor=1"]\n')
    redraft("judge", *asked)
    assert redraft("gate").exit_code == 0
    facts = verdicts("fact")
    with Store.open(Path("redraft.duckdb")) as store:
        store.replace_verdicts(stored, facts)
    gate = redraft("gate")
    assert gate.exit_code == 3
    assert "claims: 4 of 4 fact checks of redraft:tau=3,floor=1 are unscored" in gate.stdout
