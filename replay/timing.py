"""How much faster an arm is, and how sure that is. Pure, and seeded where it draws.

Invariant: a unit counts once, whatever its repeats; the interval treats the units of one session as
one piece of evidence.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from bundles import Attempt, Run, RunInfo, Unit
from judge import Metric
from replay.runs import jobs_of

CONFIDENCE = 0.95
RESAMPLES = 2000
# With fewer sessions not even the whole range of the data covers the median at 95%.
FEWEST_SESSIONS = 6
_CHUNK = 200
_METRICS: Mapping[Metric, Callable[[Attempt], float]] = {
    "wall": lambda attempt: attempt.wall_ms,
    "ms_per_token": lambda attempt: attempt.wall_ms / max(1, len(attempt.token_ids)),
    "passes": lambda attempt: attempt.passes,
}


@dataclass(frozen=True, slots=True)
class Speedup:
    """What plain takes over what the arm takes: median over units, its 95% interval, and the slowest unit."""

    median: float | None = None
    low: float | None = None
    high: float | None = None
    slowest: float | None = None
    slowest_unit: str | None = None


def metric_of(run: Run | RunInfo) -> Metric:
    """What the run's speedups are of: wall time, but where attempts contended for the machine passes."""
    return "passes" if jobs_of(run) > 1 else "wall"


def speedup(
    units: Sequence[Unit],
    plain: Iterable[Attempt],
    arm: Iterable[Attempt],
    seed: int,
    metric: Metric = "wall",
) -> Speedup:
    """Of the units that both have finished; repeats of a unit are reduced to their median first."""
    sessions = {unit.unit_id: unit.session_id for unit in units}
    return speedup_of(taken(plain, metric), taken(arm, metric), sessions, seed)


def speedup_of(
    plain_takes: Mapping[str, float], arm_takes: Mapping[str, float], sessions: Mapping[str, str], seed: int
) -> Speedup:
    """Of what each unit takes, over the units that both have; `sessions` has every unit's, in their order."""
    timed = [unit_id for unit_id in sessions if unit_id in plain_takes and unit_id in arm_takes]
    if not timed:
        return Speedup()
    ratios = [plain_takes[unit_id] / arm_takes[unit_id] for unit_id in timed]
    low, high = interval(ratios, [sessions[unit_id] for unit_id in timed], seed)
    slowest = min(range(len(timed)), key=ratios.__getitem__)
    return Speedup(median(ratios), low, high, ratios[slowest], timed[slowest])


def interval(
    values: Sequence[float], sessions: Sequence[str], seed: int
) -> tuple[float, float] | tuple[None, None]:
    """The 95% percentile interval of the median by a bootstrap that draws whole sessions.

    `sessions[i]` is the session of `values[i]`. None where there are fewer than FEWEST_SESSIONS.
    """
    names, session_of = np.unique(np.asarray(sessions), return_inverse=True)
    if len(names) < FEWEST_SESSIONS:
        return None, None
    if min(values) == max(values):
        return values[0], values[0]
    order = np.argsort(np.asarray(values), kind="stable")
    ordered, owner = np.asarray(values)[order], session_of[order]
    draw = np.random.default_rng(seed)
    medians = np.concatenate(
        [
            _medians(ordered, owner, draw.integers(len(names), size=(_CHUNK, len(names))))
            for _ in range(RESAMPLES // _CHUNK)
        ]
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return float(low), float(high)


def _medians(
    ordered: NDArray[np.float64], owner: NDArray[np.intp], drawn: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The median of each resample: a value counts as often as its session was drawn."""
    resamples, sessions = drawn.shape
    places = drawn + np.arange(resamples)[:, None] * sessions
    counts = np.bincount(places.ravel(), minlength=drawn.size).astype(np.int32).reshape(drawn.shape)
    below = np.cumsum(counts[:, owner], axis=1, dtype=np.int32)
    half = below[:, -1:] / 2
    lower = np.argmax(below >= half, axis=1)
    upper = np.argmax(below > half, axis=1)
    result: NDArray[np.float64] = (ordered[lower] + ordered[upper]) / 2
    return result


def taken(attempts: Iterable[Attempt], metric: Metric) -> Mapping[str, float]:
    """What each unit took, in the metric's unit; an attempt that took nothing was not measured."""
    found: dict[str, list[float]] = {}
    for attempt in attempts:
        if took := taken_by(attempt, metric):
            found.setdefault(attempt.unit_id, []).append(took)
    return {unit_id: median(values) for unit_id, values in found.items()}


def taken_by(attempt: Attempt, metric: Metric) -> float | None:
    """What one attempt took, in the metric's unit; None if that was not measured."""
    took = _METRICS[metric](attempt)
    return took if attempt.status == "ok" and took > 0 else None
