import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import bundles.store
from bundles import Attempt, Run, Store, StoreError, StoreLocked, copy_store, store_state
from bundles.store_copy import TRIES
from bundles.store_undo import undo_path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copy.duckdb"


def attempts_in(copy: Path) -> list[Attempt]:
    with Store.open(copy) as opened:
        return opened.attempts("r1")


def test_a_copy_of_an_open_store_has_all_that_was_acknowledged(
    store: Store, run: Run, make_attempt: Callable[..., Attempt], target: Path
) -> None:
    made = [make_attempt(unit_id=f"u{number}") for number in range(3)]
    for attempt in made:
        store.add_attempt(attempt)
    copy_store(store.path, target)
    assert attempts_in(target) == made


def test_copying_keeps_nobody_from_the_store_and_leaves_nothing_beside_it(
    path: Path, tmp_path: Path, make_bundle: Callable[..., object], target: Path
) -> None:
    with Store.open(path):
        pass
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    copy_store(path, target)
    target.unlink()
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


def test_copies_are_whole_while_the_store_is_written_and_its_log_moved(
    store: Store,
    run: Run,
    make_attempt: Callable[..., Attempt],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundles.store, "LONGEST_LOG_BYTES", 20_000)
    acknowledged, over = [0], threading.Event()

    def write() -> None:
        while not over.is_set():
            store.add_attempt(make_attempt(unit_id=f"u{acknowledged[0]}", text="x" * 2_000))
            acknowledged[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(8):
            before = acknowledged[0]
            copy = tmp_path / f"copy-{number}.duckdb"
            copy_store(store.path, copy)
            assert len(attempts_in(copy)) >= before
    finally:
        over.set()
        writer.join()


def test_the_state_tells_whether_the_store_has_changed(
    store: Store, run: Run, make_attempt: Callable[..., Attempt]
) -> None:
    before = store_state(store.path)
    assert store_state(store.path) == before
    store.add_attempt(make_attempt())
    assert store_state(store.path) != before


def test_a_store_in_the_middle_of_a_move_is_waited_for(store: Store, run: Run, target: Path) -> None:
    undo = undo_path(store.path)
    undo.write_bytes(b"")
    copy_store(store.path, target, pause=lambda pause_s: undo.unlink())
    assert attempts_in(target) == []


def test_a_store_that_stays_in_the_middle_of_a_move_is_said_to_be(store: Store, target: Path) -> None:
    undo_path(store.path).write_bytes(b"")
    pauses: list[float] = []
    with pytest.raises(StoreLocked, match="being written, try again; if nothing writes it"):
        copy_store(store.path, target, pause=pauses.append)
    undo_path(store.path).unlink()
    assert len(pauses) == TRIES


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda path: None, "no such store", id="none"),
        pytest.param(lambda path: path.write_bytes(b"SQLite format 3\0"), "not a redraft store", id="other"),
        pytest.param(lambda path: path.write_bytes(b""), "not a redraft store", id="empty"),
        pytest.param(lambda path: path.mkdir(), "Is a directory", id="folder"),
    ],
)
def test_what_is_no_store_is_said_in_one_line(
    path: Path, target: Path, make: Callable[[Path], object], said: str
) -> None:
    make(path)
    for read in (store_state, lambda path: copy_store(path, target)):
        with pytest.raises(StoreError, match=said):
            read(path)
    assert not target.exists()


def test_a_copy_that_has_no_room_says_where(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        copy_store(store.path, tmp_path / "nowhere" / "copy.duckdb")
