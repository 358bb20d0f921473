"""The facts of a suite's entry, short or in full.

Invariant: every way to write a fact gives the same fact, and a key that would mean nothing is refused.
"""

from collections.abc import Iterator
from itertools import count
from typing import cast

from bundles.brief import brief
from bundles.conditions import MAX_DEPTH, MAX_PARTS
from bundles.importers.fields import Fields
from bundles.importers.suite_keys import CONDITION_KEYS, FACT_KEYS
from bundles.records import Condition, Fact, FactOrigin, Polarity, Severity


def facts_of(entry: Fields) -> tuple[Fact, ...]:
    """Facts in the order given; those without an id are numbered by polarity, past ids that others have."""
    items = entry.get(list, [], "facts")
    taken = {
        fact_id
        for item in items
        if isinstance(item, dict) and isinstance(fact_id := item.get("fact_id"), str)
    }
    facts = [
        Fact(_free_id(polarity, number, taken), polarity, (text,))
        for polarity in ("expect", "forbid")
        for number, text in enumerate(entry.text_or_texts(f"{polarity}_new"), 1)
    ]
    for number, item in enumerate(items, 1):
        fields = Fields(f"{entry.label}, entry {number} of `facts`", item, FACT_KEYS)
        polarity, condition = _stated(fields)
        earlier = sum(other.polarity == polarity for other in facts)
        if (current := fields.get(str, None, "as")) not in (None, "current"):
            fields.fail(f"`as` can only be 'current', not {brief(current)}")
        given_id = fields.get(str, None, "fact_id")
        facts.append(
            Fact(
                fact_id=_free_id(polarity, earlier + 1, taken) if given_id is None else given_id,
                polarity=polarity,
                severity=cast(Severity, fields.get(str, "critical", "severity")),
                origin=cast(FactOrigin, fields.get(str, "annotated", "origin")),
                as_current=current is not None,
                values=condition.values,
                matcher=condition.matcher,
                of=condition.of,
                at_least=condition.at_least,
                at_most=condition.at_most,
                fraction=condition.fraction,
            )
        )
    return tuple(facts)


def _free_id(polarity: Polarity, number: int, taken: set[str]) -> str:
    """The first id from this number on that is not taken; it is then."""
    fact_id = next(name for n in count(number) if (name := f"{polarity}-{n}") not in taken)
    taken.add(fact_id)
    return fact_id


def _stated(fields: Fields) -> tuple[Polarity, Condition]:
    """What is expected or forbidden: `expect = ...`, `forbid = ...`, or `polarity` with its values."""
    short = fields.given("expect", "forbid", "polarity")
    if short is None:
        fields.fail("say what to `expect` or to `forbid`")
    if short == "polarity":
        return cast(Polarity, fields.need(str, "polarity")), _condition(fields, [], count(1))
    if doubled := fields.given("value", "values"):
        fields.fail(f"give `{short}` or `{doubled}`, not both")
    value = fields.need(object, short)
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | dict) for item in items):
        fields.fail(f"`{short}` must be a text, or a list of texts and conditions")
    return cast(Polarity, short), _condition(fields, items, count(1))


def _condition(fields: Fields, items: list[object], counted: Iterator[int], depth: int = 1) -> Condition:
    """The condition of an object; `items` are values and parts that were given apart from it."""
    if (given := fields.given("value", "values")) == "value":
        values: tuple[str, ...] = (fields.need(str, "value"),)
    else:
        values = fields.texts("values", ())
        if given is None and not items and fields.given("of") is None:
            fields.fail("`value`, `values` or `of` is missing")
    parts = [item for item in items if not isinstance(item, str)] + fields.get(list, [], "of")
    return Condition(
        matcher=fields.get(str, "text", "matcher"),
        values=tuple(item for item in items if isinstance(item, str)) + values,
        of=tuple(_part(fields, number, part, counted, depth + 1) for number, part in enumerate(parts, 1)),
        at_least=fields.get(int, None, "at_least"),
        at_most=fields.get(int, None, "at_most"),
        fraction=fields.get(bool, False, "fraction"),
    )


def _part(fields: Fields, number: int, part: object, counted: Iterator[int], depth: int) -> Condition:
    # What YAML's anchors repeat is cheap to write, and without an end where one stands within itself.
    if depth > MAX_DEPTH:
        fields.fail(f"`of` is nested more than {MAX_DEPTH} deep, flatten it")
    if next(counted) > MAX_PARTS:
        fields.fail(f"more than {MAX_PARTS} parts, split it into several facts")
    if isinstance(part, str):
        return Condition("text", (part,))
    return _condition(Fields(f"{fields.label}, part {number}", part, CONDITION_KEYS), [], counted, depth)
