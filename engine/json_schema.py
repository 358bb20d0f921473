"""From a JSON schema to the GBNF of the JSON texts that fit it.

Invariant: a text of the grammar is JSON, and fits the schema; what a grammar cannot hold an answer to, such
as `minimum` or `pattern`, is refused by name, never dropped. Properties come in the schema's order, and
others than the schema's only where `additionalProperties` allows them. Size and time are linear in the
schema. (The converter of llama.cpp's binding writes characters beyond U+FFFF and escapes wrongly and drops
what it does not know.)
"""

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn

from engine.errors import InvalidRequest
from engine.gbnf import MAX_LENGTH

MAX_DEPTH = 64
MAX_COUNT = 2000
"""For lengths and numbers of items."""
MAX_VALUES = 500
"""In one enum: more cannot be told apart in time."""
SHARED = {
    "space": r'(" " | "\n" " "{0,20})?',
    "hex": "[0-9a-fA-F]",
    "code": "[0-9a-cefA-CEF] hex{3} | [dD] [0-7] hex{2}",
    "char": r'[^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" code)',
    "string": r'"\"" char* "\""',
    "digits": "[0-9]{1,15}",
    "integer": '"-"? ("0" | [1-9] [0-9]{0,14})',
    "number": 'integer ("." digits)? ([eE] [-+]? [0-9]{1,2})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "pair": 'string ":" " "? value',
    "object": '"{" space (pair ("," space pair)* space)? "}"',
    "array": '"[" space (value ("," space value)* space)? "]"',
    "value": "string | number | object | array | boolean | null",
    "month-day": '("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])',
    "date": '[0-9]{4} "-" month-day',
    "time": '([01] [0-9] | "2" [0-3]) (":" [0-5] [0-9]){2} ("." [0-9]{1,6})? ("Z" | [-+] clock)',
    "clock": '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]',
    "date-time": 'date "T" time',
    "uuid": 'hex{8} ("-" hex{4}){3} "-" hex{12}',
}
FORMATS = ("date", "time", "date-time", "uuid")
TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")
NOTES = {
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$id",
    "$comment", "$defs", "definitions",
}  # fmt: skip
WHOLE = ("$ref", "const", "enum", "anyOf", "oneOf")
"""Each says all there is to say; beside it stand only notes, and beside values a type."""
BY_TYPE = {
    "string": {"minLength", "maxLength", "format"},
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems"},
}
KNOWN = NOTES.union(WHOLE, ["type"], *BY_TYPE.values())


def to_gbnf(field: str, schema: Mapping[str, object]) -> str:
    """The grammar of a schema. Raises InvalidRequest that starts with `field`."""
    return _Converter(field, schema).convert()


