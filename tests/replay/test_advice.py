from dataclasses import replace
from typing import Any

import pytest


def test_the_most_pressing_comes_first(make: Any) -> None:
    evaluated = make.evaluated(4).changed("u0", "plain", status="error", error="busy", text="")
    evaluated = evaluated.changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(0,))
    evaluated = evaluated.changed("u2", "redraft", wall_ms=400.0)
    for arm in evaluated.run.arms:
        evaluated = evaluated.changed("u3", arm, text="Nobody knows.")
    found = evaluated.summary().look_at
    assert [line.split(" ")[0] for line in found] == ["1", "fact", "redraft,", "1", "unit"]
    assert "plain of unit u0 is one: busy; `redraft run --resume 20260101-120000-abcd` makes them" in found[0]
    assert (
        found[1]
        == "fact new of unit u1, which redraft lost: the difference was taken over from the stale answer"
    )
    assert "33% of the units" in found[2]
    assert found[3].endswith("such as u3")
    assert found[4] == "unit u2, where redraft is slower than plain: 0.25x"


def test_a_clean_run_needs_no_looking_at(make: Any) -> None:
    assert make.evaluated(3).summary().look_at == ()


def test_a_repeat_is_named(make: Any) -> None:
    evaluated = make.evaluated(1, repeats=2)
    last = evaluated.attempts[-1]
    without = type(evaluated)(evaluated.run, evaluated.units, evaluated.attempts[:-1])
    assert f"{last.arm} of unit u0, repeat 1 is one and has not run" in without.summary().look_at[0]


def test_attempts_that_did_not_start_alike_are_told(make: Any) -> None:
    evaluated = make.evaluated(3).changed("u1", "control", prompt_tokens=8)
    (said,) = evaluated.summary().look_at
    assert said.startswith("1 units whose attempts did not start alike, such as u1: ")
    assert said.endswith("start it with --cache-ram 0")


def test_what_arms_that_ran_at_once_took_is_told_of_what_all_have_finished(make: Any) -> None:
    evaluated = make.evaluated(3, arms=("plain", "control", "redraft"))
    evaluated = evaluated.changed("u0", "plain", passes=90, rows=90).changed(
        "u0", "redraft", passes=9, rows=99
    )
    evaluated = evaluated.changed("u1", "plain", passes=50, rows=50)
    evaluated = evaluated.changed("u1", "redraft", status="error", error="busy", passes=0)
    contended = replace(evaluated, run=replace(evaluated.run, provenance={"jobs": 3}))
    (said,) = (line for line in contended.summary().look_at if line.startswith("passes, not times"))
    assert said.endswith("3 at once: plain 90 passes, 90 rows; redraft 9 passes, 99 rows")


def test_answers_that_were_cut_off_are_told_where_they_are_half_or_more(make: Any) -> None:
    evaluated = make.evaluated(4)
    longest = tuple(range(evaluated.run.max_tokens))
    evaluated = evaluated.changed("u1", "plain", token_ids=longest, token_src=(-1,) * len(longest))
    assert not any("cut off" in line for line in evaluated.summary().look_at)
    evaluated = evaluated.changed("u3", "plain", token_ids=longest, token_src=(-1,) * len(longest))
    (said,) = (line for line in evaluated.summary().look_at if "cut off" in line)
    assert said.startswith("2 of 4 plain answers, cut off at their longest length, such as that to u1:")


@pytest.mark.parametrize(
    ("noted", "told"),
    [
        pytest.param({"load_start": 2.1, "load_end": 2.0}, "load 2.1 on 2 cores", id="at the start"),
        pytest.param(
            {"load_start": 0.1, "load_end": 3}, "load 3 on 2 cores, 2 of it the engine's", id="at the end"
        ),
        pytest.param({"load_start": 0.1, "load_end": 2.1}, None, id="the engine alone"),
        pytest.param({"load_start": None}, None, id="unknown"),
        pytest.param({"load_start": 9.0, "jobs": 2}, None, id="times do not count"),
    ],
)
def test_a_busy_machine_is_told(make: Any, noted: dict[str, Any], told: str | None) -> None:
    evaluated = make.evaluated(2)
    provenance = {"cores": 2, "threads": 2, "jobs": 1} | noted
    found = replace(evaluated, run=replace(evaluated.run, provenance=provenance)).summary().look_at
    said = [line for line in found if "not quiet" in line]
    assert [line.endswith(told) for line in said] == [True] if told else not said
