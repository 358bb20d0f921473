"""One entry of a suite, flat or rich, to the units it stands for.

Invariant: every key is known and of its type, or the entry is refused with a reason. An edit's
before-state is always the after-state of the edit before it; instruction, category, pinned lines,
tags, limit and attribution carry over where an edit does not give its own.
"""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import NoReturn, TypeVar, cast

from bundles.assembly import check_unique
from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.records import Fact, Polarity, Severity, Source, Unit, UnitKind

# fmt: off
_EDIT_KEYS = frozenset({
    "id", "category", "kind", "instruction", "question", "after", "context_new", "stale", "edited", "pinned",
    "expect_new", "forbid_new", "facts", "canary", "max_tokens", "tags", "source",
})
_FACT_KEYS = frozenset({"fact_id", "polarity", "matcher", "value", "values", "severity", "as"})
# fmt: on
_ENTRY_KEYS = _EDIT_KEYS | {"before", "context_old", "edits"}
_SOURCE_KEYS = frozenset({"name", "text"})
_TYPES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "an object",
}
_T = TypeVar("_T")
_D = TypeVar("_D")


def units_of(entry: object) -> list[Unit]:
    """The unit of an entry and those of its `edits`; raises `SuiteError` that says what is wrong."""
    unit_id = _Fields("unit", entry).need(str, "id")
    first = _Fields(f"unit {brief(unit_id)}", entry, _ENTRY_KEYS)
    opened = Unit(
        unit_id=unit_id,
        session_id=unit_id,
        instruction=first.need(str, "instruction", "question"),
        sources_before=(),
        sources_after=first.sources("before", "context_old"),
    )
    units = [_unit(first, unit_id, opened)]
    for number, edit in enumerate(first.get(list, [], "edits"), 2):
        fields = _Fields(f"unit {brief(unit_id)}, edit {number}", edit, _EDIT_KEYS)
        units.append(_unit(fields, fields.get(str, f"{unit_id}/{number}", "id"), units[-1]))
    check_unique("unit", (unit.unit_id for unit in units))
    return units


def _unit(fields: "_Fields", unit_id: str, previous: Unit) -> Unit:
    """The unit of an edit to the state that `previous` left."""
    kind = fields.get(str, "rederive", "kind")
    # A revision is a change of the derived text: it may leave the sources as they are.
    same_sources = kind == "revise" and fields.given("after", "context_new") is None
    return replace(
        previous,
        unit_id=unit_id,
        kind=cast(UnitKind, kind),
        instruction=fields.get(str, previous.instruction, "instruction", "question"),
        sources_before=previous.sources_after,
        sources_after=previous.sources_after if same_sources else fields.sources("after", "context_new"),
        category=fields.get(str, previous.category, "category"),
        stale=fields.get(str, None, "stale"),
        edited=fields.get(str, None, "edited"),
        pinned=fields.texts("pinned", previous.pinned),
        canary=fields.get(bool, False, "canary"),
        tags=fields.texts("tags", previous.tags),
        max_tokens=fields.get(int, previous.max_tokens, "max_tokens"),
        facts=_facts(fields),
        attribution=fields.mapping("source", previous.attribution),
    )


def _facts(fields: "_Fields") -> tuple[Fact, ...]:
    """Facts in the order given; those without an id are numbered by polarity."""
    facts = [
        Fact(f"expect-{n}", "expect", (text,)) for n, text in enumerate(fields.texts("expect_new", ()), 1)
    ]
    facts += [
        Fact(f"forbid-{n}", "forbid", (text,)) for n, text in enumerate(fields.texts("forbid_new", ()), 1)
    ]
    for number, item in enumerate(fields.get(list, [], "facts"), 1):
        fact = _Fields(f"{fields.label}, entry {number} of `facts`", item, _FACT_KEYS)
        polarity = fact.need(str, "polarity")
        earlier = sum(other.polarity == polarity for other in facts)
        facts.append(_fact(fact, polarity, f"{polarity}-{earlier + 1}"))
    return tuple(facts)


def _fact(fields: "_Fields", polarity: str, default_id: str) -> Fact:
    if fields.given("value", "values") == "values":
        values = fields.texts("values", ())
    else:
        values = (fields.need(str, "value"),)
    return Fact(
        fact_id=fields.get(str, default_id, "fact_id"),
        polarity=cast(Polarity, polarity),
        values=values,
        matcher=fields.get(str, "text", "matcher"),
        severity=cast(Severity, fields.get(str, "critical", "severity")),
        as_current=fields.given("as") is not None,
    )


class _Fields:
    """An object read key by key; every complaint says what it is about. Null counts as absent."""

    def __init__(self, label: str, value: object, known: Set[str] | None = None) -> None:
        self.label = label
        if not isinstance(value, dict):
            self.fail(f"must be an object, not {brief(value)}")
        self._items = {key: item for key, item in value.items() if item is not None}
        if known is not None and (unknown := value.keys() - known):
            self.fail(f"unknown key {brief(min(unknown))}, known are: {', '.join(sorted(known))}")

    def fail(self, what: str) -> NoReturn:
        raise SuiteError(f"{self.label}: {what}")

    def given(self, *keys: str) -> str | None:
        """Which of these keys, names of the same thing, is there."""
        found = [key for key in keys if key in self._items]
        if len(found) > 1:
            self.fail(f"give `{found[0]}` or `{found[1]}`, not both")
        return found[0] if found else None

    def need(self, kind: type[_T], *keys: str) -> _T:
        key = self.given(*keys)
        if key is None:
            self.fail(f"{' or '.join(f'`{key}`' for key in keys)} is missing")
        value = self._items[key]
        if type(value) is not kind and kind is not object:
            self.fail(f"`{key}` must be {_TYPES[kind]}, not {brief(value)}")
        return cast(_T, value)

    def get(self, kind: type[_T], default: _D, *keys: str) -> _T | _D:
        return default if self.given(*keys) is None else self.need(kind, *keys)

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        values = self.get(list, default, key)
        for value in values:
            if not isinstance(value, str):
                self.fail(f"`{key}` must hold texts, not {brief(value)}")
        return tuple(values)

    def mapping(self, key: str, default: Mapping[str, str]) -> Mapping[str, str]:
        items = self.get(dict, default, key)
        for name, value in items.items():
            if not isinstance(value, str):
                self.fail(f"`{key}` must hold texts, not {brief(value)} as {brief(name)}")
        return items

    def sources(self, *keys: str) -> tuple[Source, ...]:
        """Named sources: one text, a mapping of names to texts, or a list of `{name, text}`."""
        value = self.need(object, *keys)
        if isinstance(value, str):
            return (Source("document", value),)
        if isinstance(value, dict):
            value = [{"name": name, "text": text} for name, text in value.items()]
        if not isinstance(value, list):
            self.fail(f"`{self.given(*keys)}` must be a list of sources, not {brief(value)}")
        sources = []
        for number, item in enumerate(value, 1):
            source = _Fields(f"{self.label}, source {number} of `{self.given(*keys)}`", item, _SOURCE_KEYS)
            sources.append(Source(source.need(str, "name"), source.need(str, "text")))
        return tuple(sources)
