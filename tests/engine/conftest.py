from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from engine.fake_model import FakeModel
from engine.generation import Job, Outcome
from engine.language_model import LanguageModel, Part
from engine.model import LlamaModel
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult
from engine.worker import Worker


@dataclass
class Told:
    """What a job was told, in order."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def chunks(self) -> list[CompletionChunk]:
        return [it for it in self.outcomes if isinstance(it, CompletionChunk)]

    @property
    def result(self) -> CompletionResult:
        (result,) = [it for it in self.outcomes if not isinstance(it, CompletionChunk)]
        assert isinstance(result, CompletionResult), result
        assert result is self.outcomes[-1]
        return result


Submit = Callable[..., tuple[Job, Told]]


def submit_(worker: Worker, **body: object) -> tuple[Job, Told]:
    told = Told()
    job = Job.of(CompletionRequest.model_validate(body), worker.model, told.outcomes.append)
    worker.submit(job)
    return job, told


@pytest.fixture(scope="session")
def submit() -> Submit:
    """Queue a request with a worker that the test steps by hand."""
    return submit_


@pytest.fixture(scope="session")
def complete() -> Callable[..., Told]:
    """Run one request on a worker, on this thread, to its end."""

    def run(worker: Worker, **body: object) -> Told:
        _, told = submit_(worker, **body)
        while not told.outcomes or isinstance(told.outcomes[-1], CompletionChunk):
            worker.step()
        return told

    return run


@pytest.fixture(scope="session")
def greedy() -> Callable[..., list[int]]:
    """Greedy decoding, one token a pass, written without the engine's own machinery."""

    def decode(model: LanguageModel, prompt: list[int], limit: int, slot: int = 0) -> list[int]:
        model.truncate(slot, 0)
        for start in range(0, len(prompt) - 1, model.max_rows):
            end = min(start + model.max_rows, len(prompt) - 1)
            model.decode([Part(slot, prompt[start:end], 0)])
        answer: list[int] = []
        token = prompt[-1]
        while len(answer) < limit:
            token = int(np.argmax(model.decode([Part(slot, [token], 1)])[0][0]))
            if model.is_end(token):
                break
            answer.append(token)
        model.truncate(slot, 0)
        return answer

    return decode


@pytest.fixture
def fake() -> FakeModel:
    return FakeModel(slots=2, ctx=512)


@pytest.fixture(scope="session")
def llama(real_model: object) -> Iterator[LlamaModel]:
    """The default model in this process, two slots."""
    model = LlamaModel(real_model, slots=2, ctx=2048, threads=2, kv="bf16")  # type: ignore[arg-type]
    yield model
    model.close()
