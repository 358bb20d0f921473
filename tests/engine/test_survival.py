import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.survival import Survival

CHANCES = {1: 0.4, 3: 0.7, 6: 0.9}


def test_a_chance_holds_from_its_length_up_to_the_next() -> None:
    alive = np.diff(Survival(CHANCES).expected(2, 6), prepend=0)
    assert alive == pytest.approx(np.cumprod([0.4, 0.7, 0.7, 0.7, 0.9, 0.9]))


def test_what_was_seen_moves_the_chances_of_its_lengths_alone() -> None:
    survival = Survival(CHANCES)
    survival.learn(4, right=3, seen=9)
    survival.learn(1, right=2, seen=2)
    firsts = [float(survival.expected(length, 1)[0]) for length in (1, 3, 6)]
    assert firsts == pytest.approx([(3.2 + 2) / 10, (5.6 + 2) / 10, (7.2 + 1) / 10])


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 70), st.integers(0, 70)), max_size=20),
    st.integers(1, 100),
)
def test_expectations_grow_and_stay_possible(seen: list[tuple[int, int, int]], length: int) -> None:
    survival = Survival(CHANCES)
    for start, right, more in seen:
        survival.learn(start, right, right + more)
    expected = survival.expected(length, 64)
    assert np.all(np.diff(expected, prepend=0) > 0)
    assert np.all(expected < np.arange(1, 65))
