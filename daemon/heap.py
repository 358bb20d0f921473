"""Memory that goes back to the system.

Invariant: a buffer of LARGE_BYTES or more is a mapping of its own. asyncio reads each time into one of 256
KiB and keeps the few bytes that came. glibc takes such buffers from the heap once it has seen one freed,
where what is kept of them lies scattered: the heap then grows with every request, though nothing is lost.
"""

import ctypes
from contextlib import suppress

LARGE_BYTES = 128 * 1024
_M_MMAP_THRESHOLD = -3


def map_large_buffers() -> None:
    """Hold glibc to it; other systems have their own ways."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
