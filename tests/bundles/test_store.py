import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import (
    Attempt,
    Bundle,
    DuplicateAttempt,
    Run,
    Source,
    Store,
    StoreError,
    StoreLocked,
    Unit,
    UnknownRef,
    Verdict,
)

# What a second process does with a store: open it, say so, and go on as told by its arguments.
PROCESS = """
import resource, sys
from itertools import count
from pathlib import Path
import duckdb
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
        with duckdb.connect(path) as connection:
            connection.execute("SET checkpoint_threshold = '100KB'")
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "évals.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as store:
        yield store


@pytest.fixture
def bundle(make_bundle: Callable[..., Bundle]) -> Bundle:
    return make_bundle()


@pytest.fixture
def run(store: Store, bundle: Bundle, make_run: Callable[..., Run]) -> Run:
    store.add_bundle(bundle)
    run = make_run(bundle)
    store.create_run(run)
    return run


class TestBundles:
    @settings(max_examples=10)
    @given(data=st.data())
    def test_comes_back_equal_and_once(
        self, any_bundle: st.SearchStrategy[Bundle], data: st.DataObject
    ) -> None:
        bundles = data.draw(st.lists(any_bundle, max_size=5, unique_by=lambda bundle: bundle.bundle_id))
        with TemporaryDirectory() as folder:
            path = Path(folder, "store.duckdb")
            with Store.open(path) as store:
                assert [store.add_bundle(bundle) for bundle in bundles] == [True] * len(bundles)
            with Store.open(path) as store:
                for bundle in bundles:
                    assert store.bundle(bundle.bundle_id) == bundle
                    assert not store.add_bundle(replace(bundle, name="again", units=bundle.units[::-1]))
                assert len(store.bundles()) == len(bundles)

    def test_texts_of_several_bundles_are_stored_once(
        self, path: Path, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        again = make_unit("u2", sources_after=(Source("plan", "Launch on Sunday."),))
        with Store.open(path) as store:
            store.add_bundle(make_bundle(name="one"))
            store.add_bundle(make_bundle(make_unit(), again, name="two"))
            store.add_bundle(make_bundle(name="three"))
            assert [(info.name, info.sessions, info.units) for info in store.bundles()] == [
                ("one", 1, 1),
                ("two", 1, 2),
            ]
        with duckdb.connect(path) as connection:
            texts = connection.execute("SELECT text FROM revisions ORDER BY text").fetchall()
        assert texts == [
            ("Launch on Friday.",),
            ("Launch on Monday.",),
            ("Launch on Sunday.",),
            ("Summarise.",),
        ]

    def test_found_by_name_or_beginning_of_id(self, store: Store, bundle: Bundle) -> None:
        store.add_bundle(bundle)
        assert store.bundle("plans") == store.bundle(bundle.bundle_id[:6]) == bundle

    def test_unknown_or_ambiguous_names_are_told(
        self, store: Store, bundle: Bundle, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        with pytest.raises(UnknownRef, match="no bundle 'plans' in the store, there are: none"):
            store.bundle("plans")
        store.add_bundle(bundle)
        for ref in ("", "plan", "'; DROP TABLE bundles"):
            with pytest.raises(UnknownRef, match="in the store, there are: plans"):
                store.bundle(ref)
        other = make_bundle(make_unit(canary=True))
        store.add_bundle(other)
        with pytest.raises(UnknownRef, match=f"bundle 'plans' is ambiguous.*{other.bundle_id}"):
            store.bundle("plans")

    def test_whole_id_wins_over_a_name(
        self, store: Store, bundle: Bundle, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        store.add_bundle(bundle)
        store.add_bundle(make_bundle(make_unit("u2"), name=bundle.bundle_id))
        assert store.bundle(bundle.bundle_id) == bundle


class TestRuns:
    def test_comes_back_equal_and_finishes(self, store: Store, run: Run) -> None:
        assert store.run("r1") == store.run("last") == run
        store.finish_run("r1", "2025-01-02T04:00:00Z")
        assert store.runs() == [replace(run, finished="2025-01-02T04:00:00Z")]

    def test_last_is_the_one_stored_last(self, path: Path, store: Store, run: Run) -> None:
        """Whatever its clock says, and whichever ended last."""
        for run_id, started in (("a1", run.started), ("a0", "2024-01-01T00:00:00Z")):
            store.create_run(replace(run, run_id=run_id, started=started))
        for run_id in ("a1", "r1"):
            store.finish_run(run_id, "2025-01-03T00:00:00Z")
        assert store.run("last").run_id == "a0"
        with pytest.raises(UnknownRef, match="run 'a' is ambiguous, there are: a1, a0"):
            store.run("a")
        store.close()
        with Store.open(path) as store:
            assert [run.run_id for run in store.runs()] == ["r1", "a1", "a0"]

    def test_refused_without_its_bundle_or_under_a_taken_id(self, store: Store, run: Run) -> None:
        with pytest.raises(UnknownRef, match="run r2: bundle nowhere is not in the store"):
            store.create_run(replace(run, run_id="r2", bundle_id="nowhere"))
        with pytest.raises(StoreError, match="run r1 is already in the store"):
            store.create_run(run)

    @pytest.mark.parametrize(
        "changes",
        [
            pytest.param({"seed": 2**63}, id="seed"),
            pytest.param({"repeats": 2**31}, id="repeats"),
            pytest.param({"arms": ("\ud800",)}, id="surrogate"),
        ],
    )
    def test_values_that_no_table_holds_are_refused(
        self, changes: dict[str, Any], path: Path, store: Store, run: Run
    ) -> None:
        with pytest.raises(StoreError) as refusal:
            store.create_run(replace(run, run_id="r2", **changes))
        assert str(refusal.value).startswith(f"{path}: ")
        assert len(str(refusal.value).splitlines()) == 1
        assert store.runs() == [run]

    def test_unknown_run_is_told_everywhere(self, store: Store, make_attempt: Callable[..., Attempt]) -> None:
        for call in (
            lambda: store.run("last"),
            lambda: store.finish_run("r1", "now"),
            lambda: store.add_attempt(make_attempt()),
            lambda: store.attempts("r1"),
            lambda: store.replace_verdicts("r1", []),
            lambda: store.verdicts("r1"),
        ):
            with pytest.raises(UnknownRef, match="in the store"):
                call()


class TestAttempts:
    def test_come_back_equal_in_order(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        attempts = [
            make_attempt(arm="control", order=0),
            make_attempt(order=1),
            make_attempt(repeat=1, status="error", error="503: ‘full’", text="", token_ids=(), spans=()),
            make_attempt(unit_id="u2", order=0),
        ]
        for attempt in attempts[::-1]:
            store.add_attempt(attempt)
        assert store.attempts("r1") == attempts

    @pytest.mark.parametrize("status", ["error", "timeout"])
    def test_failed_one_is_replaced_and_its_verdicts_go(
        self,
        status: str,
        path: Path,
        store: Store,
        run: Run,
        make_attempt: Callable[..., Attempt],
    ) -> None:
        store.add_attempt(make_attempt(status=status))
        store.add_attempt(make_attempt(status=status, error="again"))
        assert store.attempts("r1") == [make_attempt(status=status, error="again")]
        store.close()
        with Store.open(path) as store:
            its_own, another = (
                Verdict("r1", unit_id, "plain", 0, "e", "unscored", "facts", 1) for unit_id in ("u1", "u2")
            )
            store.replace_verdicts("r1", [its_own, another])
            store.add_attempt(make_attempt())
            assert store.attempts("r1") == [make_attempt()]
            assert store.verdicts("r1") == [another]

    def test_good_one_is_not(
        self, path: Path, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        store.add_attempt(make_attempt())
        with pytest.raises(DuplicateAttempt, match="run r1: unit 'u1', arm 'plain', repeat 0 is already"):
            store.add_attempt(make_attempt(text="other"))
        store.close()
        with Store.open(path) as store:
            with pytest.raises(DuplicateAttempt):
                store.add_attempt(make_attempt(status="error"))
            assert store.attempts("r1") == [make_attempt()]

    def test_one_that_cannot_be_stored_leaves_no_trace(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        for changes, message in (({"text": "\ud800"}, "surrogate"), ({"rows": 2**31}, "INT32")):
            with pytest.raises(StoreError, match=message):
                store.add_attempt(make_attempt(**changes))
        store.add_attempt(make_attempt())
        assert store.attempts("r1") == [make_attempt()]

    def test_runs_do_not_mix(self, store: Store, run: Run, make_attempt: Callable[..., Attempt]) -> None:
        store.create_run(replace(run, run_id="r2"))
        store.add_attempt(make_attempt("r1"))
        store.add_attempt(make_attempt("r2"))
        assert store.attempts("r2") == [make_attempt("r2")]


class TestVerdicts:
    def test_replace_all_of_their_run_and_no_other(self, store: Store, run: Run) -> None:
        store.create_run(replace(run, run_id="r2"))
        one = Verdict("r1", "u1", "plain", 0, "expect-1", "pass", "facts", 1, (3, 9))
        other = Verdict("r2", "u1", "plain", 0, "expect-1", "unscored", "facts", 1, None, "no matcher")
        store.replace_verdicts("r1", [one, replace(one, fact_id="forbid-1", evidence=None)])
        store.replace_verdicts("r2", [other])
        store.replace_verdicts("r1", [one])
        assert store.verdicts("r1") == [one]
        store.replace_verdicts("r1", [])
        assert store.verdicts("r1") == []
        assert store.verdicts("r2") == [other]

    def test_refused_for_another_run(self, store: Store, run: Run) -> None:
        with pytest.raises(StoreError, match="run r1: a verdict of run r2 is not one of its own"):
            store.replace_verdicts("r1", [Verdict("r2", "u1", "plain", 0, "e", "pass", "facts", 1)])

    def test_value_that_no_table_holds_changes_nothing(self, store: Store, run: Run) -> None:
        verdict = Verdict("r1", "u1", "plain", 0, "e", "pass", "facts", 1)
        store.replace_verdicts("r1", [verdict])
        for changes in ({"reason": "\ud800"}, {"judge_version": 2**31}):
            with pytest.raises(StoreError):
                store.replace_verdicts("r1", [replace(verdict, **changes)])
        assert store.verdicts("r1") == [verdict]

    def test_refused_when_one_is_given_twice(self, store: Store, run: Run) -> None:
        verdict = Verdict("r1", "u1", "plain", 0, "e", "pass", "facts", 1)
        with pytest.raises(
            StoreError, match="run r1: 2 verdicts of unit 'u1', arm 'plain', repeat 0, fact 'e'"
        ):
            store.replace_verdicts("r1", [verdict, replace(verdict, outcome="fail")])


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
            except DuplicateAttempt:
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
            with pytest.raises(DuplicateAttempt):
                store.add_attempt(replace(store.attempts("r1")[0], text="again"))


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
            pytest.param("(99)", "store format 99, this redraft reads 1: use a newer one", id="newer"),
            pytest.param("(0)", "store format 0, this redraft reads 1: give another path", id="older"),
            pytest.param("('a'), ('b')", "store format 'a', 'b', this redraft reads 1: give", id="odd"),
            pytest.param("(1), (1)", "store format 1, 1, this redraft reads 1: give", id="two"),
        ],
    )
    def test_other_format_is_refused(self, versions: str, message: str, path: Path) -> None:
        with duckdb.connect(path) as connection:
            connection.execute(
                f"CREATE TABLE redraft_store AS FROM (VALUES {versions}) AS v (format_version)"
            )
        with pytest.raises(StoreError, match=message):
            Store.open(path)

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


def test_provenance_is_plain_json_to_other_tools(path: Path, store: Store, run: Run) -> None:
    store.close()
    with duckdb.connect(path, read_only=True) as connection:
        (text,) = connection.execute("SELECT provenance FROM runs").fetchall()[0]
    assert json.loads(text) == run.provenance
