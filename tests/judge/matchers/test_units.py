from fractions import Fraction

import pytest

from judge.matchers.units import Unit, currency_before, per, units_named


@pytest.mark.parametrize(
    ("spelling", "dimensions"),
    [
        ("ms", ["time"]),
        ("Minutes", ["time"]),
        ("MB", ["data"]),
        ("per cent", ["share"]),
        ("pounds", ["mass", "gbp"]),
        ("cents", ["usd", "eur"]),
        ("US dollars", ["usd"]),
        ("kW", ["power"]),
        ("K", ["temperature"]),
        ("k", []),
        ("US", []),
        ("G", []),
        ("A", ["current"]),
        ("a", []),
        ("apples", []),
        ("", []),
    ],
)
def test_what_a_word_means_as_a_unit(spelling: str, dimensions: list[str]) -> None:
    assert [unit.dimension for unit in units_named(spelling)] == dimensions


def test_a_capital_counts_where_it_tells_units_apart() -> None:
    (megabits,), (megabytes,) = units_named("Mb"), units_named("MB")
    assert megabytes.factor == 8 * megabits.factor
    (milliwatts,), (megawatts,) = units_named("mW"), units_named("MW")
    assert megawatts.factor == 10**9 * milliwatts.factor


def test_a_letter_is_a_unit_right_behind_digits_only() -> None:
    assert units_named("d", attached=True)
    assert not units_named("d")


@pytest.mark.parametrize(("sign", "currency"), [("$", "usd"), ("US$", "usd"), ("a$", "aud"), ("EUR", "eur")])
def test_currency_before_an_amount(sign: str, currency: str) -> None:
    assert [unit.dimension for unit in currency_before(sign)] == [currency]


@pytest.mark.parametrize("word", ["cents", "ms", "the", "¢"])
def test_no_currency_before_an_amount(word: str) -> None:
    assert not currency_before(word)


def test_conversion_is_exact() -> None:
    (celsius,), (fahrenheit,), (kelvin,) = units_named("°C"), units_named("°F"), units_named("K")
    assert celsius.base(Fraction(20)) == fahrenheit.base(Fraction(68)) == kelvin.base(Fraction("293.15"))
    (mile,), (hour,), (mph,) = units_named("mile"), units_named("h"), units_named("mph")
    assert per(mile, hour) == mph == Unit("length per time", Fraction(1609344, 3600000))
