"""What to propose next: the draft sources, and what each one has to offer.

Invariant: offers are made of the tokens so far alone; a source learns from what was said after its
offers, drafted or not, and what it learns changes windows, never tokens.
"""

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import NamedTuple, Protocol

import numpy as np

from engine.alignment import Alignment
from engine.matching import SelfMatches, Tokens
from engine.survival import Survival
from engine.wire import DraftSource

ENDLESS = 10**9
AT_START = {0: 0.93, 16: 0.975}
STALE = {1: 0.5, 2: 0.7, 3: 0.7, 4: 0.75, 6: 0.86, 9: 0.9, 16: 0.93, 24: 0.95}
PROMPT = {1: 0.4, 2: 0.54, 3: 0.68, 6: 0.82, 9: 0.85, 12: 0.94, 24: 0.98}
OUTPUT = {1: 0.3, 2: 0.67, 3: 0.75, 4: 0.82, 6: 0.85, 9: 0.91, 12: 0.95, 24: 0.99}
"""Chances that a match goes on, by its length, as found in regenerated summaries of edited documents."""


class Offer(NamedTuple):
    """Tokens that may come next."""

    source: DraftSource
    survival: Survival
    length: int
    """Equal tokens before them."""
    most: int
    """How many there are at most."""
    take: Callable[[int], list[int]]
    """The first so many of them."""
    token_ms: float = 0.0
    """What each of them costs before it is verified."""


class Source(Protocol):
    """Something that follows an answer and makes offers."""

    def push(self, token: int) -> None:
        """The answer goes on with `token`."""

    def offers(self) -> list[Offer]:
        """What may come next."""


class StaleSource:
    """The stale answer, where the new one is in it."""

    def __init__(self, alignment: Alignment) -> None:
        """`alignment` is told of tokens by its owner."""
        self._alignment = alignment
        self._at_start, self._found = Survival(AT_START), Survival(STALE)

    def push(self, token: int) -> None:
        """See `Source`."""

    def offers(self) -> list[Offer]:
        """One, while there is a place."""
        place = self._alignment.place
        if place is None:
            return []
        survival = self._at_start if self._alignment.at_start else self._found
        rest = self._alignment.stale[place:]
        return [Offer("stale", survival, self._alignment.length, len(rest), lambda count: list(rest[:count]))]


class LookupSource:
    """N-grams: what followed the last tokens where they stand in the prompt, or earlier in the answer."""

    def __init__(self, prompt: Sequence[int], most: int) -> None:
        """`most` tokens may follow the prompt."""
        self._prompt_size = len(prompt)
        self._matches = SelfMatches(prompt, most)
        self._prompt, self._output = Survival(PROMPT), Survival(OUTPUT)

    def push(self, token: int) -> None:
        """See `Source`."""
        self._matches.push(token)

    def offers(self) -> list[Offer]:
        """What follows the longest match in the prompt, and in the answer, where all longest ones agree."""
        offers = []
        if found := self._longest(0, self._prompt_size):
            length, rest = found
            offers.append(
                Offer("lookup", self._prompt, length, len(rest), lambda count: rest[:count].tolist())
            )
        if found := self._longest(self._prompt_size, self._matches.size):
            length, period = found
            offers.append(
                Offer("lookup", self._output, length, ENDLESS, lambda count: _repeated(period, count))
            )
        return offers

    def _longest(self, low: int, high: int) -> tuple[int, Tokens] | None:
        """The longest match between two places, and the text after it; None if several go on differently."""
        lengths, text = self._matches.lengths[low:high], self._matches.text
        longest = int(lengths.max(initial=0))
        if not longest:
            return None
        places = np.flatnonzero(lengths == longest) + low
        if np.any(text[places] != text[places[-1]]):
            return None
        return longest, text[places[-1] :]


def _repeated(period: Tokens, count: int) -> list[int]:
    return list(islice(cycle(period.tolist()), count))
