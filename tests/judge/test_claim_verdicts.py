import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bundles import Verdict
from judge.asking import Asker, Prompt, Reply
from judge.calibration import Case
from judge.claim_verdicts import (
    LOST_FACTS,
    NEW_ERRORS,
    ClaimVerdicts,
    assess_claims,
    claim_findings,
    claim_note,
    is_claim_verdict,
    judge_claims,
)
from judge.errors import JudgeError
from judge.evidence import assess
from judge.fake_ask import FakeAsk
from judge.gate import decide
from judge.policy import GatePolicy

PLAN = "Ava owns the launch on 15 June."
STALE = "Bo owns the launch on 12 June."


class Ask(FakeAsk):
    """Knows that STALE is wrong; counts what it is asked."""

    def __init__(self) -> None:
        super().__init__([Case("stale", PLAN, PLAN, STALE, True, True, False, False)])
        self.asked = 0

    async def __call__(self, prompt: Prompt) -> Reply:
        self.asked += 1
        return await super().__call__(prompt)


def claims(run: Any, ask: Any = None) -> ClaimVerdicts:
    return asyncio.run(judge_claims(Asker(ask or Ask(), "m", 7), run.units, run.attempts))


def by_place(verdicts: tuple[Verdict, ...]) -> dict[tuple[str, str, str], Verdict]:
    return {(v.unit_id, v.arm, v.fact_id): v for v in verdicts}


def test_every_attempt_gets_one_verdict_for_each_claim_fact(judged: Any) -> None:
    run = judged({("u1", "redraft"): STALE})
    verdicts = claims(run).verdicts
    assert len(verdicts) == len(by_place(verdicts)) == 2 * len(run.attempts)
    failed = {place for place, verdict in by_place(verdicts).items() if verdict.outcome == "fail"}
    assert failed == {("u1", "redraft", LOST_FACTS), ("u1", "redraft", NEW_ERRORS)}
    assert {(v.judge, v.judge_version) for v in verdicts} == {("claims:m", 7)}
    assert all(map(is_claim_verdict, verdicts))
    assert not any(map(is_claim_verdict, run.verdicts))


def test_a_run_that_was_claim_judged_is_unscored_without_its_verdicts(judged: Any) -> None:
    run = judged()
    assert assess_claims(run.run, run.units, run.attempts, []) is None
    note = claim_note(claims(run).verdicts)
    assert note == {"claim_judge": "m", "claim_verdicts": 2 * len(run.attempts)}
    noted = replace(run.run, provenance={**run.run.provenance, **note})
    assessment = assess_claims(noted, run.units, run.attempts, [])
    assert assessment is not None
    assert all(facts.unscored == facts.total > 0 for facts in assessment.arms.values())
    assert claim_findings(assessment, GatePolicy()).doubts


def test_identical_texts_are_never_asked_about(judged: Any) -> None:
    ask = Ask()
    assert {verdict.outcome for verdict in claims(judged(), ask).verdicts} == {"pass"}
    assert ask.asked == 0


def test_the_control_is_judged_too(judged: Any) -> None:
    verdicts = by_place(claims(judged({("u1", "control"): STALE})).verdicts)
    assert verdicts["u1", "control", LOST_FACTS].outcome == "fail"


@pytest.mark.parametrize("arm", ["plain", "redraft"])
def test_an_attempt_that_failed_leaves_its_pair_unscored(judged: Any, arm: str) -> None:
    run = judged().replace_attempt(("u1", arm, 0), status="error", error="no memory")
    found = by_place(claims(run).verdicts)["u1", "redraft", LOST_FACTS]
    assert found.outcome == "unscored"
    assert "no memory" in found.reason


def test_a_plain_attempt_that_is_missing_leaves_its_pairs_unscored(judged: Any) -> None:
    run = judged()
    run = replace(run, attempts=tuple(a for a in run.attempts if a.key != ("u1", "plain", 0)))
    found = by_place(claims(run).verdicts)
    assert found["u1", "control", NEW_ERRORS].outcome == "unscored"
    assert found["u2", "control", NEW_ERRORS].outcome == "pass"


