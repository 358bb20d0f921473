from hypothesis import given
from hypothesis import strategies as st

from engine.alignment import Alignment
from engine.draft import LookupSource, Offer, StaleSource


def lookup(prompt: list[int], said: list[int]) -> list[Offer]:
    source = LookupSource(prompt, len(said))
    for token in said:
        source.push(token)
    return source.offers()


def test_the_stale_answer_is_offered_from_its_place_to_its_end() -> None:
    alignment = Alignment([1, 2, 3, 4])
    source = StaleSource(alignment)
    alignment.push(1)
    (offer,) = source.offers()
    assert (offer.source, offer.length, offer.most, offer.take(2), offer.take(9)) == (
        "stale", 1, 3, [2, 3], [2, 3, 4],
    )  # fmt: skip
    alignment.push(7)
    assert source.offers() == []


def test_chances_at_the_start_and_after_a_divergence_are_learnt_apart() -> None:
    alignment = Alignment([1, 2, 3, 4, 5])
    source = StaleSource(alignment)
    (start,) = source.offers()
    for token in (1, 9, 3):
        alignment.push(token)
    (found,) = source.offers()
    before = found.survival.expected(1, 1)
    start.survival.learn(0, 0, 1)
    assert found.survival.expected(1, 1) == before


def test_the_prompt_is_offered_after_the_longest_match_in_it() -> None:
    (offer,) = lookup([5, 6, 7, 8, 6, 9], [1, 5, 6])
    assert (offer.source, offer.length, offer.take(3)) == ("lookup", 2, [7, 8, 6])
    assert offer.take(9) == [7, 8, 6, 9, 1, 5, 6]


def test_a_prompt_that_goes_on_differently_offers_nothing() -> None:
    assert lookup([6, 7, 6, 8, 9], [6]) == []
    assert len(lookup([6, 7, 6, 7, 9], [6])) == 1


def test_the_answer_itself_is_offered_as_if_it_repeated() -> None:
    (offer,) = lookup([9], [1, 2, 3, 1, 2])
    assert (offer.length, offer.take(7)) == (2, [3, 1, 2, 3, 1, 2, 3])


def test_of_one_token_before_there_is_nothing_to_offer() -> None:
    assert lookup([1, 2, 3], []) == []
    assert lookup([1], [2]) == []


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.lists(st.integers(0, 3), max_size=20))
def test_offers_continue_an_earlier_place_that_ends_alike(prompt: list[int], said: list[int]) -> None:
    text = prompt + said
    for offer in lookup(prompt, said):
        end, (following,) = text[-offer.length :], offer.take(1)
        places = [n for n in range(len(end), len(text)) if text[n - len(end) : n] == end]
        assert following in [text[place] for place in places]
        assert len(offer.take(5)) <= 5
