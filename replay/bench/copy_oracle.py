"""The least that an answer can cost if it may be copied from another: the limit LB1.

Invariant: pure. An oracle that knows the answer spends no more than decoding it token by token, and no less
than one that may copy the whole answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, order=True, slots=True)
class Cost:
    """What passes take beside the prompt's own, how many they are and how many rows they have."""

    ms: float
    passes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be decided: tokens, and whether the model ended the answer after them.

    The decision to end is one more; no stale answer holds it, so it is never copied. `prompt_rows` are those
    that the prompt takes.
    """

    tokens: Sequence[int]
    ended: bool
    prompt_rows: int

    @property
    def decisions(self) -> int:
        """How many; one at least."""
        return max(1, len(self.tokens) + self.ended)


def plain_cost(answer: Answer, pass_ms: Callable[[int], float]) -> Cost:
    """Token by token; the first decision comes with the prompt."""
    passes = answer.decisions - 1
    return Cost(passes * pass_ms(1), passes, passes)


def cheapest(answer: Answer, stale: Sequence[int], pass_ms: Callable[[int], float], most_rows: int) -> Cost:
    """The least cost, of all ways to decide the answer.

    A pass holds the last decided token and `k` more, which are the answer's next and stand in a row somewhere
    in `stale`; it has `k + 1` rows, at most `most_rows`, and decides `k + 1` tokens. So does the prompt's own
    pass, for what its rows cost more with `k` beside them. `k` may be 0. Equal times are told apart by
    passes, then rows.
    """
    count = answer.decisions
    runs = [*copyable(answer.tokens, stale), 0]
    widest = max(0, most_rows - 1)
    best: list[Cost | None] = [None] * (count + 1)

    def reach(place: int, cost: Cost) -> None:
        there = best[place]
        if there is None or cost < there:
            best[place] = cost

    prompt_ms = pass_ms(max(1, answer.prompt_rows))
    for k in range(min(runs[0], widest, count - 1) + 1):
        extra_ms = pass_ms(max(1, answer.prompt_rows) + k) - prompt_ms
        reach(1 + k, Cost(extra_ms, int(k > 0), k))
    for place in range(1, count):
        so_far = best[place]
        assert so_far is not None
        for k in range(min(runs[place], widest, count - place - 1) + 1):
            reach(
                place + k + 1,
                Cost(so_far.ms + pass_ms(k + 1), so_far.passes + 1, so_far.rows + k + 1),
            )
    found = best[count]
    assert found is not None
    return found


def copyable(tokens: Sequence[int], stale: Sequence[int]) -> list[int]:
    """For each place of `tokens`: how many from there on stand in a row somewhere in `stale`."""
    source = np.asarray(stale, dtype=np.int64)
    after = np.zeros(len(source) + 1, dtype=np.int64)
    longest = []
    for token in reversed(tokens):
        runs = np.where(source == token, after[1:] + 1, 0)
        after[:-1] = runs
        longest.append(int(runs.max(initial=0)))
    return longest[::-1]
