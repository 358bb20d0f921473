"""Serves the viewer on this machine's own address.

Invariant: it listens on loopback only, and a stop ends the races that are being watched before it waits for
them.
"""

import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

HOST = "127.0.0.1"
GRACE_S = 3


def bind(port: int) -> socket.socket:
    """A listening socket; OSError where the port is taken."""
    listener = socket.create_server((HOST, port), backlog=128)
    # asyncio switches Nagle's delay off only where a socket says that it is TCP.
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


class Server(uvicorn.Server):
    """Uvicorn, except that a signal ends it quietly, and its streams first."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=GRACE_S
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End cleanly; uvicorn's own handler would raise the signal again afterwards."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End races, then connections."""
        for stream in list(self._app.state.streams):
            stream.stop()
        await super().shutdown(sockets)
