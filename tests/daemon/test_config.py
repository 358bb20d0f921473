from dataclasses import FrozenInstanceError

import pytest

from daemon.config import Config

URL = "http://127.0.0.1:8080"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_no_auth_serves_loopback(host: str) -> None:
    assert Config(URL, host=host, no_auth=True).host == host


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"no_auth": False}, "--no-auth"),
        ({"host": "0.0.0.0"}, "loopback"),
        ({"host": "::"}, "loopback"),
        ({"host": "example.org"}, "loopback"),
        ({"engine": "127.0.0.1:8080"}, "--engine '127.0.0.1:8080'"),
        ({"engine": "http://"}, "--engine"),
        ({"slots": 0}, "--slots 0"),
        ({"queue_depth": -1}, "negative"),
        ({"queue_timeout_ms": -1}, "negative"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(settings: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what) as caught:
        Config(**{"engine": URL, "no_auth": True, **settings})
    assert "\n" not in str(caught.value)


def test_a_config_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        Config(URL, no_auth=True).port = 1
