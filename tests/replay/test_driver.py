import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bundles import Attempt, Source, Store
from replay.driver import Driver, finished, opening, refreshing, replay
from replay.errors import ServiceDown
from replay.plan import blocks


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.driver.BACK_OFF_S", (0, 0, 0))


def refusing(
    status: int, times: int, at: str = "/refresh"
) -> Callable[[httpx.Request], httpx.Response | None]:
    """Refuses the first `times` requests whose path ends so."""
    left = [times]

    def refuse(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith(at) and left[0] > 0:
            left[0] -= 1
            return httpx.Response(status, json={"error": "busy"})
        return None

    return refuse


def started(make: Any, store: Store, units: Any, **changes: object) -> Any:
    run = make.run(units, **changes)
    store.add_bundle(make.bundle(units))
    store.create_run(run)
    return run


def drive(make: Any, store: Store, run: Any, units: Any, daemon: Any) -> list[Attempt]:
    told: list[Attempt] = []
    replay(run, units, finished(store.attempts(run.run_id)), store, daemon.client(), told.append)
    return told


def test_every_attempt_starts_from_the_prompt_before_the_edit(make: Any) -> None:
    unit = make.unit(stale="Bo owns it.", pinned=("Keep",), max_tokens=7)
    run, daemon = make.run([unit], arms=("plain", "redraft")), make.daemon()
    attempts = list(Driver(run, daemon.client()).attempts(next(blocks(run, [unit])), {}))
    assert [(attempt.order, attempt.status) for attempt in attempts] == [(0, "ok"), (1, "ok"), (2, "ok")]
    for calls in (daemon.calls[:4], daemon.calls[4:8], daemon.calls[8:]):
        (open_warm, refresh_warm, open_draft, refresh) = [body for _, _, body in calls]
        assert [method for method, _, _ in calls] == ["PUT", "POST", "PUT", "POST"]
        assert (open_warm["derived"], open_warm["max_tokens"]) == (None, 1)
        assert (refresh_warm["baseline"], refresh_warm["sources"]) == (True, None)
        assert (open_draft["derived"], open_draft["max_tokens"]) == ("Bo owns it.", 7)
        assert open_warm["sources"] == open_draft["sources"] == [{"name": "plan", "text": "Bo owns it."}]
        assert open_draft["pinned"] == ["Keep"]
        assert refresh["sources"] == [{"name": "plan", "text": "Ava owns it."}]
        assert refresh["return_tokens"] is True
    assert {body["baseline"] for _, path, body in daemon.calls[7::4]} == {True, False}


def test_attempt_holds_what_the_daemon_said(make: Any, store: Store) -> None:
    units = [make.unit(stale="Bo owns it.")]
    run = started(make, store, units, arms=("plain",))
    (attempt,) = drive(make, store, run, units, make.daemon())
    assert attempt.text == "Ava owns it."
    assert attempt.token_ids == tuple(b"Ava owns it.")
    assert attempt.token_src == (-1,) * 12
    assert (attempt.prompt_ms, attempt.queued_ms, attempt.prompt_tokens) == (1.0, 0.5, 9)
    assert (attempt.divergences, attempt.passes, attempt.rows, attempt.order) == (1, 4, 8, 1)
    assert attempt in store.attempts(run.run_id)


@pytest.mark.parametrize(
    ("mode", "stop", "passes"), [("baseline", "eos", 3), ("baseline", "limit", 2), ("redraft", "eos", 0)]
)
def test_passes_that_the_engine_does_not_count_are_a_token_each_in_plain_generation(
    make: Any, store: Store, mode: str, stop: str, passes: int
) -> None:
    units = [make.unit(stale="x")]
    run = started(make, store, units, arms=("plain",))
    said = make.sse("delta", text="Ava", kind="new") + make.done(
        "Ava", mode=mode, stop_type=stop, passes=None, rows=None
    )

    def answer(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(200, content=said) if request.url.path.endswith("/refresh") else None

    (attempt,) = drive(make, store, run, units, make.daemon(refuse=answer))
    assert (attempt.passes, attempt.rows) == (passes, passes)


def test_a_warm_up_is_stored_under_its_mark_and_told_to_nobody(make: Any, store: Store) -> None:
    units = [make.unit("a", stale="x"), make.unit("b", stale="x")]
    run = started(make, store, units, arms=("plain",))
    first = drive(make, store, run, units, make.daemon(refuse=refusing(413, 1, "/refresh")))
    assert [(attempt.arm, attempt.status) for attempt in first] == [("plain", "ok")] * 2
    (failed,) = (attempt for attempt in store.attempts(run.run_id) if attempt.arm == "warmup")
    assert (failed.repeat, failed.order, failed.status) == (0, 0, "error")
    more = replace(run, repeats=2)
    drive(make, store, more, units, make.daemon())
    drive(make, store, replace(run, repeats=3), units, make.daemon())
    found = [a for a in store.attempts(run.run_id) if a.arm == "warmup" and a.status == "ok"]
    assert [attempt.repeat for attempt in found] == [0, 1]


def test_stale_answer_is_made_once_and_shared(make: Any, store: Store) -> None:
    units = [make.unit()]
    run = started(make, store, units)
    daemon = make.daemon()
    told = drive(make, store, run, units, daemon)
    assert (told[0].arm, told[0].order) == ("stale", 0)
    assert sorted(attempt.arm for attempt in told[1:]) == sorted(run.arms)
    drafts = {body["derived"] for method, _, body in daemon.calls if method == "PUT"}
    assert drafts == {None, "Bo owns it."}


def test_revise_replaces_every_line_of_the_draft(make: Any) -> None:
    unit = make.unit(kind="revise", stale="one\ntwo\n", edited="uno\ntwo")
    run = make.run([unit], arms=("redraft",))
    step = next(blocks(run, [unit])).steps[0]
    body = refreshing(unit, step.arm, unit.stale)
    assert [edit.model_dump() for edit in body.edits] == [
        {"target": "derived", "source": None, "start": 0, "end": 3, "lines": ["uno", "two"]}
    ]


def test_tolerance_is_sent(make: Any) -> None:
    unit = make.unit(stale="x")
    run = make.run([unit], arms=("redraft:tau=2,floor=0.5",))
    body = refreshing(unit, next(blocks(run, [unit])).steps[0].arm, "x")
    assert (body.mode, body.tau, body.floor, body.baseline) == ("tolerant", 2.0, 0.5, False)
    assert opening(unit, "x", 5).derived == "x"


def test_a_busy_daemon_is_tried_again(make: Any, store: Store) -> None:
    units = [make.unit(stale="x")]
    run = started(make, store, units, arms=("plain",))
    (attempt,) = drive(make, store, run, units, make.daemon(refuse=refusing(429, 3)))
    assert attempt.status == "ok"


def test_what_stays_busy_is_stored_as_an_error_and_the_run_goes_on(make: Any, store: Store) -> None:
    units = [make.unit("a", stale="x"), make.unit("b", stale="x")]
    run = started(make, store, units, arms=("plain",))
    drive(make, store, run, units, make.daemon(refuse=refusing(503, 8)))  # the warm-up's four tries too
    found = {attempt.unit_id: attempt for attempt in store.attempts(run.run_id)}
    assert (found["a"].status, found["b"].status) == ("error", "ok")
    assert "503" in (found["a"].error or "")


def test_a_refusal_for_good_is_not_tried_again(make: Any, store: Store) -> None:
    units = [make.unit(stale="x")]
    run = started(make, store, units, arms=("plain",))
    daemon = make.daemon(refuse=refusing(413, 2))
    (attempt,) = drive(make, store, run, units, daemon)
    assert attempt.status == "error"
    assert sum(path.endswith("/refresh") for _, path, _ in daemon.calls) == 2  # the warm-up's and its own


def test_without_a_stale_answer_the_unit_s_attempts_are_errors(make: Any, store: Store) -> None:
    units = [make.unit()]
    run = started(make, store, units, arms=("plain", "redraft"))
    told = drive(make, store, run, units, make.daemon(refuse=refusing(413, 1)))
    assert [attempt.status for attempt in told] == ["error"] * 3
    assert "no stale answer" in (told[-1].error or "")
    again = drive(make, store, run, units, make.daemon())
    assert [attempt.status for attempt in again] == ["ok"] * 3


def test_finished_attempts_are_not_made_again_and_failed_ones_are(make: Any, store: Store) -> None:
    units = [make.unit(f"u{index}", stale="x") for index in range(3)]
    run = started(make, store, units)
    drive(make, store, run, units, make.daemon(refuse=refusing(413, 3)))
    before = finished(store.attempts(run.run_id))
    told = drive(make, store, run, units, make.daemon())
    assert len(before) == 10  # the warm-up has failed too
    assert {attempt.key for attempt in told}.isdisjoint(before)
    assert len(finished(store.attempts(run.run_id))) == 12 + 1
    assert drive(make, store, run, units, make.daemon()) == []


def test_a_daemon_without_engine_stops_the_run_after_storing_why(make: Any, store: Store) -> None:
    units = [make.unit("a", stale="x"), make.unit("b", stale="x")]
    run = started(make, store, units, arms=("plain",))
    daemon = make.daemon(refuse=refusing(503, 99), health={"status": "down"})
    with pytest.raises(ServiceDown, match="engine"):
        drive(make, store, run, units, daemon)
    assert [(attempt.arm, attempt.status) for attempt in store.attempts(run.run_id)] == [("warmup", "error")]


def test_a_daemon_that_hangs_stops_the_run_after_some_attempts(make: Any, store: Store) -> None:
    units = [make.unit(f"u{index}", stale="x") for index in range(5)]
    run = started(make, store, units, arms=("plain",))

    def hang(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/refresh"):
            raise httpx.ReadTimeout("", request=request)
        return None

    with pytest.raises(ServiceDown, match="3 attempts in a row"):
        drive(make, store, run, units, make.daemon(refuse=hang))
    assert [attempt.status for attempt in store.attempts(run.run_id)] == ["timeout"] * 3


def test_a_unit_that_the_wire_cannot_carry_is_an_error_attempt(make: Any, store: Store) -> None:
    units = [make.unit(stale="x", sources_before=(Source("n" * 300, "t"),))]
    run = started(make, store, units, arms=("plain",))
    (attempt,) = drive(make, store, run, units, make.daemon())
    assert attempt.status == "error"
    assert "cannot take this unit" in (attempt.error or "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"token_ids": None}, "no token ids"), ({"token_src": [1]}, "1 sources of tokens")],
)
def test_an_answer_without_its_tokens_is_an_error(
    make: Any, store: Store, changes: dict[str, object], said: str
) -> None:
    units = [make.unit(stale="x")]
    run = started(make, store, units, arms=("plain",))
    lacking = make.done("Ava", **changes)

    def refuse(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(200, content=lacking) if request.url.path.endswith("/refresh") else None

    (attempt,) = drive(make, store, run, units, make.daemon(refuse=refuse))
    assert said in (attempt.error or "")


def test_the_section_is_dropped_at_the_end(make: Any, store: Store) -> None:
    units = [make.unit(stale="x")]
    run = started(make, store, units, arms=("plain",))
    daemon = make.daemon()
    drive(make, store, run, units, daemon)
    assert daemon.calls[-1][:2] == ("DELETE", f"/v1/sessions/replay/{run.run_id}/section")


def concurrent(make: Any, store: Store, units: Any, jobs: int) -> Any:
    return started(make, store, units, provenance={"jobs": jobs})


def meeting(lanes: int) -> Callable[[httpx.Request], httpx.Response | None]:
    """Lets the first refresh of each of so many sections go on only when all of them have come."""
    barrier, seen, lock = threading.Barrier(lanes, timeout=30), set[str](), threading.Lock()

    def meet(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/refresh"):
            with lock:
                is_first = request.url.path not in seen
                seen.add(request.url.path)
            if is_first:
                barrier.wait()
        return None

    return meet


def test_lanes_make_the_same_attempts_at_once_each_in_its_own_section(make: Any, store: Store) -> None:
    units = [make.unit(f"u{index}", stale=f"draft {index}") for index in range(7)]
    one_by_one = {}
    for block in blocks(make.run(units), units):
        one_by_one |= {(block.unit.unit_id, step.arm.name): step.order for step in block.steps}
    run, daemon = concurrent(make, store, units, 3), make.daemon(refuse=meeting(3))
    told = drive(make, store, run, units, daemon)
    assert {(a.unit_id, a.arm): a.order for a in told} == one_by_one
    assert {(a.status, a.text) for a in told} == {("ok", "Ava owns it.")}
    stored = [attempt for attempt in store.attempts(run.run_id) if attempt.arm != "warmup"]
    assert sorted(stored, key=str) == sorted(told, key=str)
    assert sorted(a.repeat for a in store.attempts(run.run_id) if a.arm == "warmup") == [0, 1, 2]
    sections = {path for method, path, _ in daemon.calls if method == "PUT"}
    assert len(sections) == 3
    for index in range(7):  # a unit's attempts share a section, and so a slot
        draft = f"draft {index}"
        assert len({path for _, path, body in daemon.calls if body.get("derived") == draft}) == 1
    assert {path for method, path, _ in daemon.calls if method == "DELETE"} == sections


def test_more_lanes_than_units_are_not_opened(make: Any, store: Store) -> None:
    units = [make.unit(stale="x")]
    run, daemon = concurrent(make, store, units, 8), make.daemon()
    assert len(drive(make, store, run, units, daemon)) == 4
    assert len({path for method, path, _ in daemon.calls if method == "PUT"}) == 1


def test_what_stops_one_lane_stops_all_and_nothing_is_tried_again(make: Any, store: Store) -> None:
    units = [make.unit(f"u{index}", stale="x") for index in range(6)]
    run = concurrent(make, store, units, 2)
    deleted, begun = threading.Event(), threading.Event()

    def answer(request: httpx.Request) -> httpx.Response | None:
        if request.method == "DELETE":
            deleted.set()
        if not request.url.path.endswith("/refresh"):
            return None
        if request.url.path.endswith("section/refresh"):
            begun.wait(30)
            return httpx.Response(413, json={"error": "too_large"})
        begun.set()
        deleted.wait(30)  # this one generates until its section is dropped
        return httpx.Response(200, content=make.sse("cancelled", revision=1))

    daemon = make.daemon(refuse=answer, health={"status": "down"})
    with pytest.raises(ServiceDown, match="lost its engine"):
        drive(make, store, run, units, daemon)
    assert [a.arm for a in store.attempts(run.run_id)] == ["warmup"]
    assert sum(path.endswith("section-1/refresh") for _, path, _ in daemon.calls) == 1


def test_lanes_are_continued_without_repeating_anything(make: Any, store: Store) -> None:
    units = [make.unit(f"u{index}", stale="x") for index in range(5)]
    run = concurrent(make, store, units, 2)
    told: list[Attempt] = []

    def stop_after_six(attempt: Attempt) -> None:
        told.append(attempt)
        if len(told) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(run, units, {}, store, make.daemon().client(), stop_after_six)
    before = finished(store.attempts(run.run_id))
    again = drive(make, store, run, units, make.daemon())
    assert {attempt.key for attempt in again}.isdisjoint(before)
    after = finished(store.attempts(run.run_id))
    assert {key: after[key] for key in before} == before
    assert sum(arm != "warmup" for _, arm, _ in after) == 20
