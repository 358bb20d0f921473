import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles import Fact, Unit
from judge import Baseline, BaselineError, Findings, GatePolicy, IncomparableRuns, baseline_of
from judge import compare_with_baseline as compare

PLAN = "Ava owns the launch on 15 June."
STALE = "Bo owns the launch on 12 June."


def baseline(run: Any) -> Baseline:
    return baseline_of(run.run, run.units, run.attempts, run.verdicts)


def held_against(run: Any, recorded: Baseline, policy: GatePolicy | None = None, **options: bool) -> Findings:
    return compare(
        recorded, run.run, run.units, run.attempts, run.verdicts, policy or GatePolicy(), **options
    )


def test_a_run_held_against_its_own_baseline_has_nothing_to_say(judged: Callable) -> None:
    run = judged({("u1", "redraft"): STALE}, repeats=2)
    assert held_against(run, Baseline.from_json(baseline(run).to_json())) == Findings()


def test_the_file_is_sorted_small_and_the_same_for_the_same_outcomes(judged: Callable) -> None:
    run = judged()
    text = baseline(run).to_json()
    again = replace(
        run,
        run=replace(run.run, run_id="run2", started="2027-01-01", unit_ids=("u2", "u1")),
        units=run.units[::-1],
        attempts=tuple(replace(a, run_id="run2", wall_ms=9.0) for a in run.attempts[::-1]),
        verdicts=tuple(replace(v, run_id="run2") for v in run.verdicts[::-1]),
    )
    assert baseline(again).to_json() == text
    lines = [json.loads(line.strip().rstrip(",")) for line in text.splitlines() if '"unit_id"' in line]
    assert [(line["unit_id"], line["arm"]) for line in lines] == [
        ("u1", "plain"),
        ("u1", "redraft"),
        ("u2", "plain"),
        ("u2", "redraft"),
    ]
    assert lines[0]["facts"] == {"day": "pass", "old-owner": "pass", "owner": "pass"}
    assert json.loads(text)["key"]["bundle_id"] == "bundle"


def test_a_fact_that_passes_in_some_repeats_only_has_failed(judged: Callable) -> None:
    run = judged(repeats=2).replace_attempt(("u1", "plain", 1), text=STALE)
    assert set(baseline(run).entries[0].facts.values()) == {"fail"}


def test_lost_facts_fail_and_gained_ones_are_told(judged: Callable) -> None:
    then, now = judged(), judged({("u1", "redraft"): STALE, ("u2", "plain"): STALE})
    found = held_against(now, baseline(then))
    assert found.failures == (
        "plain lost critical fact old-owner of unit u2 against the baseline",
        "plain lost critical fact owner of unit u2 against the baseline",
        "redraft lost critical fact old-owner of unit u1 against the baseline",
        "redraft lost critical fact owner of unit u1 against the baseline",
        "plain lost supporting fact day of unit u2 against the baseline",
        "redraft lost supporting fact day of unit u1 against the baseline",
    )
    better = held_against(then, baseline(now))
    assert better.failures == ()
    assert better.notes == ("6 facts are right that the baseline has wrong; write it anew to hold them",)


def test_the_policy_says_how_many_may_be_lost(judged: Callable, unit: Callable[..., Unit]) -> None:
    facts = (Fact("owner", "expect", ("Ava",)), Fact("day", "expect", ("15 June",), severity="advisory"))
    units = (unit("u1", facts=facts), unit("u2", facts=facts))
    then, now = judged(units=units), judged({("u1", "redraft"): STALE}, units=units)
    assert len(held_against(now, baseline(then)).failures) == 1
    assert held_against(now, baseline(then), GatePolicy(allowed_regressions={"critical": 1})) == Findings()
    strict = GatePolicy(allowed_regressions={"critical": 1, "advisory": 0})
    assert held_against(now, baseline(then), strict).failures == (
        "redraft lost advisory fact day of unit u1 against the baseline",
    )
    assert len(held_against(now, baseline(then), GatePolicy(margin=0.9)).failures) == 1


def test_other_tokens_are_told(judged: Callable) -> None:
    run = judged()
    changed = run.replace_attempt(("u1", "redraft", 0), token_ids=(1, 2))
    found = held_against(changed, baseline(run))
    assert found.notes == ("1 of 4 answers have other tokens than in the baseline",)


def test_missing_extra_and_repeated_units_fail(judged: Callable, unit: Callable[..., Unit]) -> None:
    run, smaller = judged(), judged(units=(unit("u1"),))
    assert held_against(smaller, baseline(run)).failures == (
        "missing from the run: u2 (plain), u2 (redraft)",
    )
    assert held_against(run, baseline(smaller)).failures == (
        "extra, not in the baseline: u2 (plain), u2 (redraft)",
    )
    recorded = baseline(run)
    twice = recorded.model_copy(update={"entries": (*recorded.entries, recorded.entries[1])})
    assert held_against(run, Baseline.from_json(twice.to_json())).failures == (
        "in the baseline twice: u1 (redraft)",
    )


