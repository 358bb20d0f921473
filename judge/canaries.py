"""Canaries: units whose edit flips a fact, so that a stale answer shows.

Invariant: a canary passes only if plain generation and the arm both state every fact in every planned
repeat; anything unknown keeps it from passing.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from bundles import Outcome

CanaryOutcome = Literal["passed", "failed", "blind", "unscored"]


@dataclass(frozen=True, slots=True)
class CanaryCount:
    """How many canaries of an arm ended how."""

    passed: int = 0
    failed: int = 0
    blind: int = 0
    unscored: int = 0

    @property
    def total(self) -> int:
        """All canaries of the arm."""
        return self.passed + self.failed + self.blind + self.unscored


def judge_canary(plain: Collection[Outcome], arm: Collection[Outcome]) -> CanaryOutcome:
    """One canary of one arm, from its facts' outcomes over all repeats.

    Blind where plain generation fails too: such a canary says nothing about the arm.
    """
    if "fail" in plain:
        return "blind"
    if not plain or not arm or "unscored" in plain:
        return "unscored"
    if "fail" in arm:
        return "failed"
    return "unscored" if "unscored" in arm else "passed"


def count_canaries(outcomes: Iterable[CanaryOutcome]) -> CanaryCount:
    """Tally of one arm's canaries."""
    return CanaryCount(**Counter[str](outcomes))
