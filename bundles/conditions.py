"""The shape of what a fact looks for.

Invariant: a condition that passes here can be looked for in any text: its matcher is known and has what it
needs and nothing that it would ignore, and its parts are few enough to be looked for at once.
"""

import regex

from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.records import Condition
from bundles.text import check_known, check_text, is_blank

SIMPLE_MATCHERS = ("text", "number", "date", "pattern")
MATCHERS = (*SIMPLE_MATCHERS, "near", "all", "any", "count")
MAX_DEPTH = 4
MAX_PARTS = 100
_TIMEOUT_S = 1.0


def check_condition(label: str, condition: Condition) -> None:
    """Raise `SuiteError`, saying what is wrong in `label`, unless the condition can be looked for."""
    if _check(label, condition, 1) > MAX_PARTS:
        raise SuiteError(f"{label}: more than {MAX_PARTS} parts, split it into several facts")


def _check(label: str, condition: Condition, depth: int) -> int:
    """Checks the condition and what it is made of; gives the number of its parts."""
    if depth > MAX_DEPTH:
        raise SuiteError(f"{label}: `of` is nested more than {MAX_DEPTH} deep, flatten it")
    check_known(f"{label}: matcher", condition.matcher, MATCHERS)
    if condition.of and condition.matcher in SIMPLE_MATCHERS:
        raise SuiteError(f"{label}: `of` belongs to near, all, any and count, not to {condition.matcher}")
    for value in condition.values:
        check_text(f"{label}: value", value)
        if is_blank(value):
            raise SuiteError(f"{label}: a value is blank")
        if condition.matcher == "pattern":
            _check_pattern(label, value)
    parts = len(condition.values) + len(condition.of)
    if not parts:
        raise SuiteError(f"{label}: no value, give at least one")
    if condition.matcher == "near" and parts < 2:
        raise SuiteError(f"{label}: near needs two values or more")
    if condition.fraction and condition.matcher != "number":
        raise SuiteError(f"{label}: `fraction` belongs to number, not to {condition.matcher}")
    _check_bounds(label, condition)
    for number, part in enumerate(condition.of, 1):
        parts += _check(f"{label}, part {number}", part, depth + 1)
        if parts > MAX_PARTS:
            break
    return parts


def _check_bounds(label: str, condition: Condition) -> None:
    least, most = condition.at_least, condition.at_most
    if condition.matcher != "count":
        if least is not None or most is not None:
            raise SuiteError(f"{label}: `at_least` and `at_most` belong to count, not to {condition.matcher}")
        return
    if not least and most is None:
        raise SuiteError(f"{label}: count needs `at_least` of 1 or more, or `at_most`")
    for name, bound in (("at_least", least), ("at_most", most)):
        if bound is not None and not 0 <= bound < 2**31:
            raise SuiteError(f"{label}: `{name}` is {brief(bound)}, it must be a number from 0 up")
    if least is not None and most is not None and least > most:
        raise SuiteError(f"{label}: `at_least` {least} is more than `at_most` {most}")


def _check_pattern(label: str, pattern: str) -> None:
    try:
        found = regex.compile(pattern).search("", timeout=_TIMEOUT_S)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        raise SuiteError(f"{label}: {brief(pattern)} is not a regular expression: {error}") from None
    except TimeoutError:
        raise SuiteError(f"{label}: {brief(pattern)} takes too long, make it simpler") from None
    if found:
        raise SuiteError(f"{label}: {brief(pattern)} matches the empty text, so it matches everywhere")
