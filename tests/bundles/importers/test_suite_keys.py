import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bundles import SuiteError
from bundles.importers.suite_entry import session_of, units_of
from bundles.importers.suite_keys import suite_schema

ROOT = Path(__file__).parents[3]
VALIDATOR = Draft202012Validator(suite_schema())
ENTRY: dict[str, Any] = {"id": "a", "instruction": "Do.", "before": {"x": "1"}, "after": {"x": "2"}}
SESSION: dict[str, Any] = {"session_id": "s"}


def test_the_schema_is_one_and_the_documents_hold_it() -> None:
    Draft202012Validator.check_schema(suite_schema())
    written = json.loads((ROOT / "docs" / "suite.schema.json").read_text(encoding="utf-8"))
    assert written == suite_schema()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "replay" / "suites").glob("*.toml")), ids=lambda path: path.stem
)
def test_built_in_suites_keep_to_the_schema(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"before": "1", "after": [{"name": "x", "text": ""}], "edits": [{"after": "y", "id": "b"}]},
        {"facts": [{"expect": ["a", {"matcher": "number", "value": "1"}], "matcher": "near"}]},
        {"facts": [{"polarity": "forbid", "values": ["a"], "as": "current", "severity": "advisory"}]},
        {"expect_new": "a", "forbid_new": ["b"], "canary": True, "max_tokens": 9, "tags": ["t"]},
        {"reference": {"text": "a", "wall_ms": 1.5}, "source": {"licence": "MIT"}, "session": "s"},
        {"kind": "revise", "edited": "", "stale": "", "pinned": ["p"], "category": "c"},
    ],
)
def test_what_the_importer_takes_the_schema_takes(changes: dict[str, Any]) -> None:
    units_of(ENTRY | changes)
    VALIDATOR.validate({"suite": "s", "units": [ENTRY | changes], "sessions": [SESSION]})
    VALIDATOR.validate([ENTRY | changes])


@pytest.mark.parametrize(
    "changes",
    [
        {"unknown": 1},
        {"id": 7},
        {"after": 7},
        {"after": [{"text": ""}]},
        {"edits": [{"after": "x", "before": "x"}]},
        {"facts": [{}]},
        {"facts": [{"expect": 7}]},
        {"facts": [{"expect": [{"of": [7]}]}]},
        {"facts": [{"expect": [{}]}]},
        {"facts": [{"forbid": "a", "as": "old"}]},
        {"expect_new": [7]},
        {"canary": 1},
        {"tags": "t"},
        {"source": {"line": 7}},
        {"reference": {}},
        {"max_tokens": "9"},
    ],
)
def test_what_the_importer_refuses_the_schema_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises(SuiteError):
        units_of(ENTRY | changes)
    assert not VALIDATOR.is_valid({"units": [ENTRY | changes]})


@pytest.mark.parametrize("session", [{}, {"session_id": 7}, {"session_id": "s", "owner": "x"}])
def test_a_session_that_the_importer_refuses_the_schema_refuses(session: dict[str, Any]) -> None:
    with pytest.raises(SuiteError):
        session_of(1, session)
    assert not VALIDATOR.is_valid({"units": [], "sessions": [session]})
