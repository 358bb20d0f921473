"""From tables of earlier format versions to those of today.

Invariant: one pure function per version step, from a table as that version wrote it (whole or in pieces)
to the same rows as the next version has them. A step never looks at another table, and knows nothing of
later steps.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from bundles.schema import TABLES

OLDEST_VERSION = 1


def migrated(name: str, table: pa.Table, version: int) -> pa.Table:
    """The rows of a table of this version, with the columns and types of today's."""
    for step in STEPS[version - OLDEST_VERSION :]:
        table = step(name, table)
    return table.select(TABLES[name].names).cast(TABLES[name])


def _to_version_2(name: str, table: pa.Table) -> pa.Table:
    """Conditions, references, kinds of documents, costs of attempts; `events` is new."""
    match name:
        case "sessions":
            return _with(table, {"document_kind": "", "opened_at": ""})
        case "units":
            return _with(table, {"reference": None})
        case "facts":
            return _with(table, {"of": None, "at_least": None, "at_most": None, "fraction": False})
        case "attempts":
            table = _with(table, {"wasted_rows": 0, "host_ms": 0.0, "patched_tokens": 0, "strict_tokens": 0})
            sources: list[Any] = table["token_src"].to_pylist()
            held = pa.array([sum(src >= 0 for src in of_attempt) for of_attempt in sources], pa.int32())
            tokens = pa.array(map(len, sources), pa.int32())
            return table.append_column("tokens", tokens).append_column("held", held)
        case _:
            return table


def _with(table: pa.Table, values: dict[str, object]) -> pa.Table:
    """The table with more columns, each of one value."""
    for column, value in values.items():
        table = table.append_column(column, pa.array([value] * len(table)))
    return table


STEPS: tuple[Callable[[str, pa.Table], pa.Table], ...] = (_to_version_2,)
