"""Whether a draft token stands, given the logits at its place.

Invariant: pure, and lazy: an argmax match holds at once and a gap above tau rejects at once; only in
between are the top 20 looked at. The rule is redraft's entropy-scaled floor: hold while
`argmax_logprob - draft_logprob <= floor + (tau - floor) * H` and the token is among the top 20, with H
the entropy of the renormalised top 20 divided by log 20.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOP = 20


@dataclass(frozen=True)
class Tolerance:
    """Tolerances in nats, floor <= tau; tau 0 holds nothing but the argmax."""

    tau: float
    floor: float

    def holds(self, logits: NDArray[np.float32], token: int, *, strict: bool = False) -> bool:
        """Whether `token` stands at the place whose `logits` (one row) are given."""
        best = int(np.argmax(logits))
        if token == best:
            return True
        gap = float(logits[best]) - float(logits[token])
        if strict or self.tau == 0 or gap > self.tau:
            return False
        if np.count_nonzero(logits > logits[token]) >= TOP:
            return False
        return gap <= self.floor or gap <= self.floor + (self.tau - self.floor) * _spread(logits)


def _spread(logits: NDArray[np.float32]) -> float:
    """Entropy of the renormalised top 20 over its largest possible value."""
    count = min(TOP, len(logits))
    top = np.partition(logits, -count)[-count:].astype(np.float64)
    weights = np.exp(top - top.max())
    shares = weights / weights.sum()
    return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum()) / math.log(TOP)
