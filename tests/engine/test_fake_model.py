from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DecodeFailed
from engine.fake_model import FakeModel, echo_sources
from engine.language_model import Part, detokenize

PROMPT = "## note\nThe budget is ten.\n\n## plan\nFirst: 🧂 café.\n\nWrite the report."


@given(st.text())
def test_any_text_survives_tokens(text: str) -> None:
    model = FakeModel()
    assert detokenize(model, model.tokenize(text)) == text


def test_control_tokens_are_parsed_on_request_only(fake: FakeModel) -> None:
    assert len(fake.tokenize("<|im_end|>")) == 1
    assert len(fake.tokenize("<|im_end|>", parse_special=False)) > 1


def test_rare_characters_are_split_and_common_words_are_not(fake: FakeModel) -> None:
    assert len(fake.tokenize("🧂")) == 4
    assert len(fake.tokenize(" the report")) == 2


def test_a_chat_is_answered_with_its_sources(fake: FakeModel, greedy: Callable) -> None:
    prompt = fake.tokenize(f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n")
    answer = greedy(fake, prompt, 200)
    assert detokenize(fake, answer) == echo_sources(PROMPT) == "The budget is ten.\nFirst: 🧂 café."


def test_after_a_deviation_it_goes_on_with_its_answer(fake: FakeModel, greedy: Callable) -> None:
    begun = "<|im_start|>assistant\nThe old budget is"
    prompt = fake.tokenize(f"<|im_start|>user\n{PROMPT}<|im_end|>\n{begun}")
    assert detokenize(fake, greedy(fake, prompt, 200)) == ""
    prompt = fake.tokenize(f"<|im_start|>user\n{PROMPT}<|im_end|>\n{begun} ten.\nFirst")
    assert detokenize(fake, greedy(fake, prompt, 200)) == ": 🧂 café."


def test_a_model_without_answers_depends_on_the_last_tokens_and_the_seed() -> None:
    def rows(seed: int, tokens: list[int]) -> np.ndarray:
        return FakeModel(seed=seed, answer=None).decode([Part(0, tokens, 1)])[0]

    assert np.array_equal(rows(0, [1, 5, 6]), rows(0, [2, 5, 6]))
    assert not np.array_equal(rows(0, [5, 6]), rows(1, [5, 6]))
    assert not np.array_equal(rows(0, [5, 6]), rows(0, [6, 5]))


def test_rows_that_were_kept_too_long_are_spoilt(fake: FakeModel) -> None:
    (rows,) = fake.decode([Part(0, [1], 1)])
    assert not np.isnan(rows).any()
    fake.decode([Part(0, [2], 1)])
    assert np.isnan(rows).all()


def test_it_is_as_strict_as_llama_cpp(fake: FakeModel) -> None:
    with pytest.raises(AssertionError, match="abort"):
        fake.decode([Part(0, [1] * 257, 1)])
    fake.decode([Part(0, [1] * 256, 1)])
    fake.decode([Part(0, [1] * 256, 1)])
    with pytest.raises(DecodeFailed, match="no room"):
        fake.decode([Part(0, [1], 1)])
