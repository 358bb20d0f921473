from collections.abc import Callable

import numpy as np
import pytest

from engine.adaptive import AdaptiveReplay
from engine.cost import FIXED_COST, STAKE, Calibration, PassCost, sure_tokens
from engine.decoding import Decoding
from engine.stabilize import Drafting, decoding_for
from engine.wire import Stabilize

END = 0
SIZE = 12
ENDLESS = 10**6


def replay(
    draft: list[int],
    prompt: list[int] | None = None,
    *,
    limit: int = 400,
    cost: PassCost = FIXED_COST,
    **options: object,
) -> Decoding:
    request = Stabilize.model_validate({"old_output": draft, "tau": 0, "floor": 0, **options})
    drafting = Drafting(Calibration(128, cost))
    return decoding_for(request, drafting, prompt or [1], limit, 0, lambda token: token == END)


def row(token: int, second: int | None = None, size: int = 60) -> np.ndarray:
    """Logits whose argmax is `token`; `second` is within tolerance."""
    logits = np.full(size, -40, np.float32)
    if second is not None:
        logits[second] = 4.5
    logits[token] = 5
    return logits


def run(decoding: Decoding, truth: list[int], *, prompt_rows: int = 1) -> tuple[list[int], list[int], float]:
    """Let a model that says `truth` answer: tokens, sizes of the windows, and what its passes cost."""
    said: list[int] = []
    sizes = []
    cost_ms = 0.0
    while len(said) < len(truth):
        decided = min(len(said), 1)
        window = decoding.propose(len(truth) - len(said) - 1 + decided, 0 if decided else prompt_rows)
        rows = [row(truth[len(said) + n]) for n in range(len(window) + 1 - decided)]
        said += [it.token for it in decoding.consume(np.array(rows))]
        sizes.append(len(window))
        cost_ms += FIXED_COST(len(window) + (0 if decided else prompt_rows))
    return said, sizes, cost_ms


def variants(answer: list[int], random: np.random.Generator) -> list[int]:
    """Drafts that help and drafts that mislead."""
    noise = random.integers(0, SIZE, 30).tolist()
    cut = int(random.integers(len(answer) + 1))
    return [
        noise,
        answer,
        answer[:cut],
        answer[cut:],
        answer + answer,
        [*answer[:cut], END, *answer[cut:]],
        [*answer[:cut], *noise[:3], *answer[cut:]],
        answer + noise,
        [],
    ][int(random.integers(9))]


@pytest.mark.parametrize("sources", [None, ["stale"], ["lookup"], ["stale", "lookup"]])
def test_exact_mode_is_greedy_whatever_the_draft(
    sources: list[str] | None, scripted: Callable, drive: Callable
) -> None:
    random = np.random.default_rng(len(sources or "three"))
    for _ in range(150):
        model = scripted(int(random.integers(10**6)), SIZE, order=int(random.integers(1, 4)))
        prompt, limit = random.integers(1, SIZE, 8).tolist(), int(random.integers(1, 60))

        def logits(said: list[int], model: Callable = model, prompt: list[int] = prompt) -> np.ndarray:
            return model(prompt + said)

        def greedy(limit: int) -> list[int]:
            said: list[int] = []
            while len(said) < limit and END not in said:
                said.append(int(np.argmax(logits(said))))
            return said

        draft = variants(greedy(limit), random)
        decoding = replay(draft, prompt, limit=limit, draft_sources=sources)
        decisions = drive(decoding, logits, limit, random, END)
        assert [it.token for it in decisions] == greedy(limit)
        for it in decisions:
            assert it.source < 0 or draft[it.source] == it.token


@pytest.mark.parametrize("options", [{}, {"rule": "tau"}, {"strict": [[3, 9]]}, {"tau": 0, "floor": 0}])
def test_costs_windows_and_sources_of_drafts_change_no_answer(
    options: dict[str, object], scripted: Callable, drive: Callable
) -> None:
    """What a token is and where it was held from follow from the text and the stale answer alone."""
    random = np.random.default_rng(7)
    cheap = PassCost({1: 10, 64: 10.1})
    for _ in range(150):
        model = scripted(int(random.integers(10**6)), SIZE)
        answer = [int(token) for token in random.integers(1, SIZE, 40)]
        draft = variants(answer, random)
        answers = [
            [(it.token, it.source, it.diverged) for it in drive(decoding, model, 50, random, END)]
            for decoding in (
                replay(draft, limit=50, **{"tau": 1, "floor": 0.3, **options}),
                replay(draft, limit=50, cost=cheap, **{"tau": 1, "floor": 0.3, **options}),
                replay(draft, limit=50, draft_sources=["stale"], **{"tau": 1, "floor": 0.3, **options}),
            )
        ]
        assert answers[0] == answers[1] == answers[2]


def test_a_right_draft_needs_few_passes_and_says_where_it_was_held_from() -> None:
    truth = [*range(1, 50), END]
    decoding = replay(truth[:-1])
    said, sizes, _ = run(decoding, truth, prompt_rows=32)
    assert said == truth
    assert len(sizes) <= 5


