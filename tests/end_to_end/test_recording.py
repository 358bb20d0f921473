"""From a client's edits, over a kill, to a replay of what was recorded."""

import asyncio
import os
import signal
from typing import Any

from daemon.client import Client
from daemon.wire import DeltaEvent, DoneEvent, Edit, EditsRequest, OpenRequest, RefreshRequest, Source

SERVE = ("serve", "--record", "prod", "--fake-pass-ms", "0", "--port", "0", "--engine-port", "0")
SECTIONS = ("acme/plan/summary", "acme/plan/costs", "zeta/memo/intro")


def line(target: str, text: str, **source: str) -> Edit:
    return Edit(target=target, start=0, end=1, lines=[text], **source)


async def refreshed(client: Client, session_id: str, **fields: Any) -> str:
    events = [event async for event in client.refresh(session_id, RefreshRequest(**fields))]
    assert isinstance(events[-1], DoneEvent)
    return "".join(event.text for event in events if isinstance(event, DeltaEvent))


async def work(url: str) -> dict[str, list[str]]:
    """Opens, edits and refreshes; the texts that each section had."""
    texts: dict[str, list[str]] = {}
    async with Client(url) as client:
        for session_id in SECTIONS:
            source = Source(name="minutes", text=f"A ticket costs 9 euros.\nThis is {session_id}.")
            await client.open(session_id, OpenRequest(instruction="Sum up.", sources=[source]))
            texts[session_id] = [await refreshed(client, session_id)]
            edits = [line("source", "A ticket costs 14 euros.", source="minutes")]
            texts[session_id].append(await refreshed(client, session_id, edits=edits))
        await client.edit(SECTIONS[0], EditsRequest(edits=[line("derived", "Tickets got dearer.")]))
        texts[SECTIONS[0]].append(await refreshed(client, SECTIONS[0]))
        edits = [line("source", "A ticket costs 20 euros.", source="minutes")]
        await client.edit(SECTIONS[1], EditsRequest(edits=edits))
    return texts


async def go_on(url: str, texts: dict[str, list[str]]) -> None:
    """The sections are there; the edit that was not yet refreshed is."""
    async with Client(url) as client:
        states = [await client.state(session_id) for session_id in SECTIONS]
        assert [state.revision for state in states] == [5, 4, 3]
        assert [state.derived for state in states] == [texts[session_id][-1] for session_id in SECTIONS]
        texts[SECTIONS[1]].append(await refreshed(client, SECTIONS[1], base_revision=4))
        await client.delete(SECTIONS[2])


def url_of(started: Any) -> str:
    urls = dict(started.process.stdout.readline().split() for _ in range(2))
    return urls["redraftd"]


def test_recorded_sessions_outlive_a_kill_and_can_be_replayed(redraft: Any) -> None:
    with redraft.started(*SERVE) as started:
        texts = asyncio.run(work(url_of(started)))
        os.kill(started.child("daemon.main"), signal.SIGKILL)
        code, said = started.ended()
    assert code == 4
    assert "redraftd was killed by SIGKILL" in said
    with redraft.started(*SERVE) as started:
        asyncio.run(go_on(url_of(started), texts))
        started.process.send_signal(signal.SIGINT)
        assert started.ended()[0] == 0
    done = redraft("import", "prod.journal")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" prod.journal: 5 units\n")
    with redraft.store() as store:
        units = store.bundle("prod.journal").units
    assert sorted((unit.session_id, unit.kind) for unit in units) == [
        *[(SECTIONS[1], "rederive")] * 2,
        *[(SECTIONS[0], "rederive"), (SECTIONS[0], "revise")],
        (SECTIONS[2], "rederive"),
    ]
    for unit in units:
        told = texts[unit.session_id]
        assert unit.stale in told
        assert unit.reference
        assert unit.reference.text == told[told.index(unit.stale) + 1]
        assert unit.reference.wall_ms > 0
    ran = redraft("run", "prod.journal", "--arm", "redraft", "--fake-pass-ms", "0")
    assert "of prod.journal: 5 units, 15 attempts" in ran.stdout
    assert "redraft: identical to plain in 5 of 5 units" in ran.stdout
    _, attempts = redraft.last_run()
    assert {attempt.status for attempt in attempts.values()} == {"ok"}
