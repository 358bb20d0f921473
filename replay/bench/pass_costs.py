"""What a pass costs by its rows, as the engine measured it.

Invariant: pure, and read as the engine reads it: one row alone is quicker, beyond that an incomplete block
of rows takes as long as a whole one, between and beyond measured sizes costs lie on lines, and more rows
never cost less.
"""

from bisect import bisect_left
from collections.abc import Mapping

BLOCK = 4


class PassCosts:
    """Milliseconds of a pass by its rows, all with logits."""

    def __init__(self, table: Mapping[int, float]) -> None:
        """`table` has a cost for one row at least."""
        self._sizes = sorted(table)
        self._costs = [min(table[more] for more in self._sizes[place:]) for place in range(len(table))]
        rows = self._sizes[-1] - self._sizes[0]
        self._slope = (self._costs[-1] - self._costs[0]) / rows if rows else self._costs[-1]

    def __call__(self, rows: int) -> float:
        """The cost of so many rows, one at least."""
        if rows > 1:
            rows += -rows % BLOCK
        place = bisect_left(self._sizes, rows)
        if place == len(self._sizes):
            return self._costs[-1] + (rows - self._sizes[-1]) * self._slope
        if self._sizes[place] == rows:
            return self._costs[place]
        low, high = self._sizes[place - 1], self._sizes[place]
        low_ms, high_ms = self._costs[place - 1], self._costs[place]
        return low_ms + (high_ms - low_ms) * (rows - low) / (high - low)
