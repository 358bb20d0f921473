import gzip
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import duckdb
import pytest

from bundles import (
    Attempt,
    AttemptFilter,
    Bundle,
    Run,
    Session,
    Source,
    Store,
    StoreError,
    StoreLocked,
    Unit,
    Verdict,
    bundle_of,
)
from bundles.identity import bundle_id
from bundles.schema import FORMAT_VERSION
from bundles.store_undo import Undo

OLD_STORE = Path(__file__).parents[1] / "data" / "store-v1.duckdb.gz"

# What a second process does with a store: open it, say so, and go on as told by its arguments.
PROCESS = """
import resource, sys
from itertools import count
from pathlib import Path
import bundles.store
from bundles import Attempt, Store, StoreError
path, what = Path(sys.argv[1]), sys.argv[2]
with Store.open(path) as store:
    print("open", flush=True)
    if what == "hold":
        sys.stdin.read()
    if what == "fill":
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    if what == "fill sooner than the log":
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        bundles.store.LONGEST_LOG_BYTES = 100_000
    for number in count():
        text = f"answer {number} " + "x" * 2_000
        try:
            store.add_attempt(Attempt("r1", f"u{number}", "plain", 0, 0, "ok", None, text, (number, 1)))
        except StoreError as error:
            print(error, file=sys.stderr)
            break
        print(number, flush=True)
    if what == "fill sooner than the log":
        for call in (store.runs, store.close):
            try:
                call()
            except StoreError as error:
                print(error, file=sys.stderr)
"""


