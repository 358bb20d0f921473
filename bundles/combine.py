"""Bundles made of other bundles: several put together, one taken apart.

Invariant: nothing is in the result that was in none of the bundles, and what is the same in several is in it
once; the units of a session stay together wherever a share of a bundle is taken.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeVar, get_args

from bundles.assembly import bundle_of
from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.records import Bundle, Event, Session, Unit

Criterion = Literal["category", "tenant", "document", "document-kind", "origin", "kind"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
_Item = TypeVar("_Item", Session, Unit, Event)


def merge(name: str, bundles: Sequence[Bundle], *, prefix: bool = False) -> Bundle:
    """One bundle of all that is in these; `prefix` puts a bundle's name before the ids of what it has.

    Raises `SuiteError` where two have different sessions, units or events of the same id.
    """
    if prefix:
        bundles = [_prefixed(bundle) for bundle in bundles]
    return bundle_of(
        name,
        _united("session", bundles, lambda bundle: bundle.sessions, lambda session: session.session_id),
        _united("unit", bundles, lambda bundle: bundle.units, lambda unit: unit.unit_id),
        _united(
            "event", bundles, lambda bundle: bundle.events, lambda event: f"{event.session_id} {event.seq}"
        ),
    )


def split_by(bundle: Bundle, criterion: Criterion) -> list[Bundle]:
    """A bundle for each value that units or their sessions have, named after it, by value."""
    sessions = {session.session_id: session for session in bundle.sessions}
    groups: dict[str, list[Unit]] = {}
    for unit in bundle.units:
        groups.setdefault(_value(unit, sessions[unit.session_id], criterion), []).append(unit)
    return [
        _part(bundle, f"{bundle.name} {value or 'none'}", {unit.session_id for unit in units}, units)
        for value, units in sorted(groups.items())
    ]


def split_share(bundle: Bundle, share: float, seed: int) -> list[Bundle]:
    """Two bundles: of sessions drawn until they hold the share (0 to 1) of the units, and of those left.

    Raises `SuiteError` where there are not two sessions to share out.
    """
    sizes: dict[str, int] = {session.session_id: 0 for session in bundle.sessions}
    for unit in bundle.units:
        sizes[unit.session_id] += 1
    order = sorted(key for key, size in sizes.items() if size)
    random.Random(seed).shuffle(order)
    drawn: set[str] = set()
    units = 0
    for key in order[:-1]:
        if units >= share * len(bundle.units):
            break
        drawn.add(key)
        units += sizes[key]
    rest = set(order) - drawn
    if not drawn:
        raise SuiteError(
            f"bundle {brief(bundle.name)}: {len(order)} sessions with units cannot be split in two"
        )
    return [
        _part(
            bundle, f"{bundle.name} {part}", keys, [unit for unit in bundle.units if unit.session_id in keys]
        )
        for part, keys in (("a", drawn), ("b", rest))
    ]


def _prefixed(bundle: Bundle) -> Bundle:
    def named(key: str) -> str:
        return f"{bundle.name}/{key}"

    return replace(
        bundle,
        sessions=tuple(replace(session, session_id=named(session.session_id)) for session in bundle.sessions),
        units=tuple(
            replace(unit, unit_id=named(unit.unit_id), session_id=named(unit.session_id))
            for unit in bundle.units
        ),
        events=tuple(replace(event, session_id=named(event.session_id)) for event in bundle.events),
    )


def _united(
    what: str,
    bundles: Iterable[Bundle],
    items: Callable[[Bundle], Iterable[_Item]],
    key_of: Callable[[_Item], str],
) -> list[_Item]:
    found: dict[str, _Item] = {}
    owners: dict[str, str] = {}
    for bundle in bundles:
        for item in items(bundle):
            key = key_of(item)
            if found.setdefault(key, item) != item:
                raise SuiteError(
                    f"{what} {brief(key)} is not the same in {brief(owners[key])} and {brief(bundle.name)};"
                    " keep both with --prefix"
                )
            owners.setdefault(key, bundle.name)
    return list(found.values())


def _value(unit: Unit, session: Session, criterion: Criterion) -> str:
    values: Mapping[Criterion, str] = {
        "category": unit.category,
        "kind": unit.kind,
        "tenant": session.tenant,
        "document": session.document_id,
        "document-kind": session.document_kind,
        "origin": session.origin,
    }
    return values[criterion]


def _part(bundle: Bundle, name: str, sessions: set[str], units: Sequence[Unit]) -> Bundle:
    return bundle_of(
        name,
        [session for session in bundle.sessions if session.session_id in sessions],
        units,
        [event for event in bundle.events if event.session_id in sessions],
    )
