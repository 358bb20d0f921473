"""How far a run is: a bar with rate and time left on a terminal, a line per tenth otherwise."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from bundles import Attempt
from replay.cli.shared import say


@contextmanager
def progress(total: int) -> Iterator[Callable[[Attempt], None]]:
    """Hears of each of `total` attempts and shows how many are done."""
    if sys.stderr.isatty():
        with _bar(total) as tell:
            yield tell
    else:
        yield Lines(total, say).tell


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Attempt], None]]:
    started = time.monotonic()
    with click.progressbar(
        length=total,
        label="attempts",
        show_pos=True,
        file=sys.stderr,
        item_show_func=lambda rate: rate or "",
    ) as bar:

        def tell(attempt: Attempt) -> None:
            bar.update(1, f"{(bar.pos + 1) / (time.monotonic() - started):.1f}/s")

        yield tell


class Lines:
    """A line after each tenth of the attempts, and one for each that failed."""

    def __init__(
        self, total: int, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total, self._write, self._clock = total, write, clock
        self._started = clock()
        self._done = 0

    def tell(self, attempt: Attempt) -> None:
        """One more is done."""
        tenths = self._done * 10 // self._total
        self._done += 1
        if attempt.status != "ok":
            self._write(f"{attempt.unit_id} {attempt.arm}: {attempt.status}: {attempt.error}")
        if self._done * 10 // self._total > tenths:
            took_s = self._clock() - self._started
            left_s = took_s / self._done * (self._total - self._done)
            rate = f"{self._done / took_s:.1f}/s, " if took_s > 0 else ""
            self._write(f"{self._done}/{self._total} attempts, {rate}{left_s:.0f} s left")
