import platform
import subprocess
import sys

import pytest

MAPPED = """
import ctypes
from {package}.heap import LARGE_BYTES, map_large_buffers

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo = ctypes.CDLL("libc.so.6").mallinfo2
mallinfo.restype = Info
map_large_buffers()
bytes(4 * LARGE_BYTES)  # from then on glibc would take smaller ones from the heap
before = mallinfo().hblks
kept = bytes(2 * LARGE_BYTES)
print(mallinfo().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="its allocator alone needs that")
def test_a_large_buffer_is_a_mapping_of_its_own_also_after_one_was_freed() -> None:
    run = subprocess.run(
        [sys.executable, "-c", MAPPED.format(package="daemon")], capture_output=True, text=True, check=True
    )
    assert run.stdout == "1\n"
