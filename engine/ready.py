"""A loaded engine, as the routes see it.

Invariant: until it is loaded, every route that asks for it answers 503.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from engine.errors import EngineError
from engine.generation import Job, Outcome
from engine.language_model import LanguageModel
from engine.slots import SlotTask
from engine.wire import CompletionRequest, EngineFacts
from engine.worker import Worker

T = TypeVar("T")


@dataclass(frozen=True)
class Ready:
    """A loaded engine; `slot_save_path` is the folder for saved slots, if there is one."""

    worker: Worker
    facts: EngineFacts
    slot_save_path: Path | None = None

    @property
    def model(self) -> LanguageModel:
        """Its model, for what only reads the vocabulary."""
        return self.worker.model

    async def start(self, request: CompletionRequest) -> tuple[Job, "asyncio.Queue[Outcome | None]"]:
        """Queue a completion; its outcomes will come. Raises InvalidRequest and Unavailable."""
        outcomes: asyncio.Queue[Outcome | None] = asyncio.Queue()
        tell = into(outcomes)
        job = await run_in_threadpool(Job.of, request, self.model, tell)
        self.worker.submit(job)
        return job, outcomes

    async def on_slot(self, task: Callable[[Callable[[T | EngineError], None]], SlotTask]) -> T:
        """What a slot's task comes to, once the slot is free. Raises its error."""
        done: asyncio.Queue[T | EngineError] = asyncio.Queue()
        self.worker.submit(task(into(done)))
        outcome = await done.get()
        if isinstance(outcome, EngineError):
            raise outcome
        return outcome


def into(queue: "asyncio.Queue[T]") -> Callable[[T], None]:
    """A function that puts things into a queue of this thread's loop, from any thread."""
    loop = asyncio.get_running_loop()

    def put(item: T) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, item)

    return put


async def _loaded(request: Request) -> Ready:
    ready: Ready = request.app.state.ready()
    return ready


Engine = Annotated[Ready, Depends(_loaded)]
