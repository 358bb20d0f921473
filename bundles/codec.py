"""Records to Arrow tables and back.

Invariant: lossless both ways, and every distinct text of a bundle becomes one revision, however many
units hold it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa

from bundles.identity import RevisionKind, revision_id
from bundles.records import Attempt, Bundle, Fact, HeldSpan, Run, Session, Source, Unit, Verdict
from bundles.schema import BUNDLES, FACTS, REVISIONS, RUNS, SESSIONS, UNITS, VERDICTS

Row = dict[str, Any]


def bundle_tables(bundle: Bundle) -> dict[str, pa.Table]:
    """The tables of one bundle, by name."""
    revisions: dict[str, Row] = {}
    units = [_unit_row(unit, revisions) for unit in bundle.units]
    facts = [
        {"unit_id": unit.unit_id, "position": position} | _columns(fact)
        for unit in bundle.units
        for position, fact in enumerate(unit.facts)
    ]
    mark = {"bundle_id": bundle.bundle_id}
    return {
        "bundles": _table([mark | {"name": bundle.name}], BUNDLES),
        "revisions": _table(revisions.values(), REVISIONS),
        "sessions": _table(_placed(map(_columns, bundle.sessions), mark), SESSIONS),
        "units": _table(_placed(units, mark), UNITS),
        "facts": _table((mark | fact for fact in facts), FACTS),
    }


def bundle_of_tables(tables: Mapping[str, pa.Table]) -> Bundle:
    """The bundle whose tables these are; rows in any order."""
    (bundle,) = _rows(tables["bundles"])
    texts = {row["revision_id"]: row["text"] for row in _rows(tables["revisions"])}
    facts: dict[str, list[Fact]] = {}
    for row in _in_place(tables["facts"]):
        facts.setdefault(row.pop("unit_id"), []).append(Fact(**row | {"values": tuple(row["values"])}))
    return Bundle(
        bundle_id=bundle["bundle_id"],
        name=bundle["name"],
        sessions=tuple(Session(**row) for row in _in_place(tables["sessions"])),
        units=tuple(
            _unit(row, texts, tuple(facts.get(row["unit_id"], ()))) for row in _in_place(tables["units"])
        ),
    )


def run_table(run: Run) -> pa.Table:
    """One row."""
    return _table([_columns(run) | {"provenance": json.dumps(dict(run.provenance))}], RUNS)


def runs_of_table(table: pa.Table) -> list[Run]:
    """The runs of a table, in its order."""
    return [
        Run(
            **row
            | {
                "unit_ids": tuple(row["unit_ids"]),
                "arms": tuple(row["arms"]),
                "provenance": json.loads(row["provenance"]),
            }
        )
        for row in _rows(table)
    ]


def attempt_row(attempt: Attempt) -> Row:
    """One row of the attempts table: attempts are stored one by one, each as it ends."""
    return _columns(attempt) | {"spans": [_columns(span) for span in attempt.spans]}


def attempts_of_table(table: pa.Table) -> list[Attempt]:
    """The attempts of a table, in its order."""
    return [
        Attempt(
            **row
            | {
                "token_ids": tuple(row["token_ids"]),
                "token_src": tuple(row["token_src"]),
                "spans": tuple(HeldSpan(**span) for span in row["spans"]),
            }
        )
        for row in _rows(table)
    ]


def verdicts_table(verdicts: Iterable[Verdict]) -> pa.Table:
    """One row a verdict."""
    rows = []
    for verdict in verdicts:
        row = _columns(verdict)
        row["evidence_start"], row["evidence_end"] = row.pop("evidence") or (None, None)
        rows.append(row)
    return _table(rows, VERDICTS)


def verdicts_of_table(table: pa.Table) -> list[Verdict]:
    """The verdicts of a table, in its order."""
    verdicts = []
    for row in _rows(table):
        start, end = row.pop("evidence_start"), row.pop("evidence_end")
        verdicts.append(Verdict(**row, evidence=None if start is None else (start, end)))
    return verdicts


def _unit_row(unit: Unit, revisions: dict[str, Row]) -> Row:
    def revise(kind: RevisionKind, name: str, text: str | None) -> str | None:
        if text is None:
            return None
        key = revision_id(kind, name, text)
        revisions[key] = {"revision_id": key, "kind": kind, "name": name, "text": text}
        return key

    def sources(state: Sequence[Source]) -> list[Row]:
        return [
            {"name": source.name, "revision_id": revise("source", source.name, source.text)}
            for source in state
        ]

    return {
        "unit_id": unit.unit_id,
        "session_id": unit.session_id,
        "instruction": revise("instruction", "", unit.instruction),
        "sources_before": sources(unit.sources_before),
        "sources_after": sources(unit.sources_after),
        "kind": unit.kind,
        "category": unit.category,
        "stale": revise("derived", "", unit.stale),
        "edited": revise("derived", "", unit.edited),
        "pinned": unit.pinned,
        "canary": unit.canary,
        "tags": unit.tags,
        "max_tokens": unit.max_tokens,
        "attribution": dict(unit.attribution),
    }


def _unit(row: Row, texts: Mapping[str, str], facts: tuple[Fact, ...]) -> Unit:
    def sources(state: list[Row]) -> tuple[Source, ...]:
        return tuple(Source(source["name"], texts[source["revision_id"]]) for source in state)

    return Unit(
        **row
        | {
            "instruction": texts[row["instruction"]],
            "sources_before": sources(row["sources_before"]),
            "sources_after": sources(row["sources_after"]),
            "stale": None if row["stale"] is None else texts[row["stale"]],
            "edited": None if row["edited"] is None else texts[row["edited"]],
            "pinned": tuple(row["pinned"]),
            "tags": tuple(row["tags"]),
            "attribution": dict(row["attribution"]),
            "facts": facts,
        }
    )


def _columns(record: Any) -> Row:
    """A record's fields by name, as they are."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _placed(rows: Iterable[Row], mark: Row) -> list[Row]:
    return [mark | {"position": position} | row for position, row in enumerate(rows)]


def _in_place(table: pa.Table) -> list[Row]:
    """Rows by position, without the columns that only the table has."""
    rows = sorted(_rows(table), key=lambda row: row["position"])
    return [{key: row[key] for key in row if key not in ("bundle_id", "position")} for row in rows]


def _table(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def _rows(table: pa.Table) -> list[Row]:
    return table.to_pylist()
