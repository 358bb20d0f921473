from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles import Fact, Unit
from judge import Estimate, Findings, GatePolicy, Measures, PolicyError, decide

PLAN = "Ava owns the launch on 15 June."
STALE = "Bo owns the launch on 12 June."
LOST_DAY = "Ava owns the launch on some day."


def without(judged, *keys):
    return replace(judged, attempts=tuple(a for a in judged.attempts if a.key not in keys))


def test_pass(judged: Callable) -> None:
    decision = judged().decide()
    assert (decision.verdict, decision.exit_code) == ("pass", 0)
    assert decision.reasons == ("no regression in 6 fact checks of redraft",)


def test_regression_names_unit_fact_and_attribution(judged: Callable) -> None:
    decision = judged({("u1", "redraft"): STALE}, held=True).decide()
    assert (decision.verdict, decision.exit_code) == ("regression", 1)
    assert decision.reasons == (
        "redraft lost critical fact owner of unit u1 (decoded by the model itself)",
        "redraft lost critical fact old-owner of unit u1 (held from the stale answer)",
        "redraft lost supporting fact day of unit u1 (decoded by the model itself)",
        "redraft failed canary u1",
    )


def test_inconclusive_when_verdicts_are_missing(judged: Callable) -> None:
    run = judged()
    decision = replace(run, verdicts=run.verdicts[1:]).decide()
    assert (decision.verdict, decision.exit_code) == ("inconclusive", 3)
    assert "1 of 6 fact checks of plain are unscored" in decision.reasons


def test_inconclusive_when_more_than_half_of_the_canaries_are_blind(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    units = (unit("u1"), unit("u2"), unit("u3"))
    blind = {(unit_id, arm): STALE for unit_id in ("u1", "u2") for arm in ("plain", "control", "redraft")}
    decision = judged(blind, units=units).decide()
    assert decision.verdict == "inconclusive"
    assert decision.reasons == (
        "2 of 3 canaries are blind: plain generation fails them too, so they cannot show a stale fact;"
        " a better model (--model) or easier questions can",
    )
    assert judged(blind, units=(*units, unit("u4"))).decide().verdict == "pass"


def test_inconclusive_with_too_few_units_that_tell_something(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    assert judged().decide(GatePolicy(min_units=3)).verdict == "inconclusive"
    decision = judged(units=(unit("u1", facts=(), canary=False),)).decide()
    assert decision.verdict == "inconclusive"
    assert decision.reasons == (
        "units of which plain generation gets a fact right: 0, and no other could show a loss;"
        " min_units asks for 1",
    )


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "Nobody knows."])
def test_inconclusive_when_plain_gets_nothing_right(
    judged: Callable, unit: Callable[..., Unit], text: str
) -> None:
    """Runs in which every arm writes garbage differ in nothing, and so say nothing."""
    unit_of_garbage = unit("u1", canary=False, facts=(Fact("owner", "expect", ("Ava",)),))
    everywhere = {("u1", arm): text for arm in ("plain", "control", "redraft")}
    assert judged(everywhere, units=(unit_of_garbage,)).decide().verdict == "inconclusive"


