import asyncio

from bundles import Source
from judge.calibration import calibration_cases
from judge.claim_questions import PRESENCE, SAMENESS, SUPPORT, extraction, source_passages
from judge.fake_ask import FakeAsk
from judge.passages import cut

CASE = next(case for case in calibration_cases() if case.case_id == "number-swap")
SOURCES = source_passages([Source("document", CASE.sources)])
PLAIN, TEXT = cut(CASE.plain), cut(CASE.text)


def answer(question: object) -> object:
    reply = asyncio.run(FakeAsk()(question.prompt))
    return question.read(reply.text)


def test_it_answers_every_question_about_a_case_as_labelled() -> None:
    assert [claim.stance for claim in answer(extraction(SOURCES, PLAIN))] == ["supported"]
    assert [claim.stance for claim in answer(extraction(SOURCES, TEXT))] == ["contradicted"]
    assert [found.label for found in answer(PRESENCE.question(PLAIN.pieces, TEXT))] == ["contradicted"]
    assert [found.label for found in answer(SAMENESS.question(TEXT.pieces, PLAIN))] == ["different"]
    both = SUPPORT.question([*PLAIN.pieces, *TEXT.pieces], SOURCES, swapped=True)
    assert [found.label for found in answer(both)] == ["supported", "contradicted"]


def test_texts_that_it_does_not_know_are_true_and_alike() -> None:
    other = cut("The sea is calm.")
    assert [claim.stance for claim in answer(extraction(SOURCES, other))] == ["supported"]
    assert [found.label for found in answer(PRESENCE.question(other.pieces, TEXT))] == ["consistent"]
    assert [found.label for found in answer(SAMENESS.question(other.pieces, PLAIN))] == ["same"]
