import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge import ReplyCache, calibration_cases, canary_cases
from judge.calibration import Case
from judge.fake_ask import FakeAsk
from judge.passages import cut
from replay.claims import Bill, ClaimJudge, refuse_model_under_test
from replay.errors import JudgeUnfit
from replay.judge_client import JudgeClient, JudgeIdentity, JudgeSettings, Usage

PLAIN, STALE = "Ava owns it.", "Bo owns it."
CASES = calibration_cases()
Judging = Callable[..., Any]


async def no_pause(seconds: float) -> None:
    pass


def using(
    url: str, folder: Path, work: Callable[[ClaimJudge], Coroutine[Any, Any, Any]], *, again: bool = False
) -> tuple[Any, Bill]:
    async def run() -> tuple[Any, Bill]:
        async with JudgeClient(JudgeSettings(url, "big"), pause=no_pause) as client:
            judge = ClaimJudge(client, ReplyCache(folder), again=again)
            return await work(judge), judge.bill

    return asyncio.run(run())


@pytest.fixture
def judging(judge_server: Any, make: Any, tmp_path: Path) -> Judging:
    """Has a judge who knows that STALE is wrong judge a run with one such attempt."""
    judge_server.fake = FakeAsk([Case("run", PLAIN, PLAIN, STALE, True, True, False, False)])
    given = make.evaluated(2).changed("u1", "redraft", text=STALE)

    def judge(**options: bool) -> Any:
        work = lambda judge: judge.judge(given.run, given.units, given.attempts)  # noqa: E731
        return using(judge_server.url, tmp_path, work, **options)

    return judge


def test_a_fit_judge_judges(judging: Judging) -> None:
    judged, bill = judging()
    failed = {(v.unit_id, v.arm, v.fact_id) for v in judged.verdicts if v.outcome == "fail"}
    assert failed == {("u1", "redraft", "claims/lost_facts"), ("u1", "redraft", "claims/new_errors")}
    assert bill.given_up == 0


def test_the_second_time_only_the_canaries_are_asked(judging: Judging, judge_server: Any) -> None:
    first, _ = judging()
    before = len(judge_server.requests)
    second, bill = judging()
    assert second.verdicts == first.verdicts
    assert bill.kept > 0
    canaries = canary_cases(CASES)
    texts = [cut(text).pieces[0] for case in canaries for text in (case.plain, case.text)]
    for _, body in judge_server.requests[before:]:
        assert any(text in body["messages"][1]["content"] for text in texts)
    again, bill = judging(again=True)
    assert (again.verdicts, bill.kept) == (first.verdicts, 0)


def test_a_judge_that_gets_one_case_wrong_judges_nothing(
    judging: Judging, judge_server: Any, make: Any
) -> None:
    text = next(case.text for case in CASES if case.case_id == "date-swap")

    def script(prompt: Any, reply: str, before: int) -> Any:
        is_it = prompt.name == "presence" and text in prompt.user
        return make.chat(reply.replace('"contradicted"', '"consistent"')) if is_it else None

    judge_server.script = script
    with pytest.raises(JudgeUnfit, match=r"fails its calibration: case date-swap: .*no claim verdict"):
        judging()
    asked = [body["messages"][1]["content"] for _, body in judge_server.requests]
    assert not any(STALE in user for user in asked)


def test_a_judge_that_has_changed_judges_nothing(judging: Judging, judge_server: Any, make: Any) -> None:
    judging()
    judge_server.script = lambda prompt, reply, before: make.chat(reply.replace("contradicted", "supported"))
    with pytest.raises(JudgeUnfit, match="fails its calibration") as raised:
        judging()
    assert any(case.case_id in str(raised.value) for case in canary_cases(CASES))


@pytest.mark.parametrize(
    ("identity", "refused"),
    [
        pytest.param(JudgeIdentity(frozenset({"big"}), None), False, id="another"),
        pytest.param(JudgeIdentity(frozenset({"big"}), "g"), False, id="another fingerprint"),
        pytest.param(JudgeIdentity(frozenset({"big"}), "f"), True, id="same fingerprint under another name"),
        pytest.param(JudgeIdentity(frozenset({"m"}), None), True, id="same name"),
        pytest.param(JudgeIdentity(frozenset({"big", "/models/M.gguf"}), None), True, id="same file"),
    ],
)
def test_the_model_under_test_may_not_judge_itself(identity: JudgeIdentity, refused: bool, make: Any) -> None:
    run = make.run([make.unit()])
    if refused:
        with pytest.raises(JudgeUnfit, match="the judge is the model under test"):
            refuse_model_under_test(run, identity)
    else:
        refuse_model_under_test(run, identity)
        refuse_model_under_test(replace(run, provenance={}), identity)


def test_a_model_under_test_is_asked_nothing(judging: Judging, judge_server: Any) -> None:
    judge_server.get = {"/props": {"redraft": {"model_fingerprint": "f"}}}
    with pytest.raises(JudgeUnfit, match="fingerprint is f"):
        judging()
    assert judge_server.requests == []


def test_a_bill_names_a_cost_where_there_are_prices() -> None:
    bill = Bill(
        Usage(requests=3, repeated=1, prompt_tokens=2_000_000, reply_tokens=500_000), kept=4, given_up=0
    )
    assert "cost" not in bill.line(0, 0)
    assert "2000000 tokens in, 500000 out, cost 5.0000" in bill.line(1.5, 4)