class _Converter:
    def __init__(self, field: str, schema: Mapping[str, object]) -> None:
        self._field = field
        self._schema = schema
        self._rules: dict[str, str] = {}
        self._by_reference: dict[str, str] = {}
        self._path: list[str] = []
        self._size = 0

    def convert(self) -> str:
        rules = {"root": self._visit(self._schema), **self._rules, **SHARED}
        return "\n".join(f"{name} ::= {body}" for name, body in rules.items())

    def _fail(self, problem: str) -> NoReturn:
        where = "/".join(["#", *self._path])
        raise InvalidRequest(f"{self._field}: {where[:60]}: {problem}")

    def _rule(self, body: str) -> str:
        """The name of a new rule."""
        name = f"r{len(self._rules)}"
        self._rules[name] = body
        self._size += len(body)
        if self._size > MAX_LENGTH:
            self._fail("is too large")
        return name

    def _visit(self, schema: object, *path: str) -> str:
        """What matches a part of the schema: one rule's name or one group."""
        self._path += path
        if len(self._path) > MAX_DEPTH:
            self._fail("is nested too deeply")
        if schema is True or schema == {}:
            body = "value"
        elif isinstance(schema, Mapping):
            body = self._object(schema) if schema else "value"
        else:
            self._fail("is not a schema that anything fits")
        del self._path[len(self._path) - len(path) :]
        return body

    def _object(self, schema: Mapping[str, object]) -> str:
        unknown = next((name for name in schema if name not in KNOWN), None)
        if unknown is not None:
            self._fail(f"{unknown[:40]} is not supported")
        keyword = next((name for name in WHOLE if name in schema), None)
        if keyword is None:
            return self._typed(schema)
        beside = schema.keys() - NOTES - {keyword} - ({"type"} if keyword in ("const", "enum") else set())
        if beside:
            self._fail(f"{min(beside)} beside {keyword} is not supported")
        if keyword == "$ref":
            return self._reference(schema["$ref"])
        if keyword == "const":
            return self._literal(schema["const"])
        options = self._list(schema, keyword, MAX_VALUES)
        if keyword == "enum":
            return _either([self._literal(value) for value in options])
        return _either([self._visit(it, keyword, str(index)) for index, it in enumerate(options)])

    def _literal(self, value: object) -> str:
        """What matches this value as JSON, in one spelling."""
        try:
            text = json.dumps(value, ensure_ascii=False)
        except RecursionError:
            self._fail("holds a value that is nested too deeply")
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    def _typed(self, schema: Mapping[str, object]) -> str:
        given = schema.get("type", self._implied(schema))
        types = given if isinstance(given, list) else [given]
        if not types or not all(it in TYPES for it in types):
            self._fail(f"type is not one of {', '.join(TYPES)}")
        return _either([self._of_type(str(it), schema) for it in types])

    def _implied(self, schema: Mapping[str, object]) -> list[str]:
        """Without a type, the one that the other keywords are for."""
        return [name for name, keywords in BY_TYPE.items() if keywords & schema.keys()] or list(TYPES)

    def _of_type(self, kind: str, schema: Mapping[str, object]) -> str:
        if not BY_TYPE.get(kind, set()) & schema.keys():
            return kind
        if kind == "object":
            return self._rule(f'"{{" space {self._properties(schema)} space "}}"')
        return self._string(schema) if kind == "string" else self._array(schema)

    def _reference(self, reference: object) -> str:
        if not isinstance(reference, str) or not reference.startswith("#"):
            self._fail("$ref must point into the schema, like #/$defs/name")
        if reference not in self._by_reference:
            name = self._by_reference[reference] = self._rule("")
            target: object = self._schema
            for part in reference.split("/")[1:]:
                part = part.replace("~1", "/").replace("~0", "~")
                if not isinstance(target, Mapping) or part not in target:
                    self._fail(f"$ref {reference[:60]} points at nothing")
                target = target[part]
            self._rules[name] = self._visit(target, "$ref")
        return self._by_reference[reference]

    def _properties(self, schema: Mapping[str, object]) -> str:
        """Built from the end: what may come after the first property, and what may come as the first."""
        properties = schema.get("properties", {})
        if not isinstance(properties, Mapping):
            self._fail("properties is not an object")
        required = self._list(schema, "required", None) if "required" in schema else []
        if not all(isinstance(name, str) and name in properties for name in required):
            self._fail("required names what is not among the properties")
        later, first = self._additional(schema)
        needed = set(required)
        for name, inner in reversed(list(properties.items())):
            value = self._visit(inner, "properties", name)
            key = self._literal(name)
            pair = self._rule(f'{key} ":" " "? {value}')
            optional = name not in needed
            first = self._rule(f"{pair} {later}" + (f" | {first}" if optional else ""))
            later = self._rule(f'("," space {pair}){"?" if optional else ""} {later}')
        return first

    def _additional(self, schema: Mapping[str, object]) -> tuple[str, str]:
        more = schema.get("additionalProperties", not schema.get("properties"))
        if more is False:
            return '""', '""'
        pair = self._rule(f'string ":" " "? {self._visit(more, "additionalProperties")}')
        later = self._rule(f'("," space {pair})*')
        return later, self._rule(f"({pair} {later})?")

    def _array(self, schema: Mapping[str, object]) -> str:
        fixed = self._list(schema, "prefixItems", MAX_COUNT) if "prefixItems" in schema else []
        least, most = self._counts(schema, "minItems", "maxItems")
        items = [self._visit(it, "prefixItems", str(index)) for index, it in enumerate(fixed)]
        if most is not None and most < len(items):
            self._fail(f"maxItems {most} is less than {len(items)} prefixItems")
        more = schema.get("items", not fixed)
        if more is False:
            body = ' "," space '.join(items)
            if least > len(items):
                self._fail(f"minItems {least} is more than {len(items)} prefixItems")
            return self._rule(f'"[" space {body} space "]"')
        item = self._visit(more, "items")
        items += [item] * (least - len(items))
        body = ' "," space '.join(items)
        up_to = "" if most is None else most - len(items)
        if items:
            return self._rule(f'"[" space {body} ("," space {item}){{0,{up_to}}} space "]"')
        after_first = "" if most is None else max(most - 1, 0)
        optional = "{0}" if most == 0 else "?"
        return self._rule(f'"[" space ({item} ("," space {item}){{0,{after_first}}} space){optional} "]"')

    def _string(self, schema: Mapping[str, object]) -> str:
        if "format" in schema:
            if schema["format"] not in FORMATS or {"minLength", "maxLength"} & schema.keys():
                self._fail(f"format must be one of {', '.join(FORMATS)}, without a length")
            return self._rule(rf'"\"" {schema["format"]} "\""')
        least, most = self._counts(schema, "minLength", "maxLength")
        return self._rule(rf'"\"" char{{{least},{"" if most is None else most}}} "\""')

    def _counts(self, schema: Mapping[str, object], least: str, most: str) -> tuple[int, int | None]:
        for name in (least, most):
            value = schema.get(name, 0)
            if type(value) is not int or not 0 <= value <= MAX_COUNT:
                self._fail(f"{name} is not a whole number between 0 and {MAX_COUNT}")
        low, high = schema.get(least, 0), schema.get(most)
        assert isinstance(low, int)
        if isinstance(high, int) and high < low:
            self._fail(f"{most} {high} is less than {least} {low}")
        return low, high if isinstance(high, int) else None

    def _list(self, schema: Mapping[str, object], name: str, most: int | None) -> Sequence[object]:
        value = schema[name]
        if not isinstance(value, list) or (most and not 0 < len(value) <= most):
            self._fail(f"{name} is not a list" + (f" of 1 to {most} items" if most else ""))
        return value


def _either(options: Sequence[str]) -> str:
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"
