import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cost import FIXED_COST, MARGIN, STAKE, Ledger, PassCost, best_window, first_window, windows
from engine.draft import ENDLESS, Offer
from engine.survival import Survival

TABLE = {1: 7.0, 4: 20.0, 8: 28.0, 64: 148.0}
NO_LIMIT = float("inf")


def offer(chance: float, most: int = ENDLESS, token_ms: float = 0.0) -> Offer:
    return Offer("stale", Survival({0: chance}), 0, most, lambda count: [1] * count, token_ms)


def test_a_pass_costs_what_whole_blocks_of_rows_do() -> None:
    cost = PassCost(TABLE)
    assert [cost(rows) for rows in (1, 2, 4, 5, 9, 64)] == [
        7,
        20,
        20,
        28,
        pytest.approx(28 + 120 * 4 / 56),
        148,
    ]
    assert cost(127) == pytest.approx(148 + 64 * (148 - 7) / 63)


def test_a_cost_above_that_of_more_rows_is_noise() -> None:
    assert PassCost({1: 7, 4: 41, 8: 24}).as_table() == {"1": 7, "4": 24, "8": 24}


def test_one_measured_size_is_enough() -> None:
    assert PassCost({1: 5.0})(3) == 20


def test_passes_behind_more_cells_take_longer_and_wide_ones_most() -> None:
    cost = PassCost(TABLE, deep={1: 10.0, 4: 28.0, 8: 44.0, 64: 270.0}, depth=500)
    assert cost.at(0).as_table() == cost.as_table() == PassCost(TABLE).as_table()
    assert cost.at(500).as_table() == {"1": 10, "4": 28, "8": 44, "64": 270}
    assert [cost.at(250)(rows) for rows in (1, 8)] == [8.5, 36]
    assert cost.at(1000)(8) == 60
    assert PassCost(TABLE, rolls_back=False).at(99).again(7) == PassCost(TABLE, rolls_back=False).again(7)


def test_a_pass_that_was_quicker_behind_more_cells_is_noise() -> None:
    cost = PassCost(TABLE, deep={1: 6.0, 4: 25.0}, depth=100)
    assert cost.at(200).as_table() == {"1": 7, "4": 28, "8": 28, "64": 148}


@given(st.dictionaries(st.integers(2, 64), st.floats(0.1, 500)), st.floats(0.1, 50))
def test_more_rows_never_cost_less(table: dict[int, float], serial_ms: float) -> None:
    cost = PassCost({1: serial_ms, **table})
    costs = [cost(rows) for rows in range(1, 200)]
    assert costs == sorted(costs)


def test_an_unlikely_draft_is_not_worth_a_window() -> None:
    assert best_window(FIXED_COST, [offer(0.3)], 0, 64, NO_LIMIT) is None
    assert best_window(FIXED_COST, [], 0, 64, NO_LIMIT) is None


def test_a_likely_draft_gets_a_wide_window_and_the_likelier_one_is_taken() -> None:
    likely = offer(0.999)
    window = best_window(FIXED_COST, [offer(0.7), likely], 0, 64, NO_LIMIT)
    assert window is not None
    assert (window.offer, window.size) == (likely, 63)


def test_windows_complete_blocks_of_rows_or_take_all_tokens() -> None:
    for chance, most, size in ((0.8, 64, 3), (0.99, 64, 27), (0.99, 10, 10), (0.999, 1000, 63)):
        window = best_window(FIXED_COST, [offer(chance, most)], 0, 64, NO_LIMIT)
        assert window is not None
        assert window.size == size


@pytest.mark.parametrize("chance", [0.6, 0.8, 0.9, 0.97])
def test_a_window_that_cannot_be_rolled_back_costs_what_stands_of_it_once_more(chance: float) -> None:
    free, dear = PassCost(TABLE), PassCost(TABLE, rolls_back=False)
    assert (free.again(7), dear.again(7)) == (0, dear(8) - dear(1))
    sizes = [
        {window.size: window for window in windows(cost, [offer(chance)], 1, 64, NO_LIMIT)}
        for cost in (free, dear)
    ]
    assert sizes[0].keys() == sizes[1].keys()
    for size, window in sizes[1].items():
        falls = 1 - chance**size
        again_ms = window.extra_ms - sizes[0][size].extra_ms
        assert again_ms == pytest.approx(falls * dear.again(1 + window.expected))


def test_where_windows_are_dear_fewer_are_worth_it() -> None:
    free, dear = (PassCost(TABLE, rolls_back=rolls_back) for rolls_back in (True, False))
    assert best_window(free, [offer(0.85)], 0, 64, NO_LIMIT)
    assert not best_window(dear, [offer(0.85)], 0, 64, NO_LIMIT)
    likely = [best_window(cost, [offer(0.97)], 0, 64, NO_LIMIT) for cost in (free, dear)]
    assert [window and window.size for window in likely] == [15, 11]


def test_tokens_that_cost_something_are_drafted_fewer_at_a_time() -> None:
    free, costly = (best_window(FIXED_COST, [offer(0.95, 64, ms)], 0, 64, NO_LIMIT) for ms in (0, 1))
    assert free is not None
    assert costly is not None
    assert costly.size < free.size
    assert best_window(FIXED_COST, [offer(0.95, 64, 8)], 0, 64, NO_LIMIT) is None


def test_rows_behind_a_prompt_are_cheap_so_less_likely_ones_are_worth_it() -> None:
    doubtful = offer(0.6)
    assert best_window(FIXED_COST, [doubtful], 0, 64, NO_LIMIT) is None
    first = first_window(FIXED_COST, [doubtful], 62, 64, NO_LIMIT)
    assert first is not None
    assert first.size == 2


chances = st.floats(0.01, 0.99)


@given(
    st.lists(st.tuples(chances, st.integers(0, 100), st.floats(0, 3)), max_size=4),
    st.integers(1, 100),
    st.integers(0, 64),
    st.floats(0, 300),
)
def test_a_window_keeps_to_room_and_budget_and_promises_a_gain(
    drafts: list[tuple[float, int, float]], beside: int, room: int, budget: float
) -> None:
    offers = [offer(*draft) for draft in drafts]
    for choose in (best_window, first_window):
        window = choose(FIXED_COST, offers, beside, room, budget)
        if window:
            assert 0 < window.size <= min(room, window.offer.most)
            assert window.extra_ms <= budget
            assert 0 < window.expected <= window.size
    window = best_window(FIXED_COST, offers, beside, room, budget)
    if window:
        plain_rate = (beside + 1) / FIXED_COST(beside + 1)
        rate = (beside + 1 + window.expected) / (FIXED_COST(beside + 1) + window.extra_ms)
        assert rate > MARGIN * plain_rate


@given(st.lists(st.tuples(st.floats(0, 200), st.integers(0, 20)), max_size=50), st.floats(0, 10_000))
def test_the_ledger_never_lets_drafting_lose_more_than_its_stake(
    windows: list[tuple[float, int]], plain_ms: float
) -> None:
    ledger, lost_ms = Ledger(), 0.0
    for extra_ms, right in windows:
        if extra_ms <= ledger.budget(plain_ms):
            ledger.book(extra_ms, right, 7.5)
            lost_ms += extra_ms - 7.5 * right
        assert lost_ms <= STAKE * plain_ms + 1e-6
