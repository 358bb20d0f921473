import json
from collections.abc import Mapping
from contextlib import suppress

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from engine.errors import InvalidRequest
from engine.fake_model import FakeModel
from engine.gbnf import parse
from engine.grammar import Constraint, Vocabulary
from engine.json_schema import to_gbnf

MODEL = FakeModel()
VOCABULARY = Vocabulary(MODEL)


def fits(schema: Mapping[str, object], text: str) -> bool:
    constraint = Constraint(parse("json_schema", to_gbnf("json_schema", schema)), VOCABULARY)
    for token in MODEL.tokenize(text):
        if not constraint.allows(token):
            return False
        constraint.accept(token)
    return constraint.allows(MODEL.tokenize("<|im_end|>")[0])


class Street(BaseModel):
    name: str
    number: int | None = None


class Address(BaseModel):
    street: Street
    tags: list[str] = []
    kind: str = "home"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({}, '[1.5e3, "a", {"b": [null, true]}]', "[1,]"),
        ({"type": "integer"}, "-12", "1.5"),
        ({"type": "string"}, '"\\u00e9 🧂 \\n"', '"a\nb"'),
        ({"type": "string", "maxLength": 2}, '"🧂é"', '"abc"'),
        ({"minLength": 2}, '"ab"', '"a"'),
        ({"const": 'a "quoted"\n\\ 🧂'}, '"a \\"quoted\\"\\n\\\\ 🧂"', '"a"'),
        ({"type": "string", "enum": ["a", "b"]}, '"b"', '"c"'),
        ({"type": ["integer", "null"]}, "null", '"a"'),
        ({"type": "object"}, '{"a": {}}', '{"a" : 1}'),
        ({"type": "string", "format": "date"}, '"2026-02-28"', '"2026-13-01"'),
        ({"type": "string", "format": "uuid"}, '"01234567-89ab-cdef-0123-456789abcdef"', '"0123"'),
        ({"items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "[1, 2]", "[]"),
        ({"items": {"type": "integer"}, "maxItems": 2}, "[]", "[1,2,3]"),
        ({"type": "array", "maxItems": 0}, "[]", "[1]"),
        ({"prefixItems": [{"const": 1}, {}], "items": False}, '[1, "x"]', "[1]"),
        ({"prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 3}, "[1,2,2]", "[1,2]"),
        ({"anyOf": [{"type": "null"}, {"properties": {"a": {"const": 1}}}]}, '{"a":1}', '{"b":1}'),
        ({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]}, '{"b":1,"c":2}', '{"a":1}'),
        ({"properties": {"a": {}}, "additionalProperties": {"const": 1}}, '{"x":1}', '{"x":2}'),
        ({"$defs": {"a/b": {"const": 1}}, "items": {"$ref": "#/$defs/a~1b"}}, "[1,1]", "[2]"),
        ({"properties": {"child": {"$ref": "#"}}}, '{"child":{"child":{}}}', '{"child":1}'),
        (
            Address.model_json_schema(),
            '{"street":{"name":"a","number":3},"kind":"x"}',
            '{"street":{"number":3}}',
        ),
        (Address.model_json_schema(), '{\n  "street": {\n    "name": "a"\n  }\n}', '{"tags":[]}'),
    ],
)  # fmt: skip
def test_texts_that_fit_and_do_not(schema: Mapping[str, object], good: str, bad: str) -> None:
    jsonschema.validate(json.loads(good), schema)
    assert fits(schema, good)
    assert not fits(schema, bad)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"minimum": 3}, "#: minimum is not supported"),
        ({"items": {"pattern": "^a$"}}, "#/items: pattern is not supported"),
        ({"type": "wurst"}, "#: type is not one of"),
        ({"type": ["string", {}]}, "#: type is not one of"),
        ({"type": []}, "#: type is not one of"),
        ({"properties": 5}, "#: properties is not an object"),
        ({"properties": {"a": 5}}, "#/properties/a: is not a schema"),
        ({"properties": {"a": False}}, "#/properties/a: is not a schema"),
        ({"required": ["a"]}, "#: required names what is not among the properties"),
        ({"required": [[]]}, "#: required names"),
        ({"required": "a"}, "#: required is not a list"),
        ({"enum": []}, "#: enum is not a list of 1 to 500 items"),
        ({"enum": list(range(501))}, "#: enum is not a list of 1 to 500 items"),
        ({"anyOf": [{}], "required": []}, "#: required beside anyOf is not supported"),
        ({"$ref": 5}, r"#: \$ref must point into the schema"),
        ({"$ref": "https://example.org/schema"}, r"#: \$ref must point into the schema"),
        ({"$ref": "#/$defs/a"}, "points at nothing"),
        ({"maxItems": 10**9, "items": {}}, "#: maxItems is not a whole number between 0 and 2000"),
        ({"minItems": True}, "#: minItems is not a whole number"),
        ({"minLength": 3, "maxLength": 2}, "#: maxLength 2 is less than minLength 3"),
        ({"prefixItems": [{}, {}], "maxItems": 1}, "#: maxItems 1 is less than 2 prefixItems"),
        ({"prefixItems": [{}], "items": False, "minItems": 2}, "#: minItems 2 is more than 1 prefixItems"),
        ({"format": "email"}, "#: format must be one of date"),
        ({"properties": {"a" * n: {"minItems": 2000, "items": {}} for n in range(99)}}, "is too large"),
    ],
)
def test_what_is_not_supported_is_named(schema: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^json_schema: .*{problem}"):
        to_gbnf("json_schema", schema)


def test_what_is_nested_deeply_is_refused() -> None:
    schema: dict[str, object] = {}
    value: list[object] = []
    for _ in range(100_000):
        schema, value = {"items": schema}, [value]
    for deep in (schema, {"const": value}):
        with pytest.raises(InvalidRequest, match="nested too deeply"):
            to_gbnf("json_schema", deep)


names = st.sampled_from(["a", "b c", 'd"', "🧂"])
schemas = st.recursive(
    st.sampled_from(
        [
            {},
            {"type": "integer"},
            {"type": ["string", "null"]},
            {"enum": ["a", 1, None, 'q"\\', "🧂"]},
            {"const": {"k": [1, "é"]}},
            {"type": "string", "minLength": 1, "maxLength": 3},
            {"type": "number"},
            {"type": "string", "format": "date-time"},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda properties, required, more: {
                "type": "object",
                "properties": properties,
                "required": [name for name in properties if name in required],
                "additionalProperties": more,
            },
            st.dictionaries(names, inner, max_size=3),
            st.sets(names),
            st.booleans(),
        ),
        st.builds(
            lambda items, least, more: {"items": items, "minItems": least, "maxItems": least + more},
            inner,
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=4,
)


@given(schemas, st.integers(0, 2**32 - 1))
def test_whatever_a_grammar_lets_through_fits_its_schema(schema: dict[str, object], seed: int) -> None:
    """A random walk that ends as soon as it may after 40 tokens, then closes what is open."""
    constraint = Constraint(parse("json_schema", to_gbnf("json_schema", schema)), VOCABULARY)
    random, said = np.random.default_rng(seed), b""
    likes = np.ones(VOCABULARY.size)
    likes[[*b'"]},:']] = 400
    ends = np.flatnonzero(VOCABULARY.ends)
    for count in range(400):
        allowed = constraint.allowed()
        if allowed[ends[0]] and (count > 40 or not allowed[:256].any()):
            break
        allowed[ends] = False
        weights = allowed * likes
        token = int(random.choice(VOCABULARY.size, p=weights / weights.sum()))
        constraint.accept(token)
        said += MODEL.piece(token)
    else:
        return
    jsonschema.validate(json.loads(said), schema)


members = st.sampled_from(
    [*"ab", "type", "items", "properties", "anyOf", "$ref", "enum", "required", "minItems"]
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["string", "#", "#/a", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(members, junk, max_size=4))
def test_any_schema_is_a_grammar_or_refused(schema: dict[str, object]) -> None:
    with suppress(InvalidRequest):
        assert parse("json_schema", to_gbnf("json_schema", schema)).starts
