from pathlib import Path

import pytest

from bundles.mark import Mark, Marked, read_mark

OWNER = b"a" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mark"


def test_says_what_was_noted_last(path: Path) -> None:
    assert read_mark(path) is None
    with Mark(path, Marked(OWNER, 3)) as mark:
        assert read_mark(path) == Marked(OWNER, 3)
        for number in (4, 5, 9):
            mark.advance(number)
            assert read_mark(path) == Marked(OWNER, number)
            assert mark.number == number
    with Mark(path, Marked(OWNER, 2)):
        assert read_mark(path) == Marked(OWNER, 2)


def test_one_of_another_owner_is_replaced(path: Path) -> None:
    Mark(path, Marked(OWNER, 3)).close()
    Mark(path, Marked(b"b" * 16, 1)).close()
    assert read_mark(path) == Marked(b"b" * 16, 1)
    assert list(path.parent.iterdir()) == [path]


def test_damaged_it_says_an_earlier_number_or_nothing(path: Path) -> None:
    """Every flipped byte and every length: never a number that was not noted."""
    with Mark(path, Marked(OWNER, 7)) as mark:
        mark.advance(8)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        assert read_mark(path) in (Marked(OWNER, 7), Marked(OWNER, 8))
        path.write_bytes(whole[:place])
        assert read_mark(path) in (None, Marked(OWNER, 7), Marked(OWNER, 8))
