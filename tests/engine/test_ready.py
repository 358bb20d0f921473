import asyncio
import threading

import pytest

from engine.errors import DecodeFailed
from engine.fake_model import FakeModel
from engine.ready import Ready, into
from engine.slots import Erase
from engine.wire import CompletionRequest, CompletionResult, EngineFacts
from engine.worker import Worker


def test_things_arrive_from_another_thread_in_order() -> None:
    async def receive() -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue()
        put = into(queue)
        thread = threading.Thread(target=lambda: [put(n) for n in range(5)])
        thread.start()
        items = [await queue.get() for _ in range(5)]
        thread.join()
        return items

    assert asyncio.run(receive()) == [0, 1, 2, 3, 4]


def test_a_job_and_a_slots_task_come_back(fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = EngineFacts(
        version="0", model_fingerprint="", quantisation="", kv_type="", threads=1, deterministic=True,
        algorithms=[],
    )  # fmt: skip
    ready = Ready(Worker(fake, 4), facts)
    thread = threading.Thread(target=ready.worker.run)

    async def use() -> None:
        _, outcomes = await ready.start(CompletionRequest(prompt="the", n_predict=2, id_slot=0))
        result = await outcomes.get()
        assert isinstance(result, CompletionResult)
        assert await ready.on_slot(lambda tell: Erase(0, tell)) == result.tokens_cached

        def refuse(slot: int, length: int) -> None:
            raise DecodeFailed("refused")

        _, outcomes = await ready.start(CompletionRequest(prompt="the", n_predict=2, id_slot=0))
        await outcomes.get()
        with monkeypatch.context() as patch:
            patch.setattr(fake, "truncate", refuse)
            with pytest.raises(DecodeFailed):
                await ready.on_slot(lambda tell: Erase(0, tell))

    thread.start()
    asyncio.run(use())
    ready.worker.stop()
    thread.join(10)
