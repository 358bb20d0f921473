from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import Condition, Fact, Imported, Source, Unit, read_suite
from judge.facts import check_fact
from replay.suite_check import CONFIDENCE, SuiteReport, check_suite, least_tokens, power


@pytest.fixture
def check(make: Any) -> Any:
    def run(*units: Unit, skipped: tuple[str, ...] = ()) -> SuiteReport:
        return check_suite(Imported(make.bundle(units), skipped))

    return run


def messages(report: SuiteReport) -> list[str]:
    return [f"{problem.unit_id}/{problem.fact_id}: {problem.message}" for problem in report.problems]


def test_a_sound_suite_is_counted_and_has_no_problem(check: Any, make: Any) -> None:
    units = [
        make.unit("a", max_tokens=20),
        make.unit(
            "b", session_id="a", instruction="Who?", category="", canary=False, facts=(), max_tokens=90
        ),
        make.unit("c", instruction="Owner?"),
    ]
    found = check(*units)
    assert found.is_clean
    assert (found.units, found.sessions, found.canaries, found.facts, found.without_facts) == (3, 2, 2, 4, 1)
    assert {name: (kind.units, kind.canaries) for name, kind in found.kinds.items()} == {
        "": (1, 0),
        "value": (2, 2),
    }
    assert found.source_chars == (12, 12)
    assert found.answer_limits == (20, 90)
    assert found.by_facts == found.by_canaries == power(units)


def test_an_entry_that_is_none_is_a_problem(check: Any, make: Any) -> None:
    found = check(make.unit(), skipped=("x.toml: entry 2: no",))
    assert not found.is_clean
    assert found.problems == ()


def test_facts_are_held_against_the_sources(check: Any, make: Any) -> None:
    found = check(make.unit(facts=(Fact("new", "expect", ("Cleo",)), Fact("old", "forbid", ("Bo",)))))
    assert len(found.problems) == 1
    assert "u/new: expects 'Cleo', which the new sources do not state" in messages(found)[0]


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"category": "rename", "max_tokens": 9}, True),
        ({"instruction": "Who?"}, False),
        ({"sources_before": (Source("plan", "Bo owned it."),)}, False),
        ({"sources_after": (Source("note", "Ava owns it."),)}, False),
        ({"stale": "Bo."}, False),
    ],
)
def test_the_same_question_about_the_same_edit_is_a_duplicate(
    check: Any, make: Any, changes: dict[str, object], same: bool
) -> None:
    found = check(make.unit("a"), make.unit("b", **changes))
    assert messages(found) == ["b/None: asks the same of the same edit as unit 'a'"] * same


def test_an_edit_that_changes_nothing_is_a_problem(check: Any, make: Any) -> None:
    still = make.unit(sources_before=(Source("plan", "Ava owns it."),), facts=(), canary=False)
    assert messages(check(still)) == ["u/None: the edit changes nothing"]
    assert check(replace(still, kind="revise", stale="Ava.", edited="It is Ava.")).is_clean


@pytest.mark.parametrize(
    ("forbid", "toothless"),
    [
        (Fact("x", "forbid", ("Bo",)), False),
        (Fact("x", "forbid", ("Cleo", "Bo")), False),
        (Fact("x", "forbid", ("Cleo",)), True),
        (Fact("x", "forbid", ("Bo", "launch"), "near"), False),
        (Fact("x", "forbid", ("Bo", "garden"), "near"), True),
        (Fact("x", "forbid", (), "any", of=(Condition("near", ("Bo", "launch")),)), False),
        (Fact("x", "forbid", ("15",), "number"), True),
        (Fact("x", "forbid", ("Cleo",), "pattern"), False),
    ],
)
def test_a_forbid_that_nothing_before_the_edit_states_is_toothless(
    check: Any, make: Any, forbid: Fact, toothless: bool
) -> None:
    """The instruction may give the words that an answer takes up: who owns the launch?"""
    unit = make.unit(facts=(Fact("new", "expect", ("Ava",)), Fact("old", "forbid", ("Bo",)), forbid))
    found = messages(check(unit))
    assert len(found) == toothless
    assert all("x: forbids" in said and "which nothing before the edit states" in said for said in found)


