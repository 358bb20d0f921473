from dataclasses import replace
from typing import Any

import pytest

from bundles import Session, bundle_of
from replay.errors import SettingsError
from replay.judged_run import JudgedRun


def judged(make: Any, evaluated: Any) -> JudgedRun:
    bundle = make.bundle(evaluated.units)
    return JudgedRun(evaluated.run, bundle, evaluated.attempts, evaluated.verdicts())


def test_only_finished_attempts_of_planned_arms_are_given_out_in_the_order_of_the_plan(make: Any) -> None:
    evaluated = make.evaluated(2, arms=("plain", "redraft"), repeats=2)
    broken = evaluated.changed("u0", "redraft", status="error", error="busy")
    stale = make.attempt("u0", "stale")
    shuffled = replace(broken, attempts=(stale, *broken.attempts[::-1]))
    run = judged(make, shuffled)
    assert [a.key for a in run.finished(["u1", "u0"], ["redraft", "plain"])] == [
        ("u1", "redraft", 0), ("u1", "redraft", 1), ("u1", "plain", 0), ("u1", "plain", 1),
        ("u0", "plain", 0), ("u0", "plain", 1),
    ]  # fmt: skip
    assert list(run.finished(["u0"], ["stale"])) == []
    failed = run.attempt(("u0", "redraft", 0))
    assert failed is not None
    assert failed.error == "busy"
    assert run.attempt(("u0", "stale", 0)) is None


def test_a_finished_attempt_without_a_verdict_is_refused_and_a_failed_one_needs_none(make: Any) -> None:
    evaluated = make.evaluated(2)
    bundle, verdicts = make.bundle(evaluated.units), evaluated.verdicts()
    with pytest.raises(SettingsError, match=f"redraft judge {evaluated.run.run_id}"):
        JudgedRun(evaluated.run, bundle, evaluated.attempts, verdicts[1:])
    broken = evaluated.changed("u0", "plain", status="error")
    of_plain = [v for v in verdicts if (v.unit_id, v.arm) != ("u0", "plain")]
    JudgedRun(broken.run, bundle, broken.attempts, of_plain)


def test_a_part_is_assessed_as_if_it_were_the_run(make: Any) -> None:
    evaluated = make.evaluated(3).changed("u1", "redraft", text="Bo owns it.")
    run = judged(make, evaluated)
    assert [len(run.assess(part).regressions) for part in (["u0", "u2"], ["u1"], ["u0", "u1", "u2"])] == [
        0,
        2,
        2,
    ]
    assert run.assess(["u1"]).arms["redraft"].total == 2


def test_held_is_a_share_of_tokens_and_unknown_without_any(make: Any) -> None:
    evaluated = make.evaluated(1, arms=("plain", "redraft"), repeats=2)
    first, second = (a for a in evaluated.attempts if a.arm == "redraft")
    attempts = [
        replace(first, token_ids=(1, 2, 3), token_src=(0, -1, -1)),
        replace(second, token_ids=(1,), token_src=(0,)),
        *(a for a in evaluated.attempts if a.arm == "plain"),
    ]
    run = judged(make, replace(evaluated, attempts=tuple(attempts)))
    assert run.held(run.finished(["u0"], ["redraft"])) == 0.5
    assert run.held([]) is None


def test_a_unit_has_its_session(make: Any) -> None:
    evaluated = make.evaluated()
    bundle = bundle_of("b", [Session("u0", "git", document_kind="changelog")], evaluated.units)
    run = JudgedRun(evaluated.run, bundle, evaluated.attempts, evaluated.verdicts())
    assert run.session(run.unit("u0")).document_kind == "changelog"


def test_a_passage_has_its_own_held_spans_and_evidence(make: Any) -> None:
    run = judged(make, make.evaluated())
    passage = run.passage(("u0", "redraft", 0), ["new", "old"])
    assert passage.text == "Ava owns it."
    assert passage.held == ((0, 11),)
    assert passage.evidence == ((0, 3),)