@contextmanager
def process(path: Path, what: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store open."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROCESS, str(path), what]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "open\n"
            yield child
        finally:
            child.kill()


class TestThreads:
    def test_readers_see_whole_attempts_while_one_writes(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        attempts = [make_attempt(unit_id=f"u{number:02}") for number in range(60)]

        def read(_: int) -> list[list[Attempt]]:
            return [store.attempts("r1") for _ in range(15)]

        with ThreadPoolExecutor(4) as pool:
            seen = pool.map(read, range(3))
            list(pool.map(store.add_attempt, attempts))
            for views in seen:
                sizes = [len(view) for view in views]
                assert sizes == sorted(sizes)
                assert all(attempt in attempts for view in views for attempt in view)
        assert store.attempts("r1") == attempts

    def test_of_many_writers_of_one_attempt_one_wins(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        def write(number: int) -> bool:
            try:
                store.add_attempt(make_attempt(text=str(number)))
            except StoreError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(write, range(24)))
        assert won.count(True) == 1
        assert [attempt.text for attempt in store.attempts("r1")] == [str(won.index(True))]


class TestProcesses:
    def test_second_is_refused_and_told_by_whom(self, path: Path) -> None:
        with process(path, "hold") as child:
            with pytest.raises(StoreLocked) as refusal:
                Store.open(path)
            assert str(refusal.value) == f"{path}: in use by process {child.pid}, wait for it or stop it"
            link = path.with_name("link.duckdb")
            link.symlink_to(path)
            with pytest.raises(StoreLocked):
                Store.open(link)
        with Store.open(path) as store:
            assert store.bundles() == []

    def test_second_opening_in_one_process_is_refused_too(self, path: Path, store: Store) -> None:
        with pytest.raises(StoreLocked, match="in use by process"):
            Store.open(path)

    @pytest.mark.parametrize("acknowledged", [1, 2, 120])
    def test_killed_one_leaves_each_acknowledged_attempt_once(
        self, acknowledged: int, path: Path, store: Store, run: Run
    ) -> None:
        store.close()
        with process(path, "add") as child:
            assert child.stdout is not None
            for number in range(acknowledged):
                assert child.stdout.readline() == f"{number}\n"
            child.kill()
            acknowledged += len(child.stdout.readlines())
        with Store.open(path) as store:
            assert store.run("last") == run
            found = sorted(attempt.token_ids[0] for attempt in store.attempts("r1"))
            # One more may be on disk: the kill came between its commit and its acknowledgement.
            assert found in (list(range(acknowledged)), list(range(acknowledged + 1)))

    def test_full_disk_is_told_and_loses_nothing_acknowledged(
        self, path: Path, store: Store, run: Run
    ) -> None:
        store.close()
        with process(path, "fill") as child:
            assert child.stdout is not None
            assert child.stderr is not None
            acknowledged = [int(line) for line in child.stdout]
            message = child.stderr.read()
            assert child.wait() == 0
        assert message.startswith(f"{path}: ")
        assert "File too large" in message
        assert len(message.splitlines()) == 1
        with Store.open(path) as store:
            assert sorted(attempt.token_ids[0] for attempt in store.attempts("r1")) == acknowledged

    def test_store_that_a_full_disk_stopped_says_so_each_time_and_loses_nothing(
        self, path: Path, store: Store, run: Run
    ) -> None:
        """DuckDB commits, cannot move its log into the store, and then refuses everything."""
        store.close()
        with process(path, "fill sooner than the log") as child:
            assert child.stdout is not None
            assert child.stderr is not None
            acknowledged = [int(line) for line in child.stdout]
            messages = child.stderr.read().splitlines()
        # The attempt, the next call, the closing, and the end of `with`.
        assert len(messages) >= 3
        assert messages[:3] == messages[:1] * 3
        assert messages[0].startswith(f"{path}: the store stopped: Could not write file")
        assert messages[0].endswith("free space if the disk is full, then resume the run")
        with Store.open(path) as store:
            found = sorted(attempt.token_ids[0] for attempt in store.attempts("r1"))
            assert found == [*acknowledged, len(acknowledged)]  # the last was told to have failed
            with pytest.raises(StoreError, match="is already stored"):
                store.add_attempt(replace(store.attempts("r1")[0], text="again"))

    def test_import_that_a_disk_of_8_mb_has_no_room_for_changes_nothing(
        self, small_disk: Path, make_unit: Callable[..., Unit]
    ) -> None:
        def bundle_of_size(name: str, megabytes: int) -> Bundle:
            texts = [Random(f"{name} {number}").randbytes(50_000).hex() for number in range(megabytes * 10)]
            units = [make_unit(f"u{n}", sources_after=(Source("a", text),)) for n, text in enumerate(texts)]
            return bundle_of(name, [Session("s1", "suite")], units)

        first, second = bundle_of_size("first", 1), bundle_of_size("second", 3)
        other, path = small_disk / "other", small_disk / "store.duckdb"
        other.write_bytes(b"x" * 4_000_000)
        with Store.open(path) as store:
            store.add_bundle(first)
            for _ in range(2):
                with pytest.raises(StoreError, match="No space left on device"):
                    store.add_bundle(second)
                assert [info.name for info in store.bundles()] == ["first"]
            other.unlink()
            assert store.add_bundle(second)
        with Store.open(path) as store:
            assert [store.bundle(name) for name in ("first", "second")] == [first, second]


class TestSnapshots:
    def test_others_read_one_while_the_store_is_written(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt], path: Path
    ) -> None:
        target = path.with_name("it's a snapshot.duckdb")
        store.add_attempt(make_attempt())
        store.snapshot(target)
        store.add_attempt(make_attempt(repeat=1))
        with Store.open(target, read_only=True) as one, Store.open(target, read_only=True) as other:
            assert one.attempts("r1") == other.attempts("r1") == [make_attempt()]
            assert one.run("last") == run
            store.snapshot(target)  # replaced under their hands
            assert len(one.attempts("r1")) == 1
            with pytest.raises(StoreError, match="opened for reading only"):
                one.add_attempt(make_attempt(repeat=2))
        with Store.open(target) as later:
            assert len(later.attempts("r1")) == 2
            with pytest.raises(StoreLocked):
                store.snapshot(target)
        with pytest.raises(StoreError, match="cannot be a snapshot of itself"):
            store.snapshot(path)

    def test_one_is_of_a_single_moment(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt], path: Path
    ) -> None:
        """Each writer adds an attempt and then its verdict; no snapshot has the verdict alone."""
        target = path.with_name("snapshot.duckdb")

        def write(number: int) -> None:
            store.create_run(replace(run, run_id=f"r{number}"))
            store.add_attempt(make_attempt(f"r{number}"))
            verdict = Verdict(f"r{number}", "u1", "plain", 0, "expect-1", "pass", "facts", 1)
            store.replace_verdicts(f"r{number}", [verdict])

        with ThreadPoolExecutor(2) as pool:
            writing = [pool.submit(write, number) for number in range(2, 30)]
            for _ in range(5):
                store.snapshot(target)
                with Store.open(target, read_only=True) as copy:
                    runs = copy.runs()
                    sizes = [(len(copy.attempts(r.run_id)), len(copy.verdicts(r.run_id))) for r in runs]
                assert set(sizes) <= {(0, 0), (1, 0), (1, 1)}
            for future in writing:
                future.result()

    def test_one_that_does_not_fit_leaves_the_earlier_one(
        self, store: Store, run: Run, path: Path, make_attempt: Callable[..., Attempt]
    ) -> None:
        target = path.with_name("snapshot.duckdb")
        store.snapshot(target)
        whole = target.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            with pytest.raises(StoreError, match="File too large"):
                store.snapshot(target)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert target.read_bytes() == whole
        store.add_attempt(make_attempt())
        store.snapshot(target)
        with Store.open(target, read_only=True) as copy:
            assert copy.attempts("r1") == [make_attempt()]

    def test_other_files_are_not_replaced(self, store: Store, tmp_path: Path) -> None:
        letter = tmp_path / "letter.txt"
        letter.write_text("precious")
        with pytest.raises(StoreError, match=r"letter.txt: not a redraft store"):
            store.snapshot(letter)
        assert letter.read_text() == "precious"

    def test_only_a_store_that_is_there_can_be_read(self, path: Path) -> None:
        with pytest.raises(StoreError, match="no such store"):
            Store.open(path, read_only=True)
        path.write_bytes(gzip.decompress(OLD_STORE.read_bytes()))
        with pytest.raises(StoreError, match=r"store format 1, .* open it once for writing"):
            Store.open(path, read_only=True)


