import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundles import SuiteError
from bundles.importers.git.repository import MAX_DOCUMENT_BYTES, Repository, Unreadable

ALL = ["**"]


def git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", path, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_revisions_are_told_newest_first_with_moves(make_repository: Callable[..., Path]) -> None:
    text = b"one\ntwo\nthree\n"
    path = make_repository(
        {b"a.md": text}, {b"b.md": text + b"four\n", b"a.md": None}, {b"b.md": None, b"x.txt": b"x"}
    )
    repository = Repository(path)
    head = repository.commit("HEAD")
    third, second, first = repository.revisions(head, ["**/*.md"])
    assert third is not None
    assert second is not None
    assert first is not None
    assert (third.path, third.new, third.commit) == (b"b.md", None, head)
    assert (second.old_path, second.path, second.date) == (b"a.md", b"b.md", "2023-11-15T00:13:20Z")
    assert (first.old, first.path) == (None, b"a.md")
    assert second.old == first.new
    assert len(list(repository.revisions(head, ALL, since="2023-11-15T00:00:00Z"))) == 3
    assert repository.commit("main~1") == second.commit
    with repository.documents() as documents:
        assert documents.text(first.new or b"") == text.decode()


def test_paths_of_any_bytes(make_repository: Callable[..., Path]) -> None:
    names = [b'q"uote\\.md', b"new\nline.md", b"\xff\xfe.md", "é 😀.md".encode(), b":(top)x.md", b"\x1e.md"]
    repository = Repository(make_repository(dict.fromkeys(names, b"x")))
    found = list(repository.revisions(repository.commit("HEAD"), ["**/*.md"]))
    assert {revision.path for revision in found if revision} == set(names)


def test_patterns_keep_to_folders(make_repository: Callable[..., Path]) -> None:
    repository = Repository(make_repository({b"a.md": b"", b"docs/b.md": b"", b"docs/c/d.md": b""}))

    def paths(*patterns: str) -> set[bytes]:
        found = repository.revisions(repository.commit("HEAD"), patterns)
        return {revision.path for revision in found if revision}

    assert paths("docs/*.md") == {b"docs/b.md"}
    assert paths("docs/**/*.md") == {b"docs/b.md", b"docs/c/d.md"}
    assert paths("*.md", ":(exclude)a.md") == set()
    assert paths("**/*.md") == {b"a.md", b"docs/b.md", b"docs/c/d.md"}


def test_what_is_no_text_is_told_and_what_follows_is_read(make_repository: Callable[..., Path]) -> None:
    contents = {
        b"binary": b"a\0b",
        b"huge": b"x" * (MAX_DOCUMENT_BYTES + 1),
        b"latin": "é".encode("latin-1"),
        b"utf16": "é".encode("utf-16"),
        b"bom": b"\xef\xbb\xbfx",
        b"empty": b"",
        b"last": b"end",
    }
    repository = Repository(make_repository(contents))
    with repository.documents() as documents:
        objects = {
            revision.path: revision.new
            for revision in repository.revisions(repository.commit("HEAD"), ALL)
            if revision
        }
        found = {path: documents.text(name or b"") for path, name in objects.items()}
        assert documents.text(b"0" * 40) == Unreadable("not in this clone")
    assert found == {
        b"binary": Unreadable("binary"),
        b"huge": Unreadable("larger than 2,000,000 bytes"),
        b"latin": Unreadable("not UTF-8"),
        b"utf16": "é",
        b"bom": "x",
        b"empty": "",
        b"last": "end",
    }


