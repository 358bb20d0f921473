import json
from pathlib import Path

import pytest

from bundles import Fact
from bundles.importers.git.changes import change_of
from bundles.importers.git.questions import Question, question_of
from judge.facts import check_fact

DATA = Path(__file__).parents[3] / "data"


def ask(old: str, new: str) -> Question:
    return question_of(change_of(old, new), old, new)


def test_a_changed_value_is_asked_for_and_flips_a_fact() -> None:
    question = ask("Retries stop after 302 tries.", "Retries stop after 307 tries.")
    assert question.instruction.startswith("List every number")
    assert question.facts == (
        Fact("expect-1", "expect", ("307",), origin="edit"),
        Fact("forbid-1", "forbid", ("302",), origin="edit"),
    )
    assert question.is_canary


def test_a_changed_name_is_asked_for() -> None:
    question = ask("Pass `--hf-path` to it.", "Pass `--model` to it.")
    assert question.instruction.startswith("List every command, option")
    assert [fact.values for fact in question.facts] == [("--model",), ("--hf-path",)]


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ("Now Ada Łęcka decides.", "Now Tomasz Źródło decides.", [("Tomasz Źródło",), ("Ada Łęcka",)]),
        ("Mr Ek stays. We go.", "Ms Öz stays. We go.", [("Ms Öz",), ("Mr Ek",)]),
        ("Data go to Postgres now.", "Data go to Łódź now.", [("Łódź",), ("Postgres",)]),
    ],
)
def test_a_changed_proper_name_is_asked_for(old: str, new: str, values: list[tuple[str, ...]]) -> None:
    question = ask(old, new)
    assert question.instruction.startswith("List every person")
    assert [fact.values for fact in question.facts] == values
    assert question.is_canary


def test_a_sentence_that_begins_with_another_word_names_nobody() -> None:
    assert ask("It is so. Great things come.", "It is so. Awful things come.").facts == ()


def test_a_small_number_counts_with_its_unit() -> None:
    question = ask("A puncture costs 12 euros, 95 with tyre.", "A puncture costs 14 euros, 95 with tyre.")
    assert [fact.values for fact in question.facts] == [("14 euros",), ("12 euros",)]


def test_prose_is_not_counted_among_the_values_to_list() -> None:
    others = "Never on Mondays, always off, no, yes, none: " + ", ".join(map(str, range(200, 210)))
    question = ask(f"It costs 95 euros. {others}", f"It costs 98 euros. {others}")
    assert [fact.values for fact in question.facts] == [("98",), ("95",)]


def test_a_word_of_prose_forbidden_is_no_proof_alone() -> None:
    question = ask("It calls `requests` for it.", "It calls `httpx` for it.")
    assert [(fact.values, fact.severity) for fact in question.facts] == [
        (("httpx",), "critical"),
        (("requests",), "supporting"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("From 302 to 300.", "From 307 to 302.", id="old value still there, elsewhere"),
        pytest.param("Step 3 of it.", "Step 4 of it.", id="number of a list item"),
        pytest.param("Steps 3 and on.", "Steps 4 and on.", id="and no unit after it"),
        pytest.param("It has 3 rows, or 3.", "It has 4 rows, or 4.", id="the number twice"),
        pytest.param(
            "It has 150 rows.", "It has 160 rows" + "".join(f", {n}" for n in range(200, 220)), id="many"
        ),
        pytest.param("It may take 302 s", "It will take 307 s", id="reworded too"),
        pytest.param("a 1,500 b", "a 1.500 b", id="same digits"),
        pytest.param("x 302", "x \uff13\uff10\uff12 \uff13", id="same value in wide digits"),
    ],
)
def test_no_fact_where_it_would_prove_nothing(old: str, new: str) -> None:
    assert not ask(old, new).is_canary


def test_a_new_value_that_stood_in_the_old_text_is_not_expected() -> None:
    question = ask("From 302 up to 450 rows.", "From 450 up to 450 rows.")
    assert [(fact.polarity, fact.values) for fact in question.facts] == [("forbid", ("302",))]
    assert not question.is_canary


@pytest.mark.parametrize(
    ("new", "asked"),
    [
        ("Text goes on.\n\n$ make all\n", "List every command in this section"),
        ("Text goes on.\n\n```sh\ncurl -s x\n```\n", "List every command in this section"),
        ("Text goes on.\n\n    pip install x\n", "List every command in this section"),
        ("Text goes on,\nmake sure of it.\n\n> make all\n", "Say in one short paragraph"),
        ("Text goes on.\n\n- a\n- b\n1. c\n", "Summarise this section in three bullet points."),
        ("Text goes on and on.", "Say in one short paragraph"),
    ],
)
def test_what_is_asked_goes_by_what_the_section_holds(new: str, asked: str) -> None:
    question = ask("Text goes on.", new)
    assert question.instruction.startswith(asked)
    assert question.facts == ()
    assert ask(new, "Text goes on.").instruction == "Summarise this section in two or three sentences."


def test_commands_are_asked_for_where_they_changed() -> None:
    old = "Text goes on.\n\n$ ./scripts/test\n"
    assert ask(old, old.replace("Text", "It all")).instruction.startswith("Summarise")
    assert ask(old, old.replace("./scripts/test", "make test")).instruction.startswith("List every command")


def test_a_least_version_is_a_value() -> None:
    question = ask("Needs Python 3.7+, and pip.", "Needs Python 3.8+, and pip.")
    assert [fact.values for fact in question.facts] == [("3.8",), ("3.7",)]
    assert check_fact(question.facts[0], "It needs Python 3.8+.").outcome == "pass"
    assert check_fact(question.facts[1], "It needs Python 3.7+.").outcome == "fail"


def test_facts_of_real_edits_hold_against_the_new_text_and_not_the_old() -> None:
    made = 0
    for line in (DATA / "real-edits-sample.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        for fact in ask(entry["context_old"], entry["context_new"]).facts:
            made += 1
            assert check_fact(fact, entry["context_new"]).outcome == "pass"
            assert check_fact(fact, entry["context_old"]).outcome == "fail"
    assert made == 4
