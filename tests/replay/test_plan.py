from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import NothingToRun, SettingsError
from replay.plan import blocks, remaining, rotated, select

specs = st.lists(
    st.sampled_from(["control", "redraft", "redraft:tau=3,floor=1", "redraft:tau=2,floor=1"]), unique=True
).map(lambda arms: ("plain", *arms))


@given(count=st.integers(1, 9), repeats=st.integers(1, 4), arms=specs, seed=st.integers())
def test_every_attempt_is_planned_exactly_once(
    make: Any, count: int, repeats: int, arms: tuple[str, ...], seed: int
) -> None:
    units = [make.unit(f"u{index}") for index in range(count)]
    run = make.run(units, arms=arms, repeats=repeats, seed=seed)
    planned = [
        (block.unit.unit_id, step.arm.name, step.repeat)
        for block in blocks(run, units)
        for step in block.steps
    ]
    wanted = {(unit.unit_id, arm, repeat) for unit in units for arm in arms for repeat in range(repeats)}
    assert len(planned) == len(wanted)
    assert set(planned) == wanted
    for block in blocks(run, units):
        assert [step.order for step in block.steps] == list(range(1, len(arms) * repeats + 1))


@given(arms=specs, seed=st.integers(), repeats=st.integers(1, 2))
def test_rotation_is_balanced(make: Any, arms: tuple[str, ...], seed: int, repeats: int) -> None:
    units = [make.unit(f"u{index}") for index in range(2 * len(arms) // repeats)]
    run = make.run(units, arms=arms, repeats=repeats, seed=seed)
    orders = [
        [step.arm.name for step in block.steps if step.repeat == repeat]
        for block in blocks(run, units)
        for repeat in range(repeats)
    ]
    places = Counter((arm, order.index(arm)) for order in orders for arm in arms)
    before = Counter(
        (a, b) for order in orders for a, b in permutations(arms, 2) if order.index(a) < order.index(b)
    )
    assert set(places.values()) == {2}
    assert all(before[a, b] == before[b, a] for a, b in permutations(arms, 2))


@given(st.integers(1, 7), st.integers(0, 5))
def test_no_arm_gets_a_better_place_than_another(count: int, start: int) -> None:
    arms: list[Any] = list(range(count))
    turns = [rotated(arms, 2 * start * count + turn) for turn in range(2 * count)]
    places = Counter((arm, place) for turn in turns for place, arm in enumerate(turn))
    assert set(places.values()) == {2}
    for first in range(count):
        for second in range(first):
            assert sum(turn.index(first) < turn.index(second) for turn in turns) == count


def test_order_depends_on_the_seed(make: Any) -> None:
    units = [make.unit()]
    orders = {
        tuple(step.arm.name for block in blocks(make.run(units, seed=seed), units) for step in block.steps)
        for seed in range(20)
    }
    assert len(orders) > 1


def test_a_unit_that_the_bundle_lacks_is_named(make: Any) -> None:
    with pytest.raises(SettingsError, match="no unit 'gone'"):
        list(blocks(make.run([make.unit("gone")]), [make.unit("here")]))


def test_remaining_counts_a_stale_answer_where_one_is_needed(make: Any) -> None:
    units = [make.unit("made"), make.unit("brought", stale="Bo owns it.")]
    run = make.run(units, arms=("plain", "control"))
    assert remaining(run, units, set()) == 5
    assert remaining(run, units, {("made", "stale", 0)}) == 4
    assert remaining(run, units, {("made", "plain", 0), ("made", "control", 0)}) == 2


def test_filter_looks_at_id_category_and_tags_whatever_the_case(make: Any) -> None:
    units = [make.unit("Ab"), make.unit("x", category="cAb"), make.unit("y", tags=("AB",)), make.unit("z")]
    assert [unit.unit_id for unit in select(units, text="aB")] == ["Ab", "x", "y"]


@given(count=st.integers(1, 30), sample=st.integers(1, 40), seed=st.integers())
def test_sample_keeps_the_order_and_repeats_itself(make: Any, count: int, sample: int, seed: int) -> None:
    units = [make.unit(f"u{index}") for index in range(count)]
    drawn = select(units, sample=sample, seed=seed)
    assert len(drawn) == min(sample, count)
    assert [unit for unit in units if unit in drawn] == list(drawn)
    assert select(units, sample=sample, seed=seed) == drawn


def test_selecting_nothing_is_an_error_that_says_why(make: Any) -> None:
    with pytest.raises(NothingToRun, match="'zz'"):
        select([make.unit()], text="zz")
    with pytest.raises(NothingToRun, match="0 units"):
        select([make.unit()], sample=0)
