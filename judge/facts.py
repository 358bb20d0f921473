"""What one text says about one fact.

Invariant: an empty text is never right, and of any other a fact that cannot be checked is `unscored` with
the reason, never a pass and never a fail.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from bundles import Condition, Fact, Outcome
from judge.errors import FactError
from judge.matchers.search import SIMPLE, Found, check_condition, fulfils, parts_of
from judge.matchers.standing import Standing, standing
from judge.normalize import Range, normalize

_CURRENT: tuple[Standing, ...] = ("current",)
_STATED: tuple[Standing, ...] = ("current", "old")
_ANYHOW: tuple[Standing, ...] = ("current", "old", "negated")
_NAMES = {"text": "", "number": "the number ", "date": "the date ", "pattern": "the pattern "}
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """Outcome of a fact; `evidence` is the range of the text it rests on, None for an absence."""

    outcome: Outcome
    reason: str
    evidence: Range | None = None


def check_fact(fact: Fact, text: str) -> Finding:
    """Look for what the fact speaks of, and report the first place in the text.

    To expect something is to want it stated as it is now: denied, or given as the old value, it is not.
    What is forbidden may be denied, and given as the old value where it is forbidden as current only.
    """
    normalized = normalize(text)
    if normalized.text in ("", " "):
        return Finding("fail", "the answer is empty")
    text = normalized.source  # the very object that caches know: long ones need not be compared
    try:
        condition = _condition(fact)
        found = fulfils(condition, text, _accepted(fact))
        outcome: Outcome = "pass" if found.holds == (fact.polarity == "expect") else "fail"
        if found.holds or fact.matcher == "count":
            return Finding(outcome, _presence(condition, text, found), found.place)
        return _absence(condition, text, outcome, found)
    except FactError as error:
        return Finding("unscored", str(error))


@lru_cache(maxsize=4096)
def _condition(fact: Fact) -> Condition:
    """What the fact looks for; raises `FactError` where that cannot be looked for."""
    check_condition(fact.condition)
    return fact.condition


def _accepted(fact: Fact) -> Collection[Standing]:
    """How a text may state what the fact speaks of, for it to count."""
    return _STATED if fact.polarity == "forbid" and not fact.as_current else _CURRENT


def _presence(condition: Condition, text: str, found: Found) -> str:
    if condition.matcher == "count":
        return f"counts {found.times}, wanted: {describe(condition)}"
    return f"says {_quoted(text, found.place)}" if found.place else f"fulfils {describe(condition)}"


def _absence(condition: Condition, text: str, outcome: Outcome, found: Found) -> Finding:
    """What is to be said where the condition is not fulfilled: nowhere, or not in a way that counts."""
    place = found.other if condition.matcher in SIMPLE else fulfils(condition, text, _ANYHOW).place
    if place is None:
        return Finding(outcome, f"nowhere {describe(condition)}")
    how = "denied" if standing(text, place) == "negated" else "given as the old value"
    return Finding(outcome, f"{_quoted(text, place)} is only {how}", place)


def describe(condition: Condition) -> str:
    """A condition in words."""
    if condition.matcher in _NAMES:
        return _NAMES[condition.matcher] + " or ".join(map(repr, condition.values))
    parts = [describe(part) for part in parts_of(condition)]
    match condition.matcher:
        case "near":
            return " near ".join(parts)
        case "all":
            return " and ".join(parts)
        case "count":
            least = None if condition.at_least is None else f"at least {condition.at_least}"
            most = None if condition.at_most is None else f"at most {condition.at_most}"
            return f"{' or '.join(parts)} {' and '.join(filter(None, (least, most)))} times"
        case _:
            return " or ".join(parts)


def _quoted(text: str, place: Range) -> str:
    words = " ".join(text[slice(*place)].split())
    return repr(words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…")
