import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.matchers.numerals import Numeral, numerals
from judge.matchers.words import listed

SMALL = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen",
    "seventeen eighteen nineteen",
)
ENDINGS = {1: "st", 2: "nd", 3: "rd"}
TENS = listed("- - twenty thirty forty fifty sixty seventy eighty ninety")


def spelled(number: int, link: str) -> str:
    """The number in words; `link` joins what is under a hundred: " and " or " "."""
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = number % scale
            tail = "" if not rest else (link if rest < 100 else " ") + spelled(rest, link)
            return f"{spelled(number // scale, link)} {name}{tail}"
    if number < 20:
        return SMALL[number]
    return TENS[number // 10] + (f"-{SMALL[number % 10]}" if number % 10 else "")


@given(number=st.integers(0, 10**12 - 1), link=st.sampled_from([" ", " and "]))
def test_a_number_in_words_is_that_number(number: int, link: str) -> None:
    words = spelled(number, link)
    [found] = numerals(f"all {words} of them")
    assert (found.amount, found.ordinal, found.start, found.end) == (number, False, 4, 4 + len(words))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a tenth of it", ["1/10"]),
        ("two thirds", ["2/3"]),
        ("one-fifth", ["1/5"]),
        ("three quarters of it", ["3/4"]),
        ("half the price", ["1/2"]),
        ("two and a half", ["5/2"]),
        ("half a million", ["500000"]),
        ("a quarter of a million", ["250000"]),
        ("one and a half million", ["1500000"]),
        ("one point five million", ["1500000"]),
        ("a dozen", ["12"]),
        ("half a dozen", ["6"]),
        ("fifteen hundred", ["1500"]),
        ("nineteen ninety-nine", ["1999"]),
        ("five and ten", ["5", "10"]),
        ("one of three", ["1", "3"]),
        ("twenty second delays", ["20", "2nd"]),
        ("the twenty-second", ["22nd"]),
        ("one hundred and fifth", ["105th"]),
        ("a third option", ["3rd"]),
        ("no one another", []),
        ("the one and this one", []),
        ("hundreds of thousands", []),
        ("half past", []),
        ("someone, bones, seventeenth_", []),
    ],
)
def test_numerals_of_prose(text: str, found: list[str]) -> None:
    assert [shown(numeral) for numeral in numerals(text)] == found


def shown(numeral: Numeral) -> str:
    if not numeral.ordinal:
        return str(numeral.amount)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(
        int(numeral.amount) % 10 if numeral.amount not in (11, 12, 13) else 0, "th"
    )
    return f"{numeral.amount}{ending}"
