"""Canaries against a live daemon: does it keep what an edit has made stale?

Invariant: the section that a canary uses is deleted whatever happens, and a canary fails only where plain
generation, asked of the same daemon at once, gets right what the arm gets wrong.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from bundles import Attempt, Run, Unit, Verdict, read_suite
from daemon.wire import CanaryReport, RefreshRequest
from judge import Attribution, CanaryOutcome, assess, judge_attempts
from replay.arms import PLAIN, Arm, parse_arm
from replay.catalog import suite_path
from replay.client import Client
from replay.driver import filled, opening, refreshing, retried
from replay.errors import NothingToRun, ServiceError, SettingsError

Ending = CanaryOutcome | Literal["error"]
ENDINGS: tuple[Ending, ...] = ("passed", "failed", "blind", "unscored", "error")
_REGRESSION, _INCONCLUSIVE, _INFRASTRUCTURE = 1, 3, 4
_PLAIN = parse_arm(PLAIN)
_FIRST = RefreshRequest(baseline=True)


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """How one canary ended, and why where it did not pass.

    `attempt` is the arm's, `plain` plain generation's, asked for only where the arm's is wrong.
    `attribution` says of a failed one whether the difference was held from the stale answer.
    """

    unit_id: str
    ending: Ending
    reason: str = ""
    attribution: Attribution | None = None
    attempt: Attempt | None = None
    plain: Attempt | None = None


@dataclass(frozen=True, slots=True)
class CanaryRound:
    """All canaries of a suite, each tried once."""

    results: tuple[CanaryResult, ...]

    def count(self, ending: Ending) -> int:
        """How many ended so."""
        return sum(result.ending == ending for result in self.results)

    @property
    def exit_code(self) -> int:
        """1 where one failed; 4 where one could not be tried; 3 where none passed or one is unscored."""
        if self.count("failed"):
            return _REGRESSION
        if self.count("error"):
            return _INFRASTRUCTURE
        return 0 if self.count("passed") and not self.count("unscored") else _INCONCLUSIVE

    @property
    def report(self) -> CanaryReport:
        """The round as the daemon's metrics show it."""
        return CanaryReport(**{ending: self.count(ending) for ending in ENDINGS})

    @property
    def line(self) -> str:
        """The round in one line: how many ended how, and each that failed or could not be tried."""
        counts = ", ".join(f"{self.count(ending)} {ending}" for ending in ENDINGS)
        told = [result for result in self.results if result.ending in ("failed", "error")]
        return "; ".join([counts, *(f"{result.unit_id} {result.ending}: {result.reason}" for result in told)])


@dataclass(frozen=True, slots=True)
class Canaries:
    """Which canaries to try, how they are to be refreshed, and under which tenant."""

    units: tuple[Unit, ...]
    arm: Arm
    tenant: str
    max_tokens: int

    def check(self, client: Client, tell: Callable[[CanaryResult], None]) -> CanaryRound:
        """Tries each in turn; ServiceDown where the daemon is gone."""
        client.must_be_alive()
        results = []
        for unit in self.units:
            results.append(self._checked(client, unit))
            tell(results[-1])
            if results[-1].ending == "error":
                client.must_be_alive()
        return CanaryRound(tuple(results))

    def all_in_error(self, reason: str) -> CanaryRound:
        """The round of a daemon that is gone."""
        return CanaryRound(tuple(CanaryResult(unit.unit_id, "error", reason) for unit in self.units))

    def _checked(self, client: Client, unit: Unit) -> CanaryResult:
        try:
            with _section(client, self.tenant) as section:
                return _Canary(client, section, unit, self.arm, unit.max_tokens or self.max_tokens).result()
        except ServiceError as error:
            return CanaryResult(unit.unit_id, "error", str(error))


def canary_units(suite: str) -> tuple[Unit, ...]:
    """The canaries of a suite file or a built-in suite; NothingToRun where it has none."""
    path = suite_path(suite)
    if path is None:
        raise SettingsError(f"{suite}: no such file; give a suite, such as builtin:smoke")
    units = tuple(unit for unit in read_suite(path, strict=True).bundle.units if unit.canary)
    if not units:
        raise NothingToRun(f"nothing to run: {suite} has no canary")
    return units


def canary_arm(spec: str) -> Arm:
    """The arm of a spec; SettingsError for plain generation, which canaries are compared with."""
    arm = parse_arm(spec)
    if arm.baseline:
        raise SettingsError(f"arm {spec!r}: a canary tries an arm that replays the stale answer")
    return arm


@contextmanager
def _section(client: Client, tenant: str) -> Iterator[str]:
    section = f"{tenant}/{secrets.token_hex(8)}/canary"
    try:
        yield section
    except BaseException:
        with suppress(ServiceError):  # it is the first error that is told
            client.delete(section)
        raise
    client.delete(section)


@dataclass(frozen=True, slots=True)
class _Canary:
    client: Client
    section: str
    unit: Unit
    arm: Arm
    max_tokens: int

    def result(self) -> CanaryResult:
        """Refreshes, edits, refreshes, and where that is wrong asks plain generation."""
        unit_id = self.unit.unit_id
        stale, attempt = retried(self._edited)
        verdicts = self._weighing(attempt)
        wrong = _reasons(verdicts, "fail")
        if not wrong:
            doubt = _reasons(verdicts, "unscored") or ("" if verdicts else "it has no fact that weighs")
            return CanaryResult(unit_id, "unscored" if doubt else "passed", doubt, attempt=attempt)
        plain = retried(lambda: self._plain(stale))
        run = Run("canary", "", (unit_id,), (PLAIN, self.arm.name), 1, 0, self.max_tokens, "")
        found = assess(run, [self.unit], [plain, attempt], [*self._weighing(plain), *verdicts])
        losses = [flip.attribution for flip in found.flips if flip.is_loss]
        held: Attribution | None = "held" if "held" in losses else "decoded" if losses else None
        ending = found.canary_outcomes[unit_id, self.arm.name]
        return CanaryResult(unit_id, ending, wrong, held if ending == "failed" else None, attempt, plain)

    def _edited(self) -> tuple[str, Attempt]:
        """What the live model says before the edit, and what becomes of it after."""
        self._open(None)
        stale = self.client.refresh(self.section, _FIRST, "").text
        return stale, self._refreshed(self.arm, stale)

    def _plain(self, stale: str) -> Attempt:
        self._open(stale)
        return self._refreshed(_PLAIN, stale)

    def _open(self, derived: str | None) -> None:
        self.client.open(self.section, opening(self.unit, derived, self.max_tokens))

    def _refreshed(self, arm: Arm, stale: str) -> Attempt:
        old = stale if self.unit.edited is None else self.unit.edited
        refreshed = self.client.refresh(self.section, refreshing(self.unit, arm, stale), old)
        if not arm.baseline and refreshed.done.mode == "baseline":
            raise ServiceError(f"{self.client.url}: the engine behind it cannot replay a stale answer")
        return filled(Attempt("canary", self.unit.unit_id, arm.name, 0, 0, "ok"), refreshed)

    def _weighing(self, attempt: Attempt) -> list[Verdict]:
        """Verdicts on its facts, without advisory ones."""
        weighing = {fact.fact_id for fact in self.unit.facts if fact.severity != "advisory"}
        return [verdict for verdict in judge_attempts([self.unit], [attempt]) if verdict.fact_id in weighing]


def _reasons(verdicts: Iterable[Verdict], outcome: str) -> str:
    return "; ".join(f"{v.fact_id}: {v.reason}" for v in verdicts if v.outcome == outcome)
