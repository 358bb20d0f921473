"""What a viewer asks of the store's runs: a page of them, or one, without the plans of all.

Invariant: a plan, which names each unit of a run, comes into Python only where it is asked for.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bundles.errors import UnknownRef
from bundles.records import Run, Scalar
from bundles.run_codec import runs_of_table
from bundles.sql import Part, require_run, select


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run without its plan; `bundle` is the bundle's name, `units` how many are planned."""

    run_id: str
    bundle_id: str
    bundle: str
    units: int
    arms: tuple[str, ...]
    repeats: int
    seed: int
    max_tokens: int
    started: str
    finished: str | None
    provenance: Mapping[str, Scalar]

    @property
    def attempts(self) -> int:
        """How many attempts are planned."""
        return self.units * len(self.arms) * self.repeats


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first, and how many there are."""

    total: int
    runs: tuple[RunInfo, ...]


class StoredRunPages(Part):
    """The part of the store that lists runs."""

    def runs_page(self, *, limit: int = 20, offset: int = 0) -> RunPage:
        """Runs, the one stored last first."""
        with self._cursor() as cursor:
            ((total,),) = cursor.execute("SELECT count(*) FROM runs").fetchall()
            rows = cursor.execute(_RUNS, [limit, offset]).fetchall()
        return RunPage(total, tuple(map(_run_info, rows)))

    def run_info(self, run_id: str) -> RunInfo:
        """The run of this id; raises `UnknownRef`."""
        with self._cursor() as cursor:
            rows = cursor.execute(_RUN, [run_id]).fetchall()
        if not rows:
            raise UnknownRef(f"run {run_id} is not in the store")
        return _run_info(rows[0])

    def planned_run(self, run_id: str) -> Run:
        """The run of this id with its plan, without reading the others'; raises `UnknownRef`."""
        with self._cursor() as cursor:
            require_run(cursor, run_id)
            (run,) = runs_of_table(select(cursor, "runs", _PLANNED_RUN, run_id=run_id))
        return run


def _run_info(row: Sequence[Any]) -> RunInfo:
    values: list[Any] = [*row[:4], tuple(row[4]), *row[5:-1], json.loads(row[-1])]
    return RunInfo(*values)


_RUN_COLUMNS = """
    SELECT
        run_id, runs.bundle_id, coalesce(name, ''), len(unit_ids), arms, repeats, seed, max_tokens, started,
        finished, provenance
    FROM runs LEFT JOIN bundles USING (bundle_id)"""
_RUNS = f"{_RUN_COLUMNS} ORDER BY runs.rowid DESC LIMIT ? OFFSET ?"
_RUN = f"{_RUN_COLUMNS} WHERE run_id = ?"
_PLANNED_RUN = "SELECT * FROM runs WHERE run_id = $run_id"
