"""The seam between a generation and whatever decides its tokens: replay of a draft, sampling, a grammar.

Invariant: `propose` and `consume` alternate, one pass each. A token is decided from the logits at its
place alone; what was proposed only settles how many places one pass can tell.
"""

from typing import NamedTuple, Protocol

from engine.language_model import Rows
from engine.wire import DraftSource


class Decision(NamedTuple):
    """A decided token, and where it came from.

    `source` is the index in the stale answer that it was held from, or -1; `diverged` says that a token of
    the stale answer was rejected for it; `drafted_by` names the source that had it in the pass already.
    """

    token: int
    source: int = -1
    diverged: bool = False
    drafted_by: DraftSource | None = None


class Decoding(Protocol):
    """Decides an answer, pass by pass."""

    kept: int
    """How many tokens of the last window stand; the rest is to be rolled back."""

    def propose(self, room: int, beside: int) -> list[int]:
        """The tokens to decode next: at most `room`, in a pass that holds `beside` other rows.

        At first, drafts alone (none, if one likes) behind the prompt's last tokens, which are among
        `beside`. Then the last decided token, which no pass has seen, and drafts behind it.
        """

    def consume(self, rows: Rows) -> list[Decision]:
        """Decide from the logits of the last window, which at first the prompt's last row precedes.

        At least one token, in order; none of them depends on the window.
        """
