import pytest

from bundles import SuiteError
from bundles.text import check_id, check_known, check_text, check_unique, is_blank


def test_what_shows_is_not_blank() -> None:
    assert all(map(is_blank, ["", " \n\u3000", "\u200b\ufe0f", "\u0301"]))
    assert not any(map(is_blank, ["x", "\u200bx", "0", "\0"]))


@pytest.mark.parametrize("value", ["", " ", "a\nb", "a\u2028b", "\x7f", "\u200b", "\ud800"])
def test_an_id_is_one_line_that_shows(value: str) -> None:
    with pytest.raises(SuiteError, match=r"^the id"):
        check_id("the id", value)
    check_id("the id", "a b/ü😀")


def test_half_a_character_is_no_text() -> None:
    check_text("it", "\0\u2028😀")
    with pytest.raises(SuiteError, match=r"it holds half a surrogate pair \(\\udc00\) at character 2"):
        check_text("it", "ab\udc00")


def test_ids_differ_and_words_are_known() -> None:
    check_unique("unit", ["a", "b"])
    check_known("kind", "a", ("a", "b"))
    with pytest.raises(SuiteError, match="unit 'a' is given 2 times, ids must differ"):
        check_unique("unit", ["a", "b", "a"])
    with pytest.raises(SuiteError, match="kind 'c' is unknown, use one of: a, b"):
        check_known("kind", "c", ("a", "b"))
