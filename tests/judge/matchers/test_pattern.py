import pytest

from judge import JudgeError
from judge.errors import FactError
from judge.matchers import pattern
from judge.matchers.pattern import compile_pattern, find_pattern


def test_places_are_those_of_the_text_as_it_is_written() -> None:
    assert list(find_pattern(r"[A-Z]\w+’s", "Ava’s and Bo's and Cem’s")) == [(0, 5), (19, 24)]


def test_an_empty_match_is_no_place() -> None:
    assert list(find_pattern(r"(?<=a)b*(?=c)|x", "ac x")) == [(3, 4)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("(", "'\\(' is not a regular expression: "),
        ("a*", "matches the empty text"),
        ("[", "is not a regular expression"),
    ],
)
def test_a_pattern_that_cannot_be_used_says_why(value: str, reason: str) -> None:
    with pytest.raises(FactError, match=reason) as error:
        compile_pattern(value)
    assert isinstance(error.value, JudgeError)


def test_a_search_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "LIMIT_S", 0.01)
    with pytest.raises(FactError, match=r"takes more than 0.01 s on this text"):
        list(find_pattern(r"(?:a|a|aa)+$", "a" * 5000 + "b"))
