import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

import pytest
from click.testing import CliRunner

from daemon.client import Client
from daemon.main import bind, main
from daemon.wire import CancelledEvent, OpenRequest, RefreshRequest

pytestmark = pytest.mark.anyio
ENGINE = "http://127.0.0.1:1"


@pytest.fixture
def start(exits):
    """`process, url = await start("--flag", ...)`: a real redraftd on any free port."""

    async def start(*arguments: str, closed_stdin: bool = False, **environment: str) -> tuple[Process, str]:
        command = [sys.executable, "-m", "daemon.main", "--port", "0", "--no-auth", *arguments]
        if closed_stdin:
            command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
        env = {**os.environ, **environment}
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env
        )

        async def kill() -> None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

        exits.push_async_callback(kill)
        line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on http://"), (await process.stderr.read()).decode()
        return process, line.removeprefix("listening on ").strip()

    return start


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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--engine", ENGINE], "access tokens are not supported yet: pass --no-auth"),
        (["--engine", ENGINE, "--no-auth", "--host", "0.0.0.0"], "--no-auth serves loopback addresses only"),
        (["--engine", "nowhere", "--no-auth"], "--engine 'nowhere' is no http:// or https:// URL"),
        (
            ["--engine", "http://x:99999", "--no-auth"],
            "--engine 'http://x:99999' is no http:// or https:// URL",
        ),
        (["--engine", ENGINE, "--no-auth", "--slots", "0"], "--slots 0"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(arguments: list[str], line: str) -> None:
    outcome = CliRunner().invoke(main, arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"redraftd: {line}")
    assert outcome.stderr.count("\n") == 1


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
