import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import Condition, Fact, Source, Unit
from judge.mentions import (
    all_mentions,
    has_trace,
    is_asserted,
    is_stated,
    mentions,
    replaced,
    segments,
    spelt_values,
    stated_parts,
)


@pytest.mark.parametrize(
    ("text", "value", "count"),
    [
        ("It costs 14 euros. 14 Euros!", "14 euros", 2),
        ("It costs 14\neuros.", "14 euros", 1),
        ("214 euros, 14.5 euros, 1,14 euros, -14 euros, 14 eurosign", "14 euros", 0),
        ("Ava, available, Ava's", "Ava", 2),
        ("15, 1500, 15.0, 15:30, 2026-03-15, $15, 15.", "15", 2),
    ],
)
def test_a_value_is_mentioned_as_whole_words_and_numbers(text: str, value: str, count: int) -> None:
    assert len(mentions(text, value)) == count


def test_the_longest_of_overlapping_mentions_counts() -> None:
    text = "Tomas Berger and Berger"
    assert [text[slice(*place)] for place in all_mentions(text, ["Berger", "Tomas Berger", " "])] == [
        "Tomas Berger",
        "Berger",
    ]


def test_segments_are_sentences_and_whole_items() -> None:
    text = 'First. "Second?" Third\n\n- An item. It goes on.\n2. Another\n'
    assert [text[slice(*place)] for place in segments(text)] == [
        "First.",
        '"Second?"',
        "Third",
        "- An item. It goes on.",
        "2. Another",
    ]


@given(text=st.text(st.sampled_from("Ab1 .!?\n-*'\"")))
def test_segments_leave_nothing_but_blanks_out(text: str) -> None:
    left = replaced(text, segments(text), "")
    assert not left.strip() or not left.strip(" \n'\"*")


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("It costs 14 euros.", True),
        ("It costs not 14 euros.", False),
        ("It doesn't cost 14 euros.", False),
        ("It was moved from 14 euros to 20.", False),
        ("14 euros is no longer the price.", False),
        ("Is it 14 euros?", False),
        ("It is not late. It costs 14 euros.", True),
        ("It costs 20 instead of 14 euros.", False),
    ],
)
def test_only_what_is_plainly_stated_is_asserted(text: str, stated: bool) -> None:
    (place,) = mentions(text, "14 euros")
    assert is_asserted(text, place) == stated


@pytest.mark.parametrize(
    ("text", "value", "left"),
    [
        ("A week costs 60 euros.", "14 euros", False),
        ("It is number 14.", "14 euros", True),
        ("It costs fourteen euros.", "14 euros", True),
        ("On the fourteenth.", "14 June", True),
        ("On the twenty-first.", "21 June", True),
        ("On the twentieth.", "20 June", True),
        ("Half a thousand.", "500", True),
        ("Berger leads it.", "Tomas Berger", True),
        ("Nobody leads it.", "Tomas Berger", False),
        ("No.", "No", True),
    ],
)
def test_what_may_be_another_form_of_a_value_is_a_trace(text: str, value: str, left: bool) -> None:
    assert has_trace(text, [value]) == left


def test_values_are_found_in_nested_conditions() -> None:
    near = Fact(
        "n", "expect", (), matcher="near", of=(Condition("any", ("a", "b")), Condition(values=("c",)))
    )
    unit = Unit(
        "u", "u", "?", (Source("s", "x"),), (Source("s", "y"),), facts=(near, Fact("f", "forbid", ("d",)))
    )
    assert list(spelt_values(unit)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        (Condition("number", ("a", "b")), (("a", "b"),)),
        (Condition("number", ("0.4",), fraction=True), ()),
        (Condition("pattern", ("a",)), ()),
        (Condition("count", ("a",), at_most=1), ()),
        (Condition("any", ("a",), of=(Condition("date", ("b", "c")),)), (("a", "b", "c"),)),
        (Condition("any", ("a",), of=(Condition("pattern", ("b",)),)), ()),
        (Condition("all", ("a", "b")), (("a",), ("b",))),
        (Condition("near", ("a",), of=(Condition("any", ("b", "c")),)), (("a",), ("b", "c"))),
        (Condition("near", ("a",), of=(Condition("all", ("b", "c")),)), ()),
    ],
)
def test_parts_of_a_condition_are_what_a_text_must_have(condition: Condition, parts: tuple) -> None:
    assert stated_parts(condition) == parts


def test_what_is_near_stands_in_one_segment() -> None:
    near, both = Condition("near", ("Ava", "drill")), Condition("all", ("Ava", "drill"))
    assert is_stated("Ava runs the drill.", near)
    assert not is_stated("Ava came. The drill is over.", near)
    assert is_stated("Ava came. The drill is over.", both)
    assert not is_stated("Ava came.", both)
    assert not is_stated("Ava.", Condition("pattern", ("Ava",)))
