from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from judge.intervals import Estimate
from judge.significance import (
    RULINGS,
    SessionCounts,
    forecast,
    rule,
    sessions_needed,
    sign_test,
    weigh,
)

WITHIN, BEYOND, UNDECIDED = range(3)
MARGIN, CONFIDENCE = 0.05, 0.95
RUNS = 400


@given(worse=st.integers(0, 200), better=st.integers(0, 200))
def test_sign_test_is_the_exact_binomial_test_of_scipy(worse: int, better: int) -> None:
    expected = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    assert sign_test(worse, better) == pytest.approx(expected)


def test_one_session_proves_nothing() -> None:
    assert sign_test(1, 0) == 1.0


def test_identical_tokens_leave_nothing_to_estimate() -> None:
    weight = weigh(SessionCounts(sessions=3, same=8, units=8), 0.0, CONFIDENCE)
    assert (weight.ruling, weight.sessions_needed, weight.p_value) == ("within", None, 1.0)
    assert weight.loss_rate == weight.excess == Estimate(0.0, 0.0, 0.0)
    assert not SessionCounts().identical


def test_without_a_margin_nothing_is_ruled() -> None:
    weight = weigh(SessionCounts(sessions=9, worse=2, lost=2, lost_alone=2, units=9), None, CONFIDENCE)
    assert (weight.ruling, weight.sessions_needed) == (None, None)
    assert weight.p_value == 0.5
    assert weight.loss_rate.value == pytest.approx(2 / 9)


def test_without_sessions_all_of_them_are_needed() -> None:
    weight = weigh(SessionCounts(units=3), MARGIN, CONFIDENCE)
    assert (weight.ruling, weight.excess) == ("undecided", Estimate())
    assert weight.sessions_needed == sessions_needed(0, 0, 0, MARGIN, CONFIDENCE) is not None


