"""Work on several things at once, each of its own kind of worker, with results in one stream.

Invariant: an item is worked on by one lane; results of an item keep their order; no lane works on once
the stream is closed or a lane has failed.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from queue import SimpleQueue
from typing import TypeVar

NUDGE_S = 0.2
LEAVE_S = 5.0
Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    lanes: Sequence[Callable[[Item], Iterable[Result]]], items: Iterable[Item], stop: Callable[[], None]
) -> Generator[Result]:
    """What the lanes make of the items, as it is made; a lane takes the next item when it is done with one.

    `stop` is called when the stream is closed early, again and again until every lane has noticed: it should
    end whatever they wait for. A lane that does not notice within LEAVE_S is left behind.
    """
    waiting = deque(items)
    made: SimpleQueue[Result | _Ended] = SimpleQueue()
    closing = threading.Event()

    def work(lane: Callable[[Item], Iterable[Result]]) -> None:
        error = None
        try:
            while not closing.is_set() and (item := _next(waiting)) is not None:
                for result in lane(item[0]):
                    if closing.is_set():
                        break
                    made.put(result)
        except BaseException as raised:
            error = raised
        made.put(_Ended(error))

    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    working = len(threads)
    try:
        while working:
            result = made.get()
            if not isinstance(result, _Ended):
                yield result
                continue
            working -= 1
            if result.error is not None:
                raise result.error
    finally:
        closing.set()
        if working:
            _gather(threads, stop)


class _Ended:
    """A lane's last word."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def _next(waiting: deque[Item]) -> tuple[Item] | None:
    try:
        return (waiting.popleft(),)
    except IndexError:
        return None


def _gather(threads: Sequence[threading.Thread], stop: Callable[[], None]) -> None:
    for _ in range(round(LEAVE_S / NUDGE_S)):
        alive = [thread for thread in threads if thread.is_alive()]
        if not alive:
            return
        stop()
        alive[0].join(NUDGE_S)
