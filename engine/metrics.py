"""`/metrics`: an engine's counts in Prometheus' words.

Invariant: labels come from fixed sets (routes, statuses, ways to end); no text of a request is among them.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.ready import Ready

PREFIX = "redraft_engine_"
COUNTS = {
    "prompt_tokens": "Tokens of finished requests' prompts that were decoded.",
    "cached_tokens": "Tokens of finished requests' prompts that slots or parked states had already.",
    "predicted_tokens": "Tokens of finished answers.",
    "held_tokens": "Tokens of finished answers that were held from a stale answer.",
    "passes": "Passes through the model.",
    "rows": "Tokens decoded in them, for requests that were cancelled too.",
    "wasted_rows": "Of these, what finished answers rejected or decoded again.",
    "decode_seconds": "Time in passes.",
    "host_seconds": "Time between passes while slots were busy.",
    "parked_states": "Prefix states that were parked.",
    "restored_states": "Parked states that were restored to a slot.",
}
"""Fields of `Counts` that are totals."""


class EngineCollector(Collector):
    """Reads a worker at each scrape."""

    def __init__(self, ready: Ready) -> None:
        self._worker = ready.worker

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        worker, counts = self._worker, self._worker.counts
        completions = CounterMetricFamily(
            PREFIX + "completions", "Completions by how they ended.", labels=["end"]
        )
        for end in ("eos", "limit", "word", "cancelled", "error"):
            completions.add_metric([end], counts.ended[end])
        yield completions
        for name, text in COUNTS.items():
            yield CounterMetricFamily(PREFIX + name, text, value=getattr(counts, name))
        yield GaugeMetricFamily(PREFIX + "queued", "Requests that wait for a slot.", value=worker.queued)
        busy = sum(slot.generation is not None for slot in worker.slots)
        yield GaugeMetricFamily(PREFIX + "busy_slots", "Slots that serve a request.", value=busy)
        yield GaugeMetricFamily(PREFIX + "slots", "Slots.", value=len(worker.slots))
        held = sum(len(slot.cache) for slot in worker.slots)
        yield GaugeMetricFamily(PREFIX + "slot_tokens", "Tokens that slots hold.", value=held)


class CountRequests:
    """Middleware: requests by route and status."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._requests = Counter(
            PREFIX + "http_requests", "Requests answered.", ["route", "status"], registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "other")
                self._requests.labels(route, message["status"]).inc()
            await send(message)

        await self._app(scope, receive, send_counted)


def exposition(requests: CollectorRegistry, ready: Ready) -> bytes:
    """The body of `/metrics`."""
    engine = CollectorRegistry()
    engine.register(EngineCollector(ready))
    return generate_latest(requests) + generate_latest(engine)
