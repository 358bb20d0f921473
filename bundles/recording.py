"""What redraftd records, in a journal.

Invariant: every change holds the whole section after it, so none needs an earlier one to be read; its texts
stand in records of their own, before the first change that names them, and not again while they are among the
latest. A change whose texts are not all there is never given out as one.

How a daemon uses it::

    with Journal.open(folder) as journal:
        journal.recovery.said                 # lines: what was cut, set aside or lost
        recording = Recording.of(journal)     # reads the journal
        recording.said                        # lines: sections that cannot be restored
        recording.live                        # section -> its last change, for those still open
        future = recording.submit(change)     # several changes go together or not at all
        await asyncio.wrap_future(future)     # done: on disk; JournalUnavailable: answer 503

A change is submitted when it has been decided on, before it takes effect and is acknowledged; one that failed
is as if it had never been. A section that is opened anew after it was deleted, evicted or forgotten starts at
revision 1 again, which begins another session of it (`projection.py`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from bundles.identity import RevisionKind, revision_content
from bundles.journal import Journal
from bundles.records import EventType, LineEdit, Scalar, SectionState, Source
from bundles.segments import LOST, Frame

GONE: frozenset[EventType] = frozenset(["deleted", "evicted"])
MOST_KNOWN = 100_000
"""So many texts that are on disk, and at most twice as many, are known to be there: some 30 MB of ids."""
_TEXT, _CHANGE = b"T", b"C"
_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to a section (`tenant/document/section`), and the section after it.

    `ts` is ISO 8601, UTC. `state` is None where the section is gone. `written` is its derived text as it was
    last generated or given, `written_from` are the sources of that moment, `written_for` its instruction and
    then its pinned lines (none: not recorded), `edited` says that a person has changed it since. For a
    refresh `draft` is the derived text that it started from, `edits` are those that came with it, `numbers`
    is what its `done` event said and `engine` the engine's fingerprint.
    """

    section: str
    type: EventType
    revision: int
    ts: str
    state: SectionState | None = None
    written_from: tuple[Source, ...] = ()
    written_for: tuple[str, ...] = ()
    edited: bool = False
    written: str | None = None
    draft: str | None = None
    edits: tuple[LineEdit, ...] = ()
    numbers: Mapping[str, Scalar] = field(default_factory=dict)
    engine: str = ""
    document_kind: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """Records that are lost; whose they were is not known."""

    records: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A change of this section of which a text is lost."""

    section: str
    revision: int


class _Known:
    """Ids of texts that are on disk, of the latest ones: one that is forgotten is only written once more."""

    def __init__(self) -> None:
        self._latest: set[str] = set()
        self._earlier: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._latest or key in self._earlier

    def add(self, key: str) -> None:
        if len(self._latest) >= MOST_KNOWN:
            self._earlier, self._latest = self._latest, set()
        self._latest.add(key)


class Recording:
    """An open recording; threads may share it. `live` and `said` are as of its opening."""

    def __init__(self, journal: Journal, known: _Known, live: Iterable[Change | Unreadable]) -> None:
        self.live: dict[str, Change] = {}
        self.said: list[str] = []
        self._journal = journal
        self._known = known
        for change in live:
            if isinstance(change, Change):
                self.live[change.section] = change
            else:
                self.said.append(
                    f"{journal.folder}: section {change.section}, revision {change.revision}: a text of it is"
                    " lost, the section is not restored: open it anew"
                )

    @classmethod
    def of(cls, journal: Journal) -> Self:
        """The recording in this journal, read twice so that only texts of open sections are in memory."""
        known = _Known()
        rows: dict[str, _Row] = {}
        for payload in _payloads(journal.read()):
            if payload.startswith(_TEXT):
                known.add(_text_id(payload))
                continue
            row = json.loads(payload[1:])
            rows.pop(row["section"], None)
            if row["type"] not in GONE:
                rows[row["section"]] = row
        needed = {key for row in rows.values() for key in _text_ids(row)}
        texts = {
            key: _text(payload)
            for payload in _payloads(journal.read())
            if payload.startswith(_TEXT) and (key := _text_id(payload)) in needed
        }
        return cls(journal, known, (_change(row, texts) for row in rows.values()))

    def submit(self, *changes: Change) -> "Future[None]":
        """Record these together, with their texts that are not on disk yet; see `Journal.submit`."""
        texts: dict[str, bytes] = {}
        payloads = [_CHANGE + _json(_row(change, texts)) for change in changes]
        fresh = {key: _TEXT + text for key, text in texts.items() if key not in self._known}
        future = self._journal.submit([*fresh.values(), *payloads])
        future.add_done_callback(lambda done: self._acknowledged(done, fresh))
        return future

    def _acknowledged(self, done: "Future[None]", texts: Iterable[str]) -> None:
        if not done.cancelled() and done.exception() is None:
            for key in texts:
                self._known.add(key)


def read_changes(frames: Iterable[Frame]) -> Iterator[Change | Lost | Unreadable]:
    """What a journal's records say, in order; the texts seen so far are kept in memory."""
    texts: dict[str, str] = {}
    for frame in frames:
        if frame.kind == LOST:
            yield Lost(frame.last - frame.sequence + 1)
        elif frame.payload.startswith(_TEXT):
            texts[_text_id(frame.payload)] = _text(frame.payload)
        else:
            yield _change(json.loads(frame.payload[1:]), texts)


