"""Small factories for what a bench measures."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bundles import Attempt, Unit
from engine.wire import EngineFacts
from replay.bench.figures import Oracle
from replay.bench.machine import machine_of
from replay.bench.measuring import LB0, Measured, Plan, arms_to_measure
from replay.bench.pass_costs import PassCosts
from replay.bench.report import bench_result
from replay.bench.result import BenchResult, Machine

PLAIN_MS, ANSWER = 110.0, "Ava owns it."
COSTS = {1: 10.0, 4: 16.0, 8: 24.0, 16: 40.0}


class Bench:
    """The factories, for test modules, which cannot import this one."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def attempt(self, unit_id: str, arm: str, repeat: int, wall_ms: float, text: str = ANSWER) -> Attempt:
        """An answer of a token a byte, limited by length, after 10 ms of prompt."""
        passes = {"plain": len(text) - 1, "control": len(text) - 1}.get(arm, 3)
        made: Attempt = self.make.attempt(unit_id, arm, repeat, text=text)
        return replace(
            made, wall_ms=wall_ms, prompt_ms=10.0, prompt_tokens=20, passes=passes, rows=len(text) + 4,
            wasted_rows=5, host_ms=2.0,
        )  # fmt: skip

    def measured(
        self,
        unit_id: str = "u",
        wall_ms: Mapping[str, float] | None = None,
        stale: str = "Bo owns it.",
        repeats: int = 5,
        **changes: object,
    ) -> Measured:
        """A unit with one attempt an arm and repeat; `wall_ms` by arm, the middle repeat's."""
        unit: Unit = self.make.unit(unit_id, **changes)
        times = {"plain": PLAIN_MS, "control": PLAIN_MS, "redraft": 55.0, LB0: 40.0} | dict(wall_ms or {})
        attempts = [
            self.attempt(unit_id, arm, repeat, ms + repeat - repeats // 2)
            for repeat in range(repeats)
            for arm, ms in times.items()
        ]
        return Measured(unit, tuple(stale.encode()), tuple(attempts))

    def oracle(self) -> Oracle:
        return Oracle(PassCosts(COSTS), 64)

    def machine(self, **changes: object) -> Machine:
        facts = EngineFacts(
            version="1", model_fingerprint="abc", quantisation="Q8_0", kv_type="bf16", threads=2,
            deterministic=True, algorithms=["adaptive"], exact_width=64,
            pass_cost_ms={str(rows): cost for rows, cost in COSTS.items()},
        )  # fmt: skip
        return machine_of("tiny.gguf", facts, (0.1, 2.1), 0.01).model_copy(update=changes)

    def plan(self, *measured: Measured, arms: tuple[str, ...] = ("redraft",)) -> Plan:
        return Plan(tuple(one.unit for one in measured), arms_to_measure(arms), 5, 0, 32)

    def result(self, *measured: Measured, noise: tuple[str, ...] = ()) -> BenchResult:
        plan = self.plan(*measured)
        return bench_result("suite", "2026-01-01", plan, measured, self.oracle(), self.machine(), noise)


@pytest.fixture
def bench(make: Any) -> Bench:
    return Bench(make)
