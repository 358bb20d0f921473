"""The OpenAPI document is true: whatever it allows, and what it does not, is answered as it says.

`REDRAFT_FUZZ=100 pytest tests/engine/test_openapi_document.py` asks each route 100 times what is allowed and
100 times what is not, other things each time.
"""

import os
from collections.abc import Callable

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

EXAMPLES = int(os.environ.get("REDRAFT_FUZZ", "0"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
PLAIN = ["GET /health", "GET /props", "GET /metrics", "GET /v1/models"]
OPERATIONS = [
    *("POST /tokenize", "POST /detokenize", "POST /apply-template", "POST /completion", "GET /slots"),
    *("POST /slots/{id_slot}", "POST /v1/chat/completions", "POST /v1/completions"),
]
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
CASES = [
    *((label, GenerationMode.POSITIVE) for label in PLAIN),
    *((label, mode) for label in OPERATIONS for mode in MODES),
]


@pytest.fixture(scope="module")
def operations(launch: Callable, tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = str(tmp_path_factory.mktemp("slots"))
    url = launch("engine.main", "--fake-model", "--ctx", "256", "--slot-save-path", folder).url
    schema = schemathesis.openapi.from_url(url + "/openapi.json")
    found = [result.ok() for result in schema.get_all_operations()]
    return {operation.label: operation for operation in found}


def test_every_route_is_in_the_document(operations: dict) -> None:
    assert sorted(operations) == sorted([*PLAIN, *OPERATIONS])


@pytest.mark.parametrize(("label", "mode"), CASES)
def test_whatever_is_asked_is_answered_as_the_document_says(operations: dict, label: str, mode) -> None:
    @settings(
        max_examples=EXAMPLES or 6,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operations[label].as_strategy(generation_mode=mode))
    def ask(case) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()
