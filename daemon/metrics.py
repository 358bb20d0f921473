"""What Prometheus may know of the daemon.

Invariant: no label and no value holds anything of a tenant: labels are words of this module and of the
wire. Each daemon has its own registry.
"""

import math
import time
from collections.abc import Callable
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from daemon.wire import CanaryReport, DoneEvent

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
Outcome = Literal["done", "cancelled", "refused", "failed"]
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120)
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


class Metrics:
    """One daemon's figures."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self._ended = Counter("redraftd_refreshes", "Refreshes by how they ended.", ["outcome"], registry=own)
        self._latency = Histogram(
            "redraftd_refresh_seconds",
            "From the request to its last event, of refreshes that were done.",
            ["mode", "kind"],
            buckets=_SECONDS,
            registry=own,
        )
        self._queue = Histogram(
            "redraftd_queue_seconds", "Wait for a slot.", buckets=(0, *_SECONDS), registry=own
        )
        self._held = Histogram(
            "redraftd_held_share", "Held over emitted tokens.", buckets=_SHARES, registry=own
        )
        self._tokens = Counter("redraftd_tokens", "Tokens emitted.", registry=own)
        self._divergences = Counter("redraftd_divergences", "Draft tokens rejected.", registry=own)
        self._records = Counter("redraftd_records", "Changes recorded.", registry=own)
        self._canaries = {
            verdict: Gauge(
                f"redraft_canary_{verdict}", f"Canaries {verdict} in the last check.", registry=own
            )
            for verdict in CanaryReport.model_fields
        }
        self._checked = Gauge("redraft_canary_time_seconds", "Unix time of the last check.", registry=own)
        for gauge in [*self._canaries.values(), self._checked]:
            gauge.set(math.nan)  # until one is reported

    def watch(self, name: str, what: str, count: Callable[[], float]) -> None:
        """Ask for a figure whenever the metrics are read."""
        Gauge(f"redraftd_{name}", what, registry=self._registry).set_function(count)

    def ended(self, outcome: Outcome) -> None:
        """A refresh ended."""
        self._ended.labels(outcome).inc()

    def done(self, done: DoneEvent) -> None:
        """A refresh has its new text."""
        self._latency.labels(done.mode, done.kind).observe(done.wall_ms / 1000)
        self._queue.observe(done.queued_ms / 1000)
        if done.mode == "redraft":
            self._held.observe(done.reused)
        self._tokens.inc(done.tokens)
        self._divergences.inc(done.divergences)

    def recorded(self, changes: int) -> None:
        """Changes are on disk."""
        self._records.inc(changes)

    def canaries(self, report: CanaryReport) -> None:
        """A canary check was reported."""
        for verdict, gauge in self._canaries.items():
            gauge.set(getattr(report, verdict))
        self._checked.set(time.time())

    def render(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
