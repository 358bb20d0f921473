"""Bundles as Loom directories: revisions, refreshes and corrections, one JSON object a line.

Invariant: the three files are what readers of the published format expect. What that format has no place for
stands under the key `redraft` of its row, or in files of our own beside it, so that reading the directory
back gives the same bundle; recorded events are refused and not dropped.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from bundles.exporters.suite import check_fits, unit_entry
from bundles.exporters.target import new_target
from bundles.identity import RevisionKind, content, revision_id
from bundles.importers.loom import (
    ABOUT,
    CORRECTIONS,
    FORMAT,
    INSTRUCTION,
    REFRESHES,
    REVISIONS,
    SESSIONS,
    is_export,
)
from bundles.records import Bundle, Session, Source, Unit

_FILES = (REVISIONS, REFRESHES, CORRECTIONS, SESSIONS)
# What the published columns hold already.
_IN_COLUMNS = frozenset({"id", "instruction", "before", "after", "stale", "edited", "pinned", "kind"})


def write_loom(bundle: Bundle, target: Path) -> None:
    """Write the directory; raises `SuiteError` where it may not or cannot hold the bundle."""
    check_fits(bundle, target, "Loom directory")
    with new_target(target, is_export) as folder:
        folder.mkdir()
        about = {"format": FORMAT, "version": 1, "name": bundle.name, "bundle_id": bundle.bundle_id}
        (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False) + "\n", encoding="utf-8")
        with ExitStack() as opened:
            files = {
                name: opened.enter_context((folder / name).open("w", encoding="utf-8")) for name in _FILES
            }
            _write_rows(files[SESSIONS], map(content, bundle.sessions))
            sessions = {session.session_id: session for session in bundle.sessions}
            revisions = _Revisions(files[REVISIONS])
            for unit in bundle.units:
                row = _row(unit, sessions[unit.session_id], revisions)
                _write_rows(files[CORRECTIONS if unit.kind == "revise" else REFRESHES], [row])


class _Revisions:
    """Writes each text once."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._written: set[str] = set()

    def add(self, input_id: str, kind: RevisionKind, name: str, text: str) -> str:
        key = revision_id(kind, name, text)
        if key not in self._written:
            self._written.add(key)
            row = {"revision_id": key, "input_id": input_id, "input_kind": kind, "name": name, "text": text}
            _write_rows(self._file, [row | {"sha256": hashlib.sha256(text.encode()).hexdigest()}])
        return key

    def state(self, instruction: str, sources: Iterable[Source]) -> dict[str, str]:
        found = {INSTRUCTION: self.add(INSTRUCTION, "instruction", "", instruction)}
        for source in sources:
            found[_input_id(source)] = self.add(_input_id(source), "source", source.name, source.text)
        return found


def _row(unit: Unit, session: Session, revisions: _Revisions) -> dict[str, Any]:
    before = revisions.state(unit.instruction, unit.sources_before)
    after = revisions.state(unit.instruction, unit.sources_after)
    ours = {key: value for key, value in unit_entry(unit).items() if key not in _IN_COLUMNS}
    ours |= {"source_order_before": list(map(_input_id, unit.sources_before))}
    row: dict[str, Any] = {
        "ts": session.opened_at,
        "document_id": session.document_id,
        "document_kind": session.document_kind,
        "section_id": session.section_id,
        "source_order": list(map(_input_id, unit.sources_after)),
        "pinned": list(unit.pinned),
        "derived_before": unit.stale,
        "redraft": ours,
    }
    if unit.kind == "revise":
        ours |= {"input_revisions_before": before}
        return {"correction_id": unit.unit_id, "input_revisions": after, "derived_after": unit.edited} | row
    ours.pop("reference", None)
    served = unit.reference
    return row | {
        "refresh_id": unit.unit_id,
        "kind": "rederive",
        "mode": served.mode if served else "",
        "input_revisions_before": before,
        "input_revisions_after": after,
        "derived_after": served.text if served else None,
        "wall_ms": served.wall_ms if served else None,
        "prompt_ms": served.prompt_ms if served else None,
    }


def _input_id(source: Source) -> str:
    return f"source:{source.name}"


def _write_rows(file: TextIO, rows: Iterable[object]) -> None:
    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
