from collections.abc import Callable
from pathlib import Path

import pytest

import replay.view.library
from bundles import Store, StoreError, StoreLocked
from replay.view.library import Library


def runs_in(library: Library) -> int:
    with library.reading() as reading:
        return reading.store.runs_page().total


def test_a_store_that_a_run_has_open_is_read_as_it_grows(path: Path, make) -> None:
    with Library(path, rest=0) as library, Store.open(path) as store:
        assert runs_in(library) == 0
        make.evaluated().stored(store)
        assert runs_in(library) == 1
        with library.reading() as reading:
            assert reading.is_open
            assert not reading.is_behind


def test_a_viewer_keeps_nobody_from_the_store(path: Path, make) -> None:
    with Library(path, rest=0) as library, library.reading() as reading:
        with Store.open(path) as store:
            make.evaluated().stored(store)
        assert reading.store.runs_page().total == 0
        assert not reading.is_open


def test_what_was_worked_out_is_kept_until_the_store_changes(path: Path, keep, make) -> None:
    made: list[int] = []
    with Library(path, rest=0) as library:
        for change in (False, False, True):
            if change:
                keep(make.evaluated())
            with library.reading() as reading:
                reading.remembered("answer", lambda: made.append(1))
    assert len(made) == 2


def test_a_store_is_not_copied_again_at_once(path: Path, keep, make) -> None:
    with Library(path, rest=1e9) as library:
        assert runs_in(library) == 0
        keep(make.evaluated())
        assert runs_in(library) == 0


def test_while_no_copy_can_be_made_the_last_one_is_shown(
    path: Path, keep, make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreLocked("it is being written")

    with Library(path, rest=0) as library:
        assert runs_in(library) == 0
        keep(make.evaluated())
        monkeypatch.setattr(replay.view.library, "copy_store", refuse)
        with library.reading() as reading:
            assert (reading.store.runs_page().total, reading.is_behind) == (0, True)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_store_that_is_not_there_is_said(path: Path, when: str) -> None:
    if when == "before":
        path.unlink()
        with pytest.raises(StoreError, match="no such store"):
            Library(path)
    else:
        with Library(path) as library:
            path.unlink()
            with pytest.raises(StoreError, match="no such store"), library.reading():
                pass


def test_nothing_is_left_of_the_copies(
    path: Path, keep: Callable[..., None], make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with Library(path, rest=0) as library:
        for _ in range(2):
            runs_in(library)
            if not any(temporary.glob("*/copy-2*")):
                keep(make.evaluated())
        (folder,) = temporary.iterdir()
        assert {name.name.split(".")[0] for name in folder.iterdir()} == {"copy-2"}
    assert list(temporary.iterdir()) == []
