"""Memory that goes back to the system.

Invariant: a buffer of LARGE_BYTES or more is a mapping of its own, and all threads share one heap. asyncio
reads each time into a buffer of 256 KiB and keeps the few bytes that came. glibc takes such buffers from the
heap once it has seen one freed, where what is kept of them lies scattered; and it gives threads heaps of
their own, each of which scatters likewise. Memory then grows with every request, though nothing is lost.
"""

import ctypes
from contextlib import suppress

LARGE_BYTES = 128 * 1024
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8


def settle_heap() -> None:
    """Hold glibc to it, before there are threads; other systems have their own ways."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_ARENA_MAX, 1)
