from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from daemon.patched_text import Patch, PatchedText

TEXT = st.text(st.sampled_from("ab é😀🧂\u0301\r\u2028"), max_size=12)


@st.composite
def patched_texts(draw: st.DrawFn) -> PatchedText:
    original = draw(TEXT)
    edges = sorted(draw(st.sets(st.integers(0, len(original)), max_size=6)))
    spans = list(zip(edges[::2], edges[1::2], strict=False))
    return PatchedText(original, [Patch(start, stop, draw(TEXT)) for start, stop in spans])


def test_patches_are_applied_and_found_again() -> None:
    patched = PatchedText("costs 9 euros on Monday", [Patch(6, 7, "14"), Patch(17, 23, "Friday")])
    assert patched.text == "costs 14 euros on Friday"
    assert [patched.text[place.start : place.stop] for place in patched.places] == ["14", "Friday"]
    assert list(patched.pieces(range(4, 12))) == [
        (range(4, 6), range(4, 6)),
        (range(6, 8), None),
        (range(8, 12), range(7, 11)),
    ]


def test_without_patches_a_text_is_itself() -> None:
    for text in ("", "abc"):
        patched = PatchedText(text)
        assert (patched.text, patched.original, patched.places) == (text, text, [])
        assert [piece for piece, _ in patched.pieces(range(len(text)))] == [range(len(text))] * bool(text)


@given(patched_texts(), st.data())
def test_pieces_tile_the_part_and_kept_ones_are_the_original(patched: PatchedText, data) -> None:
    length = len(patched.text)
    start = data.draw(st.integers(0, length))
    part = range(start, data.draw(st.integers(start, length)))
    pieces = list(patched.pieces(part))
    assert [i for piece, _ in pieces for i in piece] == list(part)
    origins = [origin for _, origin in pieces if origin is not None]
    assert all(a.stop <= b.start for a, b in pairwise(origins))
    in_a_patch = {i for place in patched.places for i in place}
    for piece, origin in pieces:
        if origin is None:
            assert set(piece) <= in_a_patch
        else:
            assert not set(piece) & in_a_patch
            assert patched.text[piece.start : piece.stop] == patched.original[origin.start : origin.stop]
