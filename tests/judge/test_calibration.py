import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from bundles import Source
from judge.asking import Asker, Prompt, Reply
from judge.calibration import (
    Calibration,
    CaseResult,
    calibrate,
    calibration_cases,
    calibration_version,
    canary_cases,
    first_failure,
)
from judge.claim_questions import source_passages
from judge.claims import PairJudgement
from judge.facts import Finding
from judge.fake_ask import FakeAsk
from judge.passages import cut

CASES = calibration_cases()
PASS, FAIL, UNSCORED = Finding("pass", ""), Finding("fail", "why"), Finding("unscored", "no reply")


def test_there_are_enough_cases_of_every_kind() -> None:
    assert len(CASES) >= 24
    assert calibration_version() >= 1
    assert len({case.case_id for case in CASES}) == len(CASES)
    kinds = {(case.loses_facts, case.makes_errors, case.omits) for case in CASES}
    assert kinds >= {(True, True, False), (False, False, False), (False, False, True), (False, True, False)}
    failing = sum(case.loses_facts or case.makes_errors for case in CASES)
    assert len(CASES) / 3 < failing < len(CASES) * 2 / 3


def test_canaries_are_cases_of_both_outcomes() -> None:
    canaries = canary_cases(CASES)
    assert 4 <= len(canaries) < len(CASES)
    assert {case.loses_facts for case in canaries} == {True, False}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.case_id)
def test_a_case_is_a_pair_that_has_to_be_judged(case: object) -> None:
    assert isinstance(case, type(CASES[0]))
    assert case.plain != case.text
    assert all(cut(text).ranges for text in (case.sources, case.plain, case.text))
    assert source_passages([Source("document", case.sources)]).ranges


def test_a_judge_that_is_right_passes() -> None:
    asker = Asker(FakeAsk(), "fake", 1)
    calibration = asyncio.run(calibrate(asker, CASES))
    assert calibration.passed
    assert calibration.failures == ()
    assert [result.case for result in calibration.results] == list(CASES)


def constant(name: str, label: str) -> Callable[[Prompt], Reply]:
    """A judge that always gives one label to one question."""

    def reply(prompt: Prompt) -> Reply:
        text = asyncio.run(FakeAsk()(prompt)).text
        if prompt.name == name:
            for other in ("consistent", "contradicted", "absent", "supported", "different", "same"):
                text = text.replace(f'"{other}"', f'"{label}"')
        return Reply(text)

    return reply


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("presence", "consistent"),
        ("presence", "contradicted"),
        ("sameness", "same"),
        ("extraction", "contradicted"),
        ("extraction", "supported"),
        ("support", "supported"),
        ("support", "contradicted"),
    ],
)
def test_a_judge_that_always_says_the_same_fails(name: str, label: str) -> None:
    reply = constant(name, label)

    async def ask(prompt: Prompt) -> Reply:
        return await asyncio.to_thread(reply, prompt)

    assert not asyncio.run(calibrate(Asker(ask, "fake", 1), CASES)).passed


def test_the_first_failure_ends_the_asking() -> None:
    async def ask(prompt: Prompt) -> Reply:
        if source_passages([Source("document", CASES[0].sources)]).numbered() not in prompt.user:
            await asyncio.Event().wait()  # for ever
        return Reply("no")

    failure = asyncio.run(first_failure(Asker(ask, "fake", 1), CASES[:3]))
    assert failure is not None
    assert failure.case == CASES[0]
    assert asyncio.run(first_failure(Asker(FakeAsk(), "fake", 1), CASES)) is None


def test_what_the_transport_raises_ends_the_asking_too() -> None:
    async def ask(prompt: Prompt) -> Reply:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(first_failure(Asker(ask, "fake", 1), CASES))


def test_a_judge_that_says_nothing_usable_fails_every_case() -> None:
    async def ask(prompt: Prompt) -> Reply:
        return Reply('{"reason": "all is well: PASS"}')

    calibration = asyncio.run(calibrate(Asker(ask, "fake", 1), CASES))
    assert len(calibration.failures) == len(CASES)


@pytest.mark.parametrize(
    ("loses", "said", "flaws"),
    [
        pytest.param(False, PairJudgement(PASS, PASS), (), id="right"),
        pytest.param(True, PairJudgement(FAIL, PASS), (), id="right to fail"),
        pytest.param(
            False, PairJudgement(FAIL, PASS), ("lost_facts is fail, not pass: why",), id="too strict"
        ),
        pytest.param(True, PairJudgement(PASS, PASS), ("lost_facts is pass, not fail: ",), id="too lenient"),
        pytest.param(
            True,
            PairJudgement(UNSCORED, PASS),
            ("lost_facts is unscored, not fail: no reply",),
            id="unscored",
        ),
        pytest.param(
            False, PairJudgement(PASS, PASS, ("x",)), ("omissions are 1, not 0",), id="omission seen"
        ),
    ],
)
def test_every_way_of_being_wrong_is_named(loses: bool, said: PairJudgement, flaws: tuple[str, ...]) -> None:
    case = replace(CASES[0], loses_facts=loses, makes_errors=False, omits=False)
    result = CaseResult(case, said)
    assert result.flaws == flaws
    assert Calibration((result,)).passed == (not flaws)


def test_an_omission_that_is_not_seen_is_wrong() -> None:
    case = replace(CASES[0], loses_facts=False, makes_errors=False, omits=True)
    assert CaseResult(case, PairJudgement(PASS, PASS)).flaws == ("omissions are 0, not some",)


def test_no_case_is_no_pass() -> None:
    assert not Calibration(()).passed
