import pytest

from bundles import Condition, Fact, Source, Unit
from judge.fact_problems import FactProblem, check_facts

BEFORE = "Bo owns the launch. It is due on 12 June and costs 9 euros."
AFTER = "Ava owns the launch. It is due on 14 June. The fee, previously 9 euros, is 11 euros."


def unit(*facts: Fact, canary: bool = False, after: str = AFTER, **changes: object) -> Unit:
    return Unit(
        "u",
        "s",
        "Who owns the launch?",
        (Source("plan", BEFORE),),
        (Source("plan", after), Source("note", "The review is no longer in room 5.")),
        facts=facts,
        canary=canary,
        **changes,
    )


def problems(*facts: Fact, **changes: object) -> list[tuple[str | None, str]]:
    found = check_facts(unit(*facts, **changes))
    assert all(isinstance(problem, FactProblem) and problem.unit_id == "u" for problem in found)
    assert not any("\n" in problem.message for problem in found)
    return [(problem.fact_id, problem.message) for problem in found]


@pytest.mark.parametrize(
    "fact",
    [
        pytest.param(Fact("f", "expect", ("Ava",)), id="stated"),
        pytest.param(Fact("f", "expect", ("Eva", "Ava")), id="one-spelling-stated"),
        pytest.param(Fact("f", "expect", ("eleven euros",), "number"), id="stated-in-another-way"),
        pytest.param(Fact("f", "expect", ("June 14",), "date"), id="date"),
        pytest.param(Fact("f", "expect", ("no longer in room 5",)), id="denial-in-the-value"),
        pytest.param(Fact("f", "expect", ("Ava", "11 euros"), "near"), id="parts-of-near-stated-apart"),
        pytest.param(Fact("f", "expect", (r"^- ",), "pattern"), id="form-of-the-answer"),
        pytest.param(Fact("f", "expect", ("Ava",), "count", at_most=1), id="at-most"),
        pytest.param(Fact("f", "forbid", ("Bo",)), id="not-stated"),
        pytest.param(Fact("f", "forbid", ("9 euros",)), id="stated-as-the-old-value"),
        pytest.param(Fact("f", "forbid", ("room 5",)), id="denied"),
        pytest.param(Fact("f", "forbid", ("Ava", "9 euros"), "near"), id="apart"),
        pytest.param(Fact("f", "forbid", ("Ava",), "count", at_least=2), id="seldom"),
    ],
)
def test_facts_that_the_new_sources_bear_out(fact: Fact) -> None:
    assert problems(fact) == []


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        pytest.param(Fact("f", "expect", ()), "the fact has no value", id="no-value"),
        pytest.param(Fact("f", "forbid", ("a", " ")), "the fact has an empty value", id="empty-value"),
        pytest.param(
            Fact("f", "expect", ("(",), "pattern"), "'(' is not a regular expression: ", id="broken-pattern"
        ),
        pytest.param(
            Fact("f", "expect", ("Ava",), "fuzzy"), "matcher 'fuzzy' is not available", id="unknown-matcher"
        ),
        pytest.param(Fact("f", "expect", ("soon",), "date"), "'soon' is not one date that", id="no-date"),
        pytest.param(
            Fact("f", "forbid", ("Ava",)),
            "forbids 'Ava', which the new sources state: 'Ava owns the launch.",
            id="forbid-stated",
        ),
        pytest.param(
            Fact("f", "forbid", ("14 June",), "date", as_current=True),
            "forbids the date '14 June', which the new sources state: ",
            id="forbid-current-stated",
        ),
        pytest.param(
            Fact("f", "expect", ("Eva",)),
            "expects 'Eva', which the new sources do not state: nowhere 'Eva'",
            id="expect-unknown",
        ),
        pytest.param(
            Fact("f", "expect", ("9 euros",)),
            "expects '9 euros', which the new sources do not state: '9 euros' is only given as the old value",
            id="expect-old",
        ),
        pytest.param(
            Fact("f", "expect", ("room 5",)),
            "expects 'room 5', which the new sources do not state: 'room 5' is only denied",
            id="expect-denied",
        ),
        pytest.param(
            Fact("f", "expect", ("Ava", "Eva"), "near"),
            "expects 'Ava' near 'Eva', which the new sources do not state: ",
            id="near",
        ),
        pytest.param(
            Fact("f", "expect", ("Eva",), "count", at_least=2),
            "expects 'Eva' at least 2 times, which the new sources do not state: ",
            id="count",
        ),
    ],
)
def test_a_fact_that_would_judge_wrongly(fact: Fact, message: str) -> None:
    [(fact_id, found)] = problems(fact)
    assert fact_id == "f"
    assert found.startswith(message)


