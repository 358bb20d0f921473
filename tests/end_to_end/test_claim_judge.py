"""The claim judge's safeguards, with real models as judges."""

from typing import Any

import pytest


@pytest.fixture
def judged_by(redraft: Any) -> Any:
    """Has a run of scripted tokens judged by the model behind a URL."""
    made = redraft("replay", "builtin:smoke", "--sample", "1", "--arm", "redraft", "--fake-pass-ms", "0")
    assert made.returncode == 0, made.stderr

    def judge(url: str) -> Any:
        where = ("--judge-url", url, "--judge-model", "judge", "--judge-cache", "cache")
        return redraft("judge", "last", "--again", *where)

    return judge


def judges(redraft: Any) -> set[str]:
    run, _ = redraft.last_run()
    with redraft.store() as store:
        return {verdict.judge for verdict in store.verdicts(run.run_id)}


def test_the_default_model_fails_calibration_and_gives_no_verdict(
    redraft: Any, judged_by: Any, real_engine: str
) -> None:
    done = judged_by(real_engine)
    assert done.returncode == 4
    assert "judge judge fails its calibration: case " in done.stderr
    assert "no claim verdict is written" in done.stderr
    assert " facts pass" in done.stdout
    assert judges(redraft) == {"fact-matcher"}


def test_a_model_does_not_judge_what_it_wrote(redraft: Any, judged_by: Any, fake_engine: str) -> None:
    done = judged_by(fake_engine)
    assert done.returncode == 4
    assert "the judge is the model under test: its fingerprint is" in done.stderr
    assert judges(redraft) == {"fact-matcher"}
