"""A recorder that keeps what happens in a journal, from which a daemon that starts again goes on.

Invariant: every change holds the whole section after it, and what belongs together is recorded together or
not at all. Nothing of a tenant who is not recorded gets into the journal. A section that is not put back
when the daemon starts is recorded as evicted, so that it cannot come back later as it was once.
"""

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

import bundles
from bundles import Change, Journal, LineEdit, Recording, StoreError
from daemon.errors import Unavailable
from daemon.logs import event as log_event
from daemon.recorder import Deleted, Edited, Event, Opened, Refreshed
from daemon.sections import Section, SectionTable, tenant_of
from daemon.wire import DoneEvent, Edit, RecorderState, Source

log = logging.getLogger(__name__)
SUFFIX = ".journal"
_TRIAL = bytes(65536)


def journal_folder(path: Path) -> Path:
    """Where the journal is that a user means: `prod` is the folder `prod.journal`, except that a folder
    that is there is taken as it is."""
    named = path if path.suffix == SUFFIX else Path(f"{path}{SUFFIX}")
    return path if path.is_dir() and not named.is_dir() else named


class JournalRecorder:
    """Records the sections of some tenants, or of all."""

    def __init__(self, journal: Journal, tenants: frozenset[str] | None) -> None:
        """Read the journal. Raises `StoreError`."""
        self.state: RecorderState = "up"
        self._journal = journal
        self._recording = Recording.of(journal)
        self._tenants = tenants
        self._reason = ""
        self.said = [*journal.recovery.said, *self._recording.said]
        """Lines: what was mended, and what of it is lost."""

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, tenants: frozenset[str] | None) -> Iterator[Self]:
        """The recorder of the journal in this folder, made on first use. Raises `StoreError`."""
        with Journal.open(folder) as journal:
            yield cls(journal, tenants)

    def restore(self, table: SectionTable) -> None:
        """Put back the sections that were open, the one changed longest ago first. Raises `StoreError`."""
        gone: list[Section] = []
        for section in map(_section, self._recording.live.values()):
            if not self._records(section.session_id):
                gone.append(section)
                continue
            with table.room(section.session_id) as others:
                for other in others:
                    table.drop(other.session_id)
                gone += others
                table.put(section)
        self._recording.live.clear()
        now = _now()
        self._recording.submit(*(_gone(section, "evicted", now) for section in gone)).result()

    async def record(self, event: Event) -> int:
        """Return once the event is in the journal; Unavailable where it cannot be."""
        changes = [change for change in recorded_changes(event, _now()) if self._records(change.section)]
        if not changes:
            return 0
        try:
            await asyncio.wrap_future(self._recording.submit(*changes))
        except StoreError as error:
            raise self._failed(str(error)) from error
        if self.state == "down":
            log_event(log, "recording again", level=logging.WARNING)
        self.state = "up"
        return len(changes)

    async def check(self, session_id: str) -> None:
        """Unavailable where the last record could not be made and the disk still takes nothing."""
        if self.state == "down" and self._records(session_id):
            try:
                await asyncio.to_thread(self._try_disk)
            except OSError as error:
                raise self._failed(self._reason) from error

    def _records(self, session_id: str) -> bool:
        return self._tenants is None or tenant_of(session_id) in self._tenants

    def _try_disk(self) -> None:
        with TemporaryFile(dir=self._journal.folder, buffering=0) as trial:
            trial.write(_TRIAL)
            os.fsync(trial.fileno())

    def _failed(self, reason: str) -> Unavailable:
        if self.state == "up":
            log_event(log, "not recording", level=logging.ERROR, reason=reason)
        self.state, self._reason = "down", reason
        return Unavailable(reason, "recorder_unavailable")


def recorded_changes(event: Event, ts: str) -> list[Change]:
    """What is recorded of an event: a change of each section that it is about."""
    match event:
        case Opened(section, evicted):
            return [_change(section, "opened", ts), *(_gone(other, "evicted", ts) for other in evicted)]
        case Edited(section, request):
            return [_change(section, "edited", ts, request.edits)]
        case Refreshed(section, request, done=done, draft=draft, engine=engine):
            change = _change(section, "refreshed", ts, request.edits)
            return [replace(change, draft=draft, numbers=_numbers(done), engine=engine)]
        case Deleted(sections):
            return [_gone(section, "deleted", ts) for section in sections]


def _change(section: Section, type: bundles.EventType, ts: str, edits: Sequence[Edit] = ()) -> Change:
    return Change(
        section=section.session_id,
        type=type,
        revision=section.revision,
        ts=ts,
        state=bundles.SectionState(
            instruction=section.instruction,
            sources=_texts(section.sources),
            derived=section.derived,
            pinned=section.pinned,
            max_tokens=section.max_tokens,
        ),
        written=section.written,
        written_from=_texts(section.written_from),
        written_for=section.written_for,
        edited=section.edited,
        edits=tuple(
            LineEdit(edit.target, edit.start, edit.end, tuple(edit.lines), edit.source) for edit in edits
        ),
    )


def _gone(section: Section, type: bundles.EventType, ts: str) -> Change:
    return Change(section.session_id, type, section.revision, ts)


def _section(change: Change) -> Section:
    """The section as the change left it."""
    state = change.state
    assert state is not None
    assert state.max_tokens is not None
    return Section(
        session_id=change.section,
        revision=change.revision,
        instruction=state.instruction,
        sources=_sources(state.sources),
        derived=state.derived,
        pinned=state.pinned,
        max_tokens=state.max_tokens,
        written=change.written,
        written_from=_sources(change.written_from),
        written_for=change.written_for or (state.instruction, *state.pinned),
        edited=change.edited,
    )


def _texts(sources: Sequence[Source]) -> tuple[bundles.Source, ...]:
    return tuple(bundles.Source(source.name, source.text) for source in sources)


def _sources(sources: Sequence[bundles.Source]) -> tuple[Source, ...]:
    return tuple(Source(name=source.name, text=source.text) for source in sources)


def _numbers(done: DoneEvent) -> dict[str, bundles.Scalar]:
    """What the event says in plain values."""
    said = done.model_dump(exclude_none=True)
    return {name: value for name, value in said.items() if isinstance(value, str | int | float)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
