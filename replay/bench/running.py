"""A bench from start to end, with an engine of its own.

Invariant: whatever stops it, what was measured so far is there.
"""

from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import cpu_count, getpid

import httpx

from engine.wire import EngineFacts
from replay import machine
from replay.bench.figures import Oracle
from replay.bench.interference import cpu_times, used_by_others
from replay.bench.machine import machine_of
from replay.bench.measuring import Measured, Plan, measure
from replay.bench.pass_costs import PassCosts
from replay.bench.report import bench_result
from replay.bench.result import BenchResult
from replay.errors import ServiceDown
from replay.evaluation import Console
from replay.stack import Stack, StackOptions, client_of, serving

TOKENIZE_S = 30.0
MUCH = 0.05
"""Share of the cores' time that others may use without a word."""


@dataclass
class Bench:
    """A bench under way; `result` is of the units that are measured, None before the first is."""

    suite: str
    plan: Plan
    console: Console
    options: StackOptions
    measured: list[Measured] = field(default_factory=list)
    result: BenchResult | None = None

    def run(self) -> None:
        """Measures everything. ServiceDown where the engine or the daemon is gone."""
        load = machine.load()
        with serving(self.options, self.console.say, self.console.log) as stack, client_of(stack) as client:
            health = client.health()
            facts = EngineFacts.model_validate(health.engine)
            self.console.say(f"bench of {self.suite}: {self._size()}")
            started, watched = now(), (getpid(), stack.engine.pid, stack.daemon.pid)
            before = cpu_times(watched)
            try:
                with self.console.progress(self.plan.attempts) as tell:
                    made = measure(self.plan, client, lambda text: tokens_of(stack, text), tell)
                    with closing(made) as units:
                        for unit in units:
                            self.measured.append(unit)
            finally:
                if self.measured:
                    others = used_by_others(before, cpu_times(watched))
                    where = machine_of(health.model.name, facts, (load, machine.load()), others)
                    oracle = Oracle(pass_costs(facts), facts.exact_width)
                    noise = _noise(where.used_by_others, load)
                    self.result = bench_result(
                        self.suite, started, self.plan, self.measured, oracle, where, noise
                    )

    def _size(self) -> str:
        plan = self.plan
        return f"{len(plan.units)} units x {len(plan.arms)} arms and LB0 x {plan.repeats} repeats"


def now() -> str:
    """The time of day, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def pass_costs(facts: EngineFacts) -> PassCosts:
    """The engine's calibration."""
    return PassCosts({int(rows): cost for rows, cost in facts.pass_cost_ms.items()})


def tokens_of(stack: Stack, text: str) -> tuple[int, ...]:
    """A text as the tokens that a draft of it has."""
    body = {"content": text, "add_special": False, "parse_special": False}
    try:
        answer = httpx.post(f"{stack.engine_url}/tokenize", json=body, timeout=TOKENIZE_S, trust_env=False)
        return tuple(answer.raise_for_status().json()["tokens"])
    except httpx.HTTPError as error:
        raise ServiceDown(f"{stack.engine_url}/tokenize: {error}") from error


def _noise(others: float | None, load: float | None) -> list[str]:
    """What to say of what else the machine did."""
    if others is None:
        said = machine.noise(load, cpu_count() or 1)
        return [said] if said else []
    if others <= MUCH:
        return []
    return [f"the machine was not quiet: other processes used {others:.0%} of its cores' time meanwhile"]
