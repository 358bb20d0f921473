import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.variants import variants


@pytest.mark.parametrize(
    ("value", "others"),
    [
        ("12", {"twelve", "12th", "twelfth"}),
        ("twelve", {"12"}),
        ("12th", {"12", "twelve", "twelfth"}),
        ("third", {"3", "3rd", "three", "03"}),
        ("7", {"07", "seven"}),
        ("07", {"7"}),
        ("25", {"twenty", "five", "fifth"}),
        ("twenty-five", {"25", "25th"}),
        ("100", {"hundred"}),
        ("1,428", {"1428", "428", "1.428"}),
        ("1428", {"1,428", "428"}),
        ("%", {"percent"}),
        ("percent", {"%"}),
        ("$", {"dollar", "dollars", "usd"}),
        ("euros", {"€", "euro"}),
        ("mar", {"march", "03"}),
        ("march", {"mar"}),
        ("sept", {"september", "sep"}),
        ("friday", {"fri"}),
        ("2026-03-05", {"march", "mar", "may"}),
        ("oracle", {"oracles"}),
        ("ferries", {"ferry"}),
        ("ferry", {"ferries"}),
        ("boxes", {"box"}),
    ],
)
def test_another_spelling_is_known(value: str, others: set[str]) -> None:
    assert others - {value} <= variants(value)


@pytest.mark.parametrize("value", ["", "3.10", "x", "v2", "2.5", "9" * 30])
def test_what_has_one_spelling_has_no_other(value: str) -> None:
    assert variants(value) == frozenset()


@pytest.mark.parametrize(
    ("number", "word"), [(0, "zero"), (1, "one"), (13, "thirteen"), (20, "twenty"), (90, "ninetieth")]
)
def test_digits_and_words_lead_to_each_other(number: int, word: str) -> None:
    assert word in variants(str(number))
    assert str(number) in variants(word)


@given(st.text(max_size=12))
def test_variants_are_keys_and_never_the_value_itself(text: str) -> None:
    value = text.casefold()
    assert value not in variants(value)
    assert all(word == word.casefold() and word for word in variants(value))
