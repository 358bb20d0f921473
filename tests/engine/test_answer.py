import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from engine.answer import Answer, NativeFormat
from engine.errors import DecodeFailed
from engine.fake_model import FakeModel
from engine.generation import Job
from engine.wire import CompletionChunk, CompletionRequest

CHUNK = CompletionChunk(content="the", tokens=[5])
Message = MutableMapping[str, Any]


def job(fake: FakeModel, **body: object) -> Job:
    return Job.of(CompletionRequest.model_validate({"prompt": "a", **body}), fake, lambda _: None)


def events(sent: list[Message]) -> str:
    return b"".join(message.get("body", b"") for message in sent).decode()


@pytest.mark.parametrize("phase", ["queued", "answer", "stalled"])
def test_a_client_that_goes_away_cancels_its_job(phase: str, fake: FakeModel) -> None:
    """Stalled: the reader takes nothing, so that sending never returns."""

    async def serve() -> tuple[Job, list[Message]]:
        this, outcomes, sent = job(fake, stream=True), asyncio.Queue(), []
        reading, gone = asyncio.Event(), asyncio.Event()

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)
            if phase == "stalled" and message["type"] == "http.response.body":
                reading.set()
                await asyncio.Event().wait()

        answer = asyncio.create_task(Answer(this, outcomes, NativeFormat())({"type": "http"}, receive, send))
        if phase != "queued":
            outcomes.put_nowait(CHUNK)
        if phase == "stalled":
            await reading.wait()
        assert not this.cancelled.is_set()
        gone.set()
        if phase == "stalled":
            while not this.cancelled.is_set():
                await asyncio.sleep(0)
            answer.cancel()
        else:
            await answer
        return this, sent

    this, sent = asyncio.run(asyncio.wait_for(serve(), 20))
    assert this.cancelled.is_set()
    assert not any(message.get("more_body") is False for message in sent)


def send_all(this: Job, *outcomes: object) -> list[Message]:
    async def serve() -> list[Message]:
        queue, sent = asyncio.Queue(), []
        for outcome in outcomes:
            queue.put_nowait(outcome)

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        await Answer(this, queue, NativeFormat())({"type": "http"}, receive, send)
        return sent

    return asyncio.run(serve())


def test_an_error_in_a_stream_is_its_last_event(fake: FakeModel) -> None:
    sent = send_all(job(fake, stream=True), CHUNK, DecodeFailed("no room"))
    assert events(sent) == (
        'data: {"content":"the","tokens":[5],"stop":false}\n\n'
        'data: {"error": {"code": 500, "message": "no room", "type": "server_error"}}\n\n'
    )
    assert not sent[-1].get("more_body")


def test_an_error_instead_of_a_whole_answer_has_its_status(fake: FakeModel) -> None:
    sent = send_all(job(fake), DecodeFailed("no room"))
    assert sent[0]["status"] == 500
