import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.matchers.number import find_number, parse_number


def is_found(value: str, text: str, fraction: bool = False) -> bool:
    number = parse_number(value)
    assert number is not None
    return any(find_number(number, text, fraction))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Ava",
        "v15",
        "15:30",
        "15 June",
        "2026-03-14",
        "15 and 16",
        "about 15",
        "1.2.3",
        "007",
        "15th floor",
        "15 5",
    ],
)
def test_what_is_not_one_number(value: str) -> None:
    assert parse_number(value) is None


@pytest.mark.parametrize(
    "value", ["15", "-15", "a tenth", "40 %", "610 ms", "$1,200", "10-15", "15th", "8 workers", "½"]
)
def test_what_is_one_number(value: str) -> None:
    assert parse_number(value) is not None


def test_place_is_the_amount_with_its_unit() -> None:
    number = parse_number("610 ms")
    assert number is not None
    text = "It took 0.61\u202fs, not 0.610\u00a0seconds or 61 ms."
    assert [text[start:end] for start, end in find_number(number, text)] == [
        "0.61\u202fs",
        "0.610\u00a0seconds",
    ]


@given(number=st.integers(0, 10**9), other=st.integers(0, 10**9))
def test_an_integer_is_found_in_every_writing_and_is_no_other(number: int, other: int) -> None:
    grouped = f"{number:,}"
    for text in (f"{number}", grouped, grouped.replace(",", " "), grouped.replace(",", "'"), f"{number}.0"):
        assert is_found(str(number), f"in all {text} rows")
        assert is_found(str(other), f"in all {text} rows") == (number == other)
        assert not is_found(f"-{number or 1}", f"in all {text} rows")


@given(st.integers(1, 10**6), st.sampled_from(["ms", "kg", "km", "MB", "kW"]))
def test_a_number_of_a_smaller_unit_is_the_same(amount: int, unit: str) -> None:
    smaller = {"ms": "µs", "kg": "g", "km": "m", "MB": "kB", "kW": "W"}[unit]
    assert is_found(f"{amount} {unit}", f"about {amount * 1000:,} {smaller}.")
    assert not is_found(f"{amount} {unit}", f"about {amount} {smaller}.")


@given(st.integers(0, 1000))
def test_a_share_is_its_percentage_only_where_the_fact_says_so(thousandths: int) -> None:
    percent, share = f"{thousandths / 10:g}%", f"{thousandths / 1000:g}"
    assert is_found(percent, share, fraction=True)
    assert is_found(share, percent, fraction=True)
    assert not is_found(percent, share)
    assert not is_found(share, percent)