@pytest.mark.parametrize(("margin", "enough"), [(0.02, 149), (0.05, 59), (0.1, 29)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_without_losses_the_fewest_sessions_are_asked_for_once_enough_were_seen(
    share: float, margin: float, enough: int
) -> None:
    """Before that a loss or another is reckoned with."""
    assert (1 - margin) ** enough <= 1 - CONFIDENCE < (1 - margin) ** (enough - 1)
    of = int(enough * share)
    needed = sessions_needed(0, 0, of, margin, CONFIDENCE)
    assert needed is not None
    least = 1.0 if share >= 0.5 else 1.1
    assert least * enough <= of + needed <= least**3 * enough


@pytest.mark.parametrize(
    ("ours", "margin"),
    [pytest.param(2, 0.05, id="at-the-margin"), pytest.param(0, 0.0, id="no-margin-at-all")],
)
def test_what_no_number_of_sessions_tells_has_none(ours: int, margin: float) -> None:
    assert sessions_needed(ours, 0, 40, margin, CONFIDENCE) is None


@pytest.mark.parametrize("true_rate", [0.0, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("drift", [0.0, 0.03])
@pytest.mark.parametrize("sessions", [40, 120, 400])
def test_a_rate_within_the_margin_fails_no_more_often_than_alpha(
    true_rate: float, drift: float, sessions: int
) -> None:
    assert (simulated(true_rate, drift, sessions) == BEYOND).mean() <= 1 - CONFIDENCE


@pytest.mark.parametrize("drift", [0.0, 0.03])
@pytest.mark.parametrize("sessions", [40, 120, 400])
def test_a_rate_beyond_the_margin_passes_no_more_often_than_alpha(drift: float, sessions: int) -> None:
    assert (simulated(0.1, drift, sessions) == WITHIN).mean() <= 1 - CONFIDENCE


@pytest.mark.parametrize(
    ("true_rate", "sessions", "ruling"),
    [
        pytest.param(0.0, 58, UNDECIDED, id="none-too-few"),
        pytest.param(0.0, 59, WITHIN, id="none-enough"),
        pytest.param(0.01, 40, UNDECIDED, id="1%-too-few"),
        pytest.param(0.01, 300, WITHIN, id="1%-enough"),
        pytest.param(0.02, 40, UNDECIDED, id="2%-too-few"),
        pytest.param(0.02, 600, WITHIN, id="2%-enough"),
        pytest.param(0.05, 40, UNDECIDED, id="5%-never"),
        pytest.param(0.05, 2000, UNDECIDED, id="5%-never-ever"),
        pytest.param(0.1, 40, UNDECIDED, id="10%-too-few"),
        pytest.param(0.1, 400, BEYOND, id="10%-enough"),
    ],
)
def test_a_run_is_inconclusive_where_it_should_be(true_rate: float, sessions: int, ruling: int) -> None:
    assert (simulated(true_rate, 0.0, sessions) == ruling).mean() >= 0.85


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1])
@pytest.mark.parametrize(
    ("ours", "theirs", "of"),
    [
        (0, 0, 10),
        (0, 0, 40),
        (1, 0, 50),
        (1, 1, 50),
        (2, 0, 30),
        (4, 0, 40),
        (3, 3, 60),
        (8, 0, 80),
        (1, 2, 100),
    ],
)
def test_a_forecast_at_the_rates_shown_is_right_within_a_factor_of_one_and_a_half(
    ours: int, theirs: int, of: int, margin: float
) -> None:
    """Of runs that go on at the rates shown so far, half are decided with so many sessions, give or take."""
    total = forecast((ours, theirs), of, (ours / of, theirs / of), margin, CONFIDENCE)
    if rule(ours, theirs, of, margin, CONFIDENCE) != UNDECIDED or total is None or total > 3000:
        return
    assert decided(ours, theirs, of, int(1.5 * total) - of, margin) >= 0.5
    sooner = range(0, int(total / 1.5) - of, 5)
    assert all(decided(ours, theirs, of, more, margin) < 0.5 for more in sooner)


@pytest.mark.parametrize(("ours", "needed"), [(2, 24), (3, 186), (8, 121)])
def test_a_forecast_is_exact_at_the_rate_that_a_run_of_100_shows(ours: int, needed: int) -> None:
    """By the binomial distribution, the first number of further sessions with which half are decided."""
    assert forecast((ours, 0), 100, (ours / 100, 0), MARGIN, CONFIDENCE) == 100 + needed
    assert probability_decided(ours, 100, needed) >= 0.5
    assert all(probability_decided(ours, 100, fewer) < 0.5 for fewer in range(1, needed))


def probability_decided(ours: int, of: int, more: int) -> float:
    lost = np.arange(more + 1)
    decided = rule(ours + lost, 0, of + more, MARGIN, CONFIDENCE) != UNDECIDED
    return float(binom.pmf(lost, more, ours / of)[decided].sum())


@pytest.mark.parametrize(
    ("true_rate", "sessions"),
    [
        *((rate, sessions) for rate in (0.0, 0.01, 0.02, 0.1) for sessions in (20, 40)),
        *((rate, 80) for rate in (0.01, 0.02, 0.1)),
        (0.02, 100),
    ],
)
def test_inconclusive_runs_ask_for_as_many_sessions_as_they_take(true_rate: float, sessions: int) -> None:
    """In the median over runs whose true rate is known, within a factor of one and a half."""
    draw = np.random.default_rng(sessions)
    ratios = []
    for ours in draw.binomial(sessions, true_rate, size=RUNS).tolist():
        if rule(ours, 0, sessions, MARGIN, CONFIDENCE) == UNDECIDED:
            more = sessions_needed(ours, 0, sessions, MARGIN, CONFIDENCE)
            asked = np.inf if more is None else sessions + more
            ratios.append(asked / taken(ours, sessions, true_rate))
    assert 1 / 1.5 <= np.median(ratios) <= 1.5


@cache
def taken(ours: int, sessions: int, true_rate: float) -> int:
    """Sessions in all with which half of the runs that go on from here are decided."""
    draw = np.random.default_rng(0)
    for total in range(sessions + 1, 2000):
        lost = ours + draw.binomial(total - sessions, true_rate, size=RUNS)
        if (rule(lost, 0, total, MARGIN, CONFIDENCE) != UNDECIDED).mean() >= 0.5:
            return total
    raise AssertionError(f"never decided from {ours} of {sessions} at {true_rate}")


def simulated(true_rate: float, drift: float, sessions: int) -> np.ndarray:
    """Rulings on runs in which the arm loses so much more than a control that loses by `drift` alone."""
    draw = np.random.default_rng(int(1000 * true_rate) + sessions)
    chances = [true_rate + drift, drift, 1 - true_rate - 2 * drift]
    counts = draw.multinomial(sessions, chances, size=RUNS)
    return rule(counts[:, 0], counts[:, 1], sessions, MARGIN, CONFIDENCE)


def decided(ours: int, theirs: int, of: int, more: int, margin: float) -> float:
    """Share of runs of further sessions, at the rates so far, that end in a ruling."""
    draw = np.random.default_rng(more)
    further = draw.multinomial(more, [ours / of, theirs / of, (of - ours - theirs) / of], size=RUNS)
    rulings = rule(ours + further[:, 0], theirs + further[:, 1], of + more, margin, CONFIDENCE)
    return float((rulings != RULINGS.index("undecided")).mean())


@pytest.mark.parametrize(("ours", "farther"), [(3, 2), (8, 9)])
def test_a_run_is_taken_to_lie_nearer_to_the_margin_than_its_arm(ours: int, farther: int) -> None:
    """As those farther away are decided and ask for nothing."""
    shown, beyond = (
        forecast((ours, 0), 100, (rate / 100, 0), MARGIN, CONFIDENCE) or 0 for rate in (ours, farther)
    )
    needed = sessions_needed(ours, 0, 100, MARGIN, CONFIDENCE)
    assert needed is not None
    assert beyond < 100 + needed < shown
