"""The engine's promise on models with other memory than a plain cache: recurrent, hybrid, sliding-window."""

from collections.abc import Callable
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from engine.checkpoints import CheckpointedModel
from engine.config import EngineConfig
from engine.cost import FIXED_COST, Calibration, PassCost
from engine.errors import ModelError
from engine.language_model import LanguageModel, Part
from engine.main import load
from engine.model import LlamaModel
from engine.selftest import exact_width
from engine.slots import Restore, Save
from engine.stabilize import Drafting
from engine.state_cache import MemoryStore, StateCache
from engine.worker import Worker

LIMIT = 32
CTX = 512
TEXT = b"The fence will be green from May on. The budget for seeds is 140 euros. Members bring gloves. " * 2


def opened(folder: Path, kind: str) -> LanguageModel:
    return load(EngineConfig(model=folder / f"{kind}.gguf", slots=2, ctx=CTX, threads=2))


@pytest.fixture(scope="module", params=["recurrent", "hybrid", "sliding-window"])
def model(request: pytest.FixtureRequest, tiny_models: Path) -> LanguageModel:
    return opened(tiny_models, request.param)


@pytest.fixture(scope="module")
def hybrid(tiny_models: Path) -> LanguageModel:
    return opened(tiny_models, "hybrid")


def worker_for(model: LanguageModel, width: int | None = None) -> Worker:
    """With empty slots."""
    for slot in range(model.slots):
        model.truncate(slot, 0)
    costs = {int(rows): cost for rows, cost in FIXED_COST.as_table().items()}
    calibration = Calibration(width or model.max_rows, PassCost(costs, rolls_back=model.rolls_back))
    states = StateCache([MemoryStore(2**26)], model.facts, rolls_back=model.cuts_states)
    return Worker(model, 64, Drafting(calibration), states)


@pytest.fixture(scope="module")
def case(model: LanguageModel, greedy: Callable) -> dict[str, list[int]]:
    """A prompt, the same one edited, and the plain answers to both."""
    prompt, edited = (model.tokenize(text.decode()) for text in (TEXT, TEXT.replace(b"140", b"215")))
    answers = [greedy(model, it, LIMIT) for it in (prompt, edited)]
    assert answers[0] != answers[1]
    return {"prompt": prompt, "edited": edited, "stale": answers[0], "plain": answers[1]}


def drafts(case: dict[str, list[int]]) -> list[list[int]]:
    plain, stale = case["plain"], case["stale"]
    random = np.random.default_rng(1).integers(0, 259, 40).tolist()
    return [
        random, plain, plain[:9], plain + plain, stale, [],
        [*plain[:12], *random[:2], *plain[13:]], [*plain[:20], 2, *plain[20:]],
    ]  # fmt: skip


def test_its_passes_are_exact_at_any_width(model: LanguageModel) -> None:
    assert exact_width(model) == model.max_rows
    assert model.rolls_back == isinstance(model, LlamaModel)


@pytest.mark.parametrize("at_once", [1, 2])
def test_exact_mode_equals_plain_generation(
    at_once: int, model: LanguageModel, case: dict[str, list[int]], submit: Callable
) -> None:
    """Over cold, warm and edited prefixes, one slot busy or both, by either algorithm."""
    worker = worker_for(model)
    told = []
    for number, draft in enumerate([*drafts(case), *drafts(case)]):
        body = {
            "old_output": draft,
            "tau": 0,
            "max_tokens": LIMIT,
            "horizon": (8, 31, 64)[number % 3],
            "algorithm": "anchor" if number < 8 else "adaptive",
        }
        which, answer = ("prompt", "stale") if number % 5 == 4 else ("edited", "plain")
        request = {"prompt": case[which], "redraft_stabilize": body, "cache_prompt": number % 4 < 3}
        told.append((answer, submit(worker, **request, id_slot=number % at_once)[1]))
    while not all(it.outcomes for _, it in told):
        worker.step()
    for answer, it in told:
        assert it.result.redraft_emitted == case[answer]
    assert sum(it.result.redraft_wasted_rows for _, it in told)
    assert sum(sum(it.result.redraft_drafted.values()) for _, it in told) > 2 * LIMIT
    assert sum(it.result.timings.cache_n for _, it in told)


def test_a_restored_slot_goes_on_as_if_it_had_never_been_away(
    model: LanguageModel, case: dict[str, list[int]], complete: Callable
) -> None:
    """Rolled back behind what was restored, and before it."""
    worker = worker_for(model)
    half = case["edited"][:100]
    complete(worker, prompt=half, n_predict=1, id_slot=0)
    told: list = []
    worker.submit(Save(0, told.append))
    worker.step()
    for draft in (case["stale"], case["plain"], [*case["plain"][:12], 7, *case["plain"][13:]]):
        worker.submit(Restore(1, told.append, told[0]))
        worker.step()
        body = {"old_output": draft, "tau": 0, "max_tokens": LIMIT, "algorithm": "anchor"}
        for prompt, answer in (("edited", "plain"), ("prompt", "stale")):
            result = complete(worker, prompt=case[prompt], redraft_stabilize=body, id_slot=1).result
            assert result.redraft_emitted == case[answer]
    assert told[1:] == [100] * 3


