from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge import Assessment
from judge.parts import joined, without

PLAN = "Ava owns the launch on 15 June."
TEXTS = [PLAN, "Bo owns the launch on 12 June.", "Ava owns the launch on some day.", ""]
RUNS = st.dictionaries(
    st.tuples(st.sampled_from(["u1", "u2", "u3", "u4"]), st.sampled_from(["plain", "control", "redraft"])),
    st.sampled_from(TEXTS),
)


def unsorted(assessment: Assessment) -> Assessment:
    """With everything that is listed in one order."""
    listed = ("flips", "regressions", "missing", "errors")
    changes: dict[str, Any] = {name: tuple(sorted(map(repr, getattr(assessment, name)))) for name in listed}
    return replace(assessment, **changes)


def part(run: Any, *unit_ids: str) -> Assessment:
    return replace(run, run=replace(run.run, unit_ids=unit_ids)).assess()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), texts=RUNS, repeats=st.integers(1, 2))
def test_parts_come_to_the_whole(
    judged: Callable, unit: Callable, data: st.DataObject, texts: dict, repeats: int
) -> None:
    units = (unit("u1", pinned=(PLAN,)), unit("u2", session_id="s"), unit("u3", session_id="s"), unit("u4"))
    full = judged(texts, units=units, repeats=repeats)
    gone = data.draw(st.sets(st.sampled_from(full.attempts), max_size=4))
    run = replace(full, attempts=tuple(attempt for attempt in full.attempts if attempt not in gone))
    whole = run.assess()
    parts = [part(run, "u1"), part(run, "u2", "u3"), part(run, "u4")]
    assert unsorted(joined(parts)) == unsorted(whole)
    for index, one in enumerate(parts):
        rest = parts[:index] + parts[index + 1 :]
        assert unsorted(without(whole, one)) == unsorted(joined(rest))


def test_a_part_is_the_whole_of_itself(judged: Callable) -> None:
    assert joined([judged().assess()]) == judged().assess()