def test_inconclusive_when_an_empty_answer_says_nothing_forbidden(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    forbidding = unit("u1", facts=(Fact("old-owner", "forbid", ("Bo",)),))
    everywhere = {("u1", arm): "" for arm in ("plain", "control", "redraft")}
    decision = judged(everywhere, units=(forbidding,)).decide()
    assert decision.verdict == "inconclusive"
    assert decision.reasons[0].startswith("1 of 1 canaries are blind: plain generation fails them too, so ")


def test_inconclusive_with_advisory_facts_only(judged: Callable, unit: Callable[..., Unit]) -> None:
    advisory = (Fact("owner", "expect", ("Ava",), severity="advisory"),)
    assert judged(units=(unit("u1", facts=advisory, canary=False),)).decide().verdict == "inconclusive"


def test_inconclusive_when_control_loses_what_the_arm_loses(judged: Callable) -> None:
    run = judged({("u1", "control"): LOST_DAY, ("u1", "redraft"): LOST_DAY}, repeats=2)
    report = GatePolicy(canaries="report")
    decision = run.decide(report)
    assert (decision.verdict, decision.exit_code) == ("inconclusive", 3)
    assert decision.reasons == (
        "2 losses of redraft are shared by the control: the engine's own drift;"
        " plain against control lost 2 of 12 facts; a margin in [gate] weighs one against the other",
    )
    assert judged({("u1", "control"): LOST_DAY}).decide(report).verdict == "pass"


def test_advisory_losses_shared_by_control_matter_only_if_the_policy_limits_them(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    facts = (Fact("day", "expect", ("15 June",), severity="advisory"), Fact("owner", "expect", ("Ava",)))
    drifted = {("u1", "control"): LOST_DAY, ("u1", "redraft"): LOST_DAY}
    run = judged(drifted, units=(unit("u1", facts=facts),))
    assert run.decide().verdict == "pass"
    limited = GatePolicy(allowed_regressions={"advisory": 0})
    assert run.decide(limited).verdict == "inconclusive"


def test_inconclusive_when_only_plain_and_control_ran(judged: Callable) -> None:
    decision = judged(arms=("plain", "control")).decide()
    assert decision.verdict == "inconclusive"
    (reason,) = decision.reasons
    assert reason == "the run has no arm under test, only plain and control; run again with --arm redraft"


def test_a_canary_without_facts_is_not_passed(judged: Callable, unit: Callable[..., Unit]) -> None:
    assert judged(units=(unit("u1"), unit("u2", facts=()))).decide().verdict == "inconclusive"


def test_error_when_attempts_are_missing_or_failed(judged: Callable) -> None:
    decision = without(judged(), ("u2", "redraft", 0), ("u2", "control", 0)).decide()
    assert (decision.verdict, decision.exit_code) == ("error", 4)
    how = "make them with: redraft run --resume run"
    assert decision.reasons == (f"attempts missing: 2, the first: unit u2, arm control, repeat 0; {how}",)
    failed = judged().replace_attempt(("u1", "plain", 0), status="timeout").decide()
    assert failed.verdict == "error"
    assert failed.reasons == (f"attempts failed: 1, the first: unit u1, arm plain, repeat 0; {how}",)


def test_empty_when_nothing_ran(judged: Callable) -> None:
    decision = replace(judged(), attempts=(), verdicts=()).decide()
    assert (decision.verdict, decision.exit_code) == ("empty", 5)
    assert judged(units=()).decide().verdict == "empty"


def test_a_regression_outranks_missing_attempts_and_these_outrank_doubts(judged: Callable) -> None:
    run = judged({("u1", "redraft"): STALE})
    assert without(run, ("u2", "redraft", 0)).decide().verdict == "regression"
    assert without(judged(), ("u2", "redraft", 0)).decide(GatePolicy(min_units=9)).verdict == "error"


def test_allowed_regressions_count_facts_and_not_repeats(judged: Callable) -> None:
    run = judged({("u1", "redraft"): LOST_DAY}, repeats=3)
    one = GatePolicy(allowed_regressions={"critical": 0, "supporting": 1}, canaries="report")
    assert run.decide(one).verdict == "pass"
    assert run.decide(GatePolicy(canaries="report")).reasons == (
        "redraft lost supporting fact day of unit u1 (decoded by the model itself)",
    )


def test_a_severity_the_policy_leaves_out_keeps_its_limit(judged: Callable) -> None:
    policy = GatePolicy(allowed_regressions={"critical": 9}, canaries="report")
    assert judged({("u1", "redraft"): LOST_DAY}).decide(policy).verdict == "regression"


def test_advisory_losses_are_reported_unless_the_policy_limits_them(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    facts = (Fact("day", "expect", ("15 June",), severity="advisory"), Fact("owner", "expect", ("Ava",)))
    run = judged({("u1", "redraft"): LOST_DAY}, units=(unit("u1", facts=facts),))
    assert len(run.assess().regressions) == 1
    assert run.decide().verdict == "pass"
    assert run.decide(GatePolicy(allowed_regressions={"advisory": 0})).verdict == "regression"


def test_a_failed_canary_fails_the_gate_unless_it_is_only_reported(judged: Callable) -> None:
    run = judged({("u1", "redraft"): STALE})
    allowed = {"critical": 9, "supporting": 9}
    failing = run.decide(GatePolicy(allowed_regressions=allowed))
    assert (failing.verdict, failing.reasons) == ("regression", ("redraft failed canary u1",))
    assert run.decide(GatePolicy(allowed_regressions=allowed, canaries="report")).verdict == "pass"


def test_only_the_named_arms_are_gated(judged: Callable) -> None:
    arms = ("plain", "control", "redraft", "redraft:tau=3,floor=1")
    run = judged({("u1", "redraft:tau=3,floor=1"): STALE}, arms=arms)
    assert run.decide().verdict == "regression"
    assert run.decide(GatePolicy(arms=("redraft",))).verdict == "pass"
    assert (
        without(run, ("u1", "redraft:tau=3,floor=1", 0)).decide(GatePolicy(arms=("redraft",))).exit_code == 0
    )
    assert run.decide(GatePolicy(arms=("redraft:tau=3,floor=1",) * 2)) == run.decide()
    with pytest.raises(PolicyError, match="arms: run run has no arm 'other'"):
        run.decide(GatePolicy(arms=("other",)))


def many(count: int, unit: Callable[..., Unit], **changes: object) -> tuple[Unit, ...]:
    return tuple(unit(f"u{index}", canary=False, **changes) for index in range(count))


def test_a_margin_passes_when_enough_sessions_lose_nothing(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    """Where 5% lose, 59 sessions without a loss are rarer than one in twenty: 0.95**59 < 0.05 < 0.95**58."""
    reworded = {(f"u{index}", "redraft"): PLAN + " Yes." for index in range(59)}
    enough = judged(reworded, units=many(59, unit)).decide(GatePolicy(margin=0.05))
    assert (enough.verdict, enough.reasons) == (
        "pass",
        (
            "no regression in 177 fact checks of redraft",
            "only redraft lost facts in 0 and only the control in 0 of 59 sessions,"
            " so redraft loses -5.0 to +5.0 points more; the margin is 5 points",
        ),
    )
    too_few = judged(reworded, units=many(58, unit)).decide(GatePolicy(margin=0.05))
    assert too_few.verdict == "inconclusive"
    assert too_few.reasons[0].endswith("; some 1 more sessions would tell")


def test_a_margin_weighs_sessions_and_not_their_units_or_repeats(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    reworded = {(f"u{index}", "redraft"): PLAN + " Yes." for index in range(60)}
    one_session = judged(reworded, units=many(60, unit, session_id="s"), repeats=2)
    decision = one_session.decide(GatePolicy(margin=0.05))
    assert decision.verdict == "inconclusive"
    assert "0 of 1 sessions," in decision.reasons[0]
    assert decision.reasons[0].endswith("some 72 more sessions would tell")


def test_a_loss_rate_beyond_the_margin_is_a_regression(judged: Callable, unit: Callable[..., Unit]) -> None:
    lost = {(f"u{index}", "redraft"): LOST_DAY for index in range(6)}
    run = judged(lost, units=many(20, unit))
    decision = run.decide(GatePolicy(margin=0.05))
    assert decision.verdict == "regression"
    assert decision.reasons == (
        "only redraft lost facts in 6 and only the control in 0 of 20 sessions,"
        " so redraft loses +8.8 to +50.8 points more; the margin is 5 points",
    )
    assert run.decide(GatePolicy(margin=0.6)).verdict == "pass"
    assert (
        run.decide(GatePolicy(margin=0.6)).reasons[0].startswith("6 regressions, none more than is allowed")
    )
    counted = GatePolicy(margin=0.6, allowed_regressions={"supporting": 5})
    assert run.decide(counted).verdict == "regression"


def test_drift_that_the_control_shows_as_well_is_within_a_margin(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    drifting = {(f"u{index}", arm): LOST_DAY for index in range(30) for arm in ("control", "redraft")}
    run = judged(drifting, units=many(60, unit))
    assert run.decide(GatePolicy(margin=0.05)).verdict == "pass"
    assert run.decide().verdict == "inconclusive"


def test_identical_tokens_settle_a_margin_by_themselves(judged: Callable) -> None:
    decision = judged().decide(GatePolicy(margin=0.0))
    assert decision.verdict == "pass"
    assert decision.reasons[1] == "redraft is identical to plain in 2 of 2 units: nothing can be lost"


def test_losses_over_control_count_what_the_control_lost_elsewhere(judged: Callable) -> None:
    run = judged({("u1", "redraft"): LOST_DAY, ("u2", "control"): LOST_DAY})
    assert run.decide().verdict == "regression"
    assert run.decide(GatePolicy(max_regressions_over_control=0, canaries="report")).verdict == "pass"
    only_ours = judged({("u1", "redraft"): LOST_DAY}).decide(
        GatePolicy(max_regressions_over_control=0, canaries="report")
    )
    (reason,) = only_ours.reasons
    assert reason == "redraft lost 1 facts and the control 0; max_regressions_over_control allows 0 more"
    without_control = judged(arms=("plain", "redraft")).decide(GatePolicy(max_regressions_over_control=0))
    assert (without_control.verdict, without_control.reasons) == (
        "inconclusive",
        ("the run has no control, with which max_regressions_over_control compares",),
    )


def test_pinned_lines_must_survive_as_lines(judged: Callable, unit: Callable[..., Unit]) -> None:
    """A line that goes on is another line."""
    kept = {("u1", arm): f"- Budget: 15 \n{PLAN}" for arm in ("plain", "control", "redraft")}
    run = judged(kept, units=(unit("u1", pinned=("- Budget: 15", PLAN)),))
    assert run.decide(GatePolicy(pinned_survival=1.0)).verdict == "pass"
    cut = run.replace_attempt(("u1", "redraft", 0), text=f"- Budget: 150\n{PLAN}")
    assert cut.decide().verdict == "pass"
    assert cut.decide(GatePolicy(pinned_survival=0.5)).verdict == "pass"
    assert cut.decide(GatePolicy(pinned_survival=0.51)).reasons == (
        "redraft kept 1 of 2 pinned lines; pinned_survival asks for 51%",
    )


def test_a_share_of_pinned_lines_is_not_missed_by_rounding(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    """0.7 * 10 is more than 7 to a computer."""
    lines = tuple(f"line {number}" for number in range(10))
    text = "\n".join([PLAN, *lines[:7]])
    kept = {("u1", arm): text for arm in ("plain", "control", "redraft")}
    run = judged(kept, units=(unit("u1", pinned=lines),))
    assert run.decide(GatePolicy(pinned_survival=0.7)).verdict == "pass"


def test_inconclusive_when_no_line_is_pinned(judged: Callable) -> None:
    assert judged().decide(GatePolicy(pinned_survival=0.9)).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("speed", "verdict"),
    [
        pytest.param(Estimate(1.5, 1.3, 1.7), "pass", id="sure"),
        pytest.param(Estimate(1.5, 1.1, 1.9), "inconclusive", id="perhaps"),
        pytest.param(Estimate(1.1, 1.0, 1.19), "regression", id="too-slow"),
        pytest.param(Estimate(9.0), "inconclusive", id="no-interval"),
        pytest.param(Estimate(), "inconclusive", id="not-measured"),
    ],
)
def test_speed_is_held_to_its_interval(judged: Callable, speed: Estimate, verdict: str) -> None:
    policy = GatePolicy(min_speedup={"passes": 1.2})
    measures = Measures(speedups={"redraft": {"passes": speed, "wall": Estimate(0.5, 0.4, 0.6)}})
    assert decide(judged().assess(), policy, measures).verdict == verdict


def test_requirements(judged: Callable) -> None:
    both = GatePolicy(require=("calibrated", "comparable"))
    assessment = judged().assess()
    assert decide(assessment, both).reasons == (
        "the policy requires a calibrated claim judge, and none took part; ask one with:"
        " redraft judge run --judge-url URL --judge-model MODEL",
        "the policy requires a run that others can be compared with; not known of it: all of it",
    )
    assert decide(assessment, both, Measures(calibrated=True, unknown=())).verdict == "pass"
    assert decide(assessment, both, Measures(calibrated=True, unknown=("kv_type",))).verdict == "inconclusive"


def test_findings_of_a_baseline_take_part(judged: Callable) -> None:
    def verdict(**findings: tuple[str, ...]) -> str:
        return decide(judged().assess(), GatePolicy(), against=Findings(**findings)).verdict

    assert verdict(failures=("lost",), doubts=("unknown",)) == "regression"
    assert verdict(doubts=("unknown",)) == "inconclusive"
    assert verdict(notes=("faster",)) == "pass"
    labelled = decide(judged().assess(), GatePolicy(), against=Findings(label="ACROSS", notes=("more",)))
    assert labelled.reasons == ("ACROSS", "no regression in 6 fact checks of redraft", "more")


TEXTS = st.dictionaries(
    st.tuples(st.sampled_from(["u1", "u2"]), st.sampled_from(["plain", "control", "redraft"])),
    st.sampled_from([PLAN, STALE, LOST_DAY, ""]),
)
POLICIES = st.builds(
    GatePolicy,
    allowed_regressions=st.dictionaries(st.sampled_from(["critical", "supporting"]), st.integers(0, 3)),
    max_regressions_over_control=st.none() | st.integers(0, 3),
    margin=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    canaries=st.sampled_from(["all", "report"]),
    min_speedup=st.sampled_from([{}, {"wall": 1.0}]),
    pinned_survival=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
)
FAST = Measures(speedups={"redraft": {"wall": Estimate(2.0, 1.5, 2.5)}})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), texts=TEXTS, repeats=st.integers(1, 2), policy=POLICIES)
def test_taking_evidence_away_never_yields_a_pass(
    judged: Callable,
    unit: Callable[..., Unit],
    data: st.DataObject,
    texts: dict,
    repeats: int,
    policy: GatePolicy,
) -> None:
    full = judged(texts, repeats=repeats, units=(unit("u1", pinned=(PLAN,)), unit("u2")))
    attempts = data.draw(st.sets(st.sampled_from(full.attempts)))
    verdicts = data.draw(st.sets(st.sampled_from(full.verdicts)))
    kept = replace(
        full,
        attempts=tuple(a for a in full.attempts if a not in attempts),
        verdicts=tuple(v for v in full.verdicts if v not in verdicts),
    )
    decision = decide(kept.assess(), policy, FAST)
    if attempts or verdicts:
        assert decision.verdict != "pass"
    else:
        assert decision == decide(full.assess(), policy, FAST)
