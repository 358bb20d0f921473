"""How fast the store and the journal are, next to what they rest on; run by hand, prints a table.

    python tests/bundles/measure_store.py [--units 100000] [--attempts 1000000] [--folder DIR]

Both sides of a ratio are measured in one run, in processes of their own, on the same values: importing a
bundle against DuckDB's own insert of the same Arrow tables.
"""

import argparse
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
from tabulate import tabulate

from bundles import Attempt, AttemptFilter, Bundle, Fact, Journal, Run, Session, Source, Store, Unit
from bundles.codec import bundle_tables
from bundles.identity import bundle_id
from bundles.schema import ATTEMPTS, TABLES, VERDICTS

WORDS = [f"word{number:03}" for number in range(1000)]
ROWS = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["import", "duckdb"])
    options = parser.parse_args()
    if options.only:
        (import_bundle if options.only == "import" else insert_tables)(options.units, options.folder)
        return
    folder = Path(tempfile.mkdtemp(prefix="measure-", dir=options.folder))
    try:
        rows = [*measure_imports(options.units, folder)]
        rows += measure_journal(folder)
        rows += measure_reports(options.attempts, folder)
    finally:
        shutil.rmtree(folder)
    print(tabulate(rows, headers=["what", "figure", "against"], disable_numparse=True))


# Import


