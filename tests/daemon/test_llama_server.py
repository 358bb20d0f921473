"""The same cases in front of our engine, of a llama-server with the published extension and of a plain
one."""

from dataclasses import dataclass

import pytest

from daemon.errors import DaemonError
from daemon.wire import CancelledEvent, DeltaEvent, DoneEvent, Source, SpanEvent

pytestmark = pytest.mark.anyio

OLD = "It costs 3 euros.\nNet 30 🧂."
NEW = "It costs 4 euros.\nNet 30 🧂."
BEFORE, AFTER = ([Source(name="offer", text=f"costs {price} euros")] for price in (3, 4))


@dataclass(frozen=True)
class Kind:
    """What a kind of engine can do."""

    speaks: str
    replays: bool
    tells: bool
    health: str  # before the first refresh


KINDS = [
    Kind("ours", True, True, "ok"),
    Kind("published", True, False, "degraded"),
    Kind("plain", False, False, "degraded"),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.speaks)
def kind(request) -> Kind:
    return request.param


@pytest.fixture
def start(make_stack, kind: Kind):
    async def start(**script):
        stack = await make_stack(answer=NEW, speaks=kind.speaks, **script)
        await stack.open(derived=OLD, sources=BEFORE)
        return stack

    return start


@pytest.mark.parametrize("mode", ["exact", "tolerant"])
async def test_a_refresh_streams_the_new_text_and_says_what_was_held(start, kind: Kind, mode: str) -> None:
    stack = await start()
    events = await stack.refresh(mode=mode, sources=AFTER, return_tokens=True)
    done = events[-1]
    assert isinstance(done, DoneEvent)
    assert "".join(event.text for event in events if isinstance(event, DeltaEvent)) == NEW
    assert done.mode == ("redraft" if kind.replays else "baseline")
    assert (done.reused > 0, done.reused_chars > 0) == (kind.replays, kind.replays)
    assert (done.exact, done.divergences) == ((mode == "exact", 1) if kind.replays else (None, 0))
    assert done.algorithm == {"ours": "adaptive", "published": "anchor", "plain": None}[kind.speaks]
    told = (done.passes, done.rows, done.wasted_rows, done.host_ms, done.drafted)
    assert told == ((2, 9, 4, 0.5, {"stale": 3}) if kind.tells else (None,) * 5)
    assert len(done.token_src) == len(done.token_ids) == done.tokens
    held = [event.kind for event in events if isinstance(event, SpanEvent)]
    assert held == (["held", "replaced", "held"] if kind.replays else ["replaced"])
    assert (await stack.client.state("t/d/s")).derived == NEW


async def test_an_engine_that_cannot_be_strict_gets_no_patch_to_hold_on_tolerance(start, kind: Kind) -> None:
    stack = await start()
    exact = (await stack.refresh(mode="exact", sources=AFTER))[-1]
    await stack.open(derived=OLD, sources=BEFORE)
    tolerant = (await stack.refresh(mode="tolerant", sources=AFTER))[-1]
    assert [exact.patched_tokens, tolerant.patched_tokens] == {
        **{"ours": [1, 1], "published": [1, 0], "plain": [None, None]}
    }[kind.speaks]
    assert [exact.strict_tokens, tolerant.strict_tokens] == {
        **{"ours": [0, 4], "published": [0, 0], "plain": [None, None]}
    }[kind.speaks]


async def test_health_says_whether_answers_are_replayed_once_that_is_known(start, kind: Kind) -> None:
    stack = await start()
    health = await stack.client.health()
    assert (health.status, health.model.redraft) == (kind.health, kind.speaks == "ours")
    await stack.refresh()
    await stack.refresh(baseline=True)
    health = await stack.client.health()
    assert (health.status, health.model.redraft) == ("ok" if kind.replays else "degraded", kind.replays)


async def test_plain_generation_is_the_same_everywhere(start, kind: Kind) -> None:
    stack = await start()
    done = (await stack.refresh(baseline=True))[-1]
    assert (done.mode, done.exact, done.reused, done.divergences) == ("baseline", None, 0.0, 0)
    assert "redraft_stabilize" not in stack.engine.requests[0]
    assert (await stack.refresh(baseline=True, draft_sources=["lookup"]))[-1].mode == "baseline"
    assert stack.engine.requests[1]["redraft_stabilize"] == {
        **{"old_output": [], "tau": 0.0, "floor": 0.0, "max_tokens": 512, "algorithm": "adaptive"},
        "draft_sources": ["lookup"],
    }


async def test_a_lost_engine_is_an_error_and_the_section_stays(start) -> None:
    stack = await start(fail={"stream": 0})
    assert (await stack.refresh())[-1].code == "engine_failed"
    assert (await stack.client.state("t/d/s")).derived == OLD
    stack.engine.fail.clear()
    assert isinstance((await stack.refresh())[-1], DoneEvent)


async def test_superseding_cancels(start) -> None:
    stack = await start()
    gate = stack.engine.gate("decode")
    first = stack.start()
    await stack.reached(gate)
    stack.engine.gates.clear()
    assert isinstance((await stack.refresh())[-1], DoneEvent)
    assert isinstance((await first)[-1], CancelledEvent)
    await stack.idle()


async def test_a_server_without_slot_erasing_leaves_the_slot_reported(start) -> None:
    stack = await start(fail={"/slots": 501})
    await stack.refresh()
    answer = await stack.client.delete("t/d/s")
    assert (answer.deleted, answer.slots_erased, answer.slots_unerased) == (1, [], [0])


async def test_a_prompt_that_does_not_fit_is_refused(start) -> None:
    stack = await start(context=520)
    with pytest.raises(DaemonError, match="too_large"):
        await stack.refresh()
