from typing import Any


def test_a_large_buffer_is_a_mapping_of_its_own_also_after_one_was_freed(settled_heap: Any) -> None:
    assert settled_heap.mappings_of_a_large_buffer("engine") == "1\n"


def test_threads_share_one_heap(settled_heap: Any) -> None:
    assert settled_heap.heaps_of_eight_threads("engine") == 1
