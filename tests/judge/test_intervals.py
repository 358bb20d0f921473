import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, multinomial

from judge.intervals import Estimate, excess_limits, rate, rate_limits

COUNTS = st.integers(1, 300).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))
RATES = (0.0, 0.01, 0.05, 0.1, 0.3, 0.45)


@given(counts=COUNTS, confidence=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_rate_has_the_exact_interval_of_scipy(counts: tuple[int, int], confidence: float) -> None:
    count, of = counts
    theirs = binomtest(count, of).proportion_ci(confidence, method="exact")
    ours = rate(count, of, confidence)
    assert ours.value == count / of
    assert (ours.low, ours.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


@given(counts=COUNTS)
def test_one_sided_limits_are_those_of_scipy(counts: tuple[int, int]) -> None:
    low, high = rate_limits(*counts, 0.95)
    above = binomtest(*counts, alternative="greater").proportion_ci(0.95, method="exact")
    below = binomtest(*counts, alternative="less").proportion_ci(0.95, method="exact")
    assert (low, high) == (pytest.approx(above.low), pytest.approx(below.high))


def test_a_rate_of_nothing_is_not_known() -> None:
    assert rate(0, 0, 0.95) == Estimate(None, None, None)


@given(counts=COUNTS)
def test_without_losses_of_the_other_the_upper_limit_is_the_exact_one(counts: tuple[int, int]) -> None:
    ours, of = counts
    assert excess_limits(ours, 0, of, 0.95)[1] == pytest.approx(float(rate_limits(ours, of, 0.95)[1]))


@given(ours=st.integers(0, 40), theirs=st.integers(0, 40), rest=st.integers(0, 40))
def test_limits_enclose_the_excess_and_mirror_each_other(ours: int, theirs: int, rest: int) -> None:
    of = ours + theirs + rest + 1
    low, high = excess_limits(ours, theirs, of, 0.95)
    assert -1 <= low <= (ours - theirs) / of <= high <= 1
    mirrored = excess_limits(theirs, ours, of, 0.95)
    assert (low, high) == (pytest.approx(-mirrored[1]), pytest.approx(-mirrored[0]))


@pytest.mark.parametrize("of", [10, 40, 90])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_true_excess_is_beyond_a_limit_as_rarely_as_promised(of: int, confidence: float) -> None:
    """Over every outcome that `of` sessions can have, weighed by its probability: no simulation needed."""
    ours, theirs = (grid.ravel() for grid in np.meshgrid(np.arange(of + 1), np.arange(of + 1)))
    possible = ours + theirs <= of
    ours, theirs = ours[possible], theirs[possible]
    low, high = excess_limits(ours, theirs, of, confidence)
    outcomes = np.stack([ours, theirs, of - ours - theirs], axis=1)
    for p in RATES:
        for q in RATES:
            chance = multinomial.pmf(outcomes, of, [p, q, 1 - p - q])
            assert chance[high < p - q - 1e-12].sum() <= 1 - confidence
            assert chance[low > p - q + 1e-12].sum() <= 1 - confidence
