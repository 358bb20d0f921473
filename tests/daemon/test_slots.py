import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.errors import Busy
from daemon.slots import UNKNOWN, SlotPool

pytestmark = pytest.mark.anyio


def pool(total: int = 1, depth: int = 8, timeout_ms: int = 60_000) -> SlotPool:
    return SlotPool(total, depth, timeout_ms)


async def queued(slots: SlotPool, *session_ids: str) -> list[asyncio.Task]:
    tasks = []
    for session_id in session_ids:
        tasks.append(asyncio.create_task(slots.acquire(session_id)))
        await asyncio.sleep(0)
    return tasks


async def test_a_section_returns_to_its_slot() -> None:
    slots = pool(3)
    leases = [await slots.acquire(name) for name in "abc"]
    for lease in leases:
        slots.release(lease.slot)
    again = await slots.acquire("b")
    assert (again.slot, again.reused, leases[1].reused) == (leases[1].slot, True, False)


async def test_another_section_takes_the_slot_longest_idle() -> None:
    slots = pool(2)
    a, b = await slots.acquire("a"), await slots.acquire("b")
    slots.release(b.slot)
    slots.release(a.slot)
    assert (await slots.acquire("c")).slot == b.slot
    assert (await slots.acquire("b")).reused is False


async def test_the_queue_is_first_come_first_served() -> None:
    slots = pool()
    slot = (await slots.acquire("a")).slot
    first, second = await queued(slots, "b", "a")
    assert (slots.busy, slots.queued) == (1, 2)
    slots.release(slot)
    assert (await first).queued_ms >= 0
    assert not second.done()
    slots.release(slot)
    assert (await second).slot == slot


async def test_a_full_queue_is_busy() -> None:
    slots = pool(depth=1)
    await slots.acquire("a")
    (waiting,) = await queued(slots, "b")
    with pytest.raises(Busy) as caught:
        await slots.acquire("c")
    assert caught.value.fields["reason"] == "queue_full"
    slots.release(0)
    assert (await waiting).slot == 0


async def test_waiting_too_long_is_busy_and_leaves_the_queue() -> None:
    slots = pool(timeout_ms=1)
    await slots.acquire("a")
    with pytest.raises(Busy) as caught:
        await slots.acquire("b")
    assert caught.value.fields["reason"] == "queue_timeout"
    assert slots.queued == 0


@pytest.mark.parametrize("released", ["before", "in the same instant", "after"])
async def test_who_gives_up_loses_no_slot(released: str) -> None:
    slots = pool()
    slot = (await slots.acquire("a")).slot
    (waiting,) = await queued(slots, "b")
    if released == "before":
        slots.release(slot)
    waiting.cancel()
    if released == "in the same instant":
        slots.release(slot)
    await asyncio.wait([waiting])
    if released == "after":
        slots.release(slot)
    assert waiting.cancelled()
    assert (slots.busy, slots.queued) == (0, 0)


async def test_only_a_free_slot_can_be_claimed() -> None:
    slots = pool(2)
    await slots.acquire("a")
    assert [slots.claim(slot) for slot in (0, 1, 1)] == [False, True, False]
    slots.release(1)
    assert slots.claim(1)


async def test_text_stays_in_a_slot_until_the_engine_answers_another_or_erases_it() -> None:
    slots = pool()
    for name in "ab":
        await slots.acquire(name)
        slots.release(0)
    assert slots.texts(0) == {"a", "b"}
    assert (await slots.acquire("a")).reused
    slots.answered(0, "a")
    assert (slots.texts(0), slots.parked) == ({"a"}, {"b"})
    slots.erased(0)
    assert slots.texts(0) == slots.parked == frozenset()


async def test_of_very_many_sections_it_only_knows_that_there_were_some(monkeypatch) -> None:
    monkeypatch.setattr("daemon.slots.MOST_PARKED", 2)
    slots = pool()
    for name in "abcd":
        await slots.acquire(name)
        slots.answered(0, name)
        slots.release(0)
    assert slots.parked == {UNKNOWN}


async def test_a_slot_is_foreign_while_it_may_hold_another_tenants_text() -> None:
    slots = pool()
    for session_id, foreign in [("a/d/1", False), ("a/d/2", False), ("ab/d/1", True), ("ab/d/1", True)]:
        assert (await slots.acquire(session_id)).foreign is foreign
        slots.release(0)
    slots.answered(0, "ab/d/1")
    assert not (await slots.acquire("ab/d/2")).foreign


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["ask", "leave", "give_up"])), max_size=30)
)
def test_a_slot_has_one_holder_and_none_is_lost(steps: list[tuple[str, str]]) -> None:
    async def run() -> None:
        slots, tasks = pool(2, depth=2), []
        for session_id, step in steps:
            if step == "ask":
                tasks += await queued(slots, session_id)
            elif step == "give_up" and tasks:
                tasks.pop().cancel()
            elif held := [task for task in tasks if task.done() and not task.exception()]:
                tasks.remove(held[0])
                slots.release(held[0].result().slot)
            await asyncio.sleep(0)
            tasks = [task for task in tasks if not (task.done() and task.exception())]
            holders = [task.result().slot for task in tasks if task.done()]
            assert len(holders) == len(set(holders))
        for task in tasks:
            if not task.cancel() and not task.exception():
                slots.release(task.result().slot)
        await asyncio.sleep(0)

    asyncio.run(run())
