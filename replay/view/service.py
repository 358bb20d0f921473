"""The daemon that races use: one that runs already, or engine and daemon started when the first race asks.

Invariant: what was started here is stopped by `close`, and no later than this process ends; a start that
failed, or a child that has died, is told once in one line and the next race starts anew.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from replay.errors import ReplayError, ServiceDown
from replay.stack import Stack, StackOptions, serving

STOP_S = 30.0
Say = Callable[[str], None]


@dataclass
class _Start:
    """One start of the two, in a thread of its own; `said` is its last line."""

    said: str = "starting engine and daemon"
    stack: Stack | None = None
    error: str | None = None
    over: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


class Service:
    """Where races are run."""

    def __init__(self, url: str | None, options: StackOptions, say: Say, log: Say) -> None:
        self._url = url
        self._options = options
        self._say, self._log = say, log
        self._started: _Start | None = None

    def poll(self) -> str | None:
        """The daemon's URL, or None while it starts; raises ServiceDown where it cannot, or has died."""
        if self._url is not None:
            return self._url
        start = self._started or self._begin()
        if start.error is not None:
            self._started = None
            raise ServiceDown(start.error)
        if start.stack is None:
            return None
        try:
            start.stack.check()
        except ReplayError as error:
            self._started = None
            start.over.set()
            raise ServiceDown(f"{error}; press Run to start it again") from error
        return start.stack.url

    @property
    def said(self) -> str:
        """What the start is at."""
        return self._started.said if self._started else ""

    def close(self) -> None:
        """Stop what was started; what is only starting ends with this process."""
        start, self._started = self._started, None
        if start is None or start.thread is None:
            return
        start.over.set()
        if start.stack is not None:
            start.thread.join(STOP_S)

    def _begin(self) -> _Start:
        start = self._started = _Start()
        start.thread = threading.Thread(target=self._run, args=(start,), daemon=True)
        start.thread.start()
        return start

    def _run(self, start: _Start) -> None:
        def say(line: str) -> None:
            start.said = line
            self._say(line)

        try:
            with serving(self._options, say, self._log) as stack:
                start.stack = stack
                start.over.wait()
        except (ReplayError, OSError) as error:
            start.error = str(error)
