"""Small factories for runs that are judged."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from bundles import Attempt, Fact, HeldSpan, Run, Source, Unit, Verdict
from judge import Assessment, Decision, GatePolicy, assess, decide, judge_attempts

ARMS = ("plain", "control", "redraft")
PLAN = "Ava owns the launch on 15 June."
STALE_PLAN = "Bo owns the launch on 12 June."
PLAN_FACTS = (
    Fact("owner", "expect", ("Ava",)),
    Fact("day", "expect", ("15 June", "June 15"), severity="supporting"),
    Fact("old-owner", "forbid", ("Bo",)),
)


@dataclass(frozen=True)
class Judged:
    """A run, its units, attempts and verdicts, as the store would give them."""

    run: Run
    units: tuple[Unit, ...]
    attempts: tuple[Attempt, ...]
    verdicts: tuple[Verdict, ...]

    def assess(self) -> Assessment:
        return assess(self.run, self.units, self.attempts, self.verdicts)

    def decide(self, policy: GatePolicy | None = None) -> Decision:
        return decide(self.assess(), policy or GatePolicy())

    def replace_attempt(self, key: tuple[str, str, int], **changes: object) -> "Judged":
        """The same run with one attempt changed and everything judged again."""
        attempts = tuple(replace(a, **changes) if a.key == key else a for a in self.attempts)
        return replace(self, attempts=attempts, verdicts=tuple(judge_attempts(self.units, attempts)))


Texts = dict[tuple[str, str], str]
MakeJudged = Callable[..., Judged]


def make_unit(unit_id: str, **changes: object) -> Unit:
    unit = Unit(
        unit_id=unit_id,
        session_id=unit_id,
        instruction="Who owns the launch, and when is it?",
        sources_before=(Source("plan", STALE_PLAN),),
        sources_after=(Source("plan", PLAN),),
        stale=STALE_PLAN,
        canary=True,
        facts=PLAN_FACTS,
    )
    return replace(unit, **changes)


def make_attempt(unit_id: str, arm: str, repeat: int = 0, text: str = PLAN, **changes: object) -> Attempt:
    attempt = Attempt(run_id="run", unit_id=unit_id, arm=arm, repeat=repeat, order=0, status="ok", text=text)
    return replace(attempt, **changes)


@pytest.fixture
def unit() -> Callable[..., Unit]:
    return make_unit


@pytest.fixture
def attempt() -> Callable[..., Attempt]:
    return make_attempt


@pytest.fixture
def judged() -> MakeJudged:
    return make_judged


def make_judged(
    texts: Texts | None = None,
    *,
    units: tuple[Unit, ...] = (make_unit("u1"), make_unit("u2")),
    arms: tuple[str, ...] = ARMS,
    repeats: int = 1,
    held: bool = False,
) -> Judged:
    """A judged run in which every attempt says PLAN, but for `texts` by unit and arm (all repeats)."""
    texts = texts or {}
    attempts = []
    for unit in units:
        for order, arm in enumerate(arms):
            text = texts.get((unit.unit_id, arm), PLAN)
            spans = (
                (HeldSpan(0, len(text), 0, len(text)),) if held and arm not in ("plain", "control") else ()
            )
            attempts += [
                make_attempt(unit.unit_id, arm, repeat, text, order=order, spans=spans)
                for repeat in range(repeats)
            ]
    run = Run(
        run_id="run",
        bundle_id="bundle",
        unit_ids=tuple(unit.unit_id for unit in units),
        arms=arms,
        repeats=repeats,
        seed=0,
        max_tokens=160,
        started="2026-01-01T00:00:00Z",
    )
    return Judged(run, units, tuple(attempts), tuple(judge_attempts(units, attempts)))
