"""What a viewer asks of a run's units: pages of them, put in order and counted in SQL.

Invariant: what comes into Python is one page, and of texts and tokens only those of what is shown, however
large the run. Filters and orders are chosen from fixed ones; what a user types is a value, never a statement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bundles.brief import brief
from bundles.codec import OF_BUNDLE, bundle_of_tables
from bundles.errors import UnknownRef
from bundles.records import Attempt, Unit, UnitKind, Verdict
from bundles.run_codec import attempts_of_table, verdicts_of_table
from bundles.sql import Cursor, Part, select
from bundles.store_run_pages import RunInfo

UnitOrder = Literal["plan", "unit", "speedup", "wall_ms", "held_share", "divergences", "failed_facts"]
UnitChoice = Literal["all", "lost", "failing", "errors"]


@dataclass(frozen=True, slots=True)
class UnitFilter:
    """Which units of a run. `text` is a part of a unit's id, category or a tag, in any case.

    Of `arm`: `lost` are units with a fact that `against` passed and it failed, `failing` those with a failed
    fact, `errors` those with an attempt that did not go well.
    """

    arm: str
    against: str
    show: UnitChoice = "all"
    text: str = ""


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm's attempts at one unit; times, passes and rows are medians over those that went well.

    `identical` tells whether all of them gave the tokens of `against`; None where there is none to compare.
    """

    finished: int
    errors: int
    wall_ms: float | None
    passes: float | None
    tokens: int
    held: int
    divergences: int
    identical: bool | None
    passed: int
    failed: int
    unscored: int


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit in a list, with its arms by name; an arm without attempts is not there."""

    unit_id: str
    category: str
    kind: UnitKind
    canary: bool
    instruction: str
    arms: Mapping[str, ArmRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnitPage:
    """Some units of a run, and how many the filter lets through."""

    total: int
    units: tuple[UnitRow, ...]


class StoredUnits(Part):
    """The part of the store that tells of a run's units."""

    def speedups(self, run_id: str, against: str) -> dict[str, float]:
        """How much sooner each arm is done than `against`: median over units of medians over repeats."""
        with self._cursor() as cursor:
            return dict(cursor.execute(_SPEEDUPS, {"run_id": run_id, "against": against}).fetchall())

    def units_page(
        self,
        run: RunInfo,
        where: UnitFilter,
        *,
        order: UnitOrder = "plan",
        descending: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> UnitPage:
        """Part of a run's units in an order that repeats."""
        values = {
            "run_id": run.run_id,
            "bundle_id": run.bundle_id,
            "arm": where.arm,
            "against": where.against,
            "text": where.text.lower(),
        }
        chosen = _CHOSEN[where.show, order, "DESC" if descending else "ASC"]
        with self._cursor() as cursor:
            rows = cursor.execute(chosen, values | {"limit": limit, "offset": offset}).fetchall()
            if not rows:
                first = cursor.execute(chosen, values | {"limit": 1, "offset": 0}).fetchall()
                return UnitPage(first[0][1] if first else 0, ())
            unit_ids = [row[0] for row in rows]
            return UnitPage(rows[0][1], tuple(_unit_rows(cursor, run, where.against, unit_ids)))

    def units(self, bundle_id: str, unit_ids: Sequence[str]) -> tuple[Unit, ...]:
        """These units of a bundle, in its order and without the others; raises `UnknownRef`."""
        key = {"bundle_id": bundle_id, "unit_ids": list(unit_ids)}
        with self._cursor() as cursor:
            tables = {name: select(cursor, name, _OF_UNITS[name], **key) for name in OF_BUNDLE}
        if absent := set(unit_ids) - set(tables["units"]["unit_id"].to_pylist()):
            raise UnknownRef(f"unit {brief(min(absent))} is not in the bundle {bundle_id[:12]}")
        return bundle_of_tables(tables).units

    def unit_attempts(self, run_id: str, unit_id: str, repeat: int = 0) -> list[Attempt]:
        """The attempts at a unit in one repeat, in the order they were made."""
        key = {"run_id": run_id, "unit_id": unit_id, "repeat": repeat}
        with self._cursor() as cursor:
            return attempts_of_table(select(cursor, "attempts", _ATTEMPTS, **key))

    def unit_verdicts(self, run_id: str, unit_id: str, repeat: int = 0) -> list[Verdict]:
        """The verdicts on those attempts."""
        key = {"run_id": run_id, "unit_id": unit_id, "repeat": repeat}
        with self._cursor() as cursor:
            return verdicts_of_table(select(cursor, "verdicts", _VERDICTS, **key))


def _unit_rows(cursor: Cursor, run: RunInfo, against: str, unit_ids: list[str]) -> list[UnitRow]:
    key = {"run_id": run.run_id, "unit_ids": unit_ids}
    verdicts = {row[:2]: row[2:] for row in cursor.execute(_VERDICTS_OF_UNITS, key).fetchall()}
    arms: dict[str, dict[str, ArmRow]] = {}
    for unit_id, arm, *counts in cursor.execute(_ARMS_OF_UNITS, key | {"against": against}).fetchall():
        arms.setdefault(unit_id, {})[arm] = ArmRow(*counts, *verdicts.get((unit_id, arm), (0, 0, 0)))
    named = {"bundle_id": run.bundle_id, "unit_ids": unit_ids}
    rows = {row[0]: row for row in cursor.execute(_UNITS, named).fetchall()}
    return [_unit_row(*rows[unit_id], arms.get(unit_id, {})) for unit_id in unit_ids]


def _unit_row(*columns: Any) -> UnitRow:
    return UnitRow(*columns)


_SPEEDUPS = """
    WITH taken AS (
        SELECT unit_id, arm, median(wall_ms) AS wall_ms FROM attempts
        WHERE run_id = $run_id AND status = 'ok' AND wall_ms > 0 GROUP BY unit_id, arm)
    SELECT ours.arm, median(base.wall_ms / ours.wall_ms)
    FROM taken AS ours JOIN taken AS base ON ours.unit_id = base.unit_id AND base.arm = $against
    WHERE ours.arm <> $against GROUP BY ours.arm"""
_SHOWN: dict[UnitChoice, str] = {
    "all": "",
    "lost": """
        AND unit_id IN (
            SELECT ours.unit_id FROM verdicts AS ours JOIN verdicts AS base
            ON base.run_id = $run_id AND base.arm = $against AND base.unit_id = ours.unit_id
                AND base.repeat = ours.repeat AND base.fact_id = ours.fact_id
            WHERE ours.run_id = $run_id AND ours.arm = $arm AND ours.outcome = 'fail'
                AND base.outcome = 'pass')""",
    "failing": """
        AND unit_id IN (
            SELECT unit_id FROM verdicts WHERE run_id = $run_id AND arm = $arm AND outcome = 'fail')""",
    "errors": """
        AND unit_id IN (
            SELECT unit_id FROM attempts WHERE run_id = $run_id AND arm = $arm AND status <> 'ok')""",
}
# What an order needs of the arm, by unit, and the value that it sorts by.
_TAKEN = """
    SELECT unit_id, arm, median(wall_ms) FILTER (wall_ms > 0) AS wall_ms,
        sum(held) / nullif(sum(tokens), 0) AS held_share, avg(divergences) AS divergences
    FROM attempts WHERE run_id = $run_id AND status = 'ok' AND arm IN ($arm, $against)
    GROUP BY unit_id, arm"""
_ARM = f"SELECT * FROM ({_TAKEN}) WHERE arm = $arm"
_ORDERS: dict[UnitOrder, tuple[str, str]] = {
    "plan": ("SELECT NULL AS unit_id WHERE false", "place"),
    "unit": ("SELECT NULL AS unit_id WHERE false", "unit_id"),
    "speedup": (
        f"""
        WITH taken AS ({_TAKEN})
        SELECT ours.unit_id, base.wall_ms / ours.wall_ms AS speedup
        FROM taken AS ours JOIN taken AS base ON ours.unit_id = base.unit_id
        WHERE ours.arm = $arm AND base.arm = $against""",
        "speedup",
    ),
    "wall_ms": (_ARM, "wall_ms"),
    "held_share": (_ARM, "held_share"),
    "divergences": (_ARM, "divergences"),
    "failed_facts": (
        """
        SELECT unit_id, count(*) FILTER (outcome = 'fail') AS failed_facts FROM verdicts
        WHERE run_id = $run_id AND arm = $arm GROUP BY unit_id""",
        "failed_facts",
    ),
}
# Every statement names every value that it may be given: DuckDB refuses others.
_CHOSEN = {
    (show, order, direction): f"""
    WITH planned AS (
        SELECT unnest(unit_ids) AS unit_id, generate_subscripts(unit_ids, 1) AS place FROM runs
        WHERE run_id = $run_id AND ($arm, $against) IS NOT NULL)
    SELECT unit_id, count(*) OVER ()
    FROM planned JOIN units USING (unit_id) LEFT JOIN ({measured}) USING (unit_id)
    WHERE bundle_id = $bundle_id
        AND ($text = '' OR contains(
            lower(concat_ws(chr(10), unit_id, category, array_to_string(tags, chr(10)))), $text))
        {chosen}
    ORDER BY {column} {direction} NULLS LAST, place
    LIMIT $limit OFFSET $offset"""
    for show, chosen in _SHOWN.items()
    for order, (measured, column) in _ORDERS.items()
    for direction in ("ASC", "DESC")
}
_ARMS_OF_UNITS = """
    WITH chosen AS (
        SELECT rowid AS place, unit_id, arm, repeat, status FROM attempts
        WHERE run_id = $run_id AND unit_id IN (SELECT unnest($unit_ids))),
    ours AS (
        SELECT attempts.* FROM attempts JOIN chosen ON attempts.rowid = chosen.place)
    SELECT
        ours.unit_id,
        ours.arm,
        count(*) FILTER (ours.status = 'ok'),
        count(*) FILTER (ours.status <> 'ok'),
        median(ours.wall_ms) FILTER (ours.status = 'ok' AND ours.wall_ms > 0),
        median(ours.passes) FILTER (ours.status = 'ok'),
        coalesce(sum(ours.tokens) FILTER (ours.status = 'ok'), 0)::BIGINT,
        coalesce(sum(ours.held) FILTER (ours.status = 'ok'), 0)::BIGINT,
        coalesce(sum(ours.divergences) FILTER (ours.status = 'ok'), 0)::BIGINT,
        bool_and(ours.token_ids = base.token_ids) FILTER (ours.status = 'ok')
    FROM ours LEFT JOIN ours AS base
    ON base.unit_id = ours.unit_id AND base.repeat = ours.repeat AND base.arm = $against
        AND base.status = 'ok'
    GROUP BY ours.unit_id, ours.arm"""
_VERDICTS_OF_UNITS = """
    SELECT
        unit_id,
        arm,
        count(*) FILTER (outcome = 'pass'),
        count(*) FILTER (outcome = 'fail'),
        count(*) FILTER (outcome = 'unscored')
    FROM verdicts WHERE run_id = $run_id AND unit_id IN (SELECT unnest($unit_ids)) GROUP BY unit_id, arm"""
_UNITS = """
    SELECT unit_id, category, units.kind, canary, text
    FROM units JOIN revisions ON revision_id = instruction
    WHERE bundle_id = $bundle_id AND unit_id IN (SELECT unnest($unit_ids))"""
_ONE = "WHERE bundle_id = $bundle_id AND unit_id IN (SELECT unnest($unit_ids))"
_OF_UNITS = {
    "bundles": "SELECT * FROM bundles WHERE bundle_id = $bundle_id AND $unit_ids IS NOT NULL",
    "sessions": "SELECT * FROM sessions WHERE bundle_id = $bundle_id AND $unit_ids IS NULL",
    "events": "SELECT * FROM events WHERE bundle_id = $bundle_id AND $unit_ids IS NULL",
    "units": f"SELECT * FROM units {_ONE}",
    "facts": f"SELECT * FROM facts {_ONE}",
    "revisions": f"""
        SELECT * FROM revisions WHERE revision_id IN (
            SELECT unnest([instruction, stale, edited, reference.revision_id]) FROM units {_ONE}
            UNION ALL SELECT unnest(sources_before).revision_id FROM units {_ONE}
            UNION ALL SELECT unnest(sources_after).revision_id FROM units {_ONE})""",
}
_OF_ATTEMPTS = "WHERE run_id = $run_id AND unit_id = $unit_id AND repeat = $repeat"
_ATTEMPTS = f'SELECT * FROM attempts {_OF_ATTEMPTS} ORDER BY "order", arm'
_VERDICTS = f"SELECT * FROM verdicts {_OF_ATTEMPTS} ORDER BY arm, fact_id"
