"""Models whose memory cannot roll back (recurrent and hybrid ones), made to go back to checkpoints.

Invariant: a checkpoint is what the model remembered of exactly the tokens that its sequence begins with now.
One is made before each window of drafts, after each pass of a prompt, and every SPACING tokens of an answer
without drafts. The budget thins them out, but the last one of each sequence is always kept.
"""

from collections.abc import Sequence
from typing import Protocol

from engine.language_model import LanguageModel, Part, Rows

SPACING = 256
"""Decoding so many tokens again takes a few passes."""
BUDGET_BYTES = 256 * 2**20


class ForwardOnly(LanguageModel, Protocol):
    """A model that can go on from a copy of what it remembered, and not back without one."""

    def checkpoint(self, slot: int) -> bytes:
        """What of a sequence cannot be rolled back."""

    def return_to(self, slot: int, data: bytes, length: int) -> int:
        """Go back to where this sequence had `length` tokens and this was its `checkpoint`.

        How many are left: none where that fails. Raises DecodeFailed where it cannot be emptied either.
        """


class Checkpoints:
    """Kept checkpoints, by slot and length."""

    def __init__(self, slots: int, budget_bytes: int) -> None:
        self._kept: list[dict[int, bytes]] = [{} for _ in range(slots)]
        self._budget_bytes = budget_bytes
        self.used_bytes = 0

    def latest(self, slot: int) -> int:
        """Length of the last one; 0 for none."""
        return next(reversed(self._kept[slot]), 0)

    def add(self, slot: int, length: int, data: bytes) -> None:
        """Keep one that is longer than the slot's others."""
        self._kept[slot][length] = data
        self.used_bytes += len(data)
        while self.used_bytes > self._budget_bytes and (gaps := self._gaps()):
            _, thinned, dropped = min(gaps)
            self._drop(thinned, dropped)

    def go_back(self, slot: int, most: int) -> tuple[int, bytes]:
        """The last one of at most so many tokens; later ones are forgotten. (0, b"") if there is none."""
        kept = self._kept[slot]
        while kept and self.latest(slot) > most:
            self._drop(slot, self.latest(slot))
        return self.latest(slot), kept.get(self.latest(slot), b"")

    def _gaps(self) -> list[tuple[int, int, int]]:
        """Tokens between the neighbours of each that is not its slot's last, slot and length."""
        gaps = []
        for slot, kept in enumerate(self._kept):
            lengths = list(kept)
            for before, length, after in zip([0, *lengths], lengths, lengths[1:], strict=False):
                gaps.append((after - before, slot, length))
        return gaps

    def _drop(self, slot: int, length: int) -> None:
        self.used_bytes -= len(self._kept[slot].pop(length))


class CheckpointedModel:
    """A `LanguageModel` over a `ForwardOnly` one."""

    rolls_back = cuts_states = False

    def __init__(self, model: ForwardOnly, budget_bytes: int = BUDGET_BYTES) -> None:
        self._model = model
        self.facts, self.slots, self.ctx = model.facts, model.slots, model.ctx
        self.vocabulary_size, self.max_rows = model.vocabulary_size, model.max_rows
        self.longest_piece = model.longest_piece
        self.tokenize, self.piece, self.is_end = model.tokenize, model.piece, model.is_end
        self.sampler, self.state = model.sampler, model.state
        self._checkpoints = Checkpoints(model.slots, budget_bytes)
        self._lengths = [0] * model.slots
        self._last_rows = [0] * model.slots

    def decode(self, parts: Sequence[Part]) -> list[Rows]:
        """See `LanguageModel`."""
        for part in parts:
            self._keep(part.slot, serial=part.outputs == 1 == self._last_rows[part.slot])
        results = self._model.decode(parts)
        for part in parts:
            self._lengths[part.slot] += len(part.tokens)
            self._last_rows[part.slot] = len(part.tokens)
        return results

    def _keep(self, slot: int, *, serial: bool) -> None:
        length, latest = self._lengths[slot], self._checkpoints.latest(slot)
        if length >= latest + (SPACING if serial else 1):
            self._checkpoints.add(slot, length, self._model.checkpoint(slot))

    def truncate(self, slot: int, length: int) -> int:
        """See `LanguageModel`."""
        if length == self._lengths[slot]:
            return length
        left, data = self._checkpoints.go_back(slot, length)
        left = self._model.return_to(slot, data, left) if left else self._model.truncate(slot, 0)
        self._checkpoints.go_back(slot, left)
        self._lengths[slot] = left
        return left

    def set_state(self, slot: int, data: bytes, length: int) -> None:
        """See `LanguageModel`."""
        self._checkpoints.go_back(slot, 0)
        self._lengths[slot] = 0
        self._model.set_state(slot, data, length)
        self._lengths[slot] = length
