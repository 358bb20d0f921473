from engine.counts import Counts
from engine.errors import DecodeFailed
from engine.wire import CompletionResult


def result(**more: object) -> CompletionResult:
    times = {"prompt_ms": 1, "predicted_n": 8, "predicted_ms": 1, "predicted_per_second": 1}
    body = {
        "content": "text of a document",
        "tokens": [],
        "stop_type": "word",
        "id_slot": 0,
        "tokens_predicted": 8,
        "tokens_evaluated": 9,
        "tokens_cached": 17,
        "timings": {"cache_n": 4, "prompt_n": 5, **times},
    }
    return CompletionResult.model_validate({**body, **more})


def test_a_completion_is_counted_by_its_end_and_its_tokens() -> None:
    counts = Counts()
    counts.ended_with(result())
    counts.ended_with(result(redraft_held_fraction=0.75, redraft_wasted_rows=3))
    counts.ended_with(DecodeFailed("no room"))
    assert counts.ended == {"word": 2, "error": 1}
    assert (counts.prompt_tokens, counts.cached_tokens, counts.predicted_tokens) == (10, 8, 16)
    assert (counts.held_tokens, counts.wasted_rows) == (6, 3)


def test_passes_add_up() -> None:
    counts = Counts()
    counts.passed(3, 0.5)
    counts.passed(1, 0.25)
    assert (counts.passes, counts.rows, counts.decode_seconds) == (2, 4, 0.75)
