import pytest

from bundles import Fact, Outcome, Polarity
from judge.facts import Finding, check_fact


@pytest.mark.parametrize(
    ("polarity", "text", "outcome", "evidence"),
    [
        pytest.param("expect", "Due 15 June.", "pass", (4, 11), id="expected-and-there"),
        pytest.param("expect", "Due on June 15.", "pass", (7, 14), id="expected-in-another-spelling"),
        pytest.param("expect", "Due 12 June.", "fail", None, id="expected-and-absent"),
        pytest.param("forbid", "Due 15 June.", "fail", (4, 11), id="forbidden-and-there"),
        pytest.param("forbid", "Due 12 June.", "pass", None, id="forbidden-and-absent"),
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


def test_reason_names_the_value_that_was_found_or_all_that_were_not() -> None:
    fact = Fact("day", "expect", ("15 June", "June 15"))
    assert check_fact(fact, "Due June 15").reason == "says 'June 15'"
    assert check_fact(fact, "Due soon").reason == "nowhere '15 June' or 'June 15'"


@pytest.mark.parametrize("polarity", ["expect", "forbid"])
@pytest.mark.parametrize(
    ("values", "matcher", "reason"),
    [
        pytest.param((), "text", "the fact has no value or an empty one", id="no-value"),
        pytest.param(("15", ""), "text", "the fact has no value or an empty one", id="empty-value"),
        pytest.param((" \u200b",), "text", "the fact has no value or an empty one", id="invisible-value"),
        pytest.param(("15",), "number", "matcher 'number' is not available", id="unknown-matcher"),
    ],
)
def test_a_fact_that_cannot_be_checked_is_unscored(
    polarity: Polarity, values: tuple[str, ...], matcher: str, reason: str
) -> None:
    assert check_fact(Fact("f", polarity, values, matcher=matcher), "15") == Finding("unscored", reason)


def test_a_value_forbidden_as_current_is_unscored_where_it_occurs() -> None:
    fact = Fact("f", "forbid", ("71",), as_current=True)
    assert check_fact(fact, "It is 72.").outcome == "pass"
    finding = check_fact(fact, "Up from 71 to 72.")
    assert (finding.outcome, finding.evidence) == ("unscored", (8, 10))
