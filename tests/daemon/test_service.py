import asyncio

import pytest

from daemon.errors import DaemonError
from daemon.wire import (
    CancelledEvent,
    DeltaEvent,
    DoneEvent,
    Edit,
    EditsRequest,
    ErrorEvent,
    OpenEvent,
    OpenRequest,
    Source,
)

pytestmark = pytest.mark.anyio

OLD = "It costs 3 euros."
EDIT = Edit(target="source", source="doc", start=0, end=1, lines=["1"])


async def supersede_by_refresh(stack) -> None:
    assert isinstance((await stack.refresh(edits=[EDIT]))[-1], DoneEvent)


async def supersede_by_edit(stack) -> None:
    await stack.client.edit("t/d/s", EditsRequest(edits=[EDIT]))


async def supersede_by_put(stack) -> None:
    await stack.open(derived="other")


async def supersede_by_delete(stack) -> None:
    assert (await stack.client.delete("t/d/s")).deleted == 1


SUPERSEDERS = [supersede_by_refresh, supersede_by_edit, supersede_by_put, supersede_by_delete]


@pytest.mark.parametrize("supersede", SUPERSEDERS)
@pytest.mark.parametrize("place", ["/apply-template", "prefill", "decode"])
async def test_a_change_supersedes_the_running_refresh_in_every_phase(
    make_stack, place: str, supersede
) -> None:
    stack = await make_stack()
    await stack.open(derived=OLD)
    gate = stack.engine.gate(place)
    running = stack.start(instruction="lost with its refresh")
    await stack.reached(gate)
    del stack.engine.gates[place]
    await supersede(stack)
    assert (await running)[-1] == CancelledEvent(revision=1)
    await stack.idle()
    if supersede is not supersede_by_delete:
        state = await stack.client.state("t/d/s")
        assert (state.revision, state.instruction) == (2, "Sum up.")


async def test_superseded_in_the_queue_a_refresh_is_cancelled_without_opening(make_stack) -> None:
    stack = await make_stack({"queue_depth": 1})
    await stack.open("t/d/busy")
    await stack.open()
    gate = stack.engine.gate("prefill")
    busy = stack.start("t/d/busy")
    await stack.reached(gate)
    first = stack.start()
    await stack.queued(1)
    second = stack.start()
    assert await first == [CancelledEvent(revision=1)]
    await stack.queued(1)
    gate.open.set()
    assert isinstance((await busy)[-1], DoneEvent)
    assert isinstance((await second)[-1], DoneEvent)


async def test_superseding_needs_no_place_in_the_queue(make_stack) -> None:
    stack = await make_stack({"queue_depth": 0})
    await stack.open()
    gate = stack.engine.gate("decode")
    first = stack.start()
    await stack.reached(gate)
    stack.engine.gates.clear()
    assert isinstance((await stack.refresh())[-1], DoneEvent)
    assert isinstance((await first)[-1], CancelledEvent)


async def test_of_many_refreshes_only_the_last_is_done(make_stack) -> None:
    stack = await make_stack()
    await stack.open(derived=OLD)
    gate = stack.engine.gate("decode")
    started = []
    for number in range(5):
        started.append(stack.start(instruction=str(number)))
        await stack.reached(gate, number + 1)
    gate.open.set()
    last = [events[-1] for events in await asyncio.gather(*started)]
    assert [type(event) for event in last] == [CancelledEvent] * 4 + [DoneEvent]
    state = await stack.client.state("t/d/s")
    assert (state.instruction, state.revision) == ("4", 2)
    await stack.idle()


@pytest.mark.parametrize(
    "request_fields", [{"base_revision": 7}, {"edits": [{**EDIT.model_dump(), "end": 9}]}]
)
async def test_a_refused_change_leaves_the_running_refresh_alone(make_stack, request_fields: dict) -> None:
    stack = await make_stack()
    await stack.open(derived=OLD)
    gate = stack.engine.gate("decode")
    running = stack.start()
    await stack.reached(gate)
    with pytest.raises(DaemonError, match=r"stale_revision|bad_range"):
        await stack.refresh(**request_fields)
    with pytest.raises(DaemonError, match=r"stale_revision|bad_range"):
        await stack.client.edit("t/d/s", EditsRequest(**{"edits": [], **request_fields}))
    gate.open.set()
    assert isinstance((await running)[-1], DoneEvent)


