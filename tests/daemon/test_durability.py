"""What a recording redraftd has acknowledged is there again, however it ended."""

import asyncio
import random
import resource
import signal
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from bundles.journal_reader import read_journal
from bundles.recording import read_changes
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
    RefreshRequest,
    SectionState,
    Source,
)

pytestmark = pytest.mark.anyio
SECTIONS = [f"t/d/{number}" for number in range(6)]
GONE = "gone"


def opening(text: str) -> OpenRequest:
    return OpenRequest(instruction="Sum up.", sources=[Source(name="doc", text=text)])


class Caller:
    """Works on one section; knows what the daemon has acknowledged of it, and what it
    may have done since."""

    def __init__(self, client: Client, session_id: str, was: object, heard: Callable[[], None]) -> None:
        self.session_id = session_id
        self.possible = [was]
        self._client = client
        self._random = random.Random(f"{session_id} {was}")
        self._heard = heard

    async def work(self) -> None:
        """One change after another, until the daemon is gone."""
        with suppress(httpx.HTTPError):
            while True:
                await self._change()
                self._heard()

    async def _change(self) -> None:
        text = f"{self.session_id} {self._random.random()}\ntwo"
        (was,) = self.possible
        revision, _, derived = (0, "", None) if was == GONE else was
        action = (
            "open" if not revision else self._random.choice(["edit", "edit", "refresh", "refresh", "delete"])
        )
        edits = [Edit(target="source", source="doc", start=0, end=2, lines=text.split("\n"))]
        match action:
            case "open":
                self.possible.append((1, text, None))
                await self._client.open(self.session_id, opening(text))
            case "edit":
                self.possible.append((revision + 1, text, derived))
                await self._client.edit(self.session_id, EditsRequest(edits=edits))
            case "refresh":
                new = f"<user>## doc\n{text}\n\nSum up.<assistant>"  # as the scripted engine answers
                self.possible.append((revision + 1, text, new))
                request = RefreshRequest(edits=edits)
                events = [event async for event in self._client.refresh(self.session_id, request)]
                assert isinstance(events[-1], DoneEvent)
                assert "".join(event.text for event in events if isinstance(event, DeltaEvent)) == new
            case "delete":
                self.possible.append(GONE)
                await self._client.delete(self.session_id)
        del self.possible[0]


async def found(client: Client, session_id: str) -> object:
    try:
        state: SectionState = await client.state(session_id)
    except DaemonError as error:
        if error.code != "unknown_session":
            raise
        return GONE
    return state.revision, state.sources[0].text, state.derived


async def test_a_daemon_that_is_killed_has_all_that_it_acknowledged(serve_engine, start, tmp_path) -> None:
    served = await serve_engine(answer="{prompt}", slots=3)
    arguments = ["--engine", served.url, "--slots", "3", "--record", str(tmp_path / "prod")]
    possible: dict[str, list[object]] = {session_id: [GONE] for session_id in SECTIONS}
    moments = random.Random(7)
    for _ in range(5):
        process, url = await start(*arguments)
        left = moments.randrange(5, 60)

        def heard(process: Process = process) -> None:
            nonlocal left
            left -= 1
            if not left:
                process.kill()

        async with Client(url) as client:
            there = {session_id: await found(client, session_id) for session_id in SECTIONS}
            assert all(there[session_id] in possible[session_id] for session_id in SECTIONS)
            callers = [Caller(client, session_id, was, heard) for session_id, was in there.items()]
            await asyncio.gather(*(caller.work() for caller in callers))
        assert await process.wait() == -signal.SIGKILL
        possible = {caller.session_id: caller.possible for caller in callers}


async def test_a_full_disk_is_told_and_loses_nothing(serve_engine, start, tmp_path: Path) -> None:
    served = await serve_engine(context=99_999)
    arguments = ["--engine", served.url, "--record", str(tmp_path / "prod")]
    process, url = await start(*arguments)
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (300_000, hard))
    acknowledged = {}
    async with Client(url) as client:
        for number in range(99):
            text = f"{number} " * 9_000
            try:
                await client.open(f"t/d/{number}", opening(text))
            except DaemonError as error:
                refused = error
                break
            acknowledged[f"t/d/{number}"] = (1, text, None)
        assert (refused.status, refused.code) == (503, "recorder_unavailable")
        assert "prod.journal: cannot record: File too large" in refused.detail
        assert 5 < len(acknowledged) < 20
        large = EditsRequest(
            edits=[Edit(target="source", source="doc", start=0, end=0, lines=["x" * 60_000])]
        )
        with pytest.raises(DaemonError, match="recorder_unavailable"):
            await client.edit("t/d/0", large)
        events = [event async for event in client.refresh("t/d/0", RefreshRequest(edits=large.edits))]
        assert isinstance(events[-1], ErrorEvent)
        assert events[-1].code == "recorder_unavailable"
        health = await client.health()
        assert (health.status, health.recorder) == ("degraded", "down")
        assert {session_id: await found(client, session_id) for session_id in acknowledged} == acknowledged
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        await client.open("t/d/late", opening("late"))
        acknowledged["t/d/late"] = (1, "late", None)
        assert (await client.health()).recorder == "up"
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    _, url = await start(*arguments)
    async with Client(url) as client:
        assert {session_id: await found(client, session_id) for session_id in acknowledged} == acknowledged
        assert (await client.health()).sessions == len(acknowledged)


async def test_sigterm_ends_open_streams_and_completes_the_record(
    serve_engine, start, tmp_path: Path
) -> None:
    served = await serve_engine()
    arguments = ["--engine", served.url, "--record", str(tmp_path / "prod")]
    process, url = await start(*arguments)
    async with Client(url) as client:
        for session_id in SECTIONS:
            await client.open(session_id, opening("one"))
            assert isinstance(
                [it async for it in client.refresh(session_id, RefreshRequest())][-1], DoneEvent
            )
        gate = served.fake.gate("decode")
        events = []
        async for event in client.refresh(SECTIONS[0], RefreshRequest()):
            events.append(event)
            if len(events) == 1:
                await served.fake.reached(gate)
                process.send_signal(signal.SIGTERM)
    assert isinstance(events[-1], CancelledEvent)
    async with asyncio.timeout(5):
        stdout, stderr = await process.communicate()
    assert (process.returncode, stdout, stderr) == (0, b"", b"")
    changes = list(read_changes(read_journal(tmp_path / "prod.journal")))
    assert [(change.section, change.type) for change in changes] == [
        (session_id, type) for session_id in SECTIONS for type in ("opened", "refreshed")
    ]
    _, url = await start(*arguments)
    async with Client(url) as client:
        assert [(await client.state(session_id)).revision for session_id in SECTIONS] == [2] * len(SECTIONS)
