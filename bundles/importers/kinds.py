"""What a file or folder to import is.

Invariant: a kind is told only from what nothing else has; whoever could be two things is asked about.
"""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Literal

from bundles.errors import SuiteError
from bundles.importers.loom import REFRESHES, REVISIONS
from bundles.importers.parsing import lines_of, parse
from bundles.importers.suite import SUITE_SUFFIXES
from bundles.journal_reader import MARK
from bundles.manifest import MANIFEST

ImportKind = Literal["suite", "chat", "bundle", "loom", "git", "journal"]
_FIRST_LINES = 20


def kind_of(path: Path) -> ImportKind:
    """The kind of a path; raises `SuiteError` where it is none or may be several."""
    if not path.is_dir():
        if not path.exists() and path.suffix.lower() not in SUITE_SUFFIXES:
            raise SuiteError(f"{path}: no such file or folder")
        return _kind_of_file(path)
    tests: Mapping[ImportKind, bool] = {
        "bundle": (path / MANIFEST).is_file(),
        "loom": (path / REVISIONS).is_file() or (path / REFRESHES).is_file(),
        "journal": (path / MARK).is_file() or any(path.glob("*.seg")),
        "git": (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir()),
    }
    found = [kind for kind, is_so in tests.items() if is_so]
    if len(found) == 1:
        return found[0]
    if found:
        raise SuiteError(f"{path}: may be {' or '.join(found)}, say which with --as")
    raise SuiteError(
        f"{path}: holds no bundle, Loom directory, journal or git repository; name what to import"
    )


def _kind_of_file(path: Path) -> ImportKind:
    if path.suffix.lower() != ".jsonl":
        return "suite"  # whose importer says which endings there are
    lines = (line for _, line in islice(lines_of(path), _FIRST_LINES)) if path.is_file() else ()
    for keys in map(_keys, lines):
        if "response" in keys and keys & {"request", "body", "messages"}:
            return "chat"
    return "suite"


def _keys(line: bytes) -> set[str]:
    try:
        found = parse(line)
    except SuiteError:
        return set()
    return set(found) if isinstance(found, dict) else set()
