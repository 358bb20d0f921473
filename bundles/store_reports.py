"""What reports and the web view ask of a large run: counts, quantiles and pages, computed in SQL.

Invariant: no query here reads a whole run into Python, and none reads texts or tokens of attempts that are
not shown. Filters and orders are chosen from fixed ones; what a user types is a value, never a statement.
"""

from dataclasses import dataclass
from typing import Any, Literal

from bundles.records import Attempt, AttemptStatus
from bundles.run_codec import attempts_of_table
from bundles.sql import Part, require_run, select

AttemptOrder = Literal["unit", "wall_ms", "held_share", "divergences", "tokens"]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Five numbers of a distribution."""

    p05: float
    p25: float
    p50: float
    p75: float
    p95: float


@dataclass(frozen=True, slots=True)
class ArmTotals:
    """One arm of a run. Sums and quantiles are over attempts that went well; None where there are none.

    `passed`, `failed` and `unscored` count verdicts.
    """

    arm: str
    ok: int
    errors: int
    timeouts: int
    tokens: int
    held: int
    divergences: int
    passes: int
    rows: int
    wasted_rows: int
    host_ms: float
    wall_ms: Quantiles | None
    prompt_ms: Quantiles | None
    passed: int
    failed: int
    unscored: int


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """Which attempts of a run; None and the empty text leave a column free.

    `unit` is a part of the unit's id, in any case. `failing` asks for attempts with a failed verdict.
    """

    arm: str | None = None
    status: AttemptStatus | None = None
    unit: str = ""
    failing: bool = False


@dataclass(frozen=True, slots=True)
class AttemptPage:
    """Some attempts of a run, and how many the filter lets through."""

    total: int
    attempts: tuple[Attempt, ...]


class StoredReports(Part):
    """The part of the store that answers reports."""

    def arm_totals(self, run_id: str) -> list[ArmTotals]:
        """Each arm that has attempts, by name; raises `UnknownRef`."""
        with self._cursor() as cursor:
            require_run(cursor, run_id)
            rows = cursor.execute(_ARM_TOTALS, [run_id]).fetchall()
            verdicts = {row[0]: row[1:] for row in cursor.execute(_VERDICT_TOTALS, [run_id]).fetchall()}
        return [_totals(*row, *verdicts.get(row[0], (0, 0, 0))) for row in rows]

    def attempts_page(
        self,
        run_id: str,
        where: AttemptFilter | None = None,
        *,
        order: AttemptOrder = "unit",
        descending: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> AttemptPage:
        """Part of a run's attempts in an order that repeats; raises `UnknownRef`."""
        where = where or AttemptFilter()
        values = {
            "run_id": run_id,
            "arm": where.arm,
            "status": where.status,
            "unit": where.unit.lower(),
            "failing": where.failing,
        }
        page = {"limit": limit, "offset": offset}
        direction = "DESC" if descending else "ASC"
        with self._cursor() as cursor:
            require_run(cursor, run_id)
            (total,) = cursor.execute(_COUNT, values).fetchone()
            rows = cursor.execute(_PAGE[order, direction], values | page).fetchall()
            table = select(cursor, "attempts", _OF_ROWS, rows=[row for (row,) in rows])
        return AttemptPage(total, tuple(attempts_of_table(table)))


def _totals(*columns: Any) -> ArmTotals:
    *counts, wall_ms, prompt_ms, passed, failed, unscored = columns
    values: list[Any] = [*counts, _quantiles(wall_ms), _quantiles(prompt_ms), passed, failed, unscored]
    return ArmTotals(*values)


def _quantiles(values: list[float] | None) -> Quantiles | None:
    return Quantiles(*values) if values else None


_ARM_TOTALS = """
    SELECT
        arm,
        count(*) FILTER (status = 'ok'),
        count(*) FILTER (status = 'error'),
        count(*) FILTER (status = 'timeout'),
        coalesce(sum(tokens) FILTER (status = 'ok'), 0)::BIGINT,
        coalesce(sum(held) FILTER (status = 'ok'), 0)::BIGINT,
        coalesce(sum(divergences) FILTER (status = 'ok'), 0)::BIGINT,
        coalesce(sum(passes) FILTER (status = 'ok'), 0)::BIGINT,
        coalesce(sum(rows) FILTER (status = 'ok'), 0)::BIGINT,
        coalesce(sum(wasted_rows) FILTER (status = 'ok'), 0)::BIGINT,
        coalesce(sum(host_ms) FILTER (status = 'ok'), 0),
        quantile_cont(wall_ms, [0.05, 0.25, 0.5, 0.75, 0.95]) FILTER (status = 'ok'),
        quantile_cont(prompt_ms, [0.05, 0.25, 0.5, 0.75, 0.95]) FILTER (status = 'ok')
    FROM attempts WHERE run_id = ? GROUP BY arm ORDER BY arm"""
_VERDICT_TOTALS = """
    SELECT
        arm,
        count(*) FILTER (outcome = 'pass'),
        count(*) FILTER (outcome = 'fail'),
        count(*) FILTER (outcome = 'unscored')
    FROM verdicts WHERE run_id = ? GROUP BY arm"""
_MATCHING = """
    FROM attempts
    WHERE run_id = $run_id
        AND ($arm IS NULL OR arm = $arm)
        AND ($status IS NULL OR status = $status)
        AND ($unit = '' OR contains(lower(unit_id), $unit))
        AND (NOT $failing OR (unit_id, arm, repeat) IN (
            SELECT (unit_id, arm, repeat) FROM verdicts WHERE run_id = $run_id AND outcome = 'fail'))"""
_COUNT = f"SELECT count(*) {_MATCHING}"
_COLUMNS: dict[AttemptOrder, str] = {
    "unit": "unit_id",
    "wall_ms": "wall_ms",
    "held_share": "held / nullif(tokens, 0)",
    "divergences": "divergences",
    "tokens": "tokens",
}
_PAGE = {
    (order, direction): f"""
    SELECT rowid {_MATCHING}
    ORDER BY {column} {direction} NULLS LAST, unit_id, repeat, "order", arm
    LIMIT $limit OFFSET $offset"""
    for order, column in _COLUMNS.items()
    for direction in ("ASC", "DESC")
}
_OF_ROWS = """
    SELECT attempts.* FROM attempts
    JOIN (SELECT unnest($rows) AS row, generate_subscripts($rows, 1) AS place) ON attempts.rowid = row
    ORDER BY place"""
