"""The thread that owns the model: requests queue to it, outcomes come back through `Job.tell`.

Invariant: `Slot.cache` is exactly what the model holds of that slot's sequence. Every pass packs the
next prompt chunk or window of every busy slot into one decode. A cancelled job is dropped before the
next pass, wherever it is: queued, in its prompt or in its answer.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.errors import DecodeFailed, EngineError, Unavailable
from engine.generation import Generation, Job
from engine.language_model import LanguageModel, Part


@dataclass(frozen=True, eq=False)
class Erase:
    """A request to forget a slot's sequence; `tell` gets the number of tokens it had."""

    id_slot: int
    tell: Callable[[int | EngineError], None]


@dataclass
class Slot:
    """One sequence of the model, and the generation that it serves, if any."""

    number: int
    cache: list[int] = field(default_factory=list)
    generation: Generation | None = None
    last_job: int = 0
    """Counts up over all slots: the smallest is the least recently used."""


class Worker:
    """Serves one loaded model until it is stopped."""

    def __init__(self, model: LanguageModel, queue_depth: int) -> None:
        self.model = model
        self.slots = [Slot(number) for number in range(model.slots)]
        self._queue: list[Job | Erase] = []
        self._queue_depth = queue_depth
        self._changed = threading.Condition()
        self._stopping = False
        self._jobs_served = 0

    def submit(self, item: Job | Erase) -> None:
        """Queue something, from any thread. Raises Unavailable."""
        with self._changed:
            if self._stopping:
                raise Unavailable("the engine is shutting down")
            if len(self._queue) >= self._queue_depth:
                raise Unavailable(f"{len(self._queue)} requests are queued already; try again later")
            self._queue.append(item)
            self._changed.notify()

    def stop(self) -> None:
        """Make `run` end after the pass it is in, from any thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def run(self) -> None:
        """Serve until stopped; then tell every open request so."""
        while self._wait():
            self.step()
        self._fail(Unavailable("the engine is shutting down"))
        for item in self._queue:
            item.tell(Unavailable("the engine is shutting down"))

    def _wait(self) -> bool:
        """Wait for something to do; False once stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._queue or self._busy())
            return not self._stopping

    def step(self) -> None:
        """One decode for all busy slots, each with an equal share of the rows."""
        try:
            self._drop_cancelled()
            self._admit()
            busy = self._busy()
            if not busy:
                return
            share = self.model.max_rows // len(busy)
            parts = [Part(slot.number, *generation.todo(share)) for slot, generation in busy]
            for (slot, generation), part, rows in zip(busy, parts, self.model.decode(parts), strict=True):
                slot.cache += part.tokens
                wasted = generation.advance(len(part.tokens), rows)
                self._roll_back(slot, len(slot.cache) - wasted)
                if generation.result:
                    slot.generation = None
                    generation.job.tell(generation.result)
        except DecodeFailed as error:
            self._fail(error)

    def _busy(self) -> list[tuple[Slot, Generation]]:
        return [(slot, slot.generation) for slot in self.slots if slot.generation]

    def _drop_cancelled(self) -> None:
        with self._changed:
            for item in list(self._queue):
                if isinstance(item, Job) and item.cancelled.is_set():
                    self._queue.remove(item)
        for slot, generation in self._busy():
            if generation.job.cancelled.is_set():
                slot.generation = None

    def _admit(self) -> None:
        """Give free slots to what is queued, first come first served for each slot."""
        with self._changed:
            for item in list(self._queue):
                slot = self._free_slot_for(item)
                if slot is None:
                    continue
                self._queue.remove(item)
                if isinstance(item, Job):
                    self._start(slot, item)
                else:
                    self._erase(slot, item)

    def _free_slot_for(self, item: Job | Erase) -> Slot | None:
        """The slot asked for, else the one that has most of the prompt, else the least recently used."""
        free = [slot for slot in self.slots if not slot.generation]
        if item.id_slot >= 0:
            return next((slot for slot in free if slot.number == item.id_slot), None)
        if isinstance(item, Erase):
            return None
        return max(free, key=lambda slot: (item.shared_prefix(slot.cache), -slot.last_job), default=None)

    def _start(self, slot: Slot, job: Job) -> None:
        self._jobs_served += 1
        slot.last_job = self._jobs_served
        reused = job.shared_prefix(slot.cache)
        slot.generation = Generation(job, self.model, slot.number, reused)
        self._roll_back(slot, reused)

    def _erase(self, slot: Slot, erase: Erase) -> None:
        held = len(slot.cache)
        try:
            self._roll_back(slot, 0)
        except DecodeFailed as error:
            erase.tell(error)
        else:
            erase.tell(held)

    def _roll_back(self, slot: Slot, length: int) -> None:
        if length < len(slot.cache):
            self.model.truncate(slot.number, length)
            del slot.cache[length:]

    def _fail(self, error: EngineError) -> None:
        """Answer the requests in slots with an error and empty those slots."""
        for slot, generation in self._busy():
            slot.generation = None
            self.model.truncate(slot.number, 0)
            slot.cache.clear()
            generation.job.tell(error)