def test_merges_are_told_apart(make_repository: Callable[..., Path]) -> None:
    path = make_repository({b"a.md": b"a"}, {b"a.md": b"b"})
    tree = git(path, "rev-parse", "HEAD^{tree}")
    who = ["-c", "user.name=A", "-c", "user.email=a@x"]
    merge = git(path, *who, "commit-tree", tree, "-p", "HEAD", "-p", "HEAD~1", "-m", "m")
    assert None not in list(Repository(path).revisions(merge, ALL))
    other = git(path, *who, "commit-tree", git(path, "rev-parse", "HEAD~1^{tree}"), "-p", "HEAD~1", "-m", "o")
    blob = subprocess.run(
        ["git", "-C", path, "hash-object", "-w", "--stdin"], input=b"c", capture_output=True, check=True
    )
    listing = f"100644 blob {blob.stdout.decode().strip()}\ta.md\n"
    evil = subprocess.run(
        ["git", "-C", path, "mktree"], input=listing.encode(), capture_output=True, check=True
    )
    merge = git(path, *who, "commit-tree", evil.stdout.decode().strip(), "-p", "HEAD", "-p", other, "-m", "m")
    assert next(Repository(path).revisions(merge, ALL)) is None


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        (None, "guides"),
        ("https://user:secret@git.example/ava/guides.git", "ava/guides"),
        ("git@git.example:ava/guides", "ava/guides"),
        ("ssh://git@git.example:22/team/ava/guides.git/", "ava/guides"),
        ("file:///home/ava/private", "guides"),
        ("../elsewhere", "guides"),
    ],
)
def test_a_repository_is_called_as_where_it_comes_from(
    remote: str | None, name: str, make_repository: Callable[..., Path]
) -> None:
    path = make_repository({b"docs/a.md": b"a"})
    if remote:
        git(path, "remote", "add", "origin", remote)
    git(path, "read-tree", "HEAD")
    (path / "docs").mkdir()
    assert Repository(path).name() == Repository(path / "docs").name() == name


def test_bare_and_shallow_clones_are_read(make_repository: Callable[..., Path], tmp_path: Path) -> None:
    bare = make_repository({b"a.md": b"a"}, {b"a.md": b"b"}, name="guides.git", bare=True)
    assert Repository(bare).name() == "guides"
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", bare.as_uri(), shallow], check=True)
    (only,) = Repository(shallow).revisions(Repository(shallow).commit("HEAD"), ["**"])
    assert only is not None
    assert only.old is None


def test_settings_of_the_user_and_the_shell_change_nothing(
    make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = make_repository({b"docs/a.md": b"x\n" * 9}, {b"docs/b.md": b"x\n" * 9, b"docs/a.md": None})
    before = list(Repository(path).revisions(Repository(path).commit("HEAD"), ["docs/*.md"]))
    settings = tmp_path / "settings"
    settings.write_text(
        "[log]\nshowSignature = true\nfollow = true\nshowRoot = false\n[color]\nui = always\n"
        "[diff]\nrelative = true\nrenames = false\n[format]\npretty = oneline\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert list(Repository(path).revisions(Repository(path).commit("HEAD"), ["docs/*.md"])) == before


def test_stopping_early_leaves_no_process(
    make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    repository = Repository(make_repository(*({b"a.md": b"%d" % number} for number in range(50))))
    head = repository.commit("HEAD")
    monkeypatch.setattr(subprocess, "Popen", Noted)
    revisions = repository.revisions(head, ALL)
    next(revisions)
    revisions.close()  # type: ignore[attr-defined]
    with repository.documents():
        pass
    assert [process.returncode is None for process in started] == [False, False]


class TestNothingToRead:
    def test_no_folder_or_no_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        with pytest.raises(SuiteError, match="gone: no such folder, name a git repository"):
            Repository(tmp_path / "gone")
        with pytest.raises(SuiteError, match="no such folder"):
            Repository(Path("a\0b"))
        (tmp_path / "plain").mkdir()
        with pytest.raises(SuiteError, match="plain: git cannot read it: not a git repository"):
            Repository(tmp_path / "plain")

    def test_no_commit_or_no_such_revision(self, make_repository: Callable[..., Path]) -> None:
        empty = Repository(make_repository(name="empty"))
        with pytest.raises(SuiteError, match="empty: the repository has no commit yet"):
            empty.commit("HEAD")
        repository = Repository(make_repository({b"a": b""}))
        for revision in ("v9", "--all", "HEAD~5", "a..b", "x\n"):
            with pytest.raises(SuiteError, match=r"no commit .* name a branch, a tag or a commit"):
                repository.commit(revision)

    def test_no_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SuiteError, match="git is not installed"):
            Repository(tmp_path)

    def test_a_damaged_repository_is_said(self, make_repository: Callable[..., Path]) -> None:
        path = make_repository({b"a.md": b"a"}, {b"a.md": b"b"})
        repository = Repository(path)
        head = repository.commit("HEAD")
        shutil.rmtree(path / ".git" / "objects" / "pack")
        for loose in (path / ".git" / "objects").glob("??/*"):
            loose.unlink()
        with pytest.raises(SuiteError, match="guides: git cannot read it: "):
            list(repository.revisions(head, ALL))
