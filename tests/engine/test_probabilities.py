import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.fake_model import FakeModel
from engine.language_model import LanguageModel, Part
from engine.model import LlamaModel
from engine.probabilities import IMPOSSIBLE, probability
from engine.wire import MAX_PROBS, TokenProbability
from engine.worker import Worker

MODEL = FakeModel()
SIZE = MODEL.vocabulary_size


def test_a_token_is_told_with_its_bytes_and_the_likeliest_beside_it() -> None:
    row = np.full(SIZE, -np.inf, np.float32)
    salt = 0xF0
    row[[salt, ord("b"), ord("a")]] = np.log([0.2, 0.5, 0.3])
    told = probability(MODEL, row, salt, 2)
    assert (told.id, told.token, told.bytes) == (salt, "\ufffd", [0xF0])
    assert told.logprob == pytest.approx(np.log(0.2))
    assert [(it.token, it.id) for it in told.top_logprobs] == [("b", 98), ("a", 97)]
    assert np.exp([it.logprob for it in told.top_logprobs]) == pytest.approx([0.5, 0.3])


def test_what_has_no_chance_is_told_in_json() -> None:
    row = np.full(SIZE, -np.inf, np.float32)
    row[3] = 0
    told = probability(MODEL, row, 4, SIZE)
    assert told.logprob == IMPOSSIBLE
    assert len(told.top_logprobs) == MAX_PROBS
    assert json.loads(told.model_dump_json())["top_logprobs"][0]["logprob"] == 0


@given(arrays(np.float32, SIZE, elements=st.integers(-3, 3)), st.integers(0, 20), st.integers(0, SIZE - 1))
def test_the_likeliest_are_the_first_of_a_stable_sort(row: np.ndarray, count: int, token: int) -> None:
    told = probability(MODEL, row, token, count)
    assert [it.id for it in told.top_logprobs] == np.argsort(-row, kind="stable")[:count].tolist()
    exact = row.astype(float) - np.log(np.exp(row.astype(float)).sum())
    assert told.logprob == pytest.approx(exact[token])


def reference(model: LanguageModel, tokens: list[int]) -> list[TokenProbability]:
    """Each token but the first by the logits before it."""
    told = []
    model.truncate(0, 0)
    for start in range(0, len(tokens) - 1, 50):
        part = tokens[start : min(start + 50, len(tokens) - 1)]
        rows = model.decode([Part(0, part, len(part))])[0]
        following = tokens[start + 1 : start + 51]
        told += [probability(model, row, token, 3) for row, token in zip(rows, following, strict=True)]
    model.truncate(0, 0)
    return told


PROMPT = [n * 7 % 200 for n in range(300)]
"""More than a pass of the fake holds."""


@pytest.mark.parametrize("tail", [1, 5, 60, 299, 10**9])
@pytest.mark.parametrize("draft", [None, PROMPT[:40]], ids=["plain", "redraft"])
def test_the_prompts_last_tokens_are_told(tail: int, draft: list[int] | None, complete: Callable) -> None:
    """Cold, and again where all of it is cached."""
    expected = reference(FakeModel(answer=None), PROMPT)[-tail:]
    worker = Worker(FakeModel(answer=None), 4)
    stabilize = {"old_output": draft, "tau": 0, "floor": 0} if draft else None
    body = {"prompt": PROMPT, "n_predict": 3, "n_probs": 3, "redraft_stabilize": stabilize}
    plain = complete(worker, prompt=PROMPT, n_predict=3, return_tokens=True).result
    for _ in range(2):
        result = complete(worker, **body, prompt_probs_tail=tail, return_tokens=True).result
        assert result.prompt_probabilities == expected
        assert result.tokens == plain.tokens
        assert result.timings.cache_n == max(299 - tail, 0)


@pytest.mark.parametrize("draft", [False, True], ids=["plain", "redraft"])
@pytest.mark.parametrize("algorithm", ["adaptive", "anchor"])
def test_the_answers_tokens_are_told(draft: bool, algorithm: str, complete: Callable) -> None:
    model = FakeModel(answer=None)
    model.is_end = lambda _: False
    plain = complete(Worker(model, 1), prompt=PROMPT[:9], n_predict=30, return_tokens=True).result.tokens
    expected = reference(FakeModel(answer=None), PROMPT[:9] + plain)[8:]
    stabilize = {"old_output": [*plain[:20], 3, 4], "tau": 0, "floor": 0, "algorithm": algorithm}
    body = {
        "prompt": PROMPT[:9],
        "n_predict": 30,
        "n_probs": 3,
        "redraft_stabilize": stabilize if draft else None,
    }
    model.truncate(0, 0)
    whole = complete(Worker(model, 1), **body).result
    model.truncate(0, 0)
    streamed = complete(Worker(model, 1), **body, stream=True)
    assert whole.completion_probabilities == expected
    assert [it for chunk in streamed.chunks for it in chunk.completion_probabilities] == expected
    assert streamed.result.completion_probabilities is None
    assert whole.prompt_probabilities is None


def test_a_prompt_of_one_token_has_nothing_before_it(complete: Callable) -> None:
    result = complete(Worker(FakeModel(), 1), prompt=[5], n_predict=1, prompt_probs_tail=9).result
    assert (result.prompt_probabilities, result.completion_probabilities) == ([], None)


def test_the_default_models_prompt_is_told_alike_cold_and_cached(
    llama: LlamaModel, complete: Callable
) -> None:
    prompt = llama.tokenize("The garden club met on Tuesday in the town hall, and nine members came." * 9)
    assert len(prompt) > llama.max_rows
    expected = reference(llama, prompt)
    llama.truncate(0, 0)
    worker = Worker(llama, 2)
    body = {"prompt": prompt, "n_predict": 1, "n_probs": 3, "id_slot": 0}
    cold, cached = (complete(worker, **body, prompt_probs_tail=140).result for _ in range(2))
    assert cold.prompt_probabilities == cached.prompt_probabilities == expected[-140:]
    assert cached.timings.cache_n == len(prompt) - 141
