"""The store's bundles, and recordings on their way to be one.

Invariant: a bundle is in the store whole and once; a text once for all bundles. A recording that grows is a
new bundle each time, for bundles are content: the newest has the recording's name, an earlier one is kept
only if a run rests on it, and then named after its id too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bundles.brief import brief
from bundles.codec import OF_BUNDLE, bundle_of_tables, bundle_pieces
from bundles.errors import EmptySuite, StoreError, UnknownRef
from bundles.journal_reader import contents, read_journal
from bundles.projection import recorded_bundle
from bundles.recording import read_changes
from bundles.records import Bundle
from bundles.schema import REVISIONS
from bundles.sql import Cursor, Part, column, insert, select


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """A stored bundle in brief, with its numbers of sessions and units."""

    bundle_id: str
    name: str
    sessions: int
    units: int


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a journal gave: its bundle, whether that is new, and a line for each edit that was left out."""

    bundle_id: str
    added: bool
    skipped: tuple[str, ...]


class StoredBundles(Part):
    """The part of the store that holds bundles."""

    def add_bundle(self, bundle: Bundle) -> bool:
        """Store a bundle; False where one of the same content is there already."""
        with self._transaction() as cursor:
            return _add(cursor, bundle)

    def ingest(self, journal: Path) -> Ingested:
        """Make all that a journal has recorded so far a bundle, named after its folder.

        A process may be recording into the journal meanwhile. Raises `StoreError` where the journal is
        missing or damaged, `EmptySuite` where nothing was recorded.
        """
        with self._cursor() as cursor:
            found = contents(journal)
            journal_id, sequence = found.journal_id.hex(), found.acknowledged
            earlier = cursor.execute(_INGESTED, [journal_id]).fetchone()
        if earlier and earlier[1] == sequence:
            return Ingested(earlier[0], added=False, skipped=())
        recorded = recorded_bundle(journal.resolve().name, read_changes(read_journal(journal)))
        bundle = recorded.bundle
        if not bundle.sessions:
            raise EmptySuite(f"{journal}: nothing is recorded yet")
        with self._transaction() as cursor:
            added = _add(cursor, bundle)
            if earlier and earlier[0] != bundle.bundle_id:
                _give_way(cursor, earlier[0])
            cursor.execute("DELETE FROM ingested WHERE journal_id = ?", [journal_id])
            cursor.execute("INSERT INTO ingested VALUES (?, ?, ?)", [journal_id, sequence, bundle.bundle_id])
        return Ingested(bundle.bundle_id, added, recorded.skipped)

    def remove_bundle(self, ref: str, *, with_runs: bool = False) -> BundleInfo:
        """Remove a bundle and the texts that no other one has.

        Raises `StoreError` while runs rest on it, unless they are to be removed too.
        """
        infos = {info.bundle_id: info for info in self.bundles()}
        found = infos[the_one("bundle", ref, {key: info.name for key, info in infos.items()})]
        with self._transaction() as cursor:
            runs = column(cursor, "SELECT run_id FROM runs WHERE bundle_id = ?", found.bundle_id)
            if runs and not with_runs:
                raise StoreError(f"bundle {found.name}: run {runs[-1]} rests on it, it cannot be removed")
            for statement in _DELETE_RUNS:
                cursor.execute(statement, [found.bundle_id])
            _remove(cursor, found.bundle_id)
            cursor.execute(_DELETE_UNNAMED_REVISIONS)
        return found

    def bundle(self, ref: str) -> Bundle:
        """The bundle of this id, of this name or with an id that begins so; raises `UnknownRef`."""
        found = the_one("bundle", ref, {info.bundle_id: info.name for info in self.bundles()})
        with self._cursor() as cursor:
            return bundle_of_tables(
                {name: select(cursor, name, _OF_BUNDLE[name], ref=found) for name in OF_BUNDLE}
            )

    def bundles(self) -> list[BundleInfo]:
        """All bundles, by name."""
        with self._cursor() as cursor:
            rows = cursor.execute(
                "SELECT bundle_id, name,"
                " (SELECT count(*) FROM sessions WHERE sessions.bundle_id = bundles.bundle_id),"
                " (SELECT count(*) FROM units WHERE units.bundle_id = bundles.bundle_id)"
                " FROM bundles ORDER BY name, bundle_id"
            ).fetchall()
        return [BundleInfo(*row) for row in rows]


