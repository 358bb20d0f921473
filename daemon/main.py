"""The command `redraftd`.

Invariant: it prints where it listens once it serves, and nothing else on stdout; what cannot start
says so in one line and exits with 2; a stop, by signal or by the end of a watched stdin, ends every open
stream with its terminal event and exits with 0.
"""

import os
import socket
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click
import uvicorn
from fastapi import FastAPI

from bundles import StoreError
from daemon import logs
from daemon.app import create_app
from daemon.config import VERSION, Config
from daemon.heap import settle_heap
from daemon.journal_recorder import JournalRecorder, journal_folder
from daemon.service import Service

GRACE_S = 3
KEEP_ALIVE_S = 60


class Server(uvicorn.Server):
    """Uvicorn, except that it says when it listens and ends the refreshes before it waits for them."""

    def __init__(self, app: FastAPI, url: str) -> None:
        self.service: Service = app.state.service
        self._url = url
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="on",
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=KEEP_ALIVE_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve, and say so."""
        await super().startup(sockets)
        click.echo(f"listening on {self._url}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End cleanly; uvicorn's own handler would raise the signal again afterwards."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End refreshes, then connections."""
        self.service.stop()
        await super().shutdown(sockets)

    def stop_at_end_of_stdin(self) -> None:
        """Wait for stdin to end, then stop; one that cannot be read has ended."""
        with suppress(OSError):
            while os.read(0, 65536):
                pass
        self.should_exit = True


def bind(host: str, port: int) -> tuple[socket.socket, str]:
    """A listening socket and its URL; OSError when the address is taken or not ours."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.create_server(address, family=family, backlog=128)
    # asyncio switches Nagle's delay off only where a socket says that it is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())
    name = f"[{host}]" if family == socket.AF_INET6 else host
    return listener, f"http://{name}:{listener.getsockname()[1]}"


def _tenants(_: click.Context, __: click.Parameter, given: str | None) -> frozenset[str] | None:
    return None if given is None else frozenset(given.split(","))


@click.command(context_settings={"auto_envvar_prefix": "REDRAFTD", "show_default": True})
@click.version_option(VERSION)
@click.option("--engine", required=True, metavar="URL", help="The engine, as http://HOST:PORT.")
@click.option("--slots", default=1, help="Slots to use; must equal the engine's.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port", default=8787, type=click.IntRange(0, 65535), help="Port to listen on; 0 for any free one."
)
@click.option(
    "--tokens-file",
    type=click.Path(path_type=Path),
    help="Access tokens: lines `sha256:DIGEST TENANT`, where TENANT may be *.",
)
@click.option("--no-auth", is_flag=True, help="Serve without access tokens; loopback addresses only.")
@click.option("--queue-depth", default=64, help="How many refreshes may wait for a slot.")
@click.option("--queue-timeout-ms", default=30_000, help="How long each may wait.")
@click.option("--max-sessions", default=10_000, help="Sections kept; the one longest unused goes first.")
@click.option("--max-tenant-sessions", default=1_000, help="Sections kept of one tenant.")
@click.option(
    "--record",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Record every change in the journal DIR.journal, or in the folder DIR where it is one.",
)
@click.option("--record-tenants", metavar="A,B", callback=_tenants, help="Record these only.  [default: all]")
@click.option("--log-format", type=click.Choice(["plain", "json"]), default="plain", help="On stderr.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="warning", help="And up."
)
@click.option("--watch-stdin", is_flag=True, help="Stop when stdin ends.")
def main(watch_stdin: bool, log_format: logs.Format, log_level: str, **settings: Any) -> None:
    """Section sessions in front of an engine."""
    if sys.stdin is None:  # started with stdin closed: its place must not go to a socket
        os.open(os.devnull, os.O_RDONLY)
    settle_heap()
    with ExitStack() as until_drained:
        try:
            config = Config(**settings)
            listener, url = bind(config.host, config.port)
            until_drained.enter_context(listener)
            app = create_app(config, recorder=_recorder(config, until_drained))
        except (ValueError, StoreError) as error:
            _fail(str(error))
        except OSError as error:
            reason = str(error.strerror).partition(" (while")[0]  # create_server repeats the address there
            _fail(f"cannot listen on {settings['host']}:{settings['port']}: {reason}; choose another port")
        logs.start(log_format, log_level)
        server = Server(app, url)
        if watch_stdin:
            threading.Thread(target=server.stop_at_end_of_stdin, daemon=True).start()
        server.run(sockets=[listener])


def _recorder(config: Config, until: ExitStack) -> JournalRecorder | None:
    """The recorder that is asked for, until then; says what became of the journal."""
    if config.record is None:
        return None
    folder = journal_folder(config.record)
    recorder = until.enter_context(JournalRecorder.opened(folder, config.record_tenants))
    for line in recorder.said:
        click.echo(line, err=True)
    return recorder


def _fail(line: str) -> NoReturn:
    click.echo(f"redraftd: {line}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
