import pytest

from daemon.completions import Answer, completion, is_exact
from daemon.wire import RefreshRequest
from engine.wire import CompletionChunk, CompletionResult, Timings

STRICT = [(0, 2)]


def asked(**fields: object) -> dict[str, object]:
    """The extension's part of a completion, as it is sent."""
    request = RefreshRequest.model_validate(fields)
    sent = completion(request, 9, [1, 2], [3, 4], STRICT).model_dump(exclude_unset=True)
    assert (sent["prompt"], sent["n_predict"], sent["temperature"]) == ([1, 2], 9, 0.0)
    return sent.get("redraft_stabilize")


EXACT = {"old_output": [3, 4], "tau": 0.0, "floor": 0.0, "max_tokens": 9, "algorithm": "adaptive"}


@pytest.mark.parametrize(
    "fields",
    [{}, {"mode": "exact", "tau": 2.0, "rule": "tau"}, {"mode": "tolerant", "rule": "exact"}],
)
def test_exact_asks_for_no_tolerance(fields: dict[str, object]) -> None:
    assert asked(**fields) == EXACT


def test_tolerance_comes_with_its_rule_and_what_it_must_not_hold() -> None:
    fields = {"mode": "tolerant", "tau": 2.0, "rule": "confidence_gated", "p_cut": 0.8, "algorithm": "anchor"}
    assert asked(**fields) == {
        **{"old_output": [3, 4], "tau": 2.0, "floor": 1.0, "max_tokens": 9, "algorithm": "anchor"},
        **{"rule": "confidence_gated", "p_cut": 0.8, "strict": STRICT},
    }


def test_draft_sources_are_sent_only_where_they_are_given() -> None:
    assert asked(draft_sources=["stale", "model"]) == {**EXACT, "draft_sources": ["stale", "model"]}


def test_plain_generation_may_draft_from_the_new_context() -> None:
    assert asked(baseline=True) is None
    assert asked(baseline=True, mode="tolerant", draft_sources=["lookup"]) == {
        **EXACT,
        "draft_sources": ["lookup"],
    }


@pytest.mark.parametrize(
    ("fields", "exact"), [({}, True), ({"mode": "tolerant"}, False), ({"baseline": True}, True)]
)
def test_what_is_exact(fields: dict[str, object], exact: bool) -> None:
    assert is_exact(RefreshRequest.model_validate(fields)) is exact


def test_an_answer_adds_up() -> None:
    timings = Timings(
        **{"cache_n": 0, "prompt_n": 1, "prompt_ms": 1, "predicted_n": 3, "predicted_ms": 1},
        predicted_per_second=1,
    )
    result = CompletionResult(
        **{"content": "", "tokens": [8], "stop_type": "eos", "id_slot": 0, "tokens_predicted": 3},
        **{"tokens_evaluated": 1, "tokens_cached": 1, "timings": timings},
    )
    answer = Answer()
    assert answer.reused == 0.0
    assert answer.add(CompletionChunk(content="a", tokens=[5, 6], redraft_src=[0, -1])) == [0, -1]
    assert answer.add(CompletionChunk(content="b", tokens=[7])) == [-1]
    answer.add(result)
    assert (answer.tokens, answer.src, answer.result) == ([5, 6, 7, 8], [0, -1, -1, -1], result)
    assert answer.reused == 0.25
