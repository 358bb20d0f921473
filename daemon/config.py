"""How one redraftd runs. Invariant: a Config that exists is usable; nothing changes it afterwards."""

import ipaddress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import httpx

try:
    VERSION = version("redraft")
except PackageNotFoundError:  # run from a checkout that is not installed
    VERSION = "0+unknown"


@dataclass(frozen=True)
class Config:
    """Settings of the daemon; ValueError, one line, for settings that cannot be right.

    `slots` must equal the engine's. `engine_silence_s` is how long the engine may say nothing before
    it counts as lost, `send_deadline_s` how long a reader may take nothing before it is dropped.
    """

    engine: str
    slots: int = 1
    host: str = "127.0.0.1"
    port: int = 8787
    no_auth: bool = False
    queue_depth: int = 64
    queue_timeout_ms: int = 30_000
    engine_silence_s: float = 120.0
    send_deadline_s: float = 30.0

    def __post_init__(self) -> None:
        if not _is_http_url(self.engine):
            raise ValueError(f"--engine {self.engine!r} is no http:// or https:// URL")
        if not self.no_auth:
            raise ValueError("access tokens are not supported yet: pass --no-auth, on a loopback address")
        if not _is_loopback(self.host):
            raise ValueError(f"--no-auth serves loopback addresses only, and --host {self.host} is none")
        if self.slots < 1:
            raise ValueError(f"--slots {self.slots}: at least 1 is needed")
        if self.queue_depth < 0 or self.queue_timeout_ms < 0:
            raise ValueError("--queue-depth and --queue-timeout-ms cannot be negative")


def _is_http_url(text: str) -> bool:
    try:
        url = httpx.URL(text)
        host = url.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        return False
    in_one_piece = len(text.split()) == 1 and text == text.strip()
    has_port = url.port is None or 0 < url.port < 65536
    return in_one_piece and url.scheme in {"http", "https"} and host != b"" and has_port


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
