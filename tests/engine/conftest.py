import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import httpx
import numpy as np
import pytest
from fastapi import FastAPI

from engine.decoding import Decision, Decoding
from engine.fake_model import FakeModel
from engine.generation import Job, Outcome
from engine.language_model import LanguageModel, Part
from engine.model import LlamaModel
from engine.ready import Ready
from engine.server import create_app
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult, EngineFacts
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


@pytest.fixture(scope="session")
def scripted() -> Callable[..., Callable[[Sequence[int]], np.ndarray]]:
    """Make models of a few tokens: a row of logits for each text, by its last tokens, often narrowly won."""

    def make(seed: int, size: int, order: int = 2) -> Callable[[Sequence[int]], np.ndarray]:
        known: dict[tuple[int, ...], np.ndarray] = {}

        def row(text: Sequence[int]) -> np.ndarray:
            key = tuple(text[-order:]) if order else ()
            if key not in known:
                known[key] = np.random.default_rng([seed, *key]).standard_normal(size).astype(np.float32)
            return known[key]

        return row

    return make


@pytest.fixture(scope="session")
def drive() -> Callable[..., list[Decision]]:
    """Run a decoding over a scripted model to its end or limit, with rooms and neighbours at random."""

    def run(
        decoding: Decoding,
        row: Callable[[Sequence[int]], np.ndarray],
        limit: int,
        random: np.random.Generator,
        end: int,
    ) -> list[Decision]:
        said: list[Decision] = []
        while len(said) < limit and (not said or said[-1].token != end):
            decided = min(len(said), 1)
            room = min(int(random.choice([1, 2, 7, 64])), limit - len(said) - 1 + decided)
            window = decoding.propose(room, int(random.choice([0, 0, 1, 3, 50])) + 1 - decided)
            text = [it.token for it in said] + window[decided:]
            assert len(window) <= room
            assert window[:decided] == [it.token for it in said[-decided:]] * decided
            assert end not in window
            rows = [row(text[: len(said) + n]) for n in range(len(window) + 1 - decided)]
            decisions = decoding.consume(np.array(rows))
            assert decided + len(decisions) - 1 == decoding.kept <= len(window)
            assert [it.token for it in decisions[:-1]] == window[decided : decoding.kept]
            said += decisions
        return said

    return run


@pytest.fixture
def fake() -> FakeModel:
    return FakeModel(slots=2, ctx=512)


@pytest.fixture(scope="session")
def llama(real_model: object) -> Iterator[LlamaModel]:
    """The default model in this process, two slots."""
    model = LlamaModel(real_model, slots=2, ctx=2048, threads=2, kv="bf16")  # type: ignore[arg-type]
    yield model
    model.close()


@pytest.fixture(scope="session")
def without_layers(real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write the default model with its first layers alone: a smaller model with the same tokenizer.

    `pieces` replaces some of its tokens' pieces.
    """

    def write(layers: int, pieces: Mapping[int, str] = {}) -> Path:
        reader = gguf.GGUFReader(real_model)
        path: Path = tmp_path_factory.mktemp("smaller") / f"{layers}-layers.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        for name, field_ in reader.fields.items():
            if not name.startswith("GGUF.") and name != "general.architecture":
                value = layers if name == "llama.block_count" else field_.contents()
                if name == "tokenizer.ggml.tokens":
                    value = [pieces.get(token, piece) for token, piece in enumerate(value)]
                sub_type = field_.types[-1] if len(field_.types) > 1 else None
                writer.add_key_value(name, value, field_.types[0], sub_type)
        for tensor in reader.tensors:
            block = tensor.name.removeprefix("blk.").partition(".")[0]
            if not block.isdigit() or int(block) < layers:
                writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models of `tiny_models.py`."""
    folder: Path = tmp_path_factory.mktemp("tiny-models")
    subprocess.run([sys.executable, Path(__file__).with_name("tiny_models.py"), folder], check=True)
    return folder


@pytest.fixture
def client(fake_engine: str) -> Iterator[httpx.Client]:
    """Talks to an engine with the fake model."""
    with httpx.Client(base_url=fake_engine, timeout=20) as client:
        yield client


@pytest.fixture(scope="session")
def error() -> Callable[[httpx.Response], tuple[int, str, str]]:
    """Status, type and message of an error in llama-server's shape."""

    def read(response: httpx.Response) -> tuple[int, str, str]:
        body = response.json()["error"]
        assert body["code"] == response.status_code
        return response.status_code, body["type"], body["message"]

    return read


@pytest.fixture(scope="session")
def stream() -> Callable[..., list[dict[str, Any]]]:
    """The events of a streamed `POST /completion`."""

    def read(client: httpx.Client, **body: object) -> list[dict[str, Any]]:
        with client.stream("POST", "/completion", json={"stream": True, **body}) as response:
            assert response.headers["content-type"] == "text/event-stream"
            events = response.read().decode().removesuffix("\n\n").split("\n\n")
        assert all(event.startswith("data: ") for event in events)
        return [json.loads(event[6:]) for event in events]

    return read


@dataclass
class InProcess:
    """An engine in this process: its application and what it serves."""

    app: FastAPI
    ready: Ready

    def ask(self, *requests: tuple[str, str, dict[str, object]]) -> list[httpx.Response]:
        """Send requests, each (method, path, httpx options), one after the other; none may take 20 s."""

        async def send() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
                return [
                    await asyncio.wait_for(client.request(method, path, **options), 20)
                    for method, path, options in requests
                ]

        return asyncio.run(send())


@pytest.fixture
def in_process() -> Iterator[Callable[..., InProcess]]:
    """Serve a model in this process."""
    workers: list[tuple[Worker, threading.Thread]] = []

    def serve(model: LanguageModel, slot_save_path: Path | None = None, **options: Any) -> InProcess:
        worker = Worker(model, 8, **options)
        thread = threading.Thread(target=worker.run)
        thread.start()
        workers.append((worker, thread))
        facts = EngineFacts(
            version="0", model_fingerprint="0", quantisation="", kv_type="bf16", threads=1,
            deterministic=True, algorithms=[],
        )  # fmt: skip
        ready = Ready(worker, facts, slot_save_path)
        return InProcess(create_app(lambda: ready), ready)

    yield serve
    for worker, thread in workers:
        worker.stop()
        thread.join(10)
