import platform
import subprocess
import sys

import pytest

MAPPED = """
import ctypes
from {package}.heap import LARGE_BYTES, settle_heap

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo = ctypes.CDLL("libc.so.6").mallinfo2
mallinfo.restype = Info
settle_heap()
bytes(4 * LARGE_BYTES)  # from then on glibc would take smaller ones from the heap
before = mallinfo().hblks
kept = bytes(2 * LARGE_BYTES)
print(mallinfo().hblks - before)
"""


SHARED = """
import ctypes, threading
from {package}.heap import settle_heap

settle_heap()
everybody = threading.Barrier(8)

def allocate() -> None:
    kept = bytes(50_000)
    everybody.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL("libc.so.6")
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="its allocator alone needs that")


def run(script: str) -> str:
    command = [sys.executable, "-c", script.format(package="engine")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_large_buffer_is_a_mapping_of_its_own_also_after_one_was_freed() -> None:
    assert run(MAPPED) == "1\n"


def test_threads_share_one_heap() -> None:
    assert run(SHARED).count("<heap nr=") == 1
