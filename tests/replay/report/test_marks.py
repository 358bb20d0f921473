from hypothesis import given
from hypothesis import strategies as st

from replay.report.marks import Piece, differing, pieces

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