def _payloads(frames: Iterable[Frame]) -> Iterator[bytes]:
    return (frame.payload for frame in frames if frame.kind != LOST)


def _text_id(payload: bytes) -> str:
    """The revision id of a text, of which the rest of its record is the content."""
    return sha256(payload[1:]).hexdigest()


def _text(payload: bytes) -> str:
    _, _, text = json.loads(payload[1:])
    return str(text)


def _row(change: Change, texts: dict[str, bytes]) -> _Row:
    """The change with ids in place of its texts, which are added to `texts`."""

    def key(kind: RevisionKind, name: str, text: str | None) -> str | None:
        if text is None:
            return None
        content = revision_content(kind, name, text)
        found = sha256(content).hexdigest()
        texts[found] = content
        return found

    def keys(sources: Sequence[Source]) -> list[list[str | None]]:
        return [[source.name, key("source", source.name, source.text)] for source in sources]

    state = change.state and {
        "instruction": key("instruction", "", change.state.instruction),
        "sources": keys(change.state.sources),
        "derived": key("derived", "", change.state.derived),
        "pinned": change.state.pinned,
        "max_tokens": change.state.max_tokens,
    }
    return {
        "section": change.section,
        "type": change.type,
        "revision": change.revision,
        "ts": change.ts,
        "state": state,
        "written_from": keys(change.written_from),
        "written_for": [key("instruction", "", text) for text in change.written_for],
        "edited": change.edited,
        "written": key("derived", "", change.written),
        "draft": key("derived", "", change.draft),
        "edits": [[edit.target, edit.start, edit.end, edit.lines, edit.source] for edit in change.edits],
        "numbers": dict(change.numbers),
        "engine": change.engine,
        "document_kind": change.document_kind,
    }


def _text_ids(row: _Row) -> Iterator[str]:
    """The ids of all texts that the change names."""
    state = row["state"] or {"instruction": None, "sources": [], "derived": None}
    for key in (state["instruction"], state["derived"], row["written"], row["draft"]):
        if key is not None:
            yield key
    for _, key in (*state["sources"], *row["written_from"]):
        yield key
    yield from row.get("written_for", ())


def _change(row: _Row, texts: Mapping[str, str]) -> Change | Unreadable:
    if any(key not in texts for key in _text_ids(row)):
        return Unreadable(row["section"], row["revision"])

    def text(key: str | None) -> str | None:
        return None if key is None else texts[key]

    def sources(keys: Sequence[Sequence[str]]) -> tuple[Source, ...]:
        return tuple(Source(name, texts[key]) for name, key in keys)

    state = row["state"] and SectionState(
        instruction=texts[row["state"]["instruction"]],
        sources=sources(row["state"]["sources"]),
        derived=text(row["state"]["derived"]),
        pinned=tuple(row["state"]["pinned"]),
        max_tokens=row["state"]["max_tokens"],
    )
    return Change(
        **row
        | {
            "state": state,
            "written_from": sources(row["written_from"]),
            "written_for": tuple(texts[key] for key in row.get("written_for", ())),
            "written": text(row["written"]),
            "draft": text(row["draft"]),
            "edits": tuple(
                LineEdit(target, start, end, tuple(lines), source)
                for target, start, end, lines, source in row["edits"]
            ),
        }
    )


def _json(row: _Row) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