def test_pinned_lines_and_the_edited_text_state_facts_too() -> None:
    facts = (Fact("a", "expect", ("Dear team",)), Fact("b", "expect", ("Yours",)))
    assert len(problems(*facts)) == 2
    assert problems(*facts, pinned=("Dear team,",), kind="revise", edited="Yours, Ava") == []


@pytest.mark.parametrize(
    ("expect", "forbid"),
    [
        (Fact("e", "expect", ("14 June",)), Fact("f", "forbid", ("June",))),
        (Fact("e", "expect", ("14 June", "June 14")), Fact("f", "forbid", ("14 June",), "date")),
        (Fact("e", "expect", ("Ava", "14 June"), "near"), Fact("f", "forbid", ("14",))),
        (Fact("e", "expect", (), "any", of=(Condition(values=("a June",)),)), Fact("f", "forbid", ("June",))),
        (Fact("e", "expect", ("June",), "count", at_least=1), Fact("f", "forbid", ("June",))),
        (Fact("e", "expect", ("Ava", "Bo"), "near"), Fact("f", "forbid", ("Ava", "Bo"), "near")),
    ],
)
def test_an_expect_and_a_forbid_that_contradict_each_other(expect: Fact, forbid: Fact) -> None:
    after = "14 June, June 14, a June, Ava. Bo"
    found = [
        message
        for fact_id, message in problems(expect, forbid, after=after)
        if "which fact 'e' expects" in message
    ]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("expect", "forbid"),
    [
        (Fact("e", "expect", ("14 June", "June 14")), Fact("f", "forbid", ("June 14",))),
        (Fact("e", "expect", ("not late",)), Fact("f", "forbid", ("late",))),
        (Fact("e", "expect", ("fused_model",)), Fact("f", "forbid", ("lora_fused_model",))),
        (Fact("e", "expect", ("June",), "count", at_most=0), Fact("f", "forbid", ("June",))),
        (Fact("e", "expect", ("Ju.e",), "pattern"), Fact("f", "forbid", ("June",))),
    ],
)
def test_facts_that_can_both_be_right(expect: Fact, forbid: Fact) -> None:
    assert not [message for _, message in problems(expect, forbid) if "which fact" in message]


def test_a_canary_has_a_fact_that_expects_and_one_that_the_edit_flips() -> None:
    expect, forbid, same = (
        Fact("e", "expect", ("Ava",)),
        Fact("f", "forbid", ("Bo",)),
        Fact("s", "expect", ("launch",)),
    )
    assert problems(expect, forbid, canary=True) == []
    assert problems(expect, canary=True) == []
    assert problems(same, forbid, canary=True) == []
    assert problems(same, canary=False) == []
    assert [(fact, text.split(":")[0]) for fact, text in problems(forbid, canary=True)] == [
        (None, "a canary needs a fact that expects")
    ]
    assert [(fact, text.split(":")[0]) for fact, text in problems(same, canary=True)] == [
        (None, "a canary needs a fact that the edit flips")
    ]
    assert problems(same, canary=True, stale="Nobody knows.") == []


def test_an_advisory_fact_makes_no_canary() -> None:
    facts = (
        Fact("e", "expect", ("Ava",), severity="advisory"),
        Fact("f", "forbid", ("Bo",), severity="advisory"),
    )
    assert len(problems(*facts, canary=True)) == 2
