"""The OpenAPI document is true: its examples hold, and whatever it allows is answered as it says.

`REDRAFT_FUZZ=500 pytest tests/daemon/test_openapi.py` asks each route 500 times what is allowed and 500 times
what is not, other things each time.
"""

import os
import re

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from daemon import openapi
from daemon.app import SECTION
from daemon.wire import (
    CanaryReport,
    DoneEvent,
    EditsRequest,
    OpenRequest,
    RefreshRequest,
    Refusal,
    SseDecoder,
    parse_event,
)

EXAMPLES = int(os.environ.get("REDRAFT_FUZZ", "0"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
KNOWN = {"tenant": "acme", "document": "plan", "section": "summary"}
OPERATIONS = [
    *("GET /healthz", "GET /metrics", "PUT /v1/canaries", "DELETE /v1/sessions"),
    *(f"{method} {SECTION}" for method in ("PUT", "GET", "DELETE")),
    *(f"POST {SECTION}/{verb}" for verb in ("edits", "refresh")),
]


@pytest.fixture(scope="module")
def app(make_app) -> FastAPI:
    return make_app({"no_auth": True}, answer="A ticket costs 14 euros.")


@pytest.fixture(scope="module")
def operations(app: FastAPI) -> dict:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    found = [result.ok() for result in schema.get_all_operations()]
    return {operation.label: operation for operation in found}


def test_every_route_is_in_the_document(operations: dict) -> None:
    assert sorted(operations) == sorted(OPERATIONS)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("label", OPERATIONS)
def test_whatever_is_asked_is_answered_as_the_document_says(operations: dict, label: str, mode) -> None:
    if mode == GenerationMode.NEGATIVE and label in {"GET /healthz", "GET /metrics"}:
        return  # nothing can be wrong with these
    operation, opening = operations[label], operations[f"PUT {SECTION}"]
    value = openapi.OPENING["a section"]["value"]

    @settings(
        max_examples=EXAMPLES or 20,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode), known=st.booleans())
    def ask(case, known: bool) -> None:
        if known and "{section}" in label:
            opening.Case(path_parameters=KNOWN, body=value, media_type="application/json").call()
            case.path_parameters = KNOWN
        case.call_and_validate(checks=CHECKS)

    ask()


@pytest.mark.parametrize(
    ("examples", "kind"),
    [
        (openapi.OPENING, OpenRequest),
        (openapi.EDITING, EditsRequest),
        (openapi.REFRESHING, RefreshRequest),
        (openapi.CANARIES, CanaryReport),
    ],
)
def test_examples_of_requests_are_requests(examples: dict, kind: type) -> None:
    for example in examples.values():
        TypeAdapter(kind).validate_python(example["value"])


def test_examples_of_refusals_are_refusals() -> None:
    answers = openapi.refusals(400, 401, 403, 404, 409, 413, 422, 429, 503).values()
    contents = [answer["content"]["application/json"]["examples"] for answer in answers]
    examples = {code: example["value"] for content in contents for code, example in content.items()}
    assert len(examples) == 12
    for code, example in examples.items():
        assert Refusal.model_validate(example).error == code


def test_the_example_of_a_stream_is_one() -> None:
    decoder = SseDecoder()
    stream = openapi.EVENTS[200]["content"]["text/event-stream"]["example"]
    events = [parse_event(*block) for block in decoder.feed(stream.encode())]
    assert isinstance(events[-1], DoneEvent)
    assert {type(event).__name__ for event in events} == {"OpenEvent", "DeltaEvent", "SpanEvent", "DoneEvent"}


def test_references_lead_somewhere(app: FastAPI) -> None:
    document = app.openapi()
    references = re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(document))
    assert {"DoneEvent", "Refusal", "Health"} <= set(references) <= set(document["components"]["schemas"])
    assert app.openapi() is document
