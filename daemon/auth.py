"""Who may do what: access tokens and the tenants that they cover.

Invariant: tokens are known by their digest alone, and no error repeats any of a tokens file; looking one
up compares it with every entry in constant time, so how long it takes tells nothing about any of them.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from daemon.errors import AccessDenied
from daemon.sections import is_segment

_LINE = re.compile(r"sha256:([0-9a-fA-F]{64})[ \t]+(\S+)")
ALL = "*"


@dataclass(frozen=True)
class Scope:
    """The tenants that a caller may address; `*` covers every one."""

    tenants: frozenset[str]

    def require(self, tenant: str) -> None:
        """AccessDenied unless the tenant is covered."""
        if not self.tenants & {tenant, ALL}:
            raise AccessDenied("forbidden_tenant", "the access token does not cover this tenant")


EVERYTHING = Scope(frozenset({ALL}))


class Access:
    """Whom the daemon serves: holders of tokens, or without any everybody."""

    def __init__(self, entries: tuple[tuple[bytes, str], ...] | None) -> None:
        self._entries = entries

    def scope(self, authorization: bytes | None) -> Scope:
        """What the header's token covers; AccessDenied where it is no token of ours."""
        if self._entries is None:
            return EVERYTHING
        scheme, _, token = (authorization or b"").strip().partition(b" ")
        digest = hashlib.sha256(token.strip()).digest()
        same = [hmac.compare_digest(digest, entry) for entry, _ in self._entries]
        tenants = frozenset(tenant for (_, tenant), is_it in zip(self._entries, same, strict=True) if is_it)
        if scheme.lower() != b"bearer" or not tenants:
            raise AccessDenied("unauthorized", "pass an access token: Authorization: Bearer TOKEN")
        return Scope(tenants)


EVERYBODY = Access(None)


def read_tokens(path: Path) -> Access:
    """The tokens file: `sha256:DIGEST TENANT` a line, where `*` is every tenant; ValueError, one line."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise ValueError(f"--tokens-file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"--tokens-file {path} is no UTF-8 text") from error
    entries = [
        _entry(line.strip(), f"--tokens-file {path} line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not entries:
        raise ValueError(f"--tokens-file {path} holds no token: add lines `sha256:DIGEST TENANT`")
    return Access(tuple(entries))


def _entry(line: str, where: str) -> tuple[bytes, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"{where} is not `sha256:DIGEST TENANT` with 64 hexadecimal digits")
    if match[2] != ALL and not is_segment(match[2]):
        raise ValueError(f"{where} names no tenant: it is `*` or 1 to 128 of A-Z a-z 0-9 . _ ~ : @ + -")
    return bytes.fromhex(match[1]), match[2]
