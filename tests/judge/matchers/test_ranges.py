import pytest

from judge.matchers.quantities import quantities
from judge.matchers.ranges import compounds, ranges
from judge.normalize import normalize


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        pytest.param("5-6 ms", [(5, 6)], id="dash"),
        pytest.param("610 ms-1200 ms", [(610, 1200)], id="unit-at-both-ends"),
        pytest.param("from 120 to 95 ms", [(120, 120), (95, 95)], id="falling-is-a-change"),
        pytest.param("2 to 3 million", [(2_000_000, 3_000_000)], id="scale-of-both"),
        pytest.param("1-2-3", [], id="chain-is-a-code"),
        pytest.param("an hour and twenty minutes", [(pytest.approx(4 / 3), pytest.approx(4 / 3))], id="time"),
    ],
)
def test_what_stands_side_by_side(text: str, bounds: list[tuple[float, float]]) -> None:
    assert [(float(found.low), float(found.high)) for found in quantities(text)] == bounds


def test_what_is_joined_keeps_the_place_of_all_its_parts() -> None:
    text = "2 hours and 5 minutes"
    (whole,) = quantities(text)
    assert (whole.start, whole.end) == (0, len(text))
    assert list(ranges(compounds([whole], normalize(text).lined), normalize(text).lined)) == [whole]
