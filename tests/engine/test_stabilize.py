import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stabilize import AnchorReplay, held_fraction, plain
from engine.wire import Stabilize

END = 0
SIZE = 30


def logits(token: int, second: int | None = None) -> np.ndarray:
    """A row whose argmax is `token`; `second` is within tolerance."""
    row = np.full(SIZE, -40, np.float32)
    if second is not None:
        row[second] = 4.5
    row[token] = 5
    return row


def replay(
    truth: list[int], draft: list[int], *, horizon: int = 64, cut: int = 512, **options: object
) -> tuple[list[tuple[int, int]], list[int], int]:
    """Replay `draft` over a model that says `truth`: (token, source) pairs, window sizes, divergences."""
    machine = AnchorReplay(
        Stabilize.model_validate(
            {"old_output": draft, "tau": 0, "floor": 0, "horizon": horizon, "anchor_len": 3, **options}
        ),
        lambda token: token == END,
    )
    decisions = machine.consume(np.array([logits(truth[0])]))
    decoded: list[int] = []
    windows: list[int] = []
    while decisions[-1].token != END:
        window = machine.window[:cut]
        windows.append(len(window))
        rows = [logits(truth[min(len(decoded) + n + 1, len(truth) - 1)]) for n in range(len(window))]
        decisions += machine.consume(np.array(rows))
        decoded += window[: machine.kept]
        assert decoded == truth[: len(decoded)]
    return [(it.token, it.source) for it in decisions[:-1]], windows, sum(it.diverged for it in decisions)


def test_a_draft_that_is_right_is_held_in_windows_of_the_horizon() -> None:
    truth = [*range(1, 21), END]
    pairs, windows, divergences = replay(truth, truth[:-1], horizon=8)
    assert pairs == [(token, token - 1) for token in range(1, 21)]
    assert (windows, divergences) == ([8, 8, 4], 0)


def test_a_substitution_costs_one_divergence_and_anchors_after_three_matches() -> None:
    draft = [*range(1, 11)]
    truth = [1, 2, 25, *range(4, 11), END]
    pairs, windows, divergences = replay(truth, draft)
    assert [source for _, source in pairs] == [0, 1, -1, -1, -1, -1, 6, 7, 8, 9]
    assert windows == [10, 1, 1, 1, 1, 4]
    assert divergences == 1


def test_the_first_draft_token_is_judged_before_any_pass() -> None:
    pairs, windows, divergences = replay([9, END], [1, 2, 3, 4])
    assert (pairs, windows, divergences) == ([(9, -1)], [1], 1)


def test_an_anchor_is_searched_from_the_divergence_on_then_before_it() -> None:
    draft = [1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 9, 10]
    truth = [1, 2, 3, 4, 5, 20, 1, 2, 3, 9, 10, END]
    assert [source for _, source in replay(truth, draft)[0]][-2:] == [10, 11]
    earlier = [1, 2, 3, 4, 5, 6, 7, 20, 2, 3, 4, 5, END]
    assert [source for _, source in replay(earlier, [*range(1, 11)])[0]] == [*range(7), -1, -1, -1, -1, 4]


def test_an_exhausted_draft_is_followed_by_serial_tokens() -> None:
    pairs, windows, _ = replay([1, 2, 3, 4, 1, 2, 3, 4, END], [1, 2, 3])
    assert [source for _, source in pairs] == [0, 1, 2, -1, -1, -1, -1, -1]
    assert windows == [3, 1, 1, 1, 1, 1]


def test_a_match_at_the_end_of_the_draft_does_not_anchor() -> None:
    """The answer begins with the draft's last phrase; what follows must still find its place."""
    draft = [*range(1, 11), 20, 21, 22]
    truth = [20, 21, 22, 3, 4, 5, 6, 7, 8, END]
    sources = [source for _, source in replay(truth, draft)[0]]
    assert sources == [-1, -1, -1, -1, -1, -1, 5, 6, 7]


def test_after_the_draft_an_earlier_part_can_be_held_again() -> None:
    truth = [1, 2, 3, 4, 5, 2, 3, 4, 5, END]
    assert [source for _, source in replay(truth, truth[:5])[0]] == [0, 1, 2, 3, 4, -1, -1, -1, 4]


def test_an_end_in_the_draft_is_judged_like_any_token_and_never_decoded() -> None:
    pairs, windows, divergences = replay([1, 2, END], [1, 2, END, 3, 4])
    assert (pairs, windows, divergences) == ([(1, 0), (2, 1)], [2], 0)
    pairs, _, divergences = replay([1, 2, 7, END], [1, 2, END, 3, 4])
    assert ([token for token, _ in pairs], divergences) == ([1, 2, 7], 1)


def test_tolerance_holds_what_exact_mode_rejects_except_where_strict() -> None:
    def second_is_draft(**options: object) -> list[tuple[int, int]]:
        machine = AnchorReplay(
            Stabilize.model_validate({"old_output": [7, 8], **options}), lambda token: token == END
        )
        first = machine.consume(np.array([logits(1, second=7)]))
        rest = machine.consume(np.array([logits(2, second=8)] * len(machine.window)))
        return [(it.token, it.source) for it in [*first, *rest]]

    assert second_is_draft()[:2] == [(7, 0), (8, 1)]
    assert second_is_draft(strict=[[1, 2]])[:2] == [(7, 0), (2, -1)]
    assert second_is_draft(strict=[[0, 9]])[:2] == [(1, -1), (2, -1)]
    assert second_is_draft(tau=0, floor=0)[:2] == [(1, -1), (2, -1)]


tokens = st.lists(st.integers(1, 6), max_size=40)


@given(
    truth=tokens, draft=st.lists(st.integers(0, 6), max_size=60), horizon=st.integers(1, 9), data=st.data()
)
def test_exact_mode_says_what_the_model_says_for_any_draft(
    truth: list[int], draft: list[int], horizon: int, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, 12))
    pairs, windows, _ = replay([*truth, END], draft, horizon=horizon, cut=cut)
    assert [token for token, _ in pairs] == truth
    assert all(draft[source] == token for token, source in pairs if source >= 0)
    assert max(windows, default=1) <= min(horizon, cut)


@given(truth=tokens, draft=tokens, data=st.data())
def test_how_windows_are_cut_changes_no_source(
    truth: list[int], draft: list[int], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, 12))
    assert replay([*truth, END], draft, cut=cut)[0] == replay([*truth, END], draft)[0]


def test_plain_generation_is_an_empty_draft() -> None:
    assert plain().old_output == []
    assert plain().exact


@pytest.mark.parametrize(
    ("sources", "fraction"), [([], 0.0), ([-1, -1], 0.0), ([0, 1, -1, 2], 0.75)], ids=["none", "new", "mixed"]
)
def test_held_fraction(sources: list[int], fraction: float) -> None:
    assert held_fraction(sources) == fraction


def test_overlapping_and_endless_strict_ranges_are_cheap() -> None:
    request = Stabilize(old_output=[1] * 1000, strict=[(0, 10**12)] * 1000)
    machine = AnchorReplay(request, lambda token: token == END)
    assert machine.consume(np.array([logits(2, second=1)]))[0].token == 2
