"""A run's attempts and verdicts, by key. Pure.

Invariant: only finished attempts of planned arms are given out, and none of them lacks a verdict. What a part
of the run's units costs depends on that part alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from bundles import Attempt, Bundle, Run, Session, Unit, Verdict
from judge import Assessment, AttemptKey, assess
from replay.arms import PLAIN
from replay.errors import SettingsError
from replay.summary import Passage

_NO_SESSION = Session("", "suite")


class JudgedRun:
    """A run, the units of its bundle, and what was generated and judged.

    SettingsError where the run has finished attempts that are not judged.
    """

    def __init__(
        self, run: Run, bundle: Bundle, attempts: Sequence[Attempt], verdicts: Sequence[Verdict]
    ) -> None:
        self.run = run
        self._units = {unit.unit_id: unit for unit in bundle.units}
        self._sessions = {session.session_id: session for session in bundle.sessions}
        self._attempts: dict[str, dict[AttemptKey, Attempt]] = {}
        for attempt in attempts:
            if attempt.arm in run.arms:
                self._attempts.setdefault(attempt.unit_id, {})[attempt.key] = attempt
        self._verdicts: dict[str, dict[tuple[AttemptKey, str], Verdict]] = {}
        for verdict in verdicts:
            key = (verdict.unit_id, verdict.arm, verdict.repeat), verdict.fact_id
            self._verdicts.setdefault(verdict.unit_id, {})[key] = verdict
        self._tokens: dict[AttemptKey, tuple[int, int]] = {}
        for attempt in self.finished(run.unit_ids, run.arms):
            self._tokens[attempt.key] = attempt.held, len(attempt.token_ids)
            for fact in self._units[attempt.unit_id].facts:
                if (attempt.key, fact.fact_id) not in self._verdicts.get(attempt.unit_id, {}):
                    raise SettingsError(
                        f"run {run.run_id} has attempts that are not judged: redraft judge {run.run_id}"
                    )

    def units(self, unit_ids: Iterable[str] | None = None) -> list[Unit]:
        """The run's units, or some of them."""
        return [self._units[unit_id] for unit_id in (self.run.unit_ids if unit_ids is None else unit_ids)]

    def unit(self, unit_id: str) -> Unit:
        """One of the run's units."""
        return self._units[unit_id]

    def session(self, unit: Unit) -> Session:
        """The session that a unit belongs to."""
        return self._sessions.get(unit.session_id, _NO_SESSION)

    def attempt(self, key: AttemptKey) -> Attempt | None:
        """An attempt, whether it finished or not; None where it has not been made."""
        return self._attempts.get(key[0], {}).get(key)

    def plain_of(self, attempt: Attempt) -> Attempt | None:
        """Plain generation's attempt at the same unit and repeat, whether it finished or not."""
        return self.attempt((attempt.unit_id, PLAIN, attempt.repeat))

    def finished(self, unit_ids: Iterable[str], arms: Iterable[str]) -> Iterator[Attempt]:
        """Those of some units and arms, in the order of the plan."""
        arms = tuple(arms)
        for unit_id in unit_ids:
            made = self._attempts.get(unit_id, {})
            for arm in arms:
                for repeat in range(self.run.repeats):
                    attempt = made.get((unit_id, arm, repeat))
                    if attempt and attempt.status == "ok":
                        yield attempt

    def verdict(self, key: AttemptKey, fact_id: str) -> Verdict:
        """On one fact of a finished attempt."""
        return self._verdicts[key[0]][key, fact_id]

    def assess(self, unit_ids: Sequence[str]) -> Assessment:
        """What the judge says of some of the run's units."""
        part = replace(self.run, unit_ids=tuple(unit_ids))
        attempts = [a for unit_id in unit_ids for a in self._attempts.get(unit_id, {}).values()]
        verdicts = [v for unit_id in unit_ids for v in self._verdicts.get(unit_id, {}).values()]
        return assess(part, self.units(unit_ids), attempts, verdicts)

    def held(self, attempts: Iterable[Attempt]) -> float | None:
        """Share of these finished attempts' tokens that was taken over; None without tokens."""
        counts = [self._tokens[attempt.key] for attempt in attempts]
        total = sum(tokens for _, tokens in counts)
        return sum(held for held, _ in counts) / total if total else None

    def identical(
        self,
        unit_ids: Iterable[str],
        arms: Sequence[str],
        other_of: Callable[[Attempt], Attempt | None] | None = None,
    ) -> float | None:
        """Share of units whose token ids equal the others' in all of these arms; None with none to compare.

        The other of an attempt is plain's at the same repeat, or what `other_of` says.
        """
        other_of = other_of or self.plain_of
        equal = []
        for unit_id in unit_ids:
            pairs = [
                (attempt.token_ids, other.token_ids)
                for attempt in self.finished([unit_id], arms)
                if (other := other_of(attempt)) and other.status == "ok"
            ]
            if pairs:
                equal.append(all(ours == plain for ours, plain in pairs))
        return sum(equal) / len(equal) if equal else None

    def passage(self, key: AttemptKey, fact_ids: Iterable[str]) -> Passage:
        """A finished attempt's text with what was held and what the verdicts on these facts rest on."""
        attempt = self._attempts[key[0]][key]
        evidence = [self.verdict(key, fact_id).evidence for fact_id in fact_ids]
        return Passage(
            text=attempt.text,
            held=tuple((span.new_start, span.new_end) for span in attempt.spans),
            evidence=tuple(found for found in evidence if found),
        )
