"""A git repository, read through the `git` command.

Invariant: nothing is written, fetched or run but git's own reading; memory holds one commit and one document
at a time, however long the history is; and the user's settings of git change nothing that is read.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from bundles.brief import brief
from bundles.errors import SuiteError

MAX_DOCUMENT_BYTES = 2_000_000
_CHUNK = 1 << 20
# Variables that would make git read another repository than the one that is named.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_PLAIN = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
_SETTINGS = ("log.follow=false", "log.showRoot=true", "diff.relative=false", "protocol.allow=never")
_REMOTE = re.compile(r"(?!file:)(?:\w+://|[^/]+@|[\w.-]+:).*?([^/:]+/[^/:]+?)(?:\.git)?/*\Z")


@dataclass(frozen=True, slots=True)
class Revision:
    """One document as one commit changed it; `old_path` differs from `path` where it was moved.

    Objects are None where the commit added or removed the document. `mode` is that of the new state.
    """

    commit: str
    date: str
    path: bytes
    old_path: bytes
    old: bytes | None
    new: bytes | None
    mode: bytes

    @property
    def is_file(self) -> bool:
        """Whether it is a file, and neither a link nor another repository."""
        return self.mode in (b"100644", b"100755", b"000000")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a document is not read."""

    reason: str


class Repository:
    """The repository that a folder is, or is in; raises `SuiteError` where there is none to read."""

    def __init__(self, path: Path) -> None:
        if "\0" in str(path) or not path.is_dir():
            raise SuiteError(f"{path}: no such folder, name a git repository")
        self.path = path
        try:
            self._ask("rev-parse", "--git-dir")
        except FileNotFoundError:
            raise SuiteError(f"{path}: git is not installed, a history cannot be read without it") from None

    def name(self) -> str:
        """Owner and name of where it was cloned from, or else the name of its folder."""
        remote = self._ask("config", "--get", "remote.origin.url", may_fail=True)
        if found := _REMOTE.match(remote):
            return found[1]
        folder = self._ask("rev-parse", "--path-format=absolute", "--git-common-dir")
        place = Path(folder)
        return (place.parent if place.name == ".git" else place).name.removesuffix(".git") or "repository"

    def commit(self, revision: str) -> str:
        """The id of the commit that a branch, tag or other expression means."""
        if found := self._ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}", may_fail=True
        ):
            return found
        if revision == "HEAD":
            raise SuiteError(f"{self.path}: the repository has no commit yet, there is nothing to import")
        raise SuiteError(f"{self.path}: no commit {brief(revision)}, name a branch, a tag or a commit")

    def revisions(
        self, commit: str, patterns: Sequence[str], since: str | None = None
    ) -> Iterator[Revision | None]:
        """What commits did to documents, newest first; None for a merge, whose parents tell it all.

        `patterns` are paths in which `*` stays within a folder and `**` does not.
        """
        arguments = ["log", "--raw", "-r", "-z", "--no-abbrev", "-M", "--no-color", "--no-show-signature"]
        arguments += [] if since is None else [f"--since={since}"]
        wanted = [pattern if pattern.startswith(":") else f":(glob){pattern}" for pattern in patterns]
        with self._running(*arguments, "--format=%x1e%H %at %P", commit, "--", *wanted) as process:
            assert process.stdout is not None
            yield from _revisions(_fields(process.stdout))

    @contextmanager
    def documents(self) -> Iterator["Documents"]:
        """Reads documents by their objects."""
        with self._running("cat-file", "--batch") as process:
            yield Documents(process)
            assert process.stdin is not None
            process.stdin.close()

    def _command(self, *arguments: str) -> list[str]:
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        return ["git", "-C", str(self.path), *settings, *arguments]

    def _ask(self, *arguments: str, may_fail: bool = False) -> str:
        done = subprocess.run(self._command(*arguments), capture_output=True, env=_environment(), check=False)
        if done.returncode and not may_fail:
            raise SuiteError(f"{self.path}: {_complaint(done.stderr)}")
        return "" if done.returncode else os.fsdecode(done.stdout).strip("\n")

    @contextmanager
    def _running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A git process; raises `SuiteError` where it fails, and ends it where its reader stops."""
        pipe = subprocess.PIPE
        with TemporaryFile() as said:
            process = subprocess.Popen(
                self._command(*arguments), stdin=pipe, stdout=pipe, stderr=said, env=_environment()
            )
            with process:
                try:
                    yield process
                except BaseException:
                    process.kill()
                    raise
            if process.returncode:
                said.seek(0)
                raise SuiteError(f"{self.path}: {_complaint(said.read())}")


class Documents:
    """The texts of a repository's objects."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._requests: IO[bytes] = process.stdin
        self._answers: IO[bytes] = process.stdout

    def text(self, name: bytes) -> str | Unreadable:
        """The text of an object, or why it is none that is read."""
        self._requests.write(name + b"\n")
        self._requests.flush()
        line = self._answers.readline()
        if not line:
            raise SuiteError(f"git ended before it had given object {name.decode('ascii')}")
        header = line.split()
        if len(header) != 3:
            return Unreadable("not in this clone")
        size = int(header[2])
        if size > MAX_DOCUMENT_BYTES:
            left = size + 1
            while left > 0:
                left -= len(self._answers.read(min(left, _CHUNK)))
            return Unreadable(f"larger than {MAX_DOCUMENT_BYTES:,} bytes")
        return _decoded(self._answers.read(size + 1)[:-1])


def _decoded(raw: bytes) -> str | Unreadable:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in raw:
        return Unreadable("binary")
    else:
        encoding = "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return Unreadable("not UTF-8")


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """What stands between NUL bytes."""
    rest = b""
    while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole


def _revisions(fields: Iterator[bytes]) -> Iterator[Revision | None]:
    commit = date = ""
    is_merge = False
    for field in fields:
        if field.startswith(b"\x1e"):
            commit, seconds, *parents = field[1:].decode("ascii").split()
            date, is_merge = _date(seconds), len(parents) > 1
            if is_merge:
                yield None
            continue
        _, mode, old, new, status = field.lstrip(b"\n:").split(b" ")
        old_path = next(fields)
        path = next(fields) if status[:1] in (b"R", b"C") else old_path
        if not is_merge:
            yield Revision(
                commit,
                date,
                path,
                old_path,
                _object(old),
                _object(new),
                b"120000" if status == b"T" else mode,
            )


def _object(name: bytes) -> bytes | None:
    return None if name.strip(b"0") == b"" else name


def _date(seconds: str) -> str:
    """ISO 8601 in UTC; empty for a date that no calendar has."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in _ELSEWHERE} | _PLAIN


def _complaint(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    first = (lines[0] if lines else "git failed without a word").removeprefix("fatal: ")
    return f"git cannot read it: {first}"
