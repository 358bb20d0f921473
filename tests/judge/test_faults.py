from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import Condition, Fact, Source, Unit
from judge.faults import FAULT_KINDS, Change, faults

FARE = (Fact("new", "expect", ("14 euros",)), Fact("old", "forbid", ("9 euros",)))
TEXT = "A day ticket costs 14 euros. It is sold on board."


def made(facts: tuple[Fact, ...], text: str) -> dict[str, list[str]]:
    unit = Unit("u", "u", "?", (Source("s", "x"),), (Source("s", "y"),), facts=facts)
    found: dict[str, list[str]] = {}
    for change in faults(unit, text):
        found.setdefault(change.kind, []).append(change.text)
    return found


def test_every_fault_that_a_plain_value_can_have() -> None:
    assert made(FARE, TEXT) == {
        "stale_fact": ["A day ticket costs 9 euros. It is sold on board."],
        "dropped_fact": ["It is sold on board."],
        "truncated": ["A day ticket costs"],
        "shifted_number": ["A day ticket costs 13 euros. It is sold on board."],
        "negated": [
            "A day ticket costs not 14 euros. It is sold on board.",
            "A day ticket costs no longer 14 euros. It is sold on board.",
        ],
    }


def test_a_fault_says_what_was_done_to_which_fact() -> None:
    unit = Unit("u", "u", "?", (Source("s", "x"),), (Source("s", "y"),), facts=FARE)
    assert next(faults(unit, TEXT)) == Change(
        "stale_fact", "A day ticket costs 9 euros. It is sold on board.", "'14 euros': '9 euros' kept", "new"
    )


def test_all_mentions_are_changed_in_any_spelling() -> None:
    fare = (Fact("new", "expect", ("14 euros", "EUR 14")), FARE[1])
    found = made(fare, "It costs 14 euros, that is EUR 14.")
    assert found["stale_fact"] == ["It costs 9 euros, that is 9 euros."]
    assert found["negated"][0] == "It costs not 14 euros, that is not EUR 14."
    assert found["dropped_fact"] == ["It costs something, that is something."]


def test_a_stale_value_takes_the_place_of_the_one_it_is_listed_with() -> None:
    facts = (
        Fact("owner", "expect", ("Ava",)),
        Fact("old-owner", "forbid", ("Bo",)),
        Fact("day", "expect", ("Friday",)),
        Fact("old-day", "forbid", ("Tuesday",)),
    )
    assert made(facts, "Ava comes on Friday.")["stale_fact"] == [
        "Bo comes on Friday.",
        "Ava comes on Tuesday.",
    ]
    assert made(facts[:2] + facts[3:], "Ava comes.")["stale_fact"] == ["Bo comes.", "Tuesday comes."]


def test_a_fact_that_the_edit_left_as_it_was_has_no_stale_value() -> None:
    facts = (Fact("kept", "expect", ("on board",)), *FARE)
    before, after = (Source("s", f"A ticket costs {price} on board.") for price in ("9 euros", "14 euros"))
    unit = Unit("u", "u", "?", (before,), (after,), facts=facts)
    assert [change.fact_id for change in faults(unit, TEXT) if change.kind == "stale_fact"] == ["new"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("It costs much.", id="absent"),
        pytest.param("It costs not 14 euros.", id="denied"),
        pytest.param("It went up from 14 euros.", id="given-as-old"),
        pytest.param("Does it cost 14 euros?", id="asked"),
        pytest.param("It costs 14 euros, not 14 euros.", id="denied-somewhere"),
        pytest.param("", id="empty"),
    ],
)
def test_no_fault_is_made_of_a_text_that_does_not_plainly_state_the_fact(text: str) -> None:
    assert made(FARE, text) == {}


def test_a_fault_that_leaves_another_form_of_the_value_is_none() -> None:
    """Only the forbidden value is a fault whatever else the text says."""
    assert set(made(FARE, "It costs 14 euros, fourteen of them.")) == {"stale_fact", "truncated"}


def test_a_text_that_has_the_stale_value_already_cannot_get_it() -> None:
    assert "stale_fact" not in made(FARE, "It costs 14 euros and not 9 euros.")


@pytest.mark.parametrize(
    ("value", "shifted"),
    [
        ("14 euros", "13 euros"),
        ("1,430 rows", "1,431 rows"),
        ("15 June", "14 June"),
        ("31 March", "30 March"),
        ("1 May", "2 May"),
        ("2026-03-14", "2026-03-13"),
        ("10:30", "10:31"),
        ("v2.1", "v2.2"),
        ("40%", "41%"),
    ],
)
def test_a_number_is_shifted_by_its_last_digit(value: str, shifted: str) -> None:
    assert made((Fact("f", "expect", (value,)),), f"It says {value} here.")["shifted_number"] == [
        f"It says {shifted} here."
    ]


