"""Loom directories: recorded revisions, refreshes and corrections, one JSON object a line.

Invariant: a refresh that derived a text from sources becomes a unit, and so does a person's correction of
one; each is taken as it was recorded or left out with its place and reason. A directory that was exported
from here gives the bundle that it was exported from.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.importers.fields import Fields
from bundles.importers.imported import Collector, Found, Imported
from bundles.importers.parsing import lines_of, parse
from bundles.importers.suite_entry import session_of, units_of
from bundles.records import Session

REVISIONS, REFRESHES, CORRECTIONS = "revisions.jsonl", "refreshes.jsonl", "corrections.jsonl"
# Ours: what the directory was exported from, and its sessions.
ABOUT, SESSIONS = "redraft.json", "sessions.jsonl"
FORMAT = "redraft loom"
INSTRUCTION = "instruction"


@dataclass(frozen=True, slots=True)
class _Revision:
    kind: str
    name: str
    text: str


def read_loom(folder: Path, *, name: str | None = None, strict: bool = False) -> Imported:
    """Read a directory; its rows are streamed, its distinct texts are held.

    Raises `SuiteError` where it cannot be read and, if `strict`, for the first row that is not right;
    `EmptySuite` where no usable unit is left.
    """
    about = _about(folder)
    collector = Collector(name or about.get("name") or folder.resolve().name, strict=strict)
    reader = _Reader({}, {}, is_ours=bool(about))
    files = (
        (REVISIONS, reader.read_revision, True),
        (SESSIONS, reader.read_session, bool(about)),
        (REFRESHES, partial(reader.read_refresh, collector), True),
        (CORRECTIONS, reader.read_correction, False),
    )
    try:
        for file, read, is_needed in files:
            if is_needed or (folder / file).exists():
                for place, line in lines_of(folder / file):
                    collector.take(place, partial(_read, read, line))
    except OSError as error:
        raise SuiteError(f"{error.filename}: cannot read it: {error.strerror}") from None
    return collector.done(folder)


def is_export(folder: Path) -> bool:
    """Whether a folder is a Loom directory that was exported from here, with nothing added."""
    try:
        ours = {REVISIONS, REFRESHES, CORRECTIONS, ABOUT, SESSIONS}
        return bool(_about(folder)) and {path.name for path in folder.iterdir()} <= ours
    except (SuiteError, OSError):
        return False


def _about(folder: Path) -> Mapping[str, Any]:
    """What our own exports say of themselves; nothing in others."""
    path = folder / ABOUT
    if not path.is_file():
        return {}
    fields = Fields(str(path), parse(path.read_bytes()))
    if fields.get(str, "", "format") != FORMAT or fields.get(int, 0, "version") != 1:
        fields.fail("not of a Loom directory that this redraft wrote")
    return {"name": fields.need(str, "name")}


def _read(read: Callable[[object], Found], line: bytes) -> Found:
    return read(parse(line))


@dataclass
class _Reader:
    revisions: dict[str, _Revision]
    sessions: dict[str, Session]
    is_ours: bool

    def read_revision(self, row: object) -> Found:
        fields = Fields("revision", row)
        key = fields.need(str, "revision_id")
        text = fields.need(str, "text")
        said = fields.get(str, None, "sha256")
        if said is not None and said != hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest():
            raise SuiteError(
                f"revision {brief(key)}: damaged, its text is not of the SHA-256 that it is said to be"
            )
        name = fields.get(str, "", "name") or fields.get(str, "", "input_id")
        self.revisions[key] = _Revision(fields.get(str, "source", "input_kind"), name, text)
        return (), ()

    def read_session(self, row: object) -> Found:
        session = session_of(1, row)
        self.sessions[session.session_id] = session
        return [session], ()

    def read_refresh(self, collector: Collector, row: object) -> Found:
        fields = Fields("refresh", row)
        if (kind := fields.need(str, "kind")) != "rederive":
            collector.leave_out(f"refresh of kind {brief(kind)}")
            return (), ()
        entry = {"id": fields.need(str, "refresh_id")} | self._states(
            fields, (fields, "input_revisions_before"), "input_revisions_after"
        )
        if (served := self._derived(fields, "derived_after")) is not None:
            times = {key: fields.get(float, 0.0, key) for key in ("wall_ms", "prompt_ms")}
            entry["reference"] = {"text": served, "mode": fields.get(str, "", "mode")} | times
        return self._found(fields, entry)

    def read_correction(self, row: object) -> Found:
        fields = Fields("correction", row)
        entry: dict[str, Any] = {"id": fields.need(str, "correction_id"), "kind": "revise"}
        ours = self._ours(fields)
        has_before = ours.given("input_revisions_before") is not None
        before = (ours, "input_revisions_before") if has_before else (fields, "input_revisions")
        entry |= self._states(fields, before, "input_revisions")
        entry["edited"] = self._derived(fields, "derived_after")
        return self._found(fields, entry)

    def _found(self, fields: Fields, entry: dict[str, Any]) -> Found:
        entry["stale"] = self._derived(fields, "derived_before")
        entry["pinned"] = list(fields.texts("pinned", ()))
        if self.is_ours:
            ours = fields.get(dict, {}, "redraft")
            kept = {
                key: ours[key] for key in ours if key not in ("source_order_before", "input_revisions_before")
            }
            units = units_of(entry | kept)
            key = units[0].session_id
            return [self.sessions.get(key, Session(key, "loom"))], units
        session = self._session(fields)
        return [session], units_of(entry | {"session": session.session_id})

    def _session(self, fields: Fields) -> Session:
        document, section = fields.need(str, "document_id"), fields.need(str, "section_id")
        key = f"{document}/{section}"
        opened = fields.get(str, "", "ts")
        kind = fields.get(str, "", "document_kind")
        return self.sessions.setdefault(key, Session(key, "loom", "", document, section, kind, opened))

    def _ours(self, fields: Fields) -> Fields:
        return Fields(f"{fields.label}: `redraft`", fields.get(dict, {}, "redraft") if self.is_ours else {})

    def _states(self, fields: Fields, before: tuple[Fields, str], after: str) -> dict[str, Any]:
        """Instruction and sources before and after, as a suite's entry has them."""
        order = fields.texts("source_order", ())
        earlier = self._ours(fields).texts("source_order_before", order)
        states = (self._state(*before, earlier), self._state(fields, after, order))
        if states[0][0] != states[1][0]:
            fields.fail("the instruction changed with the sources, and a unit has one")
        return {"instruction": states[1][0], "before": states[0][1], "after": states[1][1]}

    def _state(self, fields: Fields, key: str, order: Sequence[str]) -> tuple[str, list[dict[str, str]]]:
        inputs = dict(fields.mapping(key, {}))
        if INSTRUCTION not in inputs:
            fields.fail(f"`{key}` names no instruction")
        instruction = self._revision(fields, inputs.pop(INSTRUCTION)).text
        ordered = sorted(inputs, key=lambda name: order.index(name) if name in order else len(order))
        revisions = [self._revision(fields, inputs[name]) for name in ordered]
        return instruction, [{"name": revision.name, "text": revision.text} for revision in revisions]

    def _revision(self, fields: Fields, key: str) -> _Revision:
        if key not in self.revisions:
            fields.fail(f"revision {brief(key)} is not in {REVISIONS}, or not right there")
        return self.revisions[key]

    def _derived(self, fields: Fields, key: str) -> str | None:
        """A derived text, given as it is or as a revision."""
        value = fields.get(str, None, key)
        found = self.revisions.get(value or "")
        return found.text if found and found.kind == "derived" else value
