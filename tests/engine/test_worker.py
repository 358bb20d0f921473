import threading
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.errors import DecodeFailed, EngineError, Unavailable
from engine.fake_model import FakeModel
from engine.generation import Job
from engine.language_model import Part
from engine.slots import Erase
from engine.wire import CompletionRequest, CompletionResult
from engine.worker import Worker


def endless(**options: object) -> FakeModel:
    model = FakeModel(answer=None, **options)
    model.is_end = lambda _: False
    return model


def idle(worker: Worker) -> bool:
    return not any(slot.generation for slot in worker.slots)


def test_slots_share_each_pass(submit: Callable) -> None:
    model = endless(slots=2)
    passes: list[list[Part]] = []
    decode = model.decode
    model.decode = lambda parts: passes.append(parts) or decode(parts)
    worker = Worker(model, 4)
    for start in (1, 2):
        submit(worker, prompt=[start] * 300, n_predict=3)
    for _ in range(5):
        worker.step()
    assert [[len(part.tokens) for part in parts] for parts in passes] == [[128, 128]] * 2 + [[44, 44]] + [
        [1, 1]
    ] * 2
    assert idle(worker)


@pytest.mark.parametrize("draft", [[], [7] * 200], ids=["plain", "redraft"])
def test_a_long_prompt_does_not_starve_an_answer(draft: list[int], submit: Callable) -> None:
    """Every pass takes the answer on, and few rows of the prompt beside it."""
    model = endless(slots=2)
    passes: list[list[Part]] = []
    decode = model.decode
    model.decode = lambda parts: passes.append(parts) or decode(parts)
    worker = Worker(model, 4)
    _, answering = submit(
        worker, prompt=[1], n_predict=200, stream=True, redraft_stabilize={"old_output": draft}, id_slot=0
    )
    worker.step()
    submit(worker, prompt=[2] * 600, n_predict=1, id_slot=1)
    told = [len(answering.chunks)]
    while len(worker.slots[1].cache) < 600:
        worker.step()
        told.append(len(answering.chunks))
    assert all(after == before + 1 for before, after in pairwise(told))
    beside = [len(part.tokens) for parts in passes for part in parts if part.slot == 1]
    assert (sum(beside), max(beside)) == (600, 32)


def test_an_answer_does_not_depend_on_what_the_other_slot_does(submit: Callable, complete: Callable) -> None:
    draft = {"old_output": list(range(60, 90)), "tau": 0, "floor": 0}
    bodies = [
        {"prompt": [n + 1] * (20 * n + 1), "n_predict": 30, "return_tokens": True, "redraft_stabilize": draft}
        for n in range(6)
    ]
    alone = [complete(Worker(endless(), 1), **body).result.tokens for body in bodies]
    worker = Worker(endless(slots=3), 8)
    told = [submit(worker, **body)[1] for body in bodies]
    while not all(it.outcomes for it in told):
        worker.step()
    assert [it.result.tokens for it in told] == alone


def test_the_cache_is_reused_up_to_the_longest_common_prefix(complete: Callable) -> None:
    worker = Worker(endless(slots=2), 4)
    complete(worker, prompt=[1, 2, 3, 4, 5], n_predict=2)
    complete(worker, prompt=[9, 9, 9], n_predict=2, id_slot=1)
    warm = complete(worker, prompt=[1, 2, 3, 8, 8], n_predict=2).result
    assert (warm.id_slot, warm.timings.cache_n, warm.timings.prompt_n) == (0, 3, 2)
    same = complete(worker, prompt=[1, 2, 3, 8, 8], n_predict=2).result
    assert (same.timings.cache_n, same.timings.prompt_n) == (4, 1)
    cold = complete(worker, prompt=[1, 2, 3, 8, 8], n_predict=2, cache_prompt=False).result
    assert cold.timings.cache_n == 0


def test_a_prompt_with_nothing_in_common_takes_the_least_recently_used_slot(complete: Callable) -> None:
    worker = Worker(endless(slots=3), 4)
    order = [complete(worker, prompt=[n, n], n_predict=1).result.id_slot for n in (1, 2, 3, 4, 5)]
    assert order == [0, 1, 2, 0, 1]


def test_a_request_for_a_busy_slot_waits_without_holding_up_others(submit: Callable) -> None:
    worker = Worker(endless(slots=2), 4)
    first, _ = submit(worker, prompt=[1], id_slot=0)
    worker.step()
    _, pinned = submit(worker, prompt=[2], n_predict=1, id_slot=0)
    _, free = submit(worker, prompt=[3], n_predict=1)
    worker.step()
    assert (free.result.id_slot, pinned.outcomes) == (1, [])
    first.cancelled.set()
    worker.step()
    assert pinned.result.id_slot == 0


@pytest.mark.parametrize("steps", [0, 1, 2, 5], ids=["queued", "prompt", "first token", "answer"])
@pytest.mark.parametrize("draft", [[], [7] * 200], ids=["plain", "redraft"])
def test_a_cancelled_job_is_dropped_before_the_next_pass(
    steps: int, draft: list[int], submit: Callable
) -> None:
    model = endless()
    worker = Worker(model, 4)
    job, told = submit(worker, prompt=[7] * 300, stream=True, redraft_stabilize={"old_output": draft})
    for _ in range(steps):
        worker.step()
    job.cancelled.set()
    before = len(told.outcomes)
    worker.step()
    assert idle(worker)
    assert worker.counts.ended == {"cancelled": 1}
    assert len(told.outcomes) == before
    _, after = submit(worker, prompt=[7] * 300, n_predict=1)
    worker.step()
    while not after.outcomes:
        worker.step()
    assert after.result.stop_type == "limit"


