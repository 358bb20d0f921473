import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text_stream import TextStream


def run(pieces: list[bytes], stops: list[str] | None = None) -> tuple[str, bool]:
    stream = TextStream(stops or [])
    text = ""
    for piece in pieces:
        text += stream.push(piece)
        if stream.stopped:
            return text + stream.finish(), True
    return text + stream.finish(), False


def split(text: str, size: int) -> list[bytes]:
    data = text.encode()
    return [data[n : n + size] for n in range(0, len(data), size)]


@given(st.text(), st.integers(1, 5))
def test_any_split_of_a_text_gives_the_text(text: str, size: int) -> None:
    assert run(split(text, size)) == (text, False)


def test_a_split_character_waits_for_the_token_that_completes_it() -> None:
    stream = TextStream()
    salt = "🧂".encode()
    assert [stream.push(salt[n : n + 1]) for n in range(4)] == ["", "", "", "🧂"]


def test_an_unfinished_character_at_the_end_is_dropped() -> None:
    assert run([b"a", "🧂".encode()[:3]]) == ("a", False)


def test_bytes_that_are_no_character_are_replaced() -> None:
    assert run([b"a", b"\xff", b"b", b"\xf0\x9f", b"c"]) == ("a�b�c", False)


def test_a_stop_string_over_several_tokens_is_found() -> None:
    assert run([b"h i j ", b"k", b" l", b" m n"], ["k l m"]) == ("h i j ", True)


def test_a_beginning_of_a_stop_string_is_held_back_until_it_is_decided() -> None:
    stream = TextStream(["k l m"])
    assert [stream.push(piece) for piece in (b"j k", b" l", b" x")] == ["j ", "", "k l x"]


def test_what_waited_for_a_stop_string_comes_at_the_end() -> None:
    assert run([b"j k l"], ["k l m"]) == ("j k l", False)


@pytest.mark.parametrize(
    ("text", "stops", "expected"),
    [
        pytest.param("aab", ["ab"], "a", id="overlapping beginning"),
        pytest.param("one END two", ["two", "END"], "one ", id="first in the text, not in the list"),
        pytest.param("abc", [""], "abc", id="an empty stop string stops nothing"),
        pytest.param("x🧂y", ["🧂"], "x", id="a character of four bytes"),
        pytest.param("aXb", ["a", "aXb"], "", id="the one complete first"),
    ],
)
def test_stop_strings(text: str, stops: list[str], expected: str) -> None:
    assert run(split(text, 1), stops)[0] == expected


@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), max_size=3))
def test_no_stop_string_is_ever_given_out(text: str, stops: list[str]) -> None:
    said, stopped = run(split(text, 1), stops)
    assert text.startswith(said)
    assert stopped == any(stop in text for stop in stops)
    assert not any(stop in said for stop in stops)
    assert stopped or said == text
