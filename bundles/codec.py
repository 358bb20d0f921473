"""Bundles to Arrow tables and back.

Invariant: lossless both ways, and every distinct text of a bundle becomes one revision, however many
units and events hold it. Bundles are taken apart in pieces of a few thousand rows, so that a large one is
never in memory a second time.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa

from bundles.identity import RevisionKind, content, revision_id
from bundles.records import (
    Bundle,
    Condition,
    Event,
    Fact,
    LineEdit,
    Reference,
    SectionState,
    Session,
    Source,
    Unit,
)
from bundles.schema import BUNDLES, EVENTS, FACTS, REVISIONS, SESSIONS, TABLES, UNITS

Row = dict[str, Any]
Item = TypeVar("Item")
_PIECE_ROWS = 4096
OF_BUNDLE = ("bundles", "revisions", "sessions", "units", "facts", "events")


def bundle_tables(bundle: Bundle) -> dict[str, pa.Table]:
    """The tables of one bundle, by name."""
    pieces: dict[str, list[pa.Table]] = {name: [TABLES[name].empty_table()] for name in OF_BUNDLE}
    for tables in bundle_pieces(bundle):
        for name, table in tables.items():
            pieces[name].append(table)
    return {name: pa.concat_tables(parts) for name, parts in pieces.items()}


def bundle_pieces(bundle: Bundle) -> Iterator[dict[str, pa.Table]]:
    """The same in pieces of a few thousand rows a table."""
    texts = _Revisions()
    yield {"bundles": _table(BUNDLES, bundle_id=[bundle.bundle_id], name=[bundle.name])}
    for start, sessions in _pieces(bundle.sessions):
        yield {"sessions": _of_records(sessions, SESSIONS, start, bundle)}
    for start, units in _pieces(bundle.units):
        yield {
            "units": _units_table(units, start, bundle, texts),
            "facts": _facts_table(units, bundle),
            "revisions": texts.take(),
        }
    for start, events in _pieces(bundle.events):
        yield {"events": _events_table(events, start, bundle, texts), "revisions": texts.take()}


def bundle_of_tables(tables: Mapping[str, pa.Table]) -> Bundle:
    """The bundle whose tables these are; rows in any order."""
    (bundle,) = rows_of(tables["bundles"])
    texts = {row["revision_id"]: row["text"] for row in rows_of(tables["revisions"])}
    facts: dict[str, list[Fact]] = {}
    for row in _in_place(tables["facts"]):
        facts.setdefault(row.pop("unit_id"), []).append(_fact(row))
    return Bundle(
        bundle_id=bundle["bundle_id"],
        name=bundle["name"],
        sessions=tuple(Session(**row) for row in _in_place(tables["sessions"])),
        units=tuple(
            _unit(row, texts, tuple(facts.get(row["unit_id"], ()))) for row in _in_place(tables["units"])
        ),
        events=tuple(_event(row, texts) for row in _in_place(tables["events"])),
    )


class _Revisions:
    """The texts of a bundle: the ids of those in the piece at hand, and which were given out before."""

    def __init__(self) -> None:
        self._given: set[bytes] = set()
        self._ids: defaultdict[tuple[RevisionKind, str], dict[str, str]] = defaultdict(dict)
        self._fresh: list[list[str]] = [[], [], [], []]

    def add(self, kind: RevisionKind, name: str, text: str) -> str:
        """The text's id, for a table to hold in its place."""
        ids = self._ids[kind, name]
        found = ids.get(text)
        if found is None:
            found = ids[text] = revision_id(kind, name, text)
            digest = bytes.fromhex(found)
            if digest not in self._given:
                self._given.add(digest)
                fresh_ids, kinds, names, texts = self._fresh
                fresh_ids.append(found)
                kinds.append(kind)
                names.append(name)
                texts.append(text)
        return found

    def optional(self, kind: RevisionKind, text: str | None) -> str | None:
        return None if text is None else self.add(kind, "", text)

    def take(self) -> pa.Table:
        """The piece's texts that were in none before; the next piece begins."""
        ids, kinds, names, texts = self._fresh
        self._ids.clear()
        self._fresh = [[], [], [], []]
        return _table(REVISIONS, revision_id=ids, kind=kinds, name=names, text=texts)


def _units_table(units: Sequence[Unit], start: int, bundle: Bundle, texts: _Revisions) -> pa.Table:
    return _of_records(
        units,
        UNITS,
        start,
        bundle,
        instruction=[texts.add("instruction", "", unit.instruction) for unit in units],
        sources_before=_sources_column([unit.sources_before for unit in units], texts),
        sources_after=_sources_column([unit.sources_after for unit in units], texts),
        stale=[texts.optional("derived", unit.stale) for unit in units],
        edited=[texts.optional("derived", unit.edited) for unit in units],
        attribution=[dict(unit.attribution) for unit in units],
        reference=[_reference_row(unit.reference, texts) for unit in units],
    )


def _reference_row(reference: Reference | None, texts: _Revisions) -> Row | None:
    if reference is None:
        return None
    row = columns(reference)
    return row | {"revision_id": texts.add("derived", "", row.pop("text"))}


