import pytest

from daemon.errors import (
    Busy,
    DaemonError,
    InvalidRequest,
    StaleRevision,
    TooLarge,
    Unavailable,
    UnknownSession,
    trace,
)


@pytest.mark.parametrize(
    ("error", "status", "code", "fields"),
    [
        (InvalidRequest("bad_session_id", "x"), 400, "bad_session_id", {}),
        (InvalidRequest("bad_prefix", "x"), 400, "bad_prefix", {}),
        (InvalidRequest("bad_range", "x"), 422, "bad_range", {}),
        (InvalidRequest("invalid_request", "x"), 422, "invalid_request", {}),
        (UnknownSession("t/d/s"), 404, "unknown_session", {}),
        (StaleRevision(1, 2), 409, "stale_revision", {"revision": 2}),
        (TooLarge("x", prompt_tokens=90, limit=80), 413, "too_large", {"prompt_tokens": 90, "limit": 80}),
        (Busy("queue_full", 1500), 429, "busy", {"reason": "queue_full", "retry_after_ms": 1500}),
        (Unavailable("gone"), 503, "engine_unavailable", {}),
        (Unavailable("full", "recorder_unavailable"), 503, "recorder_unavailable", {}),
    ],
)
def test_a_refusal_is_the_contracts(error: DaemonError, status: int, code: str, fields: object) -> None:
    assert (error.status, error.code, error.fields) == (status, code, fields)
    assert "\n" not in error.detail


def test_retry_after_is_whole_seconds_rounded_up() -> None:
    assert Busy("queue_full", 1500).retry_after_s == 2


def test_a_trace_says_where_but_quotes_no_message() -> None:
    with pytest.raises(KeyError) as caught:
        {}["secret " + "text"]
    line = trace(caught.value)
    assert line.startswith("KeyError at\n")
    assert "test_errors.py" in line
    assert "secret text" not in line
