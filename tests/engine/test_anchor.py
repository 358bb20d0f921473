from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.acceptance import Tolerance
from engine.anchor import AnchorReplay
from engine.wire import Rule, Stabilize

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
        window = machine.propose(cut, 0)
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
        rest = machine.consume(np.array([logits(2, second=8)] * len(machine.propose(64, 0))))
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


def published(
    draft: list[int], rows: Callable[[list[int]], np.ndarray], rule: Tolerance, anchor_len: int, limit: int
) -> list[tuple[int, int]]:
    """The rules of the published algorithm, one token at a time: (token, source) up to the end."""
    pairs: list[tuple[int, int]] = []
    place: int | None = 0
    lost_at = 0
    while len(pairs) < limit and (not pairs or pairs[-1][0] != END):
        row = rows([token for token, _ in pairs])
        if place is not None and place < len(draft) and rule.holds(row, int(np.argmax(row)), draft[place]):
            pairs.append((draft[place], place))
            place += 1
            continue
        lost_at = place if place is not None and place < len(draft) else lost_at
        pairs.append((int(np.argmax(row)), -1))
        place = anchored(draft, [token for token, _ in pairs], anchor_len, lost_at)
    return pairs


def anchored(draft: list[int], said: list[int], anchor_len: int, lost_at: int) -> int | None:
    """After the first occurrence of the last tokens from the divergence on, else of all."""
    places = [n for n in range(anchor_len, len(draft) + 1) if draft[n - anchor_len : n] == said[-anchor_len:]]
    return next((n for n in places if n - anchor_len >= lost_at), next(iter(places), None))


RULES = ("exact", "tau", "entropy_scaled", "entropy_floor", "confidence_gated", "gated_entropy")


@pytest.mark.parametrize("rule", RULES)
def test_it_follows_the_published_rules(rule: Rule, scripted: Callable, drive: Callable) -> None:
    """Hundreds of models a rule, drafts of 0 to 200 tokens with repeats and ends inside, horizons 1 to 64."""
    random = np.random.default_rng(RULES.index(rule))
    held = rejected = 0
    for _ in range(400):
        rows = scripted(int(random.integers(10**6)), size=int(random.integers(8, 25)))
        limit = int(random.integers(1, 70))
        answer = [token for token, _ in published([], rows, Tolerance(0, 0), 1, limit)]
        draft = edited(answer * int(random.integers(1, 4)), random)[:200]
        request = Stabilize.model_validate(
            {
                "old_output": draft,
                "rule": rule,
                "tau": random.uniform(0.3, 2),
                "floor": 0.2,
                "p_cut": random.uniform(0.2, 0.9),
                "horizon": int(random.integers(1, 65)),
                "anchor_len": int(random.integers(1, 5)),
            }
        )
        expected = published(draft, rows, Tolerance.of(request), request.anchor_len, limit)
        decisions = drive(AnchorReplay(request, lambda token: token == END), rows, limit, random, END)
        assert [(it.token, it.source) for it in decisions] == expected
        held += sum(source >= 0 for _, source in expected)
        rejected += sum(it.diverged for it in decisions)
    assert held > 2000
    assert rejected > 200


def edited(tokens: list[int], random: np.random.Generator) -> list[int]:
    """With tokens replaced, inserted and removed, ends among them; now and then nothing or all of it."""
    tokens = list(tokens)
    for _ in range(int(random.choice([0, 1, 3, 9]))):
        place = int(random.integers(len(tokens) + 1))
        tokens[place : place + int(random.integers(3))] = random.integers(
            0, 8, int(random.integers(3))
        ).tolist()
    return tokens if random.random() < 0.95 else []