async def test_a_full_queue_refuses_and_changes_nothing(make_stack) -> None:
    stack = await make_stack({"queue_depth": 1})
    for name in "abc":
        await stack.open(f"t/d/{name}")
    gate = stack.engine.gate("prefill")
    first = stack.start("t/d/a")
    await stack.reached(gate)
    second = stack.start("t/d/b")
    await stack.queued(1)
    with pytest.raises(DaemonError, match="busy") as caught:
        await stack.refresh("t/d/c", edits=[EDIT])
    assert (caught.value.status, caught.value.fields["reason"]) == (429, "queue_full")
    assert (await stack.client.state("t/d/c")).revision == 1
    gate.open.set()
    assert [type((await task)[-1]) for task in (first, second)] == [DoneEvent, DoneEvent]


async def test_waiting_too_long_refuses(make_stack) -> None:
    stack = await make_stack({"queue_timeout_ms": 1})
    await stack.open("t/d/a")
    await stack.open("t/d/b")
    gate = stack.engine.gate("prefill")
    first = stack.start("t/d/a")
    await stack.reached(gate)
    with pytest.raises(DaemonError, match="queue_timeout"):
        await stack.refresh("t/d/b")
    gate.open.set()
    assert isinstance((await first)[-1], DoneEvent)


async def test_tenants_side_by_side_never_see_each_others_text(make_stack) -> None:
    stack = await make_stack(slots=2, answer="{prompt}")
    markers = {"a/d/s": "KIWI-1", "b/d/s": "PLUM-2"}

    async def rounds(session_id: str, marker: str) -> str:
        await stack.open(session_id, sources=[Source(name="doc", text=marker)], derived=OLD)
        events = [event for _ in range(20) for event in await stack.refresh(session_id)]
        assert sum(isinstance(event, DoneEvent) for event in events) == 20
        return repr(events) + repr(await stack.client.state(session_id))

    heard = await asyncio.gather(*(rounds(*item) for item in markers.items()))
    for own, other, text in zip(markers.values(), reversed(markers.values()), heard, strict=True):
        assert own in text
        assert other not in text


async def test_an_edit_applies_to_what_the_section_is_by_then(make_stack) -> None:
    stack = await make_stack()
    await stack.open(derived="a\nb")
    gate = stack.engine.gate("/tokenize")
    edit = Edit(target="derived", start=0, end=1, lines=["first"])
    slow = asyncio.create_task(stack.client.edit("t/d/s", EditsRequest(edits=[edit])))
    await stack.reached(gate)
    del stack.engine.gates["/tokenize"]
    edit = Edit(target="derived", start=1, end=2, lines=["second"])
    await stack.client.edit("t/d/s", EditsRequest(edits=[edit]))
    gate.open.set()
    assert (await slow).revision == 3
    assert (await stack.client.state("t/d/s")).derived == "first\nsecond"


async def test_an_edit_counts_the_drafts_tokens(make_stack) -> None:
    stack = await make_stack()
    await stack.open(derived="one two")
    edit = Edit(target="derived", start=1, end=1, lines=["three"])
    answer = await stack.client.edit("t/d/s", EditsRequest(edits=[edit], pinned=["p"]))
    assert (answer.derived_tokens, answer.revision) == (4, 2)
    assert (await stack.client.state("t/d/s")).pinned == ["p"]


async def test_a_repeated_put_continues_the_count(make_stack) -> None:
    stack = await make_stack()
    assert [await stack.open(), await stack.open(derived="new")] == [1, 2]
    with pytest.raises(DaemonError, match="stale_revision") as caught:
        await stack.refresh(base_revision=1)
    assert caught.value.fields == {"revision": 2}


async def test_deletes_are_idempotent_and_clear_the_slots(make_stack) -> None:
    stack = await make_stack(slots=2)
    for name in ["t/d/a", "t/d/b", "t/e/a", "u/d/a"]:
        await stack.open(name)
    await stack.refresh("t/d/a")
    await stack.refresh("u/d/a")
    answer = await stack.client.delete_under("t/d/")
    assert (answer.deleted, answer.slots_erased, answer.slots_unerased) == (2, [0], [])
    assert stack.engine.erased == [0]
    answer = await stack.client.delete_under("t/")
    assert (answer.deleted, answer.slots_erased) == (1, [])
    assert (await stack.client.delete("t/d/a")).deleted == 0
    assert (await stack.client.health()).sessions == 1