def test_what_a_stale_answer_states_is_not_toothless_to_forbid(check: Any, make: Any) -> None:
    unit = make.unit(stale="Cleo and Bo own it.", facts=(*make.unit().facts, Fact("x", "forbid", ("Cleo",))))
    assert check(unit).is_clean


@pytest.mark.parametrize(
    "facts",
    [
        (Fact("new", "expect", ("Ava",)),),
        (Fact("new", "expect", ("Ava",)), Fact("old", "forbid", ("Bo",), severity="advisory")),
    ],
)
def test_a_canary_needs_the_pair(check: Any, make: Any, facts: tuple[Fact, ...]) -> None:
    assert messages(check(make.unit(facts=facts))) == [
        "u/None: a canary needs a fact that forbids the stale value"
    ]
    assert check(make.unit(facts=facts, canary=False)).is_clean


def test_what_no_answer_is_long_enough_for_is_unreachable(check: Any, make: Any) -> None:
    after = (Source("plan", "Ava Lin owns the big launch now."),)
    long = Fact("new", "expect", ("Ava Lin", "the big launch"), "all")
    unit = make.unit(sources_after=after, facts=(long, Fact("old", "forbid", ("Bo",))))
    assert messages(check(replace(unit, max_tokens=4))) == [
        "u/new: needs 5 words, 4 tokens are the limit of the answer"
    ]
    assert check(replace(unit, max_tokens=5)).is_clean
    assert check(unit).is_clean


WORDS = st.lists(st.sampled_from(["owl", "fox", "elk", "bee"]), min_size=1, max_size=3).map(" ".join)
PLAIN = st.lists(WORDS, min_size=1, max_size=3).map(lambda values: Condition(values=tuple(values)))
CONDITIONS = st.recursive(
    PLAIN,
    lambda inner: st.builds(
        lambda matcher, of, values: Condition(matcher, tuple(values), tuple(of)),
        st.sampled_from(["all", "any", "near"]),
        st.lists(inner, min_size=1, max_size=2),
        st.lists(WORDS, max_size=2),
    ),
    max_leaves=4,
)


@given(CONDITIONS, st.lists(st.sampled_from(["owl", "fox", "elk", "bee"]), max_size=8))
def test_a_text_that_passes_is_never_shorter_than_the_least(condition: Condition, words: list[str]) -> None:
    fact = Fact("f", "expect", condition.values, condition.matcher, of=condition.of)
    if check_fact(fact, " ".join(words)).outcome == "pass":
        assert len(words) >= least_tokens(condition)


@pytest.mark.parametrize(
    ("condition", "least"),
    [
        (Condition(values=("in the hall", "outside")), 1),
        (Condition("number", ("1 500 metres",)), 1),
        (Condition("near", ("Ava", "hall"), (Condition("date", ("2 May",)),)), 2),
        (Condition("count", ("a b",), at_least=3), 6),
        (Condition("count", ("a",), at_most=3), 0),
    ],
)
def test_least_tokens(condition: Condition, least: int) -> None:
    assert least_tokens(condition) == least


@given(st.integers(1, 500))
def test_the_smallest_rate_is_the_one_that_shows_with_the_confidence(sessions: int) -> None:
    """The closed form of the exact binomial: 1 - (1 - p)^n = confidence."""
    units = [
        Unit(str(number), str(number), "q", (Source("a", ""),), (Source("a", ""),))
        for number in range(sessions)
    ]
    rate = power(units).smallest_rate
    assert rate is not None
    assert 1 - (1 - rate) ** sessions == pytest.approx(CONFIDENCE)


def test_edits_of_one_session_are_one_piece_of_evidence(make: Any) -> None:
    units = [make.unit("a", session_id="s"), make.unit("b", session_id="s")]
    assert power(units) == power(units[:1])
    assert power([]).smallest_rate is None


def test_only_facts_that_weigh_give_power(check: Any, make: Any) -> None:
    unit = make.unit(canary=False, facts=(Fact("new", "expect", ("Ava",), severity="advisory"),))
    assert check(unit).by_facts.sessions == 0


def test_built_in_suites_have_no_problem() -> None:
    for path in sorted((Path(__file__).parents[2] / "replay" / "suites").glob("*.toml")):
        found = check_suite(read_suite(path))
        assert found.is_clean, (path.name, found.unreadable, messages(found))
