from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.left_recursion import left_recursive


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([[["a"]]], None),
        ([[[0, "a"], ["b"]]], 0),
        ([[["a", 0], []]], None),
        ([[[0]]], None),
        ([[[1, 0, "a"]], [[]]], 0),
        ([[[1, 0, "a"], ["b"]], [["c"]]], None),
        ([[["x"]], [[2, "a"]], [[1]]], 1),
    ],
    ids=[
        "none",
        "itself",
        "at the end",
        "nothing but itself",
        "after nothing",
        "after something",
        "by another",
    ],
)
def test_rules_that_start_with_themselves(rules: list, found: int | None) -> None:
    assert left_recursive(rules) == found


def expected(rules: Sequence[Sequence[Sequence[object]]]) -> bool:
    """By definition: follow what may come first, as far as it goes."""
    empty = set()
    for _ in rules:
        empty |= {n for n, rule in enumerate(rules) if any(all(it in empty for it in alt) for alt in rule)}

    def first(rule: int) -> set[tuple[int, bool]]:
        found = set()
        for alternative in rules[rule]:
            for place, symbol in enumerate(alternative):
                if isinstance(symbol, int):
                    found.add((symbol, place + 1 < len(alternative)))
                if symbol not in empty:
                    break
        return found

    for start in range(len(rules)):
        seen, todo = set(), [(start, False)]
        while todo:
            rule, rest = todo.pop()
            for following, more in first(rule):
                state = (following, rest or more)
                if state not in seen:
                    seen.add(state)
                    todo.append(state)
        if (start, True) in seen:
            return True
    return False


symbols = st.integers(0, 4) | st.just("a")


@given(st.lists(st.lists(st.lists(symbols, max_size=3), max_size=2), min_size=5, max_size=5))
def test_found_exactly_where_there_is_one(rules: list[list[list[object]]]) -> None:
    assert (left_recursive(rules) is not None) == expected(rules)
