"""How far a draft will be right, by how far what it continues was.

Invariant: the chance of each token depends on the length of the match before it alone; a chance lies
strictly between 0 and 1 and moves towards what was seen.
"""

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


class Survival:
    """The chance that a match goes on, by its length, as the means of Beta distributions."""

    def __init__(self, chances: Mapping[int, float], strength: float = 8) -> None:
        """`chances` hold from their length up to the next; each is as firm as `strength` tries."""
        self._lengths = sorted(chances)
        means = np.array([chances[length] for length in self._lengths])
        self._good, self._bad = strength * means, strength * (1 - means)

    def expected(self, length: int, most: int) -> NDArray[np.float64]:
        """How many of the next 1, 2, ... `most` tokens after a match of `length` are right, on average."""
        places = np.searchsorted(self._lengths, np.arange(length, length + most), side="right") - 1
        means = self._good / (self._good + self._bad)
        return np.cumsum(np.cumprod(means[places]))

    def learn(self, length: int, right: int, seen: int) -> None:
        """After a match of `length`, the first `right` of `seen` tokens were right."""
        for place in range(length, length + right):
            self._good[self._bucket(place)] += 1
        if right < seen:
            self._bad[self._bucket(length + right)] += 1

    def _bucket(self, length: int) -> int:
        return bisect_right(self._lengths, length) - 1
