"""The refresh step: from a section and a request to events and a new text.

Invariant: events come in the order `open`, deltas and spans, `done`; a refusal comes before `open`, and so
may the end of a superseded step, whose only event is then `cancelled`: before `open` it has no slot. The
section changes in one place, at the end, with no await between that and `done`: whoever cancels the
step has either all of it or nothing. Emitting never waits: the events of a refresh are bounded by
max_tokens and lie in memory until they are read, so a stalled reader holds no slot.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from daemon.draft_edit import removed_words, strict_ranges
from daemon.engine_client import Draft, EngineClient
from daemon.errors import TooLarge
from daemon.prompts import TEMPLATE_VERSION, render_message
from daemon.sections import Section
from daemon.slots import Lease, SlotPool
from daemon.spans import NEW, OldText, Tiler
from daemon.wire import DoneEvent, OpenEvent, RefreshEvent, RefreshRequest
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult, Stabilize


@dataclass(frozen=True)
class Job:
    """One accepted refresh: the section with the request's changes, and when it was accepted."""

    target: Section
    request: RefreshRequest
    base_revision: int
    accepted: float = field(default_factory=time.perf_counter)


@dataclass
class _Answer:
    """What the engine has said so far."""

    tokens: list[int] = field(default_factory=list)
    src: list[int] = field(default_factory=list)
    result: CompletionResult | None = None

    def add(self, chunk: CompletionChunk | CompletionResult) -> list[int]:
        """Keep a chunk; the sources of its tokens."""
        src = [NEW] * len(chunk.tokens) if chunk.redraft_src is None else chunk.redraft_src
        self.tokens += chunk.tokens
        self.src += src
        if isinstance(chunk, CompletionResult):
            self.result = chunk
        return src


async def refresh(
    job: Job,
    engine: EngineClient,
    slots: SlotPool,
    emit: Callable[[RefreshEvent], None],
    commit: Callable[[Section], None],
) -> None:
    """Run one refresh. Raises TooLarge, InvalidRequest (by the engine), Busy or EngineUnavailable."""
    prompt, draft = await _prepare(job, engine)
    stale, strict = await asyncio.to_thread(_stale, job, draft)  # seconds, for megabytes of text
    completion = _completion(job, prompt, draft, strict)
    lease = await slots.acquire(job.target.session_id)
    try:
        emit(_open_event(job, lease))
        answer, tiler = _Answer(), Tiler(stale)
        on_slot = completion.model_copy(update={"id_slot": lease.slot})
        async with aclosing(engine.complete(on_slot)) as chunks:
            async for chunk in chunks:
                slots.answered(lease.slot, job.target.session_id)
                for event in tiler.feed(chunk.content, answer.add(chunk)):
                    emit(event)
    finally:
        slots.release(lease.slot)
    for event in tiler.finish():
        emit(event)
    commit(job.target.refreshed(tiler.text))
    emit(_done_event(job, lease, completion, answer, tiler))


async def _prepare(job: Job, engine: EngineClient) -> tuple[list[int], Draft]:
    """Prompt and draft as tokens, known to fit."""
    stale = "" if job.request.baseline else job.target.derived or ""
    props, prompt, draft = await asyncio.gather(
        engine.props(), engine.prompt_tokens(render_message(job.target)), engine.draft(stale)
    )
    limit = max(0, props.context - job.target.max_tokens)
    if len(prompt) > limit:
        detail = (
            f"the prompt has {len(prompt)} tokens, {limit} fit beside max_tokens {job.target.max_tokens}"
            f" in a context of {props.context}: shorten the sources or lower max_tokens"
        )
        raise TooLarge(detail, prompt_tokens=len(prompt), limit=limit)
    return prompt, draft


def _stale(job: Job, draft: Draft) -> tuple[OldText, list[tuple[int, int]]]:
    """The old text, and what tolerance must not hold of it; exact mode and plain generation need no guard."""
    stale = OldText(job.target.derived or "", draft.pieces)
    if job.request.baseline or job.request.mode == "exact":
        return stale, []
    return stale, strict_ranges(stale, removed_words(job.target.written_from, job.target.sources))


def _completion(
    job: Job, prompt: list[int], draft: Draft, strict: list[tuple[int, int]]
) -> CompletionRequest:
    """What the engine is asked, on any slot."""
    request, max_tokens = job.request, job.target.max_tokens
    plain = CompletionRequest(
        prompt=prompt,
        n_predict=max_tokens,
        temperature=0.0,
        stream=True,
        cache_prompt=True,
        return_tokens=True,
    )
    if request.baseline:
        return plain
    exact = request.mode == "exact"
    stabilize = Stabilize(
        old_output=draft.tokens,
        tau=0.0 if exact else request.tau,
        floor=0.0 if exact else request.floor,
        max_tokens=max_tokens,
        algorithm=request.algorithm,
        strict=strict,
    )
    return plain.model_copy(update={"redraft_stabilize": stabilize})


def _open_event(job: Job, lease: Lease) -> OpenEvent:
    return OpenEvent(
        session_id=job.target.session_id,
        revision=job.base_revision,
        kind=job.target.kind,
        slot=lease.slot,
        slot_reused=lease.reused,
        queued_ms=lease.queued_ms,
    )


def _done_event(
    job: Job, lease: Lease, completion: CompletionRequest, answer: _Answer, tiler: Tiler
) -> DoneEvent:
    result, request, stabilize = answer.result, job.request, completion.redraft_stabilize
    assert result is not None
    emitted = len(answer.tokens)
    return DoneEvent(
        revision=job.target.revision,
        kind=job.target.kind,
        mode="baseline" if request.baseline else "redraft",
        reused=sum(src != NEW for src in answer.src) / emitted if emitted else 0.0,
        reused_chars=tiler.held_units,
        wall_ms=(time.perf_counter() - job.accepted) * 1000,
        prompt_ms=result.timings.prompt_ms,
        queued_ms=lease.queued_ms,
        tokens=emitted,
        prompt_tokens=result.timings.prompt_n,
        total_tokens=len(completion.prompt) + emitted,
        divergences=result.redraft_divergences or 0,
        slot=lease.slot,
        slot_reused=lease.reused,
        pinned_missing=[line for line in job.target.pinned if line not in tiler.text],
        template_version=TEMPLATE_VERSION,
        algorithm=stabilize.algorithm if stabilize else None,
        exact=stabilize.exact if stabilize else None,
        passes=result.redraft_passes,
        rows=result.redraft_rows,
        strict_tokens=len({i for a, b in stabilize.strict for i in range(a, b)}) if stabilize else None,
        stop_type=result.stop_type,
        token_ids=answer.tokens if request.return_tokens else None,
        token_src=answer.src if request.return_tokens else None,
    )
