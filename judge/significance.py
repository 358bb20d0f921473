"""Whether a difference means anything, in sessions.

Invariant: a session is one piece of evidence, whatever its units, facts and repeats; what cannot be told
from so many sessions is `undecided`, never settled by the best guess.
"""

from dataclasses import dataclass
from functools import lru_cache
from statistics import geometric_mean
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from judge.intervals import Counts, Estimate, excess_limits, rate

Ruling = Literal["within", "beyond", "undecided"]
RULINGS: tuple[Ruling, ...] = ("within", "beyond", "undecided")
Rulings: TypeAlias = NDArray[np.int_]
"""Places in RULINGS."""
MOST_SESSIONS = 10_000
"""No more sessions than this are asked for."""
_FIRST_LOOK = 64


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """An arm's sessions that could show a loss, and how they went.

    `worse` and `better` are those in which the arm lost more facts against plain than it gained, or fewer;
    `lost` those in which it lost any. `lost_alone` and `spared` are the ones in which only the arm, or only
    the control, lost any. `same` of the `units` planned gave plain's very tokens in every repeat.
    """

    sessions: int = 0
    worse: int = 0
    better: int = 0
    lost: int = 0
    lost_alone: int = 0
    spared: int = 0
    same: int = 0
    units: int = 0

    @property
    def identical(self) -> bool:
        """Whether nothing can have flipped, as all is plain's."""
        return 0 < self.units == self.same


@dataclass(frozen=True, slots=True)
class Weight:
    """What an arm's sessions say, at a confidence.

    `p_value` is the exact sign test of worse against better sessions, two-sided. `loss_rate` is the share of
    sessions with a loss, `excess` how much it exceeds the control's; the limits of `loss_rate` are two-sided,
    each of `excess` is one-sided. `ruling` says on which side of the margin the excess is, and
    `sessions_needed` how many more sessions would tell, should the rates stay; both None without a margin,
    the latter also where none are needed or not even MOST_SESSIONS would do.
    """

    p_value: float
    loss_rate: Estimate
    excess: Estimate
    ruling: Ruling | None
    sessions_needed: int | None


def weigh(counts: SessionCounts, margin: float | None, confidence: float) -> Weight:
    """The statistics of an arm. Where all tokens are plain's no loss is possible, so none is estimated."""
    p_value = sign_test(counts.worse, counts.better)
    if counts.identical:
        ruling: Ruling | None = None if margin is None else "within"
        return Weight(p_value, Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0), ruling, None)
    loss_rate = rate(counts.lost, counts.sessions, confidence)
    discordant = counts.lost_alone, counts.spared, counts.sessions
    excess = _excess(*discordant, confidence)
    if margin is None:
        return Weight(p_value, loss_rate, excess, None, None)
    ruling = RULINGS[int(rule(*discordant, margin, confidence))] if counts.sessions else "undecided"
    needed = sessions_needed(*discordant, margin, confidence) if ruling == "undecided" else None
    return Weight(p_value, loss_rate, excess, ruling, needed)


def sign_test(worse: int, better: int) -> float:
    """The exact two-sided p-value of so uneven a split, were both as likely (McNemar's test on pairs)."""
    return min(1.0, 2 * float(bdtr(min(worse, better), worse + better, 0.5)))


def rule(ours: Counts, theirs: Counts, of: Counts, margin: float, confidence: float) -> Rulings:
    """Where the excess of `ours` over `theirs`, per session, is for sure; see `excess_limits`."""
    low, high = excess_limits(ours, theirs, of, confidence)
    return np.where(high <= margin, 0, np.where(low > margin, 1, 2))


@lru_cache(maxsize=4096)
def sessions_needed(ours: int, theirs: int, of: int, margin: float, confidence: float) -> int | None:
    """How many more sessions give an even chance of a ruling, should the rates stay what they are.

    Runs that are ruled on ask for nothing, so those that ask show rates nearer to the margin than the true
    ones: another forecast is made for a loss less in these sessions, or one more if the excess is above the
    margin. Of a run that lost nothing it is made for half a loss, or half the margin if that is less, as its
    arm may seldom lose. The answer is the geometric mean of both. None where MOST_SESSIONS would not do.
    """
    counts = ours, theirs
    total = forecast(counts, of, (ours / max(of, 1), theirs / max(of, 1)), margin, confidence)
    if total is None:
        return None
    if not any(counts):
        seldom = min(0.5 / (of + 1), margin / 2)
        farther = seldom, seldom
    else:
        excess = (ours - theirs) / of
        farther = max(0, ours + (excess > margin) - (excess < margin)) / of, theirs / of
    other = forecast(counts, of, farther, margin, confidence) or total
    return round(geometric_mean([total, other])) - of


def forecast(
    counts: tuple[int, int], of: int, rates: tuple[float, float], margin: float, confidence: float
) -> int | None:
    """The first number of sessions in all that is ruled on, if further ones lose as the rates let expect.

    None where MOST_SESSIONS would not do.
    """
    first, look = of + 1, _FIRST_LOOK
    while first <= MOST_SESSIONS:
        total = np.arange(first, min(first + look, MOST_SESSIONS + 1))
        ours, theirs = (
            count + np.floor((total - of) * share + 1 / 3) for count, share in zip(counts, rates, strict=True)
        )
        ruled = rule(ours, theirs, total, margin, confidence) < RULINGS.index("undecided")
        if ruled.any():
            return int(total[ruled.argmax()])
        first, look = first + look, look * 2
    return None


def _excess(ours: int, theirs: int, of: int, confidence: float) -> Estimate:
    if not of:
        return Estimate()
    low, high = excess_limits(ours, theirs, of, confidence)
    return Estimate((ours - theirs) / of, float(low), float(high))
