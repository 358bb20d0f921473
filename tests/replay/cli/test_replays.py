import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from bundles import Store
from replay.stack import Stack, StackOptions, serving

Redraft = Callable[..., Result]


@pytest.fixture(scope="module")
def wide() -> Stack:
    """Engine and daemon with two slots and scripted tokens."""
    with serving(StackOptions(fake_pass_ms=0, slots=2), lambda line: None, lambda line: None) as stack:
        yield stack


def test_several_at_once_give_what_one_after_the_other_gives_and_speeds_in_passes(
    redraft: Redraft, wide: Stack
) -> None:
    texts = []
    for jobs in ("1", "2"):
        run = redraft("run", "builtin:smoke", "--sample", "3", "-j", jobs, "--url", wide.url, "--json")
        assert run.exit_code == 0, run.stderr
        with Store.open(Path("redraft.duckdb")) as store:
            stored = store.run("last")
            attempts = [a for a in store.attempts(stored.run_id) if a.arm != "warmup"]
            texts.append([(a.key, a.order, a.text, a.token_ids, a.status) for a in attempts])
        assert stored.provenance["jobs"] == int(jobs)
        summary = json.loads(run.stdout)
        said = [line for line in summary["look_at"] if line.startswith("passes, not times")]
        if jobs == "1":
            assert (summary["speed_metric"], said) == ("wall", [])
        else:
            assert summary["speed_metric"] == "passes"
            assert "2 at once: plain " in said[0]
            assert ", 2 at once; if it stops" in run.stderr
    assert texts[0] == texts[1]
    assert "speedup in passes" in redraft("report").stdout


def test_a_policy_on_time_is_asked_of_passes_where_attempts_ran_at_once(
    redraft: Redraft, wide: Stack
) -> None:
    Path("redraft.toml").write_text("[gate]\nmin_speedup = 1.5\n")
    run = redraft("run", "builtin:smoke", "-j", "2", "--url", wide.url, "--arm", "redraft")
    assert "attempts were made 2 at once: min_speedup of times is asked of passes" in run.stdout
    assert run.exit_code == 0, run.stdout
    assert "redraft may be too slow" not in run.stdout


def test_more_at_once_than_the_daemon_has_slots_is_refused(redraft: Redraft, live: Stack) -> None:
    run = redraft("run", "builtin:smoke", "-j", "3", "--url", live.url)
    assert run.exit_code == 2
    assert "-j 3: the daemon has 1 slots; give it more or ask for fewer" in run.stderr


def test_a_run_is_continued_with_its_own_number_at_once(redraft: Redraft, wide: Stack) -> None:
    made = redraft("replay", "builtin:smoke", "--sample", "2", "-j", "2", "--url", wide.url)
    run_id = made.stdout.strip()
    other = redraft("run", "--resume", run_id, "-j", "1", "--url", wide.url)
    assert other.exit_code == 2
    assert "was started with -j 2, not 1; leave it out" in other.stderr
    assert redraft("run", "--resume", run_id, "--url", wide.url).exit_code == 0


def test_settings_of_file_and_environment_do_not_hinder_a_resume(
    redraft: Redraft, live: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = redraft("replay", "builtin:smoke", "--sample", "1", "--arm", "redraft", "--url", live.url)
    Path("redraft.toml").write_text('arms = ["anchor"]\njobs = 2\n')
    monkeypatch.setenv("REDRAFT_REPEATS", "5")
    run = redraft("run", "--resume", made.stdout.strip()[:-1], "--url", live.url)
    assert run.exit_code == 0
    assert "all its attempts are there already" in run.stderr
