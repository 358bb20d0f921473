"""The published stale-answer replay ("anchor"), as a state machine between passes.

Invariant: a window starts with a token that is decided already. `consume` takes the logits of what was
decoded and decides everything they can tell, so no logits outlive a pass. With tau 0 the decided tokens
are those of plain greedy generation, whatever the draft; an empty draft is plain generation.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from engine.acceptance import Acceptance
from engine.decoding import Decision
from engine.language_model import Rows
from engine.wire import Stabilize


class AnchorReplay:
    """Replay of one draft: anchored windows of it while they hold, serial decoding in between."""

    def __init__(self, request: Stabilize, is_end: Callable[[int], bool]) -> None:
        self._draft = request.old_output
        self._draft_text = _as_text(request.old_output)
        self._horizon = request.horizon
        self._anchor_len = request.anchor_len
        self._acceptance = Acceptance(request)
        self._is_end = is_end
        self._decided: list[int] = []
        self._next = self._anchored_at(0)
        """The draft index that comes next while anchored, None while not."""
        self._diverged_at = 0
        self._window: list[int] = []
        self.kept = 0

    def propose(self, room: int, beside: int) -> list[int]:
        """See `Decoding`; nothing beside the prompt."""
        return self._window[:room]

    def consume(self, rows: Rows) -> list[Decision]:
        """See `Decoding`."""
        held: list[Decision] = []
        for row in rows[:-1]:
            if not self._holds(row):
                break
            held.append(self._hold()._replace(drafted_by="stale"))
        self.kept = 1 + len(held) if self._window else 0
        decision = self._decide(rows[len(held)])
        self._window = self._window_after(decision)
        return [*held, decision]

    def _holds(self, row: NDArray[np.float32]) -> bool:
        assert self._next is not None
        return self._acceptance.holds(row, int(np.argmax(row)), self._next)

    def _hold(self) -> Decision:
        assert self._next is not None
        decision = Decision(self._draft[self._next], self._next)
        self._decided.append(decision.token)
        self._next = self._anchored_at(self._next + 1)
        return decision

    def _decide(self, row: NDArray[np.float32]) -> Decision:
        """The token at the place whose logits are known but which no window has reached."""
        diverged = False
        if self._next is not None:
            if self._holds(row):
                return self._hold()
            diverged, self._diverged_at, self._next = True, self._next, None
        token = int(np.argmax(row))
        self._decided.append(token)
        self._next = self._find_anchor()
        return Decision(token, -1, diverged)

    def _window_after(self, decision: Decision) -> list[int]:
        """A held token goes on with the draft, up to where the draft may end; any other goes alone."""
        if decision.source < 0:
            return [decision.token]
        start = decision.source + 1
        rest = self._draft[start : start + self._horizon - 1]
        return [decision.token, *takewhile(lambda token: not self._is_end(token), rest)]

    def _find_anchor(self) -> int | None:
        """The draft index after the last decided tokens, searched from the divergence on, then before."""
        if len(self._decided) < self._anchor_len:
            return None
        pattern = _as_text(self._decided[-self._anchor_len :])
        start = self._draft_text.find(pattern, self._diverged_at)
        if start < 0:
            start = self._draft_text.find(pattern)
        return self._anchored_at(start + self._anchor_len) if start >= 0 else None

    def _anchored_at(self, place: int) -> int | None:
        """`place`, unless the draft ends there and leaves nothing to be anchored to."""
        return place if place < len(self._draft) else None


def _as_text(tokens: Sequence[int]) -> str:
    """One character a token, so that str.find searches for tokens."""
    return "".join(map(chr, tokens))
