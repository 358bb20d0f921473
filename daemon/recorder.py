"""Where what happens to sections is made durable before anybody is told that it happened.

Invariant: `record` returns once the event is durable, or raises and nothing has happened; the service
waits for it before it changes a section. Of one section one event is recorded at a time, in the order in
which they take effect; those of different sections may share a wait for the disk.
"""

from dataclasses import dataclass
from typing import Protocol

from daemon.sections import Section, SectionTable
from daemon.wire import DoneEvent, EditsRequest, RecorderState, RefreshRequest


@dataclass(frozen=True)
class Opened:
    """A section was opened or replaced; `evicted` are those that it took the place of."""

    section: Section
    evicted: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Edited:
    """A section was edited without generating; `section` is what it is now."""

    section: Section
    request: EditsRequest


@dataclass(frozen=True)
class Refreshed:
    """A refresh is done; `section` has its text, and the changes that came with the request.

    `draft` is the text that it started from, `engine` the fingerprint of what generated it.
    """

    section: Section
    request: RefreshRequest
    base_revision: int
    done: DoneEvent
    draft: str | None
    engine: str


@dataclass(frozen=True)
class Deleted:
    """Sections were dropped, as they were."""

    sections: tuple[Section, ...]


Event = Opened | Edited | Refreshed | Deleted


class Recorder(Protocol):
    """Makes events durable."""

    @property
    def state(self) -> RecorderState:
        """Whether it records, as far as the last attempt told."""

    def restore(self, table: SectionTable) -> None:
        """Put back the sections that were open when it recorded last."""

    async def record(self, event: Event) -> int:
        """Return once the event is durable, with how many records that took; DaemonError where it cannot
        be."""

    async def check(self, session_id: str) -> None:
        """DaemonError where it is plain beforehand that nothing of this section can be recorded."""


class NoRecorder:
    """Keeps nothing: without a journal nothing touches the disk."""

    state: RecorderState = "off"

    def restore(self, table: SectionTable) -> None:
        """Nothing is known."""

    async def record(self, event: Event) -> int:
        """Nothing to wait for."""
        return 0

    async def check(self, session_id: str) -> None:
        """Nothing to look at."""