async def test_a_slot_that_could_not_be_cleared_is_tried_again(make_stack) -> None:
    stack = await make_stack(fail={"/slots": 501})
    await stack.open()
    await stack.refresh()
    answer = await stack.client.delete("t/d/s")
    assert (answer.slots_erased, answer.slots_unerased) == ([], [0])
    stack.engine.fail.clear()
    assert (await stack.client.delete("t/d/s")).slots_erased == [0]
    assert (await stack.client.delete("t/d/s")).slots_erased == []


async def test_a_delete_clears_the_slot_of_the_refresh_that_it_cancels(make_stack) -> None:
    stack = await make_stack()
    await stack.open()
    gate = stack.engine.gate("decode")
    running = stack.start()
    await stack.reached(gate)
    assert (await stack.client.delete("t/d/s")).slots_erased == [0]
    assert isinstance((await running)[-1], CancelledEvent)


async def test_a_delete_clears_text_below_a_refresh_that_never_reached_the_engine(make_stack) -> None:
    stack = await make_stack()
    await stack.open("a/d/s")
    await stack.refresh("a/d/s")
    await stack.open("b/d/s")
    gate = stack.engine.gate("/completion")
    running = stack.start("b/d/s")
    await stack.reached(gate)
    answer = await stack.client.delete("a/d/s")
    assert (answer.slots_erased, answer.slots_unerased) == ([], [0])
    await stack.client.edit("b/d/s", EditsRequest(edits=[EDIT]))
    assert isinstance((await running)[-1], CancelledEvent)
    assert (await stack.client.delete("a/d/s")).slots_erased == [0]
    assert (await stack.client.delete("a/d/s")).slots_erased == []


async def test_a_delete_clears_what_the_engine_may_have_parked(make_stack) -> None:
    stack = await make_stack(slots=2)
    for session_id in ("a/d/s", "b/d/s", "c/d/s"):
        await stack.open(session_id)
        await stack.refresh(session_id)
    assert (await stack.client.delete("a/d/s")).slots_erased == [1]
    assert (await stack.client.delete("a/d/s")).slots_erased == []


async def test_what_the_engine_refuses_is_no_outage(make_stack) -> None:
    stack = await make_stack(fail={"/apply-template": 400})
    await stack.open()
    with pytest.raises(DaemonError, match=r"invalid_request: .*/apply-template fails") as caught:
        await stack.refresh()
    assert caught.value.status == 422
    stack.engine.fail = {"/tokenize": 413}
    with pytest.raises(DaemonError, match=r"too_large: .*/tokenize fails"):
        await stack.open(derived="long")
    stack.engine.fail = {"/props": 404}
    assert (await stack.client.health()).status == "down"


async def test_losing_the_engine_in_the_stream_is_an_error_event(make_stack) -> None:
    stack = await make_stack(fail={"stream": 0})
    await stack.open(derived=OLD)
    events = await stack.refresh(instruction="lost")
    assert [type(event) for event in events] == [OpenEvent, DeltaEvent, ErrorEvent]
    assert events[-1].code == "engine_failed"
    state = await stack.client.state("t/d/s")
    assert (state.derived, state.revision, state.instruction) == (OLD, 1, "Sum up.")
    stack.engine.fail.clear()
    assert isinstance((await stack.refresh())[-1], DoneEvent)


async def test_an_engine_that_is_gone_refuses_and_comes_back_without_a_restart(make_stack) -> None:
    stack = await make_stack()
    await stack.open(derived=OLD)
    await stack.served.stop()
    with pytest.raises(DaemonError, match="engine_unavailable") as caught:
        await stack.refresh()
    assert caught.value.status == 503
    with pytest.raises(DaemonError, match="engine_unavailable"):
        await stack.client.edit("t/d/s", EditsRequest(edits=[EDIT]))
    assert (await stack.client.health()).status == "down"
    assert (await stack.client.state("t/d/s")).revision == 1
    await stack.served.start()
    assert (await stack.client.health()).status == "ok"
    assert isinstance((await stack.refresh())[-1], DoneEvent)


