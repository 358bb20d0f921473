"""Facts that would judge wrongly whatever is generated, found before anything is.

Invariant: a problem is only what the unit's own texts prove; where they leave it open, nothing is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bundles import Condition, Fact, Unit
from judge.errors import FactError
from judge.facts import Finding, check_fact, describe
from judge.matchers.search import check_condition, parts_of

_BETWEEN_TEXTS = "\n\n"


@dataclass(frozen=True, slots=True)
class FactProblem:
    """What is wrong with a fact, in one line; `fact_id` is None where it is the facts together."""

    unit_id: str
    fact_id: str | None
    message: str


def check_facts(unit: Unit) -> list[FactProblem]:
    """What is wrong with the unit's facts, in their order.

    What may be stated is in the sources after the edit, the pinned lines and, for a `revise` unit, the
    edited text. A `near` is supported where its parts are, wherever they stand, since the answer may join
    what the sources say apart; what a pattern wants may be of the answer's form, so it needs no support.
    """
    problems: list[FactProblem] = []
    usable: list[Fact] = []
    stated = _BETWEEN_TEXTS.join(
        (*(source.text for source in unit.sources_after), *unit.pinned, *filter(None, (unit.edited,)))
    )
    for fact in unit.facts:
        try:
            check_condition(fact.condition)
        except FactError as error:
            problems.append(FactProblem(unit.unit_id, fact.fact_id, str(error)))
            continue
        usable.append(fact)
        if message := _unfounded(fact, stated):
            problems.append(FactProblem(unit.unit_id, fact.fact_id, message))
    problems += _contradictions(unit.unit_id, usable)
    if unit.canary and len(usable) == len(unit.facts):
        problems += _idle_canary(unit)
    return problems


def _unfounded(fact: Fact, stated: str) -> str | None:
    """Why the new state of the sources proves the fact wrong, if it does."""
    if fact.polarity == "forbid":
        finding = check_fact(replace(fact, as_current=True), stated)
        if finding.outcome == "fail" and finding.evidence is not None:
            where = _excerpt(finding, stated)
            return f"forbids {describe(fact.condition)}, which the new sources state: {where}"
        return None
    loose = _loosened(fact.condition)
    if loose is None:
        return None
    finding = check_fact(_expecting(fact.fact_id, loose), stated)
    if finding.outcome != "fail":
        return None
    return f"expects {describe(fact.condition)}, which the new sources do not state: {finding.reason}"


def _loosened(condition: Condition) -> Condition | None:
    """What the sources must state for an answer to fulfil the condition; None where that is nothing."""
    match condition.matcher:
        case "pattern":
            return None
        case "near" | "all":
            parts = [loose for part in parts_of(condition) if (loose := _loosened(part))]
            return Condition("all", of=tuple(parts)) if parts else None
        case "any" | "count":
            alternatives = [_loosened(part) for part in parts_of(condition)]
            parts = [part for part in alternatives if part]
            needed = condition.matcher == "any" or condition.at_most is None or bool(condition.at_least)
            return Condition("any", of=tuple(parts)) if needed and len(parts) == len(alternatives) else None
        case _:
            return condition


def _expecting(fact_id: str, condition: Condition) -> Fact:
    return Fact(
        fact_id, "expect", condition.values, condition.matcher, of=condition.of, fraction=condition.fraction
    )


def _contradictions(unit_id: str, facts: list[Fact]) -> Iterator[FactProblem]:
    """Expects that cannot be stated without what another fact forbids."""
    for forbid in facts:
        for expect in facts:
            if (
                expect.polarity == "expect"
                and forbid.polarity == "forbid"
                and _needs(expect.condition, forbid)
            ):
                yield FactProblem(
                    unit_id,
                    forbid.fact_id,
                    f"forbids {describe(forbid.condition)}, which fact {expect.fact_id!r} expects: "
                    f"{describe(expect.condition)}",
                )


def _needs(condition: Condition, forbid: Fact) -> bool:
    """Whether every way to fulfil the condition states what is forbidden."""
    if condition == forbid.condition:
        return True
    match condition.matcher:
        case "pattern":
            return False
        case "near" | "all":
            return any(_needs(part, forbid) for part in parts_of(condition))
        case "any":
            return all(_needs(part, forbid) for part in parts_of(condition))
        case "count":
            wanted = condition.at_least if condition.at_least is not None else condition.at_most is None
            return bool(wanted) and all(_needs(part, forbid) for part in parts_of(condition))
        case _:
            return all(_forbids(forbid, value) for value in condition.values)


def _forbids(forbid: Fact, text: str) -> bool:
    return forbid.matcher != "count" and check_fact(forbid, text).outcome == "fail"


def _idle_canary(unit: Unit) -> Iterator[FactProblem]:
    """What keeps a canary from telling a stale answer or an empty one from the right one."""
    facts = [fact for fact in unit.facts if fact.severity != "advisory"]
    if not any(fact.polarity == "expect" for fact in facts):
        yield FactProblem(
            unit.unit_id,
            None,
            "a canary needs a fact that expects: without one an answer that says nothing passes",
        )
    before = [unit.stale] if unit.stale is not None else [source.text for source in unit.sources_before]
    stale = _BETWEEN_TEXTS.join(before)
    if not any(check_fact(fact, stale).outcome == "fail" for fact in facts):
        what = "the stale answer" if unit.stale is not None else "the old sources"
        yield FactProblem(
            unit.unit_id,
            None,
            f"a canary needs a fact that the edit flips: {what} would pass all of them, as if new",
        )


def _excerpt(finding: Finding, text: str) -> str:
    assert finding.evidence is not None
    start, end = finding.evidence
    return repr(" ".join(text[max(0, start - 30) : end + 30].split()))
