"""Suites: annotated units written by hand or by a tool, as JSON, JSONL or TOML.

Invariant: a file gives the units that it states and nothing else. An entry that is not right is left
out as a whole, with all edits of its session, and named with its place; it is never mended.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bundles.assembly import bundle_of, check_id, check_unit
from bundles.errors import EmptySuite, SuiteError
from bundles.importers.suite_entry import units_of
from bundles.records import Bundle, Session, Unit


@dataclass(frozen=True, slots=True)
class SuiteImport:
    """What a suite gave, and one line for each entry that was left out, saying where and why."""

    bundle: Bundle
    skipped: tuple[str, ...]


class _Unparsable(SuiteError):
    """Not JSON or TOML at all, seen in this line of what was parsed."""

    def __init__(self, what: str, line: int = 1) -> None:
        super().__init__(what)
        self.line = line


def read_suite(path: Path, *, strict: bool = False) -> SuiteImport:
    """Read a suite file; its format goes by the file's ending, lines of JSONL are streamed.

    Raises `SuiteError` where the file cannot be read or parsed and, if `strict`, for the first entry
    that is not right; `EmptySuite` where no usable unit is left.
    """
    try:
        name, entries = _open(path)
        check_id(f"{path}: suite name", name)
        return _collect(path, name, entries, strict)
    except OSError as error:
        raise SuiteError(f"{path}: cannot read the suite: {error.strerror}") from None


def _collect(path: Path, name: str, entries: Iterable[tuple[str, object]], strict: bool) -> SuiteImport:
    """Units of entries that stand at these places; a line of JSONL comes as bytes."""
    units: list[Unit] = []
    places: dict[str, str] = {}
    skipped: list[str] = []
    unparsable: list[str] = []
    for place, entry in entries:
        try:
            found = units_of(_parse_json(entry) if isinstance(entry, bytes) else entry)
            for unit in found:
                check_unit(unit)
                if unit.unit_id in places:
                    raise SuiteError(f"unit {unit.unit_id!r}: the id is taken, see {places[unit.unit_id]}")
        except SuiteError as error:
            message = f"{place}: {error}"
            if strict:
                raise SuiteError(message) from None
            skipped.append(message)
            if isinstance(error, _Unparsable):
                unparsable.append(message)
        else:
            units += found
            places |= {unit.unit_id: place for unit in found}
    if not units and unparsable:
        raise SuiteError(unparsable[0])
    if not units:
        raise EmptySuite(f"{path}: no usable unit" + "".join(f"; {message}" for message in skipped[:1]))
    sessions = [Session(key, "suite") for key in dict.fromkeys(unit.session_id for unit in units)]
    return SuiteImport(bundle_of(name, sessions, units), tuple(skipped))


def _open(path: Path) -> tuple[str, Iterable[tuple[str, object]]]:
    """The suite's name, and its entries with their places."""
    match path.suffix.lower():
        case ".jsonl":
            return path.stem, _lines(path)
        case ".json":
            return _document(path, _parse_json)
        case ".toml":
            return _document(path, _parse_toml)
        case other:
            raise SuiteError(f"{path}: {other or 'no'} ending, a suite is a .json, .jsonl or .toml file")


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}:{number}", line


def _document(path: Path, parse: Callable[[bytes], Any]) -> tuple[str, Iterable[tuple[str, object]]]:
    try:
        document = parse(path.read_bytes())
    except _Unparsable as error:
        raise SuiteError(f"{path}:{error.line}: {error}") from None
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None
    if isinstance(document, list):
        document = {"units": document}
    if not isinstance(document, dict):
        raise SuiteError(f"{path}: a suite is an object with `units`, or a list of units")
    if unknown := document.keys() - {"suite", "units"}:
        raise SuiteError(f"{path}: unknown key {min(unknown)!r}, a suite has `suite` and `units`")
    name, units = document.get("suite", path.stem), document.get("units", [])
    if not isinstance(name, str) or not isinstance(units, list):
        raise SuiteError(f"{path}: `suite` must be a text and `units` a list")
    return name, [(f"{path}: entry {number}", entry) for number, entry in enumerate(units, 1)]


def _parse_json(raw: bytes) -> Any:
    try:
        return json.loads(_text(raw), object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _Unparsable(f"not JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except ValueError as error:
        raise _Unparsable(f"not JSON: {error}") from None
    except RecursionError:
        raise _Unparsable("nested too deeply for a suite") from None


def _parse_toml(raw: bytes) -> Any:
    text = _text(raw)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+)", str(error))
        raise _Unparsable(f"not TOML: {error}", int(line[1]) if line else text.count("\n") + 1) from None
    except RecursionError:
        raise _Unparsable("nested too deeply for a suite") from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        raise _Unparsable(f"not UTF-8: byte 0x{bad:02x}", raw.count(b"\n", 0, error.start) + 1) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _) = Counter(key for key, _ in pairs).most_common(1)[0]
        raise SuiteError(f"key {twice!r} is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
