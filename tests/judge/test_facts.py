import pytest

from bundles import Condition, Fact, Outcome, Polarity
from judge.facts import Finding, check_fact, describe


@pytest.mark.parametrize(
    ("polarity", "text", "outcome", "evidence"),
    [
        pytest.param("expect", "Due 15 June.", "pass", (4, 11), id="expected-and-there"),
        pytest.param("expect", "Due on June 15.", "pass", (7, 14), id="expected-in-another-spelling"),
        pytest.param("expect", "Due 12 June.", "fail", None, id="expected-and-absent"),
        pytest.param("expect", "Not due 15 June, due 16 June", "fail", (8, 15), id="expected-and-denied"),
        pytest.param("expect", "Moved from 15 June to 16 June", "fail", (11, 18), id="expected-and-old"),
        pytest.param(
            "expect", "Not 15 June; yes, June 15.", "pass", (18, 25), id="expected-denied-and-stated"
        ),
        pytest.param("forbid", "Due 15 June.", "fail", (4, 11), id="forbidden-and-there"),
        pytest.param("forbid", "Due 12 June.", "pass", None, id="forbidden-and-absent"),
        pytest.param("forbid", "Not due 15 June.", "pass", (8, 15), id="forbidden-and-denied"),
        pytest.param("forbid", "Moved from 15 June to 16 June", "fail", (11, 18), id="forbidden-and-old"),
        pytest.param("forbid", "June 15, or 15 June", "fail", (0, 7), id="first-place-is-the-evidence"),
    ],
)
def test_outcome_and_evidence(
    polarity: Polarity, text: str, outcome: Outcome, evidence: tuple[int, int] | None
) -> None:
    finding = check_fact(Fact("day", polarity, ("15 June", "June 15")), text)
    assert (finding.outcome, finding.evidence) == (outcome, evidence)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\ufeff"])
@pytest.mark.parametrize(
    "fact", [Fact("f", "expect", ("15",)), Fact("f", "forbid", ("15",)), Fact("f", "forbid", ())]
)
def test_an_empty_answer_is_never_right(fact: Fact, text: str) -> None:
    assert check_fact(fact, text) == Finding("fail", "the answer is empty")


@pytest.mark.parametrize(
    ("fact", "text", "reason"),
    [
        (Fact("f", "expect", ("15 June", "June 15")), "Due June  15", "says 'June 15'"),
        (Fact("f", "expect", ("15 June", "June 15")), "Due soon", "nowhere '15 June' or 'June 15'"),
        (Fact("f", "expect", ("610 ms",), "number"), "0.61 s", "says '0.61 s'"),
        (Fact("f", "expect", ("610 ms",), "number"), "0.62 s", "nowhere the number '610 ms'"),
        (Fact("f", "forbid", ("on track",)), "It isn't on track.", "'on track' is only denied"),
        (Fact("f", "forbid", ("71",), as_current=True), "Up from 71", "'71' is only given as the old value"),
        (Fact("f", "expect", ("Ava", "drill"), "near"), "Ava. No drill.", "nowhere 'Ava' near 'drill'"),
        (
            Fact("f", "expect", ("Ava",), "count", at_least=2),
            "Ava",
            "counts 1, wanted: 'Ava' at least 2 times",
        ),
        (Fact("f", "forbid", ("Ava",), "count", at_most=0), "Bo", "counts 0, wanted: 'Ava' at most 0 times"),
        (Fact("f", "expect", ("x+",), "pattern"), "x" * 100, f"says {'x' * 79 + '…'!r}"),
    ],
)
def test_reason_in_words(fact: Fact, text: str, reason: str) -> None:
    assert check_fact(fact, text).reason == reason


@pytest.mark.parametrize("polarity", ["expect", "forbid"])
@pytest.mark.parametrize(
    ("values", "matcher", "reason"),
    [
        pytest.param((), "text", "the fact has no value", id="no-value"),
        pytest.param(("15", ""), "text", "the fact has an empty value", id="empty-value"),
        pytest.param((" \u200b",), "text", "the fact has an empty value", id="invisible-value"),
        pytest.param(("15",), "fuzzy", "matcher 'fuzzy' is not available", id="unknown-matcher"),
        pytest.param(("Ava",), "number", "'Ava' is not one number with at most one unit", id="no-number"),
    ],
)
def test_a_fact_that_cannot_be_checked_is_unscored(
    polarity: Polarity, values: tuple[str, ...], matcher: str, reason: str
) -> None:
    assert check_fact(Fact("f", polarity, values, matcher=matcher), "15") == Finding("unscored", reason)


def test_a_value_forbidden_as_current_may_be_given_as_the_old_one() -> None:
    fact = Fact("f", "forbid", ("71",), as_current=True)
    assert check_fact(fact, "It is 72.").outcome == "pass"
    assert check_fact(fact, "Up from 71 to 72.").outcome == "pass"
    assert check_fact(fact, "Up from 71 to 72. It is 71.") == Finding("fail", "says '71'", (24, 26))


def test_conditions_in_words() -> None:
    number = Condition("number", ("15", "16"))
    assert describe(Condition("all", ("a",), (number,))) == "'a' and the number '15' or '16'"
    assert describe(Condition("any", ("a",), (Condition("pattern", ("b",)),))) == "'a' or the pattern 'b'"
    assert describe(Condition("count", ("a",), at_least=1, at_most=2)) == "'a' at least 1 and at most 2 times"


@pytest.mark.parametrize(
    ("text", "value", "evidence"),
    [
        ("\N{SALT SHAKER}\N{SALT SHAKER} Sa\u0303o Paulo", "São Paulo", (3, 13)),
        ("\N{SALT SHAKER} the **rollback** drill", "rollback drill", (8, 24)),
        ("> in São\n> Paulo", "São Paulo", (5, 16)),
        ("\u200fAva\u200f", "Ava", (1, 4)),
    ],
)
def test_evidence_counts_code_points_of_the_text_as_it_is(
    text: str, value: str, evidence: tuple[int, int]
) -> None:
    assert check_fact(Fact("f", "expect", (value,)), text).evidence == evidence
