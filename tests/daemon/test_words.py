import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.words import values, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ada's 3.10 or 1,428.", ["Ada", "s", "3.10", "or", "1,428"]),
        ("at 10:30, on 2026-03-05 or 5/3/26", ["at", "10:30", "on", "2026-03-05", "or", "5/3/26"]),
        ("$9 is 12% of app.run()", ["$", "9", "is", "12", "%", "of", "app.run"]),
        ("Twenty-five state-of-the-art", ["Twenty-five", "state", "of", "the", "art"]),
        ("a/b a-b a:b", ["a", "b", "a", "b", "a", "b"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
    ],
)
def test_values(text: str, found: list[str]) -> None:
    assert [word.text for word in values(text)] == found


def test_words_are_the_parts_of_values() -> None:
    assert [word.text for word in words("3.10 twenty-five 9%")] == ["3", "10", "twenty", "five", "9", "%"]


def test_composed_and_decomposed_are_one_word() -> None:
    (word,) = words("Sa\u0303o")
    assert (word.text, word.key, word.stop) == ("São", "são", 4)


@given(st.text(st.sampled_from("aé\u03019.,-%$ \n🧂"), max_size=20))
def test_words_lie_in_order_in_the_text_and_within_values(text: str) -> None:
    for found in (words(text), values(text)):
        edges = [edge for word in found for edge in (word.start, word.stop)]
        assert edges == sorted(edges)
        assert all(not text[word.start : word.stop].isspace() for word in found)
    spans = [(value.start, value.stop) for value in values(text)]
    assert all(any(a <= word.start and word.stop <= b for a, b in spans) for word in words(text))