def measure_imports(count: int, folder: Path) -> Iterator[list[str]]:
    figures = {}
    for what in ("duckdb", "import"):
        command = [sys.executable, __file__, "--only", what, "--units", str(count), "--folder", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        figures[what] = [float(word) for word in done.stdout.split()]
    (ours, peak, before, identity, reading), (theirs,) = figures["import"], figures["duckdb"]
    yield [
        f"import of {count:,} units",
        f"{ours:.2f} s",
        f"DuckDB's insert {theirs:.2f} s: {ours / theirs:.2f}x",
    ]
    yield ["  peak memory of that process", f"{peak:.0f} MiB", f"holding the bundle {before:.0f} MiB"]
    yield ["  its id, computed when it is put together", f"{identity:.2f} s", ""]
    yield ["  reading it back", f"{reading:.2f} s", ""]


def import_bundle(count: int, folder: Path) -> None:
    units = make_units(count)
    sessions = [Session(f"s{number}", "suite") for number in range(count // 10 + 1)]
    start = time.perf_counter()
    bundle = Bundle(bundle_id(sessions, units), "measured", tuple(sessions), tuple(units))
    identity = time.perf_counter() - start
    before = peak_mib()
    start = time.perf_counter()
    with Store.open(folder / "ours.duckdb") as store:
        store.add_bundle(bundle)
    importing, peak = time.perf_counter() - start, peak_mib()
    with clock() as reading, Store.open(folder / "ours.duckdb") as store:
        store.bundle("measured")
    print(importing, peak, before, identity, reading())


def insert_tables(count: int, folder: Path) -> None:
    units = make_units(count)
    sessions = [Session(f"s{number}", "suite") for number in range(count // 10 + 1)]
    tables = bundle_tables(Bundle("b" * 64, "measured", tuple(sessions), tuple(units)))
    start = time.perf_counter()
    with duckdb.connect(folder / "theirs.duckdb") as connection:
        connection.begin()
        for name, table in tables.items():
            connection.register("incoming", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
        connection.commit()
    print(time.perf_counter() - start)


def make_units(count: int) -> list[Unit]:
    """Units of about 2 kB of text: two sources, of which one is edited, and a stale answer."""
    chance = random.Random(7)

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    return [
        Unit(
            f"u{number}",
            f"s{number // 10}",
            "Summarise the plan.",
            (plan := Source("plan", text(100)), Source("notes", text(40))),
            (plan, Source("notes", text(40))),
            stale=text(70),
            facts=(Fact("expect-1", "expect", ("Monday",)), Fact("forbid-1", "forbid", ("Friday",))),
        )
        for number in range(count)
    ]


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# Journal


def measure_journal(folder: Path) -> Iterator[list[str]]:
    payload, count = b"x" * 600, 2_000
    with Journal.open(folder / "journal") as journal:
        with clock() as alone:
            for _ in range(count):
                journal.submit([payload]).result()
        with ThreadPoolExecutor(64) as pool, clock() as shared:
            list(pool.map(lambda _: journal.submit([payload]).result(), range(count * 10)))
    with clock() as reading, Journal.open(folder / "journal") as journal:
        frames = sum(1 for _ in journal.read())
    yield ["records a second, one writer", f"{count / alone():,.0f}", ""]
    yield ["records a second, 64 writers", f"{count * 10 / shared():,.0f}", ""]
    yield [f"opening and reading {frames:,} records", f"{reading():.2f} s", ""]


# Reports


def measure_reports(count: int, folder: Path) -> Iterator[list[str]]:
    path = folder / "reports.duckdb"
    arms = ["plain", "control", "redraft", "redraft:tau=3,floor=1"]
    units = tuple(f"u{number}" for number in range(count // len(arms)))
    with Store.open(path) as store:
        bundle = Bundle("b" * 64, "measured", (), ())
        store.add_bundle(bundle)
        store.create_run(Run("r1", bundle.bundle_id, units, tuple(arms), 1, 7, 160, "2025-01-01T00:00:00Z"))
    with clock() as filling:
        fill(path, units, arms)
    yield [f"filling in {count:,} attempts", f"{filling():.1f} s", f"{path.stat().st_size / 2**20:.0f} MiB"]
    with Store.open(path) as store:
        queries: dict[str, Callable[[], object]] = {
            "counts and quantiles per arm": lambda: store.arm_totals("r1"),
            "first page by unit": lambda: store.attempts_page("r1"),
            "first page of the slowest": lambda: store.attempts_page("r1", order="wall_ms", descending=True),
            "page in the middle": lambda: store.attempts_page("r1", offset=count // 2),
            "page of one arm, by held share": lambda: store.attempts_page(
                "r1", AttemptFilter(arm="redraft", unit="u99"), order="held_share"
            ),
            "page of failing attempts": lambda: store.attempts_page("r1", AttemptFilter(failing=True)),
        }
        for name, query in queries.items():
            with clock() as took:
                query()
            yield [f"  {name}", f"{took() * 1000:.0f} ms", ""]
        with clock() as adding:
            for number in range(100):
                store.add_attempt(Attempt("r1", f"new{number}", "plain", 0, 0, "ok"))
        yield ["  adding one attempt more", f"{adding() * 10:.1f} ms", ""]


def fill(path: Path, units: tuple[str, ...], arms: list[str]) -> None:
    chance = random.Random(7)
    with duckdb.connect(path) as connection:
        for start in range(0, len(units), ROWS):
            rows = [
                attempt_row(unit, arm, order, chance)
                for unit in units[start : start + ROWS]
                for order, arm in enumerate(arms)
            ]
            verdicts = [verdict_row(row, chance) for row in rows]
            for name, table in (("attempts", rows), ("verdicts", verdicts)):
                connection.register("incoming", pa.Table.from_pylist(table, schema=TABLES[name]))
                connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM incoming")


def attempt_row(unit: str, arm: str, order: int, chance: random.Random) -> dict[str, object]:
    tokens, held = chance.randrange(20, 60), chance.randrange(0, 20)
    zero = dict.fromkeys(ATTEMPTS.names, 0)
    return zero | {
        "run_id": "r1",
        "unit_id": unit,
        "arm": arm,
        "order": order,
        "status": "ok",
        "error": None,
        "text": " ".join(chance.choices(WORDS, k=30)),
        "token_ids": list(range(tokens)),
        "token_src": [*range(held), *[-1] * (tokens - held)],
        "spans": [],
        "wall_ms": chance.expovariate(0.001),
        "prompt_ms": chance.expovariate(0.01),
        "tokens": tokens,
        "held": held,
    }


def verdict_row(attempt: dict[str, object], chance: random.Random) -> dict[str, object]:
    outcome = chance.choices(["pass", "fail", "unscored"], [90, 8, 2])[0]
    return dict.fromkeys(VERDICTS.names) | {
        "run_id": "r1",
        "unit_id": attempt["unit_id"],
        "arm": attempt["arm"],
        "repeat": 0,
        "fact_id": "f",
        "outcome": outcome,
    }


@contextmanager
def clock() -> Iterator[Callable[[], float]]:
    """What it yields tells the seconds that the block took."""
    start = time.perf_counter()
    end: list[float] = []
    yield lambda: end[0] - start
    end.append(time.perf_counter())


if __name__ == "__main__":
    main()
