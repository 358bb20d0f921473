from hypothesis import given
from hypothesis import strategies as st

from replay.report.marks import Piece, differing, pieces, shortened

texts = st.text(st.sampled_from("ab .\n\U0001f600é"), max_size=40)
ranges = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6)


@given(text=texts, held=ranges, evidence=ranges)
def test_pieces_concatenate_and_carry_their_marks(
    text: str, held: list[tuple[int, int]], evidence: list[tuple[int, int]]
) -> None:
    found = pieces(text, {"held": held, "evidence": evidence})
    assert "".join(piece.text for piece in found) == text
    at = 0
    for piece in found:
        for offset in range(at, at + len(piece.text)):
            for name, where in (("held", held), ("evidence", evidence)):
                assert (name in piece.marks.split()) == any(a <= offset < b for a, b in where)
        at += len(piece.text)


def test_marks_overlap() -> None:
    assert pieces("abcd", {"held": [(0, 3)], "evidence": [(2, 4)]}) == [
        Piece("ab", "held"),
        Piece("c", "held evidence"),
        Piece("d", "evidence"),
    ]


@given(old=texts, new=texts)
def test_what_does_not_differ_is_the_same_in_both(old: str, new: str) -> None:
    def rest(text: str, where: list[tuple[int, int]]) -> str:
        return "".join(char for at, char in enumerate(text) if not any(a <= at < b for a, b in where))

    old_differs, new_differs = differing(old, new)
    assert rest(old, old_differs) == rest(new, new_differs)


def test_words_differ_as_a_whole() -> None:
    old, new = "It costs 15 euros.", "It costs 150 euros."
    (old_range,), (new_range,) = differing(old, new)
    assert (old[slice(*old_range)], new[slice(*new_range)]) == ("15", "150")
    assert differing("same", "same") == ([], [])


def test_words_that_are_the_same_by_chance_do_not_chop_up_what_differs() -> None:
    old, new = "The shop is open to all the people of a town.", "Nobody may enter the shop, a guard said."
    for text, ranges in zip((old, new), differing(old, new), strict=True):
        assert len(ranges) <= 2, [text[a:b] for a, b in ranges]


def test_texts_too_far_apart_to_compare_differ_between_what_they_begin_and_end_with() -> None:
    old = "It was " + "a " * 20_000 + "here."
    new = "It was " + "b " * 20_000 + "here."
    assert differing(old, new) == ([(7, 40_006)], [(7, 40_006)])


@given(text=texts, held=ranges, differs=ranges, most=st.integers(1, 30))
def test_a_shortened_text_is_a_part_of_it_and_says_what_is_left_out(
    text: str, held: list[tuple[int, int]], differs: list[tuple[int, int]], most: int
) -> None:
    whole = pieces(text, {"held": held, "differs": differs})
    cut = shortened(whole, most)
    kept = "".join(piece.text for piece in cut)
    assert len(kept) == min(most, len(text))
    assert len(kept) + sum(piece.left_out for piece in cut) == len(text)
    start = cut[0].left_out if cut else 0
    assert text[start : start + len(kept)] == kept


def test_a_shortened_text_shows_its_evidence() -> None:
    text = "x" * 500 + "Bo" + "y" * 500
    cut = shortened(pieces(text, {"differs": [(0, 3)], "evidence": [(500, 502)]}), 40)
    assert [piece.text for piece in cut if piece.marks == "evidence"] == ["Bo"]
    assert (cut[0].left_out, cut[-1].text, cut[-1].left_out) == (490, "", 472)
