"""Bundles as suite files, for people to annotate.

Invariant: what is read back from the file is the same bundle; recorded events, which a suite cannot hold, are
refused and not dropped.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from bundles.errors import SuiteError
from bundles.exporters.target import new_target
from bundles.identity import content
from bundles.importers.parsing import parse
from bundles.records import Bundle, Fact, Unit

# Fields of a unit by what a suite calls them.
_NAMES = {
    "unit_id": "id",
    "session_id": "session",
    "sources_before": "before",
    "sources_after": "after",
    "attribution": "source",
}


def write_suite(bundle: Bundle, target: Path) -> None:
    """Write a JSON file of the rich form; raises `SuiteError` where it may not or cannot hold the bundle."""
    if target.suffix.lower() != ".json":
        raise SuiteError(f"{target}: a suite is written as JSON, let the name end in .json")
    check_fits(bundle, target, "suite")
    with new_target(target, _is_export) as path, path.open("w", encoding="utf-8") as file:
        head = {"suite": bundle.name, "exported_from": bundle.bundle_id}
        file.write(json.dumps(head, ensure_ascii=False)[:-1])
        _write_list(file, "sessions", map(content, bundle.sessions))
        _write_list(file, "units", map(unit_entry, bundle.units))
        file.write("}\n")


def unit_entry(unit: Unit) -> dict[str, Any]:
    """The unit as an entry of a suite, without what is as it would be if left out."""
    entry = {_NAMES.get(name, name): value for name, value in content(unit).items()}
    if unit.facts:
        entry["facts"] = list(map(_fact_entry, unit.facts))
    return entry


def check_fits(bundle: Bundle, target: Path, what: str) -> None:
    """Raise `SuiteError` where the bundle has no unit, or events that only tables hold."""
    if not bundle.units:
        raise SuiteError(f"{target}: bundle {bundle.name} has no unit, and a {what} needs one")
    if bundle.events:
        raise SuiteError(
            f"{target}: bundle {bundle.name} has {len(bundle.events)} recorded events, which a {what} cannot"
            " hold; export it as arrow or parquet, or leave them out with --without-events"
        )


def _fact_entry(fact: Fact) -> dict[str, Any]:
    entry: dict[str, Any] = content(fact)
    return {key: value for key, value in entry.items() if key != "as_current"} | (
        {"as": "current"} if fact.as_current else {}
    )


def _write_list(file: TextIO, name: str, items: Iterable[object]) -> None:
    file.write(f', "{name}": [')
    for number, item in enumerate(items):
        file.write((",\n" if number else "\n") + json.dumps(item, ensure_ascii=False))
    file.write("\n]")


def _is_export(path: Path) -> bool:
    try:
        found = parse(path.read_bytes()) if path.is_file() else None
    except SuiteError:
        return False
    return isinstance(found, dict) and "exported_from" in found
