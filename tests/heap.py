"""What glibc's allocator does in a process that has settled its heap, for the services' tests of it."""

import platform
import subprocess
import sys

import pytest

_MAPPED = """
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
_SHARED = """
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


class SettledHeap:
    """Asks a process of its own; `package` is the one whose `heap` settles it."""

    def mappings_of_a_large_buffer(self, package: str) -> str:
        """How many mappings a buffer brings after a larger one was freed."""
        return self._run(_MAPPED, package)

    def heaps_of_eight_threads(self, package: str) -> int:
        """How many heaps there are once eight threads have allocated."""
        return self._run(_SHARED, package).count("<heap nr=")

    def _run(self, script: str, package: str) -> str:
        command = [sys.executable, "-c", script.format(package=package)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def settled_heap() -> SettledHeap:
    """Skips where there is no glibc."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("its allocator alone needs that")
    return SettledHeap()
