"""What every LanguageModel keeps, held by the fake and by llama.cpp alike."""

import numpy as np
import pytest

from engine.fake_model import FakeModel
from engine.language_model import LanguageModel, Part, detokenize

TEXT = "Salz 🧂, café – naïve.\n\n日本語 and 1,500 €"


@pytest.fixture(params=["fake", "llama"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    model: LanguageModel = (
        FakeModel(slots=2, ctx=2048, answer=None)
        if request.param == "fake"
        else request.getfixturevalue("llama")
    )
    for slot in range(2):
        model.truncate(slot, 0)
    return model


def ids(count: int, model: LanguageModel, start: int = 1) -> list[int]:
    return [(7919 * n) % model.vocabulary_size for n in range(start, start + count)]


def test_text_survives_tokens_and_characters_are_split(model: LanguageModel) -> None:
    tokens = model.tokenize(TEXT)
    assert detokenize(model, tokens) == TEXT
    assert b"".join(map(model.piece, tokens)).decode() == TEXT
    assert any(not _is_text(model.piece(token)) for token in tokens)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_control_tokens_show_only_on_request_and_end_generation(model: LanguageModel) -> None:
    (end,) = model.tokenize(model.facts.eos_token)
    assert model.is_end(end)
    assert model.piece(end) == b""
    assert model.piece(end, special=True).decode() == model.facts.eos_token
    assert model.tokenize(model.facts.eos_token, parse_special=False) != [end]
    assert not model.is_end(model.tokenize("a")[0])


def test_a_text_has_at_least_its_size_over_the_longest_piece_tokens(model: LanguageModel) -> None:
    for text in (" " * 1000, "=" * 1000, "the report " * 100, model.facts.eos_token * 100, TEXT):
        assert len(text.encode()) <= len(model.tokenize(text)) * model.longest_piece


def test_empty_text_has_no_tokens(model: LanguageModel) -> None:
    assert model.tokenize("") == []


def test_logits_come_for_the_last_tokens_of_each_part(model: LanguageModel) -> None:
    first, second, third = model.decode([Part(0, ids(5, model), 2)]), [], []
    expected = first[0].copy()
    model.truncate(0, 0)
    second, third = model.decode([Part(0, ids(5, model), 2), Part(1, ids(3, model), 0)])
    assert np.array_equal(second, expected)
    assert third.shape == (0, model.vocabulary_size)


def test_a_pass_without_logits_gives_empty_rows(model: LanguageModel) -> None:
    (rows,) = model.decode([Part(1, ids(3, model), 0)])
    assert rows.shape == (0, model.vocabulary_size)


@pytest.mark.parametrize("cells", [3, 300, 600])
def test_rows_do_not_depend_on_the_pass_or_on_the_neighbour(cells: int, model: LanguageModel) -> None:
    prefix, window = ids(cells, model), ids(24, model, start=cells + 1)

    def fill(slot: int) -> None:
        model.truncate(slot, 0)
        for start in range(0, cells, 100):
            model.decode([Part(slot, prefix[start : min(cells, start + 100)], 0)])

    fill(0)
    serial = np.concatenate([model.decode([Part(0, [token], 1)])[0].copy() for token in window])
    model.truncate(0, cells)
    together = model.decode([Part(0, window, 24)])[0].copy()
    fill(1)
    model.truncate(0, cells)
    _, beside = model.decode([Part(0, ids(31, model), 31), Part(1, window, 24)])
    assert np.array_equal(serial, together)
    assert np.array_equal(serial, beside)


def test_a_rolled_back_sequence_is_as_if_never_fed(model: LanguageModel) -> None:
    expected = model.decode([Part(0, ids(9, model), 1)])[0].copy()
    model.truncate(0, 4)
    model.decode([Part(0, ids(7, model, start=50), 7)])
    model.truncate(0, 4)
    assert np.array_equal(model.decode([Part(0, ids(5, model, start=5), 1)])[0], expected)
