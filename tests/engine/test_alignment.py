from hypothesis import given
from hypothesis import strategies as st

from engine.alignment import Alignment


def after(stale: list[int], said: list[int]) -> Alignment:
    alignment = Alignment(stale)
    for token in said:
        alignment.push(token)
    return alignment


STALE = [*range(10, 40)]


def test_the_answer_is_followed_from_the_start_to_the_end() -> None:
    alignment = Alignment(STALE)
    for index, token in enumerate(STALE):
        assert (alignment.place, alignment.at_start, alignment.trusted) == (index, True, True)
        assert not alignment.push(token)
    assert alignment.place is None
    assert not alignment.push(1)


def test_a_token_that_differs_leaves_and_one_equal_token_on_the_diagonal_is_enough() -> None:
    alignment = after(STALE, STALE[:5])
    assert alignment.push(1)
    assert alignment.place is None
    assert not alignment.push(STALE[6])
    assert (alignment.place, alignment.length, alignment.at_start) == (7, 1, False)


def test_beside_the_diagonal_it_takes_two_and_elsewhere_three() -> None:
    gone = [*STALE[:5], 1, 2, 3]
    assert after(STALE, [*gone, 16]).place is None
    assert after(STALE, [*gone, 16, 17]).place == 8
    assert after(STALE, [*gone, 30, 31]).place is None
    assert after(STALE, [*gone, 30, 31, 32]).place == 23


def test_of_equal_matches_the_nearest_is_taken_and_none_if_they_disagree_beside_the_diagonal() -> None:
    stale = [1, 2, 3, 4, 5, 1, 2, 3, 4, 6, 1, 2, 3, 4, 5]
    assert after(stale, [9, 9, 2, 3]).place == 3
    assert after(stale, [9] * 20 + [2, 3, 4]).place is None
    assert after(stale, [9, 2, 3, 4]).place == 4


def test_a_found_place_is_trusted_after_four_more_equal_tokens() -> None:
    alignment = after(STALE, [1, *STALE[1:2]])
    for token in STALE[2:6]:
        assert not alignment.trusted
        alignment.push(token)
    assert alignment.trusted


def test_what_only_matches_the_end_of_the_stale_answer_leaves_nothing_to_follow() -> None:
    assert after(STALE, [1, *STALE[-4:]]).place is None
    assert after([], [1, 2]).place is None


tokens = st.lists(st.integers(0, 3), max_size=40)


@given(tokens, tokens)
def test_a_place_has_the_longest_match_before_it(stale: list[int], said: list[int]) -> None:
    alignment = Alignment(stale)
    for count, token in enumerate(said, start=1):
        place = alignment.place
        left = alignment.push(token)
        assert left == (place is not None and stale[place] != token)
        if alignment.place is not None:
            length = alignment.length
            assert length > 0
            assert stale[alignment.place - length : alignment.place] == said[count - length : count]
