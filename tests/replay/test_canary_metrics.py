import socket

import httpx
import pytest

from replay.canary import CanaryResult, CanaryRound
from replay.canary_metrics import CanaryMetrics
from replay.errors import SettingsError


def scraped(port: int) -> dict[str, float]:
    answer = httpx.get(f"http://127.0.0.1:{port}/metrics")
    samples = [line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def test_a_scrape_shows_the_last_round_and_nothing_before_the_first() -> None:
    metrics = CanaryMetrics("builtin:smoke", "redraft")
    with metrics.served("127.0.0.1", 0) as port:
        assert scraped(port) == {}
        metrics.record(CanaryRound((CanaryResult("a", "failed"), CanaryResult("b", "failed"))))
        metrics.record(CanaryRound((CanaryResult("a", "failed"), CanaryResult("b", "passed"))))
        found = scraped(port)
    labels = '{arm="redraft",suite="builtin:smoke"}'
    counts = {ending: found[f"redraft_canary_{ending}{labels}"] for ending in ("passed", "failed", "blind")}
    assert counts == {"passed": 1.0, "failed": 1.0, "blind": 0.0}
    assert found[f"redraft_canary_last_run_timestamp_seconds{labels}"] > 1_700_000_000


def test_a_port_that_is_taken_is_said_in_a_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(SettingsError, match=f"--metrics-port: cannot listen on 127.0.0.1:{port}"),
            CanaryMetrics("s", "a").served("127.0.0.1", port),
        ):
            raise AssertionError("it listens")