def test_drafts_come_in_the_pass_of_the_prompts_end() -> None:
    decoding = replay([*range(1, 40)])
    window = decoding.propose(100, 5)
    assert window == [*range(1, len(window) + 1)]
    assert len(window) >= 3
    decisions = decoding.consume(np.array([row(n) for n in range(1, len(window) + 2)]))
    assert [it.source for it in decisions] == [*range(len(window) + 1)]
    assert {it.drafted_by for it in decisions[:-1]} == {"stale"}
    assert decisions[-1].drafted_by is None
    assert decoding.kept == len(window)


def test_a_correction_is_decoded_with_the_next_window() -> None:
    truth = [*range(1, 12), 50, *range(13, 40), END]
    _, sizes, _ = run(replay([*range(1, 40)]), truth, prompt_rows=21)
    assert 1 < len(sizes) < 15
    assert sum(sizes) < 60


def test_what_repeats_is_drafted_without_a_stale_answer() -> None:
    truth = [5, 6, 7, 8] * 50
    decoding = replay([], draft_sources=["lookup"])
    said, sizes, _ = run(decoding, truth, prompt_rows=40)
    assert said == truth
    assert len(sizes) < 60
    assert decoding.propose(1, 0) == truth[-1:]


def test_nothing_to_draft_from_is_serial() -> None:
    _, sizes, _ = run(replay([]), [5] * 30, prompt_rows=9)
    assert sizes == [0] + [1] * 29


def test_an_end_inside_a_draft_is_never_decoded() -> None:
    for draft, prompt in (([1, 2, 3, END, 4, 5], [9]), ([], [1, 2, 3, END, 4, 5, 1, 2, 3])):
        decoding = replay(draft, prompt, draft_sources=["stale", "lookup"])
        window = decoding.propose(20, 60)
        assert END not in window
        decisions = decoding.consume(np.array([row(n) for n in (*window, END)]))
        assert decisions[-1].token == END


def hold(decoding: Decoding, says: list[tuple[int, int | None]]) -> list[int]:
    """Sources of tokens that the model would say; the second of each is within tolerance."""
    sources = []
    for best, second in says:
        decided = min(len(sources), 1)
        assert len(decoding.propose(decided, 1)) == decided
        sources += [it.source for it in decoding.consume(np.array([row(best, second)]))]
    return sources


def test_tolerance_holds_the_stale_token_in_serial_passes_too() -> None:
    draft = [1, 2, 3, 4]
    says = [(1, None), (9, 2), (9, 3), (9, 4)]
    assert hold(replay(draft, **{"tau": 3, "floor": 1}, horizon=1), says) == [0, 1, 2, 3]
    assert hold(replay(draft, **{"tau": 3, "floor": 1}, horizon=1, strict=[[1, 2]]), says)[:2] == [0, -1]
    assert hold(replay(draft, horizon=1), says)[:2] == [0, -1]


def test_after_a_divergence_four_equal_tokens_are_asked_for_before_tolerance() -> None:
    draft = [*range(1, 20)]
    start = [(1, None), (50, None), (3, None)]
    for more in range(6):
        equal = [(token, None) for token in range(4, 4 + more)]
        sources = hold(replay(draft, tau=3, floor=1, horizon=1), [*start, *equal, (51, 4 + more)])
        assert sources[-1] == (3 + more if more >= 4 else -1)


def test_the_time_lost_is_bounded_for_the_worst_of_drafts() -> None:
    """Each draft token right but every fourth: always promising, and wrong when it counts."""
    random = np.random.default_rng(3)
    for period in (2, 3, 4, 5, 9):
        truth = random.integers(1, 50, 300).tolist()
        draft = [token + 5 if n % period == 0 else token for n, token in enumerate(truth)]
        for prompt_rows in (1, 40):
            _, _, cost_ms = run(replay(draft, limit=300), truth, prompt_rows=prompt_rows)
            plain_ms = FIXED_COST(prompt_rows) + 299 * FIXED_COST(1)
            assert cost_ms <= (1 + STAKE) * plain_ms + FIXED_COST(1)


def test_little_is_staked_on_an_answer_that_may_end_long_before_the_stale_one() -> None:
    random = np.random.default_rng(5)
    for size in (8, 12, 20, 40):
        truth = random.integers(1, 50, size).tolist()
        draft = [token + 5 if n % 4 == 0 else token for n, token in enumerate(truth)] + [7, 8, 9] * 100
        _, _, cost_ms = run(replay(draft), truth)
        plain_ms = size * FIXED_COST(1)
        predicted_ms = FIXED_COST(1) * max(size, sure_tokens(len(draft)))
        assert cost_ms <= plain_ms + STAKE * predicted_ms + FIXED_COST(1)


def test_the_default_algorithm_is_adaptive() -> None:
    assert isinstance(replay([1]), AdaptiveReplay)
