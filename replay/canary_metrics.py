"""Canary rounds as Prometheus gauges.

Invariant: the gauges tell of the last round that ended; before the first there is no value to take for one.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from replay.canary import ENDINGS, CanaryRound
from replay.errors import SettingsError


class CanaryMetrics:
    """Gauges `redraft_canary_ENDING`, one for each ending, and the time when the last round ended."""

    def __init__(self, suite: str, arm: str) -> None:
        self.registry = CollectorRegistry()
        self._labels = (suite, arm)
        self._gauges = {
            ending: self._gauge(f"redraft_canary_{ending}", f"Canaries of the last round: {ending}.")
            for ending in ENDINGS
        }
        self._time = self._gauge(
            "redraft_canary_last_run_timestamp_seconds", "When the last round ended, in Unix time."
        )

    def record(self, done: CanaryRound) -> None:
        """Shows a round that has just ended."""
        for ending, gauge in self._gauges.items():
            gauge.labels(*self._labels).set(done.count(ending))
        self._time.labels(*self._labels).set_to_current_time()

    @contextmanager
    def served(self, host: str, port: int) -> Iterator[int]:
        """Answers scrapes at `/metrics` meanwhile; gives the port."""
        try:
            server, thread = start_http_server(port, addr=host, registry=self.registry)
        except OSError as error:
            raise SettingsError(
                f"--metrics-port: cannot listen on {host}:{port}: {error.strerror}"
            ) from error
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _gauge(self, name: str, help_text: str) -> Gauge:
        return Gauge(name, help_text, ["suite", "arm"], registry=self.registry)
