from typing import Any

import pytest

from bundles import Fact, SuiteError
from bundles.importers.fields import Fields
from bundles.importers.suite_facts import facts_of
from bundles.records import Condition


def facts(*items: Any, **entry: Any) -> tuple[Fact, ...]:
    return facts_of(Fields("unit 'a'", {"facts": list(items)} | entry))


def test_texts_alone_are_facts_one_or_several() -> None:
    assert facts(expect_new="14 euros", forbid_new=["12 euros", "twelve"]) == (
        Fact("expect-1", "expect", ("14 euros",)),
        Fact("forbid-1", "forbid", ("12 euros",)),
        Fact("forbid-2", "forbid", ("twelve",)),
    )


def test_short_facts_stand_beside_facts_with_ids_that_they_would_have() -> None:
    found = facts(
        {"expect": "97"},
        {"fact_id": "expect-1", "expect": "95"},
        {"fact_id": "forbid-1", "forbid": "71"},
        expect_new="14 euros",
        forbid_new="12 euros",
    )
    assert [(fact.fact_id, fact.values) for fact in found] == [
        ("expect-2", ("14 euros",)),
        ("forbid-2", ("12 euros",)),
        ("expect-3", ("97",)),
        ("expect-1", ("95",)),
        ("forbid-1", ("71",)),
    ]


def test_short_and_full_ways_give_the_same_facts() -> None:
    short = facts(
        {"expect": "1,428", "matcher": "number"},
        {"forbid": ["71", "seventy-one"], "as": "current", "severity": "supporting"},
        {"expect": ["Priya", {"matcher": "date", "value": "2026-03-14"}], "matcher": "near"},
    )
    full = facts(
        {"polarity": "expect", "value": "1,428", "matcher": "number"},
        {
            "polarity": "forbid",
            "values": ["71", "seventy-one"],
            "matcher": "text",
            "as": "current",
            "severity": "supporting",
        },
        {
            "fact_id": "expect-2",
            "polarity": "expect",
            "matcher": "near",
            "values": ["Priya"],
            "of": [{"matcher": "date", "values": ["2026-03-14"]}],
        },
    )
    assert short == full
    assert short[2].of == (Condition("date", ("2026-03-14",)),)


def test_parts_may_have_parts_and_bounds() -> None:
    (fact,) = facts(
        {
            "expect": {
                "matcher": "any",
                "of": ["a", {"matcher": "number", "value": "0.4", "fraction": True}],
            },
            "matcher": "count",
            "at_least": 1,
            "at_most": 2,
            "origin": "edit",
        }
    )
    assert (fact.matcher, fact.values, fact.at_least, fact.at_most, fact.origin) == (
        "count",
        (),
        1,
        2,
        "edit",
    )
    parts = (Condition("text", ("a",)), Condition("number", ("0.4",), fraction=True))
    assert fact.of == (Condition("any", (), parts),)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        pytest.param({}, "say what to `expect` or to `forbid`", id="nothing"),
        pytest.param({"expect": "a", "forbid": "b"}, "give `expect` or `forbid`, not both", id="both"),
        pytest.param({"expect": "a", "value": "b"}, "give `expect` or `value`, not both", id="value"),
        pytest.param({"polarity": "expect"}, "`value`, `values` or `of` is missing", id="no value"),
        pytest.param(
            {"expect": 7}, "`expect` must be a text, or a list of texts and conditions", id="number"
        ),
        pytest.param(
            {"expect": [7]}, "`expect` must be a text, or a list of texts and conditions", id="numbers"
        ),
        pytest.param(
            {"polarity": "expect", "value": "x", "values": ["y"]},
            "give `value` or `values`, not both",
            id="value and values",
        ),
        pytest.param({"forbid": "a", "as": "old"}, "`as` can only be 'current', not 'old'", id="as"),
        pytest.param({"expect": "a", "min": 1}, "unknown key 'min'", id="key"),
        pytest.param({"expect": "a", "at_least": "1"}, "`at_least` must be a whole number", id="bound"),
        pytest.param({"expect": {"expect": "a"}}, ", part 1: unknown key 'expect'", id="key of a part"),
        pytest.param({"expect": [{"of": [7]}]}, ", part 1, part 1: must be an object, not 7", id="part"),
        pytest.param(
            {"expect": [{"of": [{}]}]}, ", part 1: `value`, `values` or `of` is missing", id="empty part"
        ),
        pytest.param({"expect": ["x"], "of": ["y"] * 101}, "more than 100 parts", id="many parts"),
    ],
)
def test_what_is_no_fact_is_said(item: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError) as refusal:
        facts(item)
    assert str(refusal.value).startswith("unit 'a', entry 1 of `facts`")
    assert message in str(refusal.value)


def test_a_part_that_stands_within_itself_has_an_end() -> None:
    part: dict[str, Any] = {"matcher": "all"}
    part["of"] = [part]
    with pytest.raises(SuiteError, match="`of` is nested more than 4 deep"):
        facts({"expect": [part]})
    part["of"] = [{"matcher": "all", "of": ["x"] * 60}] * 60
    with pytest.raises(SuiteError, match="more than 100 parts"):
        facts({"expect": [part]})
