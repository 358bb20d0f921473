"""What the OpenAPI document says beyond the routes' own types: refusals, events, examples.

Invariant: every status that a route can answer is here or is its success, and every example is one that
the daemon takes or gives.
"""

from typing import Any

from fastapi import Body, FastAPI, Path
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPBearer
from pydantic.json_schema import models_json_schema

from daemon.metrics import CONTENT_TYPE
from daemon.sections import SEGMENT
from daemon.wire import EVENT_NAMES, Refusal

DESCRIPTION = """\
One session per document section. Each refresh regenerates the section's derived text with its previous one
as the draft and streams what was kept and what was replaced.

A section is addressed as `tenant/document/section`. Offsets are UTF-16 code units."""

bearer = HTTPBearer(auto_error=False, description="A line of the tokens file covers the tenant, or all.")

_SCHEMAS = "#/components/schemas/"
_REFUSALS: dict[int, dict[str, dict[str, Any]]] = {
    400: {
        "bad_session_id": {"detail": "a section is tenant/document/section"},
        "bad_prefix": {"detail": "a prefix is tenant/ or tenant/document/, with the last slash"},
    },
    401: {"unauthorized": {"detail": "pass an access token: Authorization: Bearer TOKEN"}},
    403: {"forbidden_tenant": {"detail": "the access token does not cover this tenant"}},
    404: {"unknown_session": {"detail": "no section acme/plan/summary: open it with PUT"}},
    409: {"stale_revision": {"detail": "base_revision is 3, the section is at 4", "revision": 4}},
    413: {
        "too_large": {
            "detail": "the prompt has 5000 tokens, 3584 fit: shorten the sources",
            "prompt_tokens": 5000,
            "limit": 3584,
        }
    },
    422: {
        "invalid_request": {"detail": "sources.0.text: Field required"},
        "bad_range": {"detail": "edits[0]: the derived text has 3 lines; [2, 9) is no range of them"},
    },
    429: {
        "busy": {"detail": "all slots are busy (queue_full)", "reason": "queue_full", "retry_after_ms": 1000}
    },
    503: {
        "engine_unavailable": {"detail": "http://127.0.0.1:8080: ConnectError"},
        "recorder_unavailable": {"detail": "prod.journal: cannot record: No space left on device"},
    },
}
_SOURCES: list[dict[str, Any]] = [
    {"name": "minutes", "text": "The ferry sails at nine.\nA ticket costs 9 euros."}
]
_EDIT = {"target": "source", "source": "minutes", "start": 1, "end": 2, "lines": ["A ticket costs 14 euros."]}
OPENING = {
    "a section": {
        "value": {
            "instruction": "Summarise the minutes.",
            "sources": _SOURCES,
            "pinned": [],
            "max_tokens": 200,
        }
    },
    "with a text to start from": {
        "value": {"instruction": "Summarise.", "sources": _SOURCES, "derived": "A ticket costs 9 euros."}
    },
}
EDITING = {"a changed line": {"value": {"base_revision": 1, "edits": [_EDIT]}}}
REFRESHING = {
    "exact": {"value": {"base_revision": 1, "edits": [_EDIT]}},
    "tolerant": {"value": {"mode": "tolerant", "tau": 3.0, "floor": 1.0}},
    "plain generation": {"value": {"baseline": True}},
}
CANARIES = {"a check": {"value": {"passed": 22, "failed": 0, "blind": 2}}}
_STREAM = """\
event: open
data: {"session_id":"acme/plan/summary","revision":1,"kind":"rederive","slot":0,"slot_reused":true,\
"queued_ms":0.0}

event: delta
data: {"text":"A ticket costs","kind":"held"}

event: span
data: {"kind":"held","old":[0,14],"new":[0,14]}

event: delta
data: {"text":" 14 euros.","kind":"new"}

event: span
data: {"kind":"replaced","old":[14,23],"new":[14,24],"text":" 14 euros."}

event: done
data: {"revision":2,"kind":"rederive","mode":"redraft","reused":0.5,"reused_chars":14,"wall_ms":180.2,\
"prompt_ms":40.1,"queued_ms":0.0,"tokens":6,"prompt_tokens":12,"total_tokens":70,"divergences":1,"slot":0,\
"slot_reused":true,"pinned_missing":[],"template_version":1,"algorithm":"adaptive","exact":true}

"""
_EVENT = {
    "type": "object",
    "oneOf": [
        {
            "required": ["event", "data"],
            "properties": {
                "event": {"const": name},
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": {"$ref": f"{_SCHEMAS}{kind.__name__}"},
                },
            },
        }
        for name, kind in EVENT_NAMES.items()
    ],
}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, each as the schema says: `open`, then `delta` and `span`, then"
        " one of `done`, `cancelled` and `error`. A refresh that was superseded before it opened has"
        " `cancelled` alone.",
        "content": {"text/event-stream": {"schema": _EVENT, "example": _STREAM}},
    }
}
METRICS: dict[int | str, dict[str, Any]] = {200: {"content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}}


def segment(what: str, example: str) -> Any:
    """A part of a session id, as a path parameter; `sections` checks it."""
    schema = {"pattern": f"^{SEGMENT}$"}
    return Path(description=what, examples=[example], json_schema_extra=schema)


def body(examples: dict[str, Any]) -> Any:
    """A request body with its examples."""
    return Body(openapi_examples=examples)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that refuses with these."""
    return {
        status: {
            "model": Refusal,
            "description": " or ".join(_REFUSALS[status]),
            "content": {
                "application/json": {
                    "examples": {
                        code: {"value": {"error": code, **fields}}
                        for code, fields in _REFUSALS[status].items()
                    }
                }
            },
        }
        for status in statuses
    }


def document(app: FastAPI) -> dict[str, Any]:
    """The application's OpenAPI document, made once."""
    if not app.openapi_schema:
        schema = get_openapi(title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes)
        operations = [it for path in schema["paths"].values() for it in path.values()]
        for operation in operations:  # FastAPI's own refusal, which our routes never give
            if "HTTPValidationError" in str(operation["responses"].get("422")):
                del operation["responses"]["422"]
        schemas = schema["components"]["schemas"]
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        _, events = models_json_schema(
            [(kind, "serialization") for kind in EVENT_NAMES.values()],
            ref_template=_SCHEMAS + "{model}",
        )
        schemas.update(events["$defs"])
        app.openapi_schema = schema
    return app.openapi_schema
