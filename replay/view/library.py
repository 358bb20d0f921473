"""The store that a viewer reads: a private copy, made anew when the store has changed.

Invariant: nobody is kept from opening the store, and nothing is written to it or beside it; what is shown is
one state of it, whole, and when it was taken is known.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self, TypeVar

from bundles import Store, StoreLocked, StoreState, copy_store, store_state

Value = TypeVar("Value")
REST = 20.0
"""A copy is not made before so many times what the last one took have passed."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One state of the store, as it was at `taken`; `memo` keeps what was worked out from it.

    `is_behind` says that the store has changed since and could not be copied, `is_open` that it has a log: a
    process has it open, or was killed as it had.
    """

    store: Store
    taken: datetime
    is_behind: bool
    is_open: bool
    memo: dict[object, Any] = field(default_factory=dict)

    def remembered(self, key: object, work_out: Callable[[], Value]) -> Value:
        """What is worked out once for this state of the store."""
        if key not in self.memo:
            self.memo[key] = work_out()
        value: Value = self.memo[key]
        return value


class Library:
    """A store to read from; one reader at a time has it."""

    def __init__(self, path: Path, *, rest: float = REST) -> None:
        """`path` is checked; raises `StoreError` where no store is there."""
        store_state(path)
        self.path = path
        self._rest = rest
        self._reading_one = threading.Lock()
        self._folder = TemporaryDirectory(prefix="redraft-view-")
        self._copies = 0
        self._state: StoreState | None = None
        self._reading: Reading | None = None
        self._not_before = 0.0

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """The store's newest state that is to be had; raises `StoreError` where there is none."""
        with self._reading_one:
            yield self._newest()

    def close(self) -> None:
        """Remove the copy."""
        with self._reading_one:
            self._drop()
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _newest(self) -> Reading:
        state = store_state(self.path)
        if self._reading and (state == self._state or time.monotonic() < self._not_before):
            return self._reading
        started = time.monotonic()
        try:
            self._take()
        except StoreLocked:
            if self._reading is None:
                raise
            old = self._reading
            self._reading = Reading(old.store, old.taken, True, old.is_open, old.memo)
        self._not_before = time.monotonic() + self._rest * (time.monotonic() - started)
        assert self._reading
        return self._reading

    def _take(self) -> None:
        self._copies += 1
        path = Path(self._folder.name) / f"copy-{self._copies}.duckdb"
        taken = datetime.now()
        state = copy_store(self.path, path)
        store = Store.open(path)
        self._drop()
        self._state = state
        self._reading = Reading(store, taken, is_behind=False, is_open=state.log_bytes > 0)

    def _drop(self) -> None:
        """Close the copy that is there, and remove its files."""
        if self._reading:
            old, self._reading = self._reading.store, None
            old.close()
            for left in old.path.parent.glob(f"{old.path.name}*"):
                left.unlink()
