"""Suites: annotated units written by hand or by a tool, as JSON, JSONL, TOML or YAML.

Invariant: a file gives the units that it states and nothing else. An entry that is not right is left
out as a whole, with all edits of its session, and named with its place; it is never mended.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from bundles.assembly import check_session
from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.importers.imported import Collector, Found, Imported
from bundles.importers.parsing import Unparsable, is_blank, lines_of, parse
from bundles.importers.suite_entry import session_of, units_of
from bundles.importers.suite_keys import SUITE_KEYS
from bundles.records import Session
from bundles.text import check_id, check_unique

SUITE_SUFFIXES = (".json", ".jsonl", ".toml", ".yaml", ".yml")
_LANGUAGES = {".json": "JSON", ".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}
# Where an entry stands, and what gives it: a line of JSONL is parsed only then.
_Entry = tuple[str, Callable[[], object]]


def read_suite(path: Path, *, strict: bool = False) -> Imported:
    """Read a suite file; its format goes by the file's ending, lines of JSONL are streamed.

    Raises `SuiteError` where the file cannot be read or parsed and, if `strict`, for the first entry
    that is not right; `EmptySuite` where no usable unit is left.
    """
    if "\0" in str(path):
        raise SuiteError(f"{brief(str(path))}: cannot read the suite: no path holds a NUL character")
    try:
        name, sessions, entries = _open(path)
        check_id(f"{path}: suite name", name)
        collector = Collector(name, strict=strict)
        # Sessions of which no unit is left are kept: a bundle's id counts them.
        collector.add(str(path), sessions.values(), ())
        for place, load in entries:
            collector.take(place, partial(_found, load, sessions))
        return collector.done(path)
    except OSError as error:
        raise SuiteError(f"{path}: cannot read the suite: {error.strerror}") from None


def _found(load: Callable[[], object], sessions: Mapping[str, Session]) -> Found:
    units = units_of(load())
    key = units[0].session_id
    return [sessions.get(key, Session(key, "suite"))], units


def _open(path: Path) -> tuple[str, Mapping[str, Session], Iterable[_Entry]]:
    """The suite's name, the sessions that it describes by id, and its entries."""
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        return path.stem, {}, ((place, partial(parse, line)) for place, line in lines_of(path))
    if suffix in _LANGUAGES:
        return _document(path, _LANGUAGES[suffix])
    known = f"{', '.join(SUITE_SUFFIXES[:-1])} or {SUITE_SUFFIXES[-1]}"
    raise SuiteError(f"{path}: {suffix or 'no'} ending, a suite is a {known} file")


def _document(path: Path, language: str) -> tuple[str, Mapping[str, Session], Iterable[_Entry]]:
    raw = path.read_bytes()
    try:
        document = {} if is_blank(raw) else parse(raw, language)
    except Unparsable as error:
        raise SuiteError(f"{path}:{error.line}: {error}") from None
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None
    if isinstance(document, list):
        document = {"units": document}
    if not isinstance(document, dict):
        raise SuiteError(f"{path}: a suite is an object with `units`, or a list of units")
    if unknown := {brief(key) for key in document if key not in SUITE_KEYS}:
        raise SuiteError(f"{path}: unknown key {min(unknown)}, a suite has `suite` and `units`")
    name, units = document.get("suite", path.stem), document.get("units", [])
    described = document.get("sessions", [])
    if not isinstance(name, str) or not isinstance(units, list) or not isinstance(described, list):
        raise SuiteError(f"{path}: `suite` must be a text, `units` and `sessions` lists")
    entries = [(f"{path}: entry {number}", partial(_same, entry)) for number, entry in enumerate(units, 1)]
    return name, _sessions(path, described), entries


def _sessions(path: Path, described: list[object]) -> Mapping[str, Session]:
    try:
        sessions = [session_of(number, item) for number, item in enumerate(described, 1)]
        for session in sessions:
            check_session(session)
        check_unique("session", (session.session_id for session in sessions))
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None
    return {session.session_id: session for session in sessions}


def _same(entry: object) -> object:
    return entry
