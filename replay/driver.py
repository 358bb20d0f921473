"""The replay step: one unit, one arm, one attempt, every one from the same state.

Invariant: an attempt is stored as it finishes and a finished one is never made again; before each,
the section's slot holds the prompt of the state before the edit, as after a real earlier refresh.
A failed attempt is stored with its error and the run goes on, unless the service is gone or hangs.
Unless several are wanted at once, nothing of the run but the attempt being made uses the machine.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from threading import Event
from typing import TypeVar

from pydantic import ValidationError

from bundles import Attempt, Run, Store, Unit
from bundles import Source as UnitSource
from daemon.wire import DoneEvent, Edit, OpenRequest, RefreshRequest, Source
from replay.arms import STALE, WARMUP, Arm
from replay.client import Client, Refreshed
from replay.errors import ServiceDown, ServiceError, ServiceTimeout
from replay.lanes import side_by_side
from replay.plan import Block, Key, Step, blocks
from replay.runs import jobs_of

BACK_OFF_S = (0.5, 1.0, 2.0)
MOST_TIMEOUTS = 3
_LONGEST_WAIT_S = 30.0
_PLAIN = RefreshRequest(baseline=True, return_tokens=True)
Result = TypeVar("Result")
_STALE_STEP = Step(Arm(STALE, baseline=True), repeat=0, order=0)


def replay(
    run: Run,
    units: Sequence[Unit],
    kept: Mapping[Key, Attempt],
    store: Store,
    client: Client,
    tell: Callable[[Attempt], None],
) -> None:
    """Makes the run's attempts that are not `kept`; `tell` hears of each that counts as it is stored."""
    todo = [block for block in blocks(run, units) if block.missing(kept)]
    earlier = 1 + max((repeat for _, arm, repeat in kept if arm == WARMUP), default=-1)
    drivers = [Driver(run, client, lane, earlier) for lane in range(min(jobs_of(run), len(todo)))]
    timeouts = 0
    with closing(_made(drivers, todo, kept)) as made:
        for attempt in made:
            store.add_attempt(attempt)
            if attempt.arm != WARMUP:
                tell(attempt)
            timeouts = timeouts + 1 if attempt.status == "timeout" else 0
            if timeouts == MOST_TIMEOUTS:
                raise ServiceDown(f"{timeouts} attempts in a row got no answer: {attempt.error}")
            if attempt.status != "ok":
                client.must_be_alive()


def finished(attempts: Sequence[Attempt]) -> dict[Key, Attempt]:
    """The attempts that need not be made again."""
    return {attempt.key: attempt for attempt in attempts if attempt.status == "ok"}


def _made(
    drivers: Sequence["Driver"], todo: Sequence[Block], kept: Mapping[Key, Attempt]
) -> Generator[Attempt]:
    """The missing attempts as they finish: one after the other, or in as many lanes as there are drivers."""
    try:
        if len(drivers) == 1:
            for block in todo:
                yield from drivers[0].attempts(block, kept)
        else:
            lanes = [lambda block, driver=driver: driver.attempts(block, kept) for driver in drivers]
            yield from side_by_side(lanes, todo, lambda: _drop(drivers))
    finally:
        _drop(drivers)


def _drop(drivers: Sequence["Driver"]) -> None:
    """Drops their sections, which ends what is being generated for them."""
    for driver in drivers:
        driver.drop()


class Driver:
    """Makes attempts through one section of its own, so that all of them run on one slot.

    `lane` tells drivers that work at once apart; `warmed` is the number of the run's next warm-up attempt.
    """

    def __init__(self, run: Run, client: Client, lane: int = 0, warmed: int = 0) -> None:
        self.section = f"replay/{run.run_id}/section" + (f"-{lane}" if lane else "")
        self._run = run
        self._client = client
        self._is_warm = False
        self._warmup = warmed + lane
        self._dropped = Event()

    def attempts(self, block: Block, kept: Mapping[Key, Attempt]) -> Iterator[Attempt]:
        """The block's attempts that are not in `kept`, the stale answer first where the unit brings none.

        Before a driver's first one goes a warm-up: the same attempt, marked by its arm and never counted.
        """
        unit = block.unit
        steps = block.missing(kept)
        if not steps:
            return
        draft = unit.stale
        if draft is None:
            stale = kept.get((unit.unit_id, STALE, 0))
            if stale is None:
                stale = self.attempt(unit, _STALE_STEP, "")
                yield stale
            if stale.status != "ok":
                for step in steps:
                    yield replace(
                        self._blank(unit, step), status="error", error=f"no stale answer: {stale.error}"
                    )
                return
            draft = stale.text
        if not self._is_warm:
            self._is_warm = True
            warmup = replace(steps[0], arm=replace(steps[0].arm, name=WARMUP), repeat=self._warmup, order=0)
            yield self.attempt(unit, warmup, draft)
        for step in steps:
            yield self.attempt(unit, step, draft)

    def drop(self) -> None:
        """Drops the section, whatever state the service is in; what is being made for it ends as an error."""
        self._dropped.set()
        with suppress(ServiceError):
            self._client.delete(self.section)

    def attempt(self, unit: Unit, step: Step, draft: str) -> Attempt:
        """One attempt; what fails is in its `status` and `error`."""
        blank = self._blank(unit, step)
        try:
            return filled(blank, retried(lambda: self._generate(unit, step.arm, draft), self._dropped))
        except ServiceTimeout as error:
            return replace(blank, status="timeout", error=str(error))
        except ServiceError as error:
            return replace(blank, status="error", error=str(error))
        except ValidationError as error:
            said = " ".join(str(error).split())
            return replace(blank, status="error", error=f"the daemon cannot take this unit: {said}")

    def _generate(self, unit: Unit, arm: Arm, draft: str) -> Refreshed:
        if arm.name == STALE:
            self._client.open(self.section, opening(unit, None, self._max_tokens(unit)))
            return self._client.refresh(self.section, _PLAIN, "")
        self._client.open(self.section, opening(unit, None, 1))
        self._client.refresh(self.section, _PLAIN, "")
        self._client.open(self.section, opening(unit, draft, self._max_tokens(unit)))
        old = draft if unit.edited is None else unit.edited
        return self._client.refresh(self.section, refreshing(unit, arm, draft), old)

    def _max_tokens(self, unit: Unit) -> int:
        return unit.max_tokens or self._run.max_tokens

    def _blank(self, unit: Unit, step: Step) -> Attempt:
        return Attempt(self._run.run_id, unit.unit_id, step.arm.name, step.repeat, step.order, "ok")


