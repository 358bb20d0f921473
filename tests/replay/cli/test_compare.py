import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bundles import Store
from replay.evaluation import judge_run

Redraft = Callable[..., Result]
FIRST, SECOND = "20260101-120000-abcd", "20260102-120000-abcd"


@pytest.fixture
def put(make: Any, redraft: Redraft) -> Callable[..., None]:
    """Puts judged runs into the store of the folder, a day apart."""

    def stored(*runs: Any) -> None:
        with Store.open(Path("redraft.duckdb")) as store:
            for day, evaluated in enumerate(runs, 1):
                run = replace(evaluated.run, run_id=f"2026010{day}-120000-abcd")
                store.add_bundle(make.bundle(evaluated.units))
                store.create_run(run)
                for attempt in evaluated.attempts:
                    store.add_attempt(replace(attempt, run_id=run.run_id))
                judge_run(store, run)

    return stored


def lost(make: Any) -> Any:
    return make.evaluated(2).changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(0,))


@pytest.mark.parametrize("pair", [("last~1", "last"), ("last~1",), (FIRST, SECOND), ("20260101", "20260102")])
def test_runs_are_named_in_every_way(
    pair: tuple[str, ...], make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    put(make.evaluated(2), lost(make))
    result = redraft("compare", *pair, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (found["before"]["run_id"], found["after"]["run_id"]) == (FIRST, SECOND)
    assert [change["fact_id"] for change in found["arms"]["redraft"]["lost"]] == ["new", "old"]


def test_every_format_is_shown_and_written(make: Any, redraft: Redraft, put: Callable[..., None]) -> None:
    put(make.evaluated(2), lost(make))
    for shape, beginning in (("table", "before: run"), ("json", "{"), ("md", "### redraft: two runs")):
        shown = redraft("compare", "last~1", "--format", shape)
        assert (shown.exit_code, shown.stdout.startswith(beginning)) == (0, True)
        written = redraft("compare", "last~1", "--format", shape, "--output", "c.out")
        assert (written.stdout, written.stderr) == ("", "comparison: c.out\n")
        assert Path("c.out").read_text().rstrip() == shown.stdout.rstrip()


def test_another_model_is_refused_unless_asked_for(
    make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    evaluated = make.evaluated(1)
    other = replace(evaluated.run, provenance={**evaluated.run.provenance, "model_fingerprint": "g"})
    put(evaluated, replace(evaluated, run=other))
    refused = redraft("compare", "last~1")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "model_fingerprint 'f' then, 'g' now" in refused.stderr
    assert redraft("compare", "last~1", "--across").stdout.startswith("ACROSS DIFFERENT RUNS: model_finger")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["last", "last"], 2, "cannot be compared with itself"),
        (["last~7"], 2, "the store holds 2 runs"),
        (["zzz"], 2, "no run 'zzz'"),
        (["last~1", "--json", "--format", "md"], 2, "give one of them"),
        (["last~1", "--output", "no/such/folder"], 2, "no/such/folder"),
        (["last~1", "--across"], 5, "have no unit in common"),
    ],
)
def test_bad_input_is_one_line_and_the_right_code(
    arguments: list[str], code: int, said: str, make: Any, redraft: Redraft, put: Callable[..., None]
) -> None:
    unit = make.unit("other")
    evaluated = make.evaluated(1)
    attempts = tuple(replace(attempt, unit_id="other") for attempt in evaluated.attempts)
    put(evaluated, replace(evaluated, units=(unit,), attempts=attempts, run=make.run([unit])))
    result = redraft("compare", *arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1)
    assert said in result.stderr


def test_help_shows_an_example(redraft: Redraft) -> None:
    assert "redraft compare last~1 last" in redraft("compare", "--help").stdout