def test_stale_answers_are_not_judged(judged: Any, attempt: Any) -> None:
    run = judged()
    run = replace(run, attempts=(*run.attempts, attempt("u1", "stale", text=STALE)))
    assert {verdict.arm for verdict in claims(run).verdicts} == {"plain", "control", "redraft"}


def test_a_person_s_edit_is_shown_before_the_sources(judged: Any, unit: Any) -> None:
    seen: list[str] = []

    async def ask(prompt: Prompt) -> Reply:
        seen.append(prompt.user)
        return await Ask()(prompt)

    claims(judged({("r", "redraft"): STALE}, units=(unit("r", kind="revise", edited="Cy owns it."),)), ask)
    assert seen[0].startswith("SOURCES\n[1] edited by a person")
    assert "Cy owns it." in seen[0]


def test_an_attempt_of_another_bundle_is_refused(judged: Any, attempt: Any) -> None:
    run = judged()
    with pytest.raises(JudgeError, match="unit 'nix'"):
        claims(replace(run, attempts=(attempt("nix", "plain"),)))


def test_claims_never_change_what_the_facts_say(judged: Any) -> None:
    run = judged({("u1", "redraft"): STALE})
    both = [*run.verdicts, *claims(run).verdicts]
    assert assess(run.run, run.units, run.attempts, both) == run.assess()


def findings(run: Any, verdicts: Any, policy: GatePolicy | None = None) -> Any:
    assessment = assess_claims(run.run, run.units, run.attempts, verdicts)
    assert assessment is not None
    return claim_findings(assessment, policy or GatePolicy())


def test_a_run_that_no_claim_judge_saw_has_no_assessment_of_claims(judged: Any) -> None:
    run = judged()
    assert assess_claims(run.run, run.units, run.attempts, run.verdicts) is None


def test_a_lost_claim_fails_the_gate_and_is_attributed(judged: Any) -> None:
    reworded = "On 15 June it is Ava's launch, Ava says."
    run = judged({("u1", "redraft"): reworded}, held=True)
    ask = FakeAsk([Case("r", PLAN, PLAN, reworded, True, False, False, False)])
    found = findings(run, claims(run, ask).verdicts)
    assert found.failures == (
        f"claims: redraft lost critical fact {LOST_FACTS} of unit u1 (held from the stale answer)",
    )
    assert run.decide().verdict == "pass"
    assert decide(run.assess(), GatePolicy(), against=found).verdict == "regression"


def test_what_the_control_loses_as_well_is_a_doubt(judged: Any) -> None:
    run = judged({("u1", "redraft"): STALE, ("u1", "control"): STALE})
    found = findings(run, claims(run).verdicts)
    assert found.failures == ()
    assert "shared by the control" in found.doubts[0]


def test_an_arm_that_is_not_gated_fails_nothing(judged: Any) -> None:
    run = judged({("u1", "redraft"): STALE}, arms=("plain", "control", "redraft", "anchor"))
    assert findings(run, claims(run).verdicts, GatePolicy(arms=("anchor",))).failures == ()


def test_a_claim_verdict_that_is_missing_or_unscored_is_a_doubt(judged: Any) -> None:
    run = judged()
    verdicts = claims(run).verdicts
    assert findings(run, verdicts).doubts == ()
    lost = verdicts[:-1]
    unscored = (*verdicts[:-1], replace(verdicts[-1], outcome="unscored"))
    for given in (lost, unscored):
        found = findings(run, given)
        assert "1 of 4 fact checks of redraft are unscored; ask again" in found.doubts[0]
        assert f"redraft judge {run.run.run_id} --again" in found.doubts[0]
        assert decide(run.assess(), GatePolicy(), against=found).verdict == "inconclusive"
