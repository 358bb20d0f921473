import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import Condition
from judge.errors import FactError
from judge.matchers.search import Found, check_condition, fulfils, parts_of
from judge.matchers.words import listed

NUMBER = Condition("number", ("15",))
CURRENT = ("current",)


@pytest.mark.parametrize(
    ("condition", "text", "found"),
    [
        pytest.param(Condition(values=("b", "a")), "a b", Found(True, (0, 1)), id="first-of-several"),
        pytest.param(Condition(values=("a",)), "not a", Found(False, other=(4, 5)), id="denied"),
        pytest.param(Condition("all", ("a",), (NUMBER,)), "15 a", Found(True, (0, 2)), id="all"),
        pytest.param(Condition("all", ("a",), (NUMBER,)), "16 a", Found(False, (3, 4)), id="not-all"),
        pytest.param(Condition("any", ("a",), (NUMBER,)), "b fifteen", Found(True, (2, 9)), id="any"),
        pytest.param(Condition("count", ("a",), at_least=2), "a, a", Found(True, (0, 1), 2), id="count"),
        pytest.param(Condition("count", ("a",)), "a", Found(True, (0, 1), 1), id="count-once"),
        pytest.param(Condition("count", ("a",), at_most=0), "b", Found(True), id="count-none"),
        pytest.param(Condition("count", ("a b", "b")), "a b", Found(True, (0, 3), 1), id="count-apart"),
        pytest.param(
            Condition("count", ("a",), at_least=2), "a, not a", Found(False, (0, 1), 1), id="count-stated"
        ),
        pytest.param(Condition("near", ("a",), (NUMBER,)), "a is 15", Found(True, (0, 7), 1), id="near"),
        pytest.param(
            Condition("near", ("c",), (Condition("all", ("a", "b")),)),
            "a. a b c",
            Found(True, (3, 8), 1),
            id="all-near",
        ),
        pytest.param(
            Condition("near", ("c",), (Condition("count", ("a",), at_least=2),)),
            "a. a c",
            Found(True, (3, 6), 1),
            id="count-near",
        ),
    ],
)
def test_whether_and_where(condition: Condition, text: str, found: Found) -> None:
    check_condition(condition)
    assert fulfils(condition, text, CURRENT) == found


def test_what_is_accepted_counts_in_every_part() -> None:
    condition = Condition("all", ("a", "b"))
    text = "a, formerly b"
    assert not fulfils(condition, text, CURRENT).holds
    assert fulfils(condition, text, ("current", "old")).holds


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (Condition("fuzzy", ("a",)), "matcher 'fuzzy' is not available"),
        (Condition(), "the fact has no value"),
        (Condition("all"), "the fact has no value"),
        (Condition(of=(NUMBER,)), "the fact has no value"),
        (Condition(values=("a", "\u200b")), "the fact has an empty value"),
        (Condition("number", ("v15",)), "'v15' is not one number"),
        (Condition("date", ("03/04/2026",)), "'03/04/2026' is not one date"),
        (Condition("pattern", ("(",)), r"'\(' is not a regular expression"),
        (
            Condition("any", ("a",), (Condition("all", of=(Condition("number", ("x",)),)),)),
            "'x' is not one number",
        ),
    ],
)
def test_what_cannot_be_looked_for(condition: Condition, reason: str) -> None:
    with pytest.raises(FactError, match=reason):
        check_condition(condition)


def test_parts_are_the_values_and_the_conditions() -> None:
    assert parts_of(Condition("near", ("a",), (NUMBER,))) == (Condition(values=("a",)), NUMBER)


PIECES = listed(
    "15 1,428 -5 $5 €9.99 10-15 2026-03-14 14 March Friday the 1960s '60s one twenty-one half a tenth",
    "million k % ° ½ ² ⁶ × ١٥ 15万 東京 アバ á ’ “ ” – — | - * 1. # > ``` ~~ <del> </del> not no n't",
    "previously from to was ( ) [ ] . ! … 。 , ; : Ava near / ` ** ™ ﬁ ß İ 👍🏽 minus 0 00 1/0 3/4 v1.2",
    "1h30m km/h m² and or nor",
)
WHITE = [" ", "\n", "\n\n", "\t", "\u200b", "\u00ad"]
TEXTS = st.lists(st.sampled_from([*PIECES, *WHITE]) | st.text(max_size=3)).map(" ".join)
VALUES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(" ".join)


@given(matcher=st.sampled_from(["text", "number", "date", "near"]), value=VALUES, text=TEXTS)
def test_any_text_can_be_searched_and_evidence_lies_in_it(matcher: str, value: str, text: str) -> None:
    condition = Condition(matcher, (value, "Ava") if matcher == "near" else (value,))
    try:
        check_condition(condition)
    except FactError:
        return
    found = fulfils(condition, text, CURRENT)
    assert found.holds == (found.place is not None)
    for place in filter(None, (found.place, found.other)):
        assert 0 <= place[0] < place[1] <= len(text)
