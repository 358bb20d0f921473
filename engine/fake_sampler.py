"""llama.cpp's sampler chain in numpy, for the fake model.

Invariant: the same draws from the same seed and the same rows.
"""

from collections import Counter, deque

import numpy as np
from numpy.typing import NDArray

from engine.sampling import LEAST_TEMPERATURE, Row, Sampling


class NumpySampler:
    """See `engine.sampling.Sampler`."""

    def __init__(self, sampling: Sampling, ctx: int) -> None:
        last_n = ctx if sampling.repeat_last_n < 0 else sampling.repeat_last_n
        self._sampling = sampling
        self._recent: deque[int] = deque(maxlen=last_n)
        self._random = np.random.default_rng(sampling.seed)

    def accept(self, token: int) -> None:
        """See `Sampler`."""
        self._recent.append(token)

    def sample(self, row: Row) -> int:
        """See `Sampler`."""
        logits = self._penalised(row)
        if self._sampling.temperature == 0 or np.isneginf(logits).all():
            return int(np.argmax(logits))
        order = np.argsort(-logits, kind="stable")
        order = order[: _kept(logits[order], self._sampling)]
        scaled = (logits[order] - logits[order[0]]) / max(self._sampling.temperature, LEAST_TEMPERATURE)
        chances = np.exp(scaled)
        return int(self._random.choice(order, p=chances / chances.sum()))

    def _penalised(self, row: Row) -> NDArray[np.float64]:
        logits, sampling = row.astype(np.float64), self._sampling
        for token, count in Counter(self._recent).items():
            factor = sampling.repeat_penalty
            logits[token] *= factor if logits[token] < 0 else 1 / factor
            logits[token] -= count * sampling.frequency_penalty + sampling.presence_penalty
        return logits


def _kept(logits: NDArray[np.float64], sampling: Sampling) -> int:
    """How many of the logits, which fall, survive top_k, top_p and min_p."""
    count = min(sampling.top_k, len(logits)) if sampling.top_k > 0 else len(logits)
    chances = np.exp(logits[:count] - logits[0])
    total = np.cumsum(chances / chances.sum())
    count = min(count, int(np.searchsorted(total, sampling.top_p)) + 1)
    return max(1, int((chances[:count] >= sampling.min_p).sum()))
