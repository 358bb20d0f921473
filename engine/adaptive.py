"""Replay with windows chosen by measured cost and estimated survival ("adaptive").

Invariant: a token is decided from the logits at its place, the tokens before it and the stale answer
alone. Drafts only let a pass tell more places at once, so neither their sources nor costs, windows or
neighbours change an answer; in exact mode it is that of plain greedy generation.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile

import numpy as np

from engine.acceptance import Acceptance, Row
from engine.alignment import Alignment
from engine.cost import Ledger, PassCost, Window, best_window, first_window, sure_tokens
from engine.decoding import Decision
from engine.draft import Offer, Source
from engine.language_model import Rows
from engine.wire import Stabilize


class AdaptiveReplay:
    """See the module."""

    def __init__(
        self,
        request: Stabilize,
        alignment: Alignment,
        sources: Sequence[Source],
        cost: PassCost,
        prompt_tokens: int,
        limit: int,
        is_end: Callable[[int], bool],
    ) -> None:
        """`alignment` follows what tokens may be held from; the answer has at most `limit`."""
        self._acceptance = None if request.exact else Acceptance(request)
        self._alignment = alignment
        self._sources = sources
        self._costs = self._cost = cost
        self._prompt_tokens = prompt_tokens
        self._sure_tokens = min(sure_tokens(len(request.old_output)), limit)
        self._horizon = request.horizon
        self._is_end = is_end
        self._ledger = Ledger()
        self._prompt_ms = 0.0
        self._said = 0
        self._pending: list[int] = []
        """The last decided token; none at first."""
        self._offers: list[Offer] = []
        self._window: Window | None = None
        self._drafts: list[int] = []
        self._serial_ms = 0.0
        self.kept = 0

    def propose(self, room: int, beside: int) -> list[int]:
        """See `Decoding`."""
        decided = len(self._pending)
        self._cost = self._costs.at(self._prompt_tokens + self._said - decided)
        if not decided:
            self._prompt_ms = self._cost(beside)
        self._serial_ms = self._cost(beside + 1 if decided else 1)
        choose = best_window if decided else first_window
        room = min(room, self._horizon) - decided
        self._offers = [offer for source in self._sources for offer in source.offers()]
        self._window = choose(self._cost, self._offers, beside, room, self._budget())
        self._drafts = []
        if self._window:
            drafts = self._window.offer.take(self._window.size)
            self._drafts = list(takewhile(lambda token: not self._is_end(token), drafts))
        return self._pending + self._drafts

    def _budget(self) -> float:
        tokens = max(self._sure_tokens, self._said)
        return self._ledger.budget(self._prompt_ms + tokens * self._cost(1))

    def consume(self, rows: Rows) -> list[Decision]:
        """See `Decoding`."""
        decisions: list[Decision] = []
        right = 0
        for row in rows:
            decision = self._decide(row)
            decisions.append(decision)
            if right == len(self._drafts) or decision.token != self._drafts[right]:
                break
            assert self._window
            decisions[-1] = decision._replace(drafted_by=self._window.offer.source)
            right += 1
        if self._window and self._drafts:
            self._ledger.book(self._window.extra_ms, right, self._serial_ms)
        self._learn([decision.token for decision in decisions])
        self.kept = len(self._pending) + right
        self._pending = [decisions[-1].token]
        return decisions

    def _learn(self, said: Sequence[int]) -> None:
        """Every offer is judged by what was said, drafted or not; costly ones if drafted."""
        for offer in self._offers:
            if not offer.token_ms:
                tokens = offer.take(len(said))
            else:
                tokens = self._drafts if self._window and self._window.offer is offer else []
            pairs = list(zip(tokens, said, strict=False))
            right = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
            offer.survival.learn(offer.length, right, len(pairs))

    def _decide(self, row: Row) -> Decision:
        """The token at a place: the stale answer's where it stands there, else the argmax."""
        token, source, place = int(np.argmax(row)), -1, self._alignment.place
        if place is not None and self._stands(row, token, place):
            token, source = self._alignment.stale[place], place
        diverged = self._alignment.push(token)
        for it in self._sources:
            it.push(token)
        self._said += 1
        return Decision(token, source, diverged)

    def _stands(self, row: Row, best: int, place: int) -> bool:
        if self._acceptance and self._alignment.trusted:
            return self._acceptance.holds(row, best, place)
        return self._alignment.stale[place] == best
