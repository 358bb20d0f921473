"""The bench's step: one unit, every arm in turn, as often as asked for.

Invariant: within a unit no arm gets a better place than another: arms take turns repeat by repeat, in an
order that rotates and is run forwards and backwards alike, and every attempt starts from the state that
`replay.driver` makes for it. Each unit begins with an attempt of plain generation that is not counted, the
first one with an attempt of every arm; a unit is given away only when all of its attempts are made.
"""

import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from bundles import Attempt, Run, Unit
from replay.arms import PLAIN, STALE, Arm, parse_arms
from replay.client import Client
from replay.driver import Driver
from replay.errors import ServiceDown
from replay.plan import Step, rotated

DEFAULT_ARMS = ("anchor", "anchor:tau=3,floor=1", "redraft", "redraft:tau=3,floor=1")
LB0 = "lb0"
_LB0 = Arm(LB0, patch=False)
_STALE = Arm(STALE, baseline=True)
Tokenize = Callable[[str], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. `arms` has plain and control first."""

    units: tuple[Unit, ...]
    arms: tuple[Arm, ...]
    repeats: int
    seed: int
    max_tokens: int

    @property
    def attempts(self) -> int:
        """How many there will be, uncounted ones too."""
        stale = sum(unit.stale is None for unit in self.units)
        counted = self.repeats * sum(len(arms_of(unit, self.arms)) for unit in self.units)
        first = len(arms_of(self.units[0], self.arms)) if self.units else 0
        return stale + len(self.units) + first + counted


@dataclass(frozen=True, slots=True)
class Measured:
    """A unit's counted attempts, in the order made, and the tokens of the stale answer that was the draft.

    Where not even plain generation answered, the attempts are that one, failed.
    """

    unit: Unit
    stale_tokens: tuple[int, ...]
    attempts: tuple[Attempt, ...]


def arms_to_measure(specs: Sequence[str]) -> tuple[Arm, ...]:
    """What is asked for, or the default arms, with plain and control first.

    Plain and control are asked to draft from nothing instead of not being asked: the tokens and the passes
    are the same, but the engine then tells of them.
    """
    arms = parse_arms(specs or DEFAULT_ARMS)
    return tuple(replace(arm, sources=()) if arm.baseline and arm.sources is None else arm for arm in arms)


def arms_of(unit: Unit, arms: Sequence[Arm]) -> list[Arm]:
    """The arms that the unit is measured with: all, and LB0 where the draft is no part of the prompt."""
    return [*arms] if unit.edited is not None else [*arms, _LB0]


def measure(
    plan: Plan, client: Client, tokenize: Tokenize, tell: Callable[[Attempt], None]
) -> Generator[Measured]:
    """The units in turn. ServiceDown where the service is gone; `tell` hears of every attempt."""
    run = Run("bench", "", (), (), plan.repeats, plan.seed, plan.max_tokens, "")
    bench = _Bench(plan, Driver(run, client), client, tell)
    try:
        for index, unit in enumerate(plan.units):
            yield bench.unit(index, unit, tokenize)
    finally:
        bench.driver.drop()


@dataclass(frozen=True, slots=True)
class _Bench:
    plan: Plan
    driver: Driver
    client: Client
    tell: Callable[[Attempt], None]

    def unit(self, index: int, unit: Unit, tokenize: Tokenize) -> Measured:
        stale = unit.stale
        if stale is None:
            old = self._attempt(unit, _STALE, 0, "")
            if old.status != "ok":
                return Measured(unit, (), (replace(old, arm=PLAIN),))
            stale = old.text
        plain = self._attempt(unit, self.plan.arms[0], 0, stale)
        if plain.status != "ok":
            return Measured(unit, (), (plain,))

        def attempt(arm: Arm, repeat: int) -> Attempt:
            return self._attempt(unit, arm, repeat, plain.text if arm.name == LB0 else stale)

        arms = arms_of(unit, self.plan.arms)
        if index == 0:
            for arm in arms:
                attempt(arm, 0)
        random.Random(self.plan.seed).shuffle(arms)
        attempts = tuple(
            attempt(arm, repeat)
            for repeat in range(self.plan.repeats)
            for arm in rotated(arms, index * self.plan.repeats + repeat)
        )
        return Measured(unit, tokenize(stale if unit.edited is None else unit.edited), attempts)

    def _attempt(self, unit: Unit, arm: Arm, repeat: int, draft: str) -> Attempt:
        step = Step(arm, repeat, order=0)
        return made(self.driver, self.client, unit, step, draft, self.tell)


def made(
    driver: Driver, client: Client, unit: Unit, step: Step, draft: str, tell: Callable[[Attempt], None]
) -> Attempt:
    """One attempt. ServiceDown where the service is gone or hangs: nothing after it could be compared."""
    attempt = driver.attempt(unit, step, draft)
    tell(attempt)
    if attempt.status == "timeout":
        raise ServiceDown(f"unit {unit.unit_id}, {step.arm.name}: {attempt.error}")
    if attempt.status != "ok":
        client.must_be_alive()
    return attempt
