"""Callers that open, edit, refresh, supersede, hang up and delete at once, on real processes and in this one.

`REDRAFT_SOAK_S=600 pytest -s tests/daemon/test_soak.py` goes on for ten minutes, shows the memory of daemon
and engine every 10 seconds and says at the end how it grew in the second half.
"""

import asyncio
import gc
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from scipy.stats import linregress

from daemon.client import Client
from daemon.errors import DaemonError
from daemon.wire import (
    CancelledEvent,
    DeltaEvent,
    DoneEvent,
    Edit,
    EditsRequest,
    ErrorEvent,
    OpenRequest,
    RefreshEvent,
    RefreshRequest,
    Source,
    SpanEvent,
)

pytestmark = pytest.mark.anyio
LENGTH_S = float(os.environ.get("REDRAFT_SOAK_S", "3"))
CALLERS, SLOTS = 32, 4
EVERY_S = 10.0


@dataclass
class Caller:
    """One tenant; every text of its own names it."""

    number: int
    client: Client
    counts: Counter[str]
    choices: random.Random = field(init=False)
    derived: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.choices = random.Random(self.number)
        self.marker = f"marker-{self.number}-"
        self.acts = [self.open] * 2 + [self.edit] * 2 + [self.refresh] * 5
        self.acts += [self.supersede] * 2 + [self.hang_up] * 2 + [self.delete]

    async def work(self, goes_on: Callable[[], bool]) -> None:
        first = [self.open, self.refresh, self.edit, self.supersede, self.hang_up, self.delete]
        while first or goes_on():
            act = first.pop(0) if first else self.choices.choice(self.acts)
            session_id = f"tenant-{self.number}/doc/{self.choices.randrange(2)}"
            try:
                await act(session_id)
                self.counts[act.__name__] += 1
            except DaemonError as error:
                if error.code not in {"unknown_session", "busy"}:
                    raise
                self.counts[error.code] += 1
                await self.open(session_id)

    def line(self) -> str:
        return f"{self.marker}{self.choices.randrange(100)} costs 🧂 {self.choices.randrange(100)} euros."

    async def open(self, session_id: str) -> None:
        lines = "\n".join(self.line() for _ in range(self.choices.randrange(1, 6)))
        derived = self.choices.choice([None, lines])
        sources = [Source(name="doc", text=lines)]
        request = OpenRequest(instruction="Repeat.", sources=sources, derived=derived, max_tokens=96)
        await self.client.open(session_id, request)

    async def edit(self, session_id: str) -> None:
        await self.client.edit(session_id, EditsRequest(edits=[self.an_edit()]))

    def an_edit(self) -> Edit:
        where = self.choices.choice([{"target": "derived"}, {"target": "source", "source": "doc"}])
        return Edit(start=0, end=1, lines=[self.line()], **where)

    def a_request(self) -> RefreshRequest:
        return RefreshRequest(
            edits=[self.an_edit()],
            mode=self.choices.choice(["exact", "tolerant"]),
            baseline=self.choices.random() < 0.2,
        )

    async def refresh(self, session_id: str) -> list[RefreshEvent]:
        events = [event async for event in self.client.refresh(session_id, self.a_request())]
        self.check(events)
        return events

    async def supersede(self, session_id: str) -> None:
        started = [asyncio.create_task(self.refresh(session_id)) for _ in range(2)]
        change = self.choices.choice([self.open, self.edit, self.refresh, self.delete])
        started.append(asyncio.create_task(change(session_id)))
        for outcome in await asyncio.gather(*started, return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, DaemonError):
                raise outcome

    async def hang_up(self, session_id: str) -> None:
        after = self.choices.randrange(4)
        async with aclosing(self.client.refresh(session_id, self.a_request())) as events:
            async for _ in events:
                after -= 1
                if after < 0:
                    return

    async def delete(self, session_id: str) -> None:
        await self.client.delete(session_id)

    def check(self, events: list[RefreshEvent]) -> None:
        """One terminal event, the last; a whole text tiled by its spans; nothing of another caller."""
        ends = [event for event in events if isinstance(event, DoneEvent | CancelledEvent | ErrorEvent)]
        assert ends == events[-1:]
        assert not isinstance(ends[0], ErrorEvent), ends
        text = "".join(event.text for event in events if isinstance(event, DeltaEvent))
        assert set(re.findall(r"marker-\d+-", text)) <= {self.marker}
        if isinstance(ends[0], DoneEvent):
            spans = [event.new for event in events if isinstance(event, SpanEvent)]
            edges = [edge for span in spans for edge in span]
            assert edges[1:-1:2] == edges[2::2]
            assert edges[-1:] in ([], [len(text.encode("utf-16-le")) // 2])
            self.counts["done"] += 1


def memory_kb(pid: int) -> int:
    """Of its own; what it maps of files comes and goes with the machine's mood."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def growth(samples: list[tuple[float, int]]) -> str:
    """How memory grew in the second half: kB a minute, and what of that may be chance."""
    times, sizes = zip(*((at, size) for at, size in samples if at >= LENGTH_S / 2), strict=True)
    found = linregress(times, sizes)
    slope, error = 60 * found.slope, 60 * found.stderr
    return f"{slope:+.1f} kB/min, standard error {error:.1f}, p {found.pvalue:.3f}, {len(times)} samples"


async def test_callers_at_once_leave_nothing_stuck_or_crossed(launch) -> None:
    engine = launch("engine.main", "--fake-model", "--slots", str(SLOTS), "--cache-ram", "1")
    arguments = ["--engine", engine.url, "--slots", str(SLOTS), "--no-auth", "--queue-depth", "24"]
    daemon = launch("daemon.main", *arguments, health="/healthz")
    counts: Counter[str] = Counter()
    seen: dict[str, list[tuple[float, int]]] = {"daemon": [], "engine": []}

    async def watch(since: float) -> None:
        while (elapsed_s := time.monotonic() - since) < LENGTH_S:
            for name, service in (("daemon", daemon), ("engine", engine)):
                seen[name].append((elapsed_s, memory_kb(service.process.pid)))
                print(f"{elapsed_s:6.1f} s: {name} {seen[name][-1][1]} kB", end=", ")
            print(dict(counts), flush=True)
            await asyncio.sleep(min(EVERY_S, LENGTH_S - elapsed_s))

    async with Client(daemon.url, retries=20) as client:
        since = time.monotonic()
        callers = [Caller(number, client, counts) for number in range(CALLERS)]
        working = (caller.work(lambda: time.monotonic() < since + LENGTH_S) for caller in callers)
        await asyncio.gather(watch(since), *working)
        async with asyncio.timeout(20):
            while (health := await client.health()).slots.busy or health.slots.queued:
                await asyncio.sleep(0.01)
        assert health.status == "ok"
        for number in range(CALLERS):
            await client.delete_under(f"tenant-{number}/")
        assert (await client.health()).sessions == 0
    slots = httpx.get(engine.url + "/slots").json()
    assert [(slot["is_processing"], slot["n_cached"]) for slot in slots] == [(False, 0)] * SLOTS
    assert all(counts[act] for act in ("open", "edit", "refresh", "supersede", "hang_up", "delete", "done"))
    if LENGTH_S > 10 * EVERY_S:
        for name, samples in seen.items():
            print(f"{name}: {growth(samples)}")


def alive() -> Counter[str]:
    """The daemon's objects that there are."""
    gc.collect()
    found = (type(it) for it in gc.get_objects())
    return Counter(kind.__qualname__ for kind in found if str(kind.__module__).startswith("daemon."))


async def test_what_is_over_leaves_nothing_behind(make_stack) -> None:
    stack = await make_stack({"queue_depth": 24}, slots=2, answer="{prompt}")

    async def left(turn: int) -> Counter[str]:
        callers = [Caller(number + 4 * turn, stack.client, Counter()) for number in range(4)]
        more = iter(range(16))
        await asyncio.gather(*(caller.work(lambda: next(more, None) is not None) for caller in callers))
        for caller in callers:
            await stack.client.delete_under(f"tenant-{caller.number}/")
        await stack.idle()
        return alive()

    await left(0)
    first = await left(1)
    for turn in (2, 3):
        assert await left(turn) == first
