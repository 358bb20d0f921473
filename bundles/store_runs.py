"""The store's runs, with their attempts and verdicts.

Invariant: an attempt and a verdict belong to a run that is there, a run to a bundle that is there; of each
unit, arm and repeat there is one attempt, and of each attempt and fact one verdict.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from bundles.errors import StoreError, UnknownRef
from bundles.records import Attempt, Run, Scalar, Verdict
from bundles.run_codec import (
    attempt_row,
    attempts_of_table,
    run_table,
    runs_of_table,
    verdicts_of_table,
    verdicts_table,
)
from bundles.schema import ATTEMPTS
from bundles.sql import Cursor, Part, column, insert, require_run, select
from bundles.store_bundles import the_one


class StoredRuns(Part):
    """The part of the store that holds runs."""

    def create_run(self, run: Run) -> None:
        """Store a run before its first attempt."""
        with self._transaction(small=True) as cursor:
            if not column(cursor, "SELECT bundle_id FROM bundles WHERE bundle_id = ?", run.bundle_id):
                raise UnknownRef(
                    f"run {run.run_id}: bundle {run.bundle_id} is not in the store, add it first"
                )
            if column(cursor, "SELECT run_id FROM runs WHERE run_id = ?", run.run_id):
                raise StoreError(f"run {run.run_id} is already in the store, give the new one another id")
            insert(cursor, "INSERT INTO runs BY NAME SELECT * FROM incoming", run_table(run))

    def finish_run(self, run_id: str, finished: str, learnt: Mapping[str, Scalar] | None = None) -> None:
        """Note when the run ended (ISO 8601, UTC), and what its provenance gains by that."""
        with self._transaction(small=True) as cursor:
            require_run(cursor, run_id)
            cursor.execute(_FINISH_RUN, [finished, _provenance(cursor, run_id, learnt), run_id])

    def run(self, ref: str) -> Run:
        """The run whose id begins so, or for "last" the one stored last; raises `UnknownRef`."""
        runs = self.runs()
        if ref == "last" and runs:
            return runs[-1]
        found = the_one("run", ref, {run.run_id: run.run_id for run in runs})
        return next(run for run in runs if run.run_id == found)

    def runs(self) -> list[Run]:
        """All runs, in the order they were stored."""
        with self._cursor() as cursor:
            return runs_of_table(select(cursor, "runs", "SELECT * FROM runs ORDER BY rowid"))

    def add_attempt(self, attempt: Attempt) -> None:
        """Store an attempt, in place of an earlier one of the same key that did not go well and its verdicts.

        Raises `UnknownRef` for an unknown run, and `StoreError` where the earlier one did go well or this
        one cannot be written; where that stops the store, it may be in it all the same.
        """
        with self._transaction(small=True) as cursor:
            require_run(cursor, attempt.run_id)
            key = [attempt.run_id, *attempt.key]
            (earlier,) = cursor.execute(_STATUS_OF_ATTEMPT, key).fetchone() or (None,)
            if earlier == "ok":
                unit_id, arm, repeat = attempt.key
                place = f"unit {unit_id!r}, arm {arm!r}, repeat {repeat}"
                raise StoreError(f"run {attempt.run_id}: {place} is already stored")
            if earlier is not None:
                cursor.execute(_DELETE_ATTEMPT, key)
                cursor.execute(_DELETE_VERDICTS, key)
            cursor.execute(_INSERT_ATTEMPT, attempt_row(attempt))

    def attempts(self, run_id: str) -> list[Attempt]:
        """All attempts of a run, by unit, repeat and order."""
        with self._cursor() as cursor:
            require_run(cursor, run_id)
            return attempts_of_table(select(cursor, "attempts", _ATTEMPTS_OF_RUN, ref=run_id))

    def replace_verdicts(
        self, run_id: str, verdicts: Sequence[Verdict], learnt: Mapping[str, Scalar] | None = None
    ) -> None:
        """Put these verdicts in place of all that the run has; all of them or, failing, none.

        `learnt` is what the run's provenance gains by them.
        """
        if foreign := {verdict.run_id for verdict in verdicts} - {run_id}:
            raise StoreError(f"run {run_id}: a verdict of run {min(foreign)} is not one of its own")
        keys = Counter(
            (verdict.unit_id, verdict.arm, verdict.repeat, verdict.fact_id) for verdict in verdicts
        )
        for (unit_id, arm, repeat, fact_id), count in keys.items():
            if count > 1:
                place = f"unit {unit_id!r}, arm {arm!r}, repeat {repeat}, fact {fact_id!r}"
                raise StoreError(f"run {run_id}: {count} verdicts of {place}, one is allowed")
        with self._transaction() as cursor:
            require_run(cursor, run_id)
            cursor.execute("DELETE FROM verdicts WHERE run_id = ?", [run_id])
            insert(cursor, "INSERT INTO verdicts BY NAME SELECT * FROM incoming", verdicts_table(verdicts))
            if learnt:
                cursor.execute(_LEARN, [_provenance(cursor, run_id, learnt), run_id])

    def verdicts(self, run_id: str) -> list[Verdict]:
        """All verdicts of a run, by unit, repeat, arm and fact."""
        with self._cursor() as cursor:
            require_run(cursor, run_id)
            return verdicts_of_table(select(cursor, "verdicts", _VERDICTS_OF_RUN, ref=run_id))


def _provenance(cursor: Cursor, run_id: str, learnt: Mapping[str, Scalar] | None) -> str:
    """A run's provenance with what was learnt since, as it is stored."""
    (stored,) = column(cursor, "SELECT provenance FROM runs WHERE run_id = ?", run_id)
    return json.dumps({**json.loads(stored), **(learnt or {})})


_ATTEMPTS_OF_RUN = 'SELECT * FROM attempts WHERE run_id = $ref ORDER BY unit_id, repeat, "order", arm'
_VERDICTS_OF_RUN = "SELECT * FROM verdicts WHERE run_id = $ref ORDER BY unit_id, repeat, arm, fact_id"
_FINISH_RUN = "UPDATE runs SET finished = ?, provenance = ? WHERE run_id = ?"
_LEARN = "UPDATE runs SET provenance = ? WHERE run_id = ?"
_STATUS_OF_ATTEMPT = "SELECT status FROM attempts WHERE run_id = ? AND unit_id = ? AND arm = ? AND repeat = ?"
_DELETE_ATTEMPT = "DELETE FROM attempts WHERE run_id = ? AND unit_id = ? AND arm = ? AND repeat = ?"
_DELETE_VERDICTS = "DELETE FROM verdicts WHERE run_id = ? AND unit_id = ? AND arm = ? AND repeat = ?"
_INSERT_ATTEMPT = "INSERT INTO attempts ({}) VALUES ({})".format(
    ", ".join(f'"{name}"' for name in ATTEMPTS.names), ", ".join(f"${name}" for name in ATTEMPTS.names)
)
