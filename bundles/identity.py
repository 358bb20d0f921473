"""Ids made from content.

Invariant: equal content has an equal id on every machine and under every later version. So order of
sessions, units and facts does not count, nor does a bundle's name; and a field at its default is left
out, so that a field added later, with a default, changes no id of what was stored before.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal

from bundles.records import Session, Unit

RevisionKind = Literal["instruction", "source", "derived"]


def revision_id(kind: RevisionKind, name: str, text: str) -> str:
    """SHA-256 (hex) of a text together with what it is and is called."""
    return hashlib.sha256(_canonical([kind, name, text])).hexdigest()


def bundle_id(sessions: Iterable[Session], units: Iterable[Unit]) -> str:
    """SHA-256 (hex) of sessions and units, whatever their order."""
    digest = hashlib.sha256()
    for session in sorted(sessions, key=lambda session: session.session_id):
        digest.update(_canonical(["session", _content(session)]))
    for unit in sorted(units, key=lambda unit: unit.unit_id):
        facts = sorted(unit.facts, key=lambda fact: fact.fact_id)
        digest.update(_canonical(["unit", _content(unit) | {"facts": [_content(fact) for fact in facts]}]))
    return digest.hexdigest()


def _content(value: Any) -> Any:
    """The value as JSON knows it, without the fields at their default."""
    if is_dataclass(value):
        given = ((field.name, getattr(value, field.name), _default(field)) for field in fields(value))
        return {name: _content(item) for name, item, default in given if item != default}
    if isinstance(value, Mapping):
        return dict(value)
    return [_content(item) for item in value] if isinstance(value, tuple) else value


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _canonical(value: Any) -> bytes:
    """JSON of one fixed form, ending in a line feed that JSON itself never holds."""
    return (json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n").encode()