def retried(generate: Callable[[], Result], over: Event | None = None) -> Result:
    """What `generate` gives, tried again a few times where that may help, no sooner than the service asks.

    Once somebody says that it is `over`, nothing is tried again.
    """
    over = over or Event()
    for pause_s in BACK_OFF_S:
        try:
            return generate()
        except ServiceError as error:
            wait_s = min(max(pause_s, error.retry_after_s), _LONGEST_WAIT_S)
            if not error.retryable or over.wait(wait_s):
                raise
    return generate()


def opening(unit: Unit, draft: str | None, max_tokens: int) -> OpenRequest:
    """The section before the edit, with `draft` as its text."""
    return OpenRequest(
        instruction=unit.instruction,
        sources=_sources(unit.sources_before),
        derived=draft,
        pinned=list(unit.pinned),
        max_tokens=max_tokens,
    )


def refreshing(unit: Unit, arm: Arm, draft: str) -> RefreshRequest:
    """The edit, and how the arm generates after it."""
    edits = []
    if unit.edited is not None:
        end = len(draft.split("\n"))
        edits = [Edit(target="derived", start=0, end=end, lines=unit.edited.split("\n"))]
    return RefreshRequest(
        sources=_sources(unit.sources_after),
        edits=edits,
        baseline=arm.baseline,
        mode=arm.mode,
        tau=arm.tau,
        floor=arm.floor,
        rule=arm.rule,
        p_cut=arm.p_cut,
        algorithm=arm.algorithm,
        draft_sources=None if arm.sources is None else list(arm.sources),
        patch=arm.patch,
        guard=arm.guard,
        return_tokens=True,
    )


def _sources(sources: Sequence[UnitSource]) -> list[Source]:
    return [Source(name=source.name, text=source.text) for source in sources]


def filled(blank: Attempt, refreshed: Refreshed) -> Attempt:
    """The attempt with what its refresh gave."""
    token_ids, token_src = _tokens(refreshed.done)
    singles = _single_passes(refreshed.done, len(token_ids))
    return replace(
        blank,
        text=refreshed.text,
        token_ids=token_ids,
        token_src=token_src,
        spans=refreshed.spans,
        wall_ms=refreshed.wall_ms,
        queued_ms=refreshed.done.queued_ms,
        prompt_ms=refreshed.done.prompt_ms,
        prompt_tokens=refreshed.done.prompt_tokens,
        divergences=refreshed.done.divergences,
        passes=singles if refreshed.done.passes is None else refreshed.done.passes,
        rows=singles if refreshed.done.rows is None else refreshed.done.rows,
        wasted_rows=refreshed.done.wasted_rows or 0,
        host_ms=refreshed.done.host_ms or 0.0,
        patched_tokens=refreshed.done.patched_tokens or 0,
        strict_tokens=refreshed.done.strict_tokens or 0,
    )


def _single_passes(done: DoneEvent, tokens: int) -> int:
    """Passes of plain generation, which engines do not count: one row each; the prompt gives the first."""
    if done.mode != "baseline":
        return 0
    return tokens if done.stop_type == "eos" else max(0, tokens - 1)


def _tokens(done: DoneEvent) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if done.token_ids is None:
        raise ServiceError("the daemon returned no token ids; it must understand return_tokens")
    sources = [-1] * len(done.token_ids) if done.token_src is None else done.token_src
    if len(sources) != len(done.token_ids):
        raise ServiceError(f"{len(done.token_ids)} tokens but {len(sources)} sources of tokens")
    return tuple(done.token_ids), tuple(sources)
