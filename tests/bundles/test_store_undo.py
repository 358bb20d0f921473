from pathlib import Path

import pytest

from bundles.store_undo import Undo, settle, undo_path

BLOCK = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is laid out as DuckDB's: a header that stays, two that change, then blocks."""
    path = tmp_path / "s.duckdb"
    path.write_bytes(b"H" * 4096 + b"1" * 4096 + b"2" * 4096 + b"a" * BLOCK + b"b" * BLOCK + b"c" * BLOCK)
    return path


def write(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def test_blocks_are_put_back_where_no_header_was_written(path: Path) -> None:
    before = path.read_bytes()
    with Undo(path) as undo:
        undo.save([0, 2], BLOCK)
    write(path, 12288, b"torn")
    write(path, 12288 + 2 * BLOCK, b"torn too")
    settle(path)
    assert path.read_bytes() == before
    assert not undo_path(path).exists()


@pytest.mark.parametrize("header", [4096, 8191, 8192, 12287])
def test_nothing_is_put_back_once_a_header_was_written(header: int, path: Path) -> None:
    with Undo(path) as undo:
        undo.save([0], BLOCK)
    write(path, 12288, b"new")
    write(path, header, b"!")
    after = path.read_bytes()
    settle(path)
    assert path.read_bytes() == after
    assert not undo_path(path).exists()


def test_what_is_done_is_not_undone(path: Path) -> None:
    with Undo(path) as undo:
        undo.save([0], BLOCK)
        write(path, 12288, b"new")
        undo.drop()
    after = path.read_bytes()
    settle(path)
    assert path.read_bytes() == after


def test_damaged_copies_are_not_put_back(path: Path) -> None:
    with Undo(path) as undo:
        undo.save([0], BLOCK)
    copies = undo_path(path)
    write(path, 12288, b"new")
    after = path.read_bytes()
    whole = copies.read_bytes()
    for damaged in (whole[:-1], whole[:9], b"", whole.replace(b"aaa", b"aba", 1)):
        copies.write_bytes(damaged)
        settle(path)
        assert path.read_bytes() == after
