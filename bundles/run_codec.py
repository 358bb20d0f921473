"""Runs, attempts and verdicts to Arrow tables and back. Invariant: lossless both ways."""

import json
from collections.abc import Iterable

import pyarrow as pa

from bundles.codec import Row, columns, rows_of
from bundles.records import Attempt, HeldSpan, Run, Verdict
from bundles.schema import RUNS, VERDICTS


def run_table(run: Run) -> pa.Table:
    """One row."""
    return _table_of([columns(run) | {"provenance": json.dumps(dict(run.provenance))}], RUNS)


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
        for row in rows_of(table)
    ]


def attempt_row(attempt: Attempt) -> Row:
    """One row of the attempts table: attempts are stored one by one, each as it ends."""
    return columns(attempt) | {
        "spans": [columns(span) for span in attempt.spans],
        "tokens": len(attempt.token_src),
        "held": attempt.held,
    }


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
        for row in rows_of(table.drop_columns(["tokens", "held"]))
    ]


def verdicts_table(verdicts: Iterable[Verdict]) -> pa.Table:
    """One row a verdict."""
    rows = []
    for verdict in verdicts:
        row = columns(verdict)
        row["evidence_start"], row["evidence_end"] = row.pop("evidence") or (None, None)
        rows.append(row)
    return _table_of(rows, VERDICTS)


def verdicts_of_table(table: pa.Table) -> list[Verdict]:
    """The verdicts of a table, in its order."""
    verdicts = []
    for row in rows_of(table):
        start, end = row.pop("evidence_start"), row.pop("evidence_end")
        verdicts.append(Verdict(**row, evidence=None if start is None else (start, end)))
    return verdicts


def _table_of(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)
