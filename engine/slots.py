"""The model's sequences, and what can be done with one while it serves nobody.

Invariant: `Slot.cache` is exactly what the model holds of that slot's sequence, also after something failed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.counts import Counts
from engine.errors import DecodeFailed, EngineError
from engine.generation import Generation, Job
from engine.language_model import LanguageModel
from engine.state_cache import StateCache
from engine.state_file import SlotState

WORTH_KEEPING = 32
"""Tokens: below, decoding them again is as cheap as moving states about."""


@dataclass
class Slot:
    """One sequence of the model, and the generation that it serves, if any."""

    number: int
    cache: list[int] = field(default_factory=list)
    generation: Generation | None = None
    salt: str = ""
    """Of the request whose tokens the cache has."""
    last_job: int = 0
    """Counts up over all slots: the smallest is the least recently used."""

    def roll_back(self, model: LanguageModel, length: int) -> list[int]:
        """Forget what follows the first `length` tokens; the last of those are lost too where the model does
        not roll back, and are given back to be decoded again. Raises DecodeFailed."""
        if length == len(self.cache):
            return []
        left = model.truncate(self.number, length)
        lost = self.cache[left:length]
        del self.cache[left:]
        return lost

    def shared_prefix(self, job: Job) -> int:
        """How much of a job's prompt is here already."""
        return job.shared_prefix(self.cache) if self.salt == job.request.cache_salt else 0

    def state(self, model: LanguageModel) -> SlotState:
        """A copy of what the slot holds. Raises DecodeFailed."""
        return SlotState(tuple(self.cache), model.state(self.number))

    def restore(self, model: LanguageModel, state: SlotState) -> None:
        """Hold this instead. Raises DecodeFailed; the slot is then empty."""
        self.cache.clear()
        model.set_state(self.number, state.data, len(state.tokens))
        self.cache += state.tokens


@dataclass(frozen=True, eq=False)
class Erase:
    """Forget a slot's sequence, and all parked ones; `tell` gets the number of tokens the slot had."""

    id_slot: int
    tell: Callable[[int | EngineError], None]

    def act(self, slot: Slot, model: LanguageModel, states: StateCache) -> int:
        """Raises DecodeFailed; nothing has changed then. Raises EngineError where some files stay."""
        held = len(slot.cache)
        slot.roll_back(model, 0)
        if not states.clear():
            raise EngineError("the slot is empty, but files in --cache-dir cannot be removed; remove them")
        return held


@dataclass(frozen=True, eq=False)
class Save:
    """Copy a slot's state; `tell` gets it."""

    id_slot: int
    tell: Callable[[SlotState | EngineError], None]

    def act(self, slot: Slot, model: LanguageModel, states: StateCache) -> SlotState:
        """Raises DecodeFailed."""
        return slot.state(model)


@dataclass(frozen=True, eq=False)
class Restore:
    """Put a state into a slot; `tell` gets the number of its tokens."""

    id_slot: int
    tell: Callable[[int | EngineError], None]
    state: SlotState

    def act(self, slot: Slot, model: LanguageModel, states: StateCache) -> int:
        """Raises DecodeFailed; the slot then holds what it held."""
        before = slot.state(model)
        try:
            slot.restore(model, self.state)
        except DecodeFailed:
            slot.restore(model, before)
            raise
        slot.salt = ""
        return len(self.state.tokens)


SlotTask = Erase | Save | Restore


def take_prefix(slot: Slot, job: Job, model: LanguageModel, states: StateCache, counts: Counts) -> int:
    """Leave the most of a job's prompt in its slot that is known here or parked; how many tokens that is.

    What the slot loses is parked where it is most of what it held. Raises DecodeFailed.
    """
    salt = job.request.cache_salt
    kept = slot.shared_prefix(job)
    found = states.find(job.prompt[: job.first_told], salt) if job.request.cache_prompt else None
    if found and found.shared < kept + WORTH_KEEPING:
        found = None
    state = found.state() if found else None  # before parking, which may push it out
    lost = len(slot.cache) - (0 if state else kept)
    if states and lost >= WORTH_KEEPING and 2 * lost > len(slot.cache):
        states.park(slot.state(model), slot.salt)
        counts.parked_states += 1
    if found and state:
        slot.restore(model, state)
        counts.restored_states += 1
        kept = found.shared
    slot.roll_back(model, kept)
    slot.salt = salt
    return len(slot.cache)