class TestDamage:
    """What DuckDB takes without a word: a log that is gone, cut or of before."""

    @pytest.fixture
    def killed(self, path: Path, store: Store, run: Run) -> int:
        """A store whose process was killed, so that its last attempts are in the log; how many."""
        store.close()
        with process(path, "add") as child:
            assert child.stdout is not None
            for _ in range(20):
                child.stdout.readline()
            child.kill()
            return 20 + len(child.stdout.readlines())

    @pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
    def test_a_cut_log_is_told_and_kept(self, keep: float, path: Path, killed: int) -> None:
        log = path.with_name(path.name + ".wal")
        whole = log.read_bytes()
        cut = whole[: int(len(whole) * keep)]
        log.write_bytes(cut)
        mark = path.with_name(path.name + ".redraft-mark")
        for _ in range(2):
            with pytest.raises(StoreError) as refusal:
                Store.open(path)
            assert re.search(r"évals.duckdb: \d+ acknowledged commits are missing", str(refusal.value))
            assert str(mark) in str(refusal.value)
        kept = path.with_name(path.name + ".wal.kept")
        assert kept.read_bytes() == cut
        mark.unlink()
        with Store.open(path) as store:
            assert len(store.attempts("r1")) < killed

    def test_a_removed_log_is_told(self, path: Path, killed: int) -> None:
        path.with_name(path.name + ".wal").unlink()
        with pytest.raises(StoreError, match="acknowledged commits are missing"):
            Store.open(path)

    def test_an_older_copy_in_its_place_is_told(
        self, path: Path, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        store.close()
        older = path.read_bytes()
        with Store.open(path) as store:
            store.add_attempt(make_attempt())
        newer = path.read_bytes()
        path.write_bytes(older)
        with pytest.raises(StoreError, match=r"1 acknowledged commits are missing.*or an older copy"):
            Store.open(path)
        path.write_bytes(newer)
        with Store.open(path) as store:
            assert store.attempts("r1") == [make_attempt()]

    def test_a_flipped_byte_is_told_and_the_file_left_as_it_is(
        self, path: Path, store: Store, run: Run
    ) -> None:
        store.close()
        damaged = path.read_bytes().replace(b"Launch on Friday", b"Launch on Monday")
        path.write_bytes(damaged)
        with Store.open(path) as store, pytest.raises(StoreError) as refusal:
            store.bundle("plans")
        assert "damaged, put a copy in its place; its files are left as they are: " in str(refusal.value)
        assert path.read_bytes() == damaged

    def test_a_kill_while_duckdb_writes_over_its_metadata_does_no_harm(self, path: Path, killed: int) -> None:
        """DuckDB 2.0 does so in place; half a block would be damage that loses the whole store."""
        other = path.with_name("other.duckdb")
        for ending in ("", ".wal"):
            shutil.copy(f"{path}{ending}", f"{other}{ending}")
        Store.open(other).close()
        before, moved = path.read_bytes(), other.read_bytes()
        torn = before[:12288] + moved[12288:16384] + before[16384:]
        assert torn != before
        with Undo(path) as undo:
            undo.save([0], 2**18)
        path.write_bytes(torn)
        with pytest.raises(StoreError, match="left by a process that was killed, open it once for writing"):
            Store.open(path, read_only=True)
        with Store.open(path) as store:
            assert len(store.attempts("r1")) in (killed, killed + 1)

    def test_hashing_and_copying_in_the_owner_let_nobody_in(self, path: Path, store: Store) -> None:
        sha256(path.read_bytes()).hexdigest()
        shutil.copy(path, path.with_name("copy.duckdb"))
        script = (
            "import sys; from pathlib import Path; from bundles import Store; Store.open(Path(sys.argv[1]))"
        )
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
        assert f"StoreLocked: {path}: in use by process {os.getpid()}, wait" in done.stderr

    def test_after_a_kill_a_filter_finds_what_a_scan_finds(self, path: Path, killed: int) -> None:
        with Store.open(path) as store:
            page = store.attempts_page("r1", limit=killed + 1).attempts
            for attempt in page:
                found = store.attempts_page("r1", AttemptFilter(arm="plain", unit=attempt.unit_id))
                assert attempt in found.attempts
            assert store.attempts("r1") == list(page)


class TestOpening:
    def test_missing_one_is_made_only_if_asked(self, path: Path) -> None:
        with pytest.raises(StoreError, match="no such store, import or run a suite first"):
            Store.open(path, create=False)
        assert list(path.parent.iterdir()) == []
        Store.open(path).close()
        Store.open(path, create=False).close()

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"hello" * 2_000, id="text"),
            pytest.param(b"SQLite format 3\0" * 256, id="sqlite"),
        ],
    )
    def test_other_file_is_refused_and_left_alone(self, content: bytes, path: Path) -> None:
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"évals.duckdb: not a redraft store, give another path$"):
            Store.open(path)
        assert path.read_bytes() == content
        assert list(path.parent.iterdir()) == [path]

    def test_other_files_beside_a_store_are_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "poetry.lock").write_text("precious")
        Store.open(tmp_path / "poetry").close()
        assert (tmp_path / "poetry.lock").read_text() == "precious"

    def test_damaged_file_is_refused(self, path: Path) -> None:
        Store.open(path).close()
        path.write_bytes(path.read_bytes()[:4096])
        with pytest.raises(StoreError) as refusal:
            Store.open(path)
        assert len(str(refusal.value).splitlines()) == 1

    @pytest.mark.parametrize(
        "tables", ["CREATE TABLE t (i INTEGER)", "CREATE TABLE redraft_store (i INTEGER)"]
    )
    def test_foreign_duckdb_file_is_refused(self, tables: str, path: Path) -> None:
        with duckdb.connect(path) as connection:
            connection.execute(tables)
        for _ in range(2):  # the first refusal must let go of the file
            with pytest.raises(StoreError, match="a DuckDB file but not a redraft store"):
                Store.open(path)

    @pytest.mark.parametrize(
        ("versions", "message"),
        [
            pytest.param("(99)", "store format 99, this redraft reads 2: use a newer one", id="newer"),
            pytest.param("(0)", "store format 0, this redraft reads 2: give another path", id="older"),
            pytest.param("('a'), ('b')", "store format 'a', 'b', this redraft reads 2: give", id="odd"),
            pytest.param("(1), (1)", "store format 1, 1, this redraft reads 2: give", id="two"),
        ],
    )
    def test_other_format_is_refused(self, versions: str, message: str, path: Path) -> None:
        with duckdb.connect(path) as connection:
            connection.execute(
                f"CREATE TABLE redraft_store AS FROM (VALUES {versions}) AS v (format_version)"
            )
        with pytest.raises(StoreError, match=message):
            Store.open(path)

    def test_one_of_version_1_is_brought_up_to_date(self, path: Path) -> None:
        """A file as the first version left it; its ids stand in reports and baselines."""
        path.write_bytes(gzip.decompress(OLD_STORE.read_bytes()))
        for _ in range(2):
            with Store.open(path) as store:
                assert [(info.bundle_id[:8], info.name) for info in store.bundles()] == [
                    ("27491603", "empty"),
                    ("16b5c4ff", "plans"),
                ]
                for info in store.bundles():
                    bundle = store.bundle(info.bundle_id)
                    assert bundle_id(bundle.sessions, bundle.units, bundle.events) == info.bundle_id
                assert bundle.units[1].edited == "Old answer, mended"
                assert [run.run_id for run in store.runs()] == ["r1", "a0"]
                assert store.run("r1").provenance["tau"] == 0.1
                attempts = store.attempts("r1")
                assert [(attempt.status, attempt.held) for attempt in attempts] == [
                    ("ok", 0),
                    ("ok", 2),
                    ("error", 0),
                ]
                assert [verdict.outcome for verdict in store.verdicts("r1")] == ["pass", "unscored", "fail"]
        with duckdb.connect(path) as connection:
            assert connection.execute("SELECT format_version FROM redraft_store").fetchall() == [
                (FORMAT_VERSION,)
            ]

    @pytest.mark.parametrize("create", [True, False])
    def test_path_that_leads_nowhere_is_told(self, create: bool, tmp_path: Path) -> None:
        loop = tmp_path / "loop"
        loop.symlink_to(loop)
        with pytest.raises(StoreError, match=r"loop: Too many levels of symbolic links"):
            Store.open(loop, create=create)
        assert list(tmp_path.iterdir()) == [loop]
        for odd in ("x\0", "x\udcff"):
            with pytest.raises(StoreError, match="a store's path must be Unicode without NUL"):
                Store.open(Path(odd), create=create)

    def test_folder_that_is_missing_or_a_file_in_its_place_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match=r"No such file or directory: .*nowhere"):
            Store.open(tmp_path / "nowhere" / "store.duckdb")
        (tmp_path / "folder.duckdb").mkdir()
        with pytest.raises(StoreError, match=r"Is a directory: .*folder.duckdb"):
            Store.open(tmp_path / "folder.duckdb")

    def test_half_made_store_is_made_anew(self, path: Path) -> None:
        """A process killed while it made the store leaves these behind."""
        script = (
            "import duckdb, os, sys; connection = duckdb.connect(sys.argv[1]);"
            "connection.execute('CREATE TABLE t (i INTEGER)'); os.kill(os.getpid(), 9)"
        )
        subprocess.run([sys.executable, "-c", script, f"{path}.new"], check=False)
        assert Path(f"{path}.new.wal").exists()
        Store.open(path).close()
        assert sorted(file.name for file in path.parent.iterdir()) == [
            "évals.duckdb",
            "évals.duckdb.redraft-lock",
            "évals.duckdb.redraft-mark",
        ]

    def test_log_without_its_store_is_not_overwritten(self, path: Path) -> None:
        log = Path(f"{path}.wal")
        log.write_bytes(b"precious")
        with pytest.raises(StoreError, match=r"missing, but its log .*wal is there"):
            Store.open(path)
        assert not path.exists()
        assert log.read_bytes() == b"precious"

    def test_closed_store_says_so(self, path: Path) -> None:
        store = Store.open(path)
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.bundles()
