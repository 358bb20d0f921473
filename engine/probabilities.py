"""What the model thought at each place of an answer, and at the last places of its prompt.

Invariant: logarithms are of the model's own distribution, before sampling parameters and grammar.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.language_model import LanguageModel, Rows
from engine.wire import MAX_PROBS, CompletionRequest, LikelyToken, TokenProbability

IMPOSSIBLE = -9999.0
"""Told for what has no chance at all: JSON has no infinity."""


def first_told(prompt: Sequence[int], tail: int) -> int:
    """The first place of a prompt whose logits are needed; the last one's always are."""
    return max(len(prompt) - 1 - tail, 0)


class Probabilities:
    """Of one completion, as far as the request asks for them (`n_probs`, `prompt_probs_tail`)."""

    def __init__(self, model: LanguageModel, prompt: Sequence[int], request: CompletionRequest) -> None:
        self._model = model
        self._prompt = prompt
        self._count = request.n_probs
        self._first = first_told(prompt, request.prompt_probs_tail)
        self._of_answer: list[TokenProbability] | None = [] if request.n_probs else None
        self._of_prompt: list[TokenProbability] | None = [] if request.prompt_probs_tail else None

    def wanted(self, place: int, count: int) -> int:
        """For how many of the last of `count` tokens of the prompt, from `place` on, logits are needed."""
        return max(0, min(count, place + count - self._first))

    def take_prompt(self, place: int, count: int, rows: Rows) -> Rows:
        """Note what the wanted rows tell of the prompt's tokens; the rows from the prompt's last on."""
        wanted = self.wanted(place, count)
        if self._of_prompt is not None:
            following = self._prompt[place + count - wanted + 1 : place + count + 1]
            for row, token in zip(rows, following, strict=False):
                self._of_prompt.append(probability(self._model, row, token, self._count))
        return rows[max(wanted - 1, 0) :]

    def take_answer(self, row: NDArray[np.float32], token: int) -> None:
        """Note what a row tells of the answer's next token."""
        if self._of_answer is not None:
            self._of_answer.append(probability(self._model, row, token, self._count))

    def of_answer(self, start: int = 0) -> list[TokenProbability] | None:
        """From a token of the answer on."""
        return None if self._of_answer is None else self._of_answer[start:]

    def of_prompt(self) -> list[TokenProbability] | None:
        """Of the prompt's last tokens."""
        return self._of_prompt


def probability(model: LanguageModel, row: NDArray[np.float32], token: int, count: int) -> TokenProbability:
    """A token by the logits at its place, beside the `count` likeliest (at most MAX_PROBS)."""
    logits = row.astype(np.float64)
    logits -= logits.max()
    logits -= np.log(np.exp(logits).sum())
    likeliest = _likeliest(logits, min(count, MAX_PROBS, len(logits)))
    top = [_likely(model, other, logits) for other in likeliest]
    return TokenProbability(**_likely(model, token, logits).model_dump(), top_logprobs=top)


def _likeliest(logits: NDArray[np.float64], count: int) -> list[int]:
    """Best first; among equals the smaller id first."""
    if count == 0:
        return []
    candidates = np.flatnonzero(logits >= np.partition(logits, -count)[-count])
    order = np.argsort(-logits[candidates], kind="stable")[:count]
    ids: list[int] = candidates[order].tolist()
    return ids


def _likely(model: LanguageModel, token: int, logits: NDArray[np.float64]) -> LikelyToken:
    data = model.piece(token, special=True)
    return LikelyToken(
        id=token,
        token=data.decode("utf-8", "replace"),
        bytes=list(data),
        logprob=max(float(logits[token]), IMPOSSIBLE),
    )
