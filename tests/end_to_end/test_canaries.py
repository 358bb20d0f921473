"""Canaries on a live daemon with the default model."""

import json
from collections.abc import Callable
from typing import Any


def test_the_built_in_canaries_pass_on_a_live_daemon(
    redraft: Any, launch: Callable[..., Any], real_engine: str
) -> None:
    daemon = launch("daemon.main", "--engine", real_engine, "--slots", "2", "--no-auth", health="/healthz")
    done = redraft("canary", "--url", daemon.url, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert (document["passed"], document["failed"], document["blind"]) == (3, 0, 0)
    assert all(canary["held"] > 0 for canary in document["canaries"])
