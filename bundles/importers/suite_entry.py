"""One entry of a suite, flat or rich, to the units it stands for.

Invariant: every key is known and of its type, or the entry is refused with a reason. An edit's
before-state is always the after-state of the edit before it; instruction, category, pinned lines,
tags, limit and attribution carry over where an edit does not give its own.
"""

from dataclasses import replace
from typing import cast

from bundles.brief import brief
from bundles.importers.fields import Fields
from bundles.importers.suite_facts import facts_of
from bundles.importers.suite_keys import EDIT_KEYS, REFERENCE_KEYS, SESSION_KEYS, SOURCE_KEYS, UNIT_KEYS
from bundles.records import Reference, Session, SessionOrigin, Source, Unit, UnitKind
from bundles.text import check_unique


def units_of(entry: object) -> list[Unit]:
    """The unit of an entry and those of its `edits`; raises `SuiteError` that says what is wrong."""
    unit_id = Fields("unit", entry).need(str, "id")
    first = Fields(f"unit {brief(unit_id)}", entry, UNIT_KEYS)
    opened = Unit(
        unit_id=unit_id,
        session_id=first.get(str, unit_id, "session"),
        instruction=first.need(str, "instruction", "question"),
        sources_before=(),
        sources_after=_sources(first, "before", "context_old"),
    )
    units = [_unit(first, unit_id, opened)]
    for number, edit in enumerate(first.get(list, [], "edits"), 2):
        fields = Fields(f"unit {brief(unit_id)}, edit {number}", edit, EDIT_KEYS)
        units.append(_unit(fields, fields.get(str, f"{unit_id}/{number}", "id"), units[-1]))
    check_unique("unit", (unit.unit_id for unit in units))
    return units


def session_of(number: int, item: object) -> Session:
    """The session of an entry of `sessions`; raises `SuiteError` that says what is wrong."""
    fields = Fields(f"entry {number} of `sessions`", item, SESSION_KEYS)
    texts = {key: fields.get(str, "", key) for key in SESSION_KEYS if key not in ("session_id", "origin")}
    origin = fields.get(str, "suite", "origin")
    return Session(fields.need(str, "session_id"), cast(SessionOrigin, origin), **texts)


def _unit(fields: Fields, unit_id: str, previous: Unit) -> Unit:
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
        sources_after=previous.sources_after if same_sources else _sources(fields, "after", "context_new"),
        category=fields.get(str, previous.category, "category"),
        stale=fields.get(str, None, "stale"),
        edited=fields.get(str, None, "edited"),
        pinned=fields.texts("pinned", previous.pinned),
        canary=fields.get(bool, False, "canary"),
        tags=fields.texts("tags", previous.tags),
        max_tokens=fields.get(int, previous.max_tokens, "max_tokens"),
        facts=facts_of(fields),
        attribution=fields.mapping("source", previous.attribution),
        reference=_reference(fields),
    )


def _reference(entry: Fields) -> Reference | None:
    if entry.given("reference") is None:
        return None
    fields = Fields(f"{entry.label}, `reference`", entry.need(object, "reference"), REFERENCE_KEYS)
    return Reference(
        text=fields.need(str, "text"),
        mode=fields.get(str, "", "mode"),
        wall_ms=fields.get(float, 0.0, "wall_ms"),
        prompt_ms=fields.get(float, 0.0, "prompt_ms"),
    )


def _sources(entry: Fields, *keys: str) -> tuple[Source, ...]:
    """Named sources: one text, a mapping of names to texts, or a list of `{name, text}`."""
    value = entry.need(object, *keys)
    if isinstance(value, str):
        return (Source("document", value),)
    if isinstance(value, dict):
        value = [{"name": name, "text": text} for name, text in value.items()]
    if not isinstance(value, list):
        entry.fail(f"`{entry.given(*keys)}` must be a list of sources, not {brief(value)}")
    sources = []
    for number, item in enumerate(value, 1):
        source = Fields(f"{entry.label}, source {number} of `{entry.given(*keys)}`", item, SOURCE_KEYS)
        sources.append(Source(source.need(str, "name"), source.need(str, "text")))
    return tuple(sources)
