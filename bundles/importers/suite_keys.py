"""What a suite may say: the keys of its objects, and the JSON Schema that tells editors of them.

Invariant: the tables here are the only list of keys. The importer refuses what is not in them, and the
schema is made from them.
"""

from collections.abc import Mapping
from typing import Any, get_args

from bundles.conditions import MATCHERS
from bundles.records import FactOrigin, Polarity, SessionOrigin, Severity, UnitKind

Schema = dict[str, Any]


def _text(what: str) -> Schema:
    return {"description": what, "type": "string"}


def _texts(what: str) -> Schema:
    return {"description": what, "type": "array", "items": {"type": "string"}}


def _one_of(what: str, names: object) -> Schema:
    return {"description": what, "enum": list(get_args(names))}


def _number(what: str, minimum: int) -> Schema:
    return {"description": what, "type": "integer", "minimum": minimum}


def _either(what: str, *forms: Schema) -> Schema:
    return {"description": what, "anyOf": list(forms)}


def _list_of(what: str, name: str) -> Schema:
    return {"description": what, "type": "array", "items": {"$ref": f"#/$defs/{name}"}}


_STRING: Schema = {"type": "string"}
_STRINGS: Schema = {"type": "array", "items": _STRING}
_TEXTS_BY_NAME: Schema = {"type": "object", "additionalProperties": _STRING}
_PARTS: Schema = {"type": "array", "items": {"anyOf": [_STRING, {"$ref": "#/$defs/condition"}]}}


def _sources(state: str) -> Schema:
    forms = (_STRING, _TEXTS_BY_NAME, {"type": "array", "items": {"$ref": "#/$defs/source"}})
    return _either(f"The sources {state} the edit: one text, texts by name, or a list of them.", *forms)


CONDITION_KEYS: Mapping[str, Schema] = {
    "matcher": {"description": "How to look for the values; text if left out.", "enum": list(MATCHERS)},
    "value": _text("What to look for."),
    "values": _texts("Spellings, one of which is enough; for near and all, what must all be there."),
    "of": {"description": "Parts of near, all, any and count."} | _PARTS,
    "at_least": _number("For count: how many of the parts there must be.", 0),
    "at_most": _number("For count: how many of the parts there may be.", 0),
    "fraction": {"description": "For number: a share may be written as 0.4.", "type": "boolean"},
}
FACT_KEYS: Mapping[str, Schema] = {
    "fact_id": _text("Unique in the unit; numbered by polarity if left out."),
    "expect": _either("What the new text must say.", _STRING, _PARTS),
    "forbid": _either("What the new text must not say.", _STRING, _PARTS),
    "polarity": _one_of("Where neither `expect` nor `forbid` says it.", Polarity),
    "severity": _one_of("An advisory fact never fails a gate; critical if left out.", Severity),
    "origin": _one_of("Who says so: a person, or the edit itself.", FactOrigin),
    "as": {"description": "Forbid the value as the present one, not as the old one.", "enum": ["current"]},
    **CONDITION_KEYS,
}
EDIT_KEYS: Mapping[str, Schema] = {
    "id": _text("Unique in the suite."),
    "category": _text("A label that reports group by."),
    "kind": _one_of("Whether sources changed (rederive) or a person changed the derived text.", UnitKind),
    "instruction": _text("What the derived text is to be."),
    "question": _text("Another name of `instruction`."),
    "after": _sources("after"),
    "context_new": _sources("after"),
    "stale": _text("The answer to replay; made by plain generation if left out."),
    "edited": _text("For revise: the derived text after the person's change."),
    "pinned": _texts("Lines that the new text must keep exactly."),
    "expect_new": _either("Texts that the new text must say.", _STRING, _STRINGS),
    "forbid_new": _either("Texts that the new text must not say.", _STRING, _STRINGS),
    "facts": _list_of("Facts that need more than a text.", "fact"),
    "canary": {"description": "Whether the edit flips a fact.", "type": "boolean"},
    "max_tokens": _number("Limit of the answer.", 1),
    "tags": _texts("Labels that --filter finds."),
    "source": {"description": "Where the text comes from, and its licence."} | _TEXTS_BY_NAME,
    "reference": {"description": "What was served when the edit was recorded.", "$ref": "#/$defs/reference"},
}
UNIT_KEYS: Mapping[str, Schema] = {
    **EDIT_KEYS,
    "before": _sources("before"),
    "context_old": _sources("before"),
    "edits": _list_of("Further edits of the same session.", "edit"),
    "session": _text("The session of the unit; its own if left out."),
}
SOURCE_KEYS: Mapping[str, Schema] = {"name": _text("Its name."), "text": _text("The text.")}
REFERENCE_KEYS: Mapping[str, Schema] = {
    "text": _text("The answer."),
    "mode": _text("How it was made."),
    "wall_ms": {"description": "Time of the whole refresh.", "type": "number", "minimum": 0},
    "prompt_ms": {"description": "Time of the prompt.", "type": "number", "minimum": 0},
}
SESSION_KEYS: Mapping[str, Schema] = {
    "session_id": _text("Unique in the suite."),
    "origin": _one_of("Where it was recorded; suite if left out.", SessionOrigin),
    "tenant": _text("Whose it is."),
    "document_id": _text("Its document."),
    "section_id": _text("Its section of the document."),
    "document_kind": _text("Kind of the document."),
    "opened_at": _text("When it began (ISO 8601, UTC)."),
}
SUITE_KEYS: Mapping[str, Schema] = {
    "$schema": _text("For editors."),
    "suite": _text("The name; that of the file if left out."),
    "exported_from": _text("The bundle that this file was written from."),
    "sessions": _list_of("Sessions that need more than an id.", "session"),
    "units": _list_of("Edits to replay.", "unit"),
}


def suite_schema() -> Schema:
    """The JSON Schema (2020-12) of a suite that is one object or list; a line of JSONL is its `unit`."""
    document = _object(SUITE_KEYS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "redraft suite",
        "anyOf": [document, _list_of("Edits to replay.", "unit")],
        "$defs": {
            "unit": _object(
                UNIT_KEYS,
                ("id",),
                (("instruction", "question"), ("before", "context_old")),
            ),
            "edit": _object(EDIT_KEYS),
            "fact": _object(FACT_KEYS, (), (("expect", "forbid", "polarity"),)),
            "condition": _object(CONDITION_KEYS, (), (("value", "values", "of"),)),
            "source": _object(SOURCE_KEYS, ("name", "text")),
            "reference": _object(REFERENCE_KEYS, ("text",)),
            "session": _object(SESSION_KEYS, ("session_id",)),
        },
    }


def _object(
    keys: Mapping[str, Schema], needed: tuple[str, ...] = (), one_of: tuple[tuple[str, ...], ...] = ()
) -> Schema:
    """An object of these keys and no others; of each group of `one_of`, one key has to be there."""
    schema: Schema = {"type": "object", "properties": dict(keys), "additionalProperties": False}
    if needed:
        schema["required"] = list(needed)
    if one_of:
        schema["allOf"] = [{"anyOf": [{"required": [key]} for key in group]} for group in one_of]
    return schema
