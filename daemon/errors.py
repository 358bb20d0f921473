"""What redraftd refuses, as values that the HTTP layer turns into answers and the client back into errors.

DaemonError
├── InvalidRequest  400 bad_session_id, bad_prefix; 422 bad_range, invalid_request
├── AccessDenied    401 unauthorized; 403 forbidden_tenant
├── UnknownSession  404
├── StaleRevision   409
├── TooLarge        413
├── Busy            429
└── Unavailable     503 engine_unavailable, recorder_unavailable

Invariant: each one carries its HTTP status, its code and one line that says what to do.
"""

import traceback

STOPPING = "redraftd is stopping"


class DaemonError(Exception):
    """A refusal: HTTP status, code, one line of detail and the fields that the contract adds."""

    def __init__(self, status: int, code: str, detail: str, **fields: object) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = fields


class InvalidRequest(DaemonError):
    """An address (400) or a body (422) that cannot be right."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(400 if code in {"bad_session_id", "bad_prefix"} else 422, code, detail)


class AccessDenied(DaemonError):
    """No access token of ours, or none that covers the tenant: the same whether the section exists or not."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(401 if code == "unauthorized" else 403, code, detail)


class UnknownSession(DaemonError):
    """No such section."""

    def __init__(self, session_id: str) -> None:
        super().__init__(404, "unknown_session", f"no section {session_id}: open it with PUT")


class StaleRevision(DaemonError):
    """The caller's base revision is not the section's."""

    def __init__(self, base: int, revision: int) -> None:
        detail = f"base_revision is {base}, the section is at {revision}: get it and edit that"
        super().__init__(409, "stale_revision", detail, revision=revision)


class TooLarge(DaemonError):
    """A prompt that leaves no room for the answer in the engine's context, or a body over its limit."""

    def __init__(self, detail: str, **sizes: int) -> None:
        super().__init__(413, "too_large", detail, **sizes)


class Busy(DaemonError):
    """Every slot is taken and the queue is full or did not move in time."""

    def __init__(self, reason: str, retry_after_ms: int) -> None:
        detail = f"all slots are busy ({reason}): try again in {retry_after_ms} ms"
        super().__init__(429, "busy", detail, reason=reason, retry_after_ms=retry_after_ms)
        self.retry_after_s = -(-retry_after_ms // 1000)


class Unavailable(DaemonError):
    """The engine cannot be reached, is loading or answered what it must not; or nothing can be recorded."""

    def __init__(self, detail: str, code: str = "engine_unavailable") -> None:
        super().__init__(503, code, detail)


def trace(error: BaseException) -> str:
    """For the log: what an unexpected exception is and where it came from, without its message, which
    may quote a document."""
    return f"{type(error).__name__} at\n{''.join(traceback.format_tb(error.__traceback__))}"
