import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest

from bundles import Attempt
from replay import machine
from replay.bench import running
from replay.bench.interference import CpuTimes
from replay.bench.measuring import Measured, Plan, arms_to_measure, measure
from replay.bench.running import Bench, tokens_of
from replay.errors import ServiceDown
from replay.evaluation import Console
from replay.stack import Stack, StackOptions, serving

FAKE = StackOptions(fake_pass_ms=0)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, live: Stack) -> list[StackOptions]:
    """Every start gives the engine that runs already; the options of each."""
    seen: list[StackOptions] = []

    def start(options: StackOptions, say: object, log: object) -> AbstractContextManager[Stack]:
        seen.append(options)
        return nullcontext(live)

    monkeypatch.setattr(running, "serving", start)
    return seen


def stopping(stop: Callable[[], None]) -> Callable[..., Iterator[Measured]]:
    """Measures the first unit, then stops."""

    def stopped(*given: Any) -> Iterator[Measured]:
        with closing(measure(*given)) as units:
            yield next(units)
            stop()
            yield from units

    return stopped


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def under_way(make: Any, said: list[str]) -> Bench:
    units = (make.unit("a"), make.unit("b", session_id="b"))
    plan = Plan(units, arms_to_measure(("redraft",)), 5, 0, 32)
    return Bench("suite", plan, Console(said.append, lambda line: None, self_counting), FAKE)


@contextmanager
def self_counting(total: int) -> Iterator[Callable[[Attempt], None]]:
    told: list[Attempt] = []
    yield told.append
    assert len(told) <= total


def test_a_bench_is_measured_and_summed_up(under_way: Bench, started: list[StackOptions]) -> None:
    under_way.plan = replace(under_way.plan, units=under_way.plan.units[:1])
    under_way.run()
    result = under_way.result
    assert result is not None
    assert (result.units, result.units_planned, result.errors) == (1, 1, 0)
    assert result.arms["redraft"].exact_match == result.arms["control"].exact_match == 1
    assert result.arms["plain"].passes > 0
    assert result.limits["lb1"].units == result.limits["lb0"].units == 1
    assert result.machine.pass_cost_ms["1"] == 7.5


def test_threads_that_are_asked_for_are_taken(
    monkeypatch: pytest.MonkeyPatch, bench: Any, under_way: Bench, started: list[StackOptions]
) -> None:
    monkeypatch.setattr(running, "measure", lambda *given: (one for one in [bench.measured()]))
    under_way.options = replace(FAKE, threads=1)
    under_way.run()
    assert started[0].threads == 1


def test_ctrl_c_leaves_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, under_way: Bench, started: list[StackOptions]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "measure", stopping(interrupt))
    with pytest.raises(KeyboardInterrupt):
        under_way.run()
    assert under_way.result is not None
    assert (under_way.result.units, under_way.result.units_planned) == (1, 2)


def test_before_the_first_unit_is_measured_there_is_nothing_to_show(
    monkeypatch: pytest.MonkeyPatch, under_way: Bench, started: list[StackOptions]
) -> None:
    def interrupted(*given: object) -> Iterator[Measured]:
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        under_way.run()
    assert under_way.result is None


def test_an_engine_that_dies_is_named_and_leaves_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, under_way: Bench
) -> None:
    stacks: list[Stack] = []

    @contextmanager
    def start(*given: Any) -> Iterator[Stack]:
        with serving(*given) as stack:
            stacks.append(stack)
            yield stack

    monkeypatch.setattr(running, "serving", start)
    kill = stopping(lambda: os.kill(stacks[0].engine.pid, signal.SIGKILL))
    monkeypatch.setattr(running, "measure", kill)
    monkeypatch.setattr("replay.driver.BACK_OFF_S", ())
    with pytest.raises(ServiceDown, match="redraft-engine was killed by SIGKILL"):
        under_way.run()
    assert under_way.result is not None
    assert under_way.result.units == 1


def test_a_busy_machine_is_told_from_a_quiet_one(
    monkeypatch: pytest.MonkeyPatch, bench: Any, under_way: Bench, started: list[StackOptions]
) -> None:
    monkeypatch.setattr(running, "measure", lambda *given: (one for one in [bench.measured()]))

    def warnings(*times: CpuTimes | None, load: float = 0) -> list[str]:
        counted = iter(times)
        monkeypatch.setattr(running, "cpu_times", lambda watched: next(counted))
        monkeypatch.setattr(machine, "load", lambda: load)
        under_way.measured.clear()
        under_way.run()
        assert under_way.result is not None
        return [warning for warning in under_way.result.warnings if "quiet" in warning]

    before = CpuTimes(0, 0, {1: 0})
    assert warnings(before, CpuTimes(100, 60, {1: 50})) == [
        "the machine was not quiet: other processes used 10% of its cores' time meanwhile"
    ]
    assert warnings(before, CpuTimes(100, 60, {1: 58}), load=99) == []
    assert "load 99" in warnings(None, None, load=99)[0]
    assert warnings(None, None, load=0) == []


def test_a_draft_s_tokens_are_those_that_the_daemon_would_ask_for(live: Stack) -> None:
    assert tokens_of(live, "") == ()
    control, text = tokens_of(live, "<|im_end|>"), tokens_of(live, "the plan")
    assert len(control) > 1
    assert len(text) == 2


def test_an_engine_that_is_gone_gives_no_tokens(live: Stack) -> None:
    with pytest.raises(ServiceDown, match="/tokenize"):
        tokens_of(replace(live, engine_url="http://127.0.0.1:1"), "x")
