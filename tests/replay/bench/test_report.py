from dataclasses import replace
from typing import Any

from replay.bench.report import MOST_SLOW, render_bench


def row(text: str, name: str, table: int = 0) -> list[str]:
    found = [line.split() for line in text.splitlines() if line.startswith(f"{name} ")]
    return found[table]


def test_every_arm_and_limit_has_its_row(bench: Any) -> None:
    text = render_bench(bench.result(*(bench.measured(f"u{n}") for n in range(6))))
    assert "bench of suite: 6 units, 5 repeats" in text
    assert row(text, "redraft")[:7] == ["redraft", "2.00x", "2.00", "to", "2.00", "2.00x", "2.00x"]
    assert row(text, "redraft", 1) == ["redraft", "100%", "12/12", "18", "96", "30", "12"]
    assert row(text, "plain")[-3:-1] == ["0%", "0%"]
    assert row(text, "LB0")[1] == "2.75x"
    assert row(text, "LB1")[1].endswith("x")


def test_the_worst_case_of_each_arm_is_named(bench: Any) -> None:
    text = render_bench(bench.result(bench.measured("a"), bench.measured("b", {"redraft": 100.0})))
    assert "worst of redraft: unit b, 1.10x" in text
    assert "no unit in any arm" in text


def test_slow_downs_are_shown_and_counted_where_they_are_many(bench: Any) -> None:
    text = render_bench(bench.result(bench.measured("a", {"redraft": 220.0})))
    assert "slower than plain: unit a in redraft, 0.50x" in text
    many = [bench.measured(f"u{n}", {"redraft": 220.0}) for n in range(MOST_SLOW + 3)]
    text = render_bench(bench.result(*many))
    assert text.count("slower than plain: unit") == MOST_SLOW
    assert "and 3 more, all in the JSON" in text


def test_a_part_says_that_it_is_one(bench: Any) -> None:
    whole = bench.result(bench.measured("a"))
    assert "1 of 3 units" in render_bench(whole.model_copy(update={"units_planned": 3}))


def test_the_machine_and_what_disturbed_it_come_last(bench: Any) -> None:
    result = bench.result(bench.measured("a", {"control": 150.0}), noise=("it was loud",))
    lines = render_bench(result).splitlines()
    assert "tiny.gguf (Q8_0, bf16 cache)" in lines[-4]
    assert "load 0.1 to 2.1, 1% used by others" in lines[-4]
    assert "1: 10, 4: 16" in lines[-4]
    assert "explain 110%" in lines[-4]
    assert lines[-3] == "warning: it was loud"
    assert "warning: plain generation measured twice differs by 27%" in lines[-2]
    assert "warning: in unit a plain generation measured twice differs by 27%" in lines[-1]
    untold = result.machine.model_copy(update={"load_start": None, "used_by_others": None})
    assert "load ? to 2.1;" in render_bench(result.model_copy(update={"machine": untold}))


def test_what_failed_is_said(bench: Any) -> None:
    one = bench.measured("a\nb")
    alone = replace(one, attempts=(replace(one.attempts[0], status="error", error="too\nlarge"),))
    text = render_bench(bench.result(alone))
    assert "failed: unit a b in plain: too large" in text
    assert row(text, "redraft")[1] == "-"