def test_a_job_cancelled_behind_a_busy_slot_leaves_the_queue(submit: Callable) -> None:
    worker = Worker(endless(), 1)
    submit(worker, prompt=[1])
    worker.step()
    waiting, told = submit(worker, prompt=[2])
    waiting.cancelled.set()
    worker.step()
    submit(worker, prompt=[3])
    assert told.outcomes == []


def test_a_full_queue_refuses(submit: Callable) -> None:
    worker = Worker(endless(), 2)
    submit(worker, prompt=[1])
    submit(worker, prompt=[2])
    with pytest.raises(Unavailable, match="2 requests are queued"):
        submit(worker, prompt=[3])


def test_erasing_waits_for_the_slot_and_forgets_it(submit: Callable, complete: Callable) -> None:
    worker = Worker(endless(), 4)
    job, _ = submit(worker, prompt=[1, 2, 3])
    worker.step()
    erased: list[int | EngineError] = []
    worker.submit(Erase(0, erased.append))
    worker.step()
    assert erased == []
    job.cancelled.set()
    worker.step()
    assert erased == [4]
    assert complete(worker, prompt=[1, 2, 3], n_predict=1).result.timings.cache_n == 0


def test_a_refused_erasure_is_told_and_changes_nothing(complete: Callable) -> None:
    model = endless()
    worker = Worker(model, 4)
    complete(worker, prompt=[1, 2, 3], n_predict=2)
    refuse = [DecodeFailed("llama.cpp refused to roll slot 0 back to 0 tokens")]
    truncate = model.truncate

    def truncate_later(slot: int, length: int) -> None:
        if refuse:
            raise refuse.pop()
        truncate(slot, length)

    model.truncate = truncate_later
    told: list[int | EngineError] = []
    for _ in range(2):
        worker.submit(Erase(0, told.append))
        worker.step()
    assert isinstance(told[0], DecodeFailed)
    assert told[1] == 4
    assert worker.slots[0].cache == model._sequences[0] == []


def test_a_failed_pass_fails_its_requests_and_empties_their_slots(
    submit: Callable, complete: Callable
) -> None:
    model = endless(slots=2)
    worker = Worker(model, 4)
    _, told = submit(worker, prompt=[1, 2])
    worker.step()
    fail = [DecodeFailed("llama_decode returned -3 for 1 tokens")]
    model._before_pass = lambda: (_ for _ in ()).throw(fail.pop()) if fail else None
    worker.step()
    assert isinstance(told.outcomes[-1], DecodeFailed)
    assert idle(worker)
    assert complete(worker, prompt=[1, 2], n_predict=1).result.timings.cache_n == 0


def test_stopping_tells_every_open_request(submit: Callable) -> None:
    started, go_on = threading.Event(), threading.Event()

    def before_pass() -> None:
        started.set()
        go_on.wait(10)

    worker = Worker(endless(before_pass=before_pass), 4)
    tolds = [submit(worker, prompt=[n])[1] for n in (1, 2)]
    erased: list[int | EngineError] = []
    worker.submit(Erase(0, erased.append))
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert started.wait(10)
    worker.stop()
    go_on.set()
    thread.join(10)
    assert all(isinstance(told.outcomes[-1], Unavailable) for told in tolds)
    assert isinstance(erased[0], Unavailable)
    with pytest.raises(Unavailable, match="shutting down"):
        submit(worker, prompt=[1])


class Slots(RuleBasedStateMachine):
    """Requests, cancellations, erasures and passes in any order: the cache is what the model holds,
    and every answer is the one that the request gets alone."""

    def __init__(self) -> None:
        super().__init__()
        self.model = FakeModel(slots=2, ctx=40, answer=None)
        self.model.max_rows = 8
        self.worker = Worker(self.model, 100)
        self.open: list[tuple[Job, list]] = []

    @rule(
        prompt=st.lists(st.integers(0, 2), min_size=1, max_size=20),
        limit=st.integers(0, 12),
        draft=st.none() | st.lists(st.integers(0, 460), max_size=10),
        slot=st.integers(-1, 1),
    )
    def submit(self, prompt: list[int], limit: int, draft: list[int] | None, slot: int) -> None:
        stabilize = None if draft is None else {"old_output": draft, "tau": 0, "floor": 0}
        request = CompletionRequest.model_validate(
            {
                "prompt": prompt,
                "n_predict": limit,
                "redraft_stabilize": stabilize,
                "id_slot": slot,
                "return_tokens": True,
            }
        )
        told: list = []
        job = Job.of(request, self.model, told.append)
        self.worker.submit(job)
        self.open.append((job, told))

    @rule()
    def step(self) -> None:
        self.worker.step()

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job, _ = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        job.cancelled.set()

    @rule(slot=st.integers(0, 1))
    def erase(self, slot: int) -> None:
        self.worker.submit(Erase(slot, lambda _: None))

    @invariant()
    def cache_is_what_the_model_holds(self) -> None:
        assert [slot.cache for slot in self.worker.slots] == self.model._sequences

    def teardown(self) -> None:
        while not all(told for _, told in self.open):
            self.worker.step()
        for job, told in self.open:
            (result,) = told
            assert isinstance(result, CompletionResult)
            assert result.tokens == self.alone(job)

    def alone(self, job: Job) -> list[int]:
        told: list = []
        request = job.request.model_copy(update={"redraft_stabilize": None, "id_slot": -1})
        worker = Worker(FakeModel(ctx=40, answer=None), 1)
        worker.submit(Job.of(request, worker.model, told.append))
        while not told:
            worker.step()
        return told[0].tokens


TestSlots = Slots.TestCase
TestSlots.settings = settings(max_examples=40, stateful_step_count=30)
