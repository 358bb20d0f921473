from pathlib import Path

import duckdb
import pytest

from bundles import StoreError
from bundles.mark import Mark, Marked, read_mark
from bundles.store_guard import check_magic, checked_mark, keep_log, new_id, real_path, remove_left_over

STORE_ID = "61" * 16


def counted(commits: int) -> duckdb.DuckDBPyConnection:
    """A store as far as its commits go."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE redraft_store AS SELECT ? AS store_id, ? AS commits", [STORE_ID, commits]
    )
    return connection


@pytest.mark.parametrize(
    ("owner", "said", "commits", "refused"),
    [
        pytest.param(STORE_ID, 7, 7, False, id="all there"),
        pytest.param(STORE_ID, 7, 8, False, id="one more, not acknowledged"),
        pytest.param(STORE_ID, 7, 6, True, id="one missing"),
        pytest.param("62" * 16, 7, 6, False, id="another store's mark"),
    ],
)
def test_a_store_must_have_what_its_mark_says(
    owner: str, said: int, commits: int, refused: bool, tmp_path: Path
) -> None:
    path, kept = tmp_path / "s.duckdb", tmp_path / "kept"
    mark = tmp_path / "s.duckdb.redraft-mark"
    Mark(mark, Marked(bytes.fromhex(owner), said)).close()
    kept.touch()
    with counted(commits) as cursor:
        if refused:
            with pytest.raises(StoreError, match=r"1 acknowledged commits are missing: its log \(kept as it"):
                checked_mark(path, cursor, kept)
        else:
            checked_mark(path, cursor, kept).close()
    assert kept.exists() == refused
    assert read_mark(mark) == Marked(bytes.fromhex(STORE_ID), 7 if refused else commits)


def test_a_log_is_kept_once_however_often_it_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    assert keep_log(path) is None
    log = tmp_path / "s.duckdb.wal"
    for content in (b"one", b"one", b"two"):
        log.write_bytes(content)
        kept = keep_log(path)
        assert kept
        assert kept.read_bytes() == content
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "s.duckdb.wal",
        "s.duckdb.wal.kept",
        "s.duckdb.wal.kept.1",
    ]


def test_a_path_is_followed_and_must_be_text(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "store")
    assert real_path(tmp_path / "link") == (tmp_path / "store").resolve()
    with pytest.raises(StoreError, match="without NUL"):
        real_path(Path("a\0b"))


def test_only_a_duckdb_file_is_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    duckdb.connect(path).close()
    check_magic(path)
    path.write_bytes(b"else")
    with pytest.raises(StoreError, match="not a redraft store"):
        check_magic(path)


def test_what_a_kill_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("s.new", "s.new.wal", "s", "s.wal"):
        (tmp_path / name).touch()
    remove_left_over(tmp_path / "s.new")
    remove_left_over(tmp_path / "s.new")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s", "s.wal"]


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(99)}) == 99
