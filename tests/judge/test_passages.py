import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.passages import cut


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_pieces_are_ordered_apart_and_not_empty(text: str) -> None:
    passages = cut(text)
    edges = [edge for piece in passages.ranges for edge in piece]
    assert edges == sorted(edges)
    assert all(
        text[start:end] and text[start:end] == text[start:end].strip() for start, end in passages.ranges
    )
    assert bool(passages.ranges) == bool(text.strip())
    assert len(passages.numbered().split("\n")) == max(1, len(passages.ranges))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param(
            "Ava owns it. It costs 4.5 euros!", ("Ava owns it.", "It costs 4.5 euros!"), id="sentences"
        ),
        pytest.param("- Start: 8:30\n- End: noon\n", ("Start: 8:30", "End: noon"), id="list"),
        pytest.param("***", ("***",), id="marks only"),
        pytest.param(" \n\t", (), id="white space"),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, pieces: tuple[str, ...]) -> None:
    assert cut(text).pieces == pieces


def test_pieces_are_numbered_from_one_and_on_one_line_each() -> None:
    text = "This sentence is so long that it was wrapped by its author at\nthe sixtieth column. Short."
    assert cut(text).numbered() == (
        "[1] This sentence is so long that it was wrapped by its author at the sixtieth column.\n[2] Short."
    )
