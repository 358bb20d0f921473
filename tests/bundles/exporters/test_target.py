from pathlib import Path

import pytest

from bundles import SuiteError
from bundles.exporters.target import new_target


def always(path: Path) -> bool:
    return True


def test_a_target_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "x"

    def fail() -> None:
        with new_target(target, always) as new:
            new.write_text("half")
            assert not target.exists()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with new_target(target, always) as new:
        new.write_text("whole")
    assert target.read_text() == "whole"


@pytest.mark.parametrize(
    ("old", "new"), [("file", "file"), ("file", "folder"), ("folder", "folder"), ("folder", "file")]
)
def test_an_earlier_export_is_replaced(old: str, new: str, tmp_path: Path) -> None:
    target = tmp_path / "x"
    for kind in (old, new):
        with new_target(target, always) as path:
            if kind == "folder":
                path.mkdir()
                (path / "part").write_text(kind)
            else:
                path.write_text(kind)
    assert target.is_dir() == (new == "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_nothing_else_is_touched(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_text("mine")
    with pytest.raises(SuiteError, match="x: is there already"), new_target(target, lambda path: False):
        pass
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    with pytest.raises(SuiteError, match="link: is there already"), new_target(link, always):
        pass
    with (
        pytest.raises(SuiteError, match="y: its folder does not exist"),
        new_target(tmp_path / "z" / "y", always),
    ):
        pass
    with pytest.raises(SuiteError, match="its folder does not exist"), new_target(Path("a\0b"), always):
        pass
    assert target.read_text() == "mine"
    assert link.is_symlink()
