from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bundles import Fact, Unit
from judge import GatePolicy
from judge.faults import Change
from judge.trials import PROBE, Placed, Trial, resampled

PROBED = GatePolicy(arms=(PROBE,))
STALE = "Bo owns the launch on 12 June."


def trial(run: object, policy: GatePolicy = PROBED) -> Trial:
    return Trial(run.run, run.units, run.attempts, policy)


def stale(unit_id: str, repeat: int = 0) -> Placed:
    return Placed(unit_id, repeat, Change("stale_fact", STALE, "all of it", "owner"))


def test_the_probe_says_what_plain_says(judged: Callable) -> None:
    """Whatever the arms under test said, and whatever plain has wrong."""
    run = judged({("u1", "redraft"): STALE, ("u2", "plain"): STALE}, repeats=2)
    found = trial(run)
    assert found.unchanged == "pass"
    assert {answer.arm for answer in found.answers.values()} == {PROBE}
    assert found.answers["u2", 1].text == STALE


def test_a_change_in_one_repeat_of_one_unit_is_seen(judged: Callable) -> None:
    found = trial(judged(repeats=3))
    assert found.verdict([stale("u1", 2)]) == "regression"
    assert found.verdict([]) == "pass"


def test_several_changes_at_once(judged: Callable) -> None:
    lax = GatePolicy(arms=(PROBE,), canaries="report", allowed_regressions={"critical": 2, "supporting": 1})
    found = trial(judged(), lax)
    assert found.verdict([stale("u1")]) == "pass"
    assert found.verdict([stale("u1"), stale("u2")]) == "regression"


def test_changes_are_made_in_every_finished_answer_of_the_plan(judged: Callable) -> None:
    run = judged(repeats=2).replace_attempt(("u1", "plain", 1), status="error")
    foreign = replace(run.attempts[0], unit_id="u9")
    changes = Trial(run.run, run.units, (*run.attempts, foreign), PROBED).changes()
    assert {(one.unit_id, one.repeat) for one in changes["stale_fact"]} == {("u1", 0), ("u2", 0), ("u2", 1)}
    assert changes["swapped_owner"] == []


def test_a_run_without_control_is_tried_without_one(judged: Callable) -> None:
    assert trial(judged(arms=("plain", "redraft"))).unchanged == "pass"


def test_plain_against_itself_never_fails(judged: Callable) -> None:
    found = trial(judged(repeats=2))
    assert set(resampled(found, np.random.default_rng(0), 50)) == {"pass"}


def test_an_engine_that_drifts_fails_a_gate_that_allows_none(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    """Plain and control are drawn in every role, so a control that drifts does not hide that the arm does."""
    units = tuple(unit(f"u{index}", canary=False) for index in range(6))
    drifting = {("u1", "control"): STALE, ("u2", "plain"): STALE}
    run = judged(drifting, units=units)
    words = list(resampled(trial(run), np.random.default_rng(0), 100))
    assert 0 < words.count("regression") < 100
    margin = trial(run, GatePolicy(arms=(PROBE,), margin=0.2))
    assert "regression" not in list(resampled(margin, np.random.default_rng(0), 100))


def test_resamples_are_seeded(judged: Callable, unit: Callable[..., Unit]) -> None:
    run = judged({("u1", "control"): STALE}, units=(unit("u1"), unit("u2"), unit("u3", session_id="u2")))

    def words(seed: int) -> list[str]:
        return list(resampled(trial(run), np.random.default_rng(seed), 20))

    assert words(1) == words(1)
    assert words(1) != words(2)


def test_units_of_a_session_are_drawn_together(judged: Callable, unit: Callable[..., Unit]) -> None:
    """With a single session every resample is the run itself."""
    facts = (Fact("owner", "expect", ("Ava",)),)
    units = tuple(unit(f"u{index}", session_id="s", facts=facts, canary=False) for index in range(3))
    run = judged(units=units)
    policy = GatePolicy(arms=(PROBE,), min_units=3)
    assert set(resampled(trial(run, policy), np.random.default_rng(0), 20)) == {"pass"}
