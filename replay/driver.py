"""The replay step: one unit, one arm, one attempt, every one from the same state.

Invariant: an attempt is stored as it finishes and a finished one is never made again; before each,
the section's slot holds the prompt of the state before the edit, as after a real earlier refresh.
A failed attempt is stored with its error and the run goes on, unless the service is gone or hangs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from pydantic import ValidationError

from bundles import Attempt, Run, Store, Unit
from bundles import Source as UnitSource
from daemon.wire import DoneEvent, Edit, OpenRequest, RefreshRequest, Source
from replay.arms import STALE, Arm
from replay.client import Client, Refreshed
from replay.errors import ServiceDown, ServiceError, ServiceTimeout
from replay.plan import Block, Key, Step, blocks

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
    """Makes the run's attempts that are not `kept`; `tell` hears of each as it is stored."""
    driver = Driver(run, client)
    timeouts = 0
    try:
        for block in blocks(run, units):
            for attempt in driver.attempts(block, kept):
                store.add_attempt(attempt)
                tell(attempt)
                timeouts = timeouts + 1 if attempt.status == "timeout" else 0
                if timeouts == MOST_TIMEOUTS:
                    raise ServiceDown(f"{timeouts} attempts in a row got no answer: {attempt.error}")
                if attempt.status != "ok":
                    client.must_be_alive()
    finally:
        with suppress(ServiceError):
            client.delete(driver.section)


def finished(attempts: Sequence[Attempt]) -> dict[Key, Attempt]:
    """The attempts that need not be made again."""
    return {attempt.key: attempt for attempt in attempts if attempt.status == "ok"}


class Driver:
    """Makes attempts through one section of its own, so that all of them run on one slot."""

    def __init__(self, run: Run, client: Client) -> None:
        self.section = f"replay/{run.run_id}/section"
        self._run = run
        self._client = client

    def attempts(self, block: Block, kept: Mapping[Key, Attempt]) -> Iterator[Attempt]:
        """The block's attempts that are not in `kept`, the stale answer first where the unit brings none."""
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
        for step in steps:
            yield self.attempt(unit, step, draft)

    def attempt(self, unit: Unit, step: Step, draft: str) -> Attempt:
        """One attempt; what fails is in its `status` and `error`."""
        blank = self._blank(unit, step)
        try:
            return filled(blank, retried(lambda: self._generate(unit, step.arm, draft)))
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


def retried(generate: Callable[[], Result]) -> Result:
    """What `generate` gives, tried again a few times where that may help, no sooner than the service asks."""
    for pause_s in BACK_OFF_S:
        try:
            return generate()
        except ServiceError as error:
            if not error.retryable:
                raise
            time.sleep(min(max(pause_s, error.retry_after_s), _LONGEST_WAIT_S))
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
        passes=refreshed.done.passes or 0,
        rows=refreshed.done.rows or 0,
        wasted_rows=refreshed.done.wasted_rows or 0,
        host_ms=refreshed.done.host_ms or 0.0,
        patched_tokens=refreshed.done.patched_tokens or 0,
        strict_tokens=refreshed.done.strict_tokens or 0,
    )


def _tokens(done: DoneEvent) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if done.token_ids is None:
        raise ServiceError("the daemon returned no token ids; it must understand return_tokens")
    sources = [-1] * len(done.token_ids) if done.token_src is None else done.token_src
    if len(sources) != len(done.token_ids):
        raise ServiceError(f"{len(done.token_ids)} tokens but {len(sources)} sources of tokens")
    return tuple(done.token_ids), tuple(sources)
