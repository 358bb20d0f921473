"""What `torture.py` kills processes at, and what must be so afterwards."""

import gzip
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import bundles.store
from bundles import (
    Attempt,
    AttemptFilter,
    Bundle,
    Change,
    Journal,
    Recording,
    Run,
    SectionState,
    Session,
    Source,
    Store,
    Unit,
    bundle_of,
)
from bundles.journal_reader import read_journal, segment_path
from bundles.recording import read_changes

OLD_STORE = Path(__file__).parents[1] / "data" / "store-v1.duckdb.gz"
SECTIONS, REVISIONS = 4, 12
Say = Callable[[str], None]


@dataclass
class Verdict:
    """What a check found: acknowledged things, those of them that are lost or repeated, and other faults."""

    acknowledged: int = 0
    lost: int = 0
    repeated: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Scenario:
    """What is prepared once, what a process is killed at, and what must be so afterwards.

    The calls that change files are DuckDB's, or else Python's.
    """

    share: int
    is_duckdb: bool
    prepare: Callable[[Path], None]
    act: Callable[[Path, Say], None]
    check: Callable[[Path, list[str]], Verdict]


# Recording


def change(section: int, revision: int) -> Change:
    sources = (Source("plan", f"Launch in week {revision}."),)
    state = SectionState("Summarise.", sources, f"Section {section}, week {revision}. " + "x" * 99)
    kind = "opened" if revision == 1 else "refreshed"
    return Change(f"acme/plan/{section}", kind, revision, "2025-01-02T03:04:05Z", state, sources)


def record(folder: Path, say: Say) -> None:
    with Journal.open(folder / "prod", segment_bytes=3000) as journal, ThreadPoolExecutor(SECTIONS) as pool:
        recording = Recording.of(journal)

        def work(section: int) -> None:
            for revision in range(1, REVISIONS + 1):
                recording.submit(change(section, revision)).result()
                say(f"{section} {revision}")

        list(pool.map(work, range(SECTIONS)))


def check_recording(folder: Path, said: list[str]) -> Verdict:
    with Journal.open(folder / "prod") as journal:
        changes = list(read_changes(journal.read()))
        live, lost = Recording.of(journal).live, journal.recovery.lost
    verdict = Verdict(len(said), lost)
    for section in range(SECTIONS):
        last = sum(line.startswith(f"{section} ") for line in said)
        there = [each for each in changes if each.section == f"acme/plan/{section}"]
        numbers = {each.revision for each in there}
        verdict.lost += len(set(range(1, last + 1)) - numbers)
        verdict.repeated += len(there) - len(numbers)
        whole = there == [change(section, revision) for revision in range(1, len(there) + 1)]
        if not whole or len(there) > last + 1 or live.get(f"acme/plan/{section}") != (there or [None])[-1]:
            verdict.wrong.append(f"section {section}: {len(there)} changes, {last} acknowledged")
    return verdict


def prepare_damaged(folder: Path) -> None:
    record(folder, lambda _: None)
    (folder / "records").write_text(str(max(frame.last for frame in read_journal(folder / "prod"))))
    last = max((folder / "prod").glob("*.seg"))
    with last.open("ab") as file:
        file.write(b"torn")
    first = segment_path(folder / "prod", 1)
    first.write_bytes(first.read_bytes().replace(b"week 1. xxx", b"week 1. xXx", 1))


def recover(folder: Path, say: Say) -> None:
    with Journal.open(folder / "prod") as journal:
        say(f"{journal.recovery.lost}")


def check_recovery(folder: Path, said: list[str]) -> Verdict:
    recover(folder, lambda _: None)
    wanted = int((folder / "records").read_text())
    frames = list(read_journal(folder / "prod"))
    numbers = [number for frame in frames for number in range(frame.sequence, frame.last + 1)]
    notices = sum(frame.kind for frame in frames)
    kept = len(list((folder / "prod" / "quarantine").iterdir()))
    verdict = Verdict(wanted - 1, wanted - len(numbers), len(numbers) - len(set(numbers)))
    if (notices, kept) != (1, 2):
        verdict.wrong.append(f"{notices} notices of lost records and {kept} files set aside")
    return verdict


# Store


def nothing(folder: Path) -> None:
    """Prepare nothing."""


def prepare_half_ingested(folder: Path) -> None:
    with Journal.open(folder / "prod") as journal:
        recording = Recording.of(journal)
        for revision in range(1, 41):
            for section in range(SECTIONS):
                recording.submit(change(section, revision)).result()
            if revision == 20:
                with Store.open(folder / "s.duckdb") as store:
                    store.ingest(folder / "prod")


def ingest(folder: Path, say: Say) -> None:
    with Store.open(folder / "s.duckdb") as store:
        store.ingest(folder / "prod")
        say("ingested")


def check_ingest(folder: Path, said: list[str]) -> Verdict:
    with Store.open(folder / "s.duckdb") as store:
        before = [(info.name, info.units) for info in store.bundles()]
        added = store.ingest(folder / "prod").added
        again = store.ingest(folder / "prod").added
        after = [(info.name, info.units) for info in store.bundles()]
        events = len(store.bundle("prod").events)
    old, new = [("prod", SECTIONS * 19)], [("prod", SECTIONS * 39)]
    verdict = Verdict(len(said), int(bool(said) and before != new), int(len(after) != 1 or again))
    if before not in (old, new) or after != new or added != (before == old) or events != SECTIONS * 40:
        verdict.wrong.append(f"{before} before, {after} after, {events} events")
    return verdict


