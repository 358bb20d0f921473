"""Every case of the tables beside this file: what is found in which text, and how it is stated."""

import dataclasses
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bundles import Condition, Fact, Polarity
from judge.facts import check_fact

TABLES = Path(__file__).parent / "matcher_table"
# What each label says of an expect, of a forbid, and of a forbid `as current`.
OUTCOMES = {
    "found": ("pass", "fail", "fail"),
    "not_found": ("fail", "pass", "pass"),
    "current": ("pass", "fail", "fail"),
    "denied": ("fail", "pass", "pass"),
    "absent": ("fail", "pass", "pass"),
    "old": ("fail", "fail", "pass"),
}


def condition(entry: dict[str, Any], matcher: str) -> Condition:
    values = entry.get("values", [entry["value"]] if "value" in entry else [])
    return Condition(
        matcher=matcher,
        values=tuple(values),
        of=tuple(condition(part, part["matcher"]) for part in entry.get("of", [])),
        at_least=entry.get("at_least"),
        at_most=entry.get("at_most"),
        fraction=entry.get("fraction", False),
    )


def groups() -> Iterator[Any]:
    """Texts of one label with the condition that they are searched for."""
    for path in sorted(TABLES.glob("*.toml")):
        for section, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for entry in entries:
                wanted = condition(entry, entry.get("matcher", "text") if section == "standing" else section)
                for label in OUTCOMES.keys() & entry.keys():
                    name = f"{section} {wanted.matcher} {' & '.join(wanted.values)}: {label}"
                    yield pytest.param(wanted, label, entry[label], id=name)


GROUPS = sorted(groups(), key=lambda group: str(group.id))


def outcomes(wanted: Condition, text: str) -> tuple[str, ...]:
    """Of an expect, of a forbid, and of a forbid `as current`."""
    kinds: list[tuple[Polarity, bool]] = [("expect", False), ("forbid", False), ("forbid", True)]
    fields = {field.name: getattr(wanted, field.name) for field in dataclasses.fields(wanted)}
    return tuple(
        check_fact(Fact("fact", polarity, as_current=as_current, **fields), text).outcome
        for polarity, as_current in kinds
    )


@pytest.mark.parametrize(("wanted", "label", "texts"), GROUPS)
def test_every_text_is_as_it_is_labelled(wanted: Condition, label: str, texts: list[str]) -> None:
    empty = ("fail", "fail", "fail")
    wrong = {
        text: found
        for text in texts
        if (found := outcomes(wanted, text)) != (OUTCOMES[label] if text else empty)
    }
    assert not wrong


def test_no_case_is_there_twice() -> None:
    cases = [(wanted, text) for wanted, _, texts in (group.values for group in GROUPS) for text in texts]
    assert len(set(cases)) == len(cases) > 250
