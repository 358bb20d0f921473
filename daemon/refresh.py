"""The refresh step: from a section and a request to events and a new text.

Invariant: events come in the order `open`, deltas and spans, `done`; a refusal comes before `open`, and so
may the end of a superseded step, whose only event is then `cancelled`: before `open` it has no slot. The
section changes in one place, at the end, where `commit` takes the new text, `done` and who wrote it
together: whoever cancels the step has either all of it or nothing. Emitting never waits: the events of a
refresh are bounded by max_tokens and lie in memory until they are read, so a stalled reader holds no slot.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from daemon.completions import Answer, Ranges, completion, is_exact
from daemon.draft_edit import draft_edit, patched_ranges, strict_ranges
from daemon.engine_client import EngineClient, Props
from daemon.errors import TooLarge
from daemon.patched_text import PatchedText
from daemon.prompts import TEMPLATE_VERSION, render_message
from daemon.sections import Section, tenant_of
from daemon.slots import Lease, SlotPool
from daemon.spans import OldText, Tiler
from daemon.wire import DoneEvent, OpenEvent, RefreshEvent, RefreshRequest
from engine.wire import CompletionRequest

T = TypeVar("T")
QUICK_CHARS = 5_000
"""Of old and new text together, up to which a few milliseconds are enough."""


@dataclass(frozen=True)
class Job:
    """One accepted refresh: the section with the request's changes, and when it was accepted."""

    target: Section
    request: RefreshRequest
    base_revision: int
    accepted: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True)
class _Draft:
    """The old text as the draft to replay: its tokens, which of them were patched in and which tolerance
    must not hold."""

    old: OldText
    tokens: list[int]
    patched: Ranges
    strict: Ranges


async def refresh(
    job: Job,
    engine: EngineClient,
    slots: SlotPool,
    emit: Callable[[RefreshEvent], None],
    commit: Callable[[Section, DoneEvent, str], Awaitable[None]],
) -> None:
    """Run one refresh. Raises TooLarge, InvalidRequest (by the engine), Busy or Unavailable.

    `commit` gets the section with its new text, the `done` event and the engine's fingerprint.
    """
    props, prompt = await asyncio.gather(engine.props(), engine.prompt_tokens(render_message(job.target)))
    _must_fit(job, props, prompt)
    draft = await _draft(job, engine, props)
    asked = completion(job.request, job.target.max_tokens, prompt, draft.tokens, draft.strict)
    lease = await slots.acquire(job.target.session_id)
    try:
        emit(_open_event(job, lease))
        answer, tiler = Answer(), Tiler(draft.old)
        where = {"id_slot": lease.slot, "cache_prompt": not lease.foreign}
        on_slot = asked.model_copy(update={**where, "cache_salt": tenant_of(job.target.session_id)})
        async with aclosing(engine.complete(on_slot)) as chunks:
            async for chunk in chunks:
                slots.answered(lease.slot, job.target.session_id)
                for event in tiler.feed(chunk.content, answer.add(chunk)):
                    emit(event)
    finally:
        slots.release(lease.slot)
    for event in tiler.finish():
        emit(event)
    done = _done_event(job, lease, asked, draft, answer, tiler)
    await commit(job.target.refreshed(tiler.text), done, props.fingerprint)


def _must_fit(job: Job, props: Props, prompt: list[int]) -> None:
    limit = max(0, props.context - job.target.max_tokens)
    if len(prompt) > limit:
        detail = (
            f"the prompt has {len(prompt)} tokens, {limit} fit beside max_tokens {job.target.max_tokens}"
            f" in a context of {props.context}: shorten the sources or lower max_tokens"
        )
        raise TooLarge(detail, prompt_tokens=len(prompt), limit=limit)


async def _draft(job: Job, engine: EngineClient, props: Props) -> _Draft:
    request, original = job.request, PatchedText(job.target.derived or "")
    if request.baseline:
        return _Draft(await _computed(job, lambda: OldText(original, [])), [], [], [])
    edit = await _computed(job, lambda: draft_edit(job.target))
    holds_exactly = is_exact(request) or props.redraft is not None  # others pass over `strict`
    text = edit.draft if request.patch and holds_exactly else original
    tokens = await engine.draft(text.text)

    def placed() -> _Draft:
        old = OldText(text, tokens.pieces)
        patched = patched_ranges(old)
        guarded = strict_ranges(old, edit) if request.guard else []
        strict = [] if is_exact(request) else sorted({*patched, *guarded})
        return _Draft(old, tokens.tokens, patched, strict)

    return await _computed(job, placed)


async def _computed(job: Job, compute: Callable[[], T]) -> T:
    """What it comes to, in a thread where the section is long: of megabytes that takes seconds, and every
    thread keeps memory of its own for good."""
    texts = [source.text for source in (*job.target.written_from, *job.target.sources)]
    if sum(map(len, [job.target.derived or "", *texts])) > QUICK_CHARS:
        return await asyncio.to_thread(compute)
    return compute()


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
    job: Job, lease: Lease, asked: CompletionRequest, draft: _Draft, answer: Answer, tiler: Tiler
) -> DoneEvent:
    result, request, stabilize = answer.result, job.request, asked.redraft_stabilize
    assert result is not None
    extended = result.redraft_divergences is not None  # the engine knows the extension
    ours = result.redraft_passes is not None
    replay = stabilize if extended else None
    drafted = result.redraft_drafted
    return DoneEvent(
        revision=job.target.revision,
        kind=job.target.kind,
        mode="redraft" if replay and not request.baseline else "baseline",
        reused=answer.reused,
        reused_chars=tiler.held_units,
        wall_ms=(time.perf_counter() - job.accepted) * 1000,
        prompt_ms=result.timings.prompt_ms,
        queued_ms=lease.queued_ms,
        tokens=len(answer.tokens),
        prompt_tokens=result.timings.prompt_n,
        total_tokens=len(asked.prompt) + len(answer.tokens),
        divergences=result.redraft_divergences or 0,
        slot=lease.slot,
        slot_reused=lease.reused,
        pinned_missing=[line for line in job.target.pinned if line not in tiler.text],
        template_version=TEMPLATE_VERSION,
        algorithm=(replay.algorithm if ours else "anchor") if replay else None,
        exact=replay.exact if replay else None,
        passes=result.redraft_passes,
        rows=result.redraft_rows,
        wasted_rows=result.redraft_wasted_rows,
        host_ms=result.redraft_host_ms,
        drafted=None if drafted is None else {str(source): count for source, count in drafted.items()},
        patched_tokens=_size(draft.patched) if replay else None,
        strict_tokens=_size(draft.strict if ours else []) if replay else None,
        stop_type=result.stop_type,
        token_ids=answer.tokens if request.return_tokens else None,
        token_src=answer.src if request.return_tokens else None,
    )


def _size(ranges: Ranges) -> int:
    return len({index for first, end in ranges for index in range(first, end)})