def large_bundle() -> Bundle:
    units = [
        Unit(f"u{n}", "s", "Sum up.", (Source("a", f"old {n} " * 40),), (Source("a", f"new {n} " * 40),))
        for n in range(1500)
    ]
    return bundle_of("large", [Session("s", "suite")], units)


def import_bundle(folder: Path, say: Say) -> None:
    bundle = large_bundle()
    with Store.open(folder / "s.duckdb") as store:
        store.add_bundle(bundle)
        say("imported")


def check_import(folder: Path, said: list[str]) -> Verdict:
    bundle = large_bundle()
    with Store.open(folder / "s.duckdb") as store:
        there = len(store.bundles())
        added = store.add_bundle(bundle)
        whole = store.bundle("large") == bundle
        repeated = len(store.bundles()) - 1
    verdict = Verdict(len(said), int(bool(said) and not there), repeated)
    if added == bool(there) or not whole:
        verdict.wrong.append(f"{there} bundles, added {added}, whole {whole}")
    return verdict


def prepare_run(folder: Path) -> None:
    with Store.open(folder / "s.duckdb") as store:
        bundle = bundle_of("one", [Session("s", "suite")], large_bundle().units[:1])
        store.add_bundle(bundle)
        store.create_run(Run("r1", bundle.bundle_id, ("u0",), ("plain",), 1, 1, 9, "2025-01-02T03:04:05Z"))


def add_attempt(store: Store, number: int) -> None:
    text = f"answer {number} " + "x" * 2000
    store.add_attempt(Attempt("r1", f"u{number:03}", "ab"[number % 2], 0, 0, "ok", None, text, (number,)))


def checkpoint(folder: Path, say: Say) -> None:
    bundles.store.LONGEST_LOG_BYTES = 10_000
    with Store.open(folder / "s.duckdb") as store:
        for number in range(60):
            add_attempt(store, number)
            say(f"{number}")


def check_attempts(folder: Path, said: list[str]) -> Verdict:
    acknowledged = {int(line) for line in said if line.isdecimal()}
    with Store.open(folder / "s.duckdb") as store:
        scanned = store.attempts("r1")
        filtered = [
            attempt
            for arm in "ab"
            for attempt in store.attempts_page("r1", AttemptFilter(arm=arm), limit=999).attempts
        ]
    found = Counter(attempt.token_ids[0] for attempt in scanned)
    verdict = Verdict(len(acknowledged), len(acknowledged - found.keys()), sum(found.values()) - len(found))
    if sorted(found) not in (sorted(acknowledged), [*sorted(acknowledged), len(acknowledged)]):
        verdict.wrong.append(f"{len(found)} attempts, {len(acknowledged)} acknowledged")
    if sorted(filtered, key=lambda attempt: attempt.unit_id) != scanned:
        verdict.wrong.append(f"a filter finds {len(filtered)} attempts, a scan {len(scanned)}")
    return verdict


def snapshot(folder: Path, say: Say) -> None:
    with Store.open(folder / "s.duckdb") as store:
        for number in range(12):
            add_attempt(store, number)
            say(f"{number}")
            if number % 3 == 2:
                store.snapshot(folder / "copy.duckdb")
                say(f"copied {number + 1}")


def check_snapshot(folder: Path, said: list[str]) -> Verdict:
    verdict = check_attempts(folder, said)
    copied = [int(line.split()[1]) for line in said if line.startswith("copied")]
    path = folder / "copy.duckdb"
    if path.exists():
        with Store.open(path, read_only=True) as store:
            found = [attempt.token_ids[0] for attempt in store.attempts("r1")]
        if found != list(range(len(found))) or len(found) < max(copied, default=0):
            verdict.wrong.append(f"the snapshot has {found}, of {copied}")
    elif copied:
        verdict.lost += 1
    verdict.acknowledged += len(copied)
    return verdict


def prepare_old(folder: Path) -> None:
    (folder / "s.duckdb").write_bytes(gzip.decompress(OLD_STORE.read_bytes()))


def migrate(folder: Path, say: Say) -> None:
    with Store.open(folder / "s.duckdb"):
        say("migrated")


def check_migration(folder: Path, said: list[str]) -> Verdict:
    with Store.open(folder / "s.duckdb") as store:
        bundles = [store.bundle(info.bundle_id) for info in store.bundles()]
        counts = [len(bundles), sum(len(bundle.units) for bundle in bundles), len(store.runs())]
        counts += [len(store.attempts("r1")), len(store.verdicts("r1"))]
    verdict = Verdict(sum([2, 3, 2, 3, 3]), sum([2, 3, 2, 3, 3]) - sum(counts))
    if counts != [2, 3, 2, 3, 3]:
        verdict.wrong.append(f"bundles, units, runs, attempts, verdicts: {counts}")
    return verdict


SCENARIOS = {
    "recording": Scenario(35, False, nothing, record, check_recording),
    "recovering": Scenario(10, False, prepare_damaged, recover, check_recovery),
    "ingesting": Scenario(12, True, prepare_half_ingested, ingest, check_ingest),
    "importing": Scenario(8, True, nothing, import_bundle, check_import),
    "checkpointing": Scenario(15, True, prepare_run, checkpoint, check_attempts),
    "taking snapshots": Scenario(10, True, prepare_run, snapshot, check_snapshot),
    "migrating": Scenario(10, True, prepare_old, migrate, check_migration),
}
