from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.matchers.layout import layout

TEXTS = st.lists(
    st.sampled_from(
        [
            "A b.",
            "c d! ",
            "e.g. f",
            "- g",
            "\n",
            "\n\n",
            "  * h",
            "1. i",
            "| j | k |",
            "|---|---|",
            "```",
            "# l",
            "> m",
            "。",
            "\t",
            "`n. o`",
            "\r\n",
        ]
    )
    | st.text(max_size=5)
).map("".join)


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in layout(text).sentences]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(
            "It is 3.5 ms. Dr. Rao, e.g. here, agrees.",
            ["It is 3.5 ms.", "Dr. Rao, e.g. here, agrees."],
            id="points",
        ),
        pytest.param(
            "At 10 a.m. we go. At 10 a.m. Ava goes.",
            ["At 10 a.m. we go.", "At 10 a.m.", "Ava goes."],
            id="undecided",
        ),
        pytest.param("So... it ends… It begins.", ["So... it ends…", "It begins."], id="ellipsis"),
        pytest.param("See no. 5. No. Yes.", ["See no. 5.", "No.", "Yes."], id="number-or-no"),
        pytest.param("J. Doe (“Ends.”) Next.", ["J. Doe (“Ends.”)", "Next."], id="initial-and-closing-marks"),
        pytest.param("One.[1] Two.", ["One.[1]", "Two."], id="reference"),
        pytest.param("Call `a. b` now. Then.", ["Call `a. b` now.", "Then."], id="code"),
        pytest.param("東京。大阪！", ["東京。", "大阪！"], id="no-spaces"),
        pytest.param("a\nb\nC sees\nD", ["a\nb", "C sees", "D"], id="lines"),
        pytest.param("It is due on\nMay 5 at\nNoon", ["It is due on\nMay 5 at\nNoon"], id="hanging-words"),
        pytest.param(f"{'long ' * 12}\nAva owns it", [f"{'long ' * 12}\nAva owns it"], id="wrapped-line"),
        pytest.param("```\nx = 1. Y\n```", ["x = 1.", "Y"], id="fence"),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_items_with_what_they_are_part_of() -> None:
    text = "Owners:\n- Ava\n  runs it\n  - drill\n- [x] Bo\n\n1) one\n\nEnd."
    shown = [
        (text[p.start : p.end], [text[c.start : c.end] for c in p.context]) for p in layout(text).passages
    ]
    assert shown == [
        ("Owners:", []),
        ("Ava\n  runs it", ["Owners:"]),
        ("drill", ["Owners:", "Ava\n  runs it"]),
        ("Bo", ["Owners:"]),
        ("one", ["Owners:"]),
        ("End.", []),
    ]


def test_rows_with_their_cells_and_head() -> None:
    text = "| a | b |\n|---|:-:|\n| c | d \\| e |\n\nx | y\n"
    rows = [
        ([text[s:e].strip() for s, e in p.cells], [text[s:e].strip() for s, e in p.head])
        for p in layout(text).passages
    ]
    assert rows == [(["a", "b"], []), (["c", "d \\| e"], ["a", "b"]), ([], [])]


@given(TEXTS)
def test_passages_and_sentences_are_in_order_and_hold_all_words(text: str) -> None:
    found = layout(text)
    for ranges in ([(p.start, p.end) for p in found.passages], list(found.sentences)):
        assert all(0 <= start < end <= len(text) for start, end in ranges)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    held = {at for start, end in found.sentences for at in range(start, end)}
    assert all(
        at in held
        for at, char in enumerate(text)
        if char.isalpha() and char.isascii() and "```" not in text and "~~~" not in text
    )
