from collections.abc import Callable
from dataclasses import replace

import pytest

from bundles import Attempt, Fact, Unit
from judge import ArmFacts, CanaryCount, Flip, JudgeError
from judge.evidence import PinnedLines
from judge.significance import SessionCounts, weigh

STALE = "Bo owns the launch on 12 June."
LOST_OWNER = "Somebody owns the launch on 15 June."


def test_identical_texts_have_no_flips(judged: Callable) -> None:
    assessment = judged(repeats=2).assess()
    assert assessment.flips == assessment.regressions == assessment.missing == assessment.errors == ()
    assert assessment.arms["redraft"] == ArmFacts(passed=12, total=12, unscored=0)
    assert assessment.canaries["redraft"] == CanaryCount(passed=2)
    assert assessment.arms_under_test == ("redraft",)


def test_a_stale_answer_flips_every_fact_worst_first(judged: Callable) -> None:
    assessment = judged({("u1", "redraft"): STALE}, held=True).assess()
    assert [(f.fact_id, f.severity, f.before, f.after, f.attribution) for f in assessment.flips] == [
        ("owner", "critical", "pass", "fail", "decoded"),
        ("old-owner", "critical", "pass", "fail", "held"),
        ("day", "supporting", "pass", "fail", "decoded"),
    ]
    assert assessment.regressions == assessment.flips
    assert assessment.arms["redraft"].failed == 3
    assert assessment.canary_outcomes == {
        ("u1", "plain"): "passed",
        ("u1", "control"): "passed",
        ("u1", "redraft"): "failed",
        ("u2", "plain"): "passed",
        ("u2", "control"): "passed",
        ("u2", "redraft"): "passed",
    }


def test_a_fact_that_plain_lacks_is_a_gain_and_no_regression(judged: Callable) -> None:
    assessment = judged({("u1", "plain"): LOST_OWNER, ("u1", "control"): LOST_OWNER}).assess()
    assert assessment.flips == (Flip("u1", "owner", "redraft", 0, "fail", "pass", "decoded", "critical"),)
    assert assessment.regressions == ()
    assert assessment.canary_outcomes["u1", "redraft"] == "blind"
    assert assessment.blind_share == 0.5


def test_what_control_loses_too_is_drift_and_no_regression(judged: Callable) -> None:
    assessment = judged({("u1", "control"): LOST_OWNER, ("u1", "redraft"): STALE}).assess()
    assert [(f.arm, f.fact_id) for f in assessment.flips if f.fact_id == "owner"] == [
        ("control", "owner"),
        ("redraft", "owner"),
    ]
    assert {f.fact_id for f in assessment.regressions} == {"old-owner", "day"}
    assert [(f.arm, f.fact_id) for f in assessment.drift] == [("redraft", "owner")]


def test_control_alone_never_regresses(judged: Callable) -> None:
    assessment = judged({("u1", "control"): STALE}).assess()
    assert len(assessment.flips) == 3
    assert assessment.regressions == ()


def test_a_loss_without_a_known_control_counts(judged: Callable) -> None:
    run = judged({("u1", "redraft"): STALE}, arms=("plain", "redraft"))
    assert len(run.assess().regressions) == 3


def test_repeats_are_compared_with_the_same_repeat(judged: Callable) -> None:
    run = judged(repeats=2).replace_attempt(("u1", "redraft", 1), text=LOST_OWNER)
    assert [(f.fact_id, f.repeat) for f in run.assess().regressions] == [("owner", 1)]
    assert run.assess().canary_outcomes["u1", "redraft"] == "failed"
    blind = judged(repeats=2).replace_attempt(("u1", "plain", 1), text=LOST_OWNER)
    assert blind.assess().canary_outcomes["u1", "redraft"] == "blind"


def test_advisory_facts_do_not_decide_a_canary(judged: Callable, unit: Callable[..., Unit]) -> None:
    advisory = Fact("tone", "expect", ("please",), severity="advisory")
    with_advisory = unit("u1", facts=(*unit("u1").facts, advisory))
    assert judged(units=(with_advisory,)).assess().canaries["redraft"] == CanaryCount(passed=1)
    only_advisory = unit("u1", facts=(advisory,))
    assert judged(units=(only_advisory,)).assess().canaries["redraft"] == CanaryCount(unscored=1)


def test_the_plan_is_the_denominator(judged: Callable) -> None:
    full = judged()
    gone = replace(full, attempts=tuple(a for a in full.attempts if a.key != ("u1", "redraft", 0)))
    assessment = gone.assess()
    assert assessment.missing == (("u1", "redraft", 0),)
    assert assessment.arms["redraft"] == ArmFacts(passed=3, total=6, unscored=3)
    unjudged = replace(full, verdicts=())
    assert unjudged.assess().arms["plain"] == ArmFacts(passed=0, total=6, unscored=6)
    assert unjudged.assess().canaries["redraft"] == CanaryCount(unscored=2)


def test_a_failed_attempt_is_unscored_even_beside_an_old_verdict(judged: Callable) -> None:
    full = judged()
    old_verdicts = full.verdicts
    failed = full.replace_attempt(("u1", "redraft", 0), status="error", error="engine died")
    assessment = replace(failed, verdicts=old_verdicts).assess()
    assert assessment.errors == (("u1", "redraft", 0),)
    assert assessment.arms["redraft"].unscored == 3


