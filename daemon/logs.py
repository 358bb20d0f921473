"""The daemon's log, in words or as one JSON object a line.

Invariant: a line holds what the daemon says and the fields it names, never a document's text: exceptions
are logged by `errors.trace`, not by their message. No field can break a line.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

Format = Literal["plain", "json"]
_FIELDS = "redraft_fields"


def event(log: logging.Logger, what: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log that something happened, with its figures."""
    log.log(level, what, extra={_FIELDS: fields})


def start(form: Format, level: str) -> None:
    """Write to stderr: the daemon's own from `level` on, of libraries warnings only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Plain())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("daemon").setLevel(level.upper())


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {name: str(value) for name, value in getattr(record, _FIELDS, {}).items()}
        shown = [f"{name}={text if text.isprintable() else ascii(text)}" for name, text in fields.items()]
        text = " ".join([record.getMessage(), *shown])
        return f"{_time(record)} {record.levelname.lower()} {text}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name}
        return json.dumps({**line, "event": record.getMessage(), **getattr(record, _FIELDS, {})}, default=str)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
