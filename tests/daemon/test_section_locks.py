import asyncio

import pytest

from daemon.section_locks import SectionLocks

pytestmark = pytest.mark.anyio


class Holders:
    """Who had which sections, in the order in which they got them."""

    def __init__(self) -> None:
        self.locks = SectionLocks()
        self.came: list[str] = []
        self.held: set[str] = set()

    def start(self, name: str, *session_ids: str) -> tuple[asyncio.Task[None], asyncio.Event]:
        """A holder, and what lets it go on."""
        leave = asyncio.Event()

        async def hold() -> None:
            async with self.locks.hold(*session_ids):
                assert self.held.isdisjoint(session_ids)
                self.held.update(session_ids)
                self.came.append(name)
                await leave.wait()
                self.held.difference_update(session_ids)

        return asyncio.create_task(hold()), leave


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_waits_for_a_section_gets_it_in_order_and_others_do_not_wait() -> None:
    it = Holders()
    first, let_first = it.start("first", "a")
    second, let_second = it.start("second", "a")
    other, let_other = it.start("other", "b")
    await settle()
    assert it.came == ["first", "other"]
    assert sorted(it.locks) == ["a", "b"]
    let_first.set()
    await settle()
    assert it.came == ["first", "other", "second"]
    let_second.set()
    let_other.set()
    await asyncio.gather(first, second, other)
    assert "a" not in it.locks
    assert list(it.locks) == []


async def test_holders_of_several_do_not_wait_for_each_other() -> None:
    it = Holders()
    holders = [it.start(str(number), *ids) for number, ids in enumerate([("a", "b"), ("b", "a"), ("b",)] * 5)]
    for _, leave in holders:
        leave.set()
    async with asyncio.timeout(20):
        await asyncio.gather(*(task for task, _ in holders))
    assert len(it.came) == 15
    assert list(it.locks) == []


async def test_who_gives_up_waiting_leaves_nothing() -> None:
    it = Holders()
    first, let_first = it.start("first", "b")
    waiting, _ = it.start("waiting", "a", "b")
    await settle()
    assert "a" in it.locks
    waiting.cancel()
    await settle()
    assert list(it.locks) == ["b"]
    let_first.set()
    await first
    assert it.came == ["first"]


async def test_what_nobody_holds_is_had_at_once() -> None:
    locks = SectionLocks()
    holding = locks.hold("a", "b").__aenter__()
    with pytest.raises(StopIteration):
        holding.send(None)
    assert sorted(locks) == ["a", "b"]
