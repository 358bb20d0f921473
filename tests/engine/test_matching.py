from hypothesis import given
from hypothesis import strategies as st

from engine.matching import LOOK_BACK, SelfMatches, SourceMatches

tokens = st.lists(st.integers(0, 2), max_size=30)


def common_suffix(a: list[int], b: list[int]) -> int:
    return next(
        (n for n, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), min(len(a), len(b))
    )


@given(tokens, tokens)
def test_lengths_in_a_source_are_common_suffixes(source: list[int], text: list[int]) -> None:
    matches = SourceMatches(source)
    for token in text:
        matches.push(token)
    assert matches.lengths.tolist() == [common_suffix(source[:n], text) for n in range(len(source) + 1)]


@given(tokens, tokens)
def test_lengths_in_the_text_itself_see_the_end_of_its_start(start: list[int], more: list[int]) -> None:
    matches = SelfMatches(start, len(more))
    for token in more:
        matches.push(token)
    text = start + more
    seen = min(len(start), LOOK_BACK) + len(more)
    assert matches.text.tolist() == text
    assert matches.lengths.tolist() == [min(common_suffix(text[:n], text), seen) for n in range(len(text))]
