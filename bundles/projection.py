"""From a recorded journal to sessions, units and events. Pure.

Invariant: a unit is made only where the state before its edit, the edit and the answer are all known for
certain; after a hole in the record nothing is taken for what came before. The same records give the same
bundle, on every machine and at every length: more records add to it and change nothing of what it had.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bundles.assembly import check_unit
from bundles.errors import SuiteError
from bundles.identity import bundle_id
from bundles.recording import GONE, Change, Lost, Unreadable
from bundles.records import Bundle, Event, Reference, SectionState, Session, Source, Unit


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording gave, and one line for each edit that was left out, saying which and why."""

    bundle: Bundle
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """A section's session so far.

    `before` is its last change, None where that is not known. `written` is the text that was last written
    by a refresh or given at the opening, `written_from` the sources it belongs to.
    """

    session_id: str
    generation: int
    events: int = 0
    before: Change | None = None
    written: str | None = None
    written_from: tuple[Source, ...] = ()
    closed: bool = False


def recorded_bundle(name: str, changes: Iterable[Change | Lost | Unreadable]) -> Recorded:
    """The bundle of everything recorded."""
    known: dict[str, _Known] = {}
    sessions: list[Session] = []
    units: list[Unit] = []
    events: list[Event] = []
    skipped: list[str] = []
    for change in changes:
        match change:
            case Lost(records):
                known = {section: replace(state, before=None) for section, state in known.items()}
                skipped.append(f"records lost, whose is not known: {records}")
            case Unreadable(section, revision):
                if section in known:
                    known[section] = replace(known[section], before=None)
                skipped.append(f"section {section}, revision {revision}: a text of it is lost")
            case Change():
                at = _at(known.get(change.section), change)
                if not at.events:
                    sessions.append(_session(at.session_id, change))
                events.append(_event(at, change))
                if unit := _unit(at, change):
                    try:
                        check_unit(unit)
                        units.append(unit)
                    except SuiteError as error:
                        skipped.append(str(error))
                known[change.section] = _after(at, change)
    made = Bundle(bundle_id(sessions, units, events), name, tuple(sessions), tuple(units), tuple(events))
    return Recorded(made, tuple(skipped))


def _at(known: _Known | None, change: Change) -> _Known:
    """The session that the change belongs to; without what came before, unless the change follows on it."""
    starts_anew = change.type == "opened" and change.revision == 1
    if known is None or known.closed or starts_anew:
        generation = known.generation + 1 if known else 1
        suffix = f"#{generation}" if generation > 1 else ""
        return _Known(change.section + suffix, generation)
    before = known.before
    follows = before is not None and (change.type in GONE or change.revision == before.revision + 1)
    return known if follows else replace(known, before=None)


def _after(at: _Known, change: Change) -> _Known:
    """The section after the change."""
    now = replace(at, events=at.events + 1, before=change)
    state = change.state
    if state is None:
        return replace(now, closed=True)
    if change.type == "edited":
        if at.before:
            return now
        written = None if change.edited else state.derived
        return replace(now, written=written, written_from=change.written_from)
    if change.type == "opened" and _has_text_of(at.before, state):
        return now  # that text is still of the sources that it was written from
    return replace(now, written=state.derived, written_from=state.sources)


def _has_text_of(before: Change | None, state: SectionState) -> bool:
    """Whether a section that is opened again is given the text that it had, as it was generated."""
    if before is None or before.state is None or before.edited:
        return False
    return state.derived is not None and state.derived == before.state.derived


def _session(session_id: str, change: Change) -> Session:
    tenant, document_id, section_id = change.section.split("/")
    return Session(
        session_id, "recorder", tenant, document_id, section_id, change.document_kind, opened_at=change.ts
    )


def _event(at: _Known, change: Change) -> Event:
    return Event(
        session_id=at.session_id,
        seq=at.events,
        ts=change.ts,
        type=change.type,
        revision=change.revision,
        before=at.before.state if at.before else None,
        after=change.state,
        edits=change.edits,
        numbers=change.numbers,
        engine=change.engine,
    )


def _unit(at: _Known, change: Change) -> Unit | None:
    """The edit that a refresh answered: of the sources, or a person's of the derived text."""
    if change.type != "refreshed" or change.state is None or at.before is None or at.written is None:
        return None
    revised = at.before.edited or any(edit.target == "derived" for edit in change.edits)
    if not revised and change.state.sources == at.written_from:
        return None
    numbers = {name: value for name, value in change.numbers.items() if isinstance(value, int | float)}
    return Unit(
        unit_id=f"{at.session_id}@{change.revision}",
        session_id=at.session_id,
        instruction=change.state.instruction,
        sources_before=at.written_from,
        sources_after=change.state.sources,
        kind="revise" if revised else "rederive",
        stale=at.written,
        edited=change.draft if revised else None,
        pinned=change.state.pinned,
        max_tokens=change.state.max_tokens,
        reference=Reference(
            text=change.state.derived or "",
            mode=str(change.numbers.get("mode", "")),
            wall_ms=float(numbers.get("wall_ms", 0)),
            prompt_ms=float(numbers.get("prompt_ms", 0)),
        ),
    )
