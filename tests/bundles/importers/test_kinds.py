from collections.abc import Callable
from pathlib import Path

import pytest

from bundles import Bundle, Journal, SuiteError, export_bundle, kind_of


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("s.toml", "", "suite"),
        ("s.yaml", "", "suite"),
        ("s.json", "[]", "suite"),
        ("gone.jsonl", None, "suite"),
        ("s.jsonl", '{"id": "a", "question": "q"}', "suite"),
        ("s.jsonl", "{\n7\n", "suite"),
        ("s.JSONL", '\n{"request": {}, "response": {}}', "chat"),
        ("s.jsonl", '{\n{"messages": [], "response": "x"}', "chat"),
        ("s.jsonl", '{"body": {}, "response": {}}', "chat"),
    ],
)
def test_files_are_told_by_what_they_hold(name: str, content: str | None, kind: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert kind_of(tmp_path / name) == kind


def test_folders_are_told_by_what_they_hold(make_bundle: Callable[..., Bundle], tmp_path: Path) -> None:
    export_bundle(make_bundle(), tmp_path / "bundle", "parquet")
    export_bundle(make_bundle(), tmp_path / "loom", "loom")
    with Journal.open(tmp_path / "journal"):
        pass
    (tmp_path / "git" / ".git").mkdir(parents=True)
    (tmp_path / "bare" / "objects").mkdir(parents=True)
    (tmp_path / "bare" / "HEAD").touch()
    found = {path.name: kind_of(path) for path in tmp_path.iterdir() if path.is_dir()}
    assert found == {"bundle": "bundle", "loom": "loom", "journal": "journal", "git": "git", "bare": "git"}


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", Path("a\0b")):
        with pytest.raises(SuiteError, match=r"no such file or folder"):
            kind_of(path)


def test_what_may_be_two_things_or_none_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="holds no bundle, Loom directory, journal or git repository"):
        kind_of(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "refreshes.jsonl").touch()
    with pytest.raises(SuiteError, match="may be loom or git, say which with --as"):
        kind_of(tmp_path)
