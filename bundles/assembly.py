"""Putting sessions and units together to a bundle.

Invariant: no bundle exists whose units a replay could not run or a judge could not judge: ids are
unique, kinds known, facts say something in a way that can be checked, and all text is text.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from bundles.brief import brief
from bundles.conditions import check_condition
from bundles.errors import SuiteError
from bundles.identity import bundle_id
from bundles.records import (
    Bundle,
    Event,
    EventType,
    Fact,
    FactOrigin,
    Polarity,
    Session,
    SessionOrigin,
    Severity,
    Source,
    Unit,
    UnitKind,
)
from bundles.text import check_id, check_known, check_text, check_unique, is_blank


def bundle_of(
    name: str, sessions: Sequence[Session], units: Sequence[Unit], events: Sequence[Event] = ()
) -> Bundle:
    """The bundle of these sessions, units and events.

    Raises `SuiteError`, naming unit and fact, where they do not make one.
    """
    check_id("bundle name", name)
    check_unique("session", (session.session_id for session in sessions))
    check_unique("unit", (unit.unit_id for unit in units))
    for session in sessions:
        check_session(session)
    known = {session.session_id for session in sessions}
    for unit in units:
        check_unit(unit)
        if unit.session_id not in known:
            raise SuiteError(
                f"unit {brief(unit.unit_id)}: its session {brief(unit.session_id)} is not in the bundle"
            )
    check_unique("event", (f"{event.session_id} {event.seq}" for event in events))
    for event in events:
        _check_event(event, known)
    return Bundle(bundle_id(sessions, units, events), name, tuple(sessions), tuple(units), tuple(events))


def check_session(session: Session) -> None:
    """Raise `SuiteError` unless the session is of a known origin and all its texts are text."""
    check_id("session id", session.session_id)
    label = f"session {brief(session.session_id)}"
    check_known(f"{label}: origin", session.origin, get_args(SessionOrigin))
    for what in ("tenant", "document_id", "section_id", "document_kind", "opened_at"):
        check_text(f"{label}: {what}", getattr(session, what))


def check_unit(unit: Unit) -> None:
    """Raise `SuiteError`, naming unit and fact, unless the unit can be replayed and judged."""
    check_id("unit id", unit.unit_id)
    label = f"unit {brief(unit.unit_id)}"
    check_known(f"{label}: kind", unit.kind, get_args(UnitKind))
    for what, text in _texts(unit):
        check_text(f"{label}: {what}", text)
    if is_blank(unit.instruction):
        raise SuiteError(f"{label}: instruction is empty")
    for state, sources in (("before", unit.sources_before), ("after", unit.sources_after)):
        _check_sources(f"{label}: {state}", sources)
    if (unit.kind == "revise") != (unit.edited is not None):
        need = "needs" if unit.kind == "revise" else "cannot have"
        raise SuiteError(
            f"{label}: a {unit.kind} unit {need} `edited`, the derived text after a person's edit"
        )
    if unit.max_tokens is not None and not 0 < unit.max_tokens < 2**31:
        raise SuiteError(f"{label}: max_tokens is {brief(unit.max_tokens)}, it must be a positive number")
    if unit.reference is not None:
        for what in ("wall_ms", "prompt_ms"):
            if not (math.isfinite(time := getattr(unit.reference, what)) and time >= 0):
                raise SuiteError(f"{label}: reference {what} is {brief(time)}, it must be a number from 0 up")
    if unit.canary and not unit.facts:
        raise SuiteError(f"{label}: a canary needs at least one fact")
    check_unique(f"{label}: fact", (fact.fact_id for fact in unit.facts))
    for fact in unit.facts:
        _check_fact(label, fact)


def _check_event(event: Event, sessions: Collection[str]) -> None:
    label = f"event {event.seq} of session {brief(event.session_id)}"
    if event.session_id not in sessions:
        raise SuiteError(f"{label}: the session is not in the bundle")
    check_known(f"{label}: type", event.type, get_args(EventType))
    check_text(label, event.ts + event.engine + "".join(event.numbers))
    for state in (event.before, event.after):
        if state is not None:
            check_text(label, state.instruction + (state.derived or "") + "".join(state.pinned))
            for source in state.sources:
                check_text(label, source.name + source.text)
    for edit in event.edits:
        check_text(label, (edit.source or "") + "".join(edit.lines))


def _check_sources(label: str, sources: Sequence[Source]) -> None:
    if not sources:
        raise SuiteError(f"{label}: no source, give at least one")
    for source in sources:
        check_id(f"{label}: source name", source.name)
        check_text(f"{label}: source {brief(source.name)}", source.text)
    check_unique(f"{label}: source", (source.name for source in sources))


def _check_fact(label: str, fact: Fact) -> None:
    check_id(f"{label}: fact id", fact.fact_id)
    label = f"{label}, fact {brief(fact.fact_id)}"
    check_known(f"{label}: polarity", fact.polarity, get_args(Polarity))
    check_known(f"{label}: severity", fact.severity, get_args(Severity))
    check_known(f"{label}: origin", fact.origin, get_args(FactOrigin))
    check_condition(label, fact.condition)
    if fact.as_current and fact.polarity != "forbid":
        raise SuiteError(f"{label}: `as` belongs to a fact that forbids")


def _texts(unit: Unit) -> Iterator[tuple[str, str]]:
    """Every text of a unit that may hold anything, with what it is."""
    yield "session id", unit.session_id
    yield "instruction", unit.instruction
    yield "category", unit.category
    for what, text in (("stale", unit.stale), ("edited", unit.edited)):
        if text is not None:
            yield what, text
    for line in unit.pinned:
        yield "pinned", line
    for tag in unit.tags:
        yield "tag", tag
    for key, value in unit.attribution.items():
        yield "source key", key
        yield f"source {brief(key)}", value
    if unit.reference is not None:
        yield "reference", unit.reference.text
        yield "reference mode", unit.reference.mode
