from collections.abc import Callable

import pytest

from bundles import Fact, Source, Unit
from judge.harmless import HARMLESS_KINDS, harmless

FACTS = (Fact("new", "expect", ("14 euros",)), Fact("old", "forbid", ("it's free",)))
TEXT = "A day ticket costs 14 euros. Ava's shop sells it because it is near. Bring a stand."


def made(text: str, facts: tuple[Fact, ...] = FACTS, **changes: object) -> dict[str, str]:
    unit = Unit("u", "u", "?", (Source("s", "x"),), (Source("s", "y"),), facts=facts, **changes)
    return {change.how: change.text for change in harmless(unit, text)}


def test_every_harmless_change() -> None:
    assert made(TEXT) == {
        "words of the same meaning": (
            "A day ticket costs 14 euros. Ava's shop sells it since it's near. Bring a stand."
        ),
        "curly apostrophes, no-break spaces": (
            "A day ticket costs 14\N{NO-BREAK SPACE}euros. Ava’s shop sells it because it is near."
            " Bring a stand."
        ),
        "values in bold type": (
            "A day ticket costs **14 euros**. Ava's shop sells it because it is near. Bring a stand."
        ),
        "lines wrapped": (
            "A day ticket costs 14 euros. Ava's shop sells it\nbecause it is near. Bring a stand."
        ),
        "an introduction": f"Here is the text:\n\n{TEXT}",
        "sentences as a list": (
            "- A day ticket costs 14 euros.\n- Ava's shop sells it because it is near.\n- Bring a stand."
        ),
        "the first sentence last": (
            "Ava's shop sells it because it is near. Bring a stand. A day ticket costs 14 euros."
        ),
    }


def test_words_of_values_and_pinned_lines_stay() -> None:
    assert "words of the same meaning" not in made("It starts.", (Fact("f", "expect", ("starts",)),))
    assert "words of the same meaning" not in made("It starts.", (), pinned=("It starts.",))


def test_a_change_that_brings_a_forbidden_value_is_not_made() -> None:
    assert "words of the same meaning" not in made("I think it is free.")


def test_items_of_a_list_move_as_a_whole_and_stay_one_list() -> None:
    text = "Plan:\n- One. It is long.\n- Two\n- Three"
    found = made(text)
    assert found["the first sentence last"] == "Plan:\n- Two\n- Three\n- One. It is long."
    assert "sentences as a list" not in found
    assert "lines wrapped" not in found


def test_a_single_sentence_is_not_reordered() -> None:
    assert "the first sentence last" not in made("Only this one.")


def test_units_with_a_pattern_are_left_alone() -> None:
    assert made(TEXT, (Fact("f", "expect", (r"14\s+euros",), matcher="pattern"),)) == {}


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_text_is_left_alone(text: str) -> None:
    assert made(text) == {}


def test_no_change_is_an_alarm(judged: Callable) -> None:
    run = judged()
    for change in harmless(run.units[0], run.attempts[0].text):
        assert change.kind in HARMLESS_KINDS
        assert run.replace_attempt(("u1", "redraft", 0), text=change.text).assess().flips == ()
