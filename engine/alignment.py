"""Where in the stale answer the new answer is.

Invariant: a function of the two token sequences alone, whatever was drafted. While the answer follows
the stale one, `place` is the index of the token that comes next in it. After a token that differs, the
place is found again where the end of the answer has its longest match: on the diagonal where the answer
was last (as many tokens were replaced as came instead) one equal token is enough, near it two,
anywhere else three. Where several longest matches go on differently, only the diagonal is believed.
"""

from collections.abc import Sequence

import numpy as np

from engine.matching import SourceMatches

NEAR = 6
"""Tokens that an insertion or a removal is taken to shift the diagonal by."""
CONFIRMED = 4
"""Equal tokens after which a place that was found is trusted."""


class Alignment:
    """Follows one answer over one stale answer."""

    def __init__(self, stale: Sequence[int]) -> None:
        self.stale = stale
        self.place: int | None = 0 if stale else None
        self.at_start = True
        """Whether the answer has never left the stale one."""
        self._tokens = np.array(stale, np.int32)
        self._matches = SourceMatches(stale)
        self._said = 0
        self._diagonal = 0
        self._followed = 0

    @property
    def length(self) -> int:
        """Equal tokens before the place."""
        return 0 if self.place is None else int(self._matches.lengths[self.place])

    @property
    def trusted(self) -> bool:
        """Whether the place was never lost or is confirmed by now."""
        return self.at_start or self._followed >= CONFIRMED

    def push(self, token: int) -> bool:
        """The answer goes on with `token`; whether it leaves the stale answer by that."""
        self._matches.push(token)
        self._said += 1
        if self.place is not None and token == self.stale[self.place]:
            self._followed += 1
            self._diagonal = self.place + 1 - self._said
            self.place = self.place + 1 if self.place + 1 < len(self.stale) else None
            return False
        left, self.at_start = self.place is not None, False
        self.place, self._followed = self._find(), 0
        return left

    def _find(self) -> int | None:
        lengths = self._matches.lengths[:-1]
        longest = int(lengths.max(initial=0))
        if not longest:
            return None
        here = self._said + self._diagonal
        places = np.flatnonzero(lengths == longest)
        place = int(places[np.argmin(abs(places - here))])
        if place != here and np.any(self._tokens[places] != self._tokens[place]):
            return None
        least = 1 if place == here else 2 if abs(place - here) <= NEAR else 3
        return place if longest >= least else None
