from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import DecodeFailed, EngineError
from engine.fake_model import FakeModel
from engine.language_model import LanguageModel
from engine.model import LlamaModel
from engine.slots import Erase, Restore, Save
from engine.state_cache import ENTRY_BYTES, DiskStore, MemoryStore, StateCache
from engine.state_file import SlotState
from engine.worker import Worker

BEGINNING = [n % 200 for n in range(90)]


def worker_for(model: LanguageModel, *stores: object) -> Worker:
    return Worker(model, 8, states=StateCache(stores or [MemoryStore(2**26)], model.facts))


def do(worker: Worker, task: Callable, *more: object) -> object:
    told: list = []
    worker.submit(task(0, told.append, *more))
    worker.step()
    return told[0]


def answer(worker: Worker, complete: Callable, prompt: list[int], **body: object) -> tuple[list[int], int]:
    result = complete(worker, prompt=prompt, n_predict=12, return_tokens=True, **body).result
    return result.tokens, result.timings.cache_n


@pytest.fixture(params=["fake", "llama"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    if request.param == "fake":
        return FakeModel(answer=None)
    llama: LlamaModel = request.getfixturevalue("llama")
    for slot in range(llama.slots):
        llama.truncate(slot, 0)
    return llama


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_lost_prefix_comes_back_and_answers_as_if_it_were_new(
    store: str, model: LanguageModel, complete: Callable, tmp_path: Path
) -> None:
    kept = MemoryStore(2**26) if store == "memory" else DiskStore(tmp_path, 2**26, model.facts)
    worker = worker_for(model, kept)
    prompts = [[*BEGINNING, *range(100, 110)], [9] * 70, [*BEGINNING, *range(120, 140)]]
    first = [answer(worker, complete, prompt, id_slot=0) for prompt in prompts]
    cold = [answer(worker, complete, prompt, id_slot=0, cache_prompt=False)[0] for prompt in prompts]
    assert [tokens for tokens, _ in first] == cold
    assert [cached for _, cached in first] == [0, 0, len(BEGINNING)]
    assert worker.counts.restored_states == 1


def test_what_is_only_a_little_longer_is_not_fetched(complete: Callable) -> None:
    worker = worker_for(FakeModel(answer=None))
    answer(worker, complete, BEGINNING)
    answer(worker, complete, [*BEGINNING[:20], *[9] * 70])
    assert worker.counts.parked_states == 1
    assert answer(worker, complete, [*BEGINNING[:45], 8])[1] == 20
    assert answer(worker, complete, [*BEGINNING[:80], 8])[1] == 80


def test_a_small_loss_parks_nothing(complete: Callable) -> None:
    worker = worker_for(FakeModel(answer=None))
    answer(worker, complete, BEGINNING)
    answer(worker, complete, BEGINNING[:-10])
    answer(worker, complete, [9] * 20)
    answer(worker, complete, [7] * 20)
    assert worker.counts.parked_states == 1


def test_what_is_cached_of_one_salt_is_of_no_use_to_another(complete: Callable) -> None:
    worker = worker_for(FakeModel(answer=None))
    salts = ["ada", "eve", "eve", "ada", ""]
    cached = [answer(worker, complete, BEGINNING, cache_salt=salt)[1] for salt in salts]
    assert cached == [0, 0, len(BEGINNING) - 1, len(BEGINNING) - 1, 0]


def test_a_request_without_cache_gets_nothing_parked(complete: Callable) -> None:
    worker = worker_for(FakeModel(answer=None))
    answer(worker, complete, BEGINNING)
    answer(worker, complete, [9] * 70)
    assert answer(worker, complete, BEGINNING, cache_prompt=False)[1] == 0


def test_a_prefix_that_parking_pushes_out_is_still_used(complete: Callable) -> None:
    """The budget holds one state: the one that is found goes when the slot's own is parked."""
    worker = worker_for(FakeModel(answer=None), MemoryStore(ENTRY_BYTES + 8 * 110))
    answer(worker, complete, BEGINNING)
    answer(worker, complete, [9] * 90)
    assert answer(worker, complete, [*BEGINNING, 3])[1] == len(BEGINNING)


def test_an_erasure_that_leaves_files_says_so(complete: Callable, tmp_path: Path) -> None:
    model = FakeModel(answer=None)
    worker = worker_for(model, DiskStore(tmp_path, 2**26, model.facts))
    answer(worker, complete, BEGINNING)
    answer(worker, complete, [9] * 70)
    (path,) = tmp_path.iterdir()
    path.unlink()
    path.mkdir()
    told = do(worker, Erase)
    assert isinstance(told, EngineError)
    assert "--cache-dir" in str(told)
    assert worker.slots[0].cache == []


def test_erasing_forgets_what_is_parked_too(complete: Callable) -> None:
    worker = worker_for(FakeModel(answer=None))
    answer(worker, complete, BEGINNING)
    answer(worker, complete, [9] * 70)
    assert do(worker, Erase) == 81
    assert answer(worker, complete, BEGINNING)[1] == 0


def test_a_saved_slot_goes_on_in_another_engine(model: LanguageModel, complete: Callable) -> None:
    worker = Worker(model, 4)
    warm, _ = answer(worker, complete, BEGINNING, id_slot=0)
    saved = do(worker, Save)
    assert isinstance(saved, SlotState)
    do(worker, Erase)
    assert do(worker, Restore, saved) == len(saved.tokens)
    assert worker.slots[0].cache == list(saved.tokens)
    assert answer(worker, complete, BEGINNING, id_slot=0) == (warm, len(BEGINNING) - 1)


def test_a_state_that_does_not_fit_leaves_the_slot_as_it_was(
    model: LanguageModel, complete: Callable
) -> None:
    worker = Worker(model, 4)
    warm, _ = answer(worker, complete, BEGINNING, id_slot=0)
    saved = do(worker, Save)
    before = list(worker.slots[0].cache)
    for wrong in (saved._replace(tokens=saved.tokens[:-1]), saved._replace(data=saved.data[:-8])):
        assert isinstance(do(worker, Restore, wrong), DecodeFailed)
        assert worker.slots[0].cache == before
    assert answer(worker, complete, BEGINNING, id_slot=0) == (warm, len(BEGINNING) - 1)


def test_an_empty_slot_can_be_saved_and_restored(model: LanguageModel, complete: Callable) -> None:
    worker = Worker(model, 4)
    nothing = do(worker, Save)
    assert nothing.tokens == ()
    answer(worker, complete, BEGINNING, id_slot=0)
    assert do(worker, Restore, nothing) == 0
    assert answer(worker, complete, BEGINNING, id_slot=0)[1] == 0
