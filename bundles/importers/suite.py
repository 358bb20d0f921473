"""Suites: annotated units written by hand or by a tool, as JSON, JSONL or TOML.

Invariant: a file gives the units that it states and nothing else. An entry that is not right is left
out as a whole, with all edits of its session, and named with its place; it is never mended.
"""

import codecs
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from bundles.assembly import check_id, check_unit
from bundles.brief import brief
from bundles.errors import EmptySuite, SuiteError
from bundles.identity import bundle_id
from bundles.importers.suite_entry import units_of
from bundles.records import Bundle, Session, Unit

# Where an entry stands, and what gives it: a line of JSONL is parsed only then.
_Entry = tuple[str, Callable[[], object]]


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
    if "\0" in str(path):
        raise SuiteError(f"{brief(str(path))}: cannot read the suite: no path holds a NUL character")
    try:
        name, entries = _open(path)
        check_id(f"{path}: suite name", name)
        return _collect(path, name, entries, strict)
    except OSError as error:
        raise SuiteError(f"{path}: cannot read the suite: {error.strerror}") from None


def _collect(path: Path, name: str, entries: Iterable[_Entry], strict: bool) -> SuiteImport:
    units: list[Unit] = []
    places: dict[str, str] = {}
    skipped: list[str] = []
    unparsable: list[str] = []
    for place, load in entries:
        try:
            found = units_of(load())
            for unit in found:
                check_unit(unit)
                if taken := places.get(unit.unit_id):
                    raise SuiteError(f"unit {brief(unit.unit_id)}: the id is taken, see {taken}")
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
        why = f", {len(skipped)} skipped, the first: {skipped[0]}" if skipped else ""
        raise EmptySuite(f"{path}: no usable unit{why}")
    # A session is called like its first unit, so its id is as right and as unique as that.
    sessions = tuple(Session(key, "suite") for key in dict.fromkeys(unit.session_id for unit in units))
    return SuiteImport(Bundle(bundle_id(sessions, units), name, sessions, tuple(units)), tuple(skipped))


def _open(path: Path) -> tuple[str, Iterable[_Entry]]:
    """The suite's name and its entries."""
    match path.suffix.lower():
        case ".jsonl":
            return path.stem, _lines(path)
        case ".json":
            return _document(path, "JSON")
        case ".toml":
            return _document(path, "TOML")
        case other:
            raise SuiteError(f"{path}: {other or 'no'} ending, a suite is a .json, .jsonl or .toml file")


def _lines(path: Path) -> Iterator[_Entry]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not _is_blank(line):
                yield f"{path}:{number}", partial(_parse, line, "JSON")


def _document(path: Path, kind: str) -> tuple[str, Iterable[_Entry]]:
    raw = path.read_bytes()
    try:
        document = {} if _is_blank(raw) else _parse(raw, kind)
    except _Unparsable as error:
        raise SuiteError(f"{path}:{error.line}: {error}") from None
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None
    if isinstance(document, list):
        document = {"units": document}
    if not isinstance(document, dict):
        raise SuiteError(f"{path}: a suite is an object with `units`, or a list of units")
    if unknown := document.keys() - {"suite", "units"}:
        raise SuiteError(f"{path}: unknown key {brief(min(unknown))}, a suite has `suite` and `units`")
    name, units = document.get("suite", path.stem), document.get("units", [])
    if not isinstance(name, str) or not isinstance(units, list):
        raise SuiteError(f"{path}: `suite` must be a text and `units` a list")
    return name, [(f"{path}: entry {number}", partial(_same, entry)) for number, entry in enumerate(units, 1)]


def _is_blank(raw: bytes) -> bool:
    return not raw.removeprefix(codecs.BOM_UTF8).strip()


def _same(entry: object) -> object:
    return entry


def _parse(raw: bytes, kind: str) -> Any:
    """What the bytes say in the language of this name; raises `_Unparsable`."""
    try:
        return _LOAD[kind](raw.decode("utf-8-sig"))
    except RecursionError:
        raise _Unparsable("nested too deeply for a suite") from None
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        raise _Unparsable(f"not UTF-8: byte 0x{bad:02x}", raw.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise _Unparsable(f"not JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except ValueError as error:
        found = re.search(r"\(at (?:line (\d+)|end of document)", str(error))
        line = 1 if found is None else int(found[1] or raw.count(b"\n") + 1)
        raise _Unparsable(f"not {kind}: {str(error)[:200]}", line) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _) = Counter(key for key, _ in pairs).most_common(1)[0]
        raise SuiteError(f"key {brief(twice)} is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_LOAD: Mapping[str, Callable[[str], Any]] = {
    "JSON": partial(json.loads, object_pairs_hook=_object, parse_constant=_no_constant),
    "TOML": tomllib.loads,
}
