"""Runs that never were, made of answers that were: with faults put in, or drawn anew from plain generation's.

Invariant: the arm under test, the probe, gives plain generation's own answers but for the changes that are
asked for; judge and gate are the ones that real runs meet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bundles import Attempt, Run, Unit, Verdict
from judge.evaluate import judge_attempts
from judge.evidence import Assessment, assess
from judge.faults import FAULT_KINDS, Change, faults
from judge.gate import GateVerdict, decide
from judge.harmless import HARMLESS_KINDS, harmless
from judge.outcomes import CONTROL, PLAIN
from judge.parts import joined, without
from judge.policy import GatePolicy

PROBE = "probe"
"""The arm that stands in for one under test."""
_ROLES = (PLAIN, CONTROL, PROBE)


@dataclass(frozen=True, slots=True)
class Placed:
    """A change, and the answer that it is made in."""

    unit_id: str
    repeat: int
    change: Change


class Trial:
    """A run of plain, control and the probe, which says what plain says but for what is changed.

    `answers` are the probe's, by unit and repeat.
    """

    def __init__(
        self, run: Run, units: Sequence[Unit], attempts: Sequence[Attempt], policy: GatePolicy
    ) -> None:
        planned = set(run.unit_ids)
        self.units = {unit.unit_id: unit for unit in units if unit.unit_id in planned}
        self.run = replace(run, arms=_ROLES if CONTROL in run.arms else (PLAIN, PROBE))
        self.recorded = [
            attempt
            for attempt in attempts
            if attempt.unit_id in planned and attempt.repeat < run.repeats and attempt.arm in (PLAIN, CONTROL)
        ]
        self.answers = {
            (attempt.unit_id, attempt.repeat): replace(attempt, arm=PROBE)
            for attempt in self.recorded
            if attempt.arm == PLAIN and attempt.status == "ok"
        }
        self.sessions: dict[str, list[str]] = {}
        for unit in self.units.values():
            self.sessions.setdefault(unit.session_id, []).append(unit.unit_id)
        self._policy = policy
        self._judged: dict[str, list[tuple[Attempt, list[Verdict]]]] = {unit_id: [] for unit_id in self.units}
        for attempt in [*self.recorded, *self.answers.values()]:
            self._judged[attempt.unit_id].append((attempt, self._verdicts(attempt)))
        self._whole = self.assess(self.units, {})
        self.unchanged = self.decide(self._whole)

    def changes(self) -> Mapping[str, list[Placed]]:
        """Every change there is to make, by kind."""
        found: dict[str, list[Placed]] = {kind: [] for kind in (*FAULT_KINDS, *HARMLESS_KINDS)}
        for (unit_id, repeat), answer in self.answers.items():
            unit = self.units[unit_id]
            for change in (*faults(unit, answer.text), *harmless(unit, answer.text)):
                found[change.kind].append(Placed(unit_id, repeat, change))
        return found

    def verdict(self, placed: Sequence[Placed]) -> GateVerdict:
        """The gate's word on the run with these changes, at most one to an answer."""
        changed: dict[tuple[str, str, int], Attempt] = {}
        for one in placed:
            answer = self.answers[one.unit_id, one.repeat]
            changed[answer.key] = replace(answer, text=one.change.text, token_ids=(), spans=())
        touched = {self.units[one.unit_id].session_id for one in placed}
        unit_ids = [unit_id for session_id in touched for unit_id in self.sessions[session_id]]
        rest = without(self._whole, self.assess(unit_ids, {}))
        return self.decide(joined([rest, self.assess(unit_ids, changed)]))

    def assess(self, unit_ids: Iterable[str], changed: Mapping[tuple[str, str, int], Attempt]) -> Assessment:
        """Some units of the run, with these attempts in place of others."""
        units = [self.units[unit_id] for unit_id in unit_ids]
        judged = [
            (changed[attempt.key], self._verdicts(changed[attempt.key]))
            if attempt.key in changed
            else (attempt, verdicts)
            for unit in units
            for attempt, verdicts in self._judged[unit.unit_id]
        ]
        return self.assess_judged(units, judged)

    def assess_judged(
        self, units: Sequence[Unit], judged: Sequence[tuple[Attempt, list[Verdict]]]
    ) -> Assessment:
        """These units, as if they were the run."""
        run = replace(self.run, unit_ids=tuple(unit.unit_id for unit in units))
        verdicts = [verdict for _, found in judged for verdict in found]
        return assess(run, units, [attempt for attempt, _ in judged], verdicts)

    def decide(self, assessment: Assessment) -> GateVerdict:
        """The gate's word."""
        return decide(assessment, self._policy).verdict

    def of_plain(self, unit_id: str) -> Mapping[int, list[tuple[Attempt, list[Verdict]]]]:
        """What plain generation answered, as plain and as the control, by repeat."""
        found: dict[int, list[tuple[Attempt, list[Verdict]]]] = {}
        for attempt, verdicts in self._judged[unit_id]:
            if attempt.arm != PROBE:
                found.setdefault(attempt.repeat, []).append((attempt, verdicts))
        return found

    def _verdicts(self, attempt: Attempt) -> list[Verdict]:
        return judge_attempts([self.units[attempt.unit_id]], [attempt])


def resampled(trial: Trial, draw: np.random.Generator, resamples: int) -> Iterator[GateVerdict]:
    """The gate's word on runs in which nothing differs but by chance.

    Sessions are drawn with replacement; what plays plain, the control and the probe is drawn, answer by
    answer, from what plain generation answered, as plain or as the control.
    """
    sessions = [_Session(trial, unit_ids) for unit_ids in trial.sessions.values()]
    for _ in range(resamples):
        drawn = draw.integers(len(sessions), size=len(sessions)).tolist()
        yield trial.decide(joined([sessions[index].drawn(draw) for index in drawn]))


class _Session:
    """A session's answers of plain generation, to be given any role; each casting is assessed once."""

    def __init__(self, trial: Trial, unit_ids: Sequence[str]) -> None:
        self._trial = trial
        self._units = [trial.units[unit_id] for unit_id in unit_ids]
        self._answers = [found for unit_id in unit_ids for found in trial.of_plain(unit_id).values()]
        self._assessed: dict[bytes, Assessment] = {}

    def drawn(self, draw: np.random.Generator) -> Assessment:
        sizes = np.array([[len(found)] * len(_ROLES) for found in self._answers])
        picks = draw.integers(sizes) if self._answers else sizes
        key = picks.tobytes()
        if key not in self._assessed:
            cast = [
                (replace(attempt, arm=role), [replace(verdict, arm=role) for verdict in verdicts])
                for found, row in zip(self._answers, picks.tolist(), strict=True)
                for role, pick in zip(_ROLES, row, strict=True)
                for attempt, verdicts in [found[pick]]
            ]
            self._assessed[key] = self._trial.assess_judged(self._units, cast)
        return self._assessed[key]
