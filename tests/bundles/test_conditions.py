import pytest

from bundles import SuiteError
from bundles.conditions import check_condition
from bundles.records import Condition

X, Y = Condition("text", ("x",)), Condition("number", ("12",), fraction=True)


def nested(depth: int) -> Condition:
    return X if depth == 1 else Condition("all", (), (nested(depth - 1),))


@pytest.mark.parametrize(
    "condition",
    [
        X,
        Y,
        Condition("date", ("2026-03-14", "14 March")),
        Condition("pattern", (r"\bv\d+(?=\.)",)),
        Condition("near", ("a", "b")),
        Condition("near", ("a",), (Y,)),
        Condition("any", (), (X, Condition("all", ("a",)))),
        Condition("count", ("a", "b", "c"), at_least=2),
        Condition("count", ("a",), at_most=0),
        Condition("count", ("a",), (X,), at_least=1, at_most=1),
        nested(4),
    ],
)
def test_what_can_be_looked_for_passes(condition: Condition) -> None:
    check_condition("it", condition)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            Condition("fuzzy", ("x",)),
            "it: matcher 'fuzzy' is unknown, use one of: text, number, date, pattern,",
        ),
        (Condition("text", ()), "it: no value, give at least one"),
        (Condition("all"), "it: no value, give at least one"),
        (Condition("text", ("x", "\u200b")), "it: a value is blank"),
        (Condition("text", ("\ud800",)), r"it: value holds half a surrogate pair (\ud800)"),
        (Condition("number", ("1",), (X,)), "it: `of` belongs to near, all, any and count, not to number"),
        (Condition("near", ("x",)), "it: near needs two values or more"),
        (Condition("text", ("x",), fraction=True), "it: `fraction` belongs to number, not to text"),
        (Condition("any", ("x",), at_least=1), "it: `at_least` and `at_most` belong to count, not to any"),
        (Condition("count", ("x",)), "it: count needs `at_least` of 1 or more, or `at_most`"),
        (Condition("count", ("x",), at_least=0), "it: count needs `at_least` of 1 or more, or `at_most`"),
        (Condition("count", ("x",), at_most=-1), "it: `at_most` is -1, it must be a number from 0 up"),
        (Condition("count", ("x",), at_least=2**31), "it: `at_least` is 2147483648, it must be"),
        (Condition("count", ("x",), at_least=3, at_most=2), "it: `at_least` 3 is more than `at_most` 2"),
        (Condition("pattern", ("(",)), "it: '(' is not a regular expression: missing )"),
        (Condition("pattern", ("x*",)), "it: 'x*' matches the empty text, so it matches everywhere"),
        (Condition("all", ("x",), (X, Condition("text"))), "it, part 2: no value, give at least one"),
        (nested(5), "it, part 1, part 1, part 1, part 1: `of` is nested more than 4 deep, flatten it"),
        (Condition("any", ("x",) * 101), "it: more than 100 parts, split it into several facts"),
        (Condition("any", (), (Condition("any", ("x",) * 60),) * 60), "it: more than 100 parts"),
    ],
)
def test_what_cannot_is_said(condition: Condition, message: str) -> None:
    with pytest.raises(SuiteError) as refusal:
        check_condition("it", condition)
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1
