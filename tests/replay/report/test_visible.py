import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.report.visible import visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("a\u202eb", "a\\u202eb", id="right to left"),
        pytest.param("\x00\x1b[2J\x7f\x85", "\\x00\\x1b[2J\\x7f\\x85", id="controls"),
        pytest.param("\ud800", "\\ud800", id="half a pair"),
        pytest.param("a\u2028b\ufeffc\u200bd", "a\\u2028b\\ufeffc\\u200bd", id="separators and nothings"),
        pytest.param("\U000e0041", "\\U000e0041", id="tag"),
        pytest.param("a\r\nb\rc", "a\nb\\rc", id="carriage returns"),
        pytest.param("a\tb\nc", "a\tb\nc", id="tabs and lines stay"),
        pytest.param("👩\u200d🚀 می\u200cخواهم São", "👩\u200d🚀 می\u200cخواهم São", id="joiners stay"),
    ],
)
def test_hidden_characters_are_seen(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text())
def test_no_control_is_left_and_nothing_else_is_touched(text: str) -> None:
    seen = visible(text)
    assert not [
        char for char in seen if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") and char not in "\t\n"
    ]
    if text.isprintable():
        assert seen == text
    assert visible(seen) == seen
