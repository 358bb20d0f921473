import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bundles import Source
from judge.asking import MOST_TRIES, Asker, Prompt, Reply
from judge.calibration import Case
from judge.claims import PairJudgement, judge_pair
from judge.fake_ask import FakeAsk

SOURCES = "Ava owns the launch. It is on Friday."
PLAIN = "Ava owns the launch. It is on Friday."
Change = Callable[[Prompt, dict[str, Any]], dict[str, Any] | Reply]


@dataclass
class Tampered:
    """The scripted judge, each of whose replies goes through `change`."""

    case: Case
    change: Change = lambda prompt, reply: reply
    prompts: list[Prompt] = field(default_factory=list)

    async def __call__(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        changed = self.change(prompt, FakeAsk([self.case]).reply(prompt))
        return changed if isinstance(changed, Reply) else Reply(json.dumps(changed))


def case(text: str, *truth: str, plain: str = PLAIN) -> Case:
    return Case(
        case_id="case",
        sources=SOURCES,
        plain=plain,
        text=text,
        loses_facts="lost_facts" in truth,
        makes_errors="new_errors" in truth,
        omits="omits" in truth,
        canary=False,
    )


def judged(ask: Tampered) -> PairJudgement:
    sources = [Source("document", ask.case.sources)]
    return asyncio.run(judge_pair(Asker(ask, "fake", 1), sources, ask.case.plain, ask.case.text))


def outcomes(ask: Tampered) -> tuple[str, str]:
    said = judged(ask)
    return said.lost_facts.outcome, said.new_errors.outcome


STALE = case("Bo owns the launch. It is on Friday.", "lost_facts", "new_errors")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(STALE, ("fail", "fail"), id="a stale owner"),
        pytest.param(case("The launch, which is on Friday, is Ava's."), ("pass", "pass"), id="reworded"),
        pytest.param(case("Ava owns the launch.", "omits"), ("pass", "pass"), id="omission"),
        pytest.param(case(f"{PLAIN} It costs 5 euros.", "new_errors"), ("pass", "fail"), id="error added"),
    ],
)
def test_a_pair_fails_by_lost_facts_or_new_errors(given: Case, expected: tuple[str, str]) -> None:
    said = judged(Tampered(given))
    assert (said.lost_facts.outcome, said.new_errors.outcome) == expected
    assert bool(said.omitted) == given.omits


def test_a_failure_names_claim_and_place() -> None:
    said = judged(Tampered(STALE))
    assert said.lost_facts.reason == "contradicts 'Ava owns the launch.'"
    assert said.new_errors.reason == "says, against the sources, 'Bo owns the launch.'"
    assert said.lost_facts.evidence == said.new_errors.evidence == (0, len("Bo owns the launch."))


@pytest.mark.parametrize(
    ("plain", "text", "expected"),
    [
        pytest.param(PLAIN, PLAIN, "pass", id="identical"),
        pytest.param("", "", "pass", id="both empty"),
        pytest.param(PLAIN, " \n", "fail", id="the answer is empty"),
        pytest.param("\n", PLAIN, "unscored", id="nothing to compare with"),
    ],
)
def test_some_pairs_need_no_judge(plain: str, text: str, expected: str) -> None:
    ask = Tampered(case(text, plain=plain))
    assert outcomes(ask) == (expected, expected)
    assert ask.prompts == []


def on(name: str, change: Callable[[Any], Any], *, swapped: bool | None = None) -> Change:
    """A change of one question's replies, of both its orders or of one."""

    def changed(prompt: Prompt, reply: dict[str, Any]) -> Any:
        is_swapped = not prompt.user.startswith("CLAIMS")
        asked = prompt.name == name and (swapped is None or swapped == is_swapped)
        return change(reply) if asked else reply

    return changed


def labelled(label: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda reply: {"labels": [mark | {"label": label} for mark in reply["labels"]]}


def garbled(reply: dict[str, Any]) -> Reply:
    return Reply("PASS. No cause to downgrade: fine")


@pytest.mark.parametrize(
    ("name", "label"),
    [("presence", "consistent"), ("sameness", "same"), ("support", "unverifiable")],
)
def test_a_second_opinion_that_disagrees_leaves_the_pair_unscored(name: str, label: str) -> None:
    swapped = None if name == "support" else True
    said = judged(Tampered(STALE, on(name, labelled(label), swapped=swapped)))
    disputed = [
        found for found in (said.lost_facts, said.new_errors) if "two opinions differ" in found.reason
    ]
    assert {found.outcome for found in disputed} == {"unscored"}
    assert len(disputed) == (2 if name == "support" else 1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("extraction", ("unscored", "unscored"), id="extraction"),
        pytest.param("presence", ("unscored", "fail"), id="presence"),
        pytest.param("sameness", ("fail", "unscored"), id="sameness"),
        pytest.param("support", ("unscored", "unscored"), id="second opinion"),
    ],
)
def test_a_question_without_an_answer_leaves_what_rests_on_it_unscored(
    name: str, expected: tuple[str, str]
) -> None:
    ask = Tampered(STALE, on(name, garbled))
    assert outcomes(ask) == expected
    asked = [prompt for prompt in ask.prompts if prompt.name == name]
    assert len(asked) % MOST_TRIES == 0


def test_a_judge_that_finds_no_claim_at_all_passes_nothing() -> None:
    def silent(reply: dict[str, Any]) -> dict[str, Any]:
        return {"sentences": [sentence | {"claims": []} for sentence in reply["sentences"]]}

    ask = Tampered(case("It is Ava's launch, and Friday's."), on("extraction", silent))
    assert outcomes(ask) == ("unscored", "unscored")


def test_a_judge_that_goes_by_place_contradicts_itself() -> None:
    def first_is_wrong(reply: dict[str, Any]) -> dict[str, Any]:
        marks = [mark | {"label": "consistent"} for mark in reply["labels"]]
        return {"labels": [marks[0] | {"label": "contradicted"}, *marks[1:]]}

    same = case("The launch is Ava's. It takes place on Friday.")
    assert outcomes(Tampered(same, on("presence", first_is_wrong))) == ("unscored", "pass")


def test_an_error_that_plain_makes_too_is_not_new() -> None:
    both = case("On Monday it is.", "new_errors", plain="It is on Monday.")
    assert outcomes(Tampered(both, on("sameness", labelled("same")))) == ("pass", "pass")
