"""A second, smaller model that drafts for the first, greedily, with sequences of its own.

Invariant: it has passed `check_tokenizer`: both models mean the same by a token. What it says becomes
drafts alone: its cost matters, its correctness does not.
"""

import time
from collections.abc import Sequence

import numpy as np

from engine.draft import Offer
from engine.errors import ModelError
from engine.language_model import LanguageModel, Part
from engine.survival import Survival

MOST = 15
"""Tokens to draft at once: beyond, most of them are wrong."""


class DraftModel:
    """Continues sequences of the target's slots."""

    def __init__(self, model: LanguageModel, token_ms: float) -> None:
        """`token_ms` is what a token costs."""
        self.name = model.facts.alias
        self.token_ms = token_ms
        self.spent_ms = 0.0
        """Time in its passes so far."""
        self._model = model
        self._held: list[list[int]] = [[] for _ in range(model.slots)]

    def draft(self, slot: int, text: Sequence[int], count: int) -> list[int]:
        """What it says after `text`, at most `count` tokens and none that ends. Raises DecodeFailed."""
        held, self._held[slot] = self._held[slot], []
        pairs = zip(text[:-1], held, strict=False)
        shared = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(text) - 1, len(held)))
        shared = self._model.truncate(slot, shared)
        drafts = [self._next(slot, text[shared:])]
        while len(drafts) < count and not self._model.is_end(drafts[-1]):
            drafts.append(self._next(slot, drafts[-1:]))
        self._held[slot] = [*text, *drafts[:-1]]
        return drafts[: len(drafts) - self._model.is_end(drafts[-1])]

    def _next(self, slot: int, tokens: Sequence[int]) -> int:
        started = time.perf_counter()
        last = (len(tokens) - 1) // self._model.max_rows * self._model.max_rows
        for start in range(0, last, self._model.max_rows):
            self._model.decode([Part(slot, tokens[start : start + self._model.max_rows], 0)])
        (rows,) = self._model.decode([Part(slot, tokens[last:], 1)])
        self.spent_ms += 1000 * (time.perf_counter() - started)
        return int(np.argmax(rows[0]))


def check_tokenizer(model: LanguageModel, target: LanguageModel) -> None:
    """Raise ModelError unless `model` can draft for `target`."""
    if difference := _difference(model, target):
        raise ModelError(
            f"draft model {model.facts.path}: its tokenizer is not that of {target.facts.path}: "
            f"{difference}; give a model of the same family with --draft-model, or none"
        )


def _difference(model: LanguageModel, target: LanguageModel) -> str | None:
    """What makes token ids of the two mean different things, if anything."""
    sizes = model.vocabulary_size, target.vocabulary_size
    if sizes[0] != sizes[1]:
        return f"{sizes[0]} tokens, not {sizes[1]}"
    for token in range(sizes[0]):
        pieces = model.piece(token, special=True), target.piece(token, special=True)
        if pieces[0] != pieces[1]:
            return f"token {token} is {pieces[0]!r}, not {pieces[1]!r}"
        if model.is_end(token) != target.is_end(token):
            return f"token {token} ends a text for one of them alone"
    for name in ("bos_token", "eos_token", "adds_bos"):
        values = getattr(model.facts, name), getattr(target.facts, name)
        if values[0] != values[1]:
            return f"{name} is {values[0]!r}, not {values[1]!r}"
    return None


class ModelSource:
    """Its drafts as offers. The prompt's cost in it is not counted: who asks for it wants it to know that."""

    def __init__(self, model: DraftModel, slot: int, prompt: Sequence[int]) -> None:
        self._model = model
        self._slot = slot
        self._text = list(prompt)
        self._survival = Survival({0: 0.7})

    def push(self, token: int) -> None:
        """See `Source`."""
        self._text.append(token)

    def offers(self) -> list[Offer]:
        """Always one."""
        return [Offer("model", self._survival, 0, MOST, self._take, self._model.token_ms)]

    def _take(self, count: int) -> list[int]:
        return self._model.draft(self._slot, self._text, count)
