from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from daemon.config import Config

URL = "http://127.0.0.1:8080"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_no_auth_serves_loopback(host: str) -> None:
    assert Config(URL, host=host, no_auth=True).host == host


@pytest.mark.parametrize("engine", [URL, "https://engine.example", "http://[::1]:80/base/"])
def test_an_engine_is_an_http_url(engine: str) -> None:
    assert Config(engine, no_auth=True).engine == engine


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"no_auth": False}, "--no-auth"),
        ({"tokens_file": Path("tokens")}, "pass either --tokens-file"),
        ({"max_sessions": 0}, "--max-sessions"),
        ({"max_tenant_sessions": 0}, "--max-tenant-sessions"),
        ({"host": "0.0.0.0"}, "loopback"),
        ({"host": "::"}, "loopback"),
        ({"host": "example.org"}, "loopback"),
        ({"engine": "127.0.0.1:8080"}, "--engine '127.0.0.1:8080'"),
        ({"slots": 0}, "--slots 0"),
        ({"queue_depth": -1}, "negative"),
        ({"queue_timeout_ms": -1}, "negative"),
        ({"record_tenants": frozenset("t")}, "--record-tenants needs --record DIR"),
        ({"record": Path("prod"), "record_tenants": frozenset(["t", "a b"])}, "'a b' is no tenant"),
        ({"record": Path("prod"), "record_tenants": frozenset([""])}, "'' is no tenant"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(settings: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what) as caught:
        Config(**{"engine": URL, "no_auth": True, **settings})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "engine",
    [
        *["", "http://", "http:///x", "ftp://x", "http://x y", " http://x", "http://x\n", "http://x/ y"],
        *["http://x:abc", "http://x:99999", "http://x:-1", "http://x:0", "http://[::1", "http://a..b"],
    ],
)
def test_what_is_no_engine_is_refused_in_one_line(engine: str) -> None:
    with pytest.raises(ValueError, match="--engine") as caught:
        Config(engine, no_auth=True)
    assert "\n" not in str(caught.value)


def test_a_config_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        Config(URL, no_auth=True).port = 1