def test_a_refused_roll_back_never_spoils_an_answer(
    model: LanguageModel, case: dict[str, list[int]], complete: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp takes away whole sequences alone: what it says it cannot do is not taken for done."""
    remove, refused = llama_cpp.llama_memory_seq_rm, []

    def whole_ones_alone(memory: object, slot: int, first: int, last: int) -> bool:
        if first > 0:
            refused.append(first)
            return False
        return bool(remove(memory, slot, first, last))

    worker = worker_for(model)
    monkeypatch.setattr(llama_cpp, "llama_memory_seq_rm", whole_ones_alone)
    for algorithm in ("anchor", "adaptive"):
        for draft in drafts(case)[4:7]:
            body = {"old_output": draft, "tau": 0, "max_tokens": LIMIT, "algorithm": algorithm}
            result = complete(worker, prompt=case["edited"], redraft_stabilize=body).result
            assert result.redraft_emitted == case["plain"]
    assert refused


def test_whatever_was_rolled_back_or_restored_rows_are_those_of_a_fresh_sequence(
    model: LanguageModel,
) -> None:
    random = np.random.default_rng(5)
    worker_for(model)
    text: list[int] = []
    saved = [(model.state(0), text)]
    checked = cut_short = 0
    while checked < 8:
        tokens = random.integers(3, 259, int(random.choice([1, 1, 2, 9, 40]))).tolist()
        if len(text) + len(tokens) > 300:
            model.truncate(0, 0)
            text = []
        (rows,) = model.decode([Part(0, tokens, len(tokens))])
        rows, text = rows.copy(), text + tokens
        if random.random() < 0.25:
            model.truncate(1, 0)
            fresh = [model.decode([Part(1, text[n : n + 100], len(text[n : n + 100]))])[0].copy()
                     for n in range(0, len(text), 100)]  # fmt: skip
            assert np.array_equal(np.concatenate(fresh)[-len(rows) :], rows)
            checked += 1
        if random.random() < 0.5:
            asked = int(random.integers(max(0, len(text) - 60), len(text) + 1))
            left = model.truncate(0, asked)
            cut_short += left < asked
            text = text[:left]
        if random.random() < 0.2:
            saved.append((model.state(0), text))
        elif random.random() < 0.2:
            state, text = saved[int(random.integers(len(saved)))]
            model.set_state(0, state, len(text))
    assert cut_short


def test_what_slid_out_of_the_window_is_there_after_a_roll_back(tiny_models: Path) -> None:
    """A cache that keeps the window's 32 cells alone could not go back by 100."""
    model = opened(tiny_models, "sliding-window")
    tokens = [(7919 * place) % 256 + 3 for place in range(1, 300)]
    for start in range(0, 200, 100):
        model.decode([Part(0, tokens[start : start + 100], 0)])
    serial = np.concatenate([model.decode([Part(0, [token], 1)])[0].copy() for token in tokens[200:]])
    model.truncate(0, 150)
    model.decode([Part(0, tokens[150:200], 0)])
    assert np.array_equal(model.decode([Part(0, tokens[200:], 99)])[0], serial)


def test_a_checkpoint_holds_no_more_than_what_cannot_be_rolled_back(hybrid: LanguageModel) -> None:
    inner = hybrid._model  # type: ignore[attr-defined]
    inner.decode([Part(0, [5] * 100, 0)])
    few = len(inner.checkpoint(0))
    for _ in range(3):
        inner.decode([Part(0, [5] * 100, 0)])
    assert len(inner.checkpoint(0)) == few < len(inner.state(0)) / 3
    inner.truncate(0, 0)


def test_a_model_whose_windows_are_not_exact_is_answered_serially(
    tiny_models: Path, greedy: Callable, complete: Callable
) -> None:
    model = opened(tiny_models, "float")
    assert isinstance(model, CheckpointedModel)
    width = exact_width(model)
    assert width == 1
    prompt = model.tokenize(TEXT.decode())
    plain = greedy(model, prompt, LIMIT)
    worker = worker_for(model, width)
    for algorithm in ("anchor", "adaptive"):
        body = {"old_output": plain, "tau": 0, "max_tokens": LIMIT, "algorithm": algorithm}
        result = complete(worker, prompt=prompt, redraft_stabilize=body).result
        assert result.redraft_emitted == plain
        assert (result.redraft_drafted, result.redraft_wasted_rows) == ({}, 0)
        assert result.redraft_passes == result.redraft_rows


@pytest.mark.parametrize("kind", ["encoder", "embedding"])
def test_what_does_not_continue_a_text_is_refused(kind: str, tiny_models: Path) -> None:
    with pytest.raises(ModelError, match=rf"{kind}\.gguf: encoders and other models without a memory"):
        opened(tiny_models, kind)
