import asyncio
import hashlib
import json
import os
import signal
import socket
from asyncio.subprocess import Process
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bundles import Journal, Recording
from bundles.segments import HEADER_BYTES
from daemon.client import Client
from daemon.errors import DaemonError
from daemon.journal_recorder import recorded_changes
from daemon.main import bind, main
from daemon.recorder import Opened
from daemon.sections import Section
from daemon.wire import CancelledEvent, DoneEvent, OpenRequest, RefreshRequest

pytestmark = pytest.mark.anyio
ENGINE = "http://127.0.0.1:1"


async def ended(process: Process) -> tuple[int, bytes, bytes]:
    async with asyncio.timeout(5):
        stdout, stderr = await process.communicate()
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("place", ["prefill", "decode"])
async def test_sigterm_ends_an_open_stream_with_its_terminal_event(serve_engine, start, place: str) -> None:
    served = await serve_engine()
    gate = served.fake.gate(place)
    process, url = await start("--engine", served.url)
    async with Client(url) as client:
        await client.open("t/d/s", OpenRequest(instruction="Sum up.", sources=[]))
        events = []
        async for event in client.refresh("t/d/s", RefreshRequest()):
            events.append(event)
            if len(events) == 1:
                await served.fake.reached(gate)
                process.send_signal(signal.SIGTERM)
    assert isinstance(events[-1], CancelledEvent)
    assert await ended(process) == (0, b"", b"")


