import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.lanes import side_by_side


def unstopped() -> None:
    raise AssertionError("nothing was to be stopped")


@given(items=st.lists(st.integers(0, 4), max_size=12), lanes=st.integers(1, 4))
def test_every_item_is_worked_on_once_and_its_results_keep_their_order(items: list[int], lanes: int) -> None:
    numbered = list(enumerate(items))

    def lane(item: tuple[int, int]) -> Iterator[tuple[int, int]]:
        number, size = item
        return ((number, part) for part in range(size))

    made = list(side_by_side([lane] * lanes, numbered, unstopped))
    assert Counter(number for number, _ in made) == Counter(
        {number: size for number, size in numbered if size}
    )
    for number, size in numbered:
        assert [part for owner, part in made if owner == number] == list(range(size))


def test_lanes_work_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def lane(item: int) -> Iterator[int]:
        meeting.wait()
        yield item

    assert sorted(side_by_side([lane] * 3, range(3), unstopped)) == [0, 1, 2]


def test_a_lane_that_fails_stops_the_others_and_is_told() -> None:
    taken: list[str] = []
    over = threading.Event()

    def fails(item: str) -> Iterator[str]:
        raise ValueError(item)

    def waits(item: str) -> Iterator[str]:
        taken.append(item)
        over.wait(30)
        yield item

    with pytest.raises(ValueError, match=r"[ab]"):
        list(side_by_side([waits, fails], "abcdef", over.set))
    assert over.is_set()
    assert len(taken) == 1


def test_closing_the_stream_stops_the_lanes_again_and_again_until_they_notice() -> None:
    left = [3]
    noticed = threading.Event()

    def nudge() -> None:
        left[0] -= 1
        if left[0] == 0:
            noticed.set()

    def lane(item: int) -> Iterator[int]:
        if item:
            noticed.wait(30)
        yield item

    stream = side_by_side([lane] * 2, [0, 1, 2, 3], nudge)
    assert next(stream) == 0
    stream.close()
    assert left[0] <= 0


def test_a_lane_that_never_notices_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.lanes.LEAVE_S", 0.02)
    monkeypatch.setattr("replay.lanes.NUDGE_S", 0.01)
    asleep = threading.Event()
    stops: list[None] = []

    def lane(item: int) -> Iterator[int]:
        yield item
        asleep.wait(30)

    stream = side_by_side([lane], [7], lambda: stops.append(None))
    assert next(stream) == 7
    stream.close()
    assert len(stops) == 2
    asleep.set()
