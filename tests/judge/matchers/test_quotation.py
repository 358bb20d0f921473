import pytest

from judge.matchers.quotation import is_old, is_old_column, is_struck, moves


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("up from ", "71", " to 72"),
        ("it rose to 72 from ", "71", "."),
        ("it was moved from ", "friday", "."),
        ("previously set to ", "71", ""),
        ("72 (was ", "71", ")"),
        ("the old price of ", "9 euros", ""),
        ("the former owner, ", "ava", ","),
        ("it used to be ", "71", "."),
        ("rather than ", "ava", ""),
        ("bo replaces ", "ava", ""),
        ("", "ava", " was replaced by bo"),
        ("", "71", " → 72"),
        ("it was ", "friday", ", now monday"),
        ("it was ", "71", " last year."),
        ("72 (", "71", " before)"),
        ("renamed `", "a", "` to `b`"),
        ("", "friday", " was moved to monday"),
        ("bumped ", "71", " to 72"),
        ("it was raised from ", "eleven", " to twelve"),
    ],
)
def test_old(before: str, value: str, after: str) -> None:
    assert is_old(before, value, after)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("up from 71 to ", "72", ""),
        ("from ", "71", " on"),
        ("trains from ", "berlin", " to paris"),
        ("", "settings", " → account"),
        ("", "the launch", " was moved to friday"),
        ("in the old ", "library", ""),
        ("the previous ", "12 months", ""),
        ("previously 71, now ", "72", ""),
        ("bo was replaced by ", "ava", ""),
        ("instead of bo, ", "ava", " owns it"),
        ("it is used to run ", "a", ""),
        ("it was ", "71", "."),
        ("moved from monday until ", "friday", ""),
    ],
)
def test_not_old(before: str, value: str, after: str) -> None:
    assert not is_old(before, value, after)


def test_struck_out() -> None:
    text = "~~12~~ 15 <del>9</del> 10\n~~ 3"
    assert [
        is_struck(text, at, at + len(word))
        for word in ("12", "15", "9", "10", "3")
        for at in [text.index(word)]
    ] == [
        True,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("head", "old"), [(" before ", True), ("**old** value", True), ("now", False), ("beforehand", False)]
)
def test_columns_of_old_values(head: str, old: bool) -> None:
    assert is_old_column(head) == old


def test_what_moves_is_no_range() -> None:
    assert moves("it rose from ")
    assert moves("changed ")
    assert not moves("it lasts from ")