async def test_sigterm_ends_a_stream_that_waits_for_a_slot_and_one_that_nobody_reads(
    serve_engine, start
) -> None:
    served = await serve_engine(answer="word " * 100)
    gate = served.fake.gate("decode")
    process, url = await start("--engine", served.url)

    async def refreshed(client: Client, session_id: str) -> list:
        await client.open(session_id, OpenRequest(instruction="Sum up.", sources=[]))
        return [event async for event in client.refresh(session_id, RefreshRequest())]

    host, port = url.removeprefix("http://").split(":")
    async with Client(url) as client:
        running = asyncio.create_task(refreshed(client, "t/d/running"))
        await served.fake.reached(gate)
        queued = asyncio.create_task(refreshed(client, "t/d/queued"))
        await client.open("t/d/unread", OpenRequest(instruction="Sum up.", sources=[]))
        _, unread = await asyncio.open_connection(host, int(port))
        unread.write(
            b"POST /v1/sessions/t/d/unread/refresh HTTP/1.1\r\nhost: x\r\n"
            b"content-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        )
        while (await client.health()).slots.queued < 2:
            await asyncio.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        assert [type(events[-1]) for events in await asyncio.gather(running, queued)] == [CancelledEvent] * 2
    assert await ended(process) == (0, b"", b"")
    unread.close()


async def test_sigterm_does_not_wait_for_what_does_not_end(serve_engine, start) -> None:
    """An opening whose engine says nothing, and a request that its sender does not finish."""
    served = await serve_engine()
    gate = served.fake.gate("/tokenize")
    process, url = await start("--engine", served.url)
    host, port = url.removeprefix("http://").split(":")
    reader, half_sent = await asyncio.open_connection(host, int(port))
    half_sent.write(b"PUT /v1/sessions/t/d/half HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
    async with Client(url, retries=0) as client:
        opening = asyncio.create_task(
            client.open("t/d/s", OpenRequest(instruction="Sum up.", sources=[], derived="old"))
        )
        await served.fake.reached(gate)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(DaemonError, match="redraftd is stopping"):
            await opening
    assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
    half_sent.close()
    code, _, stderr = await ended(process)
    assert (code, stderr.count(b"\n")) == (0, 1), stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_is_a_clean_exit(start, signum: int) -> None:
    process, _ = await start("--engine", ENGINE)
    process.send_signal(signum)
    assert await ended(process) == (0, b"", b"")


async def test_the_end_of_a_watched_stdin_is_a_clean_exit(start) -> None:
    process, _ = await start("--engine", ENGINE, "--watch-stdin")
    process.stdin.write_eof()
    assert await ended(process) == (0, b"", b"")


async def test_a_closed_stdin_has_ended(start) -> None:
    process, _ = await start("--engine", ENGINE, "--watch-stdin", closed_stdin=True)
    assert await ended(process) == (0, b"", b"")


async def test_a_closed_stdin_that_nobody_watches_changes_nothing(start) -> None:
    process, url = await start("--engine", ENGINE, closed_stdin=True)
    async with Client(url) as client:
        assert (await client.health()).status == "down"
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == (0, b"", b"")


async def test_settings_come_from_the_environment_too(start) -> None:
    _, url = await start("--slots", "3", REDRAFTD_ENGINE=ENGINE, REDRAFTD_SLOTS="2")
    async with Client(url) as client:
        health = await client.health()
    assert (health.status, health.slots.total) == ("down", 3)


async def test_with_a_tokens_file_it_serves_who_has_a_token_and_logs_what_happens(
    serve_engine, start, tmp_path
) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"sha256:{hashlib.sha256(b'ada').hexdigest()} t")
    served = await serve_engine()
    arguments = ["--engine", served.url, "--host", "0.0.0.0", "--tokens-file", str(path)]
    process, url = await start(*arguments, "--log-format", "json", "--log-level", "info")
    url = url.replace("0.0.0.0", "127.0.0.1")
    async with Client(url) as nobody, Client(url, token="ada") as ada:
        with pytest.raises(DaemonError, match="unauthorized"):
            await nobody.open("t/d/s", OpenRequest(instruction="secret", sources=[]))
        await ada.open("t/d/s", OpenRequest(instruction="secret", sources=[]))
        events = [event async for event in ada.refresh("t/d/s", RefreshRequest())]
    assert isinstance(events[-1], DoneEvent)
    process.send_signal(signal.SIGTERM)
    code, _, stderr = await ended(process)
    assert code == 0
    lines = [json.loads(line) for line in stderr.splitlines()]
    assert [(line["event"], line.get("status")) for line in lines if line["event"] == "request"] == [
        *[("request", 401), ("request", 200), ("request", 200)]
    ]
    (refreshed,) = [line for line in lines if line["event"] == "refresh"]
    assert (refreshed["outcome"], refreshed["tokens"]) == ("done", events[-1].tokens)
    assert b"secret" not in stderr
    assert b"ada" not in stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--engine", ENGINE, "--tokens-file", "/nowhere"], "--tokens-file /nowhere cannot be read"),
        (["--engine", ENGINE, "--tokens-file", "/nowhere", "--no-auth"], "pass either --tokens-file FILE"),
        (["--engine", ENGINE, "--no-auth", "--max-sessions", "0"], "--max-sessions"),
        (["--engine", ENGINE], "pass either --tokens-file FILE or, on a loopback address, --no-auth"),
        (["--engine", ENGINE, "--no-auth", "--host", "0.0.0.0"], "--no-auth serves loopback addresses only"),
        (["--engine", "nowhere", "--no-auth"], "--engine 'nowhere' is no http:// or https:// URL"),
        (
            ["--engine", "http://x:99999", "--no-auth"],
            "--engine 'http://x:99999' is no http:// or https:// URL",
        ),
        (["--engine", ENGINE, "--no-auth", "--slots", "0"], "--slots 0"),
        (["--engine", ENGINE, "--no-auth", "--record-tenants", "a"], "--record-tenants needs --record DIR"),
        (
            ["--engine", ENGINE, "--no-auth", "--record", "/nowhere/prod"],
            "/nowhere/prod.journal: cannot open",
        ),
        (["--engine", ENGINE, "--no-auth", "--port", "0", "--record", "/etc"], "/etc: a folder but not a"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(arguments: list[str], line: str) -> None:
    outcome = CliRunner().invoke(main, arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"redraftd: {line}")
    assert outcome.stderr.count("\n") == 1


def test_a_journal_that_is_in_use_or_newer_says_so_in_one_line(tmp_path: Path) -> None:
    arguments = ["--engine", ENGINE, "--no-auth", "--port", "0", "--record", str(tmp_path / "prod")]
    folder = tmp_path / "prod.journal"
    with Journal.open(folder) as journal:
        journal.submit([b"T[]"]).result()
        in_use = CliRunner().invoke(main, arguments)
    (segment,) = folder.glob("*.seg")
    head = bytearray(segment.read_bytes()[: HEADER_BYTES - 16])
    head[8] = 2
    segment.write_bytes(bytes(head) + hashlib.blake2b(head, digest_size=16).digest())
    newer = CliRunner().invoke(main, arguments)
    assert (in_use.exit_code, in_use.stdout, newer.exit_code, newer.stdout) == (2, "", 2, "")
    assert in_use.stderr == (f"redraftd: {folder}: in use by process {os.getpid()}, wait for it or stop it\n")
    assert newer.stderr == f"redraftd: {folder}: journal format 2, this redraft reads 1: use a newer one\n"


async def test_what_became_of_the_journal_is_said_and_the_sections_are_there(start, tmp_path: Path) -> None:
    section = Section.opened("t/d/s", OpenRequest(instruction="Sum up.", sources=[], derived="old"))
    folder = tmp_path / "prod"
    with Journal.open(folder) as journal:
        for kept in (section, replace(section, session_id="u/d/s")):
            Recording.of(journal).submit(*recorded_changes(Opened(kept), "2025-01-02T03:04:05Z")).result()
    (segment,) = folder.glob("*.seg")
    with segment.open("ab") as file:
        file.write(b"torn")
    environment = {"REDRAFTD_RECORD": str(folder), "REDRAFTD_RECORD_TENANTS": "t"}
    process, url = await start("--engine", ENGINE, **environment)
    async with Client(url) as client:
        assert (await client.state("t/d/s")).derived == "old"
        health = await client.health()
        assert (health.sessions, health.recorder) == (1, "up")
    process.send_signal(signal.SIGTERM)
    code, _, stderr = await ended(process)
    assert code == 0
    (said,) = stderr.decode().splitlines()
    assert said.startswith(f"{segment}: the last 4 bytes, after record ")
    assert "were never acknowledged: cut" in said


def test_a_taken_port_says_so_in_one_line() -> None:
    listener, url = bind("127.0.0.1", 0)
    with listener:
        port = url.rsplit(":", 1)[1]
        outcome = CliRunner().invoke(main, ["--engine", ENGINE, "--no-auth", "--port", port])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert (
        outcome.stderr
        == f"redraftd: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port\n"
    )


def test_an_ipv6_url_has_brackets() -> None:
    listener, url = bind("::1", 0)
    with listener:
        assert url == f"http://[::1]:{listener.getsockname()[1]}"


def test_asyncio_switches_nagles_delay_off() -> None:
    listener, _ = bind("127.0.0.1", 0)
    with listener:
        assert listener.proto == socket.IPPROTO_TCP
