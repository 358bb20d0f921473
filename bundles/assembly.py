"""Putting sessions and units together to a bundle.

Invariant: no bundle exists whose units a replay could not run or a judge could not judge: ids are
unique, kinds known, facts say something in a way that can be checked, and all text is text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args
from unicodedata import category

from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.identity import bundle_id
from bundles.records import (
    Bundle,
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


def bundle_of(name: str, sessions: Sequence[Session], units: Sequence[Unit]) -> Bundle:
    """The bundle of these sessions and units.

    Raises `SuiteError`, naming unit and fact, where they do not make one.
    """
    check_id("bundle name", name)
    check_unique("session", (session.session_id for session in sessions))
    check_unique("unit", (unit.unit_id for unit in units))
    for session in sessions:
        _check_session(session)
    known = {session.session_id for session in sessions}
    for unit in units:
        check_unit(unit)
        if unit.session_id not in known:
            raise SuiteError(
                f"unit {brief(unit.unit_id)}: its session {brief(unit.session_id)} is not in the bundle"
            )
    return Bundle(bundle_id(sessions, units), name, tuple(sessions), tuple(units))


def check_unit(unit: Unit) -> None:
    """Raise `SuiteError`, naming unit and fact, unless the unit can be replayed and judged."""
    check_id("unit id", unit.unit_id)
    label = f"unit {brief(unit.unit_id)}"
    _check_known(f"{label}: kind", unit.kind, get_args(UnitKind))
    for what, text in _texts(unit):
        _check_text(f"{label}: {what}", text)
    if _is_blank(unit.instruction):
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
    if unit.canary and not unit.facts:
        raise SuiteError(f"{label}: a canary needs at least one fact")
    check_unique(f"{label}: fact", (fact.fact_id for fact in unit.facts))
    for fact in unit.facts:
        _check_fact(label, fact)


def check_id(what: str, value: str) -> None:
    """Raise `SuiteError` unless the value can name something in a message and a table."""
    _check_text(what, value)
    if _is_blank(value) or any(category(char) in ("Cc", "Zl", "Zp") for char in value):
        raise SuiteError(f"{what} {brief(value)} must be one line and not blank")


def check_unique(what: str, ids: Iterable[str]) -> None:
    """Raise `SuiteError` for the first id that occurs again."""
    for value, count in Counter(ids).items():
        if count > 1:
            raise SuiteError(f"{what} {brief(value)} is given {count} times, ids must differ")


def _check_session(session: Session) -> None:
    check_id("session id", session.session_id)
    label = f"session {brief(session.session_id)}"
    _check_known(f"{label}: origin", session.origin, get_args(SessionOrigin))
    for what in ("tenant", "document_id", "section_id"):
        _check_text(f"{label}: {what}", getattr(session, what))


def _check_sources(label: str, sources: Sequence[Source]) -> None:
    if not sources:
        raise SuiteError(f"{label}: no source, give at least one")
    for source in sources:
        check_id(f"{label}: source name", source.name)
        _check_text(f"{label}: source {brief(source.name)}", source.text)
    check_unique(f"{label}: source", (source.name for source in sources))


def _check_fact(label: str, fact: Fact) -> None:
    check_id(f"{label}: fact id", fact.fact_id)
    label = f"{label}, fact {brief(fact.fact_id)}"
    _check_known(f"{label}: polarity", fact.polarity, get_args(Polarity))
    if fact.matcher != "text":
        raise SuiteError(
            f"{label}: matcher {brief(fact.matcher)} is not supported by this version, use 'text'"
        )
    if fact.as_current:
        raise SuiteError(f"{label}: `as` is not supported by this version, leave it out")
    _check_known(f"{label}: severity", fact.severity, get_args(Severity))
    _check_known(f"{label}: origin", fact.origin, get_args(FactOrigin))
    if not fact.values:
        raise SuiteError(f"{label}: no value, give at least one")
    for value in fact.values:
        _check_text(f"{label}: value", value)
        if _is_blank(value):
            raise SuiteError(f"{label}: a value is blank")


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


def _is_blank(text: str) -> bool:
    """Whether nothing of the text shows: no character but spaces, format characters and lone marks."""
    return all(char.isspace() or category(char) in ("Cf", "Mn") for char in text)


def _check_text(what: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"half a surrogate pair (\\u{ord(value[error.start]):04x}) at character {error.start}"
        raise SuiteError(f"{what} holds {found}, which is not text") from None


def _check_known(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SuiteError(f"{what} {brief(value)} is unknown, use one of: {', '.join(known)}")
