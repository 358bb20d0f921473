from collections.abc import Callable
from typing import Any

import pytest

from replay.report.phrases import SIGNS, TITLES, became, demand, flip_meaning, meaning, sessions_meaning
from replay.summary import SessionSummary, Summary

Case = Callable[[str], Summary]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("all_identical", "Nothing that plain generation gets right was lost"),
        ("one_regression", "2 fact checks that plain generation passes both times came out wrong"),
        ("blind_canaries", "it is not a pass"),
        ("engine_errors", "the run can be continued"),
        ("empty_run", "No attempt was made"),
    ],
)
def test_a_verdict_says_what_it_means(case: Case, name: str, words: str) -> None:
    assert words in meaning(case(name))


def test_a_regression_without_a_lost_fact_claims_none(case: Case) -> None:
    slow = case("all_identical").model_copy(update={"verdict": "regression"})
    assert meaning(slow) == (
        "The run breaks a rule of the gate's policy, though no fact was lost against the control."
    )


def test_a_pass_with_allowed_losses_says_so(case: Case) -> None:
    allowed = case("one_regression").model_copy(update={"verdict": "pass"})
    assert meaning(allowed).startswith("2 fact checks")
    assert "which the policy allows" in meaning(allowed)


def test_every_verdict_has_a_title_and_a_sign() -> None:
    assert TITLES.keys() == SIGNS.keys()
    assert len(set(SIGNS.values())) == len(SIGNS)


SESSIONS: dict[str, Any] = {
    "sessions": 20, "worse": 2, "better": 0, "p_value": 0.5, "lost": 2, "loss_rate": 0.1,
    "loss_rate_low": 0.012, "loss_rate_high": 0.317, "lost_alone": 2, "spared": 0, "excess": 0.1,
    "excess_low": -0.06, "excess_high": 0.28, "confidence": 0.95, "margin": 0.05, "ruling": "undecided",
    "sessions_needed": 87, "identical_units": 9,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"identical_units": 24}, "in all 24 units: no fact can have been lost"),
        ({"sessions": 0}, "No session could show a loss"),
        ({}, "Lost a fact in 2 of 20 sessions; in the long run that is 1% to 32% of them. Whether"),
        ({}, "at these rates some 87 more sessions would tell"),
        ({"sessions_needed": 1}, "some 1 more session would tell"),
        ({"sessions_needed": None}, "no number of sessions that can be run would tell"),
        ({"ruling": "within"}, "It loses less than 5 points more than the control, as the policy asks."),
        ({"ruling": "beyond", "margin": 0.025}, "It loses more than 2.5 points more than the control"),
    ],
)
def test_sessions_are_put_in_words(changes: dict[str, Any], words: str) -> None:
    assert words in sessions_meaning(SessionSummary(**SESSIONS | changes), 24)


def test_without_a_margin_nothing_is_said_of_the_control() -> None:
    said = sessions_meaning(SessionSummary(**SESSIONS | {"margin": None, "ruling": None}), 24)
    assert said.endswith("1% to 32% of them.")


def test_a_flip_is_named_by_whose_doing_it_is(case: Case) -> None:
    named = {(flip.unit_id, flip.arm): flip_meaning(flip) for flip in case("various").flips}
    assert named == {
        ("u3", "redraft"): "Regression",
        ("u5", "redraft"): "Gain",
        ("u5", "redraft:tau=3,floor=1"): "Gain",
        ("u7", "redraft:tau=3,floor=1"): "Drift",
        ("u7", "control"): "Control differs",
    }


def test_a_flip_says_what_was_asked_and_where_the_difference_is_from(case: Case) -> None:
    lost = next(flip for flip in case("one_regression").flips if flip.fact_id == "old")
    assert demand(lost) == "must not say"
    assert became(lost) == (
        "right in plain generation, wrong here. The difference was taken over from the stale answer."
    )
    assert demand(lost.model_copy(update={"values": ()})) == "asks for several things at once"
    decoded = lost.model_copy(update={"attribution": "decoded", "polarity": "expect"})
    assert demand(decoded) == "must say"
    assert became(decoded).endswith("The model wrote the difference itself.")
