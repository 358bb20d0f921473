from dataclasses import replace
from typing import Any

from bundles import Verdict
from judge import claim_note
from replay.claim_results import claim_summary
from replay.summary import ClaimArm

SAID = "Bo owns it."


def claims_of(evaluated: Any, **changes: object) -> list[Verdict]:
    """Of every attempt; the one of u1 in redraft has a new error, but for `changes`."""
    verdicts = [
        Verdict(a.run_id, a.unit_id, a.arm, a.repeat, check, "pass", "claims:big", 1, None, "none is new")
        for a in evaluated.attempts
        for check in ("claims/lost_facts", "claims/new_errors")
    ]
    wrong = {
        "outcome": "fail",
        "evidence": (0, 2),
        "reason": f"says, against the sources, {SAID!r}",
    } | changes
    return [
        replace(v, **wrong) if (v.unit_id, v.arm, v.fact_id) == ("u1", "redraft", "claims/new_errors") else v
        for v in verdicts
    ]


def summed_up(make: Any, keep: Any = lambda verdict: True, **changes: object) -> Any:
    evaluated = make.evaluated(2, arms=("plain", "control", "redraft")).changed("u1", "redraft", text=SAID)
    claims = claims_of(evaluated, **changes)
    run = replace(evaluated.run, provenance={**evaluated.run.provenance, **claim_note(claims)})
    verdicts = [*evaluated.verdicts(), *filter(keep, claims)]
    return claim_summary(run, evaluated.units, evaluated.attempts, verdicts)


def test_a_flip_comes_with_its_claims_and_the_words_they_rest_on(make: Any) -> None:
    found = summed_up(make)
    assert (found.judge, found.regressions) == ("claims:big", 1)
    assert found.arms["plain"] == ClaimArm(passed=4, failed=0, unscored=0)
    assert found.arms["redraft"] == ClaimArm(passed=3, failed=1, unscored=0)
    (flip,) = found.flips
    assert (flip.unit_id, flip.arm, flip.check) == ("u1", "redraft", "claims/new_errors")
    assert (flip.before, flip.after, flip.regression) == ("pass", "fail", True)
    assert (flip.said, flip.evidence) == ("Bo", (0, 2))
    assert flip.reason == "says, against the sources, 'Bo owns it.'"


def test_a_flip_may_rest_on_nothing_that_is_said(make: Any) -> None:
    (flip,) = summed_up(make, evidence=None).flips
    assert (flip.said, flip.evidence) == ("", None)


def test_checks_without_a_verdict_are_unscored(make: Any) -> None:
    found = summed_up(make, lambda verdict: verdict.arm != "redraft")
    assert found.arms["redraft"] == ClaimArm(passed=0, failed=0, unscored=4)
    gone = summed_up(make, lambda verdict: False)
    assert (gone.judge, gone.flips) == ("", ())
    assert {arm.unscored for arm in gone.arms.values()} == {4}


def test_a_run_that_no_claim_judge_saw_has_no_part_on_claims(make: Any) -> None:
    evaluated = make.evaluated(2)
    assert evaluated.summary().claims is None
    judged = [*evaluated.verdicts(), *claims_of(evaluated)]
    assert claim_summary(evaluated.run, evaluated.units, evaluated.attempts, judged) is not None