@pytest.mark.parametrize(
    ("script", "config", "status", "model"),
    [
        ({}, {}, "ok", ("fake", True, True)),
        ({"speaks": "plain"}, {}, "degraded", ("fake", True, False)),
        ({"slots": 2}, {"slots": 1}, "degraded", ("fake", True, True)),
        ({"fail": {"/props": 503}}, {}, "down", ("", False, False)),
    ],
)
async def test_health_says_how_the_engine_is(make_stack, script, config, status: str, model) -> None:
    stack = await make_stack(config, **script)
    health = await stack.client.health()
    assert health.status == status
    assert (health.model.name, health.model.resident, health.model.redraft) == model
    assert health.engine == ({"version": "fake"} if model[2] else {})
    assert (health.template_version, health.sessions, health.slots.total) == (1, 0, stack.service.slots.total)


async def test_an_engine_that_does_not_answer_is_down_soon(make_stack, monkeypatch) -> None:
    stack = await make_stack()
    await stack.open()
    await stack.refresh()
    monkeypatch.setattr("daemon.service.QUICK_S", 0.01)
    for place in ("/props", "/slots"):
        stack.engine.gate(place)
    assert (await stack.client.health()).status == "down"
    assert (await stack.client.delete("t/d/s")).slots_unerased == [0]


async def test_a_bug_in_a_running_refresh_ends_its_stream(make_stack, monkeypatch, caplog) -> None:
    stack = await make_stack()
    await stack.open(derived=OLD)
    monkeypatch.setattr("daemon.refresh._done_event", lambda *_: 1 / 0)
    events = await stack.refresh()
    assert events[-1] == ErrorEvent(code="engine_failed", detail="internal error")
    assert "ZeroDivisionError" in caplog.text
    await stack.idle()


async def test_a_stopping_daemon_ends_streams_and_starts_none(make_stack) -> None:
    stack = await make_stack()
    await stack.open()
    gate = stack.engine.gate("decode")
    running = stack.start()
    await stack.reached(gate)
    stack.service.stop()
    assert isinstance((await running)[-1], CancelledEvent)
    with pytest.raises(DaemonError, match="redraftd is stopping"):
        await stack.refresh()


async def test_opening_without_a_draft_needs_no_engine(make_stack) -> None:
    stack = await make_stack(fail={"/tokenize": 500})
    request = OpenRequest(instruction="Sum up.", sources=[])
    assert (await stack.client.open("t/d/s", request)).derived_tokens == 0
    with pytest.raises(DaemonError, match="engine_unavailable"):
        await stack.open("t/d/s", derived="text")
    assert (await stack.client.state("t/d/s")).revision == 1


async def test_a_tenant_over_its_cap_loses_its_own_oldest_and_never_a_running_one(make_stack) -> None:
    stack = await make_stack({"max_tenant_sessions": 2})
    for session_id in ("u/d/1", "t/d/1", "t/d/2"):
        await stack.open(session_id)
    gate = stack.engine.gate("decode")
    running = stack.start("t/d/1")
    await stack.reached(gate)
    await stack.client.state("t/d/2")
    await stack.open("t/d/3")
    with pytest.raises(DaemonError, match="unknown_session"):
        await stack.client.state("t/d/2")
    gate.open.set()
    assert isinstance((await running)[-1], DoneEvent)
    for session_id in ("u/d/1", "t/d/1", "t/d/3"):
        await stack.client.state(session_id)


async def test_what_was_pushed_out_is_cleared_by_the_next_delete(make_stack) -> None:
    stack = await make_stack({"max_sessions": 1})
    await stack.open("t/d/1")
    await stack.refresh("t/d/1")
    await stack.open("u/d/1")
    assert (await stack.client.delete("u/d/none")).slots_erased == [0]


async def test_how_refreshes_end_is_counted(make_stack) -> None:
    stack = await make_stack(fail={"stream": 0})
    await stack.open(derived=OLD)
    await stack.refresh()
    stack.engine.fail = {"/apply-template": 500}
    with pytest.raises(DaemonError):
        await stack.refresh()
    stack.engine.fail = {}
    gate = stack.engine.gate("decode")
    cancelled = stack.start()
    await stack.reached(gate)
    stack.engine.gates.clear()
    await stack.refresh(baseline=True)
    await cancelled
    await stack.idle()
    figures = stack.service.metrics.render().decode()
    for outcome in ("failed", "refused", "cancelled", "done"):
        assert f'redraftd_refreshes_total{{outcome="{outcome}"}} 1.0' in figures
    for line in ("sessions 1.0", "queue_length 0.0", "slots_busy 0.0", "slots 1.0"):
        assert f"\nredraftd_{line}\n" in figures
