"""What passes cost, as measured, and which window that makes the best.

Invariant: pure. `Ledger` bounds what drafting can lose whatever the drafts are: a share of the time that
plain generation would take, plus what drafting has saved before.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from engine.draft import Offer

BLOCK = 4
STEPS = (4, 8, 12, 16, 20, 28, 36, 48, 64)
WIDEST = 64
"""Tokens in a window at most."""
MARGIN = 1.1
"""How much better than no draft a window must promise to be."""
STAKE = 0.04
"""Share of the predicted time of plain generation that drafting may lose."""


class PassCost:
    """Milliseconds of a pass by its rows, all with logits: measured sizes, lines between and beyond them.

    Rows are computed in blocks: an incomplete one takes as long as a whole one. One row alone is quicker.
    Each row attends to all cells before it, so a pass takes the longer, the more of them there are: `at`.
    """

    def __init__(
        self,
        table: Mapping[int, float],
        *,
        deep: Mapping[int, float] | None = None,
        depth: int = 0,
        rolls_back: bool = True,
    ) -> None:
        """`table` has costs in an empty sequence, for one row at least, `deep` those behind `depth` cells.

        Noise only adds: a cost above that of more rows is that one, and no cell makes a pass quicker.
        """
        self.depth = depth
        self._table, self._deep = table, deep or {}
        self._rolls_back = rolls_back
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
        (low, high), (low_ms, high_ms) = (
            self._sizes[place - 1 : place + 1],
            self._costs[place - 1 : place + 1],
        )
        return low_ms + (high_ms - low_ms) * (rows - low) / (high - low)

    def at(self, cells: int) -> "PassCost":
        """The costs behind so many cells."""
        if not self._deep:
            return self
        share = cells / self.depth
        table = {
            size: cost + share * max(0.0, self._deep.get(size, cost) - cost)
            for size, cost in self._table.items()
        }
        return PassCost(table, rolls_back=self._rolls_back)

    def again(self, rows: float) -> float:
        """The cost of so many rows more in a pass of one, after a window that did not stand, if there have to
        be such: where the model does not roll back, what did stand is decoded again."""
        return 0.0 if self._rolls_back else self(1 + ceil(rows)) - self(1)

    def as_table(self) -> dict[str, float]:
        """The table as `/props` shows it."""
        return {str(size): round(cost, 3) for size, cost in zip(self._sizes, self._costs, strict=True)}


FIXED_COST = PassCost({1: 7.5, 4: 19.7, 8: 27.8, 12: 36, 16: 43.4, 24: 60, 32: 76.5, 48: 112, 64: 148})
"""For models whose passes take no time worth measuring."""


@dataclass(frozen=True)
class Calibration:
    """What was found out about a loaded model on this machine.

    `exact_width` is the number of rows of the widest pass that is bit-identical to serial decoding.
    """

    exact_width: int
    pass_cost: PassCost = field(default=FIXED_COST)


class Window(NamedTuple):
    """So many tokens of an offer, how many of them are right on average, and what they add to their pass."""

    offer: Offer
    size: int
    expected: float
    extra_ms: float


def windows(cost: PassCost, offers: Sequence[Offer], base: int, room: int, budget: float) -> Iterator[Window]:
    """What can be drafted beside `base` other rows: at most `room` tokens for at most `budget` ms.

    Sizes are those that complete blocks of rows, coarser the larger they are, and the largest.
    """
    base_ms = cost(base)
    for offer in offers:
        most = min(offer.most, room, WIDEST)
        if most <= 0:
            continue
        expected = offer.survival.expected(offer.length, most)
        for size in [*(size for step in STEPS if 0 < (size := step - base % BLOCK) < most), most]:
            all_right = expected[size - 1] - (expected[size - 2] if size > 1 else 0)
            again_ms = float(1 - all_right) * cost.again(1 + expected[size - 1])
            extra_ms = cost(base + size) - base_ms + size * offer.token_ms + again_ms
            if extra_ms <= budget:
                yield Window(offer, size, float(expected[size - 1]), extra_ms)


def best_window(
    cost: PassCost, offers: Sequence[Offer], beside: int, room: int, budget: float
) -> Window | None:
    """The window with the most expected tokens a millisecond, if it beats a pass without drafts.

    The pass holds the last decided token and `beside` rows of others, each of which brings a token too.
    """
    base = beside + 1
    best, best_rate = None, MARGIN * base / cost(base)
    for window in windows(cost, offers, base, room, budget):
        rate = (base + window.expected) / (cost(base) + window.extra_ms)
        if rate > best_rate:
            best, best_rate = window, rate
    return best


def first_window(
    cost: PassCost, offers: Sequence[Offer], beside: int, room: int, budget: float
) -> Window | None:
    """The window that saves most in a pass over a prompt's end, which costs what its `beside` rows cost.

    A token that is right there spares what it would cost in the best window later.
    """
    best, best_gain = None, 0.0
    for offer in offers:
        later = best_window(cost, [offer], 0, room, float("inf"))
        token_ms = (cost(1) + later.extra_ms) / (1 + later.expected) if later else cost(1)
        for window in windows(cost, [offer], beside, room, budget):
            gain = token_ms * window.expected - window.extra_ms
            if gain > best_gain:
                best, best_gain = window, gain
    return best


def sure_tokens(stale: int) -> int:
    """How long the answer is taken to become while it is shorter, by the stale one's length.

    It may end long before the stale one did, and what was lost on a longer one would stay lost.
    """
    return min(stale // 2, 20)


class Ledger:
    """What drafting has saved so far, and what it may cost."""

    def __init__(self) -> None:
        self._saved_ms = 0.0

    def budget(self, plain_ms: float) -> float:
        """What the next window may cost at most, if plain generation takes `plain_ms` for the request."""
        return STAKE * plain_ms + self._saved_ms

    def book(self, extra_ms: float, tokens: int, token_ms: float) -> None:
        """A window cost `extra_ms` and saved `tokens` passes of `token_ms` each."""
        self._saved_ms += tokens * token_ms - extra_ms
