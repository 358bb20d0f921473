"""The command `redraftd`.

Invariant: it prints where it listens once it serves, and nothing else on stdout; what cannot start
says so in one line and exits with 2; a stop, by signal or by the end of a watched stdin, ends every open
stream with its terminal event and exits with 0.
"""

import os
import socket
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import click
import uvicorn

from daemon.app import create_app
from daemon.config import VERSION, Config
from daemon.service import Service

GRACE_S = 3
KEEP_ALIVE_S = 60


class Server(uvicorn.Server):
    """Uvicorn, except that it says when it listens and ends the refreshes before it waits for them."""

    def __init__(self, config: Config, url: str) -> None:
        app = create_app(config)
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


@click.command(context_settings={"auto_envvar_prefix": "REDRAFTD", "show_default": True})
@click.version_option(VERSION)
@click.option("--engine", required=True, metavar="URL", help="The engine, as http://HOST:PORT.")
@click.option("--slots", default=1, help="Slots to use; must equal the engine's.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port", default=8787, type=click.IntRange(0, 65535), help="Port to listen on; 0 for any free one."
)
@click.option("--no-auth", is_flag=True, help="Serve without access tokens; loopback addresses only.")
@click.option("--queue-depth", default=64, help="How many refreshes may wait for a slot.")
@click.option("--queue-timeout-ms", default=30_000, help="How long each may wait.")
@click.option("--watch-stdin", is_flag=True, help="Stop when stdin ends.")
def main(watch_stdin: bool, **settings: Any) -> None:
    """Section sessions in front of an engine."""
    if sys.stdin is None:  # started with stdin closed: its place must not go to a socket
        os.open(os.devnull, os.O_RDONLY)
    try:
        config = Config(**settings)
        listener, url = bind(config.host, config.port)
    except ValueError as error:
        _fail(str(error))
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # create_server repeats the address there
        _fail(f"cannot listen on {settings['host']}:{settings['port']}: {reason}; choose another port")
    server = Server(config, url)
    if watch_stdin:
        threading.Thread(target=server.stop_at_end_of_stdin, daemon=True).start()
    server.run(sockets=[listener])


def _fail(line: str) -> NoReturn:
    click.echo(f"redraftd: {line}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
