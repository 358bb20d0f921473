"""How one redraftd runs. Invariant: a Config that exists is usable; nothing changes it afterwards."""

import ipaddress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import httpx

from daemon.sections import is_segment

try:
    VERSION = version("redraft")
except PackageNotFoundError:  # run from a checkout that is not installed
    VERSION = "0+unknown"


@dataclass(frozen=True)
class Config:
    """Settings of the daemon; ValueError, one line, for settings that cannot be right.

    `slots` must equal the engine's. `engine_silence_s` is how long the engine may say nothing before
    it counts as lost, `send_deadline_s` how long a reader may take nothing before it is dropped. `record`
    names the journal, `record_tenants` those that are recorded, None for all.
    """

    engine: str
    slots: int = 1
    host: str = "127.0.0.1"
    port: int = 8787
    no_auth: bool = False
    tokens_file: Path | None = None
    queue_depth: int = 64
    queue_timeout_ms: int = 30_000
    max_sessions: int = 10_000
    max_tenant_sessions: int = 1_000
    record: Path | None = None
    record_tenants: frozenset[str] | None = None
    engine_silence_s: float = 120.0
    send_deadline_s: float = 30.0

    def __post_init__(self) -> None:
        if not _is_http_url(self.engine):
            raise ValueError(f"--engine {self.engine!r} is no http:// or https:// URL")
        if self.no_auth == (self.tokens_file is not None):
            raise ValueError("pass either --tokens-file FILE or, on a loopback address, --no-auth")
        if self.no_auth and not _is_loopback(self.host):
            raise ValueError(f"--no-auth serves loopback addresses only, and --host {self.host} is none")
        if self.slots < 1:
            raise ValueError(f"--slots {self.slots}: at least 1 is needed")
        if self.queue_depth < 0 or self.queue_timeout_ms < 0:
            raise ValueError("--queue-depth and --queue-timeout-ms cannot be negative")
        if self.max_sessions < 1 or self.max_tenant_sessions < 1:
            raise ValueError("--max-sessions and --max-tenant-sessions must be at least 1")
        if self.record_tenants is not None:
            if self.record is None:
                raise ValueError("--record-tenants needs --record DIR")
            if wrong := [tenant for tenant in sorted(self.record_tenants) if not is_segment(tenant)]:
                raise ValueError(f"--record-tenants: {wrong[0]!r} is no tenant; pass them as a,b")


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