def test_many_missing_units_end_in_a_count(judged: Callable, unit: Callable[..., Unit]) -> None:
    run = judged(units=tuple(unit(f"u{index}") for index in range(9)))
    (failure,) = held_against(judged(units=run.units[:1]), baseline(run)).failures
    assert failure.endswith("u3 (plain) and 11 more")


def test_arms_that_are_not_gated_do_not_matter(judged: Callable) -> None:
    then = judged(arms=("plain", "control", "redraft", "lookup"))
    now = judged({("u1", "lookup"): STALE}, arms=("plain", "redraft", "lookup", "model"))
    only = GatePolicy(arms=("redraft",))
    assert held_against(now, baseline(then), only) == Findings()
    assert len(held_against(now, baseline(then)).failures) == 4
    without = judged(arms=("plain", "control"))
    assert held_against(without, baseline(then)).failures == (
        "missing from the run: u1 (lookup), u1 (redraft), u2 (lookup), u2 (redraft)",
    )


def test_a_suite_that_changed_makes_it_stale(judged: Callable) -> None:
    run = judged()
    renamed = replace(run, run=replace(run.run, bundle_id="another"))
    (failure,) = held_against(renamed, baseline(run)).failures
    assert failure.startswith(
        "the baseline is stale: it was written for bundle bundle, the run is of another"
    )


def test_another_model_is_refused_or_loud(judged: Callable) -> None:
    run = judged()
    other = replace(run, run=replace(run.run, provenance={"model_fingerprint": "g"}))
    with pytest.raises(IncomparableRuns, match="model_fingerprint None then, 'g' now"):
        held_against(other, baseline(run))
    assert held_against(other, baseline(run), across=True) == Findings(
        label="ACROSS DIFFERENT RUNS: model_fingerprint None then, 'g' now"
    )


def test_an_incomplete_run_is_no_baseline(judged: Callable) -> None:
    run = judged()
    for broken in (
        replace(run, attempts=run.attempts[1:]),
        run.replace_attempt(("u1", "control", 0), status="error"),
        replace(run, run=replace(run.run, unit_ids=())),
    ):
        with pytest.raises(BaselineError, match="--resume run"):
            baseline(broken)
    with pytest.raises(BaselineError, match="unit u1 are unscored in arm plain"):
        baseline(replace(run, verdicts=run.verdicts[1:]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_taking_evidence_away_is_never_without_a_finding(judged: Callable, data: st.DataObject) -> None:
    run = judged()
    arms = [a for a in run.attempts if a.arm != "control"]
    attempts = data.draw(st.sets(st.sampled_from(arms)))
    verdicts = data.draw(st.sets(st.sampled_from([v for v in run.verdicts if v.arm != "control"])))
    kept = replace(
        run,
        attempts=tuple(a for a in run.attempts if a not in attempts),
        verdicts=tuple(v for v in run.verdicts if v not in verdicts),
    )
    if attempts or verdicts:
        assert held_against(kept, baseline(run), across=True).doubts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda text: "", "not JSON: Expecting value", id="empty"),
        pytest.param(lambda text: text[:-3], "not JSON: ", id="cut"),
        pytest.param(lambda text: "[" * 99_999, "not JSON: ", id="deep"),
        pytest.param(lambda text: "[]", "no baseline: `redraft baseline write", id="list"),
        pytest.param(lambda text: "{}", "no baseline: `redraft baseline write", id="no-format"),
        pytest.param(
            lambda text: text.replace('"version": 1', '"version": 2'), "version 2 is not 1", id="newer"
        ),
        pytest.param(
            lambda text: text.replace('"policy_version": 1', '"policy_version": 7'),
            "policy_version 7 is not 1, the one known here; write it anew",
            id="policy",
        ),
        pytest.param(
            lambda text: text.replace('"plain"', '"plain", "arm": "x"', 1),
            "not JSON: key 'arm' is given twice in one object",
            id="key-twice",
        ),
        pytest.param(lambda text: text.replace('"pass"', '"good"', 1), "entries.0.facts.day: ", id="outcome"),
        pytest.param(lambda text: text.replace('"kv_type"', '"kv"', 1), "key.kv: ", id="key-part"),
        pytest.param(lambda text: text.replace('"tokens"', '"token"', 1), "entries.0.to", id="entry"),
    ],
)
def test_a_file_that_is_no_baseline_is_one_line(
    judged: Callable, change: Callable[[str], str], message: str
) -> None:
    with pytest.raises(BaselineError) as caught:
        Baseline.from_json(change(baseline(judged()).to_json()))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
