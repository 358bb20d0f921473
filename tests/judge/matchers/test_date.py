from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.matchers.date import dates, find_date, parse_date

DAYS = st.dates(date(1900, 1, 1), date(2099, 12, 31))


def is_found(value: str, text: str) -> bool:
    wanted = parse_date(value)
    assert wanted is not None
    return any(find_date(wanted, text))


@pytest.mark.parametrize(
    "value", ["", "15", "soon", "03/04/2026", "2026-02-30", "14 and 15 March", "60s", "32 March", "may"]
)
def test_what_is_not_one_date(value: str) -> None:
    assert parse_date(value) is None


@given(day=DAYS, offset=st.integers(1, 400))
def test_a_day_is_found_in_every_writing_and_is_no_other(day: date, offset: int) -> None:
    other = day + timedelta(offset)
    for text in (
        f"{day:%Y-%m-%d}",
        f"{day.day} {day:%B %Y}",
        f"{day:%B} {day.day}, {day.year}",
        f"the {day.day}th of {day:%B}, {day.year}",
        f"{day:%A}, {day.day} {day:%b} {day.year}",
    ):
        assert is_found(f"{day:%Y-%m-%d}", f"It is due on {text}.")
        assert is_found(f"{day.day} {day:%B}", f"It is due on {text}.")
        assert not is_found(f"{other:%Y-%m-%d}", f"It is due on {text}.")


@given(DAYS)
def test_digits_in_both_orders_count_where_only_one_is_a_date(day: date) -> None:
    ambiguous = day.day <= 12 and day.day != day.month
    for text in (f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%d.%m.%Y}"):
        assert is_found(f"{day:%Y-%m-%d}", text) != ambiguous


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("from 12 to 14 March 2026 on", ["12", "14 March 2026"]),
        ("March 14–16", ["March 14", "16"]),
        ("Sat, 14 March (Friday)", ["Sat, 14 March", "Friday"]),
        ("the late '60s and 70s", ["late '60s", "70s"]),
        ("2019-2021", ["2019", "2021"]),
        ("On March 14, 15 people", ["March 14"]),
    ],
)
def test_places_of_dates(text: str, places: list[str]) -> None:
    plain = text.replace("–", "-").lower()
    assert [plain[found.start : found.end] for found in dates(text)] == [place.lower() for place in places]