def _sources_column(states: Sequence[Sequence[Source]], texts: _Revisions) -> "pa.Array[Any]":
    """Lists of named ids; put together from flat columns, which is many times faster than from rows."""
    sources = [source for state in states for source in state]
    ids = [texts.add("source", source.name, source.text) for source in sources]
    names = [source.name for source in sources]
    rows = pa.StructArray.from_arrays(
        [pa.array(names, pa.string()), pa.array(ids, pa.string())], ["name", "revision_id"]
    )
    ends = accumulate(map(len, states), initial=0)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows)


def _unit(row: Row, texts: Mapping[str, str], facts: tuple[Fact, ...]) -> Unit:
    reference = row["reference"]
    return Unit(
        **row
        | {
            "instruction": texts[row["instruction"]],
            "sources_before": _sources(row["sources_before"], texts),
            "sources_after": _sources(row["sources_after"], texts),
            "stale": None if row["stale"] is None else texts[row["stale"]],
            "edited": None if row["edited"] is None else texts[row["edited"]],
            "pinned": tuple(row["pinned"]),
            "tags": tuple(row["tags"]),
            "attribution": dict(row["attribution"]),
            "reference": reference and Reference(texts[reference.pop("revision_id")], **reference),
            "facts": facts,
        }
    )


def _sources(state: list[Row], texts: Mapping[str, str]) -> tuple[Source, ...]:
    return tuple(Source(source["name"], texts[source["revision_id"]]) for source in state)


def _facts_table(units: Sequence[Unit], bundle: Bundle) -> pa.Table:
    facts = [fact for unit in units for fact in unit.facts]
    return _of_records(
        facts,
        FACTS,
        0,
        bundle,
        unit_id=[unit.unit_id for unit in units for _ in unit.facts],
        position=[place for unit in units for place in range(len(unit.facts))],
        of=[json.dumps(content(fact.of), ensure_ascii=False) if fact.of else None for fact in facts],
    )


def _fact(row: Row) -> Fact:
    of = tuple(map(_condition, json.loads(row["of"] or "[]")))
    return Fact(**row | {"values": tuple(row["values"]), "of": of})


def _condition(row: Row) -> Condition:
    nested = {"values": tuple(row.get("values", ())), "of": tuple(map(_condition, row.get("of", ())))}
    return Condition(**row | nested)


def _events_table(events: Sequence[Event], start: int, bundle: Bundle, texts: _Revisions) -> pa.Table:
    return _of_records(
        events,
        EVENTS,
        start,
        bundle,
        before=[_state_row(event.before, texts) for event in events],
        after=[_state_row(event.after, texts) for event in events],
        edits=[[columns(edit) for edit in event.edits] for event in events],
        numbers=[json.dumps(dict(event.numbers)) for event in events],
    )


def _event(row: Row, texts: Mapping[str, str]) -> Event:
    return Event(
        **row
        | {
            "before": _state(row["before"], texts),
            "after": _state(row["after"], texts),
            "edits": tuple(LineEdit(**edit | {"lines": tuple(edit["lines"])}) for edit in row["edits"]),
            "numbers": json.loads(row["numbers"]),
        }
    )


def _state_row(state: SectionState | None, texts: _Revisions) -> Row | None:
    if state is None:
        return None
    return columns(state) | {
        "instruction": texts.add("instruction", "", state.instruction),
        "sources": [
            {"name": source.name, "revision_id": texts.add("source", source.name, source.text)}
            for source in state.sources
        ],
        "derived": texts.optional("derived", state.derived),
    }


def _state(row: Row | None, texts: Mapping[str, str]) -> SectionState | None:
    if row is None:
        return None
    return SectionState(
        instruction=texts[row["instruction"]],
        sources=_sources(row["sources"], texts),
        derived=None if row["derived"] is None else texts[row["derived"]],
        pinned=tuple(row["pinned"]),
        max_tokens=row["max_tokens"],
    )


def columns(record: Any) -> Row:
    """A record's fields by name, as they are."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _pieces(items: Sequence[Item]) -> Iterator[tuple[int, Sequence[Item]]]:
    for start in range(0, len(items), _PIECE_ROWS):
        yield start, items[start : start + _PIECE_ROWS]


def _of_records(
    records: Sequence[Any], schema: pa.Schema, start: int, bundle: Bundle, **given: Any
) -> pa.Table:
    """A table of a bundle, from records' fields but for the columns that are given."""
    count = len(records)
    known = {"bundle_id": [bundle.bundle_id] * count, "position": range(start, start + count)} | given
    taken = {name: map(attrgetter(name), records) for name in schema.names if name not in known}
    return _table(schema, **known, **taken)


def _table(schema: pa.Schema, **values: Any) -> pa.Table:
    """A table from its columns: arrays, or Python values to make them of."""
    arrays = [
        given if isinstance(given := values[field.name], pa.Array) else pa.array(given, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _in_place(table: pa.Table) -> Iterator[Row]:
    """Rows by position, without the columns that only the table has."""
    return rows_of(table.sort_by("position").drop_columns(["bundle_id", "position"]))


def rows_of(table: pa.Table) -> Iterator[Row]:
    """The table's rows, never many of them in memory."""
    for batch in table.to_batches(max_chunksize=_PIECE_ROWS):
        yield from batch.to_pylist()