def test_attempts_and_verdicts_of_another_run_are_ignored(judged: Callable) -> None:
    full = judged()
    foreign_attempts = tuple(replace(a, run_id="other", text="") for a in full.attempts)
    foreign_verdicts = tuple(replace(v, run_id="other", outcome="fail") for v in full.verdicts)
    mixed = replace(
        full, attempts=full.attempts + foreign_attempts, verdicts=full.verdicts + foreign_verdicts
    )
    assert mixed.assess() == full.assess()
    assert replace(full, attempts=foreign_attempts).assess().attempts == 0


def test_an_outcome_that_is_neither_pass_nor_fail_is_unscored(judged: Callable) -> None:
    full = judged()
    odd = replace(full, verdicts=tuple(replace(v, outcome="maybe") for v in full.verdicts))
    assert odd.assess() == replace(full, verdicts=()).assess()


def test_a_unit_tells_something_if_plain_has_one_fact_right_in_every_repeat(judged: Callable) -> None:
    assert judged(repeats=2).assess().telling_units == 2
    half_right = judged(repeats=2).replace_attempt(("u1", "plain", 1), text=LOST_OWNER)
    assert half_right.assess().telling_units == 2
    once_empty = judged(repeats=2).replace_attempt(("u1", "plain", 1), text="")
    assert once_empty.assess().telling_units == 1
    once_lost = judged(repeats=2).replace_attempt(("u1", "plain", 1), status="error")
    assert once_lost.assess().telling_units == 1
    assert judged({("u1", "redraft"): "", ("u2", "control"): ""}).assess().telling_units == 2


def test_a_unit_that_is_planned_twice_counts_once(judged: Callable) -> None:
    full = judged()
    twice = replace(full, run=replace(full.run, unit_ids=full.run.unit_ids * 2))
    assert twice.assess() == full.assess()


def test_stale_answers_are_not_part_of_the_plan(judged: Callable, attempt: Callable[..., Attempt]) -> None:
    full = judged()
    assert replace(full, attempts=(*full.attempts, attempt("u1", "stale"))).assess() == full.assess()


def test_run_and_units_must_fit(judged: Callable) -> None:
    with pytest.raises(JudgeError, match="unit 'u1' of its plan is not among the units"):
        replace(judged(), units=()).assess()
    with pytest.raises(JudgeError, match="no arm 'plain'"):
        judged(arms=("control", "redraft")).assess()


def test_repeats_and_facts_of_one_session_are_one_piece_of_evidence(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    """Twelve repeats that all flip are one session that got worse, not p = 1/4096."""
    units = (unit("u1", session_id="s"), unit("u2", session_id="s"))
    run = judged({("u1", "redraft"): STALE, ("u2", "redraft"): STALE}, units=units, repeats=12)
    assessment = run.assess()
    assert len(assessment.regressions) == 72
    counts = assessment.sessions["redraft"]
    assert counts == SessionCounts(sessions=1, worse=1, lost=1, lost_alone=1, units=2)
    assert weigh(counts, None, 0.95).p_value == 1.0


def test_sessions_are_counted_by_who_lost(judged: Callable, unit: Callable[..., Unit]) -> None:
    texts = {
        ("a", "redraft"): LOST_OWNER,
        ("b", "redraft"): LOST_OWNER,
        ("b", "control"): LOST_OWNER,
        ("c", "control"): LOST_OWNER,
        ("d", "plain"): LOST_OWNER,
        ("e", "plain"): "",
    }
    units = tuple(unit(name) for name in "abcdef")
    assert judged(texts, units=units).assess().sessions["redraft"] == SessionCounts(
        sessions=5, worse=2, better=2, lost=2, lost_alone=1, spared=1, same=2, units=6
    )


def test_a_session_that_lost_as_much_as_it_gained_is_neither_worse_nor_better(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    units = (unit("u1", session_id="s"), unit("u2", session_id="s"))
    counts = judged({("u1", "redraft"): LOST_OWNER, ("u2", "plain"): LOST_OWNER}, units=units).assess()
    assert counts.sessions["redraft"] == SessionCounts(sessions=1, lost=1, lost_alone=1, units=2)


def test_advisory_facts_are_no_evidence_in_sessions(judged: Callable, unit: Callable[..., Unit]) -> None:
    advisory = (Fact("owner", "expect", ("Ava",), severity="advisory"),)
    run = judged({("u1", "redraft"): LOST_OWNER}, units=(unit("u1", facts=advisory),))
    assert run.assess().sessions["redraft"] == SessionCounts(units=1)
    assert run.assess().lost_facts("redraft") == 0


def test_a_lost_fact_counts_once_whatever_its_repeats(judged: Callable) -> None:
    run = judged({("u1", "redraft"): LOST_OWNER, ("u2", "redraft"): STALE}, repeats=3)
    assert run.assess().lost_facts("redraft") == 4
    assert run.assess().lost_facts("control") == 0


def test_the_same_text_of_other_tokens_is_not_the_same(judged: Callable) -> None:
    run = judged(repeats=2).replace_attempt(("u1", "redraft", 1), token_ids=(1, 2))
    assert run.assess().sessions["redraft"].same == 1
    assert run.assess().sessions["control"].identical
    assert not replace(run, attempts=run.attempts[1:]).assess().sessions["control"].identical


def test_pinned_lines_are_counted_in_finished_attempts(judged: Callable, unit: Callable[..., Unit]) -> None:
    pinned = unit("u1", pinned=("Ava owns the launch on 15 June.", "Budget: 15"))
    run = judged(units=(pinned,), repeats=2).replace_attempt(("u1", "redraft", 1), status="error")
    assert run.assess().pinned == {
        "plain": PinnedLines(2, 4),
        "control": PinnedLines(2, 4),
        "redraft": PinnedLines(1, 2),
    }
