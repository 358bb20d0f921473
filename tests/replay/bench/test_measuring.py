from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from bundles import Attempt
from replay.bench.measuring import LB0, Measured, Plan, arms_of, arms_to_measure, measure
from replay.errors import ServiceDown, SettingsError


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.driver.BACK_OFF_S", (0, 0, 0))


def measured(
    plan: Plan, daemon: Any, tokenize: Callable[[str], tuple[int, ...]] = lambda text: tuple(text.encode())
) -> tuple[list[Measured], list[Attempt]]:
    told: list[Attempt] = []
    return list(measure(plan, daemon.client(), tokenize, told.append)), told


def plan(*units: Any, arms: tuple[str, ...] = ("redraft",), repeats: int = 5) -> Plan:
    return Plan(units, arms_to_measure(arms), repeats, 0, 32)


def test_the_default_arms_are_the_published_algorithm_and_redraft_exact_and_tolerant() -> None:
    names = [arm.name for arm in arms_to_measure(())]
    assert names == [
        "plain", "control", "anchor", "anchor:tau=3,floor=1", "redraft", "redraft:tau=3,floor=1",
    ]  # fmt: skip
    with pytest.raises(SettingsError, match="fast"):
        arms_to_measure(("fast",))


def test_plain_is_asked_to_draft_from_nothing_so_that_its_passes_are_told() -> None:
    by_name = {arm.name: arm for arm in arms_to_measure(("lookup",))}
    assert by_name["plain"].sources == by_name["control"].sources == ()
    assert by_name["lookup"].sources == ("lookup",)


def test_a_unit_has_every_arm_in_every_repeat_and_uncounted_ones_are_left_out(make: Any) -> None:
    units = (make.unit("a"), make.unit("b", stale="Bo owns it."))
    asked = plan(*units)
    found, told = measured(asked, make.daemon())
    assert [one.unit.unit_id for one in found] == ["a", "b"]
    for one in found:
        keys = [(attempt.arm, attempt.repeat) for attempt in one.attempts]
        arms = ("plain", "control", "redraft", LB0)
        assert sorted(keys) == sorted((arm, repeat) for arm in arms for repeat in range(5))
        assert {attempt.arm for attempt in one.attempts[:4]} == set(arms)
        assert one.stale_tokens == tuple(b"Bo owns it.")
    assert len(told) == asked.attempts == 1 + 2 + 4 + 2 * 5 * 4
    assert [attempt.arm for attempt in told[:6]] == ["stale", "plain", "plain", "control", "redraft", LB0]
    assert told[26].arm == "plain"


def test_arms_take_turns_in_going_first(make: Any) -> None:
    (one,), _ = measured(plan(make.unit(), repeats=8), make.daemon())
    first = [one.attempts[4 * repeat].arm for repeat in range(8)]
    assert set(Counter(first).values()) == {2}


def test_lb0_replays_plain_s_answer_unpatched_and_the_arms_replay_the_stale_one(make: Any) -> None:
    daemon = make.daemon()
    measured(plan(make.unit(stale="Bo owned it."), arms=("redraft", "anchor")), daemon)
    opened: dict[bool, set[str]] = {True: set(), False: set()}
    draft = ""
    for method, path, body in daemon.calls:
        if method == "PUT" and body["derived"] is not None:
            draft = body["derived"]
        elif path.endswith("/refresh") and body["sources"] and not body["baseline"]:
            opened[body["patch"]].add(draft)
    assert opened == {True: {"Bo owned it."}, False: {"Ava owns it."}}


def test_a_draft_that_is_part_of_the_prompt_is_no_other_draft_s_place(make: Any) -> None:
    unit = make.unit(kind="revise", stale="Bo owns it.", edited="Bo and Ava own it.")
    asked = plan(unit)
    assert LB0 not in [arm.name for arm in arms_of(unit, asked.arms)]
    (one,), told = measured(asked, make.daemon())
    assert one.stale_tokens == tuple(b"Bo and Ava own it.")
    assert len(told) == asked.attempts


def test_an_empty_answer_is_a_draft_too(make: Any) -> None:
    unit = make.unit(kind="revise", stale="Bo owns it.", edited="")
    (one,), _ = measured(plan(unit), make.daemon())
    assert one.stale_tokens == ()


def test_what_fails_is_in_the_attempts_and_the_bench_goes_on(make: Any) -> None:
    def refuse(request: httpx.Request) -> httpx.Response | None:
        if b'"mode":"tolerant"' in request.content:
            return httpx.Response(400, json={"error": "no"})
        return None

    units = (make.unit("a"), make.unit("b"))
    found, _ = measured(plan(*units, arms=("redraft:tau=3",)), make.daemon(refuse))
    statuses = {(a.arm, a.status) for one in found for a in one.attempts}
    assert statuses == {
        ("plain", "ok"), ("control", "ok"), ("redraft:tau=3,floor=1", "error"), (LB0, "ok"),
    }  # fmt: skip


@pytest.mark.parametrize("stale", [None, "Bo owns it."])
def test_a_unit_that_plain_generation_fails_at_is_one_failed_attempt(make: Any, stale: str | None) -> None:
    def refuse(request: httpx.Request) -> httpx.Response | None:
        long = b"too long" in request.content
        return httpx.Response(413, json={"error": "too large"}) if long else None

    units = (make.unit("a", instruction="too long", stale=stale), make.unit("b"))
    found, _ = measured(plan(*units), make.daemon(refuse))
    assert [(a.arm, a.status) for a in found[0].attempts] == [("plain", "error")]
    assert len(found[1].attempts) == 20


def test_a_service_that_is_gone_or_hangs_stops_it(make: Any) -> None:
    def gone(request: httpx.Request) -> httpx.Response | None:
        raise httpx.ConnectError("refused")

    def hangs(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/refresh"):
            raise httpx.ReadTimeout("slow")
        return None

    with pytest.raises(ServiceDown, match="no daemon answers"):
        measured(plan(make.unit()), make.daemon(gone))
    with pytest.raises(ServiceDown, match=r"unit u, stale: .*no answer in time"):
        measured(plan(make.unit()), make.daemon(hangs))


def test_the_section_is_dropped_whatever_happens(make: Any) -> None:
    daemon = make.daemon()
    measured(plan(make.unit()), daemon)
    assert daemon.calls[-1][0] == "DELETE"
