"""How the gate's margin works out on runs whose true rates are known.

Run it: `python tests/judge/measure_gate.py`. For each true rate of sessions in which the arm, and not the
control, loses a fact, it prints how often runs of some sizes pass, fail or stay inconclusive, and how the
number of sessions that inconclusive runs ask for compares with what they take when they go on.
"""

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from judge.significance import RULINGS, rule, sessions_needed

MARGIN, CONFIDENCE = 0.05, 0.95
RATES = (0.0, 0.01, 0.02, 0.05, 0.10)
DRIFTS = (0.0, 0.03)
SIZES = (20, 50, 100, 200)
RUNS, MOST = 2000, 5000
UNDECIDED = RULINGS.index("undecided")


def counts(rate: float, drift: float, sessions: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Sessions lost by the arm alone and by the control alone, a row for each run."""
    return draw.multinomial(sessions, [rate + drift, drift, 1 - rate - 2 * drift], size=RUNS)[:, :2]


def rulings(rate: float, drift: float, sessions: int, draw: np.random.Generator) -> NDArray[np.int_]:
    """Of the gate on runs of this size."""
    found = counts(rate, drift, sessions, draw)
    return rule(found[:, 0], found[:, 1], sessions, MARGIN, CONFIDENCE)


def taken(ours: int, theirs: int, sessions: int, rate: float, draw: np.random.Generator) -> float:
    """Sessions in all with which half of the runs that go on from here, at the true rate, are decided."""
    total = sessions + 1
    while total < MOST:
        further = counts(rate, 0.0, total - sessions, draw)
        found = rule(ours + further[:, 0], theirs + further[:, 1], total, MARGIN, CONFIDENCE)
        if (found != UNDECIDED).mean() >= 0.5:
            return total
        total += max(1, total // 50)
    return np.inf


def forecasts(rate: float, sessions: int, draw: np.random.Generator) -> list[tuple[float, float]]:
    """For inconclusive runs of this size: sessions in all as asked for, and as taken."""
    found: list[tuple[float, float]] = []
    for (ours, theirs), runs in zip(
        *np.unique(counts(rate, 0.0, sessions, draw), axis=0, return_counts=True), strict=True
    ):
        if rule(ours, theirs, sessions, MARGIN, CONFIDENCE) == UNDECIDED:
            more = sessions_needed(int(ours), int(theirs), sessions, MARGIN, CONFIDENCE)
            asked = np.inf if more is None else sessions + more
            found += [(asked, taken(ours, theirs, sessions, rate, draw))] * runs
    return found


def main() -> None:
    """Prints the tables."""
    draw = np.random.default_rng(0)
    print(f"margin {MARGIN:.0%}, confidence {CONFIDENCE:.0%}, {RUNS} runs each: pass / fail / inconclusive")
    for drift in DRIFTS:
        rows = [
            (
                f"{rate:.0%}",
                *(
                    " / ".join(f"{(found == ruling).mean():.1%}" for ruling in range(len(RULINGS)))
                    for sessions in SIZES
                    for found in [rulings(rate, drift, sessions, draw)]
                ),
            )
            for rate in RATES
        ]
        print(f"\nplain and control differ in {drift:.0%} of the sessions, each way")
        print(tabulate(rows, headers=("true rate", *(f"{size} sessions" for size in SIZES))))
    rows = []
    for rate in RATES:
        for sessions in SIZES:
            both = np.array(forecasts(rate, sessions, draw)).reshape(-1, 2)
            if len(both) and np.isfinite(np.median(both[:, 1])):
                asked, took = np.median(both, axis=0)
                rows.append((f"{rate:.0%}", sessions, len(both), asked, took, f"{asked / took:.2f}"))
    print("\nsessions in all that inconclusive runs ask for, and take, in the median")
    print(tabulate(rows, headers=("true rate", "run of", "inconclusive", "asked for", "taken", "ratio")))


if __name__ == "__main__":
    main()
