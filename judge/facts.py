"""What one text says about one fact.

Invariant: an empty text is never right, and of any other a fact that cannot be checked is `unscored` with
the reason, never a pass and never a fail.
"""

from dataclasses import dataclass

from bundles import Fact, Outcome
from judge.matchers import MATCHERS, Range
from judge.normalize import normalize


@dataclass(frozen=True, slots=True)
class Finding:
    """Outcome of a fact; `evidence` is the range of the text it rests on, None for an absence."""

    outcome: Outcome
    reason: str
    evidence: Range | None = None


def check_fact(fact: Fact, text: str) -> Finding:
    """Look for the fact's values, any of which is enough, and report the first place in the text."""
    if not normalize(text).text.strip():
        return Finding("fail", "the answer is empty")
    matcher = MATCHERS.get(fact.matcher)
    if matcher is None:
        return Finding("unscored", f"matcher {fact.matcher!r} is not available")
    if not fact.values or not all(normalize(value).text.strip() for value in fact.values):
        return Finding("unscored", "the fact has no value or an empty one")
    found = [(place, value) for value in fact.values if (place := next(matcher(value, text), None))]
    if not found:
        return Finding("fail" if fact.polarity == "expect" else "pass", f"nowhere {_listed(fact.values)}")
    evidence, value = min(found)
    reason = f"says {value!r}"
    if fact.polarity == "expect":
        return Finding("pass", reason, evidence)
    if fact.as_current:
        return Finding("unscored", f"{reason}, perhaps as the old value", evidence)
    return Finding("fail", reason, evidence)


def _listed(values: tuple[str, ...]) -> str:
    return " or ".join(map(repr, values))
