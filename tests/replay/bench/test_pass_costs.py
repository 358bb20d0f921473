import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cost import PassCost
from replay.bench.pass_costs import PassCosts

tables = st.dictionaries(st.integers(1, 64), st.floats(0.1, 500), max_size=9).flatmap(
    lambda table: st.floats(0.1, 50).map(lambda one: {**table, 1: one})
)


@given(tables, st.integers(1, 300))
def test_costs_are_what_the_engine_takes_them_for(table: dict[int, float], rows: int) -> None:
    assert PassCosts(table)(rows) == PassCost(table)(rows)


@given(tables, st.integers(1, 300))
def test_more_rows_never_cost_less(table: dict[int, float], rows: int) -> None:
    costs = PassCosts(table)
    assert costs(rows + 1) >= costs(rows)


def test_an_incomplete_block_takes_as_long_as_a_whole_one() -> None:
    costs = PassCosts({1: 7, 4: 16, 8: 24, 16: 40})
    assert [costs(rows) for rows in (1, 2, 4, 5, 8, 9, 16)] == [7, 16, 16, 24, 24, 32, 40]
    assert costs(20) == pytest.approx(40 + 4 * 33 / 15)
