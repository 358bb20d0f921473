"""Damage at every place of a small journal, exported bundle and store, and whether it is noticed: by hand.

    python tests/bundles/damage.py [--part 1/1] [--seed 1]

Damage is one flipped bit, or a cut. Tried are all bytes of a journal's segments and mark, of an exported
bundle's files, of the log that a killed store leaves and of a store's headers, and some drawn by lot of its
blocks, which are alike. `--part 2/5` tries the second of every five. It is detected if opening or reading
says so, and harmless if all is read as it was; anything else is wrong. Prints a table; exits with 1 if
anything is wrong.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from tabulate import tabulate
from torture import in_child, run, scratch
from torture_scenarios import Say, add_attempt, prepare_run

from bundles import (
    Bundle,
    BundleError,
    Event,
    Fact,
    Journal,
    Session,
    Source,
    Store,
    Unit,
    bundle_of,
    export_bundle,
    read_tables,
)
from bundles.segments import LOST

HEADERS_BYTES = 3 * 4096
Read = Callable[[Path], tuple[str, bool]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    began, rows, wrong = time.monotonic(), [], []
    with scratch("damage-") as home:
        for what, folder, path, read, places in victims(Path(home), Random(options.seed)):
            tried = places[part - 1 :: parts]
            for how in ("flipped", "cut"):
                outcomes = damage(folder, path, read, tried, how)
                counts = Counter(outcome.partition(":")[0] for outcome in outcomes)
                name = f"{what}, {how}"
                rows.append([name, len(tried), counts["detected"], counts["harmless"], counts["wrong"]])
                found = zip(tried, outcomes, strict=True)
                wrong += [f"{name} at {place}: {line}" for place, line in found if line.startswith("wrong")]
    print(tabulate(rows, headers=["damaged", "places", "detected", "harmless", "wrong"]))
    print(f"part {options.part}, seed {options.seed}, {time.monotonic() - began:.0f} s")
    print(*wrong[:20], sep="\n", end="")
    return int(bool(wrong))


def victims(home: Path, chance: Random) -> Iterable[tuple[str, Path, Path, Read, Sequence[int]]]:
    """What to damage: its name, its folder, the file, how it is read, and the places in the file."""
    in_child(lambda say: make_journal(home / "journal"))
    for path in sorted((home / "journal" / "prod").iterdir()):
        yield f"journal, {path.name.lstrip('0')}", home / "journal", path, read_journal, size_of(path)
    (home / "export").mkdir()
    in_child(lambda say: export_bundle(small_bundle(), home / "export" / "b", "arrow"))
    for path in sorted((home / "export" / "b").iterdir()):
        yield f"Arrow bundle, {path.name}", home / "export", path, read_export, size_of(path)
    run(lambda say: make_store(home / "killed", closing=False), None)
    log = home / "killed" / "s.duckdb.wal"
    yield "store, its log", home / "killed", log, read_store, size_of(log)
    in_child(lambda say: make_store(home / "closed", closing=True))
    store = home / "closed" / "s.duckdb"
    yield "store, its headers", home / "closed", store, read_store, range(HEADERS_BYTES)
    blocks = range(HEADERS_BYTES, store.stat().st_size)
    yield "store, its blocks", home / "closed", store, read_store, sorted(chance.sample(blocks, 2000))
    mark = home / "closed" / "s.duckdb.redraft-mark"
    yield "store, its mark", home / "closed", mark, read_store, size_of(mark)


def size_of(path: Path) -> range:
    return range(path.stat().st_size)


def make_journal(folder: Path) -> None:
    folder.mkdir()
    with Journal.open(folder / "prod", segment_bytes=300) as journal:
        for number in range(12):
            journal.submit([b"record %d " % number * 3]).result()


def read_journal(folder: Path) -> tuple[str, bool]:
    with Journal.open(folder / "prod") as journal:
        records = [frame.payload for frame in journal.read() if frame.kind != LOST]
        return repr(records), bool(journal.recovery.said)


def small_bundle() -> Bundle:
    session = Session("s", "suite")
    unit = Unit("u", "s", "Sum up.", (Source("a", "On Friday."),), (Source("a", "On Monday."),))
    fact = Fact("f", "expect", ("Monday",))
    event = Event("s", 0, "2025-01-02T03:04:05Z", "opened", 1)
    return bundle_of("small", [session], [replace(unit, facts=(fact,))], [event])


def read_export(folder: Path) -> tuple[str, bool]:
    return repr(read_tables(folder / "b")), False


def make_store(folder: Path, *, closing: bool) -> None:
    folder.mkdir()
    prepare_run(folder)
    store = Store.open(folder / "s.duckdb")
    for number in range(3):
        add_attempt(store, number)
    if closing:
        store.close()
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def read_store(folder: Path) -> tuple[str, bool]:
    with Store.open(folder / "s.duckdb") as store:
        bundles = [store.bundle(info.bundle_id) for info in store.bundles()]
        return repr((bundles, store.runs(), store.attempts("r1"), store.verdicts("r1"))), False


def damage(folder: Path, path: Path, read: Read, places: Sequence[int], how: str) -> list[str]:
    """What comes of each place, on a copy; a process that dies of one is wrong there, and another goes on."""
    whole, copy = path.read_bytes(), folder.with_name("copy")
    shutil.copytree(folder, copy)
    (expected,) = in_child(lambda say: say(one_line(read(copy)[0])))

    def work(say: Say) -> None:
        for place in places[len(outcomes) :]:
            shutil.rmtree(copy)
            shutil.copytree(folder, copy)
            (copy / path.relative_to(folder)).write_bytes(damaged(whole, place, how))
            say(outcome(read, copy, expected))

    outcomes: list[str] = []
    while len(outcomes) < len(places):
        said, died = run(work, None)
        outcomes += [*said, "wrong: the process died"] if died else said
    shutil.rmtree(copy)
    return outcomes


def damaged(whole: bytes, place: int, how: str) -> bytes:
    if how == "cut":
        return whole[:place]
    flipped = whole[place] ^ 1 << Random(place).randrange(8)
    return whole[:place] + bytes([flipped]) + whole[place + 1 :]


def outcome(read: Read, folder: Path, expected: str) -> str:
    try:
        found, said = read(folder)
    except BundleError:
        return "detected"
    except Exception as error:
        return one_line(f"wrong: {error!r}"[:300])
    if said:
        return "detected"
    return "harmless" if one_line(found) == expected else "wrong: changed without a word"


def one_line(text: str) -> str:
    return " ".join(text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
