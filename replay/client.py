"""redraftd as the replay sees it: open a section, refresh it, look at its health.

Invariant: whatever the service does (refuse, hang, stop in the middle, answer something else) comes
out as a ServiceError that says what happened, within the time limits; text offsets leave here as
code points.
"""

import json
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate

import httpx

from bundles import HeldSpan
from daemon.wire import (
    EVENT_NAMES,
    CanaryReport,
    CancelledEvent,
    DeltaEvent,
    DoneEvent,
    ErrorEvent,
    Health,
    OpenRequest,
    Range,
    RefreshEvent,
    RefreshRequest,
    SpanEvent,
    SseDecoder,
    parse_event,
)
from replay.errors import ServiceDown, ServiceError, ServiceTimeout, SettingsError

CONNECT_S, HEALTH_S, SILENCE_S, REFRESH_S = 5.0, 10.0, 120.0, 900.0


@dataclass(frozen=True, slots=True)
class Refreshed:
    """One refresh: the text, which of it was held, and the figures. `wall_ms` is as seen from here."""

    text: str
    spans: tuple[HeldSpan, ...]
    done: DoneEvent
    wall_ms: float


class Client:
    """A connection to one daemon. `silence_s` limits the wait between two pieces of an answer.

    `token` is the access token of a daemon that asks for one.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        silence_s: float = SILENCE_S,
        refresh_s: float = REFRESH_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._refresh_s = refresh_s
        if not (token.isascii() and token.isprintable()):
            raise SettingsError("an access token is of printable ASCII characters only")
        with explained(url):
            self._http = httpx.Client(
                base_url=self.url,
                headers={"authorization": f"Bearer {token}"} if token else {},
                timeout=httpx.Timeout(silence_s, connect=CONNECT_S),
                trust_env=False,
                transport=transport,
            )

    def close(self) -> None:
        """Drops the connection."""
        self._http.close()

    def health(self) -> Health:
        """The daemon's health, whether good or bad (503 carries one too)."""
        with explained(f"{self.url}/healthz"):
            answer = self._http.get("/healthz", timeout=HEALTH_S)
            if answer.status_code not in (200, 503):
                raise _refusal(answer)
            return Health.model_validate_json(answer.content)

    def must_be_alive(self) -> None:
        """ServiceDown where the daemon does not answer, or has no engine."""
        try:
            status = self.health().status
        except ServiceError as error:
            raise ServiceDown(f"no daemon answers: {error}") from error
        if status == "down":
            raise ServiceDown(f"{self.url}: the daemon has lost its engine")

    def open(self, section: str, body: OpenRequest) -> None:
        """Opens or replaces a section."""
        self._send("PUT", f"/v1/sessions/{section}", body)

    def delete(self, section: str) -> None:
        """Drops a section."""
        self._send("DELETE", f"/v1/sessions/{section}", None)

    def report(self, canaries: CanaryReport) -> None:
        """Shows how canaries came out in the daemon's metrics; takes a token for all tenants."""
        self._send("PUT", "/v1/canaries", canaries)

    def refresh(self, section: str, body: RefreshRequest, old: str) -> Refreshed:
        """Regenerates a section; `old` is the derived text that held spans refer to."""
        path = f"/v1/sessions/{section}/refresh"
        started = time.perf_counter()
        text: list[str] = []
        spans: list[SpanEvent] = []
        result = None
        with explained(self.url + path), self._http.stream("POST", path, json=_json(body)) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            for event in events(answer.iter_bytes()):
                wall_s = time.perf_counter() - started
                match event:
                    case DeltaEvent():
                        text.append(event.text)
                    case SpanEvent(kind="held"):
                        spans.append(event)
                    case DoneEvent():
                        whole = "".join(text)
                        result = Refreshed(whole, held_spans(spans, old, whole), event, wall_s * 1000)
                    case ErrorEvent():
                        raise ServiceError(f"{event.code} {event.detail}".strip(), retryable=True)
                    case CancelledEvent():
                        raise ServiceError("another request superseded the refresh", retryable=True)
                if wall_s > self._refresh_s:
                    raise ServiceTimeout(f"{self.url}{path}: not done after {self._refresh_s:g} s")
        if result is None:
            raise ServiceError(f"{self.url}{path}: the stream ended without a result", retryable=True)
        return result

    def _send(self, method: str, path: str, body: OpenRequest | CanaryReport | None) -> None:
        with explained(self.url + path):
            answer = self._http.request(method, path, json=None if body is None else _json(body))
            if answer.status_code >= 400:
                raise _refusal(answer)


def events(chunks: Iterable[bytes]) -> Iterator[RefreshEvent]:
    """The typed events of an SSE stream; unknown kinds are passed over."""
    decoder = SseDecoder()
    for chunk in chunks:
        for name, data in decoder.feed(chunk):
            if name in EVENT_NAMES:
                yield parse_event(name, data)


def held_spans(spans: Iterable[SpanEvent], old: str, new: str) -> tuple[HeldSpan, ...]:
    """Held spans with their offsets turned from UTF-16 units into code points."""
    old_units, new_units = _utf16_starts(old), _utf16_starts(new)
    return tuple(
        HeldSpan(*_code_points(span.old, old_units), *_code_points(span.new, new_units)) for span in spans
    )


def _utf16_starts(text: str) -> list[int]:
    return [0, *accumulate(2 if ord(char) > 0xFFFF else 1 for char in text)]


def _code_points(span: Range, starts: list[int]) -> Range:
    start, end = (bisect_left(starts, offset) for offset in span)
    if end >= len(starts) or (starts[start], starts[end]) != tuple(span) or start > end:
        raise ServiceError(f"the span {list(span)} does not lie on characters of its text")
    return start, end


def _json(body: OpenRequest | RefreshRequest | CanaryReport) -> object:
    return body.model_dump(mode="json")


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turns what httpx and pydantic raise into the package's errors, with the address."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise ServiceTimeout(f"{where}: no answer in time") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServiceError(f"{where}: {error}", retryable=True) from error
    except ValueError as error:  # pydantic's is one
        said = " ".join(str(error).split())[:200]
        raise ServiceError(f"{where}: is this redraftd? {said}") from error


def _refusal(answer: httpx.Response) -> ServiceError:
    try:
        body = answer.json()
    except json.JSONDecodeError:
        body = answer.text[:200]
    said = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)[:400]
    wait_s = answer.headers.get("retry-after", "0")
    return ServiceError(
        f"{answer.url}: {answer.status_code} {said}",
        retryable=answer.status_code == 429 or answer.status_code >= 500,
        retry_after_s=float(wait_s) if wait_s.isdigit() else 0.0,
    )
