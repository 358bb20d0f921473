from collections.abc import Callable

import numpy as np
import pytest

from engine.cost import Calibration
from engine.draft_model import MOST, DraftModel, ModelSource, check_tokenizer
from engine.errors import DecodeFailed, ModelError
from engine.fake_model import FakeModel
from engine.model import LlamaModel
from engine.stabilize import Drafting
from engine.worker import Worker


def pair(seed: int = 0, **options: object) -> tuple[DraftModel, FakeModel]:
    model = FakeModel(answer=None, slots=2, ctx=256, seed=seed, **options)
    return DraftModel(model, 1.0), model


def test_drafts_are_the_greedy_continuation_however_the_text_changes(greedy: Callable) -> None:
    draft_model, model = pair()
    model.max_rows = 4
    random = np.random.default_rng(1)
    text: list[int] = [1]
    for _ in range(60):
        count = int(random.integers(1, 9))
        drafts = draft_model.draft(1, text, count)
        assert drafts == greedy(FakeModel(answer=None, ctx=256), text, count)
        keep = int(random.integers(len(drafts) + 1))
        text = [*text, *drafts[:keep], int(random.integers(200))][-int(random.integers(20, 200)) :]


def test_only_what_is_new_is_decoded() -> None:
    draft_model, model = pair()
    fed: list[int] = []
    decode = model.decode
    model.decode = lambda parts: fed.append(len(parts[0].tokens)) or decode(parts)
    drafts = draft_model.draft(0, [1, 2, 3, 4], 3)
    draft_model.draft(0, [1, 2, 3, 4, *drafts[:2], 9], 1)
    draft_model.draft(0, [1, 2, 7], 1)
    assert fed == [4, 1, 1, 1, 1]


def test_a_draft_ends_where_the_draft_model_would_end() -> None:
    draft_model, model = pair()
    first, second = draft_model.draft(0, [1], 2)
    model.is_end = lambda token: token == second
    assert draft_model.draft(0, [1], 5) == [first]
    model.is_end = lambda token: token == first
    assert draft_model.draft(0, [1], 5) == []


def test_after_a_failed_pass_nothing_is_taken_for_granted(greedy: Callable) -> None:
    draft_model, model = pair()
    draft_model.draft(0, [1, 2, 3], 2)
    fail = [DecodeFailed("llama_decode returned -3")]
    model._before_pass = lambda: (_ for _ in ()).throw(fail.pop()) if fail else None
    with pytest.raises(DecodeFailed):
        draft_model.draft(0, [1, 2, 3, 4], 2)
    assert draft_model.draft(0, [1, 2, 3, 4], 2) == greedy(FakeModel(answer=None, ctx=256), [1, 2, 3, 4], 2)


def test_a_source_follows_the_answer(greedy: Callable) -> None:
    source = ModelSource(pair()[0], 0, [1, 2])
    source.push(7)
    (offer,) = source.offers()
    assert (offer.source, offer.most, offer.token_ms) == ("model", MOST, 1.0)
    assert offer.take(4) == greedy(FakeModel(answer=None), [1, 2, 7], 4)


def spoilt(change: Callable[[FakeModel], None]) -> FakeModel:
    model = FakeModel()
    change(model)
    return model


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda it: setattr(it, "vocabulary_size", 9), "9 tokens, not "),
        (lambda it: it._pieces.__setitem__(300, b"other"), "token 300 is b'other', not "),
        (lambda it: setattr(it, "is_end", lambda token: token == 5), "token 5 ends a text for one of them"),
        (lambda it: setattr(it, "facts", it.facts._replace(adds_bos=True)), "adds_bos is True, not False"),
    ],
)
def test_another_tokenizer_is_refused_with_the_difference(
    change: Callable[[FakeModel], None], reason: str
) -> None:
    with pytest.raises(ModelError, match=f"draft model fake: its tokenizer is not that of fake: {reason}"):
        check_tokenizer(spoilt(change), FakeModel())


def test_a_smaller_model_drafts_for_the_default_one_and_changes_nothing(
    llama: LlamaModel, without_layers: Callable, submit: Callable, greedy: Callable
) -> None:
    smaller = LlamaModel(without_layers(28), slots=2, ctx=2048, threads=2, kv="bf16")
    check_tokenizer(smaller, llama)
    drafting = Drafting(Calibration(llama.max_rows), DraftModel(smaller, token_ms=0.5))
    prompt = llama.tokenize("<|im_start|>user\nCount from one to ten.<|im_end|>\n<|im_start|>assistant\n")
    plain = greedy(llama, prompt, 30)
    worker = Worker(llama, 4, drafting)
    exact = {"tau": 0, "floor": 0, "draft_sources": ["model"]}
    tolds = [
        submit(worker, prompt=prompt, n_predict=30, redraft_stabilize={**exact, **more})[1]
        for more in ({}, {"old_output": plain[::-1], "draft_sources": ["stale", "lookup", "model"]})
    ]
    while not all(told.outcomes for told in tolds):
        worker.step()
    assert [told.result.redraft_emitted for told in tolds] == [plain, plain]
    alone = tolds[0].result
    assert alone.redraft_drafted["model"] > 5
    assert alone.redraft_passes < len(plain)
    assert set(alone.redraft_src) == {-1}
    smaller.close()


def test_the_default_model_is_no_draft_model_for_the_fake(llama: LlamaModel) -> None:
    with pytest.raises(ModelError, match=r"its tokenizer is not that of fake: 49152 tokens, not \d+; give a"):
        check_tokenizer(llama, FakeModel())