def test_owners_are_exchanged_where_one_fact_says_who_owns_what() -> None:
    facts = (
        Fact("a", "expect", ("Priya", "rollback drill"), matcher="near"),
        Fact("b", "expect", ("Tom", "release notes"), matcher="near"),
    )
    text = "Priya runs the rollback drill. Tom writes the release notes."
    swapped = "Tom runs the rollback drill. Priya writes the release notes."
    assert made(facts, text)["swapped_owner"] == [swapped]


def test_a_thing_and_its_number_are_exchanged_too() -> None:
    facts = tuple(
        Fact(name, "expect", (name,), matcher="near", of=(Condition("number", (number,)),))
        for name, number in (("day", "21"), ("night", "17"))
    )
    found = made(facts, "- day: 21\n- night: 17")
    assert found["swapped_owner"] == ["- night: 21\n- day: 17"]
    assert found["shifted_number"] == ["- day: 20\n- night: 17", "- day: 21\n- night: 16"]


def test_a_stale_owner_is_the_one_that_may_not_own_it() -> None:
    facts = (
        Fact("new", "expect", ("Felix Aranda", "Cedar"), matcher="near"),
        Fact("old", "forbid", ("Noor Haddad", "Cedar"), matcher="near"),
        Fact("other", "forbid", ("Noor Haddad", "Birch"), matcher="near"),
    )
    assert made(facts, "Cedar: Felix Aranda, all day.")["stale_fact"] == ["Cedar: Noor Haddad, all day."]


def test_a_fact_of_alternatives_loses_all_of_them() -> None:
    facts = (
        Fact("new", "expect", (), matcher="any", of=(Condition("text", ("off", "disabled")),)),
        Fact("old", "forbid", (), matcher="any", of=(Condition("text", ("enabled",)),)),
    )
    found = made(facts, "It is off. That is, disabled.")
    assert found["stale_fact"] == ["It is enabled. That is, enabled."]
    assert found["dropped_fact"] == ["It is something. That is, something."]


def test_a_denial_is_not_denied_again() -> None:
    assert "negated" not in made((Fact("f", "expect", ("does not work",)),), "The lift does not work.")


def test_an_owner_is_exchanged_with_another_name_of_the_text() -> None:
    facts = (Fact("a", "expect", ("Priya", "drill"), matcher="near"),)
    assert made(facts, "Priya runs the drill. The notes are written by Tom Lee.")["swapped_owner"] == [
        "Tom Lee runs the drill. The notes are written by Priya."
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Priya runs the drill.", id="nobody-else"),
        pytest.param("Priya and Tom run the drill.", id="both-own-it"),
        pytest.param("Tom writes. The drill is run by Ann Poe. Priya looks on.", id="not-the-owner"),
    ],
)
def test_owners_are_not_exchanged_where_that_changes_nothing(text: str) -> None:
    facts = (
        Fact("a", "expect", ("Priya", "drill"), matcher="near"),
        Fact("b", "expect", ("Tom", "notes"), matcher="near"),
    )
    assert "swapped_owner" not in made(facts, text)


def test_a_sentence_is_repeated_where_that_is_once_too_often() -> None:
    once = (Fact("c", "expect", ("deadline",), matcher="count", at_most=1),)
    text = "Hello. The deadline is near. Bye."
    assert made(once, text) == {"duplicated": ["Hello. The deadline is near. The deadline is near. Bye."]}
    twice = (Fact("c", "expect", ("deadline",), matcher="count", at_most=2),)
    assert made(twice, text) == {}


def test_advisory_facts_have_no_faults() -> None:
    assert made((Fact("f", "expect", ("14 euros",), severity="advisory"),), TEXT) == {}


WORDS = st.lists(
    st.sampled_from(["14 euros", "9 euros", "Ava", "not", "costs", "It", ".", "\n-", "14"]), max_size=12
)


@given(words=WORDS)
def test_a_faulted_text_no_longer_states_the_value(words: list[str]) -> None:
    found = made(FARE, " ".join(words))
    assert set(found) <= set(FAULT_KINDS)
    for kind, texts in found.items():
        for text in texts:
            assert text.strip()
            if kind == "stale_fact":
                assert "9 euros" in text
            if kind != "negated":
                assert "14 euros" not in text
            else:
                assert text.count("14 euros") == text.count("not 14 euros") + text.count("no longer 14 euros")


def test_a_fault_is_seen_by_the_judge(judged: Callable) -> None:
    """The whole way: the fault in an arm's answer is a regression of that fact."""
    run = judged()
    (unit, _), text = run.units, run.attempts[0].text
    for change in faults(unit, text):
        assessment = run.replace_attempt(("u1", "redraft", 0), text=change.text).assess()
        assert change.fact_id in {flip.fact_id for flip in assessment.regressions}, change
