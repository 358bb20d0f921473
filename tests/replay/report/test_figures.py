import pytest

from replay.report.figures import count, interval, percent, points, times


@pytest.mark.parametrize(
    ("share", "written"),
    [(None, "-"), (0.0, "0%"), (0.001, "<1%"), (0.424, "42%"), (0.9999, ">99%"), (1.0, "100%")],
)
def test_only_all_is_all_and_only_nothing_is_nothing(share: float | None, written: str) -> None:
    assert percent(share) == written


def test_speedups() -> None:
    assert (times(1.839), times(None)) == ("1.84x", "-")
    assert (interval(0.5, 2), interval(None, None)) == ("0.50 to 2.00", "-")


def test_counts() -> None:
    assert [count(1, "unit"), count(2, "unit")] == ["1 unit", "2 units"]


def test_differences_of_shares_are_points_with_their_sign() -> None:
    assert [points(0.1), points(-0.061), points(0.0), points(None)] == ["+10.0", "-6.1", "+0.0", "-"]
