"""The thread that owns the model: requests queue to it, outcomes come back through `Job.tell`.

Invariant: every pass packs the next prompt chunk or window of every busy slot into one decode. A cancelled
job is dropped before the next pass, wherever it is: queued, in its prompt or in its answer. Whatever is
submitted is told how it ended, unless it was cancelled.
"""

import threading
import time

from engine.cost import Calibration
from engine.counts import Counts
from engine.errors import DecodeFailed, EngineError, InvalidRequest, Unavailable
from engine.generation import Generation, Job
from engine.language_model import LanguageModel, Part, Rows
from engine.schedule import shares
from engine.slots import Slot, SlotTask, take_prefix
from engine.stabilize import Drafting, check
from engine.state_cache import StateCache
from engine.wire import CompletionResult


class Worker:
    """Serves one loaded model until it is stopped."""

    def __init__(
        self,
        model: LanguageModel,
        queue_depth: int,
        drafting: Drafting | None = None,
        states: StateCache | None = None,
    ) -> None:
        """`drafting` None takes every pass to be exact and to cost what is usual."""
        self.model = model
        self.counts = Counts()
        self._states = states or StateCache([], model.facts, rolls_back=model.cuts_states)
        self._drafting = drafting or Drafting(Calibration(model.max_rows))
        self.slots = [Slot(number) for number in range(model.slots)]
        self._queue: list[Job | SlotTask] = []
        self._queue_depth = queue_depth
        self._changed = threading.Condition()
        self._stopping = False
        self._jobs_served = 0

    def submit(self, item: Job | SlotTask) -> None:
        """Queue something, from any thread. Raises Unavailable or InvalidRequest."""
        if isinstance(item, Job) and (stabilize := item.request.redraft_stabilize):
            check(stabilize, self._drafting)
        with self._changed:
            if self._stopping:
                raise Unavailable("the engine is shutting down")
            if len(self._queue) >= self._queue_depth:
                raise Unavailable(f"{len(self._queue)} requests are queued already; try again later")
            self._queue.append(item)
            self._changed.notify()

    @property
    def queued(self) -> int:
        """How many requests wait."""
        return len(self._queue)

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
        """One decode for all busy slots."""
        began = time.perf_counter()
        try:
            self._drop_cancelled()
            self._admit()
            busy = self._busy()
            if not busy:
                return
            parts = self._parts(busy)
            started = time.perf_counter()
            results = self.model.decode(parts)
            seconds = time.perf_counter() - started
            for (slot, generation), part, rows in zip(busy, parts, results, strict=True):
                slot.cache += part.tokens
                self._advance(slot, generation, rows, len(part.tokens), 1000 * seconds)
            self.counts.passed(sum(len(part.tokens) for part in parts), seconds)
            self.counts.host_seconds += time.perf_counter() - began - seconds
        except DecodeFailed as error:
            self._fail(error)

    def _advance(self, slot: Slot, generation: Generation, rows: Rows, count: int, pass_ms: float) -> None:
        """Let one generation use its logits; if it ends, tell how."""
        try:
            wasted = generation.advance(count, rows, pass_ms)
        except InvalidRequest as error:
            slot.generation = None
            self._ended(generation.job, error)
            return
        lost = slot.roll_back(self.model, len(slot.cache) - wasted)
        if generation.result:
            slot.generation = None
            self._ended(generation.job, generation.result)
        elif lost:
            generation.decode_again(lost)

    def _ended(self, job: Job, outcome: CompletionResult | EngineError) -> None:
        self.counts.ended_with(outcome)
        job.tell(outcome)

    def _parts(self, busy: list[tuple[Slot, Generation]]) -> list[Part]:
        """What each generation wants decoded next; those still to be asked count as one row."""
        most = shares([generation.in_prompt for _, generation in busy], self.model.max_rows)
        parts: list[Part] = []
        for asked, ((slot, generation), share) in enumerate(zip(busy, most, strict=True), start=1):
            beside = sum(len(part.tokens) for part in parts) + len(busy) - asked
            parts.append(Part(slot.number, *generation.todo(share, beside)))
        return parts

    def _busy(self) -> list[tuple[Slot, Generation]]:
        return [(slot, slot.generation) for slot in self.slots if slot.generation]

    def _drop_cancelled(self) -> None:
        with self._changed:
            cancelled = [item for item in self._queue if isinstance(item, Job) and item.cancelled.is_set()]
            for item in cancelled:
                self._queue.remove(item)
        for slot, generation in self._busy():
            if generation.job.cancelled.is_set():
                slot.generation = None
                cancelled.append(generation.job)
        self.counts.ended["cancelled"] += len(cancelled)

    def _admit(self) -> None:
        """Give free slots to what is queued, first come first served for each slot."""
        while following := self._next():
            slot, item = following
            if isinstance(item, Job):
                self._start(slot, item)
            else:
                self._do(slot, item)

    def _next(self) -> tuple[Slot, Job | SlotTask] | None:
        """The first in the queue that a slot is free for, taken out of it."""
        with self._changed:
            for item in self._queue:
                if slot := self._free_slot_for(item):
                    self._queue.remove(item)
                    return slot, item
        return None

    def _free_slot_for(self, item: Job | SlotTask) -> Slot | None:
        """The slot asked for, else the one that has most of the prompt, else the least recently used."""
        free = [slot for slot in self.slots if not slot.generation]
        if item.id_slot >= 0:
            return next((slot for slot in free if slot.number == item.id_slot), None)
        if not isinstance(item, Job):
            return None
        return max(free, key=lambda slot: (slot.shared_prefix(item), -slot.last_job), default=None)

    def _start(self, slot: Slot, job: Job) -> None:
        self._jobs_served += 1
        slot.last_job = self._jobs_served
        try:
            reused = take_prefix(slot, job, self.model, self._states, self.counts)
        except DecodeFailed as error:
            self._empty(slot)
            self._ended(job, error)
        else:
            slot.generation = Generation(job, self.model, slot.number, reused, self._drafting)

    def _do(self, slot: Slot, task: SlotTask) -> None:
        try:
            done = task.act(slot, self.model, self._states)
        except EngineError as error:
            task.tell(error)
        else:
            task.tell(done)  # type: ignore[arg-type]

    def _empty(self, slot: Slot) -> None:
        self.model.truncate(slot.number, 0)
        slot.cache.clear()

    def _fail(self, error: EngineError) -> None:
        """Answer the requests in slots with an error and empty those slots."""
        for slot, generation in self._busy():
            slot.generation = None
            self._empty(slot)
            self._ended(generation.job, error)
