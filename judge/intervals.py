"""How sure a rate is.

Invariant: a limit errs on the safe side: in runs without end, a true value lies beyond its one-sided limit in
at most 1 - confidence of them. Counts may be arrays, and fractions of a count are interpolated.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = int | Floats | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured value between its limits; None where nothing was measured, or too little for limits."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def rate_limits(count: Counts, of: Counts, confidence: float) -> tuple[Floats, Floats]:
    """Exact limits (Clopper-Pearson) of `count / of`, each one-sided at this confidence; `of` is not 0."""
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    low = betaincinv(np.where(k > 0, k, 1), n - k + 1, 1 - confidence)
    high = betaincinv(k + 1, np.where(k < n, n - k, 1), confidence)
    return np.where(k > 0, low, 0.0), np.where(k < n, high, 1.0)


def excess_limits(ours: Counts, theirs: Counts, of: Counts, confidence: float) -> tuple[Floats, Floats]:
    """Limits of `(ours - theirs) / of`, each one-sided at this confidence.

    `ours` and `theirs` are the discordant pairs among `of`: those in which only the one, or only the other,
    lost. The limits of the two rates are combined by the method of variance estimates recovery (Zou and
    Donner, Statistics in Medicine 27, 2008), with the correlation that counts of one sample have.
    """
    n = np.asarray(of, dtype=np.float64)
    p, q = np.asarray(ours, dtype=np.float64) / n, np.asarray(theirs, dtype=np.float64) / n
    p_low, p_high = rate_limits(ours, of, confidence)
    q_low, q_high = rate_limits(theirs, of, confidence)
    rest = (1 - p) * (1 - q)
    correlation = -np.sqrt(np.divide(p * q, rest, out=np.ones_like(rest), where=rest > 0))

    def distance(one: Floats, other: Floats) -> Floats:
        return np.sqrt(one**2 - 2 * correlation * one * other + other**2)

    return p - q - distance(p - p_low, q_high - q), p - q + distance(p_high - p, q - q_low)


def rate(count: int, of: int, confidence: float) -> Estimate:
    """A rate with its two-sided interval; without a value where it is a rate of nothing."""
    if not of:
        return Estimate()
    low, high = rate_limits(count, of, (1 + confidence) / 2)
    return Estimate(count / of, float(low), float(high))
