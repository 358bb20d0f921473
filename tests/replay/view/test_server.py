import socket
from collections.abc import Callable

import httpx
import pytest

from replay.view.server import HOST, bind


def test_it_listens_on_loopback_only() -> None:
    with bind(0) as listener:
        assert listener.getsockname()[0] == HOST == "127.0.0.1"
        assert listener.proto == socket.IPPROTO_TCP
        with pytest.raises(OSError, match="in use"):
            bind(listener.getsockname()[1])


def test_it_serves_and_stops(served: str, keep: Callable[..., None], make) -> None:
    keep(make.evaluated())
    assert "20260101-120000-abcd" in httpx.get(f"{served}/").text