def the_one(what: str, ref: str, names: dict[str, str]) -> str:
    """The id that `ref` means: the same, or else the one of that name, or else the one that begins so."""
    if ref in names:
        return ref
    found = [key for key, name in names.items() if name == ref]
    found = found or [key for key in names if ref and key.startswith(ref)]
    if len(found) == 1:
        return found[0]
    shown = ", ".join((found or list(names.values()))[-5:]) or "none"
    if found:
        raise UnknownRef(f"{what} {brief(ref)} is ambiguous, there are: {shown}; give the beginning of an id")
    raise UnknownRef(f"no {what} {brief(ref)} in the store, there are: {shown}")


def _add(cursor: Cursor, bundle: Bundle) -> bool:
    if column(cursor, "SELECT bundle_id FROM bundles WHERE bundle_id = ?", bundle.bundle_id):
        return False
    rest: dict[str, list[pa.Table]] = {name: [] for name in OF_BUNDLE if name != "revisions"}

    def texts() -> Iterator[pa.RecordBatch]:
        """The bulk of a bundle: made while DuckDB inserts what was made before."""
        for tables in bundle_pieces(bundle):
            for name, table in tables.items():
                if name == "revisions":
                    yield from table.to_batches()
                else:
                    rest[name].append(table)

    insert(cursor, _INSERT["revisions"], pa.RecordBatchReader.from_batches(REVISIONS, texts()))
    for name, tables in rest.items():
        if tables:
            insert(cursor, _INSERT[name], pa.concat_tables(tables))
    return True


def _give_way(cursor: Cursor, bundle_id: str) -> None:
    """Let a newer bundle of the same recording have the name."""
    if column(cursor, "SELECT run_id FROM runs WHERE bundle_id = ?", bundle_id):
        cursor.execute(_NAME_AFTER_ID, [bundle_id])
    else:
        _remove(cursor, bundle_id)


def _remove(cursor: Cursor, bundle_id: str) -> None:
    for statement in _DELETE:
        cursor.execute(statement, [bundle_id])


_INSERT = {name: f"INSERT INTO {name} BY NAME SELECT * FROM incoming" for name in OF_BUNDLE} | {
    "revisions": """
        INSERT INTO revisions BY NAME SELECT * FROM incoming ANTI JOIN revisions USING (revision_id)"""
}
_DELETE = [
    f"DELETE FROM {name} WHERE bundle_id = ?" for name in (*OF_BUNDLE, "ingested") if name != "revisions"
]
_DELETE_RUNS = [
    f"DELETE FROM {name} WHERE run_id IN (SELECT run_id FROM runs WHERE bundle_id = ?)"
    for name in ("verdicts", "attempts", "runs")
]
_NAMED_REVISIONS = """
    SELECT bundle_id, unnest([instruction, stale, edited, reference.revision_id]) AS revision_id FROM units
    UNION ALL
    SELECT bundle_id, unnest(sources_before).revision_id FROM units
    UNION ALL
    SELECT bundle_id, unnest(sources_after).revision_id FROM units
    UNION ALL
    SELECT bundle_id, unnest([before.instruction, before.derived, after.instruction, after.derived])
    FROM events
    UNION ALL
    SELECT bundle_id, unnest(before.sources).revision_id FROM events
    UNION ALL
    SELECT bundle_id, unnest(after.sources).revision_id FROM events"""
_OF_BUNDLE = {name: f"SELECT * FROM {name} WHERE bundle_id = $ref" for name in OF_BUNDLE} | {
    "revisions": f"""
        SELECT * FROM revisions
        SEMI JOIN (SELECT revision_id FROM ({_NAMED_REVISIONS}) WHERE bundle_id = $ref) USING (revision_id)"""
}
_DELETE_UNNAMED_REVISIONS = f"""
    DELETE FROM revisions WHERE revision_id NOT IN (
        SELECT revision_id FROM ({_NAMED_REVISIONS}) WHERE revision_id IS NOT NULL)"""
_NAME_AFTER_ID = "UPDATE bundles SET name = name || '@' || left(bundle_id, 8) WHERE bundle_id = ?"
_INGESTED = "SELECT bundle_id, sequence FROM ingested WHERE journal_id = ?"
