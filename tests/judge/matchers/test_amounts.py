from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.matchers.amounts import amount_of, extended, plain_digits, runs
from judge.normalize import normalize


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1428", 1428),
        ("1,428", 1428),
        ("1 428", 1428),
        ("1'428", 1428),
        ("1_428", 1428),
        ("1,00,000", 100000),
        ("1,428.50", Fraction("1428.5")),
        ("1.428,50", Fraction("1428.5")),
        ("14,5", Fraction("14.5")),
        (".5", Fraction("0.5")),
        ("0.10", Fraction("0.1")),
        ("3/4", Fraction("0.75")),
        ("١٤", 14),
        ("0", 0),
        ("007", None),
        ("1.2.3", None),
        ("15:30", None),
        ("1,4285", None),
        ("12,34,5", None),
        ("1/0", None),
        ("9" * 5000, None),
    ],
)
def test_amount_of_digits(written: str, amount: Fraction | None) -> None:
    assert amount_of(written) == amount


@given(st.decimals(min_value=0, max_value=10**12, allow_nan=False, allow_infinity=False, places=6))
def test_decimals_are_exact(number: object) -> None:
    assert amount_of(f"{number:,}") == amount_of(f"{number}") == Fraction(str(number))


def test_runs_of_digits() -> None:
    text = "1 428, .5, a.5 and 10:30 (7)"
    assert [text[start:end] for start, end in runs(text)] == ["1 428", ".5", "5", "10:30", "7"]


@pytest.mark.parametrize(
    ("text", "amount", "rest"),
    [
        ("2 1/2 cups", Fraction(5, 2), " cups"),
        ("2½ cups", Fraction(5, 2), " cups"),
        ("2 and a half cups", Fraction(5, 2), " cups"),
        ("3e6.", 3000000, "."),
        ("3 × 10⁶ a", 3000000, " a"),
        ("3 x 10^-2", Fraction("0.03"), ""),
        ("2 3/2", 2, " 3/2"),
        ("2 and a halfway", 2, " and a halfway"),
        ("2 euros", 2, " euros"),
    ],
)
def test_amounts_go_on(text: str, amount: Fraction, rest: str) -> None:
    view = plain_digits(normalize(text))
    found, end = extended(view, int(view[0]), 1)
    assert (found, view[end:]) == (amount, rest)


@pytest.mark.parametrize(
    ("text", "digits"),
    [("15²", ["15"]), ("m² 15", ["2", "15"]), ("①5", ["5"]), ("½", ["½\ue001\ue001"]), ("٣٫٥", ["٣.٥"])],
)
def test_raised_and_vulgar_digits_are_no_plain_ones(text: str, digits: list[str]) -> None:
    view = plain_digits(normalize(text))
    assert [view[start:end] for start, end in runs(view)] == digits
    assert len(view) == len(normalize(text).text)
