import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fake_model import FakeModel
from engine.state_cache import ENTRY_BYTES, TOKEN_BYTES, DiskStore, MemoryStore, StateCache, Store
from engine.state_file import SlotState

FACTS = FakeModel().facts


def state(tokens: Sequence[int], size_bytes: int = 10) -> SlotState:
    return SlotState(tuple(tokens), bytes([sum(tokens) % 256]) * size_bytes)


def cache(*stores: Store, **options: bool) -> StateCache:
    return StateCache(stores, FACTS, **options)


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore(10**6) if request.param == "memory" else DiskStore(tmp_path / "new", 10**6, FACTS)


def test_the_longest_beginning_is_found(store: Store) -> None:
    states = cache(store)
    for tokens in ([1, 2, 3, 4], [1, 2, 9], [5]):
        states.park(state(tokens))
    found = states.find([1, 2, 3, 8, 8])
    assert found
    assert found.shared == 3
    assert found.store.get(found.key) == SlotState([1, 2, 3, 4], state([1, 2, 3, 4]).data)
    assert states.find([7]) is None


def test_what_a_state_contains_is_not_kept_beside_it(store: Store) -> None:
    states = cache(store)
    for tokens in ([1, 2], [1, 2, 3], [1, 2]):
        states.park(state(tokens))
    assert len(store.index.keys) == 1
    assert states.find([1, 2, 3]).shared == 3


def test_without_roll_back_only_whole_states_are_found(store: Store) -> None:
    states = cache(store, rolls_back=False)
    for tokens in ([1, 2], [1, 2, 3, 4], [1, 2]):
        states.park(state(tokens))
    assert states.find([1, 2, 3, 9]).shared == 2
    assert states.find([1, 2, 3, 4, 5]).shared == 4
    assert states.find([1, 9]) is None


def test_a_state_is_there_for_prompts_of_its_salt_alone(store: Store) -> None:
    states = cache(store)
    for salt in ("", "ada", "eve"):
        assert states.find([1, 2, 3], salt) is None
        states.park(state([1, 2, 3, len(salt)]), salt)
    for salt in ("", "ada", "eve"):
        found = states.find([1, 2, 3, len(salt), 9], salt)
        assert (found.shared, found.state()) == (4, SlotState([1, 2, 3, len(salt)], found.state().data))
    assert states.find([1, 2, 3], "bob") is None


def test_clearing_leaves_nothing(store: Store, tmp_path: Path) -> None:
    states = cache(store)
    states.park(state([1, 2]))
    states.clear()
    assert states.find([1, 2]) is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_least_recently_used_goes_first() -> None:
    each = 10 + TOKEN_BYTES + ENTRY_BYTES
    store = MemoryStore(2 * each + 5)
    states = cache(store)
    states.park(state([1]))
    states.park(state([2]))
    found = states.find([1])
    assert found.store.get(found.key)
    states.park(state([3]))
    assert [bool(states.find([n])) for n in (1, 2, 3)] == [True, False, True]
    states.park(state([4], size_bytes=2 * each))
    assert [bool(states.find([n])) for n in (1, 2, 3, 4)] == [True, False, True, False]
    assert store.index.used_bytes == 2 * each


def test_files_outlive_the_process_and_a_damaged_one_is_a_miss(tmp_path: Path) -> None:
    states = cache(DiskStore(tmp_path, 10**6, FACTS))
    for tokens in ([1, 2], [3, 4]):
        states.park(state(tokens))
    again = cache(DiskStore(tmp_path, 10**6, FACTS))
    found = again.find([3, 4])
    path = tmp_path / f"{found.key}.state"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert found.store.get(found.key) is None
    assert not path.exists()
    assert (again.find([3, 4]), again.find([1, 2]).shared) == (None, 2)


def test_other_models_files_are_left_alone(tmp_path: Path) -> None:
    cache(DiskStore(tmp_path, 10**6, FACTS)).park(state([1, 2]))
    other = FACTS._replace(fingerprint="other")
    states = StateCache([DiskStore(tmp_path, 10**6, other)], other)
    assert states.find([1, 2]) is None
    states.park(state([1, 2]))
    states.clear()
    assert cache(DiskStore(tmp_path, 10**6, FACTS)).find([1, 2])


def test_a_folder_over_budget_is_cut_to_it_at_the_start(tmp_path: Path) -> None:
    states = cache(DiskStore(tmp_path, 10**6, FACTS))
    for n in range(4):
        states.park(state([n]))
        for path in tmp_path.iterdir():
            os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**12))
    size = next(tmp_path.iterdir()).stat().st_size
    again = cache(DiskStore(tmp_path, 2 * size, FACTS))
    assert [bool(again.find([n])) for n in range(4)] == [False, False, True, True]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_keeps_nothing_and_fails_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DiskStore(tmp_path, 10**6, FACTS)
    monkeypatch.setattr("engine.state_cache.write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    states = cache(store)
    states.park(state([1]))
    assert states.find([1]) is None


def test_what_cannot_be_read_or_removed_is_a_miss(tmp_path: Path) -> None:
    """A folder where a file should be: nobody can read or remove it as one."""
    states = cache(DiskStore(tmp_path, 10**6, FACTS))
    states.park(state([1]))
    (path,) = tmp_path.iterdir()
    path.unlink()
    path.mkdir()
    assert states.clear() is False
    states.park(state([1, 2]))
    again = cache(DiskStore(tmp_path, 10**6, FACTS))
    assert (again.find([1, 2]).shared, again.clear(), again.find([1])) == (2, True, None)


def test_a_folder_that_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(OSError):
        DiskStore(Path("/proc/self"), 10**6, FACTS)


prompts = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@given(st.lists(prompts, max_size=12), prompts, st.booleans())
def test_a_find_is_the_best_of_what_was_parked(
    parked: list[list[int]], prompt: list[int], rolls_back: bool
) -> None:
    states = cache(MemoryStore(10**6), rolls_back=rolls_back)
    for tokens in parked:
        states.park(state(tokens))

    def usable(tokens: list[int]) -> int:
        shared = next(n for n in range(len(tokens), -1, -1) if tokens[:n] == prompt[:n])
        return shared if rolls_back or shared == len(tokens) else 0

    found = states.find(prompt)
    assert (found.shared if found else 0) == max(map(usable, parked), default=0)
    if found:
        tokens, data = found.store.get(found.key)
        assert list(tokens)[: found.shared] == prompt[: found.shared]
        assert data == state(tokens).data
