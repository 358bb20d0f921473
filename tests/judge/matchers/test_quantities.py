from fractions import Fraction

import pytest

from judge.matchers.quantities import quantities
from judge.normalize import normalize


def shown(text: str) -> list[str]:
    whole = normalize(text).text
    return [whole[found.start : found.end] for found in quantities(text)]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param("sold 1,428 rows for $3 million", ["1,428", "$3 million"], id="grouped-and-scaled"),
        pytest.param("-5, −6 and minus seven", ["-5", "-6", "minus seven"], id="negative"),
        pytest.param("5-6, 7 to 8 and between 9 and 10", ["5-6", "7 to 8", "9 and 10"], id="ranges"),
        pytest.param("rose from 7 to 8", ["7", "8"], id="change-is-no-range"),
        pytest.param("2 hours and 5 minutes, 1h30m", ["2 hours and 5 minutes", "1h30m"], id="compound-times"),
        pytest.param("gpt-4, v5, x6, 7b, 8:30, 9 pm, 1.2.3, 555-12-34, 007", [], id="names-times-and-codes"),
        pytest.param("May 5, 2026-03-14, the 1960s, 5 of them", ["5"], id="dates"),
        pytest.param("1. one\n2. two\n9. nine", ["one", "two", "9", "nine"], id="items-of-a-list"),
        pytest.param("5 euros to 10 people", ["5 euros", "10"], id="no-range-of-unlike-things"),
        pytest.param("15% and 15 percent", ["15%", "15 percent"], id="share"),
        pytest.param("15 m² of 20 km/h", ["15 m2", "20 km/h"], id="composed-units"),
    ],
)
def test_places_of_quantities(text: str, places: list[str]) -> None:
    assert shown(text) == places


@pytest.mark.parametrize(
    ("text", "amount", "dimension", "base"),
    [
        ("0.61 s", "0.61", "time", "0.61"),
        ("610 ms", "610", "time", "0.61"),
        ("1h 30m", "1.5", "time", "5400"),
        ("$1.2k", "1200", "usd", "1200"),
        ("15M users", "15000000", None, None),
        ("15 m", "15", "length", "15"),
        ("-40 °F", "-40", "temperature", "233.15"),
        ("2½ kg", "2.5", "mass", "2.5"),
    ],
)
def test_amount_and_unit(text: str, amount: str, dimension: str | None, base: str | None) -> None:
    [found] = quantities(text)
    assert found.low == found.high == Fraction(amount)
    assert [unit.dimension for unit in found.units] == ([dimension] if dimension else [])
    assert [unit.base(found.low) for unit in found.units] == ([Fraction(base)] if base else [])


def test_a_range_is_counted_in_one_unit() -> None:
    [found] = quantities("500 ms to 2 s")
    assert (found.low, found.high) == (500, 2000)
    [found] = quantities("2-3 million")
    assert (found.low, found.high) == (2000000, 3000000)
