"""Whether a draft token that is not the argmax stands, given the logits at its place.

Invariant: pure, and lazy: a gap above tau rejects at once, and only what a rule still needs after that is
computed. All rules but `exact` ask that the token is among the top 20. With the gap in nats, and H the
entropy of the renormalised top 20 divided by log 20:

    tau               gap <= tau
    entropy_scaled    gap <= tau H
    entropy_floor     gap <= floor + (tau - floor) H
    confidence_gated  as tau, but never where the argmax has a probability of p_cut or more
    gated_entropy     as entropy_floor, with the same gate
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from engine.wire import Stabilize

TOP = 20
Row = NDArray[np.float32]


@dataclass(frozen=True)
class Tolerance:
    """The band `floor + (tau - floor) H` in nats, with a gate at `p_cut`; tau 0 holds the argmax alone."""

    tau: float
    floor: float
    p_cut: float | None = None

    @classmethod
    def of(cls, request: Stabilize) -> "Tolerance":
        """The rule that a request names."""
        tau = 0.0 if request.exact else request.tau
        floor = {"tau": tau, "confidence_gated": tau, "entropy_scaled": 0.0}.get(request.rule, request.floor)
        gated = request.rule in ("confidence_gated", "gated_entropy")
        return cls(tau, min(floor, tau), request.p_cut if gated else None)

    def holds(self, logits: Row, best: int, token: int) -> bool:
        """Whether `token` stands at the place whose `logits` (one row) have their maximum at `best`."""
        if token == best:
            return True
        if self.tau == 0:
            return False
        gap = float(logits[best]) - float(logits[token])
        if gap > self.tau:
            return False
        if self.p_cut is not None and _probability(logits, best) >= self.p_cut:
            return False
        if np.count_nonzero(logits > logits[token]) >= TOP:
            return False
        return gap <= self.floor or gap <= self.floor + (self.tau - self.floor) * _spread(logits)


def _probability(logits: Row, token: int) -> float:
    return float(1 / np.exp(logits - logits[token], dtype=np.float64).sum())


def _spread(logits: Row) -> float:
    """Entropy of the renormalised top 20 over its largest possible value."""
    count = min(TOP, len(logits))
    top = np.partition(logits, -count)[-count:].astype(np.float64)
    weights = np.exp(top - top.max())
    shares = weights / weights.sum()
    return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum()) / math.log(TOP)


class Acceptance:
    """A request's rule, applied to its stale answer; in strict ranges only the argmax stands."""

    def __init__(self, request: Stabilize) -> None:
        self._draft = request.old_output
        self._tolerance = Tolerance.of(request)
        self._strict = _covered(request.strict, len(request.old_output))

    def holds(self, logits: Row, best: int, index: int) -> bool:
        """Whether the stale answer's token at `index` stands where the maximum is at `best`."""
        token = self._draft[index]
        return token == best or (not self._strict[index] and self._tolerance.holds(logits, best, token))


def _covered(ranges: Sequence[tuple[int, int]], length: int) -> list[bool]:
    """For each index below `length`, whether a range covers it; linear however the ranges overlap."""
    steps = [0] * (length + 1)
    for a, b in ranges:
        steps[min(a, length)] += 1
        steps[min(b, length)] -= 1
    return [depth > 0 for depth in accumulate(steps)]
