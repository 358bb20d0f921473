import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bundles import Store

Redraft = Callable[..., Result]
OTHER = "20260102-120000-ffff"


@pytest.fixture
def stored(redraft: Redraft) -> Callable[..., str]:
    """Puts an evaluated run into the store of the folder, judged; gives its id."""

    def put(evaluated: Any, run_id: str | None = None) -> str:
        if run_id:
            attempts = tuple(replace(a, run_id=run_id) for a in evaluated.attempts)
            evaluated = replace(evaluated, run=replace(evaluated.run, run_id=run_id), attempts=attempts)
        with Store.open(Path("redraft.duckdb")) as store:
            evaluated.stored(store)
        assert redraft("judge", evaluated.run.run_id).exit_code == 0
        return str(evaluated.run.run_id)

    return put


@pytest.fixture
def written(make: Any, redraft: Redraft, stored: Callable[..., str]) -> str:
    """A run of two units whose baseline is in b.json."""
    run_id = stored(make.evaluated(2))
    assert redraft("baseline", "write", run_id, "b.json").exit_code == 0
    return run_id


def test_a_run_passes_against_its_own_baseline(redraft: Redraft, written: str) -> None:
    check = redraft("baseline", "check", written, "b.json")
    assert (check.exit_code, check.stdout) == (0, "baseline: pass\n")
    gate = redraft("gate", written, "--baseline", "b.json")
    assert (gate.exit_code, gate.stdout.splitlines()[0]) == (0, "gate: pass")


def test_what_was_lost_since_fails_both(
    make: Any, redraft: Redraft, stored: Callable[..., str], written: str
) -> None:
    """Plain and arm alike, which a comparison within the run cannot see."""
    worse = make.evaluated(2)
    for arm in worse.run.arms:
        worse = worse.changed("u1", arm, text="Nobody owns it.")
    run_id = stored(worse, OTHER)
    check = redraft("baseline", "check", run_id, "b.json")
    assert check.exit_code == 1
    assert (
        "  b.json: plain lost critical fact new of unit u1 against the baseline" in check.stdout.splitlines()
    )
    gate = redraft("gate", run_id, "--baseline", "b.json")
    assert gate.exit_code == 1
    assert "b.json: redraft lost critical fact new of unit u1" in gate.stdout
    assert redraft("gate", run_id, "--baseline", "b.json", "--exit-zero").exit_code == 0
    found = json.loads(redraft("baseline", "check", run_id, "b.json", "--json").stdout)
    assert (found["verdict"], found["exit_code"], len(found["failures"])) == ("regression", 1, 3)


def test_units_that_came_or_went_fail_by_name(
    make: Any, redraft: Redraft, stored: Callable[..., str], written: str
) -> None:
    check = redraft("baseline", "check", stored(make.evaluated(3), OTHER), "b.json")
    assert check.exit_code == 1
    assert "b.json: the baseline is stale: it was written for bundle" in check.stdout
    assert "b.json: extra, not in the baseline: u2 (plain), u2 (redraft)" in check.stdout


def test_a_failed_attempt_cannot_be_held_against_it(
    make: Any, redraft: Redraft, stored: Callable[..., str], written: str
) -> None:
    broken = make.evaluated(2).changed("u0", "redraft", status="error", error="busy")
    check = redraft("baseline", "check", stored(broken, OTHER), "b.json")
    assert check.exit_code == 3
    assert "fact new of unit u0 in redraft cannot be held against the baseline" in check.stdout


def test_another_model_is_refused_and_says_what_to_do(
    make: Any, redraft: Redraft, stored: Callable[..., str], written: str
) -> None:
    other = make.evaluated(2)
    changed = {**other.run.provenance, "model_fingerprint": "g"}
    run_id = stored(replace(other, run=replace(other.run, provenance=changed)), OTHER)
    for arguments in (["baseline", "check", run_id, "b.json"], ["gate", run_id, "--baseline", "b.json"]):
        refused = redraft(*arguments)
        assert refused.exit_code == 2
        assert "b.json is stale for run 20260102-120000-ffff" in refused.stderr
        assert "model_fingerprint 'f' then, 'g' now" in refused.stderr
        assert f"redraft baseline write {run_id} b.json --force" in refused.stderr
        assert refused.stderr.count("\n") == 1
        across = redraft(*arguments, "--across")
        assert across.exit_code == 0
        assert across.stdout.splitlines()[1].startswith("  ACROSS DIFFERENT RUNS: model_fingerprint")


def test_nothing_replaces_a_baseline_unasked(redraft: Redraft, written: str) -> None:
    before = Path("b.json").read_bytes()
    again = redraft("baseline", "write", written, "b.json")
    assert again.exit_code == 2
    assert "b.json: is there already; --force" in again.stderr
    forced = redraft("baseline", "write", written, "b.json", "--force")
    assert forced.exit_code == 0
    assert forced.stdout.strip() == f"b.json: 2 units, 6 answers of run {written}, the same as before"
    assert Path("b.json").read_bytes() == before
    assert [path.name for path in Path().glob("*.json")] == ["b.json"]


def test_only_a_baseline_is_replaced(redraft: Redraft, written: str) -> None:
    Path("notes.json").write_text("{}")
    for name in ("notes.json", "redraft.duckdb"):
        before = Path(name).read_bytes()
        refused = redraft("baseline", "write", written, name, "--force")
        assert refused.exit_code == 2
        assert f"{name}: is no baseline" in refused.stderr
        assert Path(name).read_bytes() == before


def test_a_run_that_does_not_pass_is_written_with_a_word(
    make: Any, redraft: Redraft, stored: Callable[..., str]
) -> None:
    run_id = stored(make.evaluated(2).changed("u1", "redraft", text="Bo owns it."))
    written = redraft("baseline", "write", run_id, "b.json")
    assert written.exit_code == 0
    assert f"the gate says regression of run {run_id}" in written.stderr
    assert '"fail"' in Path("b.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["baseline", "check", "last", "none.json"], "none.json"),
        (["gate", "last", "--baseline", "none.json"], "none.json"),
        (["baseline", "check", "last", "empty.json"], "empty.json: not JSON"),
        (["baseline", "check", "last", "binary.json"], "binary.json: no baseline, not even text"),
        (["baseline", "check", "zzz", "b.json"], "zzz"),
        (["baseline", "write", "last", "no/such/b.json"], "no/such"),
        (["baseline", "write", "last", "."], "."),
    ],
)
def test_bad_input_is_one_line(redraft: Redraft, written: str, arguments: list[str], said: str) -> None:
    Path("empty.json").write_text("")
    Path("binary.json").write_bytes(b"\xff\xfe\x00")
    result = redraft(*arguments)
    assert result.exit_code in (2, 4)
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_runs_that_are_not_judged_or_not_complete_are_no_baseline(make: Any, redraft: Redraft) -> None:
    evaluated = make.evaluated(2)
    missing = replace(evaluated, attempts=evaluated.attempts[1:])
    with Store.open(Path("redraft.duckdb")) as store:
        missing.stored(store)
    unjudged = redraft("baseline", "write", "last", "b.json")
    assert (unjudged.exit_code, "redraft judge" in unjudged.stderr) == (2, True)
    redraft("judge")
    incomplete = redraft("baseline", "write", "last", "b.json")
    assert (incomplete.exit_code, "--resume" in incomplete.stderr) == (2, True)
    assert not Path("b.json").exists()
