"""How much the gate sees: judge and gate run on recorded answers with known faults.

Invariant: every faulted run is plain generation's own answers but for the faults that were put in
(`faults`, `harmless`), so whatever the gate says more than about the unfaulted run is about those. Draws
are seeded, and nothing is generated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bundles import Attempt, Run, Unit
from judge.errors import JudgeError
from judge.faults import FAULT_KINDS
from judge.gate import GateVerdict
from judge.harmless import HARMLESS_KINDS
from judge.intervals import Estimate, rate
from judge.outcomes import CONTROL
from judge.policy import GatePolicy
from judge.trials import PROBE, Placed, Trial, resampled

DOSES = (2, 5, 10)
RESAMPLES = 1000
_MOST_SINGLE, _MOST_TOGETHER = 1000, 20
_MOST_EXAMPLES = 10
_CONFIDENCE = 0.95
STALE_SEEN, FALSE_ALARMS = 0.99, 0.01
"""What is required of a gate: stale facts in canaries that it sees, harmless changes that it does not."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How many of the runs with a kind of change the gate spoke up about."""

    made: int = 0
    seen: int = 0

    @property
    def rate(self) -> Estimate:
        """With its 95% interval; no value of nothing."""
        return rate(self.seen, self.made, _CONFIDENCE)


@dataclass(frozen=True, slots=True)
class Example:
    """A change on which the gate was wrong."""

    kind: str
    unit_id: str
    how: str
    verdict: GateVerdict


@dataclass(frozen=True, slots=True)
class Power:
    """What `measure_power` found; kinds with nothing to change are there with 0 of 0.

    `detection` and `false_alarms` are of single changes, by kind; `in_canaries` is `detection` in canaries.
    `doses` are runs with so many changes of one kind at once, each in a unit of its own. A fault is seen
    where the gate says regression; a harmless change raises an alarm where it says anything else than
    without.
    """

    run_id: str
    seed: int
    unchanged: GateVerdict
    detection: Mapping[str, Seen]
    in_canaries: Mapping[str, Seen]
    false_alarms: Mapping[str, Seen]
    doses: Mapping[tuple[str, int], Seen]
    resamples: int
    failures: int
    examples: tuple[Example, ...]

    @property
    def suffices(self) -> bool | None:
        """Whether stale facts in canaries are seen, harmless changes are not, and A/A never fails.

        None where there was no canary to keep a stale fact in, nothing harmless to change, or no control.
        """
        stale = self.in_canaries["stale_fact"].rate.value
        alarms = [seen.rate.value for seen in self.false_alarms.values() if seen.rate.value is not None]
        if stale is None or not alarms or not self.resamples:
            return None
        return stale >= STALE_SEEN and max(alarms) <= FALSE_ALARMS and not self.failures


def measure_power(
    run: Run,
    units: Sequence[Unit],
    attempts: Sequence[Attempt],
    policy: GatePolicy,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    tell: Callable[[str], None] = lambda line: None,
) -> Power:
    """Detection and false-alarm rates of the gate on this run; JudgeError where plain has no answer to fault.

    What a policy asks of speed, pinned lines, calibration and comparability is left out, as faults do not
    touch it. `tell` hears of each part that begins.
    """
    policy = replace(policy, arms=(PROBE,), min_speedup={}, pinned_survival=None, require=())
    trial = Trial(run, units, attempts, policy)
    if not trial.answers:
        raise JudgeError(f"run {run.run_id}: plain generation has no finished answer to put faults in")
    draw = np.random.default_rng(seed)
    every = trial.changes()
    tell("single faults")
    single = {kind: _some(placed, draw) for kind, placed in every.items()}
    said = {kind: [trial.verdict([one]) for one in placed] for kind, placed in single.items()}
    tell("several faults at once")
    doses = {
        (kind, dose): [trial.verdict(placed) for placed in _together(every[kind], dose, draw)]
        for kind in every
        for dose in DOSES
    }
    tell("plain against control")
    again = list(resampled(trial, draw, resamples)) if CONTROL in run.arms else []
    canary_ids = {unit.unit_id for unit in units if unit.canary}
    in_canaries = {
        kind: [word for one, word in zip(single[kind], said[kind], strict=True) if one.unit_id in canary_ids]
        for kind in FAULT_KINDS
    }
    return Power(
        run_id=run.run_id,
        seed=seed,
        unchanged=trial.unchanged,
        detection={kind: _detected(said[kind]) for kind in FAULT_KINDS},
        in_canaries={kind: _detected(words) for kind, words in in_canaries.items()},
        false_alarms={kind: _alarmed(said[kind], trial.unchanged) for kind in HARMLESS_KINDS},
        doses={
            (kind, dose): _detected(words) if kind in FAULT_KINDS else _alarmed(words, trial.unchanged)
            for (kind, dose), words in doses.items()
            if words
        },
        resamples=len(again),
        failures=again.count("regression"),
        examples=tuple(_wrong(trial.unchanged, single, said))[:_MOST_EXAMPLES],
    )


def _some(placed: list[Placed], draw: np.random.Generator) -> list[Placed]:
    if len(placed) <= _MOST_SINGLE:
        return placed
    return [placed[index] for index in sorted(draw.choice(len(placed), _MOST_SINGLE, replace=False))]


def _together(placed: Sequence[Placed], dose: int, draw: np.random.Generator) -> Iterator[list[Placed]]:
    """Draws of so many changes, each in another unit; none where there are fewer units to change."""
    by_unit: dict[str, list[Placed]] = {}
    for one in placed:
        by_unit.setdefault(one.unit_id, []).append(one)
    choices = list(by_unit.values())
    for _ in range(_MOST_TOGETHER if len(choices) >= dose else 0):
        chosen = [choices[index] for index in draw.choice(len(choices), dose, replace=False)]
        yield [found[draw.integers(len(found))] for found in chosen]


def _detected(verdicts: Sequence[GateVerdict]) -> Seen:
    return Seen(len(verdicts), sum(verdict == "regression" for verdict in verdicts))


def _alarmed(verdicts: Sequence[GateVerdict], unchanged: GateVerdict) -> Seen:
    return Seen(len(verdicts), sum(verdict != unchanged for verdict in verdicts))


def _wrong(
    unchanged: GateVerdict,
    single: Mapping[str, Sequence[Placed]],
    said: Mapping[str, Sequence[GateVerdict]],
) -> Iterator[Example]:
    for kind, placed in single.items():
        right = "regression" if kind in FAULT_KINDS else unchanged
        for one, verdict in zip(placed, said[kind], strict=True):
            if verdict != right:
                yield Example(kind, one.unit_id, one.change.how, verdict)
