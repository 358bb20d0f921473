from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles import Fact, Unit
from judge import GatePolicy, PolicyError

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
        "redraft lost critical fact owner of unit u1 (decoded)",
        "redraft lost critical fact old-owner of unit u1 (held)",
        "redraft lost supporting fact day of unit u1 (decoded)",
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
    assert decision.reasons == ("2 of 3 canaries are blind: plain generation fails them too",)
    assert judged(blind, units=(*units, unit("u4"))).decide().verdict == "pass"


def test_inconclusive_with_too_few_units_that_tell_something(
    judged: Callable, unit: Callable[..., Unit]
) -> None:
    assert judged().decide(GatePolicy(min_units=3)).verdict == "inconclusive"
    decision = judged(units=(unit("u1", facts=(), canary=False),)).decide()
    assert decision.verdict == "inconclusive"
    assert decision.reasons == (
        "units of which plain generation gets a fact right: 0, while the policy asks for 1",
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
    assert decision.reasons[0] == "1 of 1 canaries are blind: plain generation fails them too"


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
        " plain against control lost 2 of 12 facts",
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
    assert (decision.verdict, decision.reasons) == ("inconclusive", ("the run has no arm under test",))


def test_a_canary_without_facts_is_not_passed(judged: Callable, unit: Callable[..., Unit]) -> None:
    assert judged(units=(unit("u1"), unit("u2", facts=()))).decide().verdict == "inconclusive"


def test_error_when_attempts_are_missing_or_failed(judged: Callable) -> None:
    decision = without(judged(), ("u2", "redraft", 0), ("u2", "control", 0)).decide()
    assert (decision.verdict, decision.exit_code) == ("error", 4)
    assert decision.reasons == ("attempts missing: 2, the first: unit u2, arm control, repeat 0",)
    failed = judged().replace_attempt(("u1", "plain", 0), status="timeout").decide()
    assert failed.verdict == "error"
    assert failed.reasons == ("attempts failed: 1, the first: unit u1, arm plain, repeat 0",)


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
        "redraft lost supporting fact day of unit u1 (decoded)",
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


TEXTS = st.dictionaries(
    st.tuples(st.sampled_from(["u1", "u2"]), st.sampled_from(["plain", "control", "redraft"])),
    st.sampled_from([PLAN, STALE, LOST_DAY, ""]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), texts=TEXTS, repeats=st.integers(1, 2), canaries=st.sampled_from(["all", "report"]))
def test_taking_evidence_away_never_yields_a_pass(
    judged: Callable, data: st.DataObject, texts: dict, repeats: int, canaries: str
) -> None:
    full = judged(texts, repeats=repeats)
    attempts = data.draw(st.sets(st.sampled_from(full.attempts)))
    verdicts = data.draw(st.sets(st.sampled_from(full.verdicts)))
    policy = GatePolicy(allowed_regressions={"critical": data.draw(st.integers(0, 3))}, canaries=canaries)
    kept = replace(
        full,
        attempts=tuple(a for a in full.attempts if a not in attempts),
        verdicts=tuple(v for v in full.verdicts if v not in verdicts),
    )
    if attempts or verdicts:
        assert kept.decide(policy).verdict != "pass"
    else:
        assert kept.decide(policy) == full.decide(policy)


def test_policy_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text(
        '[gate]\nversion = 1\ncanaries = "report"\nmin_units = 5\narms = ["redraft"]\n'
        "allowed_regressions = { critical = 0, advisory = 2 }\n"
    )
    assert GatePolicy.from_toml(path) == GatePolicy(
        allowed_regressions={"critical": 0, "advisory": 2}, canaries="report", min_units=5, arms=("redraft",)
    )
    path.write_text("\ufeff[gate]\n", encoding="utf-8")
    assert GatePolicy.from_toml(path) == GatePolicy()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "no [gate] table", id="no-table"),
        pytest.param("gate = 1", "no [gate] table", id="not-a-table"),
        pytest.param("[gate\n", "not TOML: ", id="broken"),
        pytest.param(
            "[gate]\nmin_unit = 2", "[gate] 'min_unit': unknown key; known are version, ", id="unknown-key"
        ),
        pytest.param(
            "[gate]\nmin_units = 0", "[gate] min_units: 0 is not a whole number from 1 to", id="zero"
        ),
        pytest.param(
            "[gate]\nmin_units = 0x" + "f" * 9_999,
            "[gate] min_units: a huge number is not a whole number from 1",
            id="huge-hexadecimal",
        ),
        pytest.param("[gate]\nmin_units = 1" + "0" * 9_999, "not TOML: Exceeds the limit", id="huge"),
        pytest.param("[gate]\nx = " + "[" * 9_999, "nested too deeply for a policy", id="deep"),
        pytest.param(
            '[gate]\n"\\n\\u001b" = 1', r"[gate] '\n\x1b': unknown key; known are", id="key-of-two-lines"
        ),
        pytest.param("[gate]\n" + "x" * 9_999 + " = 1", "[gate] 'xxxxx", id="long-key"),
        pytest.param(
            '[gate.allowed_regressions]\n"a\\nb" = 1', r"[gate] allowed_regressions: 'a\nb' is", id="lines"
        ),
        pytest.param("[gate]\nversion = true", "[gate] version: True is not 1", id="version-bool"),
        pytest.param("[gate]\nmin_units = true", "[gate] min_units: True is not a whole number", id="bool"),
        pytest.param('[gate]\ncanaries = "some"', "[gate] canaries: 'some' is neither", id="canaries"),
        pytest.param("[gate]\ncanaries = []", "[gate] canaries: [] is neither", id="canaries-type"),
        pytest.param("[gate]\nversion = 2", "[gate] version: 2 is not 1", id="version"),
        pytest.param('[gate]\narms = "redraft"', "[gate] arms: give a list", id="arms-type"),
        pytest.param("[gate]\narms = [1]", "[gate] arms: give a list", id="arms-item"),
        pytest.param('[gate]\narms = ["control"]', "[gate] arms: 'control' is what others", id="control"),
        pytest.param(
            "[gate]\nallowed_regressions = 1", "[gate] allowed_regressions: give a table", id="number"
        ),
        pytest.param(
            "[gate.allowed_regressions]\nhigh = 1",
            "[gate] allowed_regressions: 'high' is no severity, use one of critical, ",
            id="severity",
        ),
        pytest.param(
            "[gate.allowed_regressions]\ncritical = -1",
            "[gate] allowed_regressions.critical: -1 is not a whole number from 0 to",
            id="negative",
        ),
    ],
)
def test_a_bad_policy_is_one_line_that_names_file_and_key(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text(content)
    with pytest.raises(PolicyError) as caught:
        GatePolicy.from_toml(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 250


def test_an_unreadable_policy_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="missing toml: No such file"):
        GatePolicy.from_toml(tmp_path / "missing toml")
    with pytest.raises(PolicyError, match=r"'x\\x00': no path holds a NUL"):
        GatePolicy.from_toml(Path("x\0"))
    (tmp_path / "latin toml").write_bytes(b"[gate]\n# caf\xe9\n")
    with pytest.raises(PolicyError, match="latin toml: not TOML: "):
        GatePolicy.from_toml(tmp_path / "latin toml")
